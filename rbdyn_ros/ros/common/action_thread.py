"""A hidden node with an executor and threads of its own: what the node's executor does not serve.

That of services and topics may be one that knows no actions, and what takes long would hold it up.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

#: One works, the others cancel, answer and refuse.
THREADS = 3
#: So that what goes wrong again and again does not fill the log [s].
ERROR_PAUSE = 0.1
#: To end [s].
PATIENCE = 2.0
#: After so many of the executor's rounds a result is sent; a goal has ended one or two before.
ROUNDS = 4


class ActionThread:
    """Serves services and actions from `start` until `close`.

    Args:
        node: under whose name they are.
        name: of the work, for the hidden node and the threads.
        failing: says in the log what an exception has ended, as `a request to step`.

    Attributes:
        node: the hidden one.
        closing: set when it ends; what takes long looks at it.
    """

    def __init__(self, node: Node, name: str, failing: str) -> None:
        self._under, self._failing = node.get_fully_qualified_name(), failing
        self.closing, self._silent = threading.Event(), threading.Event()
        self.node = hidden_node(node, name)
        self._group = ReentrantCallbackGroup()
        self._servers: list[Any] = []
        self._goals, self._ended = 0, threading.Condition()
        self._executor = MultiThreadedExecutor(num_threads=THREADS, context=node.context)
        self._thread = threading.Thread(target=self._serve, name=f"rbdyn-{name}", daemon=True)

    def service(self, kind: Any, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Offer a service."""
        path = f"{self._under}/{name}"
        self.node.create_service(kind, path, answer, callback_group=self._group)

    def action(
        self,
        kind: Any,
        name: str,
        execute: Callable[[Any], Any],
        accept: Callable[[Any], GoalResponse] = lambda _: GoalResponse.ACCEPT,
    ) -> None:
        """Offer an action whose goals can be cancelled.

        Args:
            kind: its type.
            name: below that of the node.
            execute: goal_handle -> result.
            accept: whether the goal of a request is taken.
        """

        def counted(goal: Any) -> Any:
            with self._ended:
                self._goals += 1
            try:
                return execute(goal)
            finally:
                with self._ended:
                    self._goals -= 1
                    self._ended.notify_all()

        server: Any = ActionServer(
            self.node,
            kind,
            f"{self._under}/{name}",
            counted,
            callback_group=self._group,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            goal_callback=accept,
        )
        self._servers.append(server)

    def start(self) -> None:
        """Begin to serve what was offered."""
        self._executor.add_node(self.node)
        self._thread.start()

    def _serve(self) -> None:
        while self.node.context.ok() and not self._silent.is_set():
            self._serve_until_one_fails()

    def _serve_until_one_fails(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            self.closing.set()
            self._silent.set()
        except Exception:  # noqa: BLE001 - whatever ended one request, the next is served
            why = f"{self._failing} failed: {traceback.format_exc()}"
            self.node.get_logger().error(why)
            self._silent.wait(ERROR_PAUSE)

    def _send_results(self) -> None:
        """Wait for the goals in progress to end, and until their results are on the way."""
        with self._ended:
            busy = self._goals > 0
            self._ended.wait_for(lambda: self._goals == 0, PATIENCE)
        rounds = ROUNDS if busy and self._thread.is_alive() else 0
        passed = [threading.Event() for _ in range(rounds)]
        for event in passed:
            self._executor.create_task(event.set)
            if not event.wait(PATIENCE):
                return

    def close(self) -> None:
        """End what is in progress, and serve no more."""
        self.closing.set()
        self._send_results()
        self._silent.set()
        self._executor.shutdown(PATIENCE)
        self._thread.join(PATIENCE)
        while self._servers:
            self._servers.pop().destroy()
        self.node.destroy_node()


def hidden_node(node: Node, name: str) -> Node:
    """Return a node beside another that tools do not list: _NODE_NAME."""
    return Node(
        f"_{node.get_name()}_{name}",
        context=node.context,
        namespace=node.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )

# SPDX-License-Identifier: Apache-2.0
"""A helper node with an executor and threads of its own, for actions and long services.

The main executor may not support actions, and long callbacks would block it.
"""

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

from rbdyn_ros.ros.common.graph.hidden_node import hidden_node
from rbdyn_ros.ros.common.graph.qos import SERVICES

#: Number of threads: one executes a goal; the others handle cancellations, requests and refusals.
THREADS = 3
#: Pause after an error, so that repeated errors do not fill the log [s].
ERROR_PAUSE = 0.1
#: `close` waits four times, at most this long each time [s]. So it returns before a stopped
#: process must exit (stop.py).
PATIENCE = 0.4
#: After the end of a goal, the executor sends the result within this number of rounds.
ROUNDS = 4
#: Interval at which a goal in progress is checked [s].
POLL = 0.01

Ending = TypeVar("Ending")


class ActionThread:
    """Serves services and actions from `start` until `close`.

    Args:
        node: main node; services and actions are in the namespace of its name.
        name: name for the helper node and the threads.
        failing: subject of log lines about exceptions, such as `a request to step`.

    Attributes:
        node: the helper node.
        closing: set by `close`; long callbacks check it.
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
        """Offer a service; `name` is below the node's name, `answer` fills the response."""
        path = f"{self._under}/{name}"
        self.node.create_service(
            kind, path, answer, qos_profile=SERVICES, callback_group=self._group
        )

    def action(
        self,
        kind: Any,
        name: str,
        execute: Callable[[Any], Any],
        accept: Callable[[Any], GoalResponse] = lambda _: GoalResponse.ACCEPT,
    ) -> None:
        """Offer an action whose goals can be cancelled.

        Args:
            kind: type of the action.
            name: name of the action, below the name of the node.
            execute: maps a goal handle to the result.
            accept: maps a goal request to its response.
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
            goal_service_qos_profile=SERVICES,
            result_service_qos_profile=SERVICES,
            cancel_service_qos_profile=SERVICES,
        )
        self._servers.append(server)

    def start(self) -> None:
        """Begin to serve."""
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
        except Exception:  # noqa: BLE001 - the next request is served in any case
            if self.closing.is_set():  # the error came from destroying the node
                return
            self.node.get_logger().error(f"{self._failing} failed: {traceback.format_exc()}")
            self._silent.wait(ERROR_PAUSE)

    def _send_results(self) -> None:
        """Wait until the goals in progress have ended and their results are sent."""
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
        """Set `closing`, wait for requests in progress, and stop serving."""
        self.closing.set()
        self._send_results()
        self._silent.set()
        self._executor.shutdown(PATIENCE)
        if self._thread.ident is not None:  # the thread was started
            self._thread.join(PATIENCE)
        while self._servers:
            self._servers.pop().destroy()
        self.node.destroy_node()


def watched(
    goal: Any,
    closing: threading.Event,
    ending: Callable[[], Ending | None],
    feedback: Callable[[], Any],
    interval: float,
) -> Ending:
    """Publish feedback about a goal until it ends; return its ending.

    Args:
        goal: handle of the goal.
        closing: event that shortens the waits; once it is set, `ending` must return an ending.
        ending: returns how the goal ends, or None while it is in progress.
        feedback: returns the feedback message.
        interval: time between two feedbacks [s].
    """
    due = 0.0
    while True:
        found = ending()
        if found is not None:
            return found
        if time.monotonic() >= due:
            due = time.monotonic() + interval
            goal.publish_feedback(feedback())
        closing.wait(POLL)

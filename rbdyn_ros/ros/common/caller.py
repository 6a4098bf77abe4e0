"""Services and an action as calls that wait, from any thread, also from a callback."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.action.client import ActionClient
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.ros.common.action_thread import hidden_node

#: How a goal ended that was reached, action_msgs/GoalStatus.STATUS_SUCCEEDED.
SUCCEEDED = 4
#: For the thread to end, and for a goal that is given up to be cancelled [s].
PATIENCE = 2.0
#: Between two looks for a server [s].
LOOK = 0.02
CLOSED = "the client is closed"


class Caller:
    """A hidden node, spun by a thread of its own until `close`; its calls wait for that thread.

    Args:
        node: beside which it is; need not be spun.
        name: of the node that is called.
        timeout: for each answer [s].
    """

    def __init__(self, node: Node, name: str, timeout: float) -> None:
        self._name, self._timeout = name, timeout
        self._node = hidden_node(node, "client")
        self._clients: dict[str, Any] = {}
        # guards what follows: the calls in progress, what wakes each, and whether more may come
        self._calls = threading.Condition()
        self._waking: list[Callable[[], None]] = []
        self._closed = False
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="rbdyn-client", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def close(self) -> None:
        """Cancel goals in progress, let calls of other threads raise, end; once is enough."""
        with self._calls:
            if self._closed:
                return
            self._closed = True
            for wake in self._waking:
                wake()
            self._calls.wait_for(lambda: not self._waking, 2.0 * PATIENCE)
        self._executor.shutdown(PATIENCE)
        self._thread.join(PATIENCE)
        for client in self._clients.values():
            client.destroy()
        self._node.destroy_node()

    @contextmanager
    def _calling(self, wake: Callable[[], None]) -> Iterator[None]:
        """Hold back `close`, which wakes the call and waits for it to leave."""
        with self._calls:
            self._judge()
            self._waking.append(wake)
        try:
            yield
        finally:
            with self._calls:
                self._waking.remove(wake)
                self._calls.notify_all()

    def _judge(self) -> None:
        if self._closed:
            raise said(CLOSED)
        if not self._node.context.ok():
            raise said("rclpy is shut down")

    def _client(self, path: str, make: Callable[[], Any]) -> Any:
        """Return the client of a service or an action, made when it is first needed."""
        with self._calls:
            if path not in self._clients:
                try:
                    self._clients[path] = make()
                except NameValidationException as error:
                    raise said(f"there is no service {path}: {error}") from None
            return self._clients[path]

    def _find(self, what: str, is_there: Callable[[], bool]) -> None:
        """Wait for a server."""
        end = time.monotonic() + self._timeout
        while not is_there():
            self._judge()
            if time.monotonic() >= end:
                raise said(f"there is no {what}; is its node running?")
            time.sleep(LOOK)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Return the response of a service; raises RbdynError unless it says success."""
        path, answered = f"{self._name}/{name}", threading.Event()
        with self._calling(answered.set):
            client = self._client(path, lambda: self._node.create_client(kind, path))
            self._find(f"service {path}", client.service_is_ready)
            future = client.call_async(request)
            future.add_done_callback(lambda _: answered.set())
            in_time = answered.wait(self._timeout)
            if not future.done():
                client.remove_pending_request(future)
                late = f"the service {path} did not answer in {self._timeout:g} s"
                raise said(CLOSED if in_time else late)
        response = future.result()
        if not response.success:
            raise said(response.message)
        return response

    def pursue(self, kind: Any, name: str, goal: Any) -> None:
        """Return when the goal of an action is reached; see Conversation."""
        path = f"{self._name}/{name}"
        talk = Conversation(self._executor, path, self._timeout)
        with self._calling(talk.close):
            client = self._client(path, lambda: ActionClient(self._node, kind, path))
            self._find(f"action {path}", client.server_is_ready)
            talk.pursue(client, goal)


class Conversation:
    """One goal of an action whose result has an error_string.

    All of rclpy is called in the executor's thread: it can miss an answer that comes while
    another thread still notes what was sent.

    Args:
        executor: that spins the client, in another thread.
        path: of the action, for errors.
        timeout: between two signs of life [s].
    """

    def __init__(self, executor: Executor, path: str, timeout: float) -> None:
        self._executor, self._path, self._timeout = executor, path, timeout
        # what came: "feedback", "accepted" and whether, "result" and it, "closed"
        self._came: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._handle: Any = None
        self._given_up = False
        self._cancelled = threading.Event()  # or there is nothing to cancel

    def pursue(self, client: Any, goal: Any) -> None:
        """Return when the goal is reached.

        Args:
            client: an ActionClient whose server is there.
            goal: of its type.

        Raises:
            RbdynError: it is refused, aborted or cancelled, the server falls silent, or the client
                is closed. What is in progress is cancelled then, and after any other exception:
                what raises waits until the server has heard it, but not for ever.
        """
        self._executor.create_task(self._send, client, goal)
        try:
            ended = self._wait()
        except BaseException:
            self._executor.create_task(self._give_up)
            self._cancelled.wait(PATIENCE)
            raise
        if ended.status != SUCCEEDED:
            raise said(ended.result.error_string or f"the goal ended with status {ended.status}")

    def close(self) -> None:
        """Let `pursue` give up."""
        self._came.put(("closed", None))

    def _wait(self) -> Any:
        """Return the result and the status."""
        while True:
            what, came = self._next()
            if what == "result":
                return came
            if what == "closed":
                raise said(f"{CLOSED}; the goal is cancelled")
            if what == "accepted" and not came:
                self._cancelled.set()
                raise said(f"{self._path} refused the goal; the log of its node says why")

    def _next(self) -> tuple[str, Any]:
        try:
            return self._came.get(timeout=self._timeout)
        except queue.Empty:
            text = f"the action {self._path} did not answer in {self._timeout:g} s"
            raise said(text) from None

    def _send(self, client: Any, goal: Any) -> None:
        sent = client.send_goal_async(goal, lambda _: self._came.put(("feedback", None)))
        sent.add_done_callback(self._answered)

    def _answered(self, sent: Any) -> None:
        self._handle = sent.result()
        self._came.put(("accepted", self._handle.accepted))
        if self._given_up:
            self._give_up()
        elif self._handle.accepted:
            ended = self._handle.get_result_async()
            ended.add_done_callback(lambda result: self._came.put(("result", result.result())))

    def _give_up(self) -> None:
        """Cancel the goal, at the latest when it is accepted."""
        self._given_up = True
        if self._handle is None:
            return
        if not self._handle.accepted:
            self._cancelled.set()
            return
        heard = self._handle.cancel_goal_async()
        heard.add_done_callback(lambda _: self._cancelled.set())


def said(text: str) -> RbdynError:
    """Return the error that says so."""
    return RbdynError(Finding("arm-client", text))

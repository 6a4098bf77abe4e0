# SPDX-License-Identifier: Apache-2.0
"""Call services and an action from any thread, and wait for the answers."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from rclpy.action.client import ActionClient
from rclpy.exceptions import NameValidationException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.ros.common.graph.hidden_node import hidden_node

#: Status of a goal that was reached, action_msgs/GoalStatus.STATUS_SUCCEEDED.
SUCCEEDED = 4
#: Longest wait until the thread has ended, and until a goal is cancelled [s].
PATIENCE = 2.0
#: Interval of the checks whether a server exists [s].
POLL = 0.02
CLOSED = "the client is closed"
#: Code of the errors.
CODE = "arm-client"

#: Events of one call: (kind, value). The kinds are answer, feedback, accepted, result and closed.
Mailbox = queue.SimpleQueue[tuple[str, Any]]


class Caller:
    """A hidden node, which a thread spins until `close`, so that calls can wait for answers.

    Args:
        node: node whose context and namespace the hidden node uses; it need not spin.
        name: name of the node that is called.
        timeout: longest wait for an answer [s].
    """

    def __init__(self, node: Node, name: str, timeout: float) -> None:
        self._name, self._timeout = name, timeout
        self._node = hidden_node(node, "client")
        self._clients: dict[str, Any] = {}
        self._lock = threading.Condition()  # guards the next two fields
        self._waiting: list[Mailbox] = []  # mailboxes of the calls in progress
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
        """Cancel goals in progress, make waiting calls raise, and end; may be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for mailbox in self._waiting:
                mailbox.put(("closed", None))
            self._lock.wait_for(lambda: not self._waiting, 2.0 * PATIENCE)
        self._executor.shutdown(PATIENCE)
        self._thread.join(PATIENCE)
        for client in self._clients.values():
            client.destroy()
        self._node.destroy_node()

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Return the response of a service; raise RbdynError unless it reports success."""
        path = f"{self._name}/{name}"
        with self._mailbox() as mailbox:
            client = self._client(path, lambda: self._node.create_client(kind, path))
            self._find(f"service {path}", client.service_is_ready)
            future = client.call_async(request)
            future.add_done_callback(lambda done: mailbox.put(("answer", done)))
            try:
                self._next(mailbox, f"service {path}")
            except RbdynError:
                client.remove_pending_request(future)
                raise
        response = future.result()
        if not response.success:
            raise client_error(response.message)
        return response

    def pursue(self, kind: Any, name: str, goal: Any) -> None:
        """Return when the goal of an action is reached.

        Raises:
            RbdynError: the goal is refused, aborted or cancelled, the server does not answer in
                time, or the client is closed. After this and any other exception the goal is
                cancelled first, which takes at most PATIENCE.
        """
        path = f"{self._name}/{name}"
        with self._mailbox() as mailbox:
            client = self._client(path, lambda: ActionClient(self._node, kind, path))
            self._find(f"action {path}", client.server_is_ready)
            sent = _SentGoal(self._executor, mailbox, client, goal)
            try:
                ended = self._await_result(mailbox, path)
            except BaseException:
                sent.cancel()
                raise
        if ended.status != SUCCEEDED:
            error = ended.result.error_string
            raise client_error(error or f"the goal ended with status {ended.status}")

    def _await_result(self, mailbox: Mailbox, path: str) -> Any:
        while True:
            kind, value = self._next(mailbox, f"action {path}", "; the goal is cancelled")
            if kind == "result":
                return value
            if kind == "accepted" and not value:
                raise client_error(f"{path} rejected the goal; see the log of its node")

    def _next(self, mailbox: Mailbox, what: str, after_close: str = "") -> tuple[str, Any]:
        """Return the next event of a call of `what`; raise RbdynError after a timeout or `close`.

        If `close` was called, `after_close` is added to the message.
        """
        try:
            kind, value = mailbox.get(timeout=self._timeout)
        except queue.Empty:
            raise client_error(f"the {what} did not answer within {self._timeout:g} s") from None
        if kind == "closed":
            raise client_error(f"{CLOSED}{after_close}")
        return kind, value

    @contextmanager
    def _mailbox(self) -> Iterator[Mailbox]:
        """Yield the mailbox of a call; `close` waits for the end of the block."""
        mailbox: Mailbox = queue.SimpleQueue()
        with self._lock:
            self._check_open()
            self._waiting.append(mailbox)
        try:
            yield mailbox
        finally:
            with self._lock:
                self._waiting.remove(mailbox)
                self._lock.notify_all()

    def _check_open(self) -> None:
        if self._closed:
            raise client_error(CLOSED)
        if not self._node.context.ok():
            raise client_error("rclpy is shut down")

    def _client(self, path: str, make: Callable[[], Any]) -> Any:
        """Return the client of the service or action at a path; the first use makes it."""
        with self._lock:
            if path not in self._clients:
                try:
                    self._clients[path] = self._in_thread(make)
                except NameValidationException as error:
                    raise client_error(f"there is no service {path}: {error}") from None
            return self._clients[path]

    def _in_thread(self, make: Callable[[], Any]) -> Any:
        """Make a client in the executor's thread, which could otherwise use it half made."""
        made: Future[Any] = Future()

        def work() -> None:
            try:
                made.set_result(make())
            except Exception as error:  # noqa: BLE001 - raised in the thread that asked
                made.set_exception(error)

        self._executor.create_task(work)
        while not wait([made], POLL).done:
            self._check_open()
        return made.result()

    def _find(self, what: str, exists: Callable[[], bool]) -> None:
        """Wait until the server `what` exists; raise RbdynError after a timeout or `close`."""
        end = time.monotonic() + self._timeout
        while not exists():
            self._check_open()
            if time.monotonic() >= end:
                raise client_error(f"there is no {what}; is its node running?")
            time.sleep(POLL)


class _SentGoal:
    """A goal that was sent; its events go into a mailbox.

    Only the executor's thread calls rclpy. If another thread sent the goal, rclpy could miss an
    answer that arrives while this thread still registers the request.
    """

    def __init__(self, executor: Executor, mailbox: Mailbox, client: Any, goal: Any) -> None:
        self._executor, self._mailbox = executor, mailbox
        self._handle: Any = None
        self._cancelling = False
        self._settled = threading.Event()  # the goal is cancelled, or there is no goal to cancel
        executor.create_task(self._send, client, goal)

    def cancel(self) -> None:
        """Cancel the goal now or once it is accepted; wait up to PATIENCE for the cancellation."""
        self._executor.create_task(self._cancel)
        self._settled.wait(PATIENCE)

    def _send(self, client: Any, goal: Any) -> None:
        sent = client.send_goal_async(goal, lambda _: self._mailbox.put(("feedback", None)))
        sent.add_done_callback(self._answered)

    def _answered(self, sent: Any) -> None:
        self._handle = sent.result()
        self._mailbox.put(("accepted", self._handle.accepted))
        if self._cancelling:
            self._cancel()
        elif self._handle.accepted:
            ended = self._handle.get_result_async()
            ended.add_done_callback(lambda done: self._mailbox.put(("result", done.result())))

    def _cancel(self) -> None:
        self._cancelling = True
        if self._handle is None:
            return
        if not self._handle.accepted:
            self._settled.set()
            return
        cancelled = self._handle.cancel_goal_async()
        cancelled.add_done_callback(lambda _: self._settled.set())


def client_error(text: str) -> RbdynError:
    """Return the RbdynError of a failed call, with this text."""
    return RbdynError(Finding(CODE, text))

# SPDX-License-Identifier: Apache-2.0
"""Start a live view in another process, answer its requests, and end it."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from rbdyn_ros.view.live.link import FAILED, WARNED, Cast, Simulated, serve
from rbdyn_ros.view.live.spawned import PATIENCE, Spawned, spawn

#: Function that gets a severity (info or warning) and a message.
Say = Callable[[str, str], None]


def _to_stderr(_severity: str, message: str) -> None:
    print(f"rbdyn: {message}", file=sys.stderr)


def start_view(
    casts: Sequence[Cast],
    simulated: Simulated,
    *,
    port: int = 8080,
    address: str = "127.0.0.1",
    say: Say = _to_stderr,
    spawned: Spawned | None = None,
) -> "ViewProcess":
    """Start another process that shows robots in a browser; return before it serves the page.

    Args:
        casts: the robots.
        simulated: the simulation; two threads call it until the view ends.
        port: as for open_server.
        address: as for open_server.
        say: called from another thread with the address, a warning, or the reason of a failure.
        spawned: process to use for the view, which ends with the view; None: start a new process,
            see spawn.

    Raises:
        ParameterError: viser is not installed.
    """
    return ViewProcess(spawned or spawn(), casts, simulated, port, address, say)


class ViewProcess:
    """A view in another process; see start_view.

    Attributes:
        address: address of the page, such as http://127.0.0.1:8080; "": it does not serve yet.
        pid: number of the process.
    """

    def __init__(
        self,
        spawned: Spawned,
        casts: Sequence[Cast],
        simulated: Simulated,
        port: int,
        address: str,
        say: Say,
    ) -> None:
        self.address = ""
        self._simulated, self._say, self._spawned = simulated, say, spawned
        self._settled, self._closing, self._excused = threading.Event(), False, False
        self.pid = spawned.process.pid
        given = tuple(casts), port, address
        self._threads = [
            threading.Thread(target=work, args=args, name=name, daemon=True)
            for name, work, args in (
                ("rbdyn-view", self._attend, (spawned.prompt, given)),
                ("rbdyn-view-queue", self._queue, (spawned.queued,)),
            )
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` [s] until the view serves or fails; return whether it serves."""
        self._settled.wait(timeout)
        return bool(self.address)

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._spawned.process.poll() is None

    def close(self) -> None:
        """End the process if it still runs."""
        self._closing = True
        self._spawned.end()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _attend(self, pipe: Connection, given: tuple[object, ...]) -> None:
        try:
            with pipe:
                with contextlib.suppress(OSError):  # the process has ended; this is reported below
                    pipe.send(given)
                serve(pipe, self._simulated, self._heard)
        finally:
            self._report_end()

    def _queue(self, pipe: Connection) -> None:
        with pipe:
            serve(pipe, self._simulated)

    def _heard(self, what: str, about: str) -> None:
        if what == WARNED:
            self._say("warning", about)
            return
        if what == FAILED:
            self._excused = True
            gone = "the view has failed" if self.address else "the view could not start"
            self._say("warning", f"{gone}: {about}")
        else:
            self.address = about
            self._say("info", f"view: {about}")
        self._settled.set()

    def _report_end(self) -> None:
        if not (self._closing or self._excused):
            status = self._spawned.process.wait()
            how = f"exit status {status}" if status >= 0 else signal.strsignal(-status)
            self._say("warning", f"the view has ended ({how}); the simulation goes on")
        self.address = ""
        self._settled.set()

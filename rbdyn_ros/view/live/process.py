# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the process of a live view.

It is a plain Python process, not one of multiprocessing, which would run the user's main module
again. It has a session of its own, so Ctrl-C does not reach it; it ends when its pipes close.
"""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.view.live.link import FAILED, WARNED, Cast, Simulated, serve

#: Code of the finding for a missing viser.
MISSING = "no-view-extra"
#: Time for the process or a thread to end [s].
PATIENCE = 2.0

#: Program of the process; it is isolated from its working directory and imports from our paths.
_CHILD = """
import sys
from multiprocessing.connection import Connection
pipes = [Connection(int(word)) for word in sys.argv[1:]]
sys.path[:] = pipes[0].recv()
from rbdyn_ros.view.live.panel import run
run(*pipes)
"""

#: Takes a severity (info or warning) and a message.
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
) -> ViewProcess:
    """Show robots in a browser, served by another process; returns before it serves.

    Call it before a thread of high priority starts, because a process inherits the priority.

    Args:
        casts: the robots.
        simulated: the simulation; called on two threads until the view ends.
        port: see open_server.
        address: see open_server.
        say: called from another thread with the address, a warning, or why there is no view.

    Raises:
        ParameterError: viser is not installed.
    """
    if importlib.util.find_spec("viser") is None:
        text = 'the view needs viser, which is not installed: pip install "rbdyn_ros[view]"'
        raise ParameterError(Finding(MISSING, text, allowed="viser"))
    return ViewProcess(casts, simulated, port, address, say)


class ViewProcess:
    """A view in another process; see start_view.

    Attributes:
        address: of the page, as http://127.0.0.1:8080; "" before it serves.
        pid: process id.
    """

    def __init__(
        self, casts: Sequence[Cast], simulated: Simulated, port: int, address: str, say: Say
    ) -> None:
        self.address = ""
        self._simulated, self._say = simulated, say
        self._settled, self._closing, self._excused = threading.Event(), False, False
        (prompt, theirs), (queued, theirs_too) = Pipe(), Pipe()
        ends = [theirs.fileno(), theirs_too.fileno()]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-c", _CHILD, *map(str, ends)],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.pid = self._process.pid
        theirs.close()
        theirs_too.close()
        greeting = (list(sys.path), (tuple(casts), port, address))
        self._threads = [
            threading.Thread(target=work, args=given, name=name, daemon=True)
            for name, work, given in (
                ("rbdyn-view", self._attend, (prompt, greeting)),
                ("rbdyn-view-queue", self._queue, (queued,)),
            )
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until it serves or fails; return whether it serves."""
        self._settled.wait(timeout)
        return bool(self.address)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process; does nothing if it has ended."""
        self._closing = True
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # it is stopped, for example by a debugger
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _attend(self, pipe: Connection, greeting: Sequence[object]) -> None:
        try:
            with pipe:
                with contextlib.suppress(OSError):  # it has ended, which is reported below
                    for part in greeting:
                        pipe.send(part)
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
            status = self._process.wait()
            how = f"exit status {status}" if status >= 0 else signal.strsignal(-status)
            self._say("warning", f"the view has ended ({how}); the simulation goes on")
        self.address = ""
        self._settled.set()

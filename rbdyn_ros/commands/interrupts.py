"""Ctrl-C in a command: it ends with status 130 and no traceback, whatever runs."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, NoReturn

from numba.core import event

from rbdyn_ros.commands.common import INTERRUPTED


def is_ignored() -> bool:
    """Whether who started this process keeps Ctrl-C from it, as shells do in the background."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def end_at_once(status: int = INTERRUPTED) -> None:
    """Let Ctrl-C end this process without asking, as long as nothing is open.

    An exception would get lost in one of many imports.
    """
    signal.signal(signal.SIGINT, lambda *_: _leave(status))


def end_by_exception() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, except while kernels are compiled."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(status: int) -> NoReturn:
    if os.isatty(2):
        os.write(2, b"\n")  # the prompt should not follow half a bar
    os._exit(status)


class WhileCompiling(event.Listener):  # type: ignore[misc]
    """Lets Ctrl-C end the process at once while kernels are compiled.

    An exception that is raised while LLVM calls Python has crashed it. A handler that somebody
    else has set, as the nodes do, stays.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._ours = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Take the signal for the outermost kernel."""
        self._depth += 1
        if self._depth == 1 and threading.current_thread() is threading.main_thread():
            self._ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if self._ours:
                end_at_once()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Give it back."""
        self._depth -= 1
        if self._depth == 0 and self._ours:
            self._ours = False
            end_by_exception()


def guard_compiling() -> None:
    """Let Ctrl-C end the process at once whenever kernels are compiled from now on."""
    event.register("numba:compile", WhileCompiling())

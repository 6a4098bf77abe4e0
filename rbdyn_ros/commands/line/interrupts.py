# SPDX-License-Identifier: Apache-2.0
"""Let Ctrl-C end a command with status 130 and without a traceback."""

import os
import signal
import threading
from typing import Any, NoReturn

from numba.core import event

from rbdyn_ros.commands.line.common import INTERRUPTED
from rbdyn_ros.engine.compiler.interrupts import while_compiling


def is_ignored() -> bool:
    """Return whether Ctrl-C is ignored, as in a background process of a shell."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def end_at_once(status: int = INTERRUPTED, *others: signal.Signals) -> None:
    """Let Ctrl-C and `others` end this process at once. Call it only while no file is open.

    A KeyboardInterrupt would not be safe, because imported libraries may catch it.
    """
    for number in (signal.SIGINT, *others):
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: _leave(status))


def end_by_exception() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, except while kernels are compiled."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(status: int) -> NoReturn:
    if os.isatty(2):
        os.write(2, b"\n")  # let the prompt start on a new line, not behind a progress bar
    os._exit(status)


class WhileCompiling(event.Listener):  # type: ignore[misc]
    """Lets Ctrl-C end the process at once while Numba compiles a kernel.

    A KeyboardInterrupt that is raised while LLVM calls Python can crash the process. Handlers of
    other code, such as the nodes, are not replaced.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._ours = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Set the handler when the compilation of the outermost kernel begins."""
        self._depth += 1
        if self._depth == 1 and threading.current_thread() is threading.main_thread():
            self._ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if self._ours:
                end_at_once()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Restore the handler when the compilation of the outermost kernel ends."""
        self._depth -= 1
        if self._depth == 0 and self._ours:
            self._ours = False
            end_by_exception()


def guard_compiling() -> None:
    """Let Ctrl-C end the process at once from now on while kernels are compiled."""
    while_compiling(lambda *_: _leave(INTERRUPTED))
    event.register("numba:compile", WhileCompiling())

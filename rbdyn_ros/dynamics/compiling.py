# SPDX-License-Identifier: Apache-2.0
"""Print a notice on stderr when compiling kernels takes long, once per process."""

import sys
import threading
import time
from typing import Any

from numba.core import event

#: Total compile time after which a notice is printed [s].
PATIENCE = 2.0

TEXT = (
    "rbdyn_ros: compiling for this processor, about half a minute; the machine code is kept for "
    "later runs"
)


class CompilingNotice(event.Listener):  # type: ignore[misc]
    """Writes TEXT to stderr once compiling has taken some time.

    Args:
        patience: compile time after which the notice is written [s].
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.is_due = True
        self._left, self._depth, self._begin = patience, 0, 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Start the clock when the outermost kernel starts to compile."""
        self._depth += 1
        if self._depth == 1 and self.is_due:
            self._begin = time.monotonic()
            self._timer = threading.Timer(max(self._left, 0.0), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Stop the clock when the outermost kernel is compiled."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._left -= time.monotonic() - self._begin

    def _say(self) -> None:
        if self.is_due and sys.stderr is not None:
            print(TEXT, file=sys.stderr, flush=True)
        self.is_due = False


#: The notice of this process. A command that shows a progress bar instead sets is_due to False.
NOTICE = CompilingNotice()
event.register("numba:compile", NOTICE)

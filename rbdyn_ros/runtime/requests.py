# SPDX-License-Identifier: Apache-2.0
"""Send requests to the loop in the words `asked`, and wait for its replies in `done`."""

import threading
import time
from collections.abc import Callable

from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import write_word
from rbdyn_ros.runtime.kernels import cycle, edits
from rbdyn_ros.runtime.settings import LOCKSTEP
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.wakeup import Wakeup

#: Longest wait for the acknowledgement of a request [s], besides some ticks.
PATIENCE = 30.0


class Requests:
    """Sends requests to the loop and waits for its replies. Any thread may use these methods.

    Args:
        s: memory shared with the loop.
        period_ns: duration of a tick [ns].

    Attributes:
        running: whether the loop was started and has not been stopped.
        lock: reentrant lock, held while a request is written or an edit is under way.
    """

    def __init__(self, s: Shared, period_ns: int) -> None:
        self.running = False
        self.lock = threading.RLock()
        self._shared, self._period_ns = s, period_ns
        self._wakeup = Wakeup()
        s.orders_wakeup[()] = self._wakeup.descriptor
        self._kept: dict[int, object] = {}

    def wake(self) -> None:
        """Wake the loop if it is waiting for commands."""
        self._wakeup.notify()

    def send(self, word: int, value: int) -> None:
        """Write a word of `asked` and wake the loop; return at once."""
        with self.lock:
            write_word(self._shared.asked, word, value)
        self._wakeup.notify()

    def wait(self, word: int, value: int, ticks: int = 0) -> None:
        """Wait until the loop acknowledges `value` for the request `word`.

        `ticks` ticks of the loop extend the timeout.

        Raises:
            RbdynError: the loop does not answer, or the steps were cancelled.
        """
        s = self._shared
        each = max(int(s.asked[shared.PACE]), self._period_ns) / NANOSECONDS
        # only steps may have to wait for commands; other requests are acknowledged meanwhile
        waits = word == shared.STEPS and s.time_mode == LOCKSTEP and s.lockstep_timeout > 0
        each += float(s.lockstep_timeout) / NANOSECONDS if waits else 0.0
        give_up = time.monotonic() + PATIENCE + (5.0 + 2.0 * ticks) * each
        while s.done[word] < value if word == shared.STEPS else s.done[word] != value:
            cancelled = word == shared.STEPS and s.asked[word] < value
            stopping = not self.running or s.asked[shared.STOP]
            if cancelled:
                raise RbdynError(Finding("cancelled", "the steps were cancelled"))
            if stopping or time.monotonic() > give_up:
                raise RbdynError(Finding("silent", "the loop does not answer"))
            time.sleep(2e-4)

    def edit(self, kind: int, fill: Callable[[Shared], None], keep: object = None) -> None:
        """Make an edit between two ticks; return when the loop has made it.

        Args:
            kind: kind of the edit, see kernels/edits.py.
            fill: function that writes the fields `edit_...`.
            keep: object whose memory the loop uses until the next edit of this kind; None: there
                is no such object.

        Raises:
            RbdynError: the loop does not answer.
        """
        with self.lock:
            s = self._shared
            if not self.running:
                text = "the simulation does not run: it has not started yet, or has ended"
                raise RbdynError(Finding("stopped", text))
            # an edit that was not acknowledged may still be made, so its fields must not change
            # yet
            self.wait(shared.EDITS, int(s.asked[shared.EDITS]))
            fill(s)
            s.edit[edits.KIND] = kind
            # keep the former object too, because the loop uses it until it has made this edit
            self._kept[kind] = keep, self._kept.get(kind)
            self.send(shared.EDITS, int(s.asked[shared.EDITS]) + 1)
            self.wait(shared.EDITS, int(s.asked[shared.EDITS]))
            self._kept[kind] = keep

    def run_once(self) -> None:
        """Run the loop without a tick: this compiles it and hands over the state at the start."""
        self._shared.asked[shared.STOP] = 1
        cycle.run(self._shared)
        self._shared.asked[shared.STOP] = 0

    def close(self) -> None:
        """Close the wake-up of the loop."""
        self._wakeup.close()

# SPDX-License-Identifier: Apache-2.0
"""Control the time of a loop: pause, single steps and pace."""

import numpy as np

from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import Words
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.shared import Shared


class TimeControl:
    """Controls the time of a loop. Any thread may use it.

    Methods that wait raise RbdynError if the loop does not answer.

    Args:
        s: memory shared with the loop.
        requests: sends requests to the loop.
        period_ns: duration of a tick [ns].

    Attributes:
        real_time_factor: the requested factor, see set_real_time_factor.
    """

    def __init__(self, s: Shared, requests: Requests, period_ns: int) -> None:
        self._shared, self._requests, self._period_ns = s, requests, period_ns
        self.real_time_factor = 1.0

    @property
    def tick(self) -> int:
        """Number of the present tick."""
        return int(self._shared.tick)

    @property
    def seeded_tick(self) -> int:
        """Tick at which the random numbers restarted last."""
        return int(self._shared.seeded_tick)

    @property
    def locked(self) -> bool:
        """Return whether each tick waits for its commands."""
        return bool(self._shared.locked)

    @property
    def ready(self) -> bool:
        """Return whether the next tick has all commands that lock-step waits for."""
        s = self._shared
        return not s.locked or bool((s.due[s.dof_required == 1] == s.tick).all())

    @property
    def unanswered(self) -> Words:
        """Dofs for whose commands lock-step waits.

        After a timeout these are the dofs whose last command is older than the newest command, or
        all dofs if no command has arrived.
        """
        s = self._shared
        dofs: Words = np.flatnonzero(s.dof_required)
        due = s.due[dofs]
        newest = int(s.tick) if s.locked else due.max(initial=-1)
        lacking = dofs[due != newest]
        return lacking if s.locked or len(lacking) else dofs

    @property
    def waiting(self) -> bool:
        """Return whether lock-step is waiting for commands now."""
        return bool(self._shared.waiting)

    @property
    def paused(self) -> bool:
        """Return whether time is paused on request."""
        return bool(self._shared.done[shared.PAUSE])

    @property
    def diverged(self) -> bool:
        """Return whether the simulation is frozen, until a reset, because its state diverged."""
        return bool(self._shared.fault >= 0)

    def pause(self, paused: bool) -> None:
        """Pause or resume time, and wait until the loop has done so.

        Commands do not age while time is paused.
        """
        self.request_pause(paused)
        self.wait_for_pause()

    def request_pause(self, paused: bool) -> None:
        """Request a pause or its end without waiting."""
        self._requests.send(shared.PAUSE, int(paused))

    def wait_for_pause(self) -> None:
        """Wait until the loop has served request_pause."""
        self._requests.wait(shared.PAUSE, int(self._shared.asked[shared.PAUSE]))

    def step(self, ticks: int = 1) -> None:
        """Make ticks while time is paused, as fast as the time mode allows; wait for their end."""
        self.request_steps(ticks)
        self.wait_for_steps()

    def request_steps(self, ticks: int) -> None:
        """Request ticks while time is paused, without waiting."""
        s = self._shared
        with self._requests.lock:
            latest = max(int(s.asked[shared.STEPS]), int(s.done[shared.STEPS]))
            self._requests.send(shared.STEPS, latest + ticks)

    def wait_for_steps(self) -> None:
        """Wait until all requested ticks are made; raise RbdynError if they are cancelled."""
        s = self._shared
        wanted = int(s.asked[shared.STEPS])
        self._requests.wait(shared.STEPS, wanted, wanted - int(s.done[shared.STEPS]))

    def cancel_steps(self) -> None:
        """Cancel the requested ticks that have not been made yet."""
        with self._requests.lock:
            self._requests.send(shared.STEPS, int(self._shared.done[shared.STEPS]))

    def set_real_time_factor(self, factor: float) -> None:
        """Let simulated time pass `factor` times as fast as wall time, in mode realtime."""
        self.real_time_factor = factor
        self._requests.send(shared.PACE, max(round(self._period_ns / factor), 1))

# SPDX-License-Identifier: Apache-2.0
"""The clock of an arm's states, judged by the steady clock of this computer.

    offset  arrival - stamp
    base    the smallest offset so far: a state without delay; it may rise as a clock is slewed
    lag     offset - base

So a constant offset between the clocks of two machines is no lag, and a late message is lag, never
lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.control.base.kernels import entry, kernel
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Vector

#: Fastest rate at which NTP slews a clock.
SLEW = 5e-4
#: After a pause, states must be late for this time at least before the lag lasts [s].
LASTING = 0.02
#: Largest rate of the states' clock relative to the steady clock. Effort rates and paths depend on
#: the states' clock, so it may not run faster for long.
FASTER = 1.1
#: Times (TIMES,) [ns]: whether there was a state, its stamp and its arrival; the last arrival of a
#: state that was not late, and the first late one since then, or 0.
BEGUN, STAMP, ARRIVAL, TIMELY, LATE_SINCE, TIMES = range(6)
#: Numbers (NUMBERS,): the base [ns]; how far the clock ran ahead, the lag, and the numbers that
#: show a fault [s].
BASE, AHEAD, LAG, VALUE, ALLOWED, NUMBERS = range(6)
#: Verdicts on a stamp.
RIGHT, JUMPED, TOO_FAST, LATE = range(4)


class StateClock:
    """Judges the stamps of states.

    Args:
        timeout: largest jump of the clock, and how long all states may be late [s].
        simulated: the stamps are of a simulator, whose clock may run at any speed.

    Attributes:
        code: clock or latency if the newest stamp is wrong, else empty.
    """

    def __init__(self, timeout: float, simulated: bool) -> None:
        self._timeout, self._simulated = timeout, simulated
        self._times, self._numbers = np.zeros(TIMES, np.int64), np.zeros(NUMBERS)
        self.code = ""

    @property
    def lag(self) -> float:
        """Delay of the newest state relative to the fastest one [s]."""
        return float(self._numbers[LAG])

    @property
    def late(self) -> bool:
        """Whether the newest state came with more than the largest lag."""
        return bool(self._times[LATE_SINCE] > 0)

    def forget(self) -> None:
        """Take the next state as one without delay: a clock that stood still stays behind."""
        self._times[BEGUN] = 0

    def judge(self, stamp: int, arrival: int, latency: float) -> str:
        """Judge a new state; return the reason of `code`, or an empty string.

        Args:
            stamp: time of measurement [ns].
            arrival: time of arrival on the steady clock [ns].
            latency: largest lag that may last [s]; the timeout counts if it is shorter.
        """
        numbers, timeout = self._numbers, self._timeout
        verdict = judge.call(
            stamp, arrival, latency, timeout, self._simulated, self._times, numbers
        )
        if verdict == RIGHT:
            self.code = ""
            return ""
        self.code = "latency" if verdict == LATE else "clock"
        if verdict == JUMPED:
            return (
                f"the clock of the states jumped: it advanced by {numbers[VALUE]:.6f} s while "
                f"{numbers[ALLOWED] - timeout:.6f} s passed; at most {timeout:g} s more is allowed"
            )
        if verdict == TOO_FAST:
            return f"the clock of the states runs more than {FASTER:g} times as fast as real time"
        late = (arrival - int(self._times[TIMELY])) / NANOSECONDS
        return (
            f"for {late:.3f} s every state was late, the newest by {1e3 * self.lag:.1f} ms; "
            f"latency_limit is {1e3 * latency:g} ms"
        )


@entry
def judge(
    stamp: int,
    arrival: int,
    latency: float,
    timeout: float,
    simulated: bool,
    times: Ints,
    numbers: Vector,
) -> int:
    """Judge a new state; return RIGHT, JUMPED, TOO_FAST or LATE."""
    step, waited = seconds(times[STAMP], stamp), seconds(times[ARRIVAL], arrival)
    times[STAMP], times[ARRIVAL] = stamp, arrival
    if times[BEGUN] == 0:
        times[BEGUN] = 1
        restart(stamp, arrival, times, numbers)
        return RIGHT
    passed = 0.0 if simulated else waited
    if not (step >= 0.0 and step - passed <= timeout):
        restart(stamp, arrival, times, numbers)
        numbers[VALUE], numbers[ALLOWED] = step, passed + timeout
        return JUMPED
    if simulated:
        return RIGHT
    compare(float(arrival - stamp), waited, numbers)
    if not numbers[AHEAD] <= timeout:
        numbers[VALUE], numbers[ALLOWED], numbers[AHEAD] = numbers[AHEAD], timeout, 0.0
        return TOO_FAST
    lag = numbers[LAG]
    if lag <= min(latency, timeout):
        times[TIMELY], times[LATE_SINCE] = arrival, 0
        return RIGHT
    if times[LATE_SINCE] == 0:
        times[LATE_SINCE] = arrival
    lasts = seconds(times[LATE_SINCE], arrival) > LASTING
    if not (seconds(times[TIMELY], arrival) > timeout and lasts) and lag <= timeout:
        return RIGHT
    numbers[VALUE], numbers[ALLOWED] = lag, latency
    return LATE


@kernel
def restart(stamp: int, arrival: int, times: Ints, numbers: Vector) -> None:
    """Take a state as one without delay."""
    numbers[BASE], numbers[AHEAD], numbers[LAG] = float(arrival - stamp), 0.0, 0.0
    times[TIMELY], times[LATE_SINCE] = arrival, 0


@kernel
def compare(offset: float, waited: float, numbers: Vector) -> None:
    """Update base and lag, and how far stamps ran ahead beyond the allowed rate."""
    base, ahead = numbers[BASE] + SLEW * waited * NANOSECONDS, numbers[AHEAD]
    if offset < base:
        ahead += (base - offset) / NANOSECONDS
        base = offset
    numbers[BASE], numbers[LAG] = base, (offset - base) / NANOSECONDS
    numbers[AHEAD] = max(0.0, ahead - (FASTER - 1.0) * waited)


@kernel
def seconds(first: int, last: int) -> float:
    """Return the time between two times [ns] in seconds."""
    return (last - first) / NANOSECONDS

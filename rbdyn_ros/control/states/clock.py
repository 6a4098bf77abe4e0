# SPDX-License-Identifier: Apache-2.0
"""The clock of an arm's states, judged by the steady clock of this computer.

    offset  arrival - stamp
    base    the smallest offset so far: a state without delay; it may rise as a clock is slewed
    lag     offset - base

So a constant offset between the clocks of two machines does not count as lag, and a late message
counts as lag, never as lead.
"""

from __future__ import annotations

from rbdyn_ros.arrays import Ints
from rbdyn_ros.control.base.faults import JUMPED, LATE, TOO_FAST
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Fastest rate at which NTP slews a clock.
SLEW = 5e-4
#: After a pause, a lag counts as lasting only once states have been late for this time [s].
LASTING = 0.02
#: Largest rate of the states' clock relative to the steady clock. Effort rates and paths depend on
#: the states' clock, so it may not run faster for long.
FASTER = 1.1
#: Times (TIMES,) [ns]: whether there was a state, its stamp and its arrival; the last arrival of a
#: state that was not late, and the arrival of the first late state since then, or 0.
BEGUN, STAMP, ARRIVAL, TIMELY, LATE_SINCE, TIMES = range(6)
#: Numbers (NUMBERS,): the base [ns]; how far the clock ran ahead, the lag, and the value and bound
#: of a fault [s].
BASE, AHEAD, LAG, SEEN, MOST, NUMBERS = range(6)


@kernel
def judge(
    stamp: int,
    arrival: int,
    latency: float,
    timeout: float,
    simulated: bool,
    times: Ints,
    numbers: Vector,
) -> int:
    """Judge a new state; return JUMPED, TOO_FAST, LATE, or 0.

    The state was measured at `stamp` and arrived at `arrival` on the steady clock [ns]. The
    largest lag that may last is `latency`, or `timeout` if that is shorter; a jump may be as long
    as `timeout` [s]. A `simulated` clock may run at any speed.
    """
    step, waited = seconds(times[STAMP], stamp), seconds(times[ARRIVAL], arrival)
    times[STAMP], times[ARRIVAL] = stamp, arrival
    if times[BEGUN] == 0:
        times[BEGUN] = 1
        restart(stamp, arrival, times, numbers)
        return 0
    passed = 0.0 if simulated else waited
    if not (step >= 0.0 and step - passed <= timeout):
        restart(stamp, arrival, times, numbers)
        numbers[SEEN], numbers[MOST] = step, passed + timeout
        return JUMPED
    if simulated:
        return 0
    compare(float(arrival - stamp), waited, numbers)
    if not numbers[AHEAD] <= timeout:
        numbers[SEEN], numbers[MOST], numbers[AHEAD] = numbers[AHEAD], timeout, 0.0
        return TOO_FAST
    lag = numbers[LAG]
    if lag <= min(latency, timeout):
        times[TIMELY], times[LATE_SINCE] = arrival, 0
        return 0
    if times[LATE_SINCE] == 0:
        times[LATE_SINCE] = arrival
    lasts = seconds(times[LATE_SINCE], arrival) > LASTING
    if not (seconds(times[TIMELY], arrival) > timeout and lasts) and lag <= timeout:
        return 0
    numbers[SEEN], numbers[MOST] = lag, latency
    return LATE


@kernel
def restart(stamp: int, arrival: int, times: Ints, numbers: Vector) -> None:
    """Restart the judgement with a state, which then counts as a state without delay."""
    numbers[BASE], numbers[AHEAD], numbers[LAG] = float(arrival - stamp), 0.0, 0.0
    times[TIMELY], times[LATE_SINCE] = arrival, 0


@kernel
def compare(offset: float, waited: float, numbers: Vector) -> None:
    """Update base and lag, and how far stamps ran ahead beyond the allowed rate.

    `offset` is the offset of the newest state [ns], which came `waited` [s] after its predecessor.
    """
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

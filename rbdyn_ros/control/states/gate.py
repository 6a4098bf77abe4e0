# SPDX-License-Identifier: Apache-2.0
"""The safety gate: checks of every state before the control law and of every effort after it.

The order is: finite -> names -> age -> position -> velocity -> (control law) -> effort -> stops ->
rate -> bumpless start -> watchdog. A fault is latched with its reason until it is cleared.

This is not a safety function: the arm's own safety controller and emergency stop stay in charge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.state_kernels import LONGEST, SHORTEST
from rbdyn_ros.control.states import gate_kernels
from rbdyn_ros.control.states.clock import StateClock
from rbdyn_ros.control.states.inspection import Inspection
from rbdyn_ros.control.states.measured import Measured
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Time over which the mean time that an effort acts is taken [s]. It may be LONGEST, or what one
#: pause of state_timeout makes of it.
HELD = 0.25
#: States are missing after this many periods without one, if that is more than the largest lag.
MISSED = 2.0
#: After a fault efforts may change this many times as fast: they may have to stop an arm that
#: wrong states set in motion.
HASTE = 5.0


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Settings of the safety gate.

    Attributes:
        state_timeout: largest age of a state [s].
        effort_rate: largest rate of change of an effort [N m/s or N/s], for effort limits above
            150 in proportion more; HASTE times as much after a fault.
        blend_time: time in which the initial difference between law and arm decays [s].
        simulated: the states' clock belongs to a simulator and may run at any speed.

    Raises:
        ParameterError: a number is not finite or not above 0.
    """

    state_timeout: float = 0.08
    effort_rate: float = 1000.0
    blend_time: float = 0.5
    simulated: bool = False

    def __post_init__(self) -> None:
        for name in ("state_timeout", "effort_rate", "blend_time"):
            finite(name, getattr(self, name), above=0.0, element="")


class SafetyGate:
    """Checks states and limits efforts; only efforts that passed it are published.

    Args:
        m: the robot.
        limits: limits of the controlled joints (n).
        settings: see GateSettings.

    Attributes:
        measured: the newest valid state.
        fault: the latched fault, or None.
        effort: (n,) the efforts that passed last [N m or N].
        saturated: (n,) whether the law exceeded the effort limit.
        step: time between the last two states by their clock [s].
        held: mean time for which an effort acted, until the next states arrived [s].
        unfit: fault of the last desired efforts, or None.
        took_back: whether the newest state was replaced by the one before.
    """

    def __init__(self, m: Model, limits: Limits, settings: GateSettings | None = None) -> None:
        self.limits, self.settings = limits, settings or GateSettings()
        self.measured = Measured(m, limits.names)
        self.fault: Fault | None = None
        n = len(limits.names)
        self._wanted, self._holding = np.zeros((2, m.nv))
        self._out = np.zeros((gate_kernels.OUT, n))
        self.effort: Array = self._out[gate_kernels.RELEASED]
        self.saturated = self._out[gate_kernels.SATURATED]
        self.unfit: Fault | None = None
        self.took_back = False
        self.step, self.held = SHORTEST, 0.0
        self._since_start = math.inf
        self.clock = StateClock(self.settings.state_timeout, self.settings.simulated)
        self._inspection = Inspection(self.measured, limits)

    def use(self, limits: Limits) -> None:
        """Continue with tighter limits of the same joints, see Limits.tightened."""
        self.limits = limits
        self._inspection.use(limits)

    def trip(self, fault: Fault) -> None:
        """Latch a fault, unless there is one, and end a bumpless start: it would delay braking."""
        self.fault = self.fault or fault
        self._since_start = math.inf

    def clear(self) -> None:
        """Clear the fault, and forget the delay of the states and how their numbers disagreed."""
        self.fault = None
        self.clock.forget()
        self._inspection.forget()

    # states

    def admit(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
        stamp: int,
        arrival: int,
    ) -> tuple[float, Fault | None]:
        """Accept or reject a state.

        Args:
            names: names of joints; these and the next three as for Measured.take.
            position: [rad or m].
            velocity: [rad/s or m/s].
            effort: [N m or N].
            stamp: time of measurement [ns]; 0: unknown, the arrival is used.
            arrival: time of arrival on the steady clock [ns].

        Returns:
            The time since the previous state [s], from SHORTEST to LONGEST, or 0 if there is no
            new state; and the fault, or None.
        """
        seen, inspection = self.measured, self._inspection
        time = stamp or arrival
        first, before = seen.arrival is None, seen.arrival or 0
        if not first and time == seen.time:
            return 0.0, None  # repeated while the clock is paused
        refused = seen.take(names, position, velocity, effort)
        if refused is not None:
            return 0.0, Fault(refused.code, f"a state was refused: {refused.text}", blind=True)
        self.took_back = False
        step = (time - seen.time) / NANOSECONDS  # since the last accepted state
        why = self.clock.judge(time, arrival, self.limits.latency)
        jumped = self.clock.code == "clock"
        if jumped:  # only the steady clock tells how much time passed
            step = max(arrival - before, 0) / NANOSECONDS
        wrong = inspection.judge(math.inf if first else step, self.effort)
        if jumped and wrong is not None and wrong.blind:
            wrong = Fault("clock", f"{why}; and {wrong.text}", blind=True)
        if wrong is not None and inspection.moved:
            seen.take_back()
            self.took_back = True
            return 0.0, wrong
        if not first:
            self._hold(step if self.settings.simulated else (arrival - before) / NANOSECONDS)
        seen.time, seen.arrival = time, arrival
        if jumped and not (wrong is not None and wrong.blind):
            return SHORTEST, Fault("clock", why)
        if why and not jumped:
            return 0.0, Fault("latency", why, blind=True)
        if wrong is not None and wrong.blind:
            return 0.0, wrong
        self.step = SHORTEST if first else max(step, SHORTEST)
        return min(self.step, LONGEST), wrong

    def _hold(self, time: float) -> None:
        """Count the time [s] for which the last effort acted: of a burst only its pause counts.

        A longer one than state_timeout is a fault by itself, after which the count begins anew.
        """
        time = max(time, 0.0)
        paused = time > self.settings.state_timeout
        self.held = 0.0 if paused else self.held - math.expm1(-time / HELD) * (time - self.held)

    def too_slow(self) -> Fault | None:
        """Return a fault if efforts act for so long that feedback may shake the arm."""
        pause = self.settings.state_timeout
        most = max(LONGEST, -math.expm1(-pause / HELD) * pause)
        if self.held <= most:
            return None
        text = f"states came every {1e3 * self.held:.0f} ms, or in bursts with such pauses"
        return Fault("age", f"{text}; allowed is {1e3 * most:.0f} ms on average", blind=True)

    def is_late(self, now: int, period: float) -> bool:
        """Whether the newest state is too old to be answered.

        Args:
            now: steady clock [ns].
            period: mean time between two states [s], or NaN.
        """
        most = min(self.limits.latency, self.settings.state_timeout)
        most = max(most, MISSED * period)
        return self.clock.late or self.age(now) > most

    def age(self, now: int) -> float:
        """Return the time since the newest state arrived [s]; now: steady clock [ns]."""
        arrival = self.measured.arrival
        return math.inf if arrival is None else (now - arrival) / NANOSECONDS

    def overdue(self, now: int) -> float:
        """Return for how long the newest state has been too old [s]; now: steady clock [ns]."""
        return max(self.age(now) - self.settings.state_timeout, 0.0)

    def watch(self, now: int) -> Fault | None:
        """Return a fault if the newest state is too old; `now` is on the steady clock [ns]."""
        if self.measured.arrival is None:
            return Fault("age", "no state of the arm has arrived yet", blind=True)
        age = self.age(now)
        if age <= self.settings.state_timeout:
            return None
        allowed = f"allowed is {self.settings.state_timeout:g} s"
        return Fault("age", f"the newest state is {age:.3f} s old; {allowed}", blind=True)

    # efforts

    def begin(self, effort: Array) -> None:
        """Start bumpless: the next effort is this one (n,); its difference to the law decays."""
        cap = self.limits.effort
        np.clip(effort, -cap, cap, out=self.effort)
        self._out[gate_kernels.START] = self.effort
        self._since_start = 0.0

    def release(self, wanted: Array, holding: Array, dt: float, at_once: bool = False) -> Array:
        """Return the efforts that may be commanded (n,), an array of the gate.

        Args:
            wanted: (nv,) efforts of the law [N m or N].
            holding: (nv,) efforts that hold the arm; only the excess pushes it.
            dt: time since the last call, at most LONGEST counts [s].
            at_once: without a limit of the rate, for last efforts: the driver may repeat them.
        """
        self._wanted[:], self._holding[:] = wanted, holding
        return self.release_own(self._wanted, self._holding, dt, at_once)

    def release_own(
        self, wanted: Array, holding: Array, dt: float, at_once: bool = False
    ) -> Array:
        """Return the efforts as `release` does, from arrays that the caller made itself."""
        rate = self.settings.effort_rate * (1.0 if self.fault is None else HASTE)
        inspection = self._inspection
        k = gate_kernels.release.call(
            wanted,
            holding,
            self.measured.qpos,
            inspection.dofs,
            inspection.rows,
            math.inf if at_once else rate,
            dt,
            self._since_start,
            self.settings.blend_time,
            self._out,
        )
        self.unfit = None
        if k >= 0:
            text = (
                f"the effort that the mode computes for joint '{self.limits.names[k]}' is "
                "not a finite number"
            )
            self.unfit = Fault("effort", text)
        self._since_start += min(dt, LONGEST)
        return self.effort

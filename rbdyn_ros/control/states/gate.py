# SPDX-License-Identifier: Apache-2.0
"""The safety gate: checks of every state before the control law and of every effort after it.

The order is: finite -> names -> age -> position -> velocity -> (control law) -> effort -> stops ->
rate -> bumpless start -> watchdog. A fault is latched with its reason until it is cleared.

This is not a safety function: the arm's own safety controller and emergency stop stay in charge.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.faults import ALLOWED, BLIND, FINITE, FOUND, KIND, OLD, VALUE, Fault
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.state_kernels import AGE, SHORTEST, WAY
from rbdyn_ros.control.states import gate_kernels
from rbdyn_ros.control.states.clock import BEGUN, LAG
from rbdyn_ros.control.states.fault_texts import fault_of
from rbdyn_ros.control.states.loop_state import RELEASED, SATURATED
from rbdyn_ros.control.states.measured import Measured
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.model.model import Model

_begin, _release = Entry(gate_kernels.begin), Entry(gate_kernels.release)
_admit = Entry(gate_kernels.admit)


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Settings of the safety gate.

    Attributes:
        state_timeout: largest age of a state [s].
        effort_rate: largest rate of change of an effort [N m/s or N/s]; in proportion more for
            effort limits above 150, and HASTE times as much after a fault.
        blend_time: time in which the initial difference between law and arm decays [s].
        simulated: whether the states' clock belongs to a simulator and may run at any speed.

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
    """Checks states and limits efforts; only efforts that passed the gate are published.

    The work is done in kernels of the gate and of the control loop, because the same kernels run
    in generated controllers of ros2_control.

    Args:
        m: the robot.
        limits: limits of the controlled joints (n).
        settings: see GateSettings.

    Attributes:
        s: the state of the kernels.
        measured: the newest valid state.
        fault: the latched fault, or None.
        effort: (n,) the efforts that passed last [N m or N].
        saturated: (n,) whether the law exceeded the effort limit.
        unfit: joint whose last desired effort was not a number, or -1.
    """

    def __init__(self, m: Model, limits: Limits, settings: GateSettings | None = None) -> None:
        self.settings = settings or GateSettings()
        self.measured = Measured(m, limits.names)
        s = self.s = self.measured.s
        self._dt, self._step = s.scalars["dt"], s.scalars["step"]
        self.fault: Fault | None = None
        self.effort: Array = s.out[RELEASED]
        self.saturated: Array = s.out[SATURATED]
        self.unfit = -1
        self._wanted, self._holding = np.zeros((2, m.nv))
        self._refused = Fault("finite", "")
        for name in GateSettings.__slots__:
            setattr(s, name, getattr(self.settings, name))
        s.dofs, s.since_start, s.step = limits.dofs, math.inf, SHORTEST
        s.memory[AGE] = math.inf
        self.use(limits)

    def use(self, limits: Limits) -> None:
        """Continue with tighter limits for the same joints, see Limits.tightened."""
        s, self.limits = self.s, limits
        s.limits, s.acceleration = limits.rows, limits.acceleration
        s.latency, s.contact = limits.latency, limits.contact

    def trip(self, fault: Fault) -> None:
        """Latch a fault unless one is latched; end a bumpless start, which would delay braking."""
        self.fault = self.fault or fault
        self.s.faulty, self.s.since_start = 1, math.inf

    def clear(self) -> None:
        """Clear the fault, the delay of the states and the disagreement of their numbers."""
        self.fault, s = None, self.s
        s.faulty, s.times[BEGUN], s.memory[: WAY + 1] = 0, 0, 0.0

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
            names: names of joints; this argument and the next three are those of Measured.take.
            position: positions in the order of names [rad or m].
            velocity: velocities in this order [rad/s or m/s].
            effort: measured efforts in this order [N m or N].
            stamp: time of measurement [ns]; 0: unknown, the arrival is used.
            arrival: time of arrival on the steady clock [ns].

        Returns:
            The time since the previous state [s], from SHORTEST to LONGEST, or 0 without a new
            credible state; and the fault, or None.
        """
        time = stamp or arrival
        if self.measured.is_from(time):
            return 0.0, None  # a paused clock repeats the state
        stored = self.take(names, position, velocity, effort)
        dt = _admit.call(self.s.handle, time, arrival, stored)
        return dt, self.wrong()

    def take(self, names: Sequence[str], position: Array, velocity: Array, effort: Array) -> bool:
        """Store a state for the kernels; return False if it is refused. See Measured.take."""
        refused = self.measured.take(names, position, velocity, effort)
        if refused is not None:
            text = f"a state was refused: {refused.text}"
            self._refused = Fault(refused.code, text, blind=True)
        return refused is None

    def wrong(self) -> Fault | None:
        """Return the fault of the newest state, or None."""
        return self.fault_of(self.s.wrong) if self.s.wrong[KIND] else None

    def fault_of(self, row: Array) -> Fault:
        """Return the fault that a kernel has written into a row of the memory."""
        return self._refused if row[KIND] == FINITE else fault_of(row, self.s, self.limits)

    @property
    def step(self) -> float:
        """Time between the last two states by their clock, at least SHORTEST [s]."""
        return float(self._step.item())

    @property
    def dt(self) -> float:
        """`step` clamped to SHORTEST and LONGEST, or 0 without a new valid state [s]."""
        return float(self._dt.item())

    @property
    def lag(self) -> float:
        """Delay of the newest state relative to the fastest state [s]."""
        return float(self.s.numbers[LAG])

    def watch(self, now: int) -> Fault | None:
        """Return a fault if the newest state is too old, else None; `now`: steady clock [ns]."""
        age = self.measured.age(now)
        if age <= self.settings.state_timeout:
            return None
        row = np.zeros(FOUND)
        row[KIND], row[BLIND], row[VALUE] = OLD, 1.0, age
        row[ALLOWED] = self.settings.state_timeout
        return self.fault_of(row)

    # efforts

    def begin(self, effort: Array) -> None:
        """Start from this effort (n,) without a jump; the difference from the law decays."""
        _begin.call(self.s.handle, np.array(effort, np.float64))

    def release(self, wanted: Array, holding: Array, dt: float, last: bool = False) -> Array:
        """Return the efforts that may be commanded (n,), an array of the gate.

        Args:
            wanted: (nv,) efforts of the law [N m or N].
            holding: (nv,) efforts that hold the arm; only efforts beyond these push it.
            dt: time since the last call, of which at most LONGEST counts [s].
            last: whether these are the last efforts, whose rate is not limited, because the driver
                may repeat them.
        """
        self._wanted[:], self._holding[:] = wanted, holding
        return self.release_own(self._wanted, self._holding, dt, last)

    def release_own(self, wanted: Array, holding: Array, dt: float, last: bool = False) -> Array:
        """Return the efforts as `release` does. The arrays are not checked."""
        self.unfit = _release.call(self.s.handle, wanted, holding, dt, last)
        return self.effort

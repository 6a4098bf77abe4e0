"""The safety gate: what every state passes on its way in and every effort on its way out.

finite -> names -> age -> position -> velocity -> (the law) -> effort -> stops -> rate -> bumpless
start -> watchdog, in this order. A fault is latched with its reason until it is cleared.

This is no safety function: the arm's own safety controller and its emergency stop stay in charge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.gate_kernels import (
    LONGEST,
    MOVED,
    POSITION,
    SHORTEST,
    UNLIKE,
    VELOCITY,
    blend,
    inspect,
    limit,
)
from rbdyn_ros.control.limits import Limits
from rbdyn_ros.control.measured import NOT_FINITE, Measured
from rbdyn_ros.model.model import Model

NANOSECONDS = 1_000_000_000
#: So much faster than the steady clock the one of the states may run, and not for long: effort
#: rates and paths are told in its time.
FASTER = 1.1


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the arm must not go on.

    Attributes:
        code: finite, names, age, clock, position, velocity, effort, tracking, target.
        text: a sentence.
        blind: the state cannot be known, so nothing can be controlled by it.
    """

    code: str
    text: str
    blind: bool = False


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How strict the gate is.

    Attributes:
        state_timeout: age at which a state is too old [s].
        effort_rate: most that an effort changes in a second [N m/s or N/s].
        blend_time: in which the difference between law and arm at a start decays [s].
        simulated: the clock of the states is a simulator's, which may run at any speed.

    Raises:
        ParameterError: one of them is not a finite number above 0.
    """

    state_timeout: float = 0.1
    effort_rate: float = 1000.0
    blend_time: float = 0.5
    simulated: bool = False

    def __post_init__(self) -> None:
        for name in ("state_timeout", "effort_rate", "blend_time"):
            finite(name, getattr(self, name), above=0.0, element="")


class SafetyGate:
    """Stands before and behind a law; nothing is published that did not pass it.

    Args:
        m: the robot.
        limits: of the controlled joints (n).
        settings: see there.

    Attributes:
        measured: the newest good state.
        fault: latched, or None.
        effort: (n,) what passed last.
        saturated: (n,) whether the law wanted more than the limit of its effort.
        step: from the state before to the newest, as their clock tells [s].
        unfit: what was wrong with the efforts that were wanted last, or None.
    """

    def __init__(self, m: Model, limits: Limits, settings: GateSettings | None = None) -> None:
        self.limits, self.settings = limits, settings or GateSettings()
        self.measured = Measured(m, limits.names)
        self.fault: Fault | None = None
        n = len(limits.names)
        self.effort, self.saturated = np.zeros(n), np.zeros(n)
        self._limited, self._difference, self._start = np.zeros((3, n))
        self.unfit: Fault | None = None
        self.step = SHORTEST
        self._since_start, self._ahead = math.inf, 0.0
        self._before, self._strange, self._found = np.zeros((3, m.nv)), np.zeros(n), np.zeros(3)
        self._use(limits)

    def _use(self, limits: Limits) -> None:
        rows = (limits.lower, limits.upper, limits.velocity, limits.effort)
        self._rows = np.array(rows)
        self.limits = limits

    def tighten(self, effort_scale: float, velocity_scale: float, inset: float) -> None:
        """Make the limits tighter, see Limits.tightened, which may raise ParameterError."""
        self._use(self.limits.tightened(effort_scale, velocity_scale, inset))

    def trip(self, fault: Fault) -> None:
        """Latch a fault; the first one stays. Nothing is left of a start: what brakes, brakes."""
        self.fault = self.fault or fault
        self._since_start = math.inf

    def clear(self) -> None:
        """Forget the fault."""
        self.fault = None

    # the way in

    def admit(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
        stamp: int,
        arrival: int,
    ) -> tuple[float, Fault | None]:
        """Take a state, or say why not: its numbers, its names, its age, where and how fast.

        Args:
            names: as for Measured.take, like the next three.
            position: [rad or m].
            velocity: [rad/s or m/s].
            effort: [N m or N].
            stamp: when it was measured [ns]; 0: not told, the arrival counts.
            arrival: of the message on the steady clock [ns].

        Returns:
            Time since the state before [s], from SHORTEST to LONGEST, 0 if there is nothing new;
            and what is wrong, or None.
        """
        seen = self.measured
        time = stamp or arrival
        first = seen.arrival is None
        if not first and time == seen.time:
            return 0.0, None  # said again while time stands
        for row, kept in zip((seen.qpos, seen.qvel, seen.effort), self._before, strict=True):
            kept[:] = row
        why = seen.take(names, position, velocity, effort)
        if why:
            code = "finite" if why.endswith(NOT_FINITE) else "names"
            return 0.0, Fault(code, f"a state was refused: {why}", blind=True)
        step = (time - seen.time) / NANOSECONDS
        waited = 0.0 if seen.arrival is None else (arrival - seen.arrival) / NANOSECONDS
        why = "" if first else self._jumped(step, waited)
        wrong = None if why else self._inspect(math.inf if first else step)
        if self._found[2] == MOVED and not why:
            for row, kept in zip((seen.qpos, seen.qvel, seen.effort), self._before, strict=True):
                row[:] = kept
            return 0.0, wrong
        ahead = 0.0 if self.settings.simulated else self._ahead + step - FASTER * waited
        self._ahead = 0.0 if first or why else max(0.0, ahead)
        seen.time, seen.arrival = time, arrival
        if why:
            return SHORTEST, Fault("clock", why)
        if wrong is not None and wrong.blind:
            return 0.0, wrong
        self.step = SHORTEST if first else max(step, SHORTEST)
        return min(self.step, LONGEST), wrong

    def _jumped(self, step: float, waited: float) -> str:
        """Return what is wrong with the clock of the states: it jumped, or runs too fast."""
        allowed = self.settings.state_timeout
        if self.settings.simulated:
            waited = 0.0  # says nothing: only a step that is too long is a jump
        if step < 0.0 or abs(step - waited) > allowed:
            return (
                f"the clock of the states jumped: from one to the next it went on by {step:.6f} s "
                f"while {waited:.6f} s passed"
            )
        if self.settings.simulated or self._ahead + step - FASTER * waited <= allowed:
            return ""
        return f"the clock of the states runs more than {FASTER:g} times as fast as time"

    def _inspect(self, step: float) -> Fault | None:
        """Return what is wrong with where the joints are and how fast they move."""
        seen, found, limits = self.measured, self._found, self.limits
        rows, strange = self._rows, self._strange
        inspect(seen.qpos, seen.qvel, self._before, limits.dofs, rows, step, strange, found)
        kind, k, blind = int(found[0]), int(found[1]), bool(found[2] > 0.0)
        if kind == 0:
            return None
        name, dof = limits.names[k], limits.dofs[k]
        if kind == POSITION:
            text = (
                f"joint '{name}' is at {seen.qpos[dof]:.6g}, beyond its limits "
                f"{limits.lower[k]:.6g} and {limits.upper[k]:.6g}"
            )
            return Fault("position", text, blind)
        if kind == UNLIKE:
            text = f"joint '{name}' does not move at the velocities that are measured of it"
            return Fault("velocity", text, blind)
        if kind == VELOCITY:
            text = f"joint '{name}' moves at {seen.qvel[dof]:.6g}"
        else:
            moved = seen.qpos[dof] - self._before[0, dof]
            text = f"joint '{name}' moved by {moved:.6g} in {step:.6f} s"
        text = f"{text}; its velocity limit is {limits.velocity[k]:.6g}"
        return Fault("velocity", text, blind)

    def watch(self, now: int) -> Fault | None:
        """Return what is wrong if the newest state is too old; `now` on the steady clock [ns]."""
        arrival = self.measured.arrival
        if arrival is None:
            return Fault("age", "no state of the arm came yet", blind=True)
        age = (now - arrival) / NANOSECONDS
        if age <= self.settings.state_timeout:
            return None
        text = f"the newest state is {age:.3f} s old; at most {self.settings.state_timeout:g} s is"
        return Fault("age", f"{text} allowed", blind=True)

    # the way out

    def begin(self, effort: Array) -> None:
        """Start bumpless: the first effort that passes is this one (n,), and the rest decays."""
        cap = self.limits.effort
        np.clip(effort, -cap, cap, out=self.effort)
        self._start[:] = self.effort
        self._since_start = 0.0

    def release(self, wanted: Array, holding: Array, dt: float) -> Array:
        """Return what may be commanded (n,), the gate's own array.

        Args:
            wanted: (nv,) by the law.
            holding: (nv,) what holds the arm where it is: only what exceeds it pushes.
            dt: since the last time, of which LONGEST counts at most [s].
        """
        dt = min(dt, LONGEST)
        dofs, rows, qpos = self.limits.dofs, self._rows, self.measured.qpos
        first = self._since_start == 0.0
        step = self.settings.effort_rate * dt
        largest = math.inf if first else step  # there is no rate before there was anything
        limited, difference = self._limited, self._difference
        found = self._found
        limit(wanted, holding, qpos, dofs, rows, largest, limited, self.saturated, found)
        self.unfit = None
        if found[0] >= 0.0:
            name = self.limits.names[int(found[0])]
            self.unfit = Fault("effort", f"the effort for joint '{name}' is not a number")
        if first:
            np.subtract(self.effort, limited, out=difference)
        share = _share(self._since_start / self.settings.blend_time)
        start = self._start
        blend(limited, difference, start, share, holding, qpos, dofs, rows, step, self.effort)
        self._since_start += dt
        return self.effort


def _share(x: float) -> float:
    """Fall from 1 to 0 while x goes from 0 to 1, without a jump of its rate."""
    return 0.5 + 0.5 * math.cos(math.pi * x) if x < 1.0 else 0.0

# SPDX-License-Identifier: Apache-2.0
"""The start-up test of an arm that takes efforts: it feels out each joint before arming.

Some errors show in no number of an arm at rest: the sign of an unloaded joint, a gear ratio, two
equal joints exchanged, a hidden delay, filtered velocities. So the arm is first held by the model
alone. Then each joint in turn gets an effort that moves it by some mrad and back, and the others
the efforts at which they stay.

A pulse is decided before it begins. What arrives during it changes only the efforts against
gravity, by as little as the arm may move, or ends the test: no wrong number is amplified. A
stronger pulse follows where friction may have held a joint, and once where a reply was wrong.
After a refusal nothing is sent, and the arm's own controller holds the arm, as before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arming.start_up_reply import (
    LONGEST_DELAY,
    Fit,
    motion_fit,
    signal_fit,
    velocity_fit,
)
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.model.joints import JointType

#: Time before the first pulse [s], in which no joint may move further than this [rad or m].
QUIET, STILL = 0.1, 0.004
#: Displacement of the pulses, from the first to the strongest [rad]; of a slide, this share [m].
WAYS, SLIDING = (0.006, 0.012, 0.015, 0.015), 0.25
#: Their shortest durations [s] and numbers of states, and their largest efforts beyond gravity and
#: speeds, as shares of the limits.
DURATIONS, STATES = (0.12, 0.08, 0.06, 0.02), (16, 16, 12, 6)
SHARES, SPEEDS = (0.1, 0.15, 0.2, 0.2), (0.3, 0.3, 0.3, 0.6)
#: From this pulse on friction hides all but the sign. Where it held the joint under the first
#: pulse, the factor of the tolerance counts twice.
SIGN_ONLY = 2
#: A joint that seems this much lighter while all others are free shares its axis with another one:
#: only its sign is judged.
COUPLED = 15.0
#: Least distance from a limit during a pulse [rad or m].
CLEAR = 0.002
#: A joint has moved if it has moved by this share of its way.
MOVED = 0.25
#: Farthest that the driven joint, or another one, may be reported away [rad or m].
FAR, OTHERS = 0.06, 0.03
#: Time after a pulse in which the joint must come to rest [s].
AFTER = 0.04
#: Part of latency_limit that a reply may take.
PROMPT = 0.9
#: States that are further apart end the test: the last effort acted for too long [s].
LATE = 0.03
#: Bounds of reported velocities by true ones, and of measured efforts by those sent.
TRUE_SPEED, TRUE_EFFORT = (0.7, 1.4), (0.5, 2.0)
#: Share of a known friction that is compensated for sure.
SURE = 0.75
#: Most of a reply that may remain unexplained.
UNLIKE = 0.3
#: Peaks of the pulse sin^4 with the way 1 and the duration 1: speed, acceleration.
PEAK_SPEED, PEAK_ACCELERATION = 1.299 * math.pi, 4.0 * math.pi**2


@dataclass(frozen=True, slots=True)
class Pulse:
    """A motion of one joint by a way and back: way sin^4(pi t / duration).

    Attributes:
        k: number of the controlled joint.
        level: number of the strength.
        way: [rad or m], with its sign.
        duration: [s].
    """

    k: int
    level: int
    way: float
    duration: float

    def motion(self, time: float) -> tuple[float, float]:
        """Return velocity and acceleration at a time [s]."""
        if not 0.0 < time < self.duration:
            return 0.0, 0.0
        rate = math.pi / self.duration
        angle = 2.0 * rate * time
        speed = self.way * rate * (math.sin(angle) - 0.5 * math.sin(2.0 * angle))
        gain = 2.0 * self.way * rate * rate * (math.cos(angle) - math.cos(2.0 * angle))
        return speed, gain


def test_ways(limits: Limits, qpos: Array, slides: Array) -> Array:
    """Return the largest displacements of the controlled joints (n,), away from near limits.

    Raises:
        RbdynError: a joint has no room.
    """
    place = qpos[limits.dofs]
    up, down = limits.upper - place, place - limits.lower
    room = np.maximum(up, down) - CLEAR
    ways = np.where(slides, SLIDING, 1.0) * WAYS[-1]
    for k in np.flatnonzero(room < ways)[:1]:
        text = (
            f"joint '{limits.names[k]}' is at {place[k]:.4g} between its limits "
            f"{limits.lower[k]:.4g} and {limits.upper[k]:.4g}; the start-up test needs "
            f"{ways[k] + CLEAR:.3g} of room on one side"
        )
        raise refusal(text, "start-up", limits.names[k])
    return np.where(up >= down, ways, -ways)


class StartUpTest:
    """Moves each joint by some mrad and compares what it reports with the model.

    Args:
        arm: the robot.
        limits: of the controlled joints (n).
        qpos: (nv,) where the arm rests.
        holding: (nv,) commands that hold it.
        period: mean time between two states [s].
        tolerance: factor by which the acceleration of a joint may differ from the model.
        measured: whether the joints measure their efforts.
        ways: (n,) displacements, see test_ways.

    Attributes:
        done: whether every joint has passed.
        held: joints that were not tested: by the model their friction holds them.
        holding: (nv,) commands that hold the arm at the newest state.
    """

    def __init__(
        self,
        arm: Arm,
        limits: Limits,
        qpos: Array,
        holding: Array,
        period: float,
        tolerance: float,
        measured: bool,
        ways: Array,
    ) -> None:
        self._arm, self._limits, self._dofs = arm, limits, np.array(limits.dofs, np.int64)
        self._rest, self.holding = qpos[self._dofs].copy(), holding.copy()
        self._period, self._tolerance = period, tolerance
        self._measured, self._ways = measured, ways
        arm.d.qpos[:] = qpos
        whole = mass_matrix(arm.m, arm.d)
        self._inertia = whole[np.ix_(self._dofs, self._dofs)]
        self._mobility = np.linalg.inv(self._inertia)
        self._wanted, self._rubbing = holding.copy(), np.zeros(arm.m.nv)
        self._late = LATE + 2.0 * period
        self._pulse: Pulse | None = None
        self._stuck = False  # friction held the joint at first
        self._time, self.done = 0.0, False
        self.held: list[str] = []
        self._expected = np.zeros((2, len(limits.names)))  # displacement, velocity
        self._rows: list[tuple[float, ...]] = []
        self._start, self._most = self._rest.copy(), np.zeros(len(self._rest))

    @property
    def what(self) -> str:
        """What the test does now."""
        names = self._limits.names
        if self._pulse is None:
            return f"testing who carries the arm (0 of {len(names)})"
        k = self._pulse.k
        return f"testing joint '{names[k]}' ({k + 1} of {len(names)})"

    def advance(
        self,
        qpos: Array,
        qvel: Array,
        effort: Array,
        holding: Array,
        released: Array,
        step: float,
    ) -> Array:
        """Return the commands (nv,) after a state.

        Args:
            qpos: (nv,) positions.
            qvel: (nv,) velocities.
            effort: (nv,) measured efforts.
            holding: (nv,) commands that hold the arm there.
            released: (n,) commands that acted since the state before.
            step: time since then [s].

        Raises:
            RbdynError: something is wrong, in which joint, and what.
        """
        if step > self._late:
            raise _refused(f"states were {1e3 * step:.0f} ms apart during the test; arm again")
        place = qpos[self._dofs]
        self._predict(released, step)
        self.holding[:] = holding
        self._time += step
        self._watch(place)
        if self._pulse is None:
            if self._time >= QUIET:
                self._begin(0, 0, place)
        else:
            self._record(place, qvel[self._dofs], effort[self._dofs], released)
            self._judge_when_due(self._pulse, place)
        return self._commands()

    def _predict(self, released: Array, step: float) -> None:
        """Predict the motion under the efforts that acted, without friction that is known."""
        own = (self.holding + self._rubbing)[self._dofs]
        gain = self._mobility @ (released - own)
        place, speed = self._expected
        place += step * (speed + 0.5 * step * gain)
        speed += step * gain

    def _commands(self) -> Array:
        """Return the commands (nv,) of the present pulse."""
        self._wanted[:] = self.holding
        self._rubbing[:] = 0.0
        wanted: Array = self._wanted
        if self._pulse is not None:
            speed, gain = self._pulse.motion(self._time)
            self._rubbing[self._dofs[self._pulse.k]] = speed
            self._arm.friction.effort(self._rubbing, self._rubbing)
            wanted += self._rubbing
            wanted[self._dofs] += gain * self._inertia[:, self._pulse.k]
        return wanted

    def _begin(self, k: int, level: int, place: Array) -> None:
        """Begin a pulse."""
        self._pulse, self._time = self._planned(k, level), 0.0
        self._expected[:] = 0.0
        self._start[:], self._most[:] = place, 0.0
        self._rows.clear()

    def _planned(self, k: int, level: int) -> Pulse:
        """Return the pulse of a joint at a level, within the limits of speed and effort."""
        way = float(self._ways[k]) * WAYS[level] / WAYS[-1]
        column = np.abs(self._inertia[:, k])
        heaviest = float((column / self._limits.effort).max()) / SHARES[level]
        duration = max(
            DURATIONS[level],
            STATES[level] * self._period,
            PEAK_SPEED * abs(way) / (SPEEDS[level] * float(self._limits.velocity[k])),
            math.sqrt(PEAK_ACCELERATION * abs(way) * heaviest),
        )
        return Pulse(k, level, way, duration)

    def _watch(self, place: Array) -> None:
        """Raise RbdynError if a joint is reported where it cannot be."""
        off, k = place - self._rest, -1
        allowed = np.full(len(off), STILL if self._pulse is None else OTHERS)
        if self._pulse is not None:
            k = self._pulse.k
            allowed[k] = FAR
        beyond = np.flatnonzero(~(np.abs(off) <= allowed))
        if not len(beyond):
            return
        worst = int(beyond[0])
        name = self._limits.names[worst]
        if worst == k:
            text = (
                f"joint '{name}' is {off[worst]:.3g} from where it rested, under a pulse that "
                f"moves it by {self._ways[worst]:.3g}"
            )
            raise _refused(f"{text}. Check its gear ratio and the units of efforts", name)
        if self._pulse is not None:
            self._check_order(self._pulse)
            if self._has_moved():
                self._judge(self._pulse)  # the driven joint may be the cause
        text = (
            f"joint '{name}' moves by {off[worst]:.3g} under the efforts that hold the arm by the "
            "model"
        )
        cause = "Check gravity, mounting, payload and tool, robot_compensates_gravity, and drift"
        raise _refused(f"{text}. {cause}", name)

    def _has_moved(self) -> bool:
        """Whether the driven joint has moved."""
        assert self._pulse is not None
        return bool(self._most[self._pulse.k] >= MOVED * abs(self._pulse.way))

    def _check_order(self, pulse: Pulse) -> None:
        """Raise RbdynError if another joint moved instead of the driven one."""
        if self._is_coupled(pulse.k):
            return
        other, k = int(self._most.argmax()), pulse.k
        slid = self._ways[k] / self._ways[other]
        if self._has_moved() or self._most[other] * abs(slid) < MOVED * abs(pulse.way):
            return
        one, name = self._limits.names[k], self._limits.names[other]
        text = f"joint '{one}' was driven, but joint '{name}' moved by {self._most[other]:.3g}"
        raise _refused(f"{text}. Check the order of the joints", name)

    def _is_coupled(self, k: int) -> bool:
        """Whether a joint and another one turn about nearly the same axis.

        The efforts of both nearly cancel, so friction decides how far each of them moves.
        """
        return bool(self._inertia[k, k] * self._mobility[k, k] > COUPLED)

    def _record(self, place: Array, speed: Array, effort: Array, released: Array) -> None:
        assert self._pulse is not None
        k = self._pulse.k
        moved = float(place[k] - self._start[k])
        np.maximum(self._most, np.abs(place - self._start), out=self._most)
        sent = float(released[k] - self.holding[self._dofs[k]])
        row = self._time, moved, float(self._expected[0, k]), float(speed[k])
        self._rows.append((*row, float(effort[k]), sent))

    def _judge_when_due(self, pulse: Pulse, place: Array) -> None:
        """Judge the reply to a pulse once the joint rests again, and begin the next one."""
        over = self._time - pulse.duration
        if over < AFTER:
            return
        longest = over >= LONGEST_DELAY
        moved = self._has_moved()
        if not longest and not (moved and self._rests()):
            return
        if not moved:
            self._stronger(pulse, place)
            return
        try:
            self._judge(pulse)
        except RbdynError:
            if pulse.level > 0:
                raise
            self._begin(pulse.k, 1, place)  # in noise, a stronger pulse decides
        else:
            self._next(pulse, place)

    def _next(self, pulse: Pulse, place: Array) -> None:
        """Go on with the next joint."""
        self._stuck = False
        if pulse.k + 1 < len(self._limits.names):
            self._begin(pulse.k + 1, 0, place)
        else:
            self._pulse, self.done = None, True

    def _rests(self) -> bool:
        """Whether the driven joint has moved little during half of AFTER."""
        rows = np.array([row[:2] for row in self._rows])
        late = rows[rows[:, 0] >= self._time - 0.5 * AFTER, 1]
        return bool(np.ptp(late) <= 0.1 * np.abs(rows[:, 1]).max())

    def _stronger(self, pulse: Pulse, place: Array) -> None:
        """Begin a stronger pulse; raise RbdynError if there is none."""
        self._check_order(pulse)
        strong = self._peak(pulse) >= SHARES[0] * self._limits.effort[pulse.k] * (1.0 - 1e-9)
        if pulse.level + 1 < len(WAYS) and not strong:
            self._begin(pulse.k, pulse.level + 1, place)
            self._stuck = True
            return
        name = self._limits.names[pulse.k]
        if self._friction_holds(pulse):
            self.held.append(name)
            self._next(pulse, place)
            return
        moved = float(self._most[pulse.k])
        sent = max(abs(row[5]) for row in self._rows)
        text = (
            f"joint '{name}' moved by {moved:.2g} under an effort of {sent:.3g} beyond gravity, "
            f"which moves it by {abs(pulse.way):.2g} without friction"
        )
        cause = "Check brakes, its encoder and gear ratio, and give its friction"
        raise _refused(f"{text}. {cause}", name)

    def _friction_holds(self, pulse: Pulse) -> bool:
        """Whether the model explains that a joint does not move, by its friction."""
        k, friction = self._dofs[pulse.k], self._arm.friction
        known = friction.coulomb[k] + friction.stribeck[k]
        dry = max(known, float(self._arm.m.dof_frictionloss[k])) - SURE * known
        return bool(self._peak(pulse) <= dry)

    def _peak(self, pulse: Pulse) -> float:
        """Return the largest effort of a pulse on its joint, beyond gravity and friction."""
        gain = PEAK_ACCELERATION * abs(pulse.way) / pulse.duration**2
        return gain * float(self._inertia[pulse.k, pulse.k])

    def _judge(self, pulse: Pulse) -> None:
        """Raise RbdynError unless the reply to a pulse agrees with the model."""
        name = self._limits.names[pulse.k]
        time, place, expected, speed, effort, sent = np.array(self._rows).T
        allowed = PROMPT * self._limits.latency
        fit = motion_fit(time, place, expected)
        work = float(sent[1:] @ np.diff(place))  # positive, since friction takes it
        sign_only = pulse.level >= SIGN_ONLY or self._is_coupled(pulse.k)
        if sign_only or (work < 0.0 and fit.delay <= allowed):
            fit = Fit(math.copysign(1.0, work), 0.0, 0.0, 0.0)
        tolerance = self._tolerance ** (2.0 if self._stuck else 1.0)
        if work < 0.0 and not fit.within(1.0 / tolerance, tolerance):
            text = f"joint '{name}' moved against its effort"
            raise _refused(f"{text}. Check the sign of its encoder and of its efforts", name)
        self._judge_motion(name, fit, tolerance)
        if fit.delay > allowed:
            text = f"joint '{name}' answered {1e3 * fit.delay:.0f} ms after its effort"
            limit = f"{1e3 * allowed:.0f} ms are allowed by latency_limit"
            raise _refused(f"{text}; {limit}. Check the delay of the driver and its filters", name)
        speeds = velocity_fit(time, place, speed)
        if not speeds.within(*TRUE_SPEED) or speeds.delay > allowed:
            text = (
                f"joint '{name}' reported {speeds.share:.2g} of its velocity, "
                f"{1e3 * speeds.delay:.0f} ms late"
            )
            raise _refused(f"{text}. Check the sign, unit and filter of velocities", name)
        if self._measured and not np.isnan(effort).any():
            efforts = signal_fit(time, sent, effort)
            if not efforts.within(*TRUE_EFFORT):
                text = f"joint '{name}' measured {efforts.share:.2g} of the effort sent"
                raise _refused(f"{text}. Check the sign and unit of efforts", name)

    def _judge_motion(self, name: str, fit: Fit, tolerance: float) -> None:
        """Raise RbdynError unless a joint moved as its effort asks."""
        if fit.unlike > UNLIKE:
            text = f"joint '{name}' moved, but not as its effort asks"
            raise _refused(f"{text}. Check its encoder, and what else moves the arm", name)
        if fit.within(1.0 / tolerance, tolerance):
            return
        text = (
            f"joint '{name}' answered with {fit.share:.2g} of the acceleration of the model; "
            f"start_up_tolerance allows {1.0 / tolerance:.2g} to {tolerance:.3g}"
        )
        cause = "Check its gear ratio, the units, and the inertia of its rotor"
        raise _refused(f"{text}. {cause}", name)


def _refused(text: str, name: str = "") -> RbdynError:
    return refusal(f"the start-up test found: {text}", "start-up", name)


def slides(arm: Arm, limits: Limits) -> Array:
    """Return which of the controlled joints slide (n,)."""
    m = arm.m
    return np.asarray(m.jnt_type[m.dof_jntid[limits.dofs]] == JointType.SLIDE)

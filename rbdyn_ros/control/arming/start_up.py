# SPDX-License-Identifier: Apache-2.0
"""The start-up test of an arm that takes efforts: it tests each joint before arming.

Some errors stay hidden while an arm rests: the sign of an unloaded joint, a gear ratio, two equal
joints exchanged, a hidden delay, filtered velocities. start_up_kernels finds them by small
motions. After a refusal nothing is sent, and the arm's own controller holds the arm, as before.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arming import start_up_kernels as kernels
from rbdyn_ros.control.arming.start_up_kernels import StartUp
from rbdyn_ros.control.arming.start_up_reply import Reply
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.dynamics.entry import Entry, handles
from rbdyn_ros.errors import RbdynError, apart, refusal
from rbdyn_ros.model.declared.joints import JointType

#: Findings and their remedies. The generated controller has this table, too.
TEXTS = {
    kernels.APART: "states were {value} ms apart. Start again",
    kernels.LEFT: "joint '{joint}' is {value} from where it rested, under a pulse that moves it "
    "by {bound}. Check its gear ratio and the units of efforts",
    kernels.DRIFTS: "joint '{joint}' moves by {value} rad or m under the efforts that hold the "
    "arm by the model. Check gravity, mounting, payload and tool, robot_compensates_gravity, and "
    "drift. If another joint turns about the same line, arm in another pose",
    kernels.OTHER: "joint '{joint}' moved by {value} while '{driven}' was driven. Check the "
    "order of the joints",
    kernels.HELD: "joint '{joint}' moved by {value} only, under an effort of {bound} beyond "
    "gravity. Check brakes, its encoder and gear ratio, and give its friction",
    kernels.SIGN: "joint '{joint}' moved against its effort. Check the sign of its encoder and of "
    "its efforts",
    kernels.MISMATCH: "joint '{joint}' moved, but its motion does not match its effort. Check its "
    "encoder, and what else moves the arm",
    kernels.SHARE: "joint '{joint}' answered with {value} of the acceleration of the model; "
    "start_up_tolerance allows a factor of {bound}. Check its gear ratio, the units, and the "
    "inertia of its rotor",
    kernels.SLOW: "joint '{joint}' answered {value} ms after its effort; {bound} ms are allowed, "
    "90 % of latency_limit. Check the delay of the driver and its filters",
    kernels.SPEED: "joint '{joint}' reported {value} of its velocity, {bound} ms late. Check the "
    "sign, unit and filter of velocities",
    kernels.EFFORT: "joint '{joint}' measured {value} of the effort sent. Check the sign and unit "
    "of efforts",
}

_begin, _advance = Entry(kernels.begin), Entry(kernels.advance)
_choose_ways = Entry(kernels.choose_ways)


def test_ways(limits: Limits, qpos: Array, slides: Array) -> Array:
    """Return the largest displacements of the controlled joints (n,), away from close limits.

    `qpos` are positions (nv,), and `slides` (n,) says which of the joints slide.

    Raises:
        RbdynError: a joint has no room to move.
    """
    rows = limits.lower.copy(), limits.upper.copy(), slides.astype(np.int64)
    ways = np.zeros(len(slides))
    k = _choose_ways.call(*rows, limits.dofs.copy(), qpos.copy(), ways)
    if k < 0:
        return ways
    unit = limits.units[k]
    text = (
        f"joint '{limits.names[k]}' is at {qpos[limits.dofs[k]]:.4g} {unit}, between its limits "
        f"{limits.lower[k]:.4g} and {limits.upper[k]:.4g} {unit}; the start-up test needs "
        f"{abs(ways[k]) + kernels.CLEAR:.3g} {unit} of room on one side"
    )
    raise refusal(text, "start-up", limits.names[k])


class StartUpTest:
    """Moves each joint by some mrad and compares its reports with the model.

    Args:
        arm: the robot.
        limits: limits of the controlled joints (n).
        qpos: (nv,) where the arm rests.
        holding: (nv,) commands that hold it.
        period: mean time between two states [s].
        tolerance: factor by which the acceleration of a joint may differ from the model.
        measured: whether the joints measure their efforts.
        ways: (n,) displacements, see test_ways.
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
        self._arm, self._names = arm, limits.names
        n, nv = len(limits.names), arm.m.nv
        s = self._s = StartUp(n=n, nv=nv)
        s.dofs, s.velocity, s.effort, s.ways = limits.dofs, limits.velocity, limits.effort, ways
        s.dry, s.period, s.tolerance = arm.m.dof_frictionloss, period, tolerance
        s.latency, s.measures = limits.latency, int(measured)
        self._reply, self._wanted = Reply(), np.zeros(nv)
        self._at = s.handle, self._reply.handle, arm.actuation.handle
        _begin.call(*handles(arm.m, arm.d), s.handle, qpos.copy(), holding.copy())

    @property
    def what(self) -> str:
        """Description of the present part of the test."""
        n, k = len(self._names), self._s.k
        if k < 0:
            return f"testing how the arm is held (0 of {n})"
        return f"testing joint '{self._names[k]}' ({k + 1} of {n})"

    @property
    def done(self) -> bool:
        """True once every joint has passed."""
        return bool(self._s.done)

    @property
    def held(self) -> list[str]:
        """Joints that were not tested, because the known friction holds them."""
        return [self._names[k] for k in np.flatnonzero(self._s.untested)]

    def advance(
        self, qpos: Array, qvel: Array, effort: Array, holding: Array, released: Array, step: float
    ) -> Array:
        """Process a state; return the commands (nv,) to send.

        The arrays are not checked.

        Args:
            qpos: (nv,) positions [rad or m].
            qvel: (nv,) velocities [rad/s or m/s].
            effort: (nv,) measured efforts [N m or N].
            holding: (nv,) commands that hold the arm there.
            released: (n,) commands that acted since the previous state.
            step: time since then [s].

        Raises:
            RbdynError: the test fails; the message names the joint and the error.
        """
        given = qpos, qvel, effort, holding, released, step, self._wanted
        found = _advance.call(*self._at, *given)
        if found:
            s = self._s
            raise self._refused(found, s.joint, s.value, s.bound)
        return self._wanted

    def check_age(self, age: float) -> None:
        """Raise RbdynError if the effort sent last has acted for too long.

        Args:
            age: age of the newest state [s].
        """
        if age > kernels.LATE + 2.0 * self._s.period:
            raise self._refused(kernels.APART, 0, 1e3 * age, 0.0)

    def _refused(self, found: int, joint: int, value: float, bound: float) -> RbdynError:
        # this finding concerns all joints
        name = "" if found == kernels.APART else self._names[joint]
        driven = self._names[int(bound)] if found == kernels.OTHER else ""
        bounds = (bound, 1.0 / bound) if found == kernels.SHARE else (bound,)
        numbers = dict(zip(("value", "bound"), apart(value, *bounds, digits=3), strict=False))
        text = TEXTS[found].format(joint=name, driven=driven, **numbers)
        return refusal(f"the start-up test found: {text}", "start-up", name)


def slides(arm: Arm, limits: Limits) -> Array:
    """Return which of the controlled joints slide (n,)."""
    m = arm.m
    return np.asarray(m.jnt_type[m.dof_jntid[limits.dofs]] == JointType.SLIDE)

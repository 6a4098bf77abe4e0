"""Efforts of an arm by joint name: what is asked is judged as a whole, then computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, quote
from rbdyn_ros.ros.arm.controlled_arm import QueriedArm

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: So many names are listed in a refusal; of more only the number.
MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Efforts:
    """An answer.

    Attributes:
        names: of the joints, in the order of the question (n).
        effort: (n,) [N m or N].
        stamp_ns: of the measured state that was used; 0: none was.
        saturated: an effort is beyond its limit, or was before it was clamped.
    """

    names: tuple[str, ...]
    effort: Array
    stamp_ns: int
    saturated: bool = False


@dataclass(frozen=True, slots=True)
class _Joints:
    names: tuple[str, ...]
    dofs: Integers


@dataclass(frozen=True, slots=True)
class _State:
    qpos: Array
    qvel: Array
    stamp_ns: int


class ArmQueries:
    """Answers requests of rbdyn_interfaces with a twin of the arm, so control is not disturbed.

    One thread may ask at a time. Every answer raises ParameterError if the request is refused.

    Args:
        robot: is asked for its arm, state, gains and limits.
    """

    def __init__(self, robot: QueriedArm) -> None:
        self._robot = robot
        self._use(robot.arm)

    def _use(self, arm: Arm) -> None:
        """Keep a twin for as long as the arm is the same, for its Data is large."""
        self._original, self._twin = arm, arm.twin()

    def _arm(self) -> Arm:
        arm = self._robot.arm
        if arm is not self._original:
            self._use(arm)
        return self._twin

    def gravity_effort(self, request: Any) -> Efforts:
        """Answer GetGravityEffort: g, less what the robot adds itself if it is to be a command."""
        arm = self._arm()
        joints = _chosen(arm, request.name)
        state = self._state(arm, joints, request.use_current_state, request.position, ())
        effort = arm.gravity_effort(state.qpos, np.empty(arm.m.nv))
        return _answer(arm, joints, state, effort, as_command=request.as_command)

    def inverse_dynamics(self, request: Any) -> Efforts:
        """Answer GetInverseDynamics: M qacc + C qvel + g, and friction if it is wanted."""
        if request.as_command and not request.include_gravity:
            raise _refused(
                "as_command is set without include_gravity; what the arm's own controller adds is "
                "gravity, so set both or neither"
            )
        arm = self._arm()
        joints = _chosen(arm, request.name)
        acceleration = _numbers(joints, "acceleration", request.acceleration)
        state = self._state(
            arm, joints, request.use_current_state, request.position, request.velocity
        )
        qacc = np.zeros(arm.m.nv)
        _put(qacc, joints, acceleration)
        effort = arm.inverse_dynamics(state.qpos, state.qvel, qacc, np.empty(arm.m.nv))
        if not request.include_gravity:
            effort -= arm.gravity_effort(state.qpos, np.empty(arm.m.nv))
        if request.include_friction:
            effort += arm.friction.effort(state.qvel, np.empty(arm.m.nv))
        return _answer(arm, joints, state, effort, as_command=request.as_command)

    def computed_torque(self, request: Any) -> Efforts:
        """Answer GetComputedTorque: M (qacc_d + Kd de + Kp e) + C qvel + g.

        Friction, if it is wanted, is that at the velocity wanted, as in the law of that name.
        """
        arm = self._arm()
        joints = _chosen(arm, request.name)
        if not len(request.desired_position):
            raise _refused("there are no values of desired_position; one a joint is needed")
        wanted = [
            _numbers(joints, f"desired_{kind}", getattr(request, f"desired_{kind}"))
            for kind in ("position", "velocity", "acceleration")
        ]
        gains = [
            _gains(joints, kind, getattr(request, kind), present)
            for kind, present in zip(("stiffness", "damping"), self._robot.gains, strict=True)
        ]
        state = self._state(
            arm, joints, request.use_current_state, request.position, request.velocity
        )
        desired = _desired(arm, joints, state, wanted)
        effort = _feedback_linearised(arm, state, desired, gains)
        if request.include_friction:
            effort += arm.friction.effort(desired[1], np.empty(arm.m.nv))
        answer = _answer(arm, joints, state, effort, as_command=request.as_command)
        limits = self._robot.effort_limits[joints.dofs]
        within = np.clip(answer.effort, -limits, limits)
        return Efforts(
            answer.names,
            within if request.clamp else answer.effort,
            answer.stamp_ns,
            bool((within != answer.effort).any()),
        )

    def _state(
        self,
        arm: Arm,
        joints: _Joints,
        as_measured: bool,
        positions: Sequence[float],
        velocities: Sequence[float],
    ) -> _State:
        """Return the state asked about; what is not given is as it was measured last."""
        for kind, values in (("position", positions), ("velocity", velocities)):
            if as_measured and len(values):
                raise _refused(
                    f"there are values of {kind} though use_current_state is set; leave one out"
                )
        if not as_measured and not len(positions):
            raise _refused(
                "there are no values of position; give one a joint, or set use_current_state"
            )
        position = _numbers(joints, "position", positions)
        velocity = _numbers(joints, "velocity", velocities)
        if not as_measured and len(joints.names) == arm.m.nv:
            state = _State(np.zeros(arm.m.nv), np.zeros(arm.m.nv), 0)
        else:
            state = self._measured(arm, joints, as_measured)
        if not as_measured:
            _put(state.qpos, joints, position)
            _put(state.qvel, joints, velocity)
        return state

    def _measured(self, arm: Arm, joints: _Joints, as_measured: bool) -> _State:
        measured = self._robot.measured()
        if measured is not None:
            return _State(*measured)
        if as_measured:
            raise _refused(
                "no state of the arm came yet; give positions instead of use_current_state"
            )
        other = next(name for name in arm.names if name not in joints.names)
        raise _refused(
            f"no state of the arm came yet, and joint '{other}' is not named; name all joints"
        )


def _chosen(arm: Arm, names: Sequence[str]) -> _Joints:
    """Return the named joints, or all."""
    dofs = {name: k for k, name in enumerate(arm.names)}
    seen: dict[str, int] = {}
    for name in names or arm.names:
        if name not in dofs:
            raise _refused(_why_not(arm, name))
        if name in seen:
            raise _refused(f"joint '{name}' is named twice; each joint may be named once")
        seen[name] = dofs[name]
    return _Joints(tuple(seen), np.array(list(seen.values()), np.int64))


def _why_not(arm: Arm, name: str) -> str:
    if name in arm.m.jnt_names:
        leader = int(arm.m.jnt_mimic[arm.m.jnt_names.index(name)])
        return f"joint '{name}' follows '{arm.m.jnt_names[leader]}'; name that one"
    count = len(arm.names)
    known = ", ".join(arm.names) if count <= MOST_NAMES else f"{count} joints"
    return f"there is no joint {quote(name)}{did_you_mean(name, arm.names)}; there are {known}"


def _numbers(joints: _Joints, kind: str, values: Sequence[float]) -> Array | None:
    """Return what a field says of the joints (n,), or None if it is empty."""
    if not len(values):
        return None
    if len(values) != len(joints.names):
        raise _refused(
            f"there are {len(values)} values of {kind} for {len(joints.names)} joints; one each "
            "is needed"
        )
    numbers = np.asarray(values, np.float64)
    for k in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise _refused(
            f"the {kind} of joint '{joints.names[k]}' is {numbers[k]}; a finite number is needed"
        )
    return numbers


def _gains(joints: _Joints, kind: str, values: Sequence[float], present: Array) -> Array:
    """Return the gain of every joint (nv,): those that are given, else the present ones."""
    gains: Array = present.copy()
    given = _numbers(joints, kind, values)
    if given is not None:
        for k in np.flatnonzero(given < 0.0)[:1]:
            raise _refused(
                f"the {kind} of joint '{joints.names[k]}' is {given[k]:g}; it must not be negative"
            )
        gains[joints.dofs] = given
    return gains


def _put(row: Array, joints: _Joints, numbers: Array | None) -> None:
    """Write the numbers of the joints, zeros if none are given, into a row of all joints."""
    row[joints.dofs] = 0.0 if numbers is None else numbers


def _desired(arm: Arm, joints: _Joints, state: _State, wanted: list[Array | None]) -> Array:
    """Return qpos_d, qvel_d and qacc_d (3, nv); joints that are not named are to rest."""
    desired = np.stack([state.qpos, np.zeros(arm.m.nv), np.zeros(arm.m.nv)])
    for row, numbers in zip(desired, wanted, strict=True):
        _put(row, joints, numbers)
    return desired


def _feedback_linearised(arm: Arm, state: _State, desired: Array, gains: list[Array]) -> Array:
    """Return M (qacc_d + Kd de + Kp e) + C qvel + g."""
    stiffness, damping = gains
    with np.errstate(all="ignore"):  # what overflows is refused at the end
        qacc = desired[2] + damping * (desired[1] - state.qvel)
        qacc += stiffness * (desired[0] - state.qpos)
    return arm.inverse_dynamics(state.qpos, state.qvel, qacc, np.empty(arm.m.nv))


def _answer(
    arm: Arm, joints: _Joints, state: _State, effort: Array, *, as_command: bool
) -> Efforts:
    """Return the efforts of the joints; raises ParameterError if one is not finite."""
    if as_command:
        arm.without_own(effort, state.qpos)
    chosen = effort[joints.dofs]
    for k in np.flatnonzero(~np.isfinite(chosen))[:1]:
        raise _refused(
            f"the effort of joint '{joints.names[k]}' is not finite there; a number is too large"
        )
    return Efforts(joints.names, chosen, state.stamp_ns)


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("arm-query", text))

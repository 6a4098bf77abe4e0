# SPDX-License-Identifier: Apache-2.0
"""Efforts of an arm by joint name: gravity, inverse dynamics and computed torque."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.queries.dynamics_query import check_state, joint_numbers, named_joints

#: Code of the refusals.
CODE = "arm-query"


@dataclass(frozen=True, slots=True)
class JointEfforts:
    """The answer to a query.

    Attributes:
        names: joints in the order of the query (n).
        effort: (n,) efforts of these joints [N m or N].
        stamp_ns: stamp of the measured state that was used [ns]; 0: no state was used.
        saturated: whether an effort exceeds its limit, or exceeded it before it was clamped.
    """

    names: tuple[str, ...]
    effort: Array
    stamp_ns: int
    saturated: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    qpos: Array
    qvel: Array
    stamp_ns: int


class ArmQueries:
    """Answers the requests of the services, with a copy of the arm outside the control loop.

    Only one thread at a time may call a method. A method raises RbdynError to refuse a request.

    Args:
        robot: the controlled arm.
    """

    def __init__(self, robot: Controller) -> None:
        self._robot = robot
        self._use(robot.arm)

    def _use(self, arm: Arm) -> None:
        """Copy the arm. Its Data is large, so the copy is kept until the payload changes."""
        self._original, self._twin = arm, arm.twin()

    def _arm(self) -> Arm:
        arm = self._robot.arm
        if arm is not self._original:
            self._use(arm)
        return self._twin

    def gravity_effort(self, request: Any) -> JointEfforts:
        """Answer GetGravityEffort: g, reduced by the arm's own compensation if as_command."""
        arm = self._arm()
        joints = named_joints(arm.m, request.name)
        state = self._state(arm, joints, request.use_current_state, request.position, ())
        effort = arm.gravity_effort(state.qpos, np.empty(arm.m.nv))
        return _answer(arm, joints, state, effort, as_command=request.as_command)

    def inverse_dynamics(self, request: Any) -> JointEfforts:
        """Answer GetInverseDynamics: M qacc + C qvel + g, plus friction if include_friction."""
        if request.as_command and not request.include_gravity:
            raise refusal(
                "as_command needs include_gravity, because the arm's own controller adds gravity; "
                "set both or neither",
                CODE,
            )
        arm = self._arm()
        joints = named_joints(arm.m, request.name)
        state = self._state(
            arm, joints, request.use_current_state, request.position, request.velocity
        )
        qacc = np.zeros(arm.m.nv)
        _put(qacc, joints, joint_numbers(joints, "acceleration", request.acceleration))
        effort = arm.inverse_dynamics(state.qpos, state.qvel, qacc, np.empty(arm.m.nv))
        if not request.include_gravity:
            effort -= arm.gravity_effort(state.qpos, np.empty(arm.m.nv))
        if request.include_friction:
            effort += arm.friction.effort(state.qvel, np.empty(arm.m.nv))
        return _answer(arm, joints, state, effort, as_command=request.as_command)

    def computed_torque(self, request: Any) -> JointEfforts:
        """Answer GetComputedTorque: M (qacc_d + Kd de + Kp e) + C qvel + g.

        With include_friction, the friction at the desired velocity is added, as the mode does.
        """
        arm = self._arm()
        joints = named_joints(arm.m, request.name)
        if not len(request.desired_position):
            raise refusal("desired_position is empty; it needs one value per joint", CODE)
        stiffness, damping = (
            _gains(joints, kind, getattr(request, kind), present)
            for kind, present in zip(("stiffness", "damping"), self._robot.gains, strict=True)
        )
        state = self._state(
            arm, joints, request.use_current_state, request.position, request.velocity
        )
        desired = np.stack([state.qpos, np.zeros(arm.m.nv), np.zeros(arm.m.nv)])
        for row, kind in zip(desired, ("position", "velocity", "acceleration"), strict=True):
            field = f"desired_{kind}"
            _put(row, joints, joint_numbers(joints, field, getattr(request, field)))
        with np.errstate(all="ignore"):  # _answer refuses an overflow
            qacc = desired[2] + damping * (desired[1] - state.qvel)
            qacc += stiffness * (desired[0] - state.qpos)
        effort = arm.inverse_dynamics(state.qpos, state.qvel, qacc, np.empty(arm.m.nv))
        if request.include_friction:
            effort += arm.friction.effort(desired[1], np.empty(arm.m.nv))
        answer = _answer(arm, joints, state, effort, as_command=request.as_command)
        limits = self._robot.effort_limits[joints.dofadr]
        within = np.clip(answer.effort, -limits, limits)
        return JointEfforts(
            answer.names,
            within if request.clamp else answer.effort,
            answer.stamp_ns,
            bool((within != answer.effort).any()),
        )

    def _state(
        self,
        arm: Arm,
        joints: SingleJoints,
        measured: bool,
        positions: Sequence[float],
        velocities: Sequence[float],
    ) -> _State:
        """Return the requested state; joints that the request does not name are as measured."""
        check_state(measured, position=positions, velocity=velocities)
        if not measured and not len(positions):
            raise refusal(
                "position is empty; give one value per joint or set use_current_state", CODE
            )
        position = joint_numbers(joints, "position", positions)
        velocity = joint_numbers(joints, "velocity", velocities)
        if not measured and len(joints.names) == arm.m.nv:
            state = _State(np.zeros(arm.m.nv), np.zeros(arm.m.nv), 0)
        else:
            state = self._measured(arm, joints, measured)
        if not measured:
            _put(state.qpos, joints, position)
            _put(state.qvel, joints, velocity)
        return state

    def _measured(self, arm: Arm, joints: SingleJoints, measured: bool) -> _State:
        found = self._robot.measured()
        if found is not None:
            return _State(*found)
        if measured:
            raise refusal(
                "no state of the arm has arrived yet; give positions instead of use_current_state",
                CODE,
            )
        other = next(name for name in arm.names if name not in joints.names)
        raise refusal(
            f"no state of the arm has arrived yet; name all joints, including '{other}'", CODE
        )


def _gains(joints: SingleJoints, kind: str, values: Sequence[float], present: Array) -> Array:
    """Return the gains (nv,): the given values, else the present; refuse negative values."""
    gains: Array = present.copy()
    given = joint_numbers(joints, kind, values)
    if given is not None:
        for k in np.flatnonzero(given < 0.0)[:1]:
            raise refusal(
                f"the {kind} of joint '{joints.names[k]}' is {given[k]:g}; allowed is 0 or more",
                CODE,
            )
        gains[joints.dofadr] = given
    return gains


def _put(row: Array, joints: SingleJoints, numbers: Array | None) -> None:
    """Write the numbers of some joints into the row (nv,) of all joints; None: write zeros."""
    row[joints.dofadr] = 0.0 if numbers is None else numbers


def _answer(
    arm: Arm, joints: SingleJoints, state: _State, effort: Array, *, as_command: bool
) -> JointEfforts:
    """Return the answer for some joints from efforts (nv,); refuse infinite and NaN efforts."""
    if as_command:
        arm.without_own(effort, state.qpos, state.qvel)
    chosen = effort[joints.dofadr]
    for k in np.flatnonzero(~np.isfinite(chosen))[:1]:
        raise refusal(
            f"the effort of joint '{joints.names[k]}' is not finite; a number is too large", CODE
        )
    return JointEfforts(joints.names, chosen, state.stamp_ns)

# SPDX-License-Identifier: Apache-2.0
"""A policy maps measurements and commands to position targets of the joints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import Finding, ModelError, bad_argument, did_you_mean, quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.policies.network import Network
from rbdyn_ros.policies.reader import read_policy
from rbdyn_ros.policies.spec import ObservationTerm, PolicySpec

#: Direction of gravity in world axes.
DOWN = np.array([0.0, 0.0, -1.0])
#: Largest deviation of a quaternion's length from 1.
UNIT = 1e-3


@dataclass(slots=True)
class BaseState:
    """The observed state of the base of a robot.

    Attributes:
        quat: orientation in the world, w, x, y, z.
        angular: angular velocity in the axes of the base, (3,) [rad/s].
        linear: linear velocity in the axes of the base, (3,) [m/s].
    """

    quat: Array
    angular: Array
    linear: Array


class LearnedPolicy:
    """A learned policy with its history; load it with `rb.load_policy`.

    Args:
        spec: the inputs and outputs around the network.

    Attributes:
        spec: the inputs and outputs around the network.
        target: the latest position targets, (n) in the order of spec.joints [rad or m].

    Raises:
        DescriptionError: the network does not fit the observation or the action.
        RbdynError: onnxruntime is not installed.
    """

    def __init__(self, spec: PolicySpec) -> None:
        self.spec = spec
        sizes = [spec.size(term) * term.history for term in spec.terms]
        named = zip(spec.terms, sizes, strict=True)
        listed = ", ".join(f"{term.name} {size}" for term, size in named)
        self._network = Network(spec.network, sum(sizes), len(spec.joints), listed)
        self.reset()

    def reset(self) -> None:
        """Clear the history, the last action, the network's memory and the phase of the gait."""
        self._network.reset()
        self._action = np.zeros(len(self.spec.joints))
        self._past: list[list[Array]] = [[] for _ in self.spec.terms]
        self._steps = 0
        self.target = self.spec.action_offset.copy()

    def act(
        self, position: ArrayLike, velocity: ArrayLike, base: BaseState, command: ArrayLike
    ) -> Array:
        """Return the position targets for a state; they hold for 1 / rate seconds.

        Args:
            position: position of the joints in the order of spec.joints, (n) [rad or m].
            velocity: velocity of these joints, (n) [rad/s or m/s].
            base: state of the base of the robot.
            command: velocity to walk with, (3,): forwards and to the left [m/s], and about the
                vertical [rad/s]; unless it is zero, it is clipped to spec.command_range.

        Raises:
            ParameterError: an argument has another shape or is not finite.
            RbdynError: the network returns numbers that are not finite. The policy is then as
                before the call.
        """
        n = (len(self.spec.joints),)
        q, v = finite("position", position, n), finite("velocity", velocity, n)
        wanted = finite("command", command, (3,))
        if wanted.any():
            wanted = np.clip(wanted, *self.spec.command_range.T)
        now = self._values(q, v, checked_base(base), wanted)
        recent = [
            self._with_history(past, now[term.name], term)
            for past, term in zip(self._past, self.spec.terms, strict=True)
        ]
        action = self._network(np.concatenate([value for past in recent for value in past]))
        self._past, self._action, self._steps = recent, action, self._steps + 1
        clipped = np.clip(self._action, -self.spec.action_clip, self.spec.action_clip)
        target: Array = self.spec.action_offset + self.spec.action_scale * clipped
        self.target = target
        return target

    @staticmethod
    def _with_history(past: list[Array], value: Array, term: ObservationTerm) -> list[Array]:
        """Return the latest values of a term, including the new value.

        In the first call all values are the new value.
        """
        scaled = np.clip(value, *term.clip) * np.array(term.scale)
        return [*past, scaled][-term.history :] if past else [scaled] * term.history

    def _values(self, q: Array, v: Array, base: BaseState, command: Array) -> Mapping[str, Array]:
        """Return the present numbers of each observation term, as Isaac Lab defines them."""
        return {
            "base_lin_vel": base.linear,
            "base_ang_vel": base.angular,
            "projected_gravity": quat_to_mat(base.quat).T @ DOWN,
            "velocity_commands": command,
            "joint_pos_rel": q - self.spec.default_position,
            "joint_vel_rel": v,
            "last_action": self._action,
        } | {term.name: self._phase(term) for term in self.spec.terms if term.name == "gait_phase"}

    def _phase(self, term: ObservationTerm) -> Array:
        """Return the sine and cosine of the gait's phase.

        The first action has the phase of one step.
        """
        angle = math.tau * (self._steps + 1) / (self.spec.rate * term.period)
        return np.array([math.sin(angle), math.cos(angle)])


class PolicyJoints:
    """The joints of a policy in a Model with a floating base, for simulations in Python.

    Args:
        m: the robot.
        policy: the policy that names the joints.

    Attributes:
        dofadr: dof addresses of the joints, in the order of the policy.

    Raises:
        ModelError: the robot lacks a joint of the policy, or has no floating base.
    """

    def __init__(self, m: Model, policy: LearnedPolicy) -> None:
        names = policy.spec.joints
        check_joints(names, m.jnt_names)
        chosen = [m.jnt_id(name) for name in names]
        if m.njnt == 0 or m.jnt_type[0] != JointType.FREE:
            text = "the robot has no floating base; load it with floating_base=True"
            raise ModelError(Finding("no-floating-base", text))
        self._policy, self._qposadr = policy, m.jnt_qposadr[chosen]
        self.dofadr = m.jnt_dofadr[chosen]
        self._limit = m.jnt_effort[chosen]

    def act(self, d: Data, command: ArrayLike) -> Array:
        """Return the position targets for the state of a Data, (n) [rad or m]."""
        quat, linear, angular = d.qpos[3:7], d.qvel[:3], d.qvel[3:6]
        base = BaseState(quat, angular, quat_to_mat(quat).T @ linear)
        return self._policy.act(d.qpos[self._qposadr], d.qvel[self.dofadr], base, command)

    def apply(self, d: Data) -> None:
        """Write the PD efforts towards the latest targets to d.qfrc_applied, within the limits."""
        spec, target = self._policy.spec, self._policy.target
        stretch = target - d.qpos[self._qposadr]
        effort = spec.stiffness * stretch - spec.damping * d.qvel[self.dofadr]
        d.qfrc_applied[self.dofadr] = np.clip(effort, -self._limit, self._limit)


def checked_base(base: BaseState) -> BaseState:
    """Return a BaseState with float arrays; raise ParameterError for wrong shapes or values."""
    quat = finite("quat", base.quat, (4,))
    if abs(float(np.linalg.norm(quat)) - 1.0) > UNIT:
        text = f"quat has the length {float(np.linalg.norm(quat)):.6g}; allowed is 1"
        raise bad_argument("quat", text)
    return BaseState(
        quat, finite("angular", base.angular, (3,)), finite("linear", base.linear, (3,))
    )


def check_joints(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ModelError if a robot lacks a joint of a policy."""
    findings = [
        Finding(
            "unknown-joint",
            f"the policy moves the joint {quote(name)}, which the robot does not have"
            f"{did_you_mean(name, known)}",
            found=name,
        )
        for name in names
        if name not in known
    ]
    if findings:
        raise ModelError(findings)


def load_policy(
    path: str | Path, *, network: str | Path = "", joints: Sequence[str] = ()
) -> LearnedPolicy:
    """Load a learned policy.

    Args:
        path: path of a policy file, of the deploy.yaml of Isaac Lab, of the configuration with
            which legged_gym runs a policy, or of an ONNX file with the metadata of mjlab.
        network: path of the ONNX file, if it is not the path in the file; empty: that path.
        joints: names of the joints in the order of the robot's own interface, for exports without
            names.

    Raises:
        DescriptionError: the document has errors (all are reported), or the network does not fit.
        RbdynError: onnxruntime is not installed.
    """
    return LearnedPolicy(read_policy(path, network=network, joints=joints))

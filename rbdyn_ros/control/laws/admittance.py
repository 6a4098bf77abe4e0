# SPDX-License-Identifier: Apache-2.0
"""Admittance of an arm that takes positions: a link yields to forces like a mass on a spring."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.laws.virtual_mass import VirtualMass, quaternion, rotation_vector
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.differential_ik import (
    FrameTask,
    PostureTask,
    check_solver,
    differential_ik,
)
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat

AXES = ("base", "tool")
#: Largest distance between the virtual mass and the pose that the link reaches [m or rad].
LEASH = 1e-3
#: Damping of differential_ik: in singular postures joints move by LEASH / 0.2 in a step at most.
CALM = 1e-2
SMALLEST_MASS = 1e-3


class Admittance:
    """Moves joints so that a link leaves its target by the displacement of a VirtualMass.

    The joints reach it by differential inverse kinematics: within their limits and, with a
    clearance, without collisions. The virtual mass stays within LEASH of the poses that the link
    can reach, so it does not wind up.

    Args:
        m: the robot; with geometries if distances are to be kept.
        frame: name of the link.
        limits: limits of the controlled joints.
        mass, damping, stiffness: (6,) mass, damping and stiffness of VirtualMass, about and along
            the axes.
        deadband: (6,) largest torques [N m] and forces [N] that do not move the link.
        axes: "base": the axes of the base link; "tool": the axes of the link at its target.
        clearance: smallest distance of links from each other and from obstacles [m]; None:
            distances are not checked.

    Raises:
        ParameterError: a number is out of range.
        ModelError: there is no such link.
        RbdynError: the package daqp is missing.
    """

    def __init__(
        self,
        m: Model,
        frame: str,
        limits: Limits,
        mass: ArrayLike,
        damping: ArrayLike,
        stiffness: ArrayLike,
        deadband: ArrayLike = 0.0,
        axes: str = "base",
        clearance: float | None = None,
    ) -> None:
        check_solver()
        m.frame_id(frame)
        self._frame, self._tool, self._clearance = frame, axes == "tool", clearance
        self._deadband = _numbers("deadband", deadband)
        self.virtual = VirtualMass(
            _numbers("mass", mass, SMALLEST_MASS),
            _numbers("damping", damping),
            _numbers("stiffness", stiffness),
        )
        self._fixed = [name for name in _hinges(m) if name not in limits.names]
        self._whole = m
        self.use(limits)

    def use(self, limits: Limits) -> None:
        """Continue with tighter limits for the same joints."""
        m = self._whole
        joints = m.dof_jntid[limits.dofs]
        ranges, speeds = m.jnt_range.copy(), m.jnt_velocity.copy()
        ranges[joints] = np.stack([limits.lower, limits.upper], axis=1)
        speeds[joints] = limits.velocity
        self._m = m.replaced(jnt_range=ranges, jnt_velocity=speeds)
        self._d = make_data(self._m)

    def begin(self) -> None:
        """Begin at the target."""
        self.virtual.begin()

    def step(self, target: Array, command: Array, wrench: Array, dt: float) -> Array:
        """Return the next positions of the joints (nv,).

        Args:
            target: (nv,) positions without a wrench [rad or m].
            command: (nv,) present positions [rad or m].
            wrench: (6,) on the link: torque about its origin [N m], then force [N], in base axes.
            dt: time step [s].
        """
        m, d, virtual = self._m, self._d, self.virtual
        d.qpos[:] = target
        place, turn = frame_pose(m, d, self._frame)
        axes = turn if self._tool else np.eye(3)
        external = np.concatenate([axes.T @ wrench[:3], axes.T @ wrench[3:]])
        virtual.advance(np.sign(external) * np.maximum(np.abs(external) - self._deadband, 0.0), dt)
        goal = place + axes @ virtual.way
        turned = axes @ virtual.rotation @ axes.T @ turn
        d.qpos[:] = command
        tasks: list[FrameTask | PostureTask]
        tasks = [FrameTask(self._frame, goal, turned), PostureTask(target)]
        qvel = differential_ik(
            m, d, tasks, dt, fixed=self._fixed, clearance=self._clearance, damping=CALM
        )
        d.qpos[:] = command + dt * qvel
        there, reached = frame_pose(m, d, self._frame)
        away, off = _leash(goal - there), _leash(_vector(turned @ reached.T))
        if away is not None or off is not None:
            goal = goal if away is None else there + away
            turned = turned if off is None else quat_to_mat(quaternion(off)) @ reached
            virtual.place(
                axes.T @ (goal - place), mat_to_quat(axes.T @ turned @ turn.T @ axes), dt
            )
        return np.array(d.qpos)


def _leash(away: Array) -> Array | None:
    """Return a distance (3,) shortened to LEASH, or None if it is not longer than LEASH."""
    length = float(np.linalg.norm(away))
    return LEASH / length * away if length > LEASH else None


def _vector(rotation: Array) -> Array:
    return rotation_vector(mat_to_quat(rotation))


def _numbers(name: str, value: ArrayLike, low: float = 0.0) -> Array:
    return finite(f"admittance.{name}", value, (6,), low, 1e9, fill=True)


def _hinges(m: Model) -> list[Any]:
    """Return the names of joints that have degrees of freedom."""
    return [m.jnt_names[j] for j in np.unique(m.dof_jntid)]

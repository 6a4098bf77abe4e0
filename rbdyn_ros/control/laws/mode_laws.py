# SPDX-License-Identifier: Apache-2.0
"""The control law of each mode of a controller."""

import numpy as np
from scipy.spatial.transform import Rotation

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.rotations import nearest_rotation
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws import joint_laws
from rbdyn_ros.control.laws.cartesian import CartesianImpedance
from rbdyn_ros.control.laws.sampled import check_frame_gains, check_joint_gains
from rbdyn_ros.dynamics.toolbox.inertia import reflected_inertia
from rbdyn_ros.errors import apart, refusal

#: Largest distance [m] and angle [rad] of a new pose from the previous pose and from the present
#: pose of the frame. A farther pose would make the frame jump or wind up the spring.
FARTHEST, MOST_TURNED = 0.1, 0.5


class ModeLaws:
    """Computes the efforts of every mode except idle.

    Args:
        arm: the robot.
        settings: gains and frame.

    Attributes:
        gains: stiffness [1/s^2] and damping [1/s] of computed torque, (nv,) each.

    Raises:
        ParameterError: a gain is negative, or the number of gains is wrong.
        ModelError: there is no such frame.
    """

    def __init__(self, arm: Arm, settings: ControlSettings) -> None:
        n = arm.m.nv
        self.gains = (
            joint_laws.checked_gains("computed_torque.stiffness", settings.stiffness, n),
            joint_laws.checked_gains("computed_torque.damping", settings.damping, n),
        )
        self._gravity = joint_laws.GravityCompensation(arm, settings.gravity_damping)
        self._tracking = joint_laws.ComputedTorque(arm, *self.gains)
        self._soft = (
            joint_laws.checked_gains("impedance.stiffness", settings.impedance_stiffness, n),
            joint_laws.checked_gains("impedance.damping", settings.impedance_damping, n),
        )
        kind = joint_laws.JointImpedance if settings.feedforward else joint_laws.PDGravity
        self._impedance = kind(arm, *self._soft)
        self._rate = settings.gravity_damping
        self._cartesian = frame_law(arm, settings) if settings.frame else None
        self._null = (
            joint_laws.checked_gains("impedance.null_stiffness", settings.null_stiffness, n),
            joint_laws.checked_gains("impedance.null_damping", settings.null_damping, n),
        )
        self._pose, self._posture = np.zeros((4, 3)), np.zeros(n)

    def use(self, arm: Arm) -> None:
        """Continue with another arm with the same joints."""
        for law in (self._gravity, self._tracking, self._impedance):
            law.use(arm)
        if self._cartesian is not None:
            self._cartesian.use(arm)

    def rest_at(self, qpos: Array) -> None:
        """Hold the pose of the frame and the posture at a position (nv,).

        Unset gains of mode impedance are derived from the inertia at this position.
        """
        self._posture[:] = qpos
        self._impedance.set_gains(*self._soft_gains(self._inertia(qpos)))
        if self._cartesian is not None:
            self._pose[:] = self._cartesian.pose(qpos)

    def checked_pose(self, pose: Array, qpos: Array) -> Array:
        """Check a desired pose of the frame; return it with the nearest rotation matrix.

        Args:
            pose: (4, 3) rows of a rotation matrix, then the position [m], in the base link.
            qpos: (nv,) measured positions.

        Raises:
            RbdynError: no frame is controlled, the pose is invalid, or it is too far away.
        """
        if self._cartesian is None:
            message = "a target pose needs the parameter impedance.frame, which is empty"
            raise refusal(message, "pose", "impedance.frame")
        if np.shape(pose) != (4, 3) or not np.isfinite(pose).all():
            raise refusal("the pose is not finite", "pose")
        rotation = nearest_rotation(np.asarray(pose[:3], float))
        if rotation is None:
            raise refusal("the first three rows of the pose are not a rotation matrix", "pose")
        pose = np.vstack([rotation, pose[3]])
        here = self._cartesian.pose(qpos)
        for what, other in (("the previous one", self._pose), ("the present one", here)):
            away = float(np.linalg.norm(pose[3] - other[3]))
            turned = Rotation.from_matrix(pose[:3] @ other[:3].T).magnitude()
            if not (away <= FARTHEST and turned <= MOST_TURNED):
                far, farthest = apart(away, FARTHEST, digits=3)
                angle, widest = apart(turned, MOST_TURNED, digits=3)
                message = (
                    f"the pose is {far} m and {angle} rad from {what}; at most {farthest} m and "
                    f"{widest} rad are allowed"
                )
                raise refusal(message, "pose")
        return pose

    def set_pose(self, pose: Array, qpos: Array) -> None:
        """Set the desired pose of the frame; arguments and errors are those of checked_pose."""
        self._pose[:] = self.checked_pose(pose, qpos)

    @property
    def pose(self) -> Array:
        """A copy of the desired pose of the frame, see checked_pose."""
        return np.array(self._pose)

    @property
    def posture(self) -> Array:
        """A copy of the desired positions in the null space of the frame, (nv,)."""
        return np.array(self._posture)

    def _inertia(self, qpos: Array) -> Array:
        """Return the inertia at each motor, with all other joints free, (nv,)."""
        arm = self._gravity.arm
        arm.d.qpos[:] = qpos
        return reflected_inertia(arm.m, arm.d)

    def _soft_gains(self, inertia: Array) -> tuple[Array, Array]:
        stiffness = np.where(self._soft[0] > 0.0, self._soft[0], self.gains[0] * inertia)
        critical = 2.0 * np.sqrt(stiffness * inertia)
        return stiffness, np.where(self._soft[1] > 0.0, self._soft[1], critical)

    def check_gains(self, mode: str, qpos: Array, dt: float, limits: Limits) -> None:
        """Raise RbdynError if the gains of a mode are too high for states every dt [s]."""
        inertia, k = self._inertia(qpos), limits.dofs
        if mode == "gravity":
            gains = 0.0 * inertia, self._rate * inertia
        elif mode != "impedance":
            gains = self.gains[0] * inertia, self.gains[1] * inertia
        elif self._cartesian is None:
            gains = self._soft_gains(inertia)
        else:
            gains = self._null
            check_frame_gains(*self._cartesian.fastest(qpos), dt)
        check_joint_gains(limits.names, gains[0][k], gains[1][k], inertia[k], dt)

    def effort(self, mode: str, qpos: Array, qvel: Array, target: Target) -> Array:
        """Return the efforts (nv,) of a mode; the next call overwrites the array.

        The arrays of the state, (nv,) each, are not checked.
        """
        if mode == "gravity":
            return self._gravity.of_own(qpos, qvel, target)
        if mode != "impedance":
            return self._tracking.of_own(qpos, qvel, target)
        if self._cartesian is not None:
            return self._cartesian(qpos, qvel, self._pose, self._posture)
        return self._impedance.of_own(qpos, qvel, target)


def frame_law(arm: Arm, settings: ControlSettings) -> CartesianImpedance:
    """Return the law of mode impedance for the frame of the settings."""
    return CartesianImpedance(
        arm,
        settings.frame,
        settings.cartesian_stiffness,
        settings.damping_ratio,
        settings.null_stiffness,
        settings.null_damping,
    )

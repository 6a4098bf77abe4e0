# SPDX-License-Identifier: Apache-2.0
"""Measurements and estimates of the box: joint torques, contacts, external forces."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.settings import Settings
from rbdyn_ros.control_box.laws import At
from rbdyn_ros.control_box.paths import CYCLE
from rbdyn_ros.control_box.sensing import MeasuredArm, wrench_at
from rbdyn_ros.dynamics.toolbox.momentum_observer import MomentumObserver

#: Gain of the momentum observer [1/s].
GAIN = 100.0
#: Above this desired acceleration the thresholds for acceleration count [rad/s^2].
ACCELERATES = 0.5


class Sensing:
    """Computes the forces of a RobotState from a measured state.

    Args:
        arm: the robot.

    Attributes:
        at: the state with its dynamics.
        flange: pose of the flange (4, 4).
        gravity: torques that hold the arm against gravity (7,) [N m].
        tau, dtau: torques behind gear, rotor and friction [N m], and their rate [N m/s], (7,).
        external: torques of the robot on its surroundings (7,), filtered [N m].
        wrench: wrench of the robot on its surroundings at K, in the axes of O (6,).
        joint_contact, contact: 1 above the lower thresholds, (7,) and (6,).
        joint_collision, collision: 1 if above the upper thresholds at any time since `clear`.
    """

    at: At
    flange: Array
    gravity: Array

    def __init__(self, arm: FrankaArm) -> None:
        self._arm, self._m = arm, arm.m
        self._observer = MomentumObserver(arm.m, GAIN)
        self.tau, self.dtau = np.zeros(7), np.zeros(7)
        self.external, self.wrench = np.zeros(7), np.zeros(6)
        self.joint_contact, self.joint_collision = np.zeros(7), np.zeros(7)
        self.contact, self.collision = np.zeros(6), np.zeros(6)

    def change(self) -> None:
        """Use the new load if the load has changed."""
        if self._m is not self._arm.m:
            self._m = self._arm.m
            self._observer.change(self._m)

    def clear(self) -> None:
        """Forget the detected collisions of joints and of the Cartesian axes."""
        self.joint_collision[:], self.collision[:] = 0.0, 0.0

    def forget(self) -> None:
        """Forget the detected collisions and restart the observer of external efforts."""
        self.clear()
        self._observer.reset()

    def take(
        self, now: MeasuredArm, settings: Settings, ddq_d: Array, period: float = CYCLE
    ) -> None:
        """Measure a state that follows the last state after a period [s].

        The desired acceleration decides which thresholds count.
        """
        arm = self._arm
        tau = now.link_torque(arm)
        self.dtau, self.tau = (tau - self.tau) / period, tau
        self.external = -self._observer.update(now.q, now.dq, tau, period)
        arm.at(now.q, now.dq)
        self.flange, self.gravity = arm.flange(), arm.gravity_torque()
        F_T_K = settings.F_T_K
        J, T = arm.jacobian(self.flange, F_T_K), self.flange @ F_T_K
        self.at = At(now.q, now.dq, arm.inertia(), arm.coriolis(), J, T)
        self.wrench = wrench_at(J, self.external)
        kind = 0 if (np.abs(ddq_d) > ACCELERATES).any() else 1
        self._compare(settings.torques[kind], settings.forces[kind])

    @property
    def in_K(self) -> Array:
        """The wrench in the axes of the stiffness frame (6,)."""
        R = self.at.T[:3, :3]
        return np.concatenate([R.T @ self.wrench[:3], R.T @ self.wrench[3:]])

    def _compare(self, torques: Array, forces: Array) -> None:
        torque, force = np.abs(self.external), np.abs(self.in_K)
        self.joint_contact[:], self.contact[:] = torque > torques[0], force > forces[0]
        np.maximum(self.joint_collision, torque > torques[1], out=self.joint_collision)
        np.maximum(self.collision, force > forces[1], out=self.collision)

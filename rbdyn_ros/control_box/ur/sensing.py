# SPDX-License-Identifier: Apache-2.0
"""Measurements and estimates of the box: the tool, its speed, its forces and contacts."""

from collections import deque

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.laws import At
from rbdyn_ros.control_box.sensing import MeasuredArm, wrench_at
from rbdyn_ros.control_box.ur.arm import UrArm
from rbdyn_ros.dynamics.toolbox.momentum_observer import MomentumObserver

#: Gain of the momentum observer [1/s].
GAIN = 100.0
#: Force above which a contact counts, and force above which it has begun [N]. The vendor's values
#: are not public.
CONTACT, BEGAN = 10.0, 3.0
#: Longest past that is kept [ticks].
PAST = 500


class ToolSensing:
    """Computes the fields of the state about the tool.

    Args:
        arm: the robot.

    Attributes:
        at: the state with its dynamics at the tool.
        flange: pose of the flange in O (4, 4).
        twist: twist of the tool in the axes of O, linear first (6,).
        gravity: torques that hold the arm against gravity (6,) [N m].
        effort: measured effort of the motors (6,) [N m].
        qdd: accelerations (6,) [rad/s^2].
        external: torques of the surroundings on the joints (6,) [N m].
        wrench: wrench of the surroundings on the tool since `zero`, in the axes of O about the
            tool (6,).
    """

    at: At
    flange: Array
    gravity: Array

    def __init__(self, arm: UrArm) -> None:
        self._arm, self._m = arm, arm.m
        self._observer = MomentumObserver(arm.m, GAIN)
        self.external, self.wrench, self.twist = np.zeros(6), np.zeros(6), np.zeros(6)
        self.effort, self.qdd = np.zeros(6), np.zeros(6)
        self._raw, self._offset = np.zeros(6), np.zeros(6)

    def zero(self) -> None:
        """Count the present wrench as zero from now on."""
        self._offset = self._raw.copy()
        self.wrench = np.zeros(6)

    def forget(self) -> None:
        """Restart the observer of the external efforts, which are 0 until the next state."""
        self._observer.reset()
        self.external = np.zeros(6)

    def take(self, now: MeasuredArm, F_T: Array, period: float) -> None:
        """Measure a state after a period [s]; F_T is the pose of the tool in the flange (4, 4)."""
        arm = self._arm
        if self._m is not arm.m:  # the payload has changed
            self._m = arm.m
            self._observer.change(arm.m)
        tau = now.link_torque(arm)
        self.effort, self.qdd = now.effort, now.qacc
        self.external = self._observer.update(now.q, now.dq, tau, period).copy()
        arm.at(now.q, now.dq)
        self.flange, self.gravity = arm.flange(), arm.gravity_torque()
        J = arm.jacobian(self.flange, F_T)
        T = self.flange @ F_T
        self.at = At(now.q, now.dq, arm.inertia(), arm.coriolis(), J, T)
        self.twist = J @ now.dq
        self._raw = wrench_at(J, self.external)
        self.wrench = self._raw - self._offset


class ToolPast:
    """The last joints of the arm and forces on its tool.

    Args:
        step: number of ticks in a step of the controller.
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self._past: deque[tuple[Array, Array]] = deque(maxlen=PAST)

    def add(self, q: Array, force: Array) -> None:
        """Add a tick: the joint positions q (6,), and the force on the tool (3,)."""
        self._past.appendleft((q.copy(), force.copy()))

    def joints(self, steps: int) -> Array:
        """Return the joints (6,) some steps ago, or the oldest that are kept."""
        return self._past[min(max(steps, 0) * self._step, len(self._past) - 1)][0]

    def contact(self, direction: Array) -> int:
        """Return the number of steps since a contact began, or 0 without a contact.

        Args:
            direction: (3,) direction in which the tool would move on; zero: any direction.
        """
        length = float(np.linalg.norm(direction))
        forces = [force for _, force in self._past]
        if not forces:
            return 0

        def against(force: Array) -> float:
            return float(-force @ direction / length if length > 0.0 else np.linalg.norm(force))

        if against(forces[0]) < CONTACT:
            return 0
        ticks = next((k for k, force in enumerate(forces) if against(force) < BEGAN), len(forces))
        return max(1, ticks // self._step)

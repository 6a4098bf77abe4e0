# SPDX-License-Identifier: Apache-2.0
"""The wrench of the surroundings on a link: from a sensor, or estimated from joint efforts."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.states.measured import Measured
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.errors import RbdynError, apart, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Larger forces [N] and torques [N m] are refused.
LARGEST = 1e6
#: Directions in which a link moves less than this per unit of a joint are ignored [m or 1].
MOVES = 1e-2


class SensedWrench:
    """The newest wrench of a force-torque sensor. Any thread may use it.

    Args:
        arm: the robot.
        frame: link on which the wrench acts.
        mass: mass of the parts behind the sensor [kg].
        com: (3,) centre of mass of these parts in the axes of the sensor [m].
        timeout: largest age [s].
        sensor: link in whose axes and about whose origin a wrench is measured; empty: the link in
            each message.

    Raises:
        ModelError: there is no such link.
    """

    def __init__(
        self,
        arm: Arm,
        frame: str,
        mass: float,
        com: Sequence[float],
        timeout: float,
        sensor: str = "",
    ) -> None:
        if sensor:
            arm.m.frame_id(sensor)
        self._sensor = sensor
        self._m, self._frame, self._timeout = arm.m, frame, timeout
        self._weight = mass * np.array(arm.bare.opt.gravity)
        self._com = np.array(com, float)
        self._lock = threading.Lock()
        self._newest: tuple[str, Array, int | None] = frame, np.zeros(6), None

    def take(self, link: str, force: Sequence[float], torque: Sequence[float], now: int) -> None:
        """Store a measurement.

        Args:
            link: link in whose axes and about whose origin the wrench is measured, unless `sensor`
                is given.
            force: (3,) force of the surroundings on the robot, with the weight behind the sensor
                [N].
            torque: (3,) about the link's origin [N m].
            now: steady clock [ns].

        Raises:
            RbdynError: the link is unknown, or a number is not finite or too large.
        """
        link = self._sensor or link
        chosen([link], self._m.frame_names, "link", error=RbdynError, code="wrench", element="")
        numbers = finite(
            "the wrench", [*torque, *force], (6,), -LARGEST, LARGEST, RbdynError, "wrench"
        )
        with self._lock:
            self._newest = link, numbers, now

    def missing(self, now: int) -> str:
        """Return the reason why there is no valid wrench at the time `now` [ns], or ""."""
        arrival = self._newest[2]
        if arrival is None:
            return "no wrench of the force-torque sensor has arrived yet"
        # the time of a simulated arm may go back when it is disarmed
        age = abs(now - arrival) / NANOSECONDS
        if age <= self._timeout:
            return ""
        found, most = apart(age, self._timeout, digits=4)
        return f"the newest wrench is {found} s old; allowed is {most} s"

    def wrench(self, arm: Arm, qpos: Array) -> Array:
        """Return torque about the link's origin and force (6,), in the axes of the base link."""
        with self._lock:
            link, numbers, _ = self._newest
        d = arm.d
        d.qpos[:] = qpos
        origin, _ = frame_pose(arm.m, d, self._frame)
        place, axes = frame_pose(arm.m, d, link)
        force = axes @ numbers[3:] - self._weight
        torque = axes @ numbers[:3] - np.cross(axes @ self._com, self._weight)
        return np.concatenate([torque + np.cross(place - origin, force), force])


class EstimatedWrench:
    """The wrench that explains measured joint efforts best; it includes inertial forces.

    Args:
        seen: the newest state.
        frame: link on which the wrench acts.
        dofs: (n,) degrees of freedom of the joints that carry this link.
        includes_gravity: whether efforts contain the gravity compensation of the robot itself.
    """

    def __init__(self, seen: Measured, frame: str, dofs: Ints, includes_gravity: bool) -> None:
        self._seen, self._frame = seen, frame
        self._dofs, self._includes = np.array(dofs), includes_gravity

    def take(self, _link: str, _force: Any, _torque: Any, _now: int) -> None:
        """Raise RbdynError: the wrench is estimated, so no measurement can be stored."""
        text = "the wrench is estimated from joint efforts; set admittance.wrench to sensor"
        raise refusal(text, "wrench")

    def missing(self, _now: int) -> str:
        """Return the reason why there is no valid wrench, or ""."""
        if np.isfinite(self._seen.effort[self._dofs]).all():
            return ""
        return "the wrench is estimated from joint efforts, but a joint measures none"

    def wrench(self, arm: Arm, qpos: Array) -> Array:
        """Return torque about the link's origin and force (6,), in the axes of the base link.

        Args:
            arm: the robot with its payloads.
            qpos: (nv,) measured positions.

        Source: J^T w = M qacc + C qvel + g + friction - effort; least squares, damped.
        """
        qvel, measured = self._seen.qvel, self._seen.effort.copy()
        needed = arm.inverse_dynamics(qpos, qvel, 0.0 * qvel, np.empty(arm.m.nv))
        arm.command(needed, qpos, qvel)
        if arm.robot_compensates_gravity and self._includes:
            arm.without_own(measured, qpos)
        arm.d.qpos[:] = qpos
        J = frame_jacobian(arm.m, arm.d, self._frame)[:, self._dofs]
        external = np.nan_to_num((needed - measured)[self._dofs])
        return np.linalg.solve(J @ J.T + MOVES**2 * np.eye(6), J @ external)

# SPDX-License-Identifier: Apache-2.0
"""The joints of a mobile base: wheels, or two slides and a hinge instead of wheels."""

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import STILL, WheelDrive, ramped, ramped_arc
from rbdyn_ros.control.mobile.odometry import LEAST, WheelOdometry
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import WORLD, Description, Joint, Limit, Link
from rbdyn_ros.errors import Finding, ParameterError, listing
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import POSITION, VELOCITY, Command

#: Joints of a planar base, the links between them, and their largest efforts [N, N m].
SLIDES = ("base_x", "base_y", "base_yaw")
LINKS = ("odom", "odom_x", "odom_y")
STRONG = 1e6


class BaseJoints(Protocol):
    """Moves a base and measures its odometry."""

    pose: Array
    pose_covariance: Array
    twist: Array
    twist_covariance: Array

    def link(self, m: Model) -> str:
        """Return the name of the link that is the base."""

    def check(self, twist: Array) -> None:
        """Raise RbdynError for a twist (vx, vy, wz) that the base cannot follow."""

    def capped(self, twist: Array) -> Array:
        """Return the twist, scaled down to the speed limits of the joints."""

    def approach(self, now: Array, target: Array, most: Array, period: float) -> Array:
        """Return the twist a period [s] later, from `now` towards `target`.

        most: largest accelerations along x, along y and about z [m/s^2, rad/s^2].
        """

    def command(self, m: Model, twist: Array) -> Command:
        """Return the command for a twist, at the steering angles that were measured last."""

    def measure(self, m: Model, state: LoopState, period: float) -> None:
        """Update the odometry with a state, which is a period [s] after the last state."""

    def reset(self) -> None:
        """Restart the odometry at the origin."""


def _dofs(m: Model, names: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the present dofs of joints; the dofs change when objects are added or deleted."""
    return np.array([m.jnt_dofadr[m.jnt_names.index(name)] for name in names], np.int64)


class WheelJoints(WheelOdometry):
    """The joints of a base on wheels.

    Args:
        drive: drive of the base.
        slip: as for WheelOdometry.
        m: the robot.
    """

    def __init__(self, drive: WheelDrive, slip: float, m: Model) -> None:
        super().__init__(drive, slip)
        self._names = tuple(wheel.name for wheel in drive.base.wheels)
        self._steered = tuple(joint.name for joint in drive.base.steerings)
        self._signs = np.array([joint.sign for joint in drive.base.steerings])
        self._fastest = m.jnt_velocity[[m.jnt_names.index(name) for name in self._names]]
        self._curvatures = drive.curvatures()
        self._turned = np.zeros(len(self._steered))

    def reset(self) -> None:
        super().reset()
        self._curvature = 0.0

    def link(self, m: Model) -> str:
        return str(m.body_names[1])

    def check(self, twist: Array) -> None:
        self._drive.check(twist)

    def capped(self, twist: Array) -> Array:
        speeds = np.abs(self._drive.rows(self._turned) @ twist)
        shares = np.where(speeds > STILL, self._fastest / np.maximum(speeds, STILL), math.inf)
        return twist * min(1.0, float(shares.min()))

    def approach(self, now: Array, target: Array, most: Array, period: float) -> Array:
        if not self._steered:
            return ramped(now, target, most, period)
        bend = self._curvature
        if abs(target[0]) > STILL:  # a base at rest keeps its steering angles
            bend = min(max(target[2] / target[0], self._curvatures[0]), self._curvatures[1])
        begin, limits = (now[0], self._curvature), (most[0], most[2])
        speed, self._curvature = ramped_arc(begin, (target[0], bend), limits, period)
        return np.array([speed, 0.0, speed * self._curvature])

    def command(self, m: Model, twist: Array) -> Command:
        moved = twist
        if self._steered:
            # wheels do not slip if the base turns as the present steering angles require
            moved = twist[0] * np.array([1.0, 0.0, self._drive.curvature(self._turned)])
        speeds = self._drive.rows(self._turned) @ moved
        angles = self._drive.steer(self._curvature) * self._signs
        n, k = len(speeds), len(angles)
        modes = np.array([VELOCITY] * n + [POSITION] * k)
        none = np.zeros(n + k)
        goals = np.concatenate([np.zeros(n), angles])
        velocity = np.concatenate([speeds, np.zeros(k)])
        dofs = _dofs(m, (*self._names, *self._steered))
        return Command(dofs, modes, goals, velocity, none, none, none)

    def measure(self, m: Model, state: LoopState, period: float) -> None:
        turned = state.measured_position[_dofs(m, self._steered)] * self._signs
        middle, self._turned = 0.5 * (self._turned + turned), turned
        self.update(state.measured_position[_dofs(m, self._names)], middle, period)


class PlanarJoints:
    """Two slides and a hinge below the base, which moves with exactly the commanded twist."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.pose, self.twist = np.zeros(3), np.zeros(3)
        self.pose_covariance = self.twist_covariance = np.eye(3) * LEAST

    def link(self, m: Model) -> str:
        return str(m.body_names[m.jnt_bodyid[m.jnt_names.index(SLIDES[-1])]])

    def check(self, twist: Array) -> None:
        """Accept every twist."""

    def capped(self, twist: Array) -> Array:
        return twist

    def approach(self, now: Array, target: Array, most: Array, period: float) -> Array:
        return ramped(now, target, most, period)

    def command(self, m: Model, twist: Array) -> Command:
        dofs, none = _dofs(m, SLIDES), np.zeros(3)
        turn = _turn(self.pose[2])
        speeds = np.append(turn @ twist[:2], twist[2])
        return Command(dofs, np.full(3, VELOCITY), none, speeds, none, none, none)

    def measure(self, m: Model, state: LoopState, period: float) -> None:  # noqa: ARG002
        dofs = _dofs(m, SLIDES)
        self.pose = state.measured_position[dofs]
        speeds = state.measured_velocity[dofs]
        self.twist = np.append(_turn(self.pose[2]).T @ speeds[:2], speeds[2])


def _turn(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def with_planar_base(description: Description) -> Description:
    """Return a robot that slides on the floor and turns: three joints below its root link.

    Raises:
        ParameterError: there are several robots, or the robot already has a link or joint with
            one of the new names.
    """
    if len(description.robots) > 1:
        found = listing(description.robots)
        raise _error(f"base.kind is 'planar' with several robots, {found}; one is allowed")
    names = {link.name for link in description.links}
    names |= {joint.name for joint in description.joints}
    if taken := [name for name in (*LINKS, *SLIDES) if name in names]:
        raise _error(f"base.kind is 'planar', but the robot itself has {listing(taken)}")
    base = span(description).base
    root = next(iter(description.robots), base) if base == WORLD else base
    joints = tuple(
        replace(joint, child=LINKS[0]) if joint.child == root else joint
        for joint in description.joints
    )
    limit = Limit(effort=STRONG)
    kinds = (("prismatic", (1.0, 0.0, 0.0)), ("prismatic", (0.0, 1.0, 0.0)))
    chain = (*LINKS, root)
    added = tuple(
        Joint(name, kind, chain[k], chain[k + 1], axis=axis, limit=limit)
        for k, (name, (kind, axis)) in enumerate(
            zip(SLIDES, (*kinds, ("continuous", (0.0, 0.0, 1.0))), strict=True)
        )
    )
    links = (*description.links, *(Link(name) for name in LINKS))
    robots = tuple(LINKS[0] if name == root else name for name in description.robots)
    begin = base if base == WORLD or not description.base else LINKS[0]
    return replace(
        description,
        links=links,
        joints=(*joints, *added),
        base=begin if description.base else "",
        robots=robots,
    )


def _error(text: str) -> ParameterError:
    return ParameterError(Finding("mobile-base", text, "error", "base.kind"))

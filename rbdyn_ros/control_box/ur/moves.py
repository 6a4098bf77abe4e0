# SPDX-License-Identifier: Apache-2.0
"""The laws of motions: each moves the desired joints by a cycle, until it is done.

Speeds and accelerations are defined as in URScript: they hold for the leading joint [rad/s,
rad/s^2] in movej, speedj and stopj, and for the tool [m/s, m/s^2] in movel, speedl and stopl.

Source: Universal Robots, The URScript Programming Language, module motion.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.paths import Stream, gap_between, turn_between, turned
from rbdyn_ros.control_box.ur.arm import UrArm

#: Damping of the inverse kinematics near singular poses.
DAMPING = 1e-4
#: Smaller speeds, times and lengths count as zero [rad/s; s; m or rad].
STILL = 1e-9


@dataclass(slots=True, eq=False)
class Course:
    """The desired joints, and the data that motions need to move them.

    Attributes:
        arm: the robot.
        joints: the desired joints.
        F_T: the tool in the flange (4, 4).
        dt: duration of a cycle [s].
        scale: scale of the speed, 0 to 1.
    """

    arm: UrArm
    joints: Stream
    F_T: Array
    dt: float
    scale: float = 1.0

    def tool(self) -> Array:
        """Return the desired pose of the tool (4, 4)."""
        return self.arm.tool_pose(self.joints.x, self.F_T)

    def go(self, T: Array) -> None:
        """Move the joints to a nearby pose of the tool by one step of Newton's method."""
        q = self.joints.x
        now, J = self.tool(), self.arm.tool_jacobian(q, self.F_T)
        step = np.linalg.solve(J.T @ J + DAMPING**2 * np.eye(6), J.T @ gap_between(now, T))
        self.joints.to(q + step)

    def slow(self, most: float) -> bool:
        """Slow the joints down for one cycle; return whether they rest.

        Args:
            most: largest deceleration divided by the present speed [1/s].
        """
        v = self.joints.v
        left = max(0.0, 1.0 - most * self.dt)
        self.joints.at(v * left if left > STILL else 0.0 * v)
        return left <= STILL


class Move(ABC):
    """A motion.

    Attributes:
        stiff: whether springs hold the joints; otherwise the motion computes torques itself.
    """

    stiff = True

    @abstractmethod
    def step(self, c: Course) -> bool:
        """Move the desired joints by a cycle; return whether the motion is done."""

    @property
    def waits(self) -> bool:
        """Return False; a stream returns whether the time of its newest command is over."""
        return False


class Profile:
    """A motion along a path, from rest to rest: over time the speed is a trapezoid or a triangle.

    Args:
        length: length of the path [rad or m].
        v, a: largest speed and acceleration [rad or m; per s; per s^2].
        t: duration [s] instead of speed and acceleration, with a third of it for each ramp; or 0.

    Attributes:
        duration: duration of the motion [s].
    """

    def __init__(self, length: float, v: float, a: float, t: float = 0.0) -> None:
        if t > 0.0:
            v, a = 1.5 * length / t, 4.5 * length / t**2
        self._length, self._a = length, a
        self._ramp = min(v / a, math.sqrt(length / a))  # time of a ramp [s]
        self._v = a * self._ramp
        # the speed of a length near the smallest number may be zero
        self.duration = self._ramp + length / self._v if self._v > 0.0 else 0.0

    def at(self, t: float) -> float:
        """Return the distance after a time [s]."""
        if t >= self.duration:
            return self._length
        if t < self._ramp:
            return 0.5 * self._a * t * t
        left = self.duration - t
        if left < self._ramp:
            return self._length - 0.5 * self._a * left * left
        return self._v * (t - 0.5 * self._ramp)


class JointMove(Move):
    """movej: all joints begin and end together; the joint with the largest motion leads.

    Args:
        start, goal: (6,) joint positions [rad].
        v, a, t: speed, acceleration and time of the leading joint, see Profile.
    """

    def __init__(self, start: Array, goal: Array, v: float, a: float, t: float = 0.0) -> None:
        self._start = np.array(start)
        self._way = np.array(goal) - self._start
        self._length = max(float(np.abs(self._way).max()), STILL)
        self._profile, self._t = Profile(self._length, v, a, t), 0.0

    def step(self, c: Course) -> bool:
        self._t += c.dt * c.scale
        share = self._profile.at(self._t) / self._length
        c.joints.to(self._start + share * self._way)
        if self._t >= self._profile.duration:
            c.joints.begin(self._start + self._way)
            return True
        return False


class LineMove(Move):
    """movel: the tool moves on a line and rotates about one axis.

    Args:
        start, goal: poses of the tool (4, 4).
        v, a, t: speed, acceleration and time of the tool, see Profile; in rad instead of m if the
            path rotates more than it moves.
    """

    def __init__(self, start: Array, goal: Array, v: float, a: float, t: float = 0.0) -> None:
        self._start, self._end = start, goal
        self._turn = turn_between(start[:3, :3], goal[:3, :3])
        self._length = max(self._way(), float(np.linalg.norm(self._turn)), STILL)
        self._profile, self._t = Profile(self._length, v, a, t), 0.0

    def _way(self) -> float:
        """Return the length of the path of the tool's origin [m]."""
        return float(np.linalg.norm(self._end[:3, 3] - self._start[:3, 3]))

    def _pose(self, share: float) -> Array:
        """Return the pose (4, 4) after a share of the path."""
        T: Array = self._start.copy()
        T[:3, 3] += share * (self._end[:3, 3] - self._start[:3, 3])
        T[:3, :3] = turned(self._start[:3, :3], share * self._turn)
        return T

    def step(self, c: Course) -> bool:
        self._t += c.dt * c.scale
        T = self._pose(self._profile.at(self._t) / self._length)
        c.go(T)
        if self._t < self._profile.duration:
            return False
        c.go(T)
        c.joints.begin(c.joints.x)
        return True


class ArcMove(LineMove):
    """movec: the tool moves on an arc through a point; it rotates as on a line, or with the arc.

    Args:
        start, via, goal: poses of the tool (4, 4); the rotation of via does not count.
        v, a: largest speed and acceleration of the tool [m/s, m/s^2].
        fixed: whether the tool keeps its rotation relative to the path, so that the rotation of
            goal does not count.

    Raises:
        ValueError: the three points are on a line.
    """

    def __init__(
        self, start: Array, via: Array, goal: Array, v: float, a: float, fixed: bool
    ) -> None:
        first, second = via[:3, 3] - start[:3, 3], goal[:3, 3] - start[:3, 3]
        n = np.cross(first, second)
        if np.linalg.norm(n) < STILL:
            raise ValueError("the three points of movec are on a line")
        # the centre is equally far from the three points
        rows = np.stack([first, second, n])
        middle = 0.5 * np.array([first @ first, second @ second, 0.0])
        self._arm = -np.linalg.solve(rows, middle)  # from the centre to the start
        self._n, end = n / np.linalg.norm(n), self._arm + second
        angle = np.arctan2(self._n @ np.cross(self._arm, end), self._arm @ end)
        self._angle, self._fixed = float(angle % (2.0 * np.pi)), fixed
        super().__init__(start, start if fixed else goal, v, a)

    def _way(self) -> float:
        return float(np.linalg.norm(self._arm)) * self._angle

    def _pose(self, share: float) -> Array:
        T = super()._pose(share)
        R = turned(np.eye(3), share * self._angle * self._n)
        T[:3, 3] = self._start[:3, 3] + R @ self._arm - self._arm
        T[:3, :3] = R @ T[:3, :3] if self._fixed else T[:3, :3]
        return T


class StopMove(Move):
    """stopj and stopl: the speed falls linearly to zero along the present path.

    Args:
        a: deceleration of the leading joint [rad/s^2], or of the tool [m/s^2].
        of_tool: whether `a` is the deceleration of the tool.
    """

    def __init__(self, a: float, of_tool: bool) -> None:
        self._a, self._of_tool = a, of_tool
        self._share = 0.0

    def step(self, c: Course) -> bool:
        v = c.joints.v
        speed = float(np.abs(v).max())
        if self._of_tool:
            twist = c.arm.tool_jacobian(c.joints.x, c.F_T) @ v
            speed = max(float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:])))
        if speed <= self._a * c.dt:
            c.joints.begin(c.joints.x)
            return True
        return c.slow(self._a / speed)


class Streamed(Move):
    """A motion that the client commands repeatedly; the last command applies until the next.

    Attributes:
        lasts: how long a command lasts [s]; 0: until the next command.
    """

    lasts = 0.0
    _left = 0.0

    @property
    def waits(self) -> bool:
        return self.lasts > 0.0 and self._left <= STILL

    def last(self, time: float) -> None:
        """Start a command that lasts for a time [s]."""
        self.lasts = self._left = time

    def spend(self, c: Course) -> None:
        """Count a cycle of the command's time."""
        self._left = (self.lasts if self.waits else self._left) - c.dt


class SpeedJoints(Streamed):
    """speedj: commanded speeds of the joints, reached with a largest acceleration.

    Attributes:
        speed: (6,) commanded speeds [rad/s].
        a: largest acceleration of the leading joint [rad/s^2].
    """

    def take(self, speed: Array, a: float, lasts: float) -> None:
        """Store a command that lasts for a time [s]; 0: until the next command."""
        self.speed, self.a = np.array(speed), a
        self.last(lasts)

    def step(self, c: Course) -> bool:
        self.spend(c)
        gap = c.scale * self.speed - c.joints.v
        largest = float(np.abs(gap).max())
        share = min(1.0, self.a * c.dt / largest) if largest > 0.0 else 1.0
        c.joints.at(c.joints.v + share * gap)
        return False


class SpeedLine(SpeedJoints):
    """speedl: a twist of the tool in axes of O, linear first; `a` limits its accelerations."""

    def step(self, c: Course) -> bool:
        self.spend(c)
        J = c.arm.tool_jacobian(c.joints.x, c.F_T)
        twist = J @ c.joints.v
        gap = c.scale * self.speed - twist
        largest = max(float(np.linalg.norm(gap[:3])), float(np.linalg.norm(gap[3:])))
        share = min(1.0, self.a * c.dt / largest) if largest > 0.0 else 1.0
        wanted = twist + share * gap
        v = np.linalg.solve(J.T @ J + DAMPING**2 * np.eye(6), J.T @ wanted)
        c.joints.at(v)
        return False


class UntilContact(SpeedLine):
    """A motion that ends when the tool touches something.

    Args:
        touches: function that returns whether the tool touches something.
    """

    def __init__(self, touches: Callable[[], bool]) -> None:
        self._touches = touches

    def step(self, c: Course) -> bool:
        return self._touches() or super().step(c)


class ServoJoints(Streamed):
    """servoj: springs pull the desired joints to the commanded joints.

    The vendor writes that `gain` works as the P of a controller, and that `lookahead_time`
    projects the position forward. So q'' = gain (q_commanded - (q + lookahead_time q')), within
    the limits.

    Attributes:
        target: (6,) commanded positions [rad].
        lookahead: lookahead_time [s].
        gain: acceleration per distance from the target [1/s^2].
    """

    def take(self, target: Array, lasts: float, lookahead: float, gain: float) -> None:
        """Store a command that lasts for a time [s]; 0: until the next command."""
        self.target, self.lookahead, self.gain = np.array(target), lookahead, gain
        self.last(lasts)

    def step(self, c: Course) -> bool:
        self.spend(c)
        q, v = c.joints.x, c.joints.v
        # the damper acts on the speed at the end of the cycle, which is stable for all gains
        a = self.gain * (self.target - q - self.lookahead * v)
        v = v + c.dt * a / (1.0 + c.dt * self.gain * self.lookahead)
        most = c.arm.velocity
        c.joints.at(np.clip(v, -most, most))
        return False

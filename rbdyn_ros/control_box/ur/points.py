# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory that a client sends, each of which becomes a motion.

KINDS is also a table of docs/reference/control_box.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.ur.arm import pose_from
from rbdyn_ros.control_box.ur.external_script import ExternalScript
from rbdyn_ros.control_box.ur.moves import Move
from rbdyn_ros.control_box.ur.primary import MOST_ACCELERATION
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.splines import SplineMove
from rbdyn_ros.control_box.ur.statements import (
    JOINT_A,
    JOINT_V,
    LINE_A,
    LINE_V,
    arc_move,
    joint_move,
    joints,
    line_move,
)

#: Speeds above this are refused [rad/s]. Source: the program of ur_client_library.
IGNORED_SPEED = 20.0
#: The first point of a spline may have no time if it is nearer to the arm than this [rad].
NEAR = 0.01
#: Assumed speed and acceleration of the tool in optimovel with a factor of 1 [m/s, m/s^2].
OPTIMAL_V, OPTIMAL_A = 1.0, 2.5
#: Number of derivatives at the ends of a spline, by the number of the spline.
CUBIC, QUINTIC = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryPoint:
    """A point of a trajectory.

    Attributes:
        kind: name of its MOTION_TYPE_ without this prefix; empty: unknown.
        number: number of the kind.
        target, second, third: (6,) numbers, whose meaning depends on the kind.
        velocity, acceleration: limits of the motion.
        time: duration of the motion [s]; 0: given by velocity and acceleration.
        form: CUBIC or QUINTIC.
    """

    kind: str
    number: int
    target: Array
    second: Array
    third: Array
    velocity: float
    acceleration: float
    time: float
    form: int

    @staticmethod
    def of(row: tuple[int, ...], script: ExternalScript) -> "TrajectoryPoint":
        """Return the point of a row of integers, which the script scales."""
        kind = script.name("MOTION_TYPE_", row[-1])
        numbers = np.array(row[:18], float) / script.scale
        velocity, acceleration = script.velocity, script.acceleration
        # versions of ur_client_library before 2.12 put it there
        if kind == "MOVEC" and velocity == 6:
            velocity = 13
        usual = (LINE_V, LINE_A) if kind == "MOVEL" else (JOINT_V, JOINT_A)
        return TrajectoryPoint(
            kind, row[-1], numbers[:6], numbers[6:12], numbers[12:18],
            usual[0] if velocity is None else float(numbers[velocity]),
            usual[1] if acceleration is None else float(numbers[acceleration]),
            row[-3] / script.time_scale, row[-2],
        )  # fmt: skip


def _joints(r: UrRobot, p: TrajectoryPoint) -> Array:
    """Return joint positions at the pose of a point, near those that the client gives, if any."""
    near = p.second if p.third[2] else None
    return joints(r, pose_from(p.target), near)


def _movel(r: UrRobot, p: TrajectoryPoint) -> Move:
    return line_move(r, pose_from(p.target), p.velocity, p.acceleration, p.time)


def _movel_joint(r: UrRobot, p: TrajectoryPoint) -> Move:
    return line_move(r, r.arm.tool_pose(p.target, r.F_T), p.velocity, p.acceleration, p.time)


def _movec(via_is_pose: bool, goal_is_pose: bool) -> Callable[[UrRobot, TrajectoryPoint], Move]:
    def pose(r: UrRobot, numbers: Array, is_pose: bool) -> Array:
        return pose_from(numbers) if is_pose else r.arm.tool_pose(numbers, r.F_T)

    def make(r: UrRobot, p: TrajectoryPoint) -> Move:
        via, goal = pose(r, p.second, via_is_pose), pose(r, p.target, goal_is_pose)
        return arc_move(r, via, goal, p.velocity, p.acceleration, fixed=p.third[2] == 1.0)

    return make


def _optimal(r: UrRobot, p: TrajectoryPoint) -> tuple[float, float]:
    """Return speed and acceleration of joints; a point has them as factors of the largest."""
    v, a = np.clip([p.velocity, p.acceleration], 0.0, 1.0)
    return float(v * r.arm.velocity.min()), float(a * MOST_ACCELERATION)


def _optimovel(r: UrRobot, T: Array, p: TrajectoryPoint) -> Move:
    v, a = np.clip([p.velocity, p.acceleration], 0.0, 1.0)
    return line_move(r, T, float(v * OPTIMAL_V), float(a * OPTIMAL_A))


#: For each kind of point except splines: how it is simulated, and the function of its motion.
KINDS: dict[str, tuple[str, Callable[[UrRobot, TrajectoryPoint], Move]]] = {
    "MOVEJ": (
        "simulated, without blending",
        lambda r, p: joint_move(r, p.target, p.velocity, p.acceleration, p.time),
    ),
    "MOVEJ_POSE": (
        "simulated, without blending",
        lambda r, p: joint_move(r, _joints(r, p), p.velocity, p.acceleration, p.time),
    ),
    "MOVEL": ("simulated, without blending", _movel),
    "MOVEL_JOINT": ("simulated, without blending", _movel_joint),
    "MOVEP": ("approximated: as MOVEL", _movel),
    "MOVEP_JOINT": ("approximated: as MOVEL", _movel_joint),
    "MOVEC": ("simulated, without blending", _movec(True, True)),
    "MOVEC_JOINT": ("simulated, without blending", _movec(False, False)),
    "MOVEC_JOINT_POSE": ("simulated, without blending", _movec(True, False)),
    "MOVEC_POSE_JOINT": ("simulated, without blending", _movec(False, True)),
    "OPTIMOVEJ": ("approximated: as MOVEJ", lambda r, p: joint_move(r, p.target, *_optimal(r, p))),
    "OPTIMOVEJ_POSE": (
        "approximated: as MOVEJ",
        lambda r, p: joint_move(r, _joints(r, p), *_optimal(r, p)),
    ),
    "OPTIMOVEL": ("approximated: as MOVEL", lambda r, p: _optimovel(r, pose_from(p.target), p)),
    "OPTIMOVEL_JOINT": (
        "approximated: as MOVEL",
        lambda r, p: _optimovel(r, r.arm.tool_pose(p.target, r.F_T), p),
    ),
}


def too_fast(start: Array, end: Array, time: float) -> str:
    """Return a message if a joint must exceed IGNORED_SPEED to move in a time [s], or ""."""
    speed = np.abs(end - start) / time
    joint = int(np.argmax(speed))
    if speed[joint] <= IGNORED_SPEED:
        return ""
    return (
        f"joint {joint} would have to go from {start[joint]:.3f} to {end[joint]:.3f} rad in "
        f"{time:g} s, faster than {IGNORED_SPEED:g} rad/s"
    )


def spline(
    r: UrRobot, p: TrajectoryPoint, before: SplineMove | None, first: bool, last: bool
) -> SplineMove | None:
    """Return the spline to a point, or None if the first point has no time and is near the arm.

    Args:
        r: the robot.
        p: the point.
        before: the spline that has ended, if the arm still moves; None: the arm rests.
        first: whether the point is the first of the trajectory.
        last: whether the point is the last of the trajectory.

    Raises:
        LookupError: there is no such spline.
        ValueError: the trajectory must be cancelled.
    """
    order = {CUBIC: 2, QUINTIC: 3}.get(p.form)
    if order is None:
        raise LookupError(f"{p.form} is not a spline; expected 1 (cubic) or 2 (quintic)")
    start = np.array([r.joints.x, *np.zeros((2, 6))]) if before is None else before.end
    if first and p.time == 0.0 and np.linalg.norm(p.target - start[0]) < NEAR:
        return None
    if not p.time > 0.0:
        raise ValueError("a spline needs a time above 0")
    if reason := too_fast(start[0], p.target, p.time):
        raise ValueError(reason)
    end = np.array([p.target, p.second, p.third])
    # the end of a cubic spline has no acceleration: start the next spline with 0
    if len(start) < order:
        start = np.array([*start, np.zeros(6)])
    over = 0.0 if before is None else before.over
    return SplineMove(start[:order], end[:order], p.time, last, over)

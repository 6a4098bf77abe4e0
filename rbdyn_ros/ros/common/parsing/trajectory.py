# SPDX-License-Identifier: Apache-2.0
"""The parser of trajectories: a JointTrajectory is accepted as a whole or refused as a whole."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.errors import apart, counted, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.ros.common.parsing.commands import CommandParser
from rbdyn_ros.ros.common.parsing.goals import LARGEST, owner, wrong_number
from rbdyn_ros.ros.common.parsing.stamps import seconds
from rbdyn_ros.runtime.types import TrajectoryOrder

MOST_POINTS = 100_000
#: Largest time of a point [s]. Doubles up to this time distinguish nanoseconds.
LONGEST = 1_000_000
#: If a trajectory starts later than this from now [s], its sender probably uses another clock.
LONGEST_WAIT = 3600.0
#: A position may exceed its limits by this rounding error of decimals and sums [m or rad].
ON_LIMIT = 1e-9
#: Largest last velocity that counts as zero, as in joint_trajectory_controller.
AT_REST = float(np.finfo(np.float32).eps)

#: Fields of a JointTrajectoryPoint by kind.
FIELDS = {"position": "positions", "velocity": "velocities", "acceleration": "accelerations"}


@dataclass(frozen=True, slots=True)
class TrajectoryPoints:
    """The numbers of a message, each (points, joints); None: the message lacks this kind."""

    position: Array
    velocity: Array | None
    acceleration: Array | None


class TrajectoryParser:
    """Checks the numbers, names, lengths, times and limits of trajectories, and converts them.

    Trajectories are planned, so a trajectory that exceeds a limit is refused, not clamped.

    Args:
        m: the robot.
        commands: parser of its commands.
    """

    def __init__(self, m: Model, commands: CommandParser) -> None:
        self._commands = commands
        names = commands.joints.names
        numbers = {name: j for j, name in enumerate(m.jnt_names)}
        joints = [numbers[name] for name in names]
        self._range = dict(zip(names, m.jnt_range[joints].tolist(), strict=True))
        self._speed = dict(zip(names, m.jnt_velocity[joints].tolist(), strict=True))

    def parse(self, message: Any, now_ns: int) -> TrajectoryOrder | None:
        """Return the trajectory from now on, without points in the past; None: no points.

        Args:
            message: trajectory_msgs/JointTrajectory. With stamp 0 it starts now. Without points it
                stops the present trajectory.
            now_ns: simulated time [ns].

        Raises:
            RbdynError: the message is refused.
        """
        points, names = message.points, message.joint_names
        if len(points) > MOST_POINTS:
            raise refusal(f"{len(points)} points are given; at most {MOST_POINTS} are allowed")
        _check_finite(points, names)
        if points or names:
            self._commands.check_joints(names)
        for name in names:
            self._commands.check_drivable(name, "trajectory")
        if not points:
            return None
        _check_lengths(points, len(names))
        times = np.array([nanoseconds(point.time_from_start) for point in points], np.int64)
        _check_times(times)
        numbers = _numbers(points, len(names))
        self._check_limits(names, times, numbers)
        return self._rest(names, times, numbers, nanoseconds(message.header.stamp), now_ns)

    def _check_limits(self, names: list[str], times: Ints, numbers: TrajectoryPoints) -> None:
        """Raise RbdynError if positions, or velocities at or between points, exceed limits."""
        low, high = np.transpose([self._range[name] for name in names])
        speed = np.array([self._speed[name] for name in names])
        q, v = numbers.position, numbers.velocity
        for at, k in _first((q < low - ON_LIMIT) | (q > high + ON_LIMIT)):
            found, least, most = apart(q[at, k], low[k], high[k], digits=9)
            raise refusal(
                f"points[{at}] has joint '{names[k]}' at {found}; its limits are {least} and "
                f"{most}"
            )
        if v is not None:
            for at, k in _first(np.abs(v) > speed * (1.0 + ON_LIMIT)):
                found, most = apart(v[at, k], speed[k], digits=9)
                raise refusal(
                    f"points[{at}] has joint '{names[k]}' at a velocity of {found}; its limit is "
                    f"{most}"
                )
            for _, k in _first(np.abs(v[-1:]) > AT_REST):
                raise refusal(
                    f"joint '{names[k]}' has a velocity of {v[-1, k]:.9g} in the last point; "
                    "it must be 0"
                )
        mean = np.diff(q, axis=0) / (np.diff(times) / NANOSECONDS)[:, None]
        for at, k in _first(np.abs(mean) > speed * (1.0 + ON_LIMIT)):
            found, most = apart(mean[at, k], speed[k], digits=9)
            raise refusal(
                f"joint '{names[k]}' would need a velocity of {found} from points[{at}] to "
                f"points[{at + 1}]; its limit is {most}"
            )

    def _rest(
        self, names: list[str], times: Ints, numbers: TrajectoryPoints, stamp_ns: int, now_ns: int
    ) -> TrajectoryOrder:
        """Return the rest of the trajectory, with times counted from now.

        Raise RbdynError if the trajectory has ended, or starts later than LONGEST_WAIT.
        """
        start = stamp_ns or now_ns
        left = times + (start - now_ns) >= 0
        if start - now_ns > LONGEST_WAIT * NANOSECONDS:
            raise refusal(
                f"the start is at {seconds(start)} s, but the time is {seconds(now_ns)} s now; if "
                "the sender uses another clock, set its use_sim_time, or stamp 0 to start at once"
            )
        if not left.any():
            end = seconds(start + int(times[-1]))
            raise refusal(f"the trajectory ended at {end} s; the time is {seconds(now_ns)} s now")
        zeros = np.zeros((int(left.sum()), len(names)))
        velocity, acceleration = numbers.velocity, numbers.acceleration
        return TrajectoryOrder(
            dofs=np.array([self._commands.dofs[name] for name in names], np.int64),
            times=(times[left] + (start - now_ns)) / NANOSECONDS,
            positions=numbers.position[left],
            velocities=zeros if velocity is None else velocity[left],
            accelerations=zeros if acceleration is None else acceleration[left],
            order=1 if velocity is None else 3 if acceleration is None else 5,
        )


def _first(wrong: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return a list with the index of the first true entry, or an empty list if none is true."""
    return [tuple(map(int, place)) for place in np.argwhere(wrong)[:1]]


def _check_finite(points: list[Any], names: list[str]) -> None:
    for kind, field in FIELDS.items():
        rows = [getattr(point, field) for point in points]
        flat = np.fromiter(chain.from_iterable(rows), np.float64)
        wrong = np.flatnonzero(~(np.abs(flat) <= LARGEST))  # this also finds NaN
        if len(wrong):
            ends = np.cumsum([len(row) for row in rows])
            at = int(np.searchsorted(ends, wrong[0], side="right"))
            k = int(wrong[0] - ends[at] + len(rows[at]))
            raise wrong_number(kind, f"{owner(names, k)} in points[{at}]", flat[wrong[0]], LARGEST)


def _check_lengths(points: list[Any], n: int) -> None:
    for at, point in enumerate(points):
        if len(point.effort):
            raise refusal(
                f"points[{at}] has efforts; allowed are positions, velocities and accelerations"
            )
        for kind, field in FIELDS.items():
            count, first = len(getattr(point, field)), len(getattr(points[0], field))
            if kind == "position" and count == 0:
                raise refusal(f"points[{at}] has no positions; every point needs them")
            if count not in (0, n):
                found = counted(count, kind, field)
                raise refusal(f"points[{at}] has {found} for {counted(n, 'name')}")
            if count != first:
                given = (at, 0) if count else (0, at)
                raise refusal(
                    f"points[{given[0]}] has {field}, but points[{given[1]}] has none; give them "
                    "for all points or for none"
                )
    if len(points[0].accelerations) and not len(points[0].velocities):
        raise refusal("the points have accelerations but no velocities; give both or neither")


def _check_times(times: Ints) -> None:
    if times[0] < 0:
        raise refusal(f"points[0] is at {seconds(int(times[0]))} s; the earliest time is 0")
    if times[-1] > LONGEST * NANOSECONDS:
        raise refusal(f"the trajectory takes {seconds(int(times[-1]))} s, more than {LONGEST} s")
    for (at,) in _first(np.diff(times) <= 0):
        raise refusal(
            f"points[{at + 1}] is at {seconds(int(times[at + 1]))} s, which is not later than "
            f"points[{at}] at {seconds(int(times[at]))} s"
        )


def _numbers(points: list[Any], n: int) -> TrajectoryPoints:
    def table(field: str) -> Array | None:
        rows = (getattr(point, field) for point in points)
        flat = np.fromiter(chain.from_iterable(rows), np.float64)
        return flat.reshape(-1, n) if len(flat) else None

    position = table("positions")
    assert position is not None
    return TrajectoryPoints(position, table("velocities"), table("accelerations"))

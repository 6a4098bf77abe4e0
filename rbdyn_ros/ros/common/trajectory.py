"""The gate for trajectories: trajectory_msgs/JointTrajectory, taken as a whole or refused."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.answer import attempt
from rbdyn_ros.ros.common.goals import LARGEST
from rbdyn_ros.ros.simulator.commands import CommandParser
from rbdyn_ros.ros.simulator.stamps import seconds
from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.types import TrajectoryOrder

MOST_POINTS = 100_000
#: Up to here two times that differ by a nanosecond differ as doubles [s].
LONGEST = 1_000_000
#: Who stamps a start later than this is on another clock [s].
LONGEST_WAIT = 3600.0
#: Positions may be beyond a limit by what text and sums of doubles lose [m or rad].
ON_LIMIT = 1e-9
#: The last velocity counts as zero up to here, as for joint_trajectory_controller.
AT_REST = float(np.finfo(np.float32).eps)

#: The arrays of a point by their kind.
FIELDS = {"position": "positions", "velocity": "velocities", "acceleration": "accelerations"}


@dataclass(frozen=True, slots=True)
class Points:
    """The numbers of a message, (p, n) each; those that it does not give are None."""

    position: Array
    velocity: Array | None
    acceleration: Array | None


class TrajectoryGate:
    """Checks trajectories: numbers, names and lengths, times, limits, and when they start.

    Unlike a command, a trajectory is planned, so one that leaves the limits is a mistake: it is
    refused, not clamped.

    Args:
        m: the robot.
        gate: for its commands.
    """

    def __init__(self, m: Model, gate: CommandParser) -> None:
        self._gate = gate
        numbers = {name: j for j, name in enumerate(m.jnt_names)}
        joints = [numbers[name] for name in gate.joints.names]
        self._range = dict(zip(gate.joints.names, m.jnt_range[joints].tolist(), strict=True))
        self._speed = dict(zip(gate.joints.names, m.jnt_velocity[joints].tolist(), strict=True))

    def judge(self, message: Any, now_ns: int) -> TrajectoryOrder | str | None:
        """Return the trajectory, None for none from now on, or why the message is refused.

        Points that should have been passed by now are left out.

        Args:
            message: trajectory_msgs/JointTrajectory. Stamp 0: it starts now. No points: what is
                in progress ends.
            now_ns: simulated time [ns].
        """
        points = message.points
        if len(points) > MOST_POINTS:
            return f"it has {len(points)} points; at most {MOST_POINTS} are possible"
        names = message.joint_names
        refusal = _not_finite(points, names) or self._judge_names(names, bool(points))
        if refusal:
            return refusal
        if not points:
            return None
        refusal = _judge_lengths(points, len(names))
        times = _times(points)
        refusal = refusal or _judge_times(times)
        if refusal:
            return refusal
        numbers = _numbers(points, len(names))
        refusal = self._judge_limits(names, times, numbers)
        if refusal:
            return refusal
        return self._begun(names, times, numbers, _nanoseconds(message.header.stamp), now_ns)

    def _judge_names(self, names: list[str], needed: bool) -> str:
        if not needed and not names:
            return ""

        def check() -> None:
            self._gate.check_joints(names)
            for name in names:
                self._gate.check_drivable(name, "trajectory")

        return attempt(check)[1]

    def _judge_limits(self, names: list[str], times: Ints, numbers: Points) -> str:
        """Judge positions, velocities, and velocities of straight lines between the points."""
        low, high = np.transpose([self._range[name] for name in names])
        speed = np.array([self._speed[name] for name in names])
        q, v = numbers.position, numbers.velocity
        for at, k in _first((q < low - ON_LIMIT) | (q > high + ON_LIMIT)):
            return (
                f"points[{at}] has joint '{names[k]}' at {q[at, k]:.9g}; its limits are "
                f"{low[k]:.9g} and {high[k]:.9g}"
            )
        if v is not None:
            for at, k in _first(np.abs(v) > speed * (1.0 + ON_LIMIT)):
                return (
                    f"points[{at}] has joint '{names[k]}' at a velocity of {v[at, k]:.9g}; its "
                    f"limit is {speed[k]:.9g}"
                )
            for _, k in _first(np.abs(v[-1:]) > AT_REST):
                return (
                    f"joint '{names[k]}' has a velocity of {v[-1, k]:.9g} in the last point; "
                    "it must be 0"
                )
        mean = np.diff(q, axis=0) / (np.diff(times) / NANOSECONDS)[:, None]
        for at, k in _first(np.abs(mean) > speed * (1.0 + ON_LIMIT)):
            return (
                f"joint '{names[k]}' would need a velocity of {mean[at, k]:.9g} from "
                f"points[{at}] to points[{at + 1}]; its limit is {speed[k]:.9g}"
            )
        return ""

    def _begun(
        self, names: list[str], times: Ints, numbers: Points, stamp_ns: int, now_ns: int
    ) -> TrajectoryOrder | str:
        """Return what is left of the trajectory, its times counted from now."""
        start = stamp_ns or now_ns
        left = times + (start - now_ns) >= 0
        if start - now_ns > LONGEST_WAIT * NANOSECONDS:
            return (
                f"it is stamped to start at {seconds(start)} s and it is {seconds(now_ns)} s now; "
                "a sender on another clock may set use_sim_time, or stamp 0 to start at once"
            )
        if not left.any():
            end = seconds(start + int(times[-1]))
            return f"it ended at {end} s; it is {seconds(now_ns)} s now"
        zeros = np.zeros((int(left.sum()), len(names)))
        velocity, acceleration = numbers.velocity, numbers.acceleration
        return TrajectoryOrder(
            dofs=np.array([self._gate.dofs[name] for name in names], np.int64),
            times=(times[left] + (start - now_ns)) / NANOSECONDS,
            positions=numbers.position[left],
            velocities=zeros if velocity is None else velocity[left],
            accelerations=zeros if acceleration is None else acceleration[left],
            order=1 if velocity is None else 3 if acceleration is None else 5,
        )


def _first(wrong: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return where the first true entry is, if there is one."""
    return [tuple(map(int, place)) for place in np.argwhere(wrong)[:1]]


def _nanoseconds(stamp: Any) -> int:
    """Return a Time or a Duration [ns]."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def _times(points: list[Any]) -> Ints:
    """Return the times of the points from the start [ns]."""
    return np.array([_nanoseconds(point.time_from_start) for point in points], np.int64)


def _not_finite(points: list[Any], names: list[str]) -> str:
    for kind, field in FIELDS.items():
        rows = [getattr(point, field) for point in points]
        flat = np.fromiter(chain.from_iterable(rows), np.float64)
        wrong = np.flatnonzero(~(np.abs(flat) <= LARGEST))  # also what is not a number
        if len(wrong):
            ends = np.cumsum([len(row) for row in rows])
            at = int(np.searchsorted(ends, wrong[0], side="right"))
            k = int(wrong[0] - ends[at] + len(rows[at]))
            owner = f"joint {quote(names[k])}" if k < len(names) else f"value {k}"
            allowed = (
                f"at most {LARGEST:g} is possible"
                if np.isfinite(flat[wrong[0]])
                else "a finite number is needed"
            )
            return f"the {kind} of {owner} in points[{at}] is {flat[wrong[0]]:g}; {allowed}"
    return ""


def _judge_lengths(points: list[Any], n: int) -> str:
    for at, point in enumerate(points):
        if len(point.effort):
            return (
                f"points[{at}] holds efforts; a trajectory is of positions, velocities and "
                "accelerations"
            )
        for kind, field in FIELDS.items():
            count, first = len(getattr(point, field)), len(getattr(points[0], field))
            if kind == "position" and count == 0:
                return f"points[{at}] has no positions; every point needs them"
            if count not in (0, n):
                return f"points[{at}] has {count} {field} for {n} names"
            if count != first:
                given = (at, 0) if count else (0, at)
                return (
                    f"points[{given[0]}] has {field} and points[{given[1]}] has none; give them "
                    "for all points or for none"
                )
    if len(points[0].accelerations) and not len(points[0].velocities):
        return "the points have accelerations but no velocities; give both, or velocities only"
    return ""


def _judge_times(times: Ints) -> str:
    if times[0] < 0:
        return f"points[0] is at {seconds(int(times[0]))} s from the start; 0 is the earliest"
    if times[-1] > LONGEST * NANOSECONDS:
        return f"it takes {seconds(int(times[-1]))} s; at most {LONGEST} s are possible"
    for (at,) in _first(np.diff(times) <= 0):
        return (
            f"points[{at + 1}] is at {seconds(int(times[at + 1]))} s from the start, not later "
            f"than points[{at}] at {seconds(int(times[at]))} s"
        )
    return ""


def _numbers(points: list[Any], n: int) -> Points:
    def table(field: str) -> Array | None:
        rows = (getattr(point, field) for point in points)
        flat = np.fromiter(chain.from_iterable(rows), np.float64)
        return flat.reshape(-1, n) if len(flat) else None

    position = table("positions")
    assert position is not None
    return Points(position, table("velocities"), table("accelerations"))

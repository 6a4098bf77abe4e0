"""A goal of follow_joint_trajectory: what it tolerates, and when and how it ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.controller import Progress
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.runtime.compiled import NANOSECONDS

Array = NDArray[np.float64]

#: What a goal tolerates that does not say. As for joint_trajectory_controller, positions are not
#: judged and joints must be at rest in the end [rad/s or m/s].
AT_REST = 0.01
#: So long after the last point; joint_trajectory_controller waits for ever [s].
GOAL_TIME = 5.0
#: So near the last point it is where the trajectory leads to [rad or m].
SAME = 1e-6

#: Fields for joints of several coordinates, which an arm does not have.
OF_SEVERAL = ("component_path_tolerance", "component_goal_tolerance")


@dataclass(frozen=True, slots=True)
class Tolerances:
    """What a goal tolerates; infinite is anything.

    Attributes:
        path, goal: (2, n) of position [rad or m] and velocity [rad/s or m/s], while it moves and
            in the end.
        goal_time: after the last point, until the joints are within `goal` [s].
    """

    path: Array
    goal: Array
    goal_time: float

    @staticmethod
    def of(request: Any, names: Sequence[str]) -> Tolerances | str:
        """Return those of a goal for the controlled joints, or why the goal is refused."""
        defaults = np.full((2, len(names)), math.inf)
        path = _tolerances("path_tolerance", request, names, defaults)
        if isinstance(path, str):
            return path
        defaults[1] = AT_REST
        goal = _tolerances("goal_tolerance", request, names, defaults)
        if isinstance(goal, str):
            return goal
        time = nanoseconds(request.goal_time_tolerance) / NANOSECONDS
        return Tolerances(path, goal, _resolved(time, GOAL_TIME))


def nanoseconds(time: Any) -> int:
    """Return a Time or a Duration [ns]."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def why_no_goal(request: Any) -> str:
    """Return why a goal is refused, whatever its trajectory is like; or nothing."""
    several = getattr(request, "multi_dof_trajectory", None)
    if several is not None and (several.joint_names or several.points):
        return "it has a multi_dof_trajectory; the joints of an arm have one coordinate each"
    for field in OF_SEVERAL:
        if len(getattr(request, field, ())):
            return f"it has a {field}; the joints of an arm have one coordinate each"
    if not request.trajectory.points:
        return "its trajectory has no points; cancel a goal to stop"
    return ""


def _tolerances(field: str, request: Any, names: Sequence[str], defaults: Array) -> Array | str:
    found: Array = defaults.copy()
    numbers = {name: k for k, name in enumerate(names)}
    seen = set()
    for entry in getattr(request, field):
        if entry.name not in numbers:
            return (
                f"its {field} names joint {quote(entry.name)}, which is not controlled"
                f"{did_you_mean(entry.name, names)}; there are {', '.join(names)}"
            )
        if entry.name in seen:
            return f"its {field} names joint '{entry.name}' twice"
        seen.add(entry.name)
        given = entry.position, entry.velocity
        if not np.isfinite([*given, entry.acceleration]).all():
            return f"a number of its {field} of joint '{entry.name}' is not finite"
        if entry.acceleration > 0.0:
            return (
                f"its {field} of joint '{entry.name}' is of an acceleration; only positions and "
                "velocities are measured"
            )
        k = numbers[entry.name]
        found[:, k] = [_resolved(v, d) for v, d in zip(given, defaults[:, k], strict=True)]
    return found


def _resolved(given: float, default: float) -> float:
    """Return a tolerance: 0 stands for the default, less for none."""
    if given < 0.0:
        return math.inf
    return given or default


@dataclass(frozen=True, slots=True)
class Ending:
    """How a goal ends.

    Attributes:
        how: method of the goal's handle: succeed, abort or canceled.
        code: name of the result's error_code.
        why: for error_string.
        stop: the arm is to stop and hold.
    """

    how: str
    code: str
    why: str
    stop: bool = False


class Pursuit:
    """One goal from its acceptance to its end.

    Args:
        number: of its trajectory.
        names: of the controlled joints (n).
        tolerances: its own.
        trajectory: trajectory_msgs/JointTrajectory, one that the arm follows.
        now_ns: time of the state when it was taken [ns].

    Attributes:
        number: of its trajectory.
    """

    def __init__(
        self,
        number: int,
        names: Sequence[str],
        tolerances: Tolerances,
        trajectory: Any,
        now_ns: int,
    ) -> None:
        self.number, self._names, self._tolerances = number, names, tolerances
        self._begin_ns = nanoseconds(trajectory.header.stamp) or now_ns
        points = trajectory.points
        self._times = np.array([nanoseconds(point.time_from_start) for point in points])
        columns = [names.index(name) for name in trajectory.joint_names]
        self._columns, self._last = columns, np.array(points[-1].positions)
        self._first = True
        self._ended_ns: int | None = None

    def time_ns(self, now: Progress) -> int:
        """Return the time from the start of the trajectory [ns]."""
        return now.time - self._begin_ns

    def index(self, now: Progress) -> int:
        """Return which point it is on the way to."""
        at = int(np.searchsorted(self._times, self.time_ns(now), side="right"))
        return min(at, len(self._times) - 1)

    def ending(self, now: Progress, is_cancelled: Callable[[], bool]) -> Ending | None:
        """Return how the goal ends now, or None if it goes on."""
        cancelled = is_cancelled()
        replaced = now.number != self.number
        if replaced or now.failed:
            why = "another trajectory took its place" if replaced else now.failed
            return Ending("canceled" if cancelled else "abort", "INVALID_GOAL", why)
        if cancelled:
            return Ending("canceled", "SUCCESSFUL", "it was cancelled; the arm holds", stop=True)
        off = now.desired[:2] - now.actual
        first, self._first = self._first, False
        if not now.done or first:
            why = self._violation(off, self._tolerances.path, "path_tolerance")
            if why:
                return Ending("abort", "PATH_TOLERANCE_VIOLATED", why, stop=True)
        return self._end(now, off) if now.done else None

    def _end(self, now: Progress, off: Array) -> Ending | None:
        """Return how it ends once it is in progress no more."""
        if (np.abs(now.desired[0, self._columns] - self._last) > SAME).any():
            return Ending("abort", "INVALID_GOAL", "it was stopped on the way")
        if self._ended_ns is None:
            self._ended_ns = now.time
        why = self._violation(off, self._tolerances.goal, "goal_tolerance")
        if not why:
            return Ending("succeed", "SUCCESSFUL", "the goal is reached")
        late = (now.time - self._ended_ns) / NANOSECONDS
        if late <= self._tolerances.goal_time:
            return None
        why += f", also {self._tolerances.goal_time:g} s after the last point"
        return Ending("abort", "GOAL_TOLERANCE_VIOLATED", why, stop=True)

    def _violation(self, off: Array, allowed: Array, field: str) -> str:
        """Return what is beyond its tolerance, or nothing; what is not a number is beyond."""
        for row, k in np.argwhere(~(np.abs(off) <= allowed))[:1]:
            kind = ("position", "velocity")[row]
            return (
                f"the {kind} of joint '{self._names[k]}' is {abs(off[row, k]):.4g} off; "
                f"{field} allows {allowed[row, k]:g}"
            )
        return ""

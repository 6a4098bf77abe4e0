# SPDX-License-Identifier: Apache-2.0
"""A goal of follow_joint_trajectory: its tolerances, its end and its result."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import name_faults
from rbdyn_ros.control.controller import Progress
from rbdyn_ros.errors import apart, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds

#: Default velocity tolerance at the goal [rad/s or m/s]. As in joint_trajectory_controller,
#: positions have no default tolerance.
AT_REST = 0.01
#: Default goal_time_tolerance [s]; by default joint_trajectory_controller waits forever.
GOAL_TIME = 5.0
#: A target nearer to the last point than this has reached it [rad or m].
SAME = 1e-6
#: Fields for joints of several coordinates, which an arm does not have.
SEVERAL_DOFS = ("component_path_tolerance", "component_goal_tolerance")


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Tolerances of a goal; infinity means unlimited.

    Attributes:
        path, goal: (2, n) tolerances of position [rad or m] and velocity [rad/s or m/s], during
            the motion and at the goal.
        goal_time: time after the last point within which the joints must reach `goal` [s].
    """

    path: Array
    goal: Array
    goal_time: float

    @staticmethod
    def of(request: Any, names: Sequence[str]) -> "Tolerances":
        """Return the tolerances of a goal for the controlled joints.

        Raises:
            RbdynError: a tolerance is refused.
        """
        defaults = np.full((2, len(names)), math.inf)
        path = _tolerances("path_tolerance", request, names, defaults)
        defaults[1] = AT_REST
        goal = _tolerances("goal_tolerance", request, names, defaults)
        time = nanoseconds(request.goal_time_tolerance) / NANOSECONDS
        return Tolerances(path, goal, _resolved(time, GOAL_TIME))


def check_goal(request: Any) -> None:
    """Raise RbdynError for a goal without points, or for joints of several coordinates."""
    several = getattr(request, "multi_dof_trajectory", None)
    if several is not None and (several.joint_names or several.points):
        raise refusal(_only_single("multi_dof_trajectory"))
    for field in SEVERAL_DOFS:
        if len(getattr(request, field, ())):
            raise refusal(_only_single(field))
    if not request.trajectory.points:
        raise refusal("the trajectory has no points; cancel the goal to stop")


def _only_single(field: str) -> str:
    return f"{field} is not empty; the joints of an arm have one coordinate each"


def _tolerances(field: str, request: Any, names: Sequence[str], defaults: Array) -> Array:
    found: Array = defaults.copy()
    numbers = {name: k for k, name in enumerate(names)}
    entries = getattr(request, field)
    for name, reason in name_faults([entry.name for entry in entries], names, "controlled joint"):
        listed = "" if name in numbers else f"; the joints are {', '.join(names)}"
        raise refusal(f"{field}: {reason}{listed}")
    for entry in entries:
        given = entry.position, entry.velocity
        if not np.isfinite([*given, entry.acceleration]).all():
            raise refusal(f"{field} of joint '{entry.name}' has a number that is not finite")
        if entry.acceleration > 0.0:
            raise refusal(
                f"{field} of joint '{entry.name}' limits the acceleration; only positions and "
                "velocities are measured"
            )
        k = numbers[entry.name]
        found[:, k] = [_resolved(v, d) for v, d in zip(given, defaults[:, k], strict=True)]
    return found


def _resolved(given: float, default: float) -> float:
    """Return a tolerance: 0 means the default, a negative number unlimited."""
    if given < 0.0:
        return math.inf
    return given or default


@dataclass(frozen=True, slots=True)
class GoalEnding:
    """The end of a goal.

    Attributes:
        how: method of the goal handle that ends the goal: succeed, abort or canceled.
        code: name of the result's error_code.
        why: text of the result's error_string.
        stop: whether the arm has to stop and hold.
    """

    how: str
    code: str
    why: str
    stop: bool = False


class GoalMonitor:
    """Watches one goal from its acceptance to its end.

    Args:
        number: number of its trajectory, see Progress.
        names: the controlled joints (n).
        tolerances: tolerances of the goal.
        trajectory: trajectory_msgs/JointTrajectory that the arm follows.
        now_ns: stamp of the newest state when the goal was accepted [ns].

    Attributes:
        number: number of its trajectory.
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
        """Return the time since the start of the trajectory [ns]."""
        return now.time - self._begin_ns

    def index(self, now: Progress) -> int:
        """Return the index of the next point; after the end: the index of the last point."""
        at = int(np.searchsorted(self._times, self.time_ns(now), side="right"))
        return min(at, len(self._times) - 1)

    def ending(self, now: Progress, is_cancelled: Callable[[], bool]) -> GoalEnding | None:
        """Return the end of the goal, or None while the goal is in progress."""
        cancelled = is_cancelled()
        replaced = now.number != self.number
        if replaced or now.failed:
            why = "another trajectory replaced this one" if replaced else now.failed
            return GoalEnding("canceled" if cancelled else "abort", "INVALID_GOAL", why)
        if cancelled:
            why = "the goal was cancelled; the arm holds"
            return GoalEnding("canceled", "SUCCESSFUL", why, stop=True)
        off = now.desired[:2] - now.actual
        first, self._first = self._first, False
        if not now.done or first:
            why = self._violation(off, self._tolerances.path, "path_tolerance")
            if why:
                return GoalEnding("abort", "PATH_TOLERANCE_VIOLATED", why, stop=True)
        return self._end(now, off) if now.done else None

    def _end(self, now: Progress, off: Array) -> GoalEnding | None:
        """Return the end of a goal whose trajectory has ended; None while it may still settle."""
        if (np.abs(now.desired[0, self._columns] - self._last) > SAME).any():
            return GoalEnding("abort", "INVALID_GOAL", "the trajectory was stopped on the way")
        if self._ended_ns is None:
            self._ended_ns = now.time
        why = self._violation(off, self._tolerances.goal, "goal_tolerance")
        if not why:
            return GoalEnding("succeed", "SUCCESSFUL", "the goal is reached")
        late = (now.time - self._ended_ns) / NANOSECONDS
        if late <= self._tolerances.goal_time:
            return None
        why += f", even {self._tolerances.goal_time:g} s after the last point"
        return GoalEnding("abort", "GOAL_TOLERANCE_VIOLATED", why, stop=True)

    def _violation(self, off: Array, allowed: Array, field: str) -> str:
        """Return a sentence about the first violated tolerance, or ""; NaN violates every one."""
        for row, k in np.argwhere(~(np.abs(off) <= allowed))[:1]:
            kind = ("position", "velocity")[row]
            error, most = apart(abs(off[row, k]), allowed[row, k], digits=4)
            return f"the {kind} of joint '{self._names[k]}' is off by {error}; {field} is {most}"
        return ""

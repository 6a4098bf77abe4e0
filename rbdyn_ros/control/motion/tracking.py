# SPDX-License-Identifier: Apache-2.0
"""Desired motion of the joints: at rest, or along a path."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.motion.handover import Departure, Piece, WayIn, sampled, until, way_into
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.jit import Matrix, Vector
from rbdyn_ros.errors import apart, counted, refusal

#: A path may exceed a velocity limit by the rounding error of its polynomials.
ROUNDING = 1.0 + 1e-6
#: A path may exceed a position limit by this rounding error [rad or m].
ON_LIMIT = 1e-9
#: Time in which a moving target is stopped, and the shortest time near a limit [s].
STOPPING, QUICKEST = 0.4, 0.05
#: A slower target stops at once [rad/s or m/s].
STANDING = 0.02


class PathTracker:
    """Moves a target along paths.

    Args:
        nv: degrees of freedom of the robot.
        dofs: (n,) degrees of freedom of the columns of a path.
        names: names of these joints.

    Attributes:
        target: desired motion of all joints.
        number: number of paths started so far.
        stops: number of stops of the target so far.
        idle: time since the last path ended [s]; infinite if there was none.
    """

    def __init__(self, nv: int, dofs: Ints, names: Sequence[str]) -> None:
        self.names = names
        self.target = Target(nv)
        self._motion: tuple[Piece, ...] = ()
        self._clock = 0.0
        self.number, self.stops, self.idle = 0, 0, math.inf
        self._dofs = np.array(dofs, np.int64)
        self._rows = np.zeros((3, len(dofs)))

    @property
    def rows(self) -> Array:
        """A copy of the target of the n joints, (3, n)."""
        return self.target.rows[:, self._dofs]

    @property
    def path(self) -> Path | None:
        """The path in progress, or None."""
        return self._motion[-1].path if self._motion else None

    def rest_at(self, qpos: Array) -> None:
        """Rest at a position (nv,) and drop the path in progress."""
        self._motion, self.idle = (), math.inf
        self.target.rest_at(qpos)

    def stop(self, low: Array, high: Array) -> None:
        """Decelerate the target from its present velocity to rest.

        Args:
            low: (n,) lower position limits, which the target does not leave.
            high: (n,) upper position limits.
        """
        place, velocity, _ = self.rows
        self._motion, self.idle = (), math.inf
        self.stops += 1
        limits = (np.ascontiguousarray(limit, np.float64) for limit in (low, high))
        time: float = _stopping_time.call(self.target.rows, self._dofs, *limits)
        self.target.rows[2] = 0.0
        if time == 0.0:
            self.target.rows[1] = 0.0
            return
        # a polynomial from this velocity to rest covers half of velocity times time
        still = np.zeros_like(velocity)
        places = np.stack([place, place + 0.5 * time * velocity])
        velocities = np.stack([velocity, still])
        path = Path([0.0, time], places, velocities, [still, still], 5)
        self._motion, self._clock = (Piece(path, 0.0, time),), 0.0

    def stop_from(self, qpos: Array, qvel: Array, low: Array, high: Array) -> None:
        """Decelerate from a state of the arm, (nv,) each; see stop."""
        self.rest_at(qpos)
        self.target.qvel[self._dofs] = qvel[self._dofs]
        self.stop(low, high)

    def departure(self, ahead: float = 0.0) -> Departure:
        """Return the target after `ahead` [s], or at the end of its motion if that is earlier."""
        if not self._motion:
            return Departure(self.rows, 0.0, self._clock, (), self.stops)
        at = min(self._clock + ahead, self._motion[-1].end)
        rows = sampled(self._motion, at, np.empty_like(self._rows))
        return Departure(rows, at - self._clock, at, self._motion, self.stops)

    def way_into(
        self, path: Path, fastest: Array, since: float | None = None, ahead: float = 0.0
    ) -> WayIn:
        """Return the transition into a path; the target departs in `ahead` seconds.

        Args:
            path: path of the n joints.
            fastest: (n,) velocity limits [rad/s or m/s].
            since: how long ago the time of the path began [s]; None: it begins at the departure.
            ahead: time until the departure [s].

        Raises:
            RbdynError: the path has other joints.
        """
        n, found = len(self.names), path.positions.shape[1]
        if found != n:
            text = f"the path has {counted(found, 'joint')}; the arm has {n} controlled"
            raise refusal(text, "path")
        departure = self.departure(ahead)
        at = 0.0 if since is None else since + departure.ahead
        return way_into(path, departure, at, fastest)

    def leads_to(self, departure: Departure) -> bool:
        """Return whether the target will reach a departure, which a stop before it prevents."""
        if departure.stops != self.stops:
            return False
        if self._motion:
            return self._motion is departure.motion and self._clock <= departure.at
        return bool(np.array_equal(self.rows, departure.rows))

    def follow(
        self, path: Path, limits: Limits, tolerance: float, way: WayIn | None = None
    ) -> None:
        """Follow a path; if its first point has a later time, move from the target to this point.

        Args:
            path: path of the n joints.
            limits: limits of positions and velocities. A target beyond a limit may come back.
            tolerance: largest distance of the path's start from the target [rad or m].
            way: transition into the path; None: it starts at the present target.

        Raises:
            RbdynError: for the reasons of way_into, or the path starts too far away or exceeds a
                limit.
        """
        way = way or self.way_into(path, limits.velocity)
        start = way.departure.rows[0]
        if path.times[0] > 0.0:
            self._check_velocity(way.approach, limits.velocity)
            self._check_positions(way.approach, start, limits, "the motion to the path")
        else:
            self._check_start(way.approach, tolerance)
        self._check_velocity(path, limits.velocity)
        self._check_positions(path, start, limits, "the path")
        at = way.departure.at if self._motion else self._clock
        before = until(self._motion, self._clock, at)
        self._motion, self.idle = before + way.pieces(path, at), math.inf
        self.number += 1

    def _check_start(self, jump: Path, tolerance: float) -> None:
        off = np.abs(jump.positions[1] - jump.positions[0])
        k = int(off.argmax())
        if not off[k] <= tolerance:
            found, most = apart(off[k], tolerance, digits=4)
            message = (
                f"the path starts with joint '{self.names[k]}' {found} from its target; "
                f"start_tolerance is {most}. Give the first point a later time, until which the "
                "arm moves there"
            )
            raise refusal(message, "path", self.names[k])

    def _check_velocity(self, path: Path, fastest: Array) -> None:
        peaks = path.peaks()[0]
        for k in np.flatnonzero(~(peaks <= fastest * ROUNDING))[:1]:
            found, most = apart(peaks[k], fastest[k])
            message = (
                f"joint '{self.names[k]}' would reach the velocity {found} on the path; its "
                f"velocity limit is {most}"
            )
            raise refusal(message, "path", self.names[k])

    def _check_positions(self, path: Path, start: Array, limits: Limits, where: str) -> None:
        lowest, highest = path.extent()
        below = lowest < np.minimum(limits.lower, start) - ON_LIMIT
        above = highest > np.maximum(limits.upper, start) + ON_LIMIT
        for k in np.flatnonzero(below | above)[:1].tolist():
            reached = lowest[k] if below[k] else highest[k]
            found, low, high = apart(reached, limits.lower[k], limits.upper[k])
            message = (
                f"joint '{self.names[k]}' would reach {found} on {where}; its limits are "
                f"{low} and {high}"
            )
            raise refusal(message, "path", self.names[k])

    def advance(self, dt: float) -> None:
        """Advance the target by dt [s]."""
        if not self._motion:
            self.idle += dt
            return
        self._clock += dt
        self.target.rows[:, self._dofs] = sampled(self._motion, self._clock, self._rows)
        if self._clock >= self._motion[-1].end:
            self._motion, self.idle = (), 0.0
            self.target.rows[1:] = 0.0


@kernel
def far_from_target(target: Vector, qpos: Vector, dofs: Ints, tolerance: float) -> int:
    """Return the index of the joint farthest from its target, or -1 within the tolerance."""
    worst, farthest = -1, tolerance
    for i in range(len(dofs)):
        off = abs(target[dofs[i]] - qpos[dofs[i]])
        if off > farthest:
            worst, farthest = i, off
    return worst


@kernel
def stopping_time(target: Matrix, dofs: Ints, low: Vector, high: Vector) -> float:
    """Return the time in which a target stops within its position limits [s]; 0 if it is slow."""
    stands, time = True, STOPPING
    for i in range(len(dofs)):
        q, v = target[0, dofs[i]], target[1, dofs[i]]
        speed = abs(v)
        stands = stands and speed <= STANDING
        left = high[i] - q if v > 0.0 else q - low[i]
        time = min(time, 2.0 * left / max(speed, STANDING))
    return 0.0 if stands else max(time, QUICKEST)


_stopping_time = Entry(stopping_time)

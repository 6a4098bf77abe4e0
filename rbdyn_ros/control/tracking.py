"""Desired motion of the joints: at rest, or along a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.kernels import entry
from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.target import Target
from rbdyn_ros.errors import refusal

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Vector

#: A path may exceed a velocity limit by the rounding error of its polynomials.
ROUNDING = 1.0 + 1e-6
#: Time in which a moving target is stopped, and the shortest such time, near a limit [s].
STOPPING, QUICKEST = 0.4, 0.05
#: Time that is written for a jump of the target [s].
JUMP = 1e-3
#: A slower target stops at once [rad/s or m/s].
STANDING = 0.02


class PathTracker:
    """Moves a target along paths.

    Args:
        nv: degrees of freedom of the robot.
        dofs: (n,) degrees of freedom that the columns of paths belong to.
        names: names of these joints.

    Attributes:
        target: desired motion of all joints.
        path: the path in progress, or None.
        number: number of paths started so far.
        time: present time on the path [s].
        idle: time since the last path ended [s]; infinite if there was none.
    """

    def __init__(self, nv: int, dofs: Ints, names: Sequence[str]) -> None:
        self.names = names
        self.target = Target(nv)
        self.path: Path | None = None
        self._approach: Path | None = None
        self.number, self.time, self.idle = 0, 0.0, math.inf
        self._dofs = np.array(dofs, np.int64)
        self._rows = np.zeros((3, len(dofs)))

    @property
    def rows(self) -> Array:
        """A copy of the target of the n joints, (3, n)."""
        return self.target.rows[:, self._dofs]

    def rest_at(self, qpos: Array) -> None:
        """Rest at a position (nv,) and drop the path in progress."""
        self.path, self.idle = None, math.inf
        self.target.rest_at(qpos)

    def straying(self, qpos: Array, tolerance: float) -> int:
        """Return the joint farthest from its target, or -1 if no distance exceeds a tolerance.

        Args:
            qpos: (nv,) position, an own array.
            tolerance: [rad or m].
        """
        k: int = _straying.call(self.target.qpos, qpos, self._dofs, tolerance)
        return k

    def stop(self, low: Array, high: Array) -> None:
        """Decelerate the target from its present velocity to rest.

        Args:
            low: (n,) lower position limits, which the target does not leave.
            high: (n,) upper position limits.
        """
        place, velocity, _ = self.rows
        self.path, self.idle = None, math.inf
        speed = np.abs(velocity)
        self.target.rows[2] = 0.0
        if (speed <= STANDING).all():
            self.target.rows[1] = 0.0
            return
        # a polynomial from this velocity to rest covers half of velocity times time
        left = np.where(velocity > 0.0, high - place, place - low)
        time = float(np.clip((2.0 * left / np.maximum(speed, STANDING)).min(), QUICKEST, STOPPING))
        still = np.zeros_like(velocity)
        places = np.stack([place, place + 0.5 * time * velocity])
        velocities = np.stack([velocity, still])
        self.path, self.time = Path([0.0, time], places, velocities, [still, still], 5), 0.0
        self._approach = None

    def stop_from(self, qpos: Array, qvel: Array, low: Array, high: Array) -> None:
        """Decelerate from a state of the arm, (nv,) each; see stop."""
        self.rest_at(qpos)
        self.target.qvel[self._dofs] = qvel[self._dofs]
        self.stop(low, high)

    def follow(self, path: Path, fastest: Array, tolerance: float, since: float = 0.0) -> None:
        """Follow a path. If it starts later, move there from the present target.

        Args:
            path: path of the n joints.
            fastest: (n,) velocity limits.
            tolerance: largest distance of its start from the target [rad or m].
            since: how long ago the time of the path began [s].

        Raises:
            RbdynError: the path has other joints, starts too far away or exceeds a velocity limit.
        """
        n = len(self.names)
        if path.positions.shape[1] != n:
            found = path.positions.shape[1]
            raise refusal(f"the path has {found} joints; {n} are controlled", "path")
        approach = None
        if path.times[0] > 0.0:
            approach = approach_to(path, self.rows)
        else:
            self._check_start(path, tolerance)
        self._check_velocity(path, fastest)
        if approach is not None:
            self._check_velocity(approach, fastest)
        self.path, self._approach = path, approach
        self.time, self.idle = since, math.inf
        self.number += 1

    def _check_start(self, path: Path, tolerance: float) -> None:
        off = np.abs(path.sample(0.0, np.empty_like(self._rows))[0] - self.rows[0])
        k = int(off.argmax())
        if not off[k] <= tolerance:
            message = (
                f"the path starts with joint '{self.names[k]}' {off[k]:.4g} from its target; "
                f"start_tolerance is {tolerance:g}"
            )
            raise refusal(message, "path", self.names[k])

    def _check_velocity(self, path: Path, fastest: Array) -> None:
        peaks = path.peaks()[0]
        for k in np.flatnonzero(~(peaks <= fastest * ROUNDING))[:1]:
            message = (
                f"joint '{self.names[k]}' would reach {peaks[k]:.6g} on the path; its velocity "
                f"limit is {fastest[k]:.6g}"
            )
            raise refusal(message, "path", self.names[k])

    def advance(self, dt: float) -> None:
        """Advance the target by dt [s]."""
        if self.path is None:
            self.idle += dt
            return
        self.time += dt
        part = self.path
        if self._approach is not None and self.time < self.path.times[0]:
            part = self._approach
        part.sample(self.time, self._rows)
        self.target.rows[:, self._dofs] = self._rows
        if self.time >= self.path.times[-1]:
            self.path, self.idle = None, 0.0
            self.target.rows[1:] = 0.0


def approach_to(path: Path, rows: Array) -> Path:
    """Return the path from a target (3, n) at time 0 to the first point of another path.

    If that point is at time 0, the target jumps there; the way is then a straight line.
    """
    place, velocity, acceleration = rows
    if not path.times[0] > 0.0:
        return Path([0.0, JUMP], np.stack([place, path.positions[0]]))
    return Path(
        [0.0, path.times[0]],
        np.stack([place, path.positions[0]]),
        np.stack([velocity, path.velocities[0]]),
        np.stack([acceleration, path.accelerations[0]]),
        path.order,
    )


@entry
def _straying(target: Vector, qpos: Vector, dofs: Ints, tolerance: float) -> int:
    worst, farthest = -1, tolerance
    for i in range(len(dofs)):
        off = abs(target[dofs[i]] - qpos[dofs[i]])
        if off > farthest:
            worst, farthest = i, off
    return worst

"""Where the joints should be now: at rest, or on a path in progress."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.target import Target
from rbdyn_ros.errors import RbdynError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: A path may be faster than its limit by what its polynomials are rounded by.
ROUNDING = 1.0 + 1e-6


class Following:
    """Moves a target along paths.

    Args:
        nv: degrees of freedom of the robot.
        dofs: (n,) those of the columns of paths.
        names: of these joints.

    Attributes:
        target: of all joints.
        path: in progress, or None.
        number: of paths begun so far.
        time: on the path [s].
        idle: since the last path ended [s]; infinite if there was none.
    """

    def __init__(self, nv: int, dofs: Indices, names: Sequence[str]) -> None:
        self.names = names
        self.target = Target(nv)
        self.path: Path | None = None
        self.number, self.time, self.idle = 0, 0.0, math.inf
        self._dofs = dofs
        self._rows = np.zeros((3, len(dofs)))

    @property
    def rows(self) -> Array:
        """The target of the columns of paths (3, n), a copy."""
        return self.target.rows[:, self._dofs]

    def rest_at(self, qpos: Array) -> None:
        """Stay at a position (nv,), and forget what was in progress."""
        self.path, self.idle = None, math.inf
        self.target.rest_at(qpos)

    def stop(self) -> None:
        """Stay where the target is."""
        self.path = None
        self.target.rows[1:] = 0.0

    def follow(self, path: Path, fastest: Array, tolerance: float) -> str:
        """Follow a path from now on; one that starts later begins where the target is.

        Args:
            path: of the n joints.
            fastest: (n,) their velocity limits.
            tolerance: how far from the target it may be now.

        Returns:
            Why it is refused, or nothing.
        """
        n = len(self.names)
        if path.positions.shape[1] != n:
            return f"the path is of {path.positions.shape[1]} joints; {n} are controlled"
        if path.times[0] > 0.0:
            try:
                path = _from_here(path, self.rows)
            except RbdynError as error:
                return str(error)
        why = self._too_far(path, tolerance) or self._too_fast(path, fastest)
        if not why:
            self.path = path
            self.time, self.idle = 0.0, math.inf
            self.number += 1
        return why

    def _too_far(self, path: Path, tolerance: float) -> str:
        off = np.abs(path.sample(0.0, np.empty_like(self._rows))[0] - self.rows[0])
        k = int(off.argmax())
        if off[k] <= tolerance:
            return ""
        return (
            f"it starts with joint '{self.names[k]}' {off[k]:.4g} from where it should be; "
            f"start_tolerance is {tolerance:g}"
        )

    def _too_fast(self, path: Path, fastest: Array) -> str:
        """Judge also the way to the first point, from where the target is."""
        peaks = path.peaks()[0]
        for k in np.flatnonzero(~(peaks <= fastest * ROUNDING))[:1]:
            return (
                f"joint '{self.names[k]}' would reach {peaks[k]:.6g} on the way; its velocity "
                f"limit is {fastest[k]:.6g}"
            )
        return ""

    def advance(self, dt: float) -> None:
        """Let time go on by dt [s]."""
        if self.path is None:
            self.idle += dt
            return
        self.time += dt
        self.path.sample(self.time, self._rows)
        self.target.rows[:, self._dofs] = self._rows
        if self.time >= self.path.times[-1]:
            self.idle = 0.0
            self.stop()


def _from_here(path: Path, rows: Array) -> Path:
    """Return the path with a first point at time 0: (3, n) position, velocity, acceleration."""
    place, velocity, acceleration = rows
    return Path(
        np.concatenate([[0.0], path.times]),
        np.vstack([place, path.positions]),
        np.vstack([velocity, path.velocities]),
        np.vstack([acceleration, path.accelerations]),
        path.order,
    )

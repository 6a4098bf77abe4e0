"""Where the joints should be now: at rest, or on a path in progress."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.target import Target
from rbdyn_ros.errors import RbdynError

#: A path may be faster than its limit by what its polynomials are rounded by.
ROUNDING = 1.0 + 1e-6
#: In which a target that moves comes to rest when it is stopped, and at least, near a limit [s].
RUN_OUT, QUICKEST = 0.4, 0.05
#: What does not move faster stops at once [rad/s or m/s].
STANDING = 0.02


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

    def __init__(self, nv: int, dofs: Ints, names: Sequence[str]) -> None:
        self.names = names
        self.target = Target(nv)
        self.path: Path | None = None
        self._approach: Path | None = None
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

    def stop(self, low: Array, high: Array) -> None:
        """Slow down from where the target is, as fast as it moves there, and stay.

        Args:
            low: (n,) positions that are not left.
            high: likewise.
        """
        place, velocity, _ = self.rows
        self.path, self.idle = None, math.inf
        speed = np.abs(velocity)
        self.target.rows[2] = 0.0
        if (speed <= STANDING).all():
            self.target.rows[1] = 0.0
            return
        # slowing down without acceleration at the ends goes on for half the time at this speed
        left = np.where(velocity > 0.0, high - place, place - low)
        time = float(np.clip((2.0 * left / np.maximum(speed, STANDING)).min(), QUICKEST, RUN_OUT))
        still = np.zeros_like(velocity)
        places = np.stack([place, place + 0.5 * time * velocity])
        velocities = np.stack([velocity, still])
        self.path, self.time = Path([0.0, time], places, velocities, [still, still], 5), 0.0
        self._approach = None

    def run_out(self, qpos: Array, qvel: Array, low: Array, high: Array) -> None:
        """Slow down from a state of the arm, (nv,) each; see stop."""
        self.rest_at(qpos)
        self.target.qvel[self._dofs] = qvel[self._dofs]
        self.stop(low, high)

    def follow(self, path: Path, fastest: Array, tolerance: float, since: float = 0.0) -> str:
        """Follow a path from now on; one that starts later begins where the target is.

        Args:
            path: of the n joints.
            fastest: (n,) their velocity limits.
            tolerance: how far from the target it may be now.
            since: how long ago its time began [s].

        Returns:
            Why it is refused, or nothing.
        """
        n = len(self.names)
        if path.positions.shape[1] != n:
            return f"the path is of {path.positions.shape[1]} joints; {n} are controlled"
        try:
            approach = _approach(path, self.rows) if path.times[0] > 0.0 else None
        except RbdynError as error:
            return str(error)
        why = self._too_far(path, tolerance) if approach is None else ""
        for part in (path, approach):
            why = why or (self._too_fast(part, fastest) if part is not None else "")
        if not why:
            self.path, self._approach = path, approach
            self.time, self.idle = since, math.inf
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
        part = self.path
        if self._approach is not None and self.time < self.path.times[0]:
            part = self._approach
        part.sample(self.time, self._rows)
        self.target.rows[:, self._dofs] = self._rows
        if self.time >= self.path.times[-1]:
            self.path, self.idle = None, 0.0
            self.target.rows[1:] = 0.0


def _approach(path: Path, rows: Array) -> Path:
    """Return the way from a target (3, n), at time 0, to the first point of a path."""
    place, velocity, acceleration = rows
    return Path(
        [0.0, path.times[0]],
        np.stack([place, path.positions[0]]),
        np.stack([velocity, path.velocities[0]]),
        np.stack([acceleration, path.accelerations[0]]),
        path.order,
    )

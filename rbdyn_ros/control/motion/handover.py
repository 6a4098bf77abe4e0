# SPDX-License-Identifier: Apache-2.0
"""Transitions of a target from its present motion to a new path.

The target does not wait while the transition to a path is checked. So it leaves its motion at a
later time, from a state that is already known: the arm then follows exactly the checked path.
"""

from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.control.motion.paths import Path

#: Duration of the path that replaces a jump of the target [s].
JUMP = 1e-3


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a motion.

    Attributes:
        path: path of which it is a part.
        shift: time on the clock of the motion at which the time of the path is 0 [s].
        end: time on the clock of the motion at which the part ends [s].
    """

    path: Path
    shift: float
    end: float


@dataclass(frozen=True, slots=True)
class Departure:
    """A moment at which a target may leave its motion.

    Attributes:
        rows: (3, n) target at that moment.
        ahead: time until then [s].
        at: time of that moment on the clock of the motion [s].
        motion: pieces of the motion that leads there; empty: the target rests.
        stops: number of stops of the target so far; a later stop prevents the departure.
    """

    rows: Array
    ahead: float
    at: float
    motion: tuple[Piece, ...]
    stops: int


@dataclass(frozen=True, slots=True)
class WayIn:
    """The transition of a target into a path.

    Attributes:
        departure: start of the transition.
        since: time of the path at the departure [s].
        approach: the motion to the first point; a jump if the path begins at time 0.
    """

    departure: Departure
    since: float
    approach: Path

    def pieces(self, path: Path, at: float) -> tuple[Piece, ...]:
        """Return the motion to the end of the path, for a departure at time `at` of the clock."""
        shift, first, last = at - self.since, float(path.times[0]), float(path.times[-1])
        whole = Piece(path, shift, shift + last)
        return (Piece(self.approach, shift, shift + first), whole) if first > 0.0 else (whole,)


def until(motion: tuple[Piece, ...], now: float, at: float) -> tuple[Piece, ...]:
    """Return the pieces of a motion from the time `now` to the time `at` of its clock."""
    kept = []
    for piece in motion:
        if now < min(piece.end, at):
            kept.append(replace(piece, end=min(piece.end, at)))
        if piece.end >= at:
            break
    return tuple(kept)


def sampled(motion: tuple[Piece, ...], clock: float, rows: Array) -> Array:
    """Write the target (3, n) of a motion at a time of its clock to `rows`; return it."""
    for piece in motion:
        if clock < piece.end:
            return piece.path.sample(clock - piece.shift, rows)
    path = motion[-1].path
    return path.sample(float(path.times[-1]), rows)


def way_into(path: Path, departure: Departure, since: float, fastest: Array) -> WayIn:
    """Return the transition into a path whose time began `since` seconds before the departure.

    The target makes up for that time, but for at most LONGEST, and for at most half of the time to
    the first point. It does not if a joint would then exceed its velocity limit on the way there.

    Args:
        path: path of n joints.
        departure: start of the transition.
        since: time of the path at the departure [s].
        fastest: (n,) velocity limits [rad/s or m/s].
    """
    since, first = min(max(since, 0.0), LONGEST), float(path.times[0])
    if not first > 0.0:
        goal = path.sample(since, np.empty(departure.rows.shape))[0]
        return WayIn(departure, since, Path([0.0, JUMP], np.stack([departure.rows[0], goal])))
    since = min(since, 0.5 * first)
    approach = approach_to(path, departure.rows, since)
    if since > 0.0 and not (approach.peaks()[0] <= fastest).all():
        since, approach = 0.0, approach_to(path, departure.rows)
    return WayIn(departure, since, approach)


def approach_to(path: Path, rows: Array, since: float = 0.0) -> Path:
    """Return the motion from a target `rows` (3, n) at time `since` to a path's first point."""
    place, velocity, acceleration = rows
    return Path(
        [since, path.times[0]],
        np.stack([place, path.positions[0]]),
        np.stack([velocity, path.velocities[0]]),
        np.stack([acceleration, path.accelerations[0]]),
        path.order,
    )

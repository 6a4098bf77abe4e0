# SPDX-License-Identifier: Apache-2.0
"""Motion of a pose in time: straight lines and uniform rotations, joined by blends or stops.

Each segment from one pose to the next has a share s(t) from 0 to 1, whose rate rises smoothly,
stays, and falls. Where poses are blended, a segment begins while the segment before it ends, and
the shares add up.
"""

from dataclasses import dataclass, fields

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import bad_argument

#: Shorter distances between two poses count as zero [m or rad].
NOTHING = 1e-9
#: Smallest and largest allowed limits.
SLOWEST, FASTEST = 1e-6, 1e6
#: Largest acceleration of a ramp, divided by its mean acceleration.
STEEPEST = 1.5


@dataclass(frozen=True, slots=True)
class CartesianLimits:
    """Limits of a motion of a pose.

    Attributes:
        speed: speed of the origin [m/s].
        rotation_speed: angular speed [rad/s].
        acceleration: acceleration of the origin [m/s^2].
        rotation_acceleration: [rad/s^2]. Blends between rotations about different axes may exceed
            it by a quarter of the squared rotation_speed.
        blend: distance from a pose within which the origin may leave the straight lines to pass
            without a stop; 0: stop at every pose [m].

    Raises:
        ParameterError: a number is not from SLOWEST to FASTEST; `blend` may be 0.
    """

    speed: float = 0.1
    rotation_speed: float = 0.5
    acceleration: float = 0.5
    rotation_acceleration: float = 2.0
    blend: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            low = 0.0 if field.name == "blend" else SLOWEST
            finite(field.name, getattr(self, field.name), low=low, high=FASTEST)


@dataclass(slots=True)
class _Segment:
    """The motion from one pose to the next.

    Attributes:
        number: number of the pose that it leads to.
        way: (3,) translation of the origin [m].
        turn: (3,) rotation vector in the axes of the pose before [rad].
        axis: (3,) the rotation vector in the axes of the world [rad].
        rate: largest rate of the share [1/s].
        ramp: time in which the rate rises, and falls [s].
        start: time at which the motion to the pose begins [s].
    """

    number: int
    way: Array
    turn: Array
    axis: Array
    rate: float = 0.0
    ramp: float = 0.0
    start: float = 0.0

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.way))

    @property
    def angle(self) -> float:
        return float(np.linalg.norm(self.turn))

    @property
    def duration(self) -> float:
        return 1.0 / self.rate + self.ramp

    def share(self, times: Array) -> Array:
        """Return the share of the motion at times (n,) [s]."""
        t = np.clip(times - self.start, 0.0, self.duration)
        early, late = self._risen(t), 1.0 - self._risen(self.duration - t)
        return np.where(t <= 0.5 * self.duration, early, late)

    def _risen(self, t: Array) -> Array:
        x = np.minimum(t / self.ramp, 1.0)
        return self.rate * (self.ramp * _ramp(x) + np.maximum(t - self.ramp, 0.0))


class CartesianMotion:
    """The motion of a pose along a list of poses, from rest to rest.

    Args:
        start: (12,) position and rotation matrix, row by row, where it begins.
        targets: (n, 12) the poses to pass.
        limits: limits of the motion.

    Attributes:
        duration: duration of the motion [s].

    Raises:
        ParameterError: all poses are where the motion begins.
    """

    def __init__(self, start: Array, targets: Array, limits: CartesianLimits) -> None:
        from scipy.spatial.transform import Rotation  # this import is slow

        self._place, self._rotation = start[:3], Rotation.from_matrix(start[3:].reshape(3, 3))
        self._segments = _segments(start, targets)
        for segment in self._segments:
            _set_rate(segment, limits)
        for before, after in zip(self._segments[:-1], self._segments[1:], strict=True):
            share = _gentle(before, after)
            overlaps = (_overlap(segment, limits.blend, share) for segment in (before, after))
            after.start = before.start + before.duration - min(overlaps)
        last = self._segments[-1]
        self.duration = last.start + last.duration

    def poses(self, times: Array) -> tuple[Array, Array]:
        """Return positions (n, 3) [m] and rotation matrices (n, 3, 3) at times (n,) [s]."""
        from scipy.spatial.transform import Rotation

        places, rotation = np.tile(self._place, (len(times), 1)), self._rotation
        for segment in self._segments:
            share = segment.share(times)[:, None]
            places += share * segment.way
            rotation = rotation * Rotation.from_rotvec(share * segment.turn)
        turns: Array = rotation.as_matrix()
        return places, turns

    def where(self, time: float) -> str:
        """Return a description of the part of the motion at a time, for a message."""
        begun = [s for s in self._segments if s.start <= time]
        segment = (begun or self._segments[:1])[-1]
        share = segment.share(np.array([time]))[0]
        return f"{share:.0%} of the motion to pose {segment.number}"


def _ramp(x: Array) -> Array:
    """Return the integral from 0 to x of the smooth step 3 x^2 - 2 x^3."""
    return x**3 - 0.5 * x**4


def _segments(start: Array, targets: Array) -> list[_Segment]:
    """Return the segments between poses that differ; raise ParameterError if no pose differs."""
    from scipy.spatial.transform import Rotation

    found, place, rotation = [], start[:3], Rotation.from_matrix(start[3:].reshape(3, 3))
    for number, target in enumerate(targets):
        goal = Rotation.from_matrix(target[3:].reshape(3, 3))
        way, turn = target[:3] - place, (rotation.inv() * goal).as_rotvec()
        if max(np.linalg.norm(way), np.linalg.norm(turn)) > NOTHING:
            found.append(_Segment(number, way, turn, rotation.apply(turn)))
            place, rotation = target[:3], goal
    if not found:
        raise bad_argument("positions", "the frame is already at all poses of the path")
    return found


def _set_rate(segment: _Segment, limits: CartesianLimits) -> None:
    length, angle = segment.length, segment.angle
    with np.errstate(divide="ignore"):
        rate = min(np.divide(limits.speed, length), np.divide(limits.rotation_speed, angle))
        acceleration = min(
            np.divide(limits.acceleration, length), np.divide(limits.rotation_acceleration, angle)
        )
    mean = float(acceleration) / STEEPEST
    segment.rate = min(float(rate), float(np.sqrt(mean)))
    segment.ramp = segment.rate / mean


def _gentle(before: _Segment, after: _Segment) -> float:
    """Return the largest share of two ramps that may overlap without a larger acceleration.

    Two equal ramps in the directions u and w have the acceleration 6 y (1 - y) at the share y.
    Their blend accelerates most in its middle, |u - w| times as much as each. This acceleration
    must not exceed 3/2.
    """
    change = max(_change(before.way, after.way), _change(before.axis, after.axis))
    return 1.0 - float(np.sqrt(1.0 - 1.0 / change))


def _change(before: Array, after: Array) -> float:
    """Return the distance between the directions of two vectors, but at least 1."""
    sizes = np.linalg.norm(before), np.linalg.norm(after)
    if min(sizes) <= NOTHING:
        return 1.0
    return max(1.0, float(np.linalg.norm(after / sizes[1] - before / sizes[0])))


def _overlap(segment: _Segment, blend: float, share: float) -> float:
    """Return the longest overlap [s] of a segment with another segment within a blend [m].

    The overlap is at most `share` of a ramp.

    In the fraction x of a ramp the frame moves less than x^3 times rate times ramp times length.
    """
    reach = segment.rate * segment.ramp * segment.length
    near = np.cbrt(blend / reach) if reach > 0.0 else float(blend > 0.0)
    return segment.ramp * min(share, float(near))

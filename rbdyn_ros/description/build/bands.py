"""What a band round equal disks is long, seen from their centres."""

from __future__ import annotations

import math

from rbdyn_ros.description.arguments import number
from rbdyn_ros.errors import not_allowed


def centre_line(length: float, radius: float, closed: bool) -> float:
    """Return the length of the line through the centres of the disks that a band goes round.

    A closed band that touches disks of one radius from outside runs parallel to the line through
    their centres and turns once about them all: that is one circumference more (RBDA fig 3.2c).

    Args:
        length: of the band [m].
        radius: of the disks [m]; 0 for points.
        closed: the band has no ends.

    Raises:
        ParameterError: there can be no such band.
    """
    if number("the radius", radius) < 0.0:
        raise not_allowed("the radius", radius, "a number that is not negative")
    if radius > 0.0 and not closed:
        raise not_allowed("the radius", radius, "0, for a band with ends does not go round disks")
    around = 2.0 * math.pi * radius
    if radius > 0.0 and length <= around:
        raise not_allowed("the length", length, f"more than once round a disk, {around:.6g}")
    return length - around

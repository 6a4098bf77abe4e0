# SPDX-License-Identifier: Apache-2.0
"""Lights of an SDF or an MJCF: their places, and their brightness at a distance."""

import math
from dataclasses import dataclass

from rbdyn_ros.description.parts.poses import Vec3

#: Largest number of lights that are drawn.
MOST_LIGHTS = 8
#: Largest component of a colour, largest divisor of the brightness, and largest coordinate [m].
BRIGHTEST, DARKEST, FARTHEST = 100.0, 1e12, 1e6
DIRECTIONAL, POINT, SPOT = KINDS = ("directional", "point", "spot")


@dataclass(frozen=True, slots=True)
class LinkLight:
    """A light of a link, or of the world.

    Attributes:
        kind: one of KINDS.
        link: name of the link.
        pos: position in the link [m].
        direction: unit vector in the link along which it shines; unused for a point light.
        color: red, green and blue with its intensity, 0 or more.
        range: distance beyond which there is no light [m]; infinite: no limit.
        attenuation: a, b, c: at the distance r its light is divided by a + b r + c r^2.
        angles: half angles of a spot [rad]: fully lit inside the first, dark outside the second.
        shadows: whether it casts shadows.
    """

    kind: str
    link: str
    pos: Vec3
    direction: Vec3
    color: Vec3
    range: float = math.inf
    attenuation: Vec3 = (1.0, 0.0, 0.0)
    angles: tuple[float, float] = (0.0, math.pi)
    shadows: bool = False

    def brightness(self, distance: float) -> float:
        """Return the share of its light that arrives at a distance [m]."""
        a, b, c = self.attenuation
        divisor = min(max(a + b * distance + c * distance**2, 1.0), DARKEST)
        return 1.0 / divisor


def unit(direction: Vec3) -> Vec3:
    """Return a direction with length 1, or downwards if its length is 0 or not finite."""
    length = math.hypot(*direction)
    if not length > 0.0 or not math.isfinite(length):
        return (0.0, 0.0, -1.0)
    x, y, z = direction
    return (x / length, y / length, z / length)


def clipped(color: tuple[float, ...], intensity: float = 1.0) -> Vec3:
    """Return a colour times an intensity, clipped to finite values of 0 or more."""
    strength = min(max(intensity, 0.0), BRIGHTEST)
    red, green, blue = (min(max(x * strength, 0.0), BRIGHTEST) for x in color[:3])
    return red, green, blue

# SPDX-License-Identifier: Apache-2.0
"""Latitude, longitude and height above the ellipsoid WGS 84 of points in a local frame.

The frame is ENU: x east, y north, z up at the reference, as REP 103 has it.
"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array

#: The ellipsoid WGS 84: equatorial radius [m], and the square of its eccentricity.
RADIUS, FLATTENING = 6378137.0, 1.0 / 298.257223563
ECCENTRICITY2 = FLATTENING * (2.0 - FLATTENING)


def earth_point(latitude: float, longitude: float, height: float) -> Array:
    """Return a point in the axes of the earth (ECEF) (3,) [m]; latitude, longitude in degrees."""
    up = earth_axes(latitude, longitude)[:, 2]
    normal = RADIUS / math.sqrt(1.0 - ECCENTRICITY2 * up[2] ** 2)
    shrunk = np.array([1.0, 1.0, 1.0 - ECCENTRICITY2])
    point: Array = (normal * shrunk + height) * up
    return point


def earth_axes(latitude: float, longitude: float) -> Array:
    """Return the axes east, north and up in the axes of the earth, as columns (3, 3)."""
    a, b = math.radians(latitude), math.radians(longitude)
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    return np.array([[-sb, -sa * cb, ca * cb], [cb, -sa * sb, ca * sb], [0.0, ca, sa]])


def geodetic(point: Array) -> Array:
    """Return latitude, longitude [degree] and height [m] (3,) of a point of the earth (3,) [m].

    Source: Vermeille, Direct transformation from geocentric coordinates to geodetic coordinates,
    2002. It is exact outside a ball of 50 km about the centre of the earth.
    """
    x, y, z = point.tolist()
    e2, flat = ECCENTRICITY2, math.hypot(x, y)
    p, q = (flat / RADIUS) ** 2, (1.0 - e2) * (z / RADIUS) ** 2
    r = (p + q - e2**2) / 6.0
    s = e2**2 * p * q / (4.0 * r**3)
    t = float(np.cbrt(1.0 + s + math.sqrt(s * (2.0 + s))))
    u = r * (1.0 + t + 1.0 / t)
    v = math.sqrt(u**2 + e2**2 * q)
    w = e2 * (u + v - q) / (2.0 * v)
    k = math.sqrt(u + v + w**2) - w
    near = k * flat / (k + e2)
    size = math.hypot(near, z)
    height = (k + e2 - 1.0) / k * size
    angles = 2.0 * math.atan2(z, near + size), math.atan2(y, x)
    return np.array([*map(math.degrees, angles), height])


def geodetic_of_enu(reference: tuple[float, float, float], place: Array) -> Array:
    """Return latitude, longitude [degree] and height [m] (3,) of a place (3,) in ENU [m].

    Args:
        reference: the same of the origin of ENU.
        place: east, north and up of it [m].
    """
    axes = earth_axes(*reference[:2])
    return geodetic(earth_point(*reference) + axes @ place)

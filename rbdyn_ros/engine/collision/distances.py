# SPDX-License-Identifier: Apache-2.0
"""Signed distances from points to simple solids, and the direction that leads away from a solid.

A distance is negative inside. Sizes of solids are as in MuJoCo's geom_size: radius and half
length, or half edges. A solid has its centre at the origin and its axis along z.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot3, scaled3
from rbdyn_ros.engine.collision.kinds import CAPSULE, CYLINDER, PLANE, SPHERE
from rbdyn_ros.engine.compiler.jit import inline, kernel

UP = (0.0, 0.0, 1.0)
# the direction if x is on the axis of a capsule or at the centre of a sphere
ASIDE = (1.0, 0.0, 0.0)


@kernel
def distance(kind, size, x):
    """Return the distance from x to a solid, and the unit vector that leads away from it."""
    if kind == PLANE:
        return x[2], UP
    if kind == SPHERE:
        return _from_point(x, size[0])
    if kind == CAPSULE:
        on_axis = min(max(x[2], -size[1]), size[1])
        return _from_point((x[0], x[1], x[2] - on_axis), size[0])
    if kind == CYLINDER:
        return _from_cylinder(x, size[0], size[1])
    return _from_box(x, size)


@inline
def _from_point(x, radius):
    length = np.sqrt(dot3(x, x))
    if length == 0.0:
        return -radius, ASIDE
    return length - radius, scaled3(x, 1.0 / length)


@kernel
def _from_cylinder(x, radius, half):
    across = np.sqrt(x[0] * x[0] + x[1] * x[1])
    out = (x[0] / across, x[1] / across, 0.0) if across > 0.0 else ASIDE
    along = (0.0, 0.0, -1.0 if x[2] < 0.0 else 1.0)
    beside, beyond = across - radius, abs(x[2]) - half
    if beside > 0.0 and beyond > 0.0:
        far = np.sqrt(beside * beside + beyond * beyond)
        return far, (out[0] * beside / far, out[1] * beside / far, along[2] * beyond / far)
    if beside > beyond:
        return beside, out
    return beyond, along


@kernel
def _from_box(x, half):
    # signed distances from the faces; inside the box only the largest counts
    a, b, c = abs(x[0]) - half[0], abs(x[1]) - half[1], abs(x[2]) - half[2]
    sa, sb, sc = np.copysign(1.0, x[0]), np.copysign(1.0, x[1]), np.copysign(1.0, x[2])
    deepest = max(a, b, c)
    if deepest > 0.0:
        p, q, r = max(a, 0.0), max(b, 0.0), max(c, 0.0)
        far = np.sqrt(p * p + q * q + r * r)
        return far, (sa * p / far, sb * q / far, sc * r / far)
    if deepest == a:
        return a, (sa, 0.0, 0.0)
    if deepest == b:
        return b, (0.0, sb, 0.0)
    return c, (0.0, 0.0, sc)

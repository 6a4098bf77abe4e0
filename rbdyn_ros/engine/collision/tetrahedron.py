# SPDX-License-Identifier: Apache-2.0
"""The tetrahedron with which a polytope starts: four points of A - B that are not in a plane."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, cross3, dot3, load3, scaled3, sub3
from rbdyn_ros.engine.collision.simplex import put
from rbdyn_ros.engine.collision.smooth_step import tangents
from rbdyn_ros.engine.collision.support import farthest
from rbdyn_ros.engine.compiler.jit import kernel

#: Around a direction v of known depth, the search directions are STEEP v plus a tangent AROUND.
STEEP = 2.0
AROUND = ((1.0, 0.0), (-0.5, 0.866), (-0.5, -0.866))

#: If the sine of the angle between the fourth corner and the plane of the first three is smaller,
#: the tetrahedron is flat.
FLAT_SINE = 1e-6


@kernel
def points_around(m, a, b, R, t, v, S, names):
    """Write the farthest points along three directions around v, and along -v, as a simplex.

    Return the number of points: 4, or 1 if the four points are in a plane.
    """
    e, f = tangents(v)
    for k in range(4):
        along = scaled3(v, -1.0)
        if k < 3:
            side = add3(scaled3(e, AROUND[k][0]), scaled3(f, AROUND[k][1]))
            along = add3(scaled3(v, STEEP), side)
        w, x, y, i, j = farthest(m, a, b, R, t, along, 0, 0)
        put(S, names, k, w, x, y, i, j)
    first, last = load3(S, 0), sub3(load3(S, 3), load3(S, 0))
    normal = cross3(sub3(load3(S, 1), first), sub3(load3(S, 2), first))
    height = dot3(normal, last)
    solid = height * height > FLAT_SINE * FLAT_SINE * dot3(normal, normal) * dot3(last, last)
    return 4 if solid else 1


@kernel
def filled(m, a, b, R, t, S, names, n, thin):
    """Add points to a simplex until it is a tetrahedron, but none nearer than `thin` to its span.

    Return its number of points, and its normal if it stays flat.
    """
    normal = (0.0, 0.0, 1.0)
    while n < 4:
        grown = False
        for k in range(6):
            v = _outwards(S, n, k)
            length = np.sqrt(dot3(v, v))
            if length > 0.0 and not grown:
                v = scaled3(v, 1.0 / length)
                normal = v
                w, x, y, i, j = farthest(m, a, b, R, t, v, 0, 0)
                if dot3(sub3(w, load3(S, 0)), v) > thin:
                    put(S, names, n, w, x, y, i, j)
                    n += 1
                    grown = True
        if not grown:
            return n, normal
    return n, normal


@kernel
def _outwards(S, n, k):
    """Return the k-th direction that leads out of the space spanned by n points of a simplex."""
    sign = 1.0 if k % 2 == 0 else -1.0
    which = k // 2
    if n == 1:
        return (
            sign if which == 0 else 0.0,
            sign if which == 1 else 0.0,
            sign if which == 2 else 0.0,
        )
    along = sub3(load3(S, 1), load3(S, 0))
    if n == 2:
        # the coordinate axis most perpendicular to the segment, and two more directions around it
        x, y, z = abs(along[0]), abs(along[1]), abs(along[2])
        axis = (1.0, 0.0, 0.0)
        if y <= x and y <= z:
            axis = (0.0, 1.0, 0.0)
        elif z <= x and z <= y:
            axis = (0.0, 0.0, 1.0)
        v = cross3(along, axis)
        if which == 1:
            v = cross3(along, v)
        elif which == 2:
            return ZERO3
        return scaled3(v, sign / max(np.sqrt(dot3(v, v)), 1e-300))
    if which > 0:
        return ZERO3
    return scaled3(cross3(along, sub3(load3(S, 2), load3(S, 0))), sign)

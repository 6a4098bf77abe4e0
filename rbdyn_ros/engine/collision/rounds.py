# SPDX-License-Identifier: Apache-2.0
"""Closed-form distances of planes, spheres and capsules.

They cover planes with all convex geometries, spheres and capsules with each other, and spheres
with boxes and cylinders. Each function returns the distance, the unit normal from A to B, and the
nearest points of A and B, all in the frame of A.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    cross3,
    dot3,
    load3,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.distances import UP, distance
from rbdyn_ros.engine.collision.kinds import SPHERE
from rbdyn_ros.engine.collision.support import radius_of, support
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: Two axes or centres meet if they are nearer than this part of the radii.
SAME_PLACE = 1e-12


@kernel
def from_plane(m, b, R, t):
    """Return distance, normal and nearest points of the half space z < 0 and geometry b."""
    lowest, _ = support(m, b, scaled3(mat_vec(transposed(R), UP), -1.0), 0)
    x = add3(t, mat_vec(R, lowest))
    dist = x[2] - radius_of(m, b)
    return dist, UP, (x[0], x[1], 0.0), (x[0], x[1], dist)


@inline
def of_spheres(m, a, b, t):
    """Return the distance, normal and nearest points of two spheres."""
    length, r_a, r_b = np.sqrt(dot3(t, t)), m.geom_size[a, 0], m.geom_size[b, 0]
    normal = scaled3(t, 1.0 / length) if length > SAME_PLACE * (r_a + r_b) else UP
    return length - r_a - r_b, normal, scaled3(normal, r_a), sub3(t, scaled3(normal, r_b))


@kernel
def of_rounds(m, a, b, R, t):
    """Return distance, normal and nearest points of two capsules, or a sphere and a capsule."""
    along_a, along_b = _half_axis(m, a), mat_vec(R, _half_axis(m, b))
    p, q = _segments(along_a, t, along_b)
    between = sub3(q, p)
    length = np.sqrt(dot3(between, between))
    r_a, r_b = radius_of(m, a), radius_of(m, b)
    if length > SAME_PLACE * (r_a + r_b):
        normal = scaled3(between, 1.0 / length)
    else:  # the axes meet, so any direction perpendicular to both is a normal
        normal, length = _across(along_a, along_b), 0.0
        if dot3(normal, t) < 0.0:
            normal = scaled3(normal, -1.0)
    x, y = add3(p, scaled3(normal, r_a)), sub3(q, scaled3(normal, r_b))
    return length - r_a - r_b, normal, x, y


@kernel
def of_ball(m, a, b, R, t):
    """Return the distance, normal and nearest points of a sphere and a box or a cylinder."""
    dist, away = distance(
        m.geom_type[b], load3(m.geom_size, b), scaled3(mat_vec(transposed(R), t), -1.0)
    )
    normal = scaled3(mat_vec(R, away), -1.0)
    r = m.geom_size[a, 0]
    return dist - r, normal, scaled3(normal, r), scaled3(normal, dist)


@inline
def _half_axis(m, g):
    return (0.0, 0.0, 0.0 if m.geom_type[g] == SPHERE else m.geom_size[g, 1])


@kernel
def _segments(u, t, v):
    """Return the nearest points of the segments from -u to u and from t - v to t + v."""
    # either an end of one segment is a nearest point, or both nearest points are between the ends
    uu, vv = dot3(u, u), dot3(v, v)
    p, q, least = ZERO3, t, np.inf
    for end in range(4):
        sign = 1.0 if end % 2 == 0 else -1.0
        if end < 2:
            x = scaled3(u, sign)
            y = add3(t, scaled3(v, _inside(dot3(sub3(x, t), v), vv)))
        else:
            y = add3(t, scaled3(v, sign))
            x = scaled3(u, _inside(dot3(y, u), uu))
        between = sub3(y, x)
        square = dot3(between, between)
        if square < least:
            p, q, least = x, y, square
    n = cross3(u, v)
    nn = dot3(n, n)
    if nn > 0.0:
        s, r = dot3(cross3(t, v), n) / nn, dot3(cross3(t, u), n) / nn
        if abs(s) < 1.0 and abs(r) < 1.0:
            x, y = scaled3(u, s), add3(t, scaled3(v, r))
            between = sub3(y, x)
            square = dot3(between, between)
            if square < least:
                p, q = x, y
    return p, q


@inline
def _inside(projection, square):
    """Return projection / square, limited to the segment from -1 to 1; 0 if its length is 0."""
    if square == 0.0:
        return 0.0
    return min(max(projection / square, -1.0), 1.0)


@kernel
def _across(u, v):
    """Return a unit vector perpendicular to two vectors, which may be parallel or zero."""
    n = cross3(u, v)
    if dot3(n, n) <= 1e-24 * dot3(u, u) * dot3(v, v):
        w = u if dot3(u, u) > 0.0 else v
        n = cross3(w, (1.0, 0.0, 0.0) if abs(w[0]) <= abs(w[1]) else (0.0, 1.0, 0.0))
    square = dot3(n, n)
    return UP if square == 0.0 else scaled3(n, 1.0 / np.sqrt(square))

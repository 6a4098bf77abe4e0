# SPDX-License-Identifier: Apache-2.0
"""The signed distance of two geometries, and their nearest points."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    dot3,
    load3,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.epa import epa
from rbdyn_ros.engine.collision.gjk import gjk
from rbdyn_ros.engine.collision.kinds import BOX, CAPSULE, CYLINDER, PLANE, SPHERE
from rbdyn_ros.engine.collision.rounds import from_plane, of_ball, of_rounds, of_spheres
from rbdyn_ros.engine.collision.simplex import ROW, weighted
from rbdyn_ros.engine.collision.smooth import is_least
from rbdyn_ros.engine.collision.support import farthest, radius_of
from rbdyn_ros.engine.collision.sweep import BOUND_MARGIN, pose_of
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints


@inline
def in_order(m, g, h):
    """Return two geometries in the order of their types, which the algorithms need."""
    swap = m.geom_type[g] > m.geom_type[h]
    return (h, g, True) if swap else (g, h, False)


@inline
def relative(place, a, b):
    """Return the rotation and position of geometry b in the frame of geometry a."""
    p_A, R_A = pose_of(place, a)
    p_B, R_B = pose_of(place, b)
    R_T = transposed(R_A)
    return mat_mul(R_T, R_B), mat_vec(R_T, sub3(p_B, p_A))


@kernel
def nearest_points(m, a, b, R, t, reach, axis):
    """Return the distance, normal and nearest points of two geometries, in the frame of A.

    The geometries must be in the order of `in_order`. The pose of B in A is R, t. Beyond `reach`
    the distance can be infinite. For `axis`, see near.measure.
    """
    kind, other = m.geom_type[a], m.geom_type[b]
    if kind == PLANE:
        return from_plane(m, b, R, t)
    if kind == SPHERE and (other == BOX or other == CYLINDER):
        return of_ball(m, a, b, R, t)
    if other == SPHERE:
        return of_spheres(m, a, b, t)
    if other <= CAPSULE:
        return of_rounds(m, a, b, R, t)
    apart = reach + radius_of(m, a) + radius_of(m, b)
    if _boxes_apart(m, a, b, R, t, reach) or _still_apart(m, a, b, R, t, apart, axis):
        return np.inf, ZERO3, ZERO3, ZERO3
    return hull_distance(m, a, b, R, t, apart, axis)


@kernel
def hull_distance(m, a, b, R, t, apart, axis):
    """Return the distance, normal and nearest points of two geometries by GJK and EPA.

    The distance is infinite if the cores are farther apart than `apart`.
    """
    S, names = stack_floats(4, ROW), stack_ints(4, 2)
    n, v, known = gjk(m, a, b, R, t, apart, S, names)
    if n == 0:
        axis[0], axis[1], axis[2] = v
        return np.inf, v, ZERO3, ZERO3
    square = dot3(v, v)
    if square > 0.0 and known <= 0.0:
        length = np.sqrt(square)
        normal = scaled3(v, -1.0 / length)
        x, y = weighted(S, n)
    elif known > 0.0 and is_least(m, a, b, R, t, S, n, known):
        length, normal = -known, v
        x, y = weighted(S, n)
    else:
        depth, normal, x, y = epa(m, a, b, R, t, S, names, n, known, v)
        length = -depth
    r_a, r_b = radius_of(m, a), radius_of(m, b)
    x, y = add3(x, scaled3(normal, r_a)), sub3(y, scaled3(normal, r_b))
    return length - r_a - r_b, normal, x, y


@kernel
def _still_apart(m, a, b, R, t, apart, axis):
    """Return whether the last separating direction still separates two cores by more than `apart`.

    The search for the farthest corners starts from the corners of the last call, which are in the
    last columns of `axis`, because a robot moves little in a step.
    """
    v = (axis[0], axis[1], axis[2])
    square = dot3(v, v)
    if square == 0.0:
        return False
    i, j = _corner(m, a, axis[3]), _corner(m, b, axis[4])
    w, _x, _y, i, j = farthest(m, a, b, R, t, scaled3(v, -1.0), i, j)
    axis[3], axis[4] = i, j
    along = dot3(v, w)
    return along > 0.0 and along > apart * np.sqrt(square)


@inline
def _corner(m, g, number):
    """Return `number` if it is the number of a corner of the geometry, else 0."""
    return int(number) if number > 0.0 and number < m.geom_vertnum[g] else 0


@inline
def _boxes_apart(m, a, b, R, t, reach):
    """Return whether a face of a bounding box separates two geometries by more than `reach`.

    This test is cheaper than a search for the farthest corners.
    """
    half, other = load3(m.geom_half, a), load3(m.geom_half, b)
    most = reach + BOUND_MARGIN * (m.geom_rbound[a] + m.geom_rbound[b])
    back = mat_vec(transposed(R), t)
    for k in range(3):
        along_a = abs(R[3 * k]) * other[0] + abs(R[3 * k + 1]) * other[1]
        along_a += abs(R[3 * k + 2]) * other[2]
        along_b = abs(R[k]) * half[0] + abs(R[3 + k]) * half[1] + abs(R[6 + k]) * half[2]
        if abs(t[k]) - half[k] - along_a > most or abs(back[k]) - other[k] - along_b > most:
            return True
    return False

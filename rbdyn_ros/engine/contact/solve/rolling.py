# SPDX-License-Identifier: Apache-2.0
"""The velocity s of a rolling contact point over the two surfaces.

The curvatures of two surfaces add up along each tangent t of a contact. If the normal turns by
w x n, the contact point moves by

    s . t = (w x n) . t / (k1 + k2)

k is 1 / R on a sphere or an end of a capsule, 0 on a flat face, and infinite on a corner and
across an edge. On the side of a cylinder k is 0 along the axis and 1 / R across it. A rim of
radius R is an edge with k = sin / R along the rim, where sin is the sine of the angle between its
axis and the normal.

For two flat faces k1 + k2 is 0, so s is not defined; the contact points are then fixed to the
bodies.

Source: Montana, The kinematics of contact and grasp, 1988.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    load9,
    mat_vec,
    scaled3,
    transposed,
)
from rbdyn_ros.engine.collision.kinds import BOX, CYLINDER, HFIELD, MESH, TRIMESH
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.model.declared.contact_arrays import FEATURES

#: A cylinder tilted by less than this [rad] stands on its end instead of rolling on its rim.
LIES = 0.05

#: If the lowest point of a rim moves farther along the rim than this angle [rad] in a step, s is
#: 0. A sphere may move by at most this part of the size of a face.
MAX_ROLL = 0.3

#: A normal counts as perpendicular to a face up to this angle [rad].
FLAT_ANGLE = 1e-6


@inline
def rolling(m, d, c, normal, tilt):
    """Return the velocity s of a contact's point; `tilt` is w x normal."""
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    r1, r2 = m.geom_radius[geom1], m.geom_radius[geom2]
    if r1 > 0.0 and r2 > 0.0:
        return scaled3(tilt, r1 * r2 / (r1 + r2))
    if r1 > 0.0 or r2 > 0.0:
        return _of_ball(m, d, c, 0 if r2 > 0.0 else 1, r1 + r2, normal, tilt)
    if m.geom_type[geom1] != CYLINDER and m.geom_type[geom2] != CYLINDER:
        return ZERO3
    if _is_fixed_corner(m, d, c):
        return ZERO3
    s = ZERO3
    for side in range(1, -1, -1):
        if m.geom_type[d.contact_geom[c, side]] == CYLINDER and dot3(s, s) == 0.0:
            s = _of_cylinder(m, d, c, side, normal, tilt)
    return s


@inline
def _is_fixed_corner(m, d, c):
    """Return whether a contact is a corner of a cylinder on an obstacle, see obstacles.py."""
    with_obstacle = d.contact_key[c] < m.ngeomlink * m.nobstacle * FEATURES
    return with_obstacle and m.geom_type[d.contact_geom[c, 0]] > HFIELD


@inline
def _of_ball(m, d, c, side, radius, normal, tilt):
    """Return s of a sphere or an end of a capsule on geometry `side`, which is not round."""
    g = d.contact_geom[c, side]
    kind = m.geom_type[g]
    if kind <= HFIELD or kind == TRIMESH:
        return scaled3(tilt, radius)
    if _is_flat(m, d, c, side, normal):
        way = radius * np.sqrt(dot3(tilt, tilt)) * m.opt.timestep
        return scaled3(tilt, radius) if way < MAX_ROLL * m.geom_rbound[g] else ZERO3
    if kind != CYLINDER:
        return ZERO3
    s, axis = _of_cylinder(m, d, c, side, normal, tilt), _axis(m, d, c, side)
    on_side = abs(dot3(axis, normal)) < FLAT_ANGLE
    return add_scaled3(s, axis, radius * dot3(axis, tilt)) if on_side else s


@inline
def _of_cylinder(m, d, c, side, normal, tilt):
    """Return s along the rim or around the side of a cylinder, geometry `side` of a contact.

    A rim touches at the point opposite to n_e, the part of the normal perpendicular to the axis e.
    If the other surface is flat along the rim's tangent t = e x n / sin, n_e rotates about e at
    the rate tilt . t / sin.
    """
    radius, along = m.geom_size[d.contact_geom[c, side], 0], cross3(_axis(m, d, c, side), normal)
    square = dot3(along, along)
    if square < LIES * LIES:
        return ZERO3
    sine = np.sqrt(square)
    other = _curvature(m, d, c, 1 - side, normal, scaled3(along, 1.0 / sine))
    rate = dot3(tilt, along) / square / (1.0 + other * radius / sine)
    if abs(rate) * m.opt.timestep > MAX_ROLL:
        return ZERO3
    return scaled3(along, rate * radius / sine)


@inline
def _curvature(m, d, c, side, normal, way):
    """Return the curvature of geometry `side` of a contact along `way`; infinity on an edge."""
    g = d.contact_geom[c, side]
    if m.geom_radius[g] > 0.0:
        return 1.0 / m.geom_radius[g]
    if _is_flat(m, d, c, side, normal):
        return 0.0
    axis = _axis(m, d, c, side)
    if m.geom_type[g] != CYLINDER or abs(dot3(axis, normal)) > FLAT_ANGLE:
        return np.inf
    across = dot3(way, cross3(axis, normal))
    return across * across / m.geom_size[g, 0]


@kernel
def _is_flat(m, d, c, side, normal):
    """Return whether geometry `side` of a contact touches with a flat face."""
    g = d.contact_geom[c, side]
    kind = m.geom_type[g]
    if kind <= HFIELD or kind == TRIMESH:
        return True
    if kind == CYLINDER:
        along = cross3(_axis(m, d, c, side), normal)
        return dot3(along, along) < FLAT_ANGLE * FLAT_ANGLE
    R = load9(d.xmat, d.contact_body[c, side])
    n = mat_vec(transposed(load9(m.geom_mat, g)), mat_vec(transposed(R), normal))
    if kind == BOX:
        a, b, e = abs(n[0]), abs(n[1]), abs(n[2])
        return a + b + e - max(a, b, e) < FLAT_ANGLE
    if kind == MESH:
        for f in range(m.geom_faceadr[g], m.geom_faceadr[g] + m.geom_facenum[g]):
            across = cross3(load3(m.face_normal, f), n)
            if dot3(across, across) < FLAT_ANGLE * FLAT_ANGLE:
                return True
    return False


@inline
def _axis(m, d, c, side):
    """Return the axis z of geometry `side` of a contact."""
    R, B = load9(d.xmat, d.contact_body[c, side]), load9(m.geom_mat, d.contact_geom[c, side])
    return mat_vec(R, (B[2], B[5], B[8]))

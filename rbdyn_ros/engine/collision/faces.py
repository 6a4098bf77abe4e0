# SPDX-License-Identifier: Apache-2.0
"""The face, edge or corner of a convex geometry that faces a direction.

A box and a hull have faces, a capsule has its axis, a sphere its centre. A cylinder has two round
faces, given by points on their rims, and a curved side, of which one line faces a direction.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, dot3, load3
from rbdyn_ros.engine.collision.kinds import BOX, CAPSULE, CYLINDER, SPHERE
from rbdyn_ros.engine.collision.support import support
from rbdyn_ros.engine.compiler.jit import inline, kernel

#: Number of points on the rim that represent a cylinder's end; the first is farthest along v.
END_POINTS = 8

#: If a cylinder is tilted by less than this [rad], its rim points are fixed: the farthest point
#: would jump around the rim with the smallest motion.
UPRIGHT_TILT = 1e-3


@kernel
def face(m, g, v, corners, names):
    """Write the corners of the face, edge or corner of a geometry's core that faces v.

    The corners go round anticlockwise, seen from outside.

    Args:
        m: the Model.
        g: the geometry.
        v: unit vector in the frame of the geometry.
        corners: (FACE_CORNERS, 3), receives the corners.
        names: (FACE_CORNERS, 1), receives the number of each corner, which does not depend on v.

    Returns:
        The number of corners, and the outward unit normal if there are three or more.
    """
    kind = m.geom_type[g]
    if kind == BOX:
        return _of_box(load3(m.geom_size, g), v, corners, names)
    if kind == CYLINDER:
        return _of_cylinder(m.geom_size[g, 0], m.geom_size[g, 1], v, corners, names)
    if kind == CAPSULE:
        half = m.geom_size[g, 1]
        _write(corners, names, 0, (0.0, 0.0, -half), 0)
        _write(corners, names, 1, (0.0, 0.0, half), 1)
        return 2, ZERO3
    if kind == SPHERE or m.geom_facenum[g] == 0:
        x, name = support(m, g, v, 0)
        _write(corners, names, 0, x, name)
        return 1, ZERO3
    return _of_hull(m, g, v, corners, names)


@inline
def _write(corners, names, n, x, name):
    corners[n, 0], corners[n, 1], corners[n, 2] = x
    names[n, 0] = name


@kernel
def _of_box(half, v, corners, names):
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    k = 0 if x >= y and x >= z else (1 if y >= z else 2)
    along = v[0] if k == 0 else (v[1] if k == 1 else v[2])
    sign = 1.0 if along >= 0.0 else -1.0
    for n in range(4):
        # anticlockwise seen from outside, because the axes k, k + 1, k + 2 are right-handed
        a = 1.0 if n == 0 or n == 3 else -1.0
        b = sign * (1.0 if n < 2 else -1.0)
        s = (
            sign if k == 0 else (b if k == 1 else a),
            a if k == 0 else (sign if k == 1 else b),
            b if k == 0 else (a if k == 1 else sign),
        )
        name = (1 if s[0] > 0.0 else 0) + (2 if s[1] > 0.0 else 0) + (4 if s[2] > 0.0 else 0)
        _write(corners, names, n, (s[0] * half[0], s[1] * half[1], s[2] * half[2]), name)
    return 4, (
        sign if k == 0 else 0.0,
        sign if k == 1 else 0.0,
        sign if k == 2 else 0.0,
    )


@kernel
def _of_cylinder(radius, half, v, corners, names):
    across = np.sqrt(v[0] * v[0] + v[1] * v[1])
    if abs(v[2]) < across:  # v faces the side of the cylinder
        x, y = radius * v[0] / across, radius * v[1] / across
        _write(corners, names, 0, (x, y, -half), 2 * END_POINTS)
        _write(corners, names, 1, (x, y, half), 2 * END_POINTS + 1)
        return 2, ZERO3
    sign = 1.0 if v[2] >= 0.0 else -1.0
    start = np.arctan2(v[1], v[0]) if across >= UPRIGHT_TILT else 0.0
    first = END_POINTS if sign > 0.0 else 0
    for n in range(END_POINTS):
        turned = start + sign * n * (2.0 * np.pi / END_POINTS)
        x = (radius * np.cos(turned), radius * np.sin(turned), sign * half)
        _write(corners, names, n, x, first + n)
    return END_POINTS, (0.0, 0.0, sign)


@kernel
def _of_hull(m, g, v, corners, names):
    first = m.geom_faceadr[g]
    best, most = first, -np.inf
    for f in range(first, first + m.geom_facenum[g]):
        along = dot3(v, load3(m.face_normal, f))
        if along > most:
            best, most = f, along
    number = m.face_vertnum[best]
    for n in range(number):
        corner = m.face_vert[m.face_vertadr[best] + n]
        x = load3(m.vert_pos, m.geom_vertadr[g] + corner)
        _write(corners, names, n, x, corner)
    return number, load3(m.face_normal, best)

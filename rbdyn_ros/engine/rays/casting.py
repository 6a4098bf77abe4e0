# SPDX-License-Identifier: Apache-2.0
"""The hits of rays on shapes: closed forms for simple solids, triangles for all other shapes.

A ray hits a surface from either side, so a ray that starts inside a solid hits the surface where
it leaves the solid. Directions are unit vectors, so distances are lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    store3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import CAPSULE, CYLINDER, PLANE, SPHERE
from rbdyn_ros.engine.compiler.jit import CACHE_DIRECTORY, OPTIONS, inline, kernel, kernels_in
from rbdyn_ros.engine.compiler.stack import stack_floats, stack_ints
from rbdyn_ros.engine.rays.tree import (
    COUNT,
    DEEPEST,
    FIRST,
    HIGH,
    LOW,
    descend,
    enters,
    next_node,
)
from rbdyn_ros.engine.tree.kinematics import poses

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

#: Columns of a shape: position and rotation in its body, size (geom_size), corners of its bounding
#: box in its own frame. A placed shape has its position and rotation in the world.
POS, MAT, SIZE, BOUNDS, SHAPE = 0, 3, 12, 15, 21
PLACED = 12

#: Bounding boxes are enlarged by this part of their distance from the origin.
ROUNDING = 1e-12

# without fused operations: with them a ray could miss both triangles at an edge
exact = kernels_in(CACHE_DIRECTORY, {**OPTIONS, "forceinline": True, "fastmath": False})


@kernel
def place_shapes(
    m: Model, d: Data, body: Ints, kind: Ints, shape: Matrix, placed: Matrix, box: Matrix
) -> None:
    """Write the poses of shapes in the world at qpos, and their bounding boxes.

    Args:
        m: the Model.
        d: its Data.
        body: (n), the body of each shape.
        kind: (n), the GeomType of each shape.
        shape: (n, SHAPE), the columns above for each shape.
        placed: (n, PLACED), receives positions and rotations.
        box: (n, 6), receives the corners of the boxes; planes have no box.
    """
    poses(m, d)
    for g in range(len(body)):
        R = load9(d.xmat, body[g])
        p = add3(load3(d.xpos, body[g]), mat_vec(R, load3(shape, g)))
        R = mat_mul(R, _rotation(shape, g))
        store3(placed, g, p)
        for k in range(9):
            placed[g, MAT + k] = R[k]
        if kind[g] != PLANE:
            _bound(shape, g, p, R, box)


@inline
def _rotation(rows, g):
    return (
        rows[g, MAT], rows[g, MAT + 1], rows[g, MAT + 2],
        rows[g, MAT + 3], rows[g, MAT + 4], rows[g, MAT + 5],
        rows[g, MAT + 6], rows[g, MAT + 7], rows[g, MAT + 8],
    )  # fmt: skip


@inline
def _bound(shape, g, p, R, box):
    for k in range(3):
        middle, half = p[k], 0.0
        for n in range(3):
            low, high = shape[g, BOUNDS + n], shape[g, BOUNDS + 3 + n]
            middle += R[3 * k + n] * 0.5 * (low + high)
            half += abs(R[3 * k + n]) * 0.5 * (high - low)
        half += ROUNDING * (abs(middle) + half)
        box[g, LOW + k], box[g, HIGH + k] = middle - half, middle + half


@kernel
def cast(
    kind: Ints, root: Ints, shape: Matrix, placed: Matrix, order: Ints, node: Matrix, planes: Ints,
    mesh_node: Matrix, triangle: Matrix, origins: Matrix, directions: Matrix, cutoff: float,
    hit: Ints, found: Matrix,
) -> None:  # fmt: skip
    """Find the first hit of each ray. Shapes are only read, so several threads can cast at once.

    Args:
        kind: (n), the GeomType of each shape.
        root: (n), the first node of the triangles of a shape, or -1.
        shape: (n, SHAPE).
        placed: output of place_shapes.
        order: the shapes in the order of the leaves of `node`.
        node: the tree of their boxes, see tree.grow.
        planes: the shapes that are planes.
        mesh_node: the trees of all meshes.
        triangle: (k, 9), corners of each triangle in the frame of the shape, in the order of the
            leaves.
        origins: (rays, 3), where the rays start.
        directions: (rays, 3), unit vectors.
        cutoff: the largest distance of a hit.
        hit: (rays), receives the shape, or -1.
        found: (rays, 4), receives the distance, or infinity, and the normal of the surface.
    """
    waiting, entry = stack_ints(DEEPEST, 1), stack_floats(DEEPEST, 1)
    inner, inner_entry = stack_ints(DEEPEST, 1), stack_floats(DEEPEST, 1)
    for ray in range(len(hit)):
        start, along = load3(origins, ray), load3(directions, ray)
        best, first, corner = cutoff, -1, -1
        for n in range(len(planes)):
            t = _plane(placed, planes[n], start, along)
            if _is_first(t, planes[n], best, first):
                best, first, corner = t, planes[n], -1
        inverse = (1.0 / along[0], 1.0 / along[1], 1.0 / along[2])
        at, left = -1, 0
        if len(order) > 0 and enters(node, 0, start, inverse) <= best:
            at = 0
        while at >= 0:
            if node[at, COUNT] == 0:
                at, left = descend(node, at, start, inverse, best, waiting, entry, left)
            else:
                begin = int(node[at, FIRST])
                for n in range(begin, begin + int(node[at, COUNT])):
                    g = order[n]
                    o, v = _seen_from(placed, g, start, along)
                    if root[g] < 0:
                        t, which = _solid(kind[g], load_size(shape, g), o, v), -1
                    else:
                        t, which = _mesh(
                            mesh_node, triangle, root[g], o, v, best, inner, inner_entry
                        )
                    if _is_first(t, g, best, first):
                        best, first, corner = t, g, which
                at = -1
            if at < 0:
                at, left = next_node(waiting, entry, left, best)
        hit[ray] = first
        found[ray, 0] = best if first >= 0 else np.inf
        normal = (0.0, 0.0, 0.0)
        if first >= 0:
            normal = _normal(kind, shape, placed, triangle, first, corner, start, along, best)
        found[ray, 1], found[ray, 2], found[ray, 3] = normal


@inline
def load_size(shape, g):
    return shape[g, SIZE], shape[g, SIZE + 1], shape[g, SIZE + 2]


@inline
def _is_first(t, g, best, first):
    """Return whether a hit is the first; of equal distances the lowest shape number counts."""
    return t < best or (t == best and t < np.inf and (first < 0 or g < first))


@inline
def _seen_from(placed, g, start, along):
    """Return the start and direction of a ray in the frame of a shape."""
    R = transposed(_rotation(placed, g))
    return mat_vec(R, sub3(start, load3(placed, g))), mat_vec(R, along)


@inline
def _plane(placed, g, start, along):
    o, v = _seen_from(placed, g, start, along)
    t = -o[2] / v[2]  # infinite or NaN if the ray is parallel to the plane
    return t if t >= 0.0 else np.inf


@kernel
def _solid(kind, size, o, v):
    """Return the distance at which the ray o, v, in the frame of a solid, hits it, or infinity."""
    if kind == SPHERE:
        enter, leave = _ball(o, v, size[0])
    elif kind == CAPSULE:
        enter, leave = _capsule(o, v, size[0], size[1])
    elif kind == CYLINDER:
        enter, leave = _cylinder(o, v, size[0], size[1])
    else:
        enter, leave = _box(o, v, size)
    if not enter <= leave or not leave >= 0.0:
        return np.inf
    return enter if enter >= 0.0 else leave


@inline
def _ball(o, v, radius):
    """Return the interval in which a ray is in a ball, or (inf, -inf) if it misses the ball."""
    b = dot3(o, v)
    # q is the ray's point nearest to the centre; this form avoids cancellation
    q = sub3(o, scaled3(v, b))
    square = radius * radius - dot3(q, q)
    if square < 0.0:
        return np.inf, -np.inf
    half = np.sqrt(square)
    return -b - half, -b + half


@inline
def _slab(o, v, half):
    """Return the interval of a ray in which a coordinate is between -half and half."""
    if v == 0.0:
        return (-np.inf, np.inf) if abs(o) <= half else (np.inf, -np.inf)
    a, b = (-half - o) / v, (half - o) / v
    return min(a, b), max(a, b)


@inline
def _both(first, second):
    return max(first[0], second[0]), min(first[1], second[1])


@inline
def _cylinder(o, v, radius, half):
    square = v[0] * v[0] + v[1] * v[1]
    within = _slab(o[2], v[2], half)
    if square == 0.0:
        inside = o[0] * o[0] + o[1] * o[1] <= radius * radius
        return within if inside else (np.inf, -np.inf)
    b = (o[0] * v[0] + o[1] * v[1]) / square
    x, y = o[0] - b * v[0], o[1] - b * v[1]
    rest = radius * radius - x * x - y * y
    if rest < 0.0:
        return np.inf, -np.inf
    across = np.sqrt(rest / square)
    return _both(within, (-b - across, -b + across))


@inline
def _capsule(o, v, radius, half):
    # the three parts form a convex solid: the interval is from the first entry to the last exit
    low = _ball((o[0], o[1], o[2] + half), v, radius)
    high = _ball((o[0], o[1], o[2] - half), v, radius)
    side = _cylinder(o, v, radius, half)
    if not side[0] <= side[1]:
        side = (np.inf, -np.inf)
    return min(low[0], high[0], side[0]), max(low[1], high[1], side[1])


@inline
def _box(o, v, half):
    within = _both(_slab(o[0], v[0], half[0]), _slab(o[1], v[1], half[1]))
    return _both(within, _slab(o[2], v[2], half[2]))


@kernel
def _mesh(node, triangle, root, o, v, most, waiting, entry):
    """Return the distance of the first hit on triangles, or infinity, and the triangle's number.

    Source: Woop, Benthin, Wald, Watertight ray/triangle intersection, 2013.
    """
    # choose z as the axis nearest to the ray, and x and y so that triangles keep their orientation
    z = 0 if abs(v[0]) >= abs(v[1]) and abs(v[0]) >= abs(v[2]) else 1
    z = 2 if z == 1 and abs(v[2]) > abs(v[1]) else z
    along = v[0] if z == 0 else (v[1] if z == 1 else v[2])
    x, y = (z + 1) % 3, (z + 2) % 3
    if along < 0.0:
        x, y = y, x
    across = v[0] if x == 0 else (v[1] if x == 1 else v[2])
    beside = v[0] if y == 0 else (v[1] if y == 1 else v[2])
    shear = (across / along, beside / along, 1.0 / along)
    start = (
        o[0] if x == 0 else (o[1] if x == 1 else o[2]),
        o[0] if y == 0 else (o[1] if y == 1 else o[2]),
        o[0] if z == 0 else (o[1] if z == 1 else o[2]),
    )
    inverse = (1.0 / v[0], 1.0 / v[1], 1.0 / v[2])
    best, which = most, -1
    at, left = -1, 0
    if enters(node, root, o, inverse) <= most:
        at = root
    while at >= 0:
        if node[at, COUNT] == 0:
            at, left = descend(node, at, o, inverse, best, waiting, entry, left)
        else:
            begin = int(node[at, FIRST])
            for n in range(begin, begin + int(node[at, COUNT])):
                t = _triangle(triangle, n, x, y, z, start, shear)
                if _is_first(t, n, best, which):
                    best, which = t, n
            at = -1
        if at < 0:
            at, left = next_node(waiting, entry, left, best)
    return (best if which >= 0 else np.inf), which


@exact
def _triangle(triangle, n, x, y, z, start, shear):
    """Return the distance at which a ray hits a triangle from either side, or infinity.

    In the sheared coordinates the ray is the z axis. Two triangles with a common edge compute the
    same number for it, with opposite signs, so no ray passes between them.
    """
    a = _sheared(triangle, n, 0, x, y, z, start, shear)
    b = _sheared(triangle, n, 3, x, y, z, start, shear)
    c = _sheared(triangle, n, 6, x, y, z, start, shear)
    u = c[0] * b[1] - c[1] * b[0]
    v = a[0] * c[1] - a[1] * c[0]
    w = b[0] * a[1] - b[1] * a[0]
    if (u < 0.0 or v < 0.0 or w < 0.0) and (u > 0.0 or v > 0.0 or w > 0.0):
        return np.inf
    total = u + v + w
    if total == 0.0:  # the triangle is edge-on to the ray
        return np.inf
    t = (u * a[2] + v * b[2] + w * c[2]) / total
    return t if t >= 0.0 else np.inf


@exact
def _sheared(triangle, n, corner, x, y, z, start, shear):
    ahead = triangle[n, corner + z] - start[2]
    return (
        triangle[n, corner + x] - start[0] - shear[0] * ahead,
        triangle[n, corner + y] - start[1] - shear[1] * ahead,
        shear[2] * ahead,
    )


@inline
def _normal(kind, shape, placed, triangle, g, corner, start, along, t):
    """Return the unit normal of the surface at the hit of a ray, in the world."""
    R = _rotation(placed, g)
    if corner >= 0:
        a = load3(triangle, corner)
        b = (triangle[corner, 3], triangle[corner, 4], triangle[corner, 5])
        c = (triangle[corner, 6], triangle[corner, 7], triangle[corner, 8])
        across = cross3(sub3(b, a), sub3(c, a))
        return mat_vec(R, scaled3(across, 1.0 / np.sqrt(dot3(across, across))))
    o, v = _seen_from(placed, g, start, along)
    _, away = distance(kind[g], load_size(shape, g), add3(o, scaled3(v, t)))
    return mat_vec(R, away)

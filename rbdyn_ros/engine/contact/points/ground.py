# SPDX-License-Identifier: Apache-2.0
"""The triangles of height fields and triangle meshes, and contacts with them.

Both have numbered triangles with a front side. A search in a grid or a tree finds the triangles
near a point. A height field is solid below all its triangles. A mesh is solid behind its
triangles, down to a depth that depends on the geometry: deeper points count as outside, on the
other side of the mesh.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    dot3,
    load3,
    load9,
    mat_vec,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.kinds import TRIMESH
from rbdyn_ros.engine.collision.triangle_tree import (
    WALK,
    begin_triangles,
    next_triangle,
    plane_of_triangle,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_ints
from rbdyn_ros.engine.contact.law.surfaces import is_rigid
from rbdyn_ros.engine.contact.points.contact_list import (
    flush_depth,
    list_contact,
    near,
    pair_number,
    paths,
    turn_rate_in_step,
    velocity_in_step,
)
from rbdyn_ros.engine.contact.points.height_grid import (
    begin_grid,
    is_on_grid,
    next_in_grid,
    plane_in_grid,
    triangle_under,
)
from rbdyn_ros.engine.contact.points.triangle_sides import BEYOND, is_over, is_side, nearest_over

#: First feature numbers of contact points at corners, triangles and edges of terrain. Smaller
#: numbers are corners of the geometry; a corner on several triangles has a feature for each main
#: direction.
FIRST_PEAK, FIRST_TRIANGLE, FIRST_EDGE = 1 << 20, 1 << 22, 1 << 23
DIRECTION, DIRECTIONS = 1 << 15, 6

MOST_SIDES = 4  # largest number of mesh triangles that support one corner
MOST_PLANES = 8  # largest number of triangles that are tried to find where a path meets the ground
SAME_POINT = 1e-6  # points closer than this part of the radius are the same
# two triangles count as one plane if 1 - cos(angle) between their normals is less
SAME_PLANE = 1e-9


@inline
def begin_ground(m, o, centre, half, walk):
    """Begin a search through the triangles of a mesh or height field near a box.

    The box has the centre `centre` and half the size `half`; `walk` stores the search.
    """
    if m.geom_type[o] == TRIMESH:
        begin_triangles(m, o, walk)
    else:
        begin_grid(m, o, centre, half, walk)


@inline
def next_in_ground(m, o, centre, half, walk):
    """Return the next triangle of the search in `walk`, or -1 at the end."""
    if m.geom_type[o] == TRIMESH:
        return next_triangle(m, o, centre, half, walk)
    return next_in_grid(m, o, walk)


@inline
def plane_of(m, o, triangle, x):
    """Return the distance of x to the plane of a triangle, and its normal."""
    if m.geom_type[o] == TRIMESH:
        return plane_of_triangle(m, o, triangle, x)
    return plane_in_grid(m, o, triangle, x)


@inline
def is_on(m, o, triangle, x, dist):
    """Return whether the foot of the point x on a triangle's plane is on the triangle.

    For a height field x is the foot itself.
    """
    if m.geom_type[o] == TRIMESH:
        return is_over(m, o, triangle, x, dist)
    return is_on_grid(m, o, triangle, x)


@inline
def ground_at(m, o, x, reach):
    """Return the triangle that decides whether x is in the ground, and x's distance and normal.

    In a height field it is the triangle below or above x, in a mesh the nearest triangle up to
    `reach`. The number is -1 if no such triangle exists.
    """
    if m.geom_type[o] == TRIMESH:
        return nearest_over(m, o, x, ZERO3, reach)
    return triangle_under(m, o, x)


@inline
def deepest_of(m, g):
    """Return the depth in a mesh up to which a corner of a geometry is supported."""
    half = load3(m.geom_half, g)
    return max(min(half[0], half[1], half[2]), BEYOND * flush_depth(m))


@inline
def list_ground_contact(m, d, g, o, x, normal, dist, feature, touches):
    """List a contact at the point x of the geometry, in the frame of the field."""
    F, i = load9(m.geom_mat, o), m.geom_bodyid[g]
    at = add3(load3(m.geom_pos, o), mat_vec(F, x))
    pair = m.ngeomlink * m.nobstacle + m.npush + pair_number(m, g, o)
    list_contact(m, d, pair, o, g, 0, i, at, mat_vec(F, normal), dist, feature, touches)


@kernel
def list_corner(m, d, g, o, x, feature, reach):
    """List the contact of a corner, up to the distance `reach`.

    The contact is with the triangle below the corner, or where its path meets the ground.
    """
    if m.geom_type[o] == TRIMESH:
        _list_on_mesh(m, d, g, o, x, feature, reach)
        return
    first = d.ncon
    _triangle, dist, normal = triangle_under(m, o, x)
    if not dist < reach:
        return
    if dist < near(m):
        list_ground_contact(m, d, g, o, x, normal, dist, feature, True)
        return
    for late in range(paths(d)):
        v = velocity_in_ground(m, d, g, o, x, late)
        meets, dist, normal = _meet(m, o, x, v)
        if meets:
            list_ground_contact(m, d, g, o, x, normal, dist, feature, True)
        if d.ncon > first:
            return


@kernel
def _list_on_mesh(m, d, g, o, x, feature, reach):
    """List the contacts of a corner with the mesh triangles that support it or that it reaches."""
    walk, first, deep = stack_ints(WALK, 1), d.ncon, deepest_of(m, g)
    most = reach + deep
    way = sub3(_centre(m, d, g, o), x)
    nearest, gap, _normal = nearest_over(m, o, x, way, most)
    half = (most, most, most)
    begin_triangles(m, o, walk)
    while True:
        k = next_triangle(m, o, x, half, walk)
        if k < 0:
            return
        dist, normal = plane_of_triangle(m, o, k, x)
        if dist < -deep or not dist < reach or _is_plane_known(m, d, o, normal, first):
            continue
        if is_side(m, o, nearest, gap, k, dist) and _is_met(m, d, g, o, k, x, way, dist, normal):
            if d.ncon - first == MOST_SIDES:
                return
            name = feature + DIRECTION * _name(m, d, o, normal, first)
            list_ground_contact(m, d, g, o, x, normal, dist, name, True)


@inline
def _name(m, d, o, normal, first):
    """Return a number for a normal that no earlier contact of the corner has.

    The number is the main direction, plus DIRECTIONS for each earlier contact with the same
    direction.
    """
    name, back = _direction(normal), transposed(load9(m.geom_mat, o))
    for c in range(first, d.ncon):
        if _direction(mat_vec(back, load3(d.contact_normal, c))) == name % DIRECTIONS:
            name += DIRECTIONS
    return name


@inline
def _direction(normal):
    """Return the number of the axis along which a normal mostly points: z, -z, x, -x, y, -y."""
    x, y, z = abs(normal[0]), abs(normal[1]), abs(normal[2])
    if z >= x and z >= y:
        return 0 if normal[2] > 0.0 else 1
    if x >= y:
        return 2 if normal[0] > 0.0 else 3
    return 4 if normal[1] > 0.0 else 5


@inline
def _is_met(m, d, g, o, triangle, x, way, dist, normal):
    """Return whether a mesh triangle supports a corner now, or when the corner reaches it."""
    h = m.opt.timestep
    if dist < near(m):
        if not is_over(m, o, triangle, x, dist):
            return False
        return not goes_out(m, d, g, o, x, normal, dist)
    for late in range(paths(d)):
        v = velocity_in_ground(m, d, g, o, x, late)
        rate = -dot3(normal, v)
        if not rate * h > dist:
            continue
        there = add_scaled3(x, v, dist / rate)
        if is_over(m, o, triangle, there, 0.0):
            nearest, gap, _normal = nearest_over(m, o, there, way, BEYOND * flush_depth(m))
            return is_side(m, o, nearest, gap, triangle, 0.0)
    return False


@inline
def _centre(m, d, g, o):
    """Return the centre of a geometry in the frame of the ground."""
    i, back = m.geom_bodyid[g], transposed(load9(m.geom_mat, o))
    at = add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), load3(m.geom_pos, g)))
    return mat_vec(back, sub3(at, load3(m.geom_pos, o)))


@inline
def goes_out(m, d, g, o, x, normal, dist):
    """Return whether a rigid point is deep in a mesh and moves out, as if it came from behind."""
    deep = flush_depth(m)
    if m.geom_type[o] != TRIMESH or dist >= -BEYOND * deep or not is_rigid(m, g):
        return False
    return dot3(normal, velocity_in_ground(m, d, g, o, x, 0)) * m.opt.timestep > deep


@inline
def _is_plane_known(m, d, o, normal, first):
    """Return whether a contact from number `first` on has this normal."""
    n = mat_vec(load9(m.geom_mat, o), normal)
    for c in range(first, d.ncon):
        if dot3(n, load3(d.contact_normal, c)) > 1.0 - SAME_PLANE:
            return True
    return False


@kernel
def _meet(m, o, x, v):
    """Return whether a point meets the ground in a step, its distance and the normal there."""
    h, t = m.opt.timestep, 0.0
    last, dist, normal = triangle_under(m, o, x)
    triangle = last
    for _ in range(MOST_PLANES):
        rate = -dot3(normal, v)
        # time at which x passes the plane, or the end of the step
        t = dist / rate if rate * h > dist else h
        triangle, there, up = triangle_under(m, o, add_scaled3(x, v, t))
        if triangle < 0 or triangle == last:
            break
        last, normal = triangle, up
        dist = there - t * dot3(up, v)
    return triangle >= 0 and dist + h * dot3(normal, v) < 0.0, dist, normal


@inline
def velocity_in_ground(m, d, g, o, x, late):
    """Return a geometry's velocity at x at the step's start, or at its end if `late`.

    The point and the velocity are in the frame of the field.
    """
    F = load9(m.geom_mat, o)
    at = add3(load3(m.geom_pos, o), mat_vec(F, x))
    return mat_vec(transposed(F), velocity_in_step(m, d, m.geom_bodyid[g], at, late))


@inline
def turn_rate_in_ground(m, d, g, o, late):
    """Return a geometry's angular velocity in a field's frame, at the step's end if `late`."""
    w = turn_rate_in_step(m, d, m.geom_bodyid[g], late)
    return mat_vec(transposed(load9(m.geom_mat, o)), w)


@inline
def is_known(m, d, o, x, first, apart):
    """Return whether a contact from number `first` on is within `apart` of a field point."""
    at = add3(load3(m.geom_pos, o), mat_vec(load9(m.geom_mat, o), x))
    for c in range(first, d.ncon):
        between = sub3(at, load3(d.contact_pos, c))
        if dot3(between, between) < apart * apart:
            return True
    return False

# SPDX-License-Identifier: Apache-2.0
"""Contacts of geometries with terrain: height fields and triangle meshes, see ground.py.

This separate stage is needed only for a Model with terrain. A geometry touches

- the triangles below its corners, as planes; a sphere or an end of a capsule touches all triangles
  on which its centre has its foot, and a rim of a cylinder touches the triangles below its lowest
  points (`field_rims.py`);
- the convex edges and corners of the terrain (`ridges.py`).

Flat terrain has no convex edges, so it acts as a plane: bodies do not catch on its inner edges.
Corners and spheres touch the triangles that their path meets in the step.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.5 (regions of a triangle).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    add_scaled3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    sub3,
    transposed,
)
from rbdyn_ros.engine.collision.kinds import CAPSULE, CYLINDER, SPHERE, TRIMESH
from rbdyn_ros.engine.collision.triangle_tree import WALK, mesh_meets
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.compiler.stack import stack_ints
from rbdyn_ros.engine.contact.points.contact_list import near, order, paths, reach_of
from rbdyn_ros.engine.contact.points.field_rims import list_rims
from rbdyn_ros.engine.contact.points.ground import (
    FIRST_TRIANGLE,
    SAME_POINT,
    begin_ground,
    deepest_of,
    goes_out,
    ground_at,
    is_known,
    is_on,
    list_corner,
    list_ground_contact,
    next_in_ground,
    plane_of,
    velocity_in_ground,
)
from rbdyn_ros.engine.contact.points.ridges import ridges
from rbdyn_ros.model.geometry.geom_pairs import BY_TERRAIN


@optional_stage("terrain_stage")
def _by_address(table, row):
    terrain(model_at(table), data_at(table, row))


@kernel
def terrain(m, d):
    """List the contacts of the geometries of moving bodies with terrain."""
    for g in range(m.ngeommoving):
        for o in range(m.ngeomlink, m.ngeom):
            if m.geom_touches[g, o - m.ngeomlink] == BY_TERRAIN:
                first = d.ncon
                list_field(m, d, g, o)
                order(d, first)


@kernel
def list_field(m, d, g, o):
    """List the contacts of geometry g with the height field or triangle mesh o."""
    i, F_T = m.geom_bodyid[g], transposed(load9(m.geom_mat, o))
    B = mat_mul(F_T, load9(d.xmat, i))  # rotation of the body in the frame of the field
    b = mat_vec(F_T, sub3(load3(d.xpos, i), load3(m.geom_pos, o)))
    R, t = mat_mul(B, load9(m.geom_mat, g)), add3(b, mat_vec(B, load3(m.geom_pos, g)))
    centre = add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), load3(m.geom_pos, g)))
    reach = reach_of(m, d, i, centre, m.geom_rbound[g])
    half, size = load3(m.geom_half, g), load3(m.geom_size, o)
    x = abs(R[0]) * half[0] + abs(R[1]) * half[1] + abs(R[2]) * half[2] + reach
    y = abs(R[3]) * half[0] + abs(R[4]) * half[1] + abs(R[5]) * half[2] + reach
    z = abs(R[6]) * half[0] + abs(R[7]) * half[1] + abs(R[8]) * half[2] + reach
    if m.geom_type[o] == TRIMESH:
        deep = deepest_of(m, g)
        if not mesh_meets(m, o, t, (x + deep, y + deep, z + deep)):
            return
    elif not (abs(t[0]) <= size[0] + x and abs(t[1]) <= size[1] + y):
        return
    kind = m.geom_type[g]
    if kind == SPHERE or kind == CAPSULE:
        for n in range(m.geom_vertnum[g]):
            at = add3(t, mat_vec(R, load3(m.vert_pos, m.geom_vertadr[g] + n)))
            _ball(m, d, g, o, at, n, reach)
    elif kind == CYLINDER:
        list_rims(m, d, g, o, R, t, reach)
    else:
        for n in range(m.geom_vertnum[g]):
            at = add3(t, mat_vec(R, load3(m.vert_pos, m.geom_vertadr[g] + n)))
            list_corner(m, d, g, o, at, n, reach)
    ridges(m, d, g, o, R, t, (x, y, z), reach)


@kernel
def _ball(m, d, g, o, x, end, reach):
    """Add the contacts of a sphere with the triangles on which the foot of its centre x lies."""
    first, radius, walk = d.ncon, m.geom_radius[g], stack_ints(WALK, 1)
    most = radius + reach
    triangle, dist, normal = ground_at(m, o, x, most)
    if triangle >= 0 and dist < 0.0:  # the centre is in the ground
        if m.geom_type[o] == TRIMESH and dist < -radius:
            return
        at = add_scaled3(x, normal, -radius)
        if goes_out(m, d, g, o, at, normal, dist - radius):
            return
        feature = FIRST_TRIANGLE + 2 * triangle + end
        list_ground_contact(m, d, g, o, at, normal, dist - radius, feature, True)
        return
    half = (most, most, most)
    begin_ground(m, o, x, half, walk)
    while True:
        triangle = next_in_ground(m, o, x, half, walk)
        if triangle < 0:
            return
        dist, normal = plane_of(m, o, triangle, x)
        if not (dist >= 0.0 and dist < most):
            continue
        at = add_scaled3(x, normal, -radius)
        if is_known(m, d, o, at, first, SAME_POINT * radius):
            continue
        if goes_out(m, d, g, o, at, normal, dist - radius):
            continue
        if _meets(m, d, g, o, triangle, x, dist, normal):
            feature = FIRST_TRIANGLE + 2 * triangle + end
            list_ground_contact(m, d, g, o, at, normal, dist - radius, feature, True)


@inline
def _meets(m, d, g, o, triangle, x, dist, normal):
    """Return whether a sphere's centre has its foot on a triangle, now or when they touch."""
    radius = m.geom_radius[g]
    for late in range(paths(d)):
        v, t = velocity_in_ground(m, d, g, o, x, late), 0.0
        if dist - radius >= near(m):  # the time at which the sphere touches the plane in the step
            rate = -dot3(normal, v)
            if not rate * m.opt.timestep > dist - radius:
                continue
            t = (dist - radius) / rate
        foot = add_scaled3(add_scaled3(x, v, t), normal, -dist)
        foot = add_scaled3(foot, normal, -t * dot3(normal, v))
        if is_on(m, o, triangle, foot, dist):
            return True
    return False

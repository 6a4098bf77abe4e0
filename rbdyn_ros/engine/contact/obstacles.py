"""Contact points between geometries of bodies and obstacles in the world.

A geometry makes contact at its corners: the corners of a mesh's convex hull, a sphere's centre
with a radius, both ends of a capsule. A cylinder meets a plane at the lowest points of its rims.
Of an obstacle, the centre of a sphere touches all geometries but meshes. Two boxes meet at faces
and edges (boxes.py), a capsule and a box also at the point of its axis nearest to the box. Where
edges of cylinders and meshes can touch an obstacle, pairs.py finds the contacts.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.engine.collision.kinds import BOX, CAPSULE, CYLINDER, MESH, PLANE, SPHERE
from rbdyn_ros.engine.collision.sweep import BOUND_MARGIN
from rbdyn_ros.engine.contact.boxes import BOX_POINTS, box_points
from rbdyn_ros.engine.contact.contact_list import (
    AT_END,
    PREPARE,
    list_obstacle_contact,
    order,
    reach_of,
)
from rbdyn_ros.engine.contact.memory import recall
from rbdyn_ros.engine.contact.obstacle_distance import (
    distance_to_obstacle,
    from_obstacle,
    nearest_on_line,
)
from rbdyn_ros.engine.contact.rims import lowest_angle, on_rim
from rbdyn_ros.engine.contact.start import start_contacts
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.spatial import (
    add3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.stack import stack_floats, stack_ints

LEVEL_SLOPE = 2e-3  # slope [rad] below which a capsule lies along a face
NO_END = 0.01  # part of its length near an end, which has a contact of its own


@optional_stage("contact_stage")
def _by_address(table, row):
    contact(model_at(table), data_at(table, row))


@kernel
def contact(m, d):
    """List the contacts with all that the law needs; needs com_vel.

    The solution of a step is a stage of its own (solve_step.py). A step that looks for contacts
    that begin in it (late_contacts.py) lists the points first, and has the rest written only if
    there are new ones.
    """
    phase = d.contact_phase[0]
    if phase != PREPARE:
        list_points(m, d)
    if phase != AT_END:
        recall(d)
        start_contacts(m, d)


@kernel
def list_points(m, d):
    """List the contacts, in the order of contact_key: obstacles, moving bodies, height fields."""
    d.ncon = d.ndropped = 0
    for g in range(m.ngeommoving):
        centre = _in_world(d, m.geom_bodyid[g], load3(m.geom_pos, g))
        reach = reach_of(m, d, m.geom_bodyid[g], centre, m.geom_rbound[g])
        for o in range(m.ngeomlink, m.ngeom):
            if m.geom_touches[g, o - m.ngeomlink] != 1:
                continue
            if distance_to_obstacle(m, o, centre) < m.geom_rbound[g] + reach:
                _list_obstacle(m, d, g, o, reach)
    if m.npush > 0:
        call_stage(m.pair_stage, m, d)
    if m.nfield > 0:
        call_stage(m.terrain_stage, m, d)


@kernel
def _list_obstacle(m, d, g, o, reach):
    """Find the contacts of a geometry and an obstacle, up to the distance `reach`."""
    kind, other = m.geom_type[g], m.geom_type[o]
    if kind == CYLINDER and other == PLANE:
        _rims(m, d, g, o, reach)
    elif other == SPHERE and kind != SPHERE and kind != MESH:
        _ball(m, d, g, o, reach)
    elif other == BOX and kind == BOX:
        first = d.ncon
        _boxes(m, d, g, o, reach)
        order(d, first)
    elif other == PLANE:
        _lowest_corners(m, d, g, o, reach)
    else:
        first, (p, R) = m.geom_vertadr[g], _pose(m, d, g)
        for n in range(m.geom_vertnum[g]):
            _corner(m, d, g, o, add3(p, mat_vec(R, load3(m.vert_pos, first + n))), reach, n)
        if other == BOX and kind == CAPSULE:
            _middle(m, d, g, o, reach)


@kernel
def _boxes(m, d, g, o, reach):
    points, names = stack_floats(BOX_POINTS, 4), stack_ints(BOX_POINTS, 1)
    (p, R), half = _pose(m, d, g), load3(m.geom_size, g)
    q, T, block = load3(m.geom_pos, o), load9(m.geom_mat, o), load3(m.geom_size, o)
    number, normal = box_points(p, R, half, q, T, block, reach, points, names)
    for n in range(number):
        list_obstacle_contact(m, d, g, o, load3(points, n), normal, points[n, 3], names[n, 0])


@inline
def _in_world(d, i, x):
    return add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), x))


@inline
def _pose(m, d, g):
    """Return position and rotation of a geometry in the world."""
    i = m.geom_bodyid[g]
    return _in_world(d, i, load3(m.geom_pos, g)), mat_mul(load9(d.xmat, i), load9(m.geom_mat, g))


@inline
def _corner(m, d, g, o, x, reach, feature):
    dist, normal = from_obstacle(m, o, x)
    radius = m.geom_radius[g]
    if dist < radius + reach:
        x = sub3(x, scaled3(normal, radius))
        list_obstacle_contact(m, d, g, o, x, normal, dist - radius, feature)


@kernel
def _lowest_corners(m, d, g, o, reach):
    """Add contacts of corners with a plane, in axes of the geometry, as most are far away."""
    p, R = _pose(m, d, g)
    up = (m.geom_mat[o, 2], m.geom_mat[o, 5], m.geom_mat[o, 8])
    height = dot3(up, sub3(p, load3(m.geom_pos, o)))
    normal = mat_vec(transposed(R), up)
    half, margin = load3(m.geom_half, g), reach + BOUND_MARGIN * m.geom_rbound[g]
    deep = abs(normal[0]) * half[0] + abs(normal[1]) * half[1] + abs(normal[2]) * half[2]
    if height - deep > margin:  # its bounding box is above the plane
        return
    first, number = m.geom_vertadr[g], m.geom_vertnum[g]
    corners = m.vert_pos[first : first + number]
    low = m.geom_radius[g] + margin - height
    n = _next_low(corners, 0, normal, low)
    while n < number:
        x = add3(p, mat_vec(R, load3(corners, n)))
        _corner_on_plane(m, d, g, o, x, up, reach, n)
        n = _next_low(corners, n + 1, normal, low)


@kernel
def _next_low(corners, n, normal, low):
    """Return the number of the next corner, from n on, that is below a height.

    A loop of its own, which keeps all that it needs in registers: a corner takes half the time.
    """
    for k in range(n, len(corners)):
        if dot3(normal, load3(corners, k)) < low:
            return k
    return len(corners)


@inline
def _corner_on_plane(m, d, g, o, x, up, reach, feature):
    """Add the contact of a corner with a plane: as _corner, at less cost."""
    radius = m.geom_radius[g]
    dist = dot3(up, sub3(x, load3(m.geom_pos, o)))
    if dist < radius + reach:
        list_obstacle_contact(m, d, g, o, sub3(x, scaled3(up, radius)), up, dist - radius, feature)


@kernel
def _ball(m, d, g, o, reach):
    """Add the contact of a sphere of the world with a geometry."""
    (p, R), radius = _pose(m, d, g), m.geom_size[o, 0]
    x = load3(m.geom_pos, o)
    local = mat_vec(transposed(R), sub3(x, p))
    dist, away = distance(m.geom_type[g], load3(m.geom_size, g), local)
    if dist < radius + reach:
        normal = scaled3(mat_vec(R, away), -1.0)
        x = add3(x, scaled3(normal, dist))
        list_obstacle_contact(m, d, g, o, x, normal, dist - radius, 0)


@kernel
def _rims(m, d, g, o, reach):
    """Add contacts of a plane with three points of each rim, 120 degrees apart, the lowest first.

    Three such points of an end on the plane resist tilting equally in every direction, whichever
    is the lowest.
    """
    centre, R = _pose(m, d, g)
    up = (m.geom_mat[o, 2], m.geom_mat[o, 5], m.geom_mat[o, 8])
    angle = lowest_angle(R, up)
    for n in range(3):
        a, b = on_rim(m, g, angle, n)
        for end in range(2):
            z = m.geom_size[g, 1] if end == 1 else -m.geom_size[g, 1]
            x = add3(centre, mat_vec(R, (a, b, z)))
            _corner_on_plane(m, d, g, o, x, up, reach, 2 * n + end)


@kernel
def _middle(m, d, g, o, reach):
    """Add the contact of the point of a capsule's axis nearest to a box, unless it is an end.

    If the axis is parallel to a face, a whole segment is equally near and both its ends make
    contact: each is the nearest point when the axis is tilted a little to its side.
    """
    (centre, R), half = _pose(m, d, g), m.geom_size[g, 1]
    p = add3(centre, mat_vec(R, (0.0, 0.0, -half)))
    line = mat_vec(R, (0.0, 0.0, 2.0 * half))
    tilt = LEVEL_SLOPE * np.sqrt(dot3(line, line))
    low, high = nearest_on_line(m, o, p, line, tilt), nearest_on_line(m, o, p, line, -tilt)
    if high - low < NO_END:
        low = high = nearest_on_line(m, o, p, line, 0.0)
    if low > NO_END and low < 1.0 - NO_END:
        _corner(m, d, g, o, add3(p, scaled3(line, low)), reach, m.geom_vertnum[g])
    if high > max(low, NO_END) and high < 1.0 - NO_END:
        _corner(m, d, g, o, add3(p, scaled3(line, high)), reach, m.geom_vertnum[g] + 1)

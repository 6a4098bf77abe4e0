# SPDX-License-Identifier: Apache-2.0
"""Bodies in contact with the floor or an obstacle, and their reference values."""

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.law.contact_constants import OUT, STIFF

BALL = rb.Sphere(0.1)
CUBE = rb.Box((0.2, 0.2, 0.2))
CYLINDER = rb.Cylinder(0.1, 0.2)
CAPSULE = rb.Capsule(0.05, 0.2)
POINT = rb.Points(((0.0, 0.0, 0.0),))

#: Shapes of about 0.2 m; the last shape is the hull of a mesh away from the mesh's origin.
SHAPES = {
    "sphere": BALL,
    "box": rb.Box((0.1, 0.16, 0.22)),
    "cylinder": CYLINDER,
    "capsule": CAPSULE,
    "points": rb.Points(tuple(np.random.default_rng(3).uniform(-0.1, 0.1, (30, 3)) + 0.07)),
}

G = 9.81


def free(shape, mass=1.0, surface=None, floor=True, **more):
    """Return a SystemBuilder of one free body with one geometry.

    Args:
        shape: the geometry, around the body's origin.
        mass: mass [kg]; the solid shape, or for points a 0.1 m cube, gives the inertia.
        surface: properties of the geometry's surface.
        floor: whether there is a floor at height 0.
        more: further arguments of SystemBuilder.geometry.
    """
    system = (
        rb.SystemBuilder("free", base="world")
        .body("body", solid(shape, mass))
        .joint("free", "floating", "world", "body")
        .geometry("skin", "body", shape, surface=surface, **more)
    )
    return system.floor() if floor else system


def solid(shape, mass):
    if isinstance(shape, rb.Sphere):
        return rb.shapes.sphere(shape.radius, mass=mass)
    if isinstance(shape, rb.Box):
        return rb.shapes.box(shape.size, mass=mass)
    if isinstance(shape, rb.Cylinder):
        return rb.shapes.cylinder(shape.radius, shape.length, mass=mass)
    if isinstance(shape, rb.Capsule):
        return rb.shapes.capsule(shape.radius, shape.length, mass=mass)
    return rb.shapes.box((0.1, 0.1, 0.1), mass=mass)


def sunk(h):
    """Return the depth [m] at rest of near-rigid contacts that share the mass, with step h [s]."""
    return G * h**2 / (OUT * STIFF)


def placed(m, pos, turn=None, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0)):
    """Return Data with the free body at a pose and a velocity; `angular` is in body axes."""
    d = rb.make_data(m)
    d.qpos[:3] = pos
    d.qpos[3:7] = wxyz(turn or Rotation.identity())
    d.qvel[:3], d.qvel[3:6] = linear, angular
    return d


def wxyz(turn):
    x, y, z, w = turn.as_quat()
    return np.array([w, x, y, z])


def contacts(d):
    """Return the listed contacts as (geometry, obstacle, pos, normal, dist, force)."""
    n = min(d.ncon, len(d.contact_dist))
    first = d.model.ngeomlink
    return [
        (
            d.contact_geom[c, 1],
            d.contact_geom[c, 0] - first,
            d.contact_pos[c],
            d.contact_normal[c],
            d.contact_dist[c],
            f,
        )
        for c, f in zip(range(n), d.contact_force, strict=False)
    ]


def corners(m, d, g):
    """Return the corners (n, 3) of a geometry in world axes; d.xpos must belong to d.qpos."""
    i, first = m.geom_bodyid[g], m.geom_vertadr[g]
    corners = m.vert_pos[first : first + m.geom_vertnum[g]]
    local = m.geom_pos[g] + corners @ m.geom_mat[g].reshape(3, 3).T
    return d.xpos[i] + local @ d.xmat[i].reshape(3, 3).T


def lift(m, d, height):
    """Raise a robot with a free base until its lowest point is at z = height."""
    rb.kinematics(m, d)
    lowest = min((corners(m, d, g)[:, 2] - m.geom_radius[g]).min() for g in range(m.ngeommoving))
    d.qpos[2] += height - lowest

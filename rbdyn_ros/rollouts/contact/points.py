# SPDX-License-Identifier: Apache-2.0
"""The contact pairs of a robot in lanes, and the pairs for the engine's own code.

Code for the Model has a fixed list of contact points: the spheres of the robot on the planes and
height fields of the world. The other geometries of the robot are guarded: while they are far from
planes and fields they have no effect, and if one comes near, the engine's own step advances the
robot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.engine.collision.kinds import HFIELD, MESH, PLANE, SPHERE
from rbdyn_ros.engine.contact.law.surfaces import DEFAULT_SOLREF
from rbdyn_ros.errors import quote
from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.model.declared.options import EULER, IMPLICIT_DAMPING, INTEGRATORS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.programs.symbols import not_traceable
from rbdyn_ros.specialization.symbolic import Objects

#: Most contact points of a robot. The matrix of a pass has three rows for each point, and with
#: more points the engine's own step is faster.
MOST_POINTS = 8

#: Radius of the balls around the corners of a guarded mesh, as a part of the size of the mesh, and
#: the number of corners up to which a mesh needs no balls.
BALL, FEW_CORNERS = 0.04, 8


@dataclass(frozen=True)
class Pair:
    """A geometry of a moving body and an obstacle.

    Attributes:
        geom: the geometry.
        obstacle: the plane or height field.
        key: key of the first contact of the pair, as in d.contact_key.
    """

    geom: int
    obstacle: int
    key: int


@dataclass(frozen=True)
class Touching:
    """Pairs of a Model.

    Attributes:
        planes: pairs of a sphere and a plane, with a contact point in lanes, sorted by key.
        fields: pairs of a sphere and a height field, with larger keys.
        guarded: pairs of another geometry and a plane.
        guarded_fields: pairs of another geometry and a height field.
    """

    planes: tuple[Pair, ...]
    fields: tuple[Pair, ...]
    guarded: tuple[Pair, ...]
    guarded_fields: tuple[Pair, ...]

    @property
    def points(self) -> tuple[Pair, ...]:
        """The pairs with a contact point in lanes."""
        return self.planes + self.fields


def touching(m: Model) -> Touching:
    """Return the pairs of a Model.

    Raises:
        ModelError: the contacts of the Model need the engine's own code.
    """
    for reason in (_of_joints(m), _of_world(m)):
        if reason:
            raise not_traceable(reason, f"'{m.name}'")
    planes, guarded = _pairs(m, PLANE, 0)
    fields, guarded_fields = _pairs(m, HFIELD, m.ngeomlink * m.nobstacle + m.npush)
    found = Touching(planes, fields, guarded, guarded_fields)
    reason = _of_points(m, found.points)
    if reason:
        raise not_traceable(reason, f"'{m.name}'")
    return found


def _pairs(m: Model, kind: int, first: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Return the pairs of spheres, and of other geometries, with obstacles of one kind.

    Contacts with them have keys from pair number `first` on, see contact_list.py.
    """
    pairs = [
        Pair(g, o, (first + g * m.nobstacle + o - m.ngeomlink) * FEATURES)
        for g in range(m.ngeommoving)
        for o in range(m.ngeomlink, m.ngeom)
        if m.geom_touches[g, o - m.ngeomlink] != 0 and m.geom_type[o] == kind
    ]
    points = tuple(pair for pair in pairs if m.geom_type[pair.geom] == SPHERE)
    return points, tuple(pair for pair in pairs if pair not in points)


def _of_joints(m: Model) -> str:
    """Return the reason why the joints of a Model need the engine, or ""."""
    if m.opt.integrator_id not in (EULER, IMPLICIT_DAMPING):
        allowed = f"{INTEGRATORS[EULER]} and {INTEGRATORS[IMPLICIT_DAMPING]}"
        name = INTEGRATORS[m.opt.integrator_id]
        return (
            f"with contact the integrator '{name}' runs only in the engine; allowed are {allowed}"
        )
    exact = bool(m.opt.exact_stops and m.opt.passive)
    limited = {*np.flatnonzero(m.jnt_limited), *m.dof_jntid[m.limit_dofid]}
    soft = [j for j in limited if m.jnt_solref[j, 0] > m.opt.timestep / np.pi]
    found = {
        "a single free body": m.nflight,
        "a joint that follows another one or a given motion": m.nqall - m.nq + m.nvall - m.nv,
        "a closed loop or another constraint": m.nefc,
        "an actuator": m.nu,
        "a joint of yaw, pitch and roll": m.nypr,
        "a limited ball joint": m.ncone if exact else 0,
        "a joint with a soft limit": len(soft) if exact else 0,
    }
    for what, number in found.items():
        if number:
            return f"with contact {what} runs only in the engine"
    return ""


def _of_world(m: Model) -> str:
    """Return the reason why the geometries around a Model need the engine, or ""."""
    if m.npush:
        first, second = (quote(m.geom_names[g]) for g in m.push_geom[0])
        return f"the contact of {first} with {second}, both moving, runs only in the engine"
    for o in range(m.ngeomlink, m.ngeom):
        known = m.geom_type[o] in (PLANE, HFIELD)
        if not known and (m.geom_touches[:, o - m.ngeomlink] != 0).any():
            what = f"contact with {quote(m.geom_names[o])}"
            return f"{what}, which is no plane and no height field, runs only in the engine"
    return ""


def _of_points(m: Model, points: tuple[Pair, ...]) -> str:
    """Return the reason why the surfaces of the contact points need the engine, or ""."""
    if not points:
        ground = "a plane or a height field"
        return f"no sphere of it can touch {ground}, and other contacts run only in the engine"
    if len(points) > MOST_POINTS:
        count, faster = len(points), f"with more than {MOST_POINTS} the engine is faster"
        return f"{count} pairs of a sphere and an obstacle can touch, and {faster}"
    for g in sorted({g for pair in points for g in (pair.geom, pair.obstacle)}):
        found = {
            "restitution": m.geom_restitution[g] != 0.0,
            "a spring": not _is_rigid(m, g),
            "viscous friction": m.geom_viscosity[g] >= 0.0,
            "torsional or rolling friction": m.geom_torsional[g] + m.geom_rolling[g] > 0.0,
            "a velocity": bool(np.any(m.geom_velocity[g])),
        }
        for what, has in found.items():
            if has:
                name = quote(m.geom_names[g])
                return f"contact with {name} runs only in the engine: its surface has {what}"
    return ""


def _is_rigid(m: Model, g: int) -> bool:
    own = m.geom_solref[g, 0] > DEFAULT_SOLREF[0] or m.geom_solref[g, 1] != DEFAULT_SOLREF[1]
    return m.geom_stiffness[g] == 0.0 and m.geom_damping[g] < 0.0 and not own


def covered(m: Model, g: int) -> tuple[Array, Array]:
    """Return centres (n, 3) and radii (n,) of balls that together contain all corners of a mesh.

    Meshes with few corners, such as boxes, need no balls.
    """
    first, number = m.geom_vertadr[g], m.geom_vertnum[g]
    if number <= FEW_CORNERS or m.geom_type[g] != MESH:
        return np.empty((0, 3)), np.empty(0)
    corners = m.vert_pos[first : first + number]
    chosen, away = [0], np.linalg.norm(corners - corners[0], axis=1)
    # take the corner farthest from the earlier corners
    while away.max() > BALL * m.geom_rbound[g]:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(corners - corners[chosen[-1]], axis=1))
    distances = np.linalg.norm(corners[:, None] - corners[chosen], axis=2)
    nearest = distances.argmin(axis=1)
    radii = [distances[nearest == k, k].max() for k in range(len(chosen))]
    return corners[chosen], np.array(radii)


def frame_of(m: Model, plane: int) -> Objects:
    """Return the axes of a plane as rows, the normal last."""
    axes: Objects = m.geom_mat[plane].reshape(3, 3).T.astype(object)
    return axes

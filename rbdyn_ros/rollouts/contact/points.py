# SPDX-License-Identifier: Apache-2.0
"""The pairs of geometries whose contacts lanes compute, and the pairs for the engine's own code.

Code for the Model has a fixed list of contact points: the spheres of the robot on the planes and
height fields of the world, and both ends of capsules on planes. The other geometries of the robot
are guarded: if one of them comes near a plane or field, the engine's own step advances the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.engine.collision.kinds import CAPSULE, HFIELD, MESH, PLANE, SPHERE
from rbdyn_ros.engine.contact.law.surfaces import DEFAULT_SOLREF
from rbdyn_ros.errors import quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.model.declared.options import EULER, IMPLICIT_DAMPING, INTEGRATORS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.programs.symbols import not_traceable
from rbdyn_ros.specialization.symbolic import Objects

#: Largest number of contact points of a robot. The matrix of a pass has three rows for each sphere
#: and five for each capsule; with more points the engine's own step is faster.
MOST_POINTS = 8

#: A robot with more pairs of its own geometries has no contact points for these pairs, because
#: most of many pairs seldom touch.
FEW_PAIRS = 4

#: Geometries that touch planes and each other in lanes.
ROUND = (SPHERE, CAPSULE)

#: Length of the friction memory of a contact that a compiled loop lists: the normal force;
#: friction, in world axes or, for an own pair, in the axes of the first body; and the key.
BY_KEY = 5

#: Radius of the balls that cover the corners of a guarded mesh, as a part of the mesh's size, and
#: the largest number of corners of a mesh that needs no balls.
BALL, FEW_CORNERS = 0.04, 8


@dataclass(frozen=True)
class Pair:
    """A geometry of a moving body and an obstacle, or another geometry of the robot.

    Attributes:
        geom: the geometry of a moving body.
        obstacle: the plane, the height field, or the other geometry.
        key: key of the contact, or of the first contact of the pair, as in d.contact_key.
        corner: number of the corner of the geometry that makes contact.
        parts: components of friction: two along the surface, and for capsules one against spin.
    """

    geom: int
    obstacle: int
    key: int
    corner: int = 0
    parts: int = 2


@dataclass(frozen=True)
class Touching:
    """The contact pairs of a Model, by the code that handles them.

    Attributes:
        planes: pairs of a sphere, or of an end of a capsule, and a plane, with a contact point in
            lanes, sorted by key. The two ends of a capsule are neighbours.
        pairs: pairs of the robot's own spheres and capsules, each with one contact point.
            `obstacle` is the first geometry.
        fields: pairs of a sphere and a height field, with larger keys.
        guarded, guarded_fields: pairs of any other geometry and a plane, or a height field.
        own: whether the robot can touch itself. If an own pair without a contact point may touch,
            the engine does the step.
    """

    planes: tuple[Pair, ...]
    pairs: tuple[Pair, ...]
    fields: tuple[Pair, ...]
    guarded: tuple[Pair, ...]
    guarded_fields: tuple[Pair, ...]
    own: bool

    @property
    def loops(self) -> bool:
        """Whether compiled functions must list contacts lane by lane."""
        return self.own or bool(self.fields)

    @property
    def points(self) -> tuple[Pair, ...]:
        """The pairs with a contact point in lanes."""
        return self.planes + self.pairs + self.fields


def touching(m: Model) -> Touching:
    """Return the contact pairs of a Model.

    Raises:
        ModelError: the contacts of the Model need the engine's own code.
    """
    for reason in (_of_joints(m), _of_own_pairs(m), _of_world(m)):
        if reason:
            raise not_traceable(reason, f"'{m.name}'")
    on_planes, fields = _pairs(m, PLANE, 0), _pairs(m, HFIELD, m.ngeomlink * m.nobstacle + m.npush)
    balls = [pair for pair in (*on_planes, *fields) if m.geom_type[pair.geom] == SPHERE]
    ends = _ends(m, on_planes, MOST_POINTS - len(balls))
    room = max(MOST_POINTS - len(balls) - len(ends), 0) if m.npush <= FEW_PAIRS else 0
    own = [
        Pair(int(h), int(g), (m.ngeomlink * m.nobstacle + n) * FEATURES)
        for n, (g, h) in enumerate(m.push_geom[:room])
    ]
    points = sorted([*balls, *ends, *own], key=lambda pair: pair.key)
    reason = _too_many(balls) or _of_points(m, points)
    if reason:
        raise not_traceable(reason, f"'{m.name}'")
    known = {(pair.geom, pair.obstacle) for pair in points}
    return Touching(
        tuple(pair for pair in points if m.geom_type[pair.obstacle] == PLANE),
        tuple(own),
        tuple(pair for pair in points if m.geom_type[pair.obstacle] == HFIELD),
        tuple(pair for pair in on_planes if (pair.geom, pair.obstacle) not in known),
        tuple(pair for pair in fields if (pair.geom, pair.obstacle) not in known),
        m.npush > 0,
    )


def _pairs(m: Model, kind: int, first: int) -> list[Pair]:
    """Return the pairs of geometries with obstacles of one kind.

    The keys of their contacts begin with pair number `first`, see contact_list.py.
    """
    return [
        Pair(g, o, (first + g * m.nobstacle + o - m.ngeomlink) * FEATURES)
        for g in range(m.ngeommoving)
        for o in range(m.ngeomlink, m.ngeom)
        if m.geom_touches[g, o - m.ngeomlink] != 0 and m.geom_type[o] == kind
    ]


def _ends(m: Model, pairs: Sequence[Pair], room: int) -> list[Pair]:
    """Return both ends of each capsule with which a robot is likely to touch planes.

    These are capsules at the ends of the tree, on bodies without spheres, that are nearest to a
    plane at qpos0 and not higher than the lowest sphere. At most `room` points are returned.
    """
    inner: set[int] = set()
    for pair in pairs:
        body, kind = int(m.geom_bodyid[pair.geom]), m.geom_type[pair.geom]
        inner |= {body} if kind == SPHERE else set()
        inner |= _parents(m, body) if kind in ROUND else set()
    d = make_data(m)
    kinematics(m, d)
    heights = {pair: _height(m, d, pair) for pair in pairs if m.geom_type[pair.geom] in ROUND}
    balls = [heights[pair] for pair in heights if m.geom_type[pair.geom] == SPHERE]
    rods = [
        pair
        for pair, height in heights.items()
        if m.geom_type[pair.geom] == CAPSULE
        and m.geom_bodyid[pair.geom] not in inner
        and height <= min(balls, default=np.inf)
    ]
    return [
        replace(pair, key=pair.key + end, corner=end, parts=3)
        for pair in sorted(rods, key=heights.__getitem__)[: max(room, 0) // 2]
        for end in range(2)
    ]


def _height(m: Model, d: Data, pair: Pair) -> float:
    """Return the height of a sphere or a capsule above a plane."""
    g, body, first = pair.geom, m.geom_bodyid[pair.geom], m.geom_vertadr[pair.geom]
    R, B = d.xmat[body].reshape(3, 3), m.geom_mat[g].reshape(3, 3)
    ends = m.geom_pos[g] + m.vert_pos[first : first + m.geom_vertnum[g]] @ B.T
    away = d.xpos[body] + ends @ R.T - m.geom_pos[pair.obstacle]
    return float((away @ frame_of(m, pair.obstacle)[2].astype(float)).min() - m.geom_radius[g])


def _parents(m: Model, body: int) -> set[int]:
    """Return the bodies that carry a body, including the world."""
    found = set()
    while body > 0:
        body = int(m.body_parentid[body])
        found.add(body)
    return found


def _of_joints(m: Model) -> str:
    """Return the reason why joints, actuators or the integrator need the engine's code, or ""."""
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


def _of_own_pairs(m: Model) -> str:
    """Return the reason why own pairs of geometries need the engine's code, or ""."""
    for pair in m.push_geom:
        bodies, (first, second) = m.geom_bodyid[pair], (quote(m.geom_names[g]) for g in pair)
        found = {
            "of which one is an obstacle": bool((bodies == 0).any()),
            "which are not spheres and capsules": not {*m.geom_type[pair]} <= {*ROUND},
            "which are on two trees": len({*m.body_rootid[bodies]}) > 1,
        }
        for what, has in found.items():
            if has:
                return f"the contact of {first} with {second}, {what}, runs only in the engine"
    return ""


def _of_world(m: Model) -> str:
    """Return the reason why the geometries of the world need the engine's code, or ""."""
    for o in range(m.ngeomlink, m.ngeom):
        known = m.geom_type[o] in (PLANE, HFIELD)
        if not known and (m.geom_touches[:, o - m.ngeomlink] != 0).any():
            what = f"contact with {quote(m.geom_names[o])}"
            return f"{what}, which is neither a plane nor a height field, runs only in the engine"
    return ""


def _too_many(balls: Sequence[Pair]) -> str:
    """Return the reason why the number of spheres needs the engine's code, or ""."""
    if len(balls) <= MOST_POINTS:
        return ""
    faster = f"with more than {MOST_POINTS} the engine is faster"
    return f"{len(balls)} pairs of a sphere and an obstacle can touch, and {faster}"


def _of_points(m: Model, points: Sequence[Pair]) -> str:
    """Return the reason why the surfaces of the contact points need the engine's code, or ""."""
    if not points:
        ground = "no sphere of it can touch a plane or a height field, and no capsule a plane"
        return f"{ground}; other contacts run only in the engine"
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

# SPDX-License-Identifier: Apache-2.0
"""The pairs of geometries of two bodies that push each other, and the faces of their meshes."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Arrays, Bools, Ints, NamedArrays
from rbdyn_ros.description.meshes.hulls import hull_faces
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.geometry.geom_pairs import AS_LINKS, FREE_DOFS, links_of
from rbdyn_ros.model.geometry.geoms import TERRAIN, GeomType, rows

#: For each type of geometry, the types of obstacles that it touches with more than its corners.
WITH_EDGES = {
    GeomType.CYLINDER: (GeomType.BOX,),
    GeomType.MESH: (GeomType.SPHERE, GeomType.BOX),
}

#: Largest number of corners of a face; if a face has more, some of them are left out.
FACE_CORNERS = 16


def no_pairs(count: int) -> Arrays:
    """Return the fields of push_geom and of faces for a Model without pushing pairs.

    Args:
        count: number of all geometries.
    """
    none = np.zeros(0, np.int64)
    return {
        "push_geom": none.reshape(0, 2),
        "geom_facenum": np.zeros(count, np.int64),
        "face_normal": np.zeros((0, 3)),
        "face_vertnum": none,
        "face_vert": none,
    }


def pushing_pairs(fields: NamedArrays, self_collision: bool) -> Ints:
    """Return the pairs of geometries whose edges and faces push each other, (n, 2), ascending.

    The pairs of distance_geom push each other if they belong to two robots, or with
    `self_collision` to one robot, or if they are a link and an obstacle of the types WITH_EDGES or
    AS_LINKS. Bodies connected by a loop joint, and bodies that roll on each other, are left out.
    If the mass matrix is too large, only geometries of the world push geometries of a robot.

    Args:
        fields: all fields of a Model.
        self_collision: whether links of one robot push each other.
    """
    pairs = fields["distance_geom"]
    pairs = pairs[(pairs[:, 1] < links_of(fields)) | _have_edges(fields, pairs)]
    if not self_collision:
        pairs = pairs[~of_one_robot(fields, pairs)]
    joined = np.concatenate([fields["loop_bodyid"], fields["roll_bodyid"]])
    known = {frozenset(two) for two in joined.tolist()}
    bodies = fields["geom_bodyid"][pairs]
    apart = np.array([frozenset(two) not in known for two in bodies.tolist()], bool)
    if len(fields["M_colind"]) == 0:
        apart &= (bodies == 0).any(axis=1)
    kept: Ints = pairs[apart]
    return kept


def _have_edges(fields: NamedArrays, pairs: Ints) -> Bools:
    """Return which pairs (n, 2) are a moving geometry and an obstacle that touch by edges."""
    kind, other = fields["geom_type"][pairs].T
    found: Bools = np.isin(other, AS_LINKS)
    for one, obstacles in WITH_EDGES.items():
        found |= (kind == one) & np.isin(other, obstacles)
    found &= (pairs[:, 1] >= links_of(fields)) & (fields["geom_bodyid"][pairs[:, 0]] > 0)
    return found


def of_one_robot(fields: NamedArrays, pairs: Ints) -> Bools:
    """Return whether both geometries of each pair (n, 2) belong to the same robot.

    Each free tree and each robot of a scene counts as a robot; all other bodies that joints
    connect to the world are one more robot. Trees connected by loop joints are one robot, except
    if the joint is a weld: an object held by a hand is not a part of the robot, and an object
    welded to the world can still collide with the robot. An obstacle belongs to no robot.
    """
    robots = _robots(fields)[fields["geom_bodyid"][pairs]]
    of_scene = fields["geom_robotid"][pairs]
    by_links = pairs.max(axis=1, initial=0) < links_of(fields)
    same: Bools = (robots[:, 0] == robots[:, 1]) & (of_scene[:, 0] == of_scene[:, 1]) & by_links
    return same


def _robots(fields: NamedArrays) -> Ints:
    """Return the number of each body's robot (nbody,), 0 for bodies on the world."""
    root = fields["body_rootid"]
    free = np.concatenate([[False], np.asarray(fields["jnt_dofnum"]) == FREE_DOFS])
    robots: Ints = np.where(free[root], root, 0)
    moving = np.asarray(fields["loop_type"]) != JointType.WELD
    for first, second in fields["loop_bodyid"][moving].tolist():
        low, high = sorted((robots[first], robots[second]))
        robots[robots == high] = low
    return robots


def pushing(fields: NamedArrays, pairs: Ints) -> Arrays:
    """Return push_geom for some pairs, and the faces of the meshes among them.

    If the world has terrain, meshes of moving bodies can touch it, so they need faces too.
    """
    count = len(fields["geom_bodyid"])
    number = np.zeros(count, np.int64)
    normals, lengths, corners = [], list[int](), list[int]()
    starts, sizes = fields["geom_vertadr"], fields["geom_vertnum"]
    terrain = np.isin(fields["geom_type"], TERRAIN).any()
    touching = np.flatnonzero(fields["geom_bodyid"] if terrain else [])
    for g in np.union1d(pairs, touching).astype(np.int64).tolist():
        if fields["geom_type"][g] != GeomType.MESH:
            continue
        points = fields["vert_pos"][starts[g] : starts[g] + sizes[g]]
        for normal, ring in hull_faces(points):
            few = _few(ring)
            normals.append(normal)
            lengths.append(len(few))
            corners += few
            number[g] += 1
    return {
        "push_geom": pairs,
        "geom_facenum": number,
        "face_normal": rows(normals, 3),
        "face_vertnum": np.array(lengths, np.int64),
        "face_vert": np.array(corners, np.int64),
    }


def _few(ring: list[int]) -> list[int]:
    """Return at most FACE_CORNERS corners of a face, evenly chosen."""
    if len(ring) <= FACE_CORNERS:
        return ring
    return [ring[n * len(ring) // FACE_CORNERS] for n in range(FACE_CORNERS)]

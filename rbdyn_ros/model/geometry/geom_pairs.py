# SPDX-License-Identifier: Apache-2.0
"""Bounds of all geometries, and the pairs that may touch."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Bools, Ints, NamedArrays
from rbdyn_ros.model.geometry.geoms import NO_LINK, TERRAIN, GeomType

#: Pairs are listed for at most this number of geometries, which have about a million pairs.
MOST_PAIRED = 1400

#: Largest number of pairs for which each Data stores a separating direction.
MOST_AXES = 1 << 14

#: Largest number of pairs that are listed as near at once; if more are near, all pairs are tested.
MOST_FOUND = 1 << 14

#: Types of obstacles that are handled like geometries of links.
AS_LINKS = (GeomType.CYLINDER, GeomType.CAPSULE, GeomType.MESH)

#: Value of geom_touches for an obstacle that is terrain.
BY_TERRAIN = 2

#: A joint with this many degrees of freedom does not connect its bodies.
FREE_DOFS = 6


def links_of(fields: NamedArrays) -> int:
    """Return the number of geometries of links; obstacles come after them."""
    return int(np.count_nonzero(fields["geom_frameid"] != NO_LINK))


def corner_radius(fields: NamedArrays) -> Arrays:
    """Return geom_radius, the radius around the corners, which only spheres and capsules have."""
    round_ones = np.isin(fields["geom_type"], (GeomType.SPHERE, GeomType.CAPSULE))
    return {"geom_radius": np.where(round_ones, fields["geom_size"][:, 0], 0.0)}


def bounding_boxes(fields: NamedArrays) -> Arrays:
    """Return geom_half, the half edges of bounding boxes; zeros for a plane."""
    half: Array = np.array(fields["geom_size"])
    kinds = fields["geom_type"]
    radius, length = half[:, 0].copy(), half[:, 1].copy()
    for kind in (GeomType.SPHERE, GeomType.CAPSULE, GeomType.CYLINDER):
        half[kinds == kind] = radius[kinds == kind, None]
    half[kinds == GeomType.CAPSULE, 2] += length[kinds == GeomType.CAPSULE]
    half[kinds == GeomType.CYLINDER, 2] = length[kinds == GeomType.CYLINDER]
    owner = np.repeat(np.arange(len(kinds)), fields["geom_vertnum"])
    mesh = kinds[owner] == GeomType.MESH
    np.maximum.at(half, owner[mesh], np.abs(fields["vert_pos"][mesh]))
    triangles = np.flatnonzero(kinds == GeomType.TRIMESH)
    owner = np.repeat(triangles, fields["trimesh_vertnum"])
    np.maximum.at(half, owner, np.abs(fields["trimesh_vert"]))
    return {"geom_half": half}


def far_corners(fields: NamedArrays) -> Arrays:
    """Return geom_vertfar, with a column for each octant: 1 for x, plus 2 for y, plus 4 for z."""
    number, corners = fields["geom_vertnum"], fields["vert_pos"]
    signs = np.array([(n & 1, n >> 1 & 1, n >> 2) for n in range(8)]) * 2.0 - 1.0
    far = np.zeros((len(number), 8), np.int64)
    for g, first in enumerate((np.cumsum(number) - number).tolist()):
        if number[g] > 0:
            far[g] = np.argmax(corners[first : first + number[g]] @ signs.T, axis=0)
    return {"geom_vertfar": far}


def distance_pairs(fields: NamedArrays) -> Arrays:
    """Return distance_geom, distance_adr and distance_num: the pairs that may touch.

    The result leaves out pairs on one body, pairs of two geometries of the world, excluded pairs,
    pairs whose filters do not match, and pairs on bodies that a joint connects (parent and child).
    A joint with six degrees of freedom does not count. On the world, only links of the same robot
    count as parents, but not obstacles.

    Args:
        fields: the primary fields of a Model, body_dofnum and geom_vertadr.
    """
    body = fields["geom_bodyid"]
    count = len(body)
    if count > MOST_PAIRED:
        return listed(np.zeros((0, 2), np.int64), count)
    apart = body[:, None] != body[None, :]
    apart &= ~_adjacent(fields)
    everything = np.arange(count)
    apart &= masks_match(fields, everything, everything)
    field = fields["geom_type"] == GeomType.HFIELD  # a height field has no distance
    apart &= ~(field[:, None] | field[None, :])
    first, second = fields["exclude_geom"].T
    apart[first, second] = apart[second, first] = False
    return listed(np.argwhere(np.triu(apart)), count)


def obstacle_filter(fields: NamedArrays) -> Arrays:
    """Return geom_touches: the obstacles that geometries of moving bodies touch, and their kind.

    Pairs in push_geom are left out.

    Args:
        fields: the primary fields of a Model.
    """
    moving, links = int(np.count_nonzero(fields["geom_bodyid"])), links_of(fields)
    obstacles = np.arange(links, len(fields["geom_bodyid"]))
    touches = masks_match(fields, np.arange(moving), obstacles)
    first, second = np.concatenate([fields["exclude_geom"], fields["push_geom"]]).T
    named = (first < moving) & (second >= links)
    touches[first[named], second[named] - links] = False
    touches[:, np.isin(fields["geom_type"][links:], AS_LINKS)] = False
    terrain = np.isin(fields["geom_type"][links:], TERRAIN)
    return {"geom_touches": touches * np.where(terrain, BY_TERRAIN, 1)}


def masks_match(fields: NamedArrays, some: Ints, others: Ints) -> Bools:
    """Return a mask (n, k): whether the filters of n geometries match the filters of k others."""
    contype, conaffinity = fields["geom_contype"], fields["geom_conaffinity"]
    forth = contype[some, None] & conaffinity[None, others]
    back = conaffinity[some, None] & contype[None, others]
    match: Bools = (forth | back) != 0
    return match


def _adjacent(fields: NamedArrays) -> Bools:
    """Return a mask (n, n): whether a geometry is on the parent body of another geometry's body.

    On the world only links of the same robot count as parents.
    """
    body, parent, robot = fields["geom_bodyid"], fields["body_parentid"], fields["geom_robotid"]
    carried = np.concatenate([[False], np.asarray(fields["jnt_dofnum"]) < FREE_DOFS])
    by_link = fields["geom_frameid"] != NO_LINK
    above = np.where(carried[body] & by_link, parent[body], -1)
    adjacent = (above[:, None] == body[None, :]) & by_link[None, :]
    adjacent &= (body > 0)[None, :] | (robot[:, None] == robot[None, :])
    either: Bools = adjacent | adjacent.T
    return either


def listed(pairs: Ints, count: int) -> Arrays:
    """Return distance_geom, _adr and _num of ascending pairs (n, 2) of `count` geometries."""
    return {"distance_geom": pairs, **by_geometry("distance", pairs, count)}


def by_geometry(kind: str, pairs: Ints, count: int) -> Arrays:
    """Return the arrays <kind>_adr and <kind>_num.

    They have, for each geometry, the index of its first pair with a later geometry, and the number
    of such pairs.
    """
    number = np.bincount(pairs[:, 0], minlength=count)[:count]
    return {f"{kind}_num": number, f"{kind}_adr": np.cumsum(number) - number}

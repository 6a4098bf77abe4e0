"""All geometries of a robot and its world as arrays, and the pairs that may touch.

The geometries of moving bodies come first, then those of links fixed to the world, then the
obstacles. They serve distances (engine/collision); contact forces use the arrays of geoms.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Bools, Ints, NamedArrays
from rbdyn_ros.description.geometries import Geometry, Obstacle, Points
from rbdyn_ros.description.meshes.hulls import hull_with_edges
from rbdyn_ros.description.types import Description
from rbdyn_ros.model.geoms import GEOM_TYPES, Frames, GeomType, rows, size_of
from rbdyn_ros.model.lumping import Placement
from rbdyn_ros.model.rotation import quat_to_mat

#: Pairs are listed for at most this number of geometries: about a million pairs.
MOST_PAIRED = 1400

#: Most pairs of which each Data keeps a direction that separates them.
MOST_AXES = 1 << 14

#: Most pairs that are listed as near at once; beyond it all pairs are looked at.
MOST_FOUND = 1 << 14

#: Most corners of a face; of a rounder one some are left out.
FACE_CORNERS = 16

#: A hull with more corners has a graph of its edges: a search for the farthest corner follows it.
MANY_CORNERS = 40

_FREE_DOFS = 6

Part = Geometry | Obstacle


@dataclass(frozen=True, slots=True)
class _Placed:
    """A geometry in its body: its frame, around the centre of its corners, and its corners."""

    part: Part
    place: Placement
    corners: Array
    neighbours: list[list[int]]

    @property
    def reach(self) -> float:
        """Radius of the bounding sphere about the centre."""
        x, y, z = size_of(self.part.shape)
        kind = GEOM_TYPES[type(self.part.shape)]
        if kind == GeomType.MESH:
            return float(np.linalg.norm(self.corners, axis=1).max())
        if kind == GeomType.CAPSULE:
            return x + y
        return float(np.linalg.norm((x, y, z)))


def all_geoms(description: Description, frames: Frames) -> Arrays:
    """Return the primary fields geom_*_all, vert_*_all, vert_edgenum, edge_vert, exclude_geom.

    Args:
        description: a description that has passed description/checks.
        frames: body and placement of every link.
    """
    placed = [_placed(part, frames) for part in _parts(description, frames)]
    types = [GEOM_TYPES[type(one.part.shape)] for one in placed]
    filters = [one.part.filter for one in placed]
    neighbours = [beside for one in placed for beside in one.neighbours]
    return {
        "geom_bodyid_all": np.array([one.place.body for one in placed], np.int64),
        "geom_type_all": np.array(types, np.int64),
        "geom_contype_all": np.array([masks.contype for masks in filters], np.int64),
        "geom_conaffinity_all": np.array([masks.conaffinity for masks in filters], np.int64),
        "geom_pos_all": rows([one.place.pos for one in placed], 3),
        "geom_mat_all": rows([one.place.mat.ravel() for one in placed], 9),
        "geom_size_all": rows([size_of(one.part.shape) for one in placed], 3),
        "geom_rbound_all": np.array([one.reach for one in placed]),
        "geom_vertnum_all": np.array([len(one.corners) for one in placed], np.int64),
        "vert_pos_all": np.concatenate([np.zeros((0, 3)), *(one.corners for one in placed)]),
        "vert_edgenum": np.array([len(beside) for beside in neighbours], np.int64),
        "edge_vert": np.array([corner for beside in neighbours for corner in beside], np.int64),
        "exclude_geom": _excluded(description, [one.part for one in placed]),
    }


def all_geom_names(description: Description, frames: Frames) -> list[str]:
    """Return geom_names_all; an obstacle with the name of a geometry gets a number."""
    names = dict[str, None]()
    for part in _parts(description, frames):
        name, count = part.name, 0
        while name in names:
            count += 1
            name = f"{part.name}_{count}"
        names[name] = None
    return list(names)


def _parts(description: Description, frames: Frames) -> list[Part]:
    moving = [part for part in description.geometries if frames[part.link].body > 0]
    fixed = [part for part in description.geometries if frames[part.link].body == 0]
    return [*moving, *fixed, *description.obstacles]


def _placed(part: Part, frames: Frames) -> _Placed:
    if isinstance(part, Obstacle):
        origin = part.origin
        place = Placement(0, np.array(origin.pos, np.float64), quat_to_mat(origin.quat))
    else:
        place = frames[part.link].then(part.origin)
    if not isinstance(part.shape, Points):
        return _Placed(part, place, np.zeros((0, 3)), [])
    corners = np.array(part.shape.points, np.float64).reshape(-1, 3)
    neighbours: list[list[int]] = [[] for _ in corners]
    if len(corners) > MANY_CORNERS:
        corners, neighbours = hull_with_edges(corners)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    at = Placement(place.body, place.pos + place.mat @ centre, place.mat)
    return _Placed(part, at, corners - centre, neighbours)


def _excluded(description: Description, parts: list[Part]) -> Ints:
    """Return the pairs of geometries that `description.exclusions` names, (n, 2)."""
    numbers: dict[str, set[int]] = {}
    for g, part in enumerate(parts):
        for name in {part.name, getattr(part, "link", part.name)}:
            numbers.setdefault(name, set()).add(g)
    pairs = {
        (min(g, h), max(g, h))
        for one in description.exclusions
        for g in numbers.get(one.first, ())
        for h in numbers.get(one.second, ())
        if g != h
    }
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def bounding_boxes(fields: NamedArrays) -> Arrays:
    """Return geom_half_all; a plane has none, and zeros."""
    half: Array = np.array(fields["geom_size_all"])
    kinds = fields["geom_type_all"]
    radius, length = half[:, 0].copy(), half[:, 1].copy()
    for kind in (GeomType.SPHERE, GeomType.CAPSULE, GeomType.CYLINDER):
        half[kinds == kind] = radius[kinds == kind, None]
    half[kinds == GeomType.CAPSULE, 2] += length[kinds == GeomType.CAPSULE]
    half[kinds == GeomType.CYLINDER, 2] = length[kinds == GeomType.CYLINDER]
    owner = np.repeat(np.arange(len(kinds)), fields["geom_vertnum_all"])
    np.maximum.at(half, owner, np.abs(fields["vert_pos_all"]))
    return {"geom_half_all": half}


def far_corners(fields: NamedArrays) -> Arrays:
    """Return geom_vertfar_all: by octant, x counts 1, y 2, z 4."""
    number, corners = fields["geom_vertnum_all"], fields["vert_pos_all"]
    signs = np.array([(n & 1, n >> 1 & 1, n >> 2) for n in range(8)]) * 2.0 - 1.0
    far = np.zeros((len(number), 8), np.int64)
    for g, first in enumerate((np.cumsum(number) - number).tolist()):
        if number[g] > 0:
            far[g] = np.argmax(corners[first : first + number[g]] @ signs.T, axis=0)
    return {"geom_vertfar_all": far}


def meetings(fields: NamedArrays) -> Arrays:
    """Return meet_geom, meet_adr and meet_num: the pairs that may touch.

    Left out are pairs of one body, of two obstacles or other geometries of the world, excluded
    pairs, pairs whose filters do not match, and pairs of parent and child: a body and the bodies
    that joints connect to it. A joint with six degrees of freedom does not count, nor do
    obstacles: they are nobody's parent.

    Args:
        fields: the primary fields of a Model, body_dofnum and geom_vertadr_all.
    """
    body = fields["geom_bodyid_all"]
    count = len(body)
    if count > MOST_PAIRED:
        return _listed(np.zeros((0, 2), np.int64), count)
    apart = body[:, None] != body[None, :]
    apart &= ~_adjacent(fields)
    everything = np.arange(count)
    apart &= _masks_match(fields, everything, everything)
    terrain = fields["geom_type_all"] == GeomType.HFIELD  # it has no distance
    apart &= ~(terrain[:, None] | terrain[None, :])
    first, second = fields["exclude_geom"].T
    apart[first, second] = apart[second, first] = False
    return _listed(np.argwhere(np.triu(apart)), count)


def obstacle_filter(fields: NamedArrays) -> Arrays:
    """Return geom_touches: which obstacles the geometries of moving bodies touch, and how.

    Args:
        fields: the primary fields of a Model.
    """
    moving = int(np.count_nonzero(fields["geom_bodyid"]))
    count, obstacles = len(fields["geom_bodyid_all"]), len(fields["obstacle_type"])
    touches = _masks_match(fields, np.arange(moving), np.arange(count - obstacles, count))
    first, second = fields["exclude_geom"].T
    second = second - (count - obstacles)
    named = (first < moving) & (second >= 0)
    touches[first[named], second[named]] = False
    by_field = 1 + (fields["obstacle_type"] == GeomType.HFIELD)
    return {"geom_touches": touches * by_field}


def _masks_match(fields: NamedArrays, some: Ints, others: Ints) -> Bools:
    """Return (n, k): whether the filters of some geometries and of others match."""
    contype, conaffinity = fields["geom_contype_all"], fields["geom_conaffinity_all"]
    forth = contype[some, None] & conaffinity[None, others]
    back = conaffinity[some, None] & contype[None, others]
    match: Bools = (forth | back) != 0
    return match


def _adjacent(fields: NamedArrays) -> Bools:
    """Return (n, n): whether one geometry is on the body that carries the other's body."""
    body, parent = fields["geom_bodyid_all"], fields["body_parentid"]
    carried = np.concatenate([[False], np.asarray(fields["jnt_dofnum"]) < _FREE_DOFS])
    by_link = np.arange(len(body)) < len(body) - len(fields["obstacle_type"])
    above = np.where(carried[body] & by_link, parent[body], -1)
    adjacent = (above[:, None] == body[None, :]) & by_link[None, :]
    either: Bools = adjacent | adjacent.T
    return either


def _listed(pairs: Ints, count: int) -> Arrays:
    return {"meet_geom": pairs, **by_geometry("meet", pairs, count)}


def by_geometry(kind: str, pairs: Ints, count: int) -> Arrays:
    """Return, by geometry, its first pair with a later one, and the number of those pairs."""
    number = np.bincount(pairs[:, 0], minlength=count)[:count]
    return {f"{kind}_num": number, f"{kind}_adr": np.cumsum(number) - number}

# SPDX-License-Identifier: Apache-2.0
"""Distances between geometries of a robot and its world at qpos, without contact forces."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import Entry, check_pair, handles
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.collision.kinds import PLANE, TRIMESH
from rbdyn_ros.engine.collision.near import distance_of_pair, near_pairs
from rbdyn_ros.errors import Finding, ModelError, ParameterError, listing
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.data_fields import AXIS, PLACE
from rbdyn_ros.model.geometry.geom_pairs import MOST_PAIRED
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.geometry.pushing import of_one_robot
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.model.part_numbers import number_of

_near_pairs, _distance = Entry(near_pairs), Entry(distance_of_pair)

#: Entries that a kernel does not write stay NaN.
_NOWHERE = np.full(10, np.nan)

#: Geometries that overlap less than this at qpos0 count as only touching [m].
TOUCHING = 1e-6


class Distance(NamedTuple):
    """The signed distance of two geometries, and their nearest points.

    Attributes:
        geom1, geom2: names of the two geometries.
        distance: signed distance [m]. If the geometries overlap, it is minus the length of the
            shortest translation that separates them.
        point1, point2: the nearest points, or each geometry's deepest point in the other, in the
            world (3,) [m].
        normal: unit vector from the first to the second geometry, (3,); point2 - point1 is
            distance * normal.
    """

    geom1: str
    geom2: str
    distance: float
    point1: Array
    point2: Array
    normal: Array


class NearPairs:
    """Arrays that distance queries of one Data keep between calls; the first query makes them.

    Attributes:
        found, out: the numbers of the near pairs in distance_geom, and a row of results for each,
            see near_pairs.
    """

    def __init__(self, m: Model) -> None:
        self.place = np.zeros((m.ngeom, PLACE))
        self.order: Ints = np.arange(m.ngeom)
        self.axes = np.zeros((max(m.ndistance, 1), AXIS))
        self.no_axis = np.zeros((1, AXIS))
        self.flat = np.isin(m.geom_type, (PLANE, TRIMESH)).tolist()
        self.terrain = (m.geom_type == GeomType.HFIELD).tolist()
        self.found = np.zeros(m.ndistance, np.int64)
        self.out = np.zeros((m.ndistance, 10))


def distance(m: Model, d: Data, geom1: str | int, geom2: str | int) -> Distance:
    """Return the signed distance of two geometries at qpos, and their nearest points.

    Any two geometries or obstacles have a distance, even on the same link. A mesh is replaced by
    its convex hull unless it is a triangle mesh. The distance from an open triangle mesh is the
    distance from its surface, on both sides; inside a closed triangle mesh the distance is
    negative. The error is at most 1e-10 m (2e-10 m with a cylinder), except in rare poses, which
    docs/explanation/contact_forces.md lists under "Distances".

    Args:
        m: the Model, loaded with `contact`.
        d: its Data.
        geom1: name or number of a geometry or an obstacle, see m.geom_names.
        geom2: name or number of another geometry or obstacle.

    Raises:
        ModelError: d was not made for m, a geometry is unknown, or the Model has no geometries.
        ParameterError: geom1 and geom2 are the same, both are planes or triangle meshes, one is a
            height field, or d.qpos is not finite.

    Source: Gilbert, Johnson, Keerthi, 1988; van den Bergen, 2001.
    """
    check_pair(m, d, "distance")
    _check_geometries(m, "distance")
    _check_position(m, d)
    g, h = _number(m, geom1), _number(m, geom2)
    memory, out = memory_of(m, d), _NOWHERE.copy()
    if g == h or (memory.flat[g] and memory.flat[h]) or memory.terrain[g] or memory.terrain[h]:
        raise _no_distance(m, g, h)
    _distance.call(*handles(m, d), g, h, memory.place, memory.no_axis, out)
    return named_distance(m, g, h, out)


def _number(m: Model, geom: str | int) -> int:
    if type(geom) is str and geom in m.geom_numbers:  # the usual case, on a fast path
        return m.geom_numbers[geom]
    return number_of("geometry", m.geom_numbers, m.geom_names, geom)


def _no_distance(m: Model, g: int, h: int) -> ParameterError:
    if g == h:
        text = f"distance: geom1 and geom2 are both {m.geom_names[g]!r}; give two geometries"
        return ParameterError(Finding("same-geometry", text, "error", "geom2"))
    for k in (g, h):
        if m.geom_type[k] == GeomType.HFIELD:
            text = f"distance: {m.geom_names[k]!r} is a height field, which is not supported"
            return ParameterError(Finding("height-field", text, "error", "geom2"))
    text = "distance: geom1 and geom2 are planes or triangle meshes; at most one of them may be"
    return ParameterError(Finding("two-planes", text, "error", "geom2"))


def collisions(m: Model, d: Data, margin: float = 0.0) -> list[Distance]:
    """Return all pairs of geometries that overlap at qpos, or are up to `margin` apart.

    Obstacles are included, except height fields. The result leaves out pairs on one body or on
    parent and child, pairs excluded by an SRDF or `Contact(exclude=...)`, and pairs of one robot
    that overlap at qpos0, see `start_overlaps`. The pairs are sorted by the numbers of the
    geometries, and a result never depends on earlier calls.

    Args:
        m: the Model, loaded with `contact`.
        d: its Data.
        margin: largest distance [m]; infinity lists all pairs.

    Raises:
        ModelError: d was not made for m, or the Model has no geometries or too many.
        ParameterError: the margin is not a number, or is negative, or d.qpos is not finite.
    """
    check_pair(m, d, "collisions")
    check_pairs(m, "collisions")
    _check_position(m, d)
    unlimited = isinstance(margin, float) and margin == np.inf
    reach = margin if unlimited else finite("margin", margin, low=0.0)
    memory, overlapping = memory_of(m, d), skipped_pairs(m)
    number = find_near(m, d, reach, overlapping, memory)
    pairs = m.distance_geom[memory.found[:number]].tolist()
    rows = memory.out[:number].copy()
    return [named_distance(m, g, h, row) for (g, h), row in zip(pairs, rows, strict=True)]


def _check_position(m: Model, d: Data) -> None:
    """Raise ParameterError if a position is not finite, because geometries would have no pose."""
    if not math.isfinite(sum(d.qpos.tolist())):  # faster than np.isfinite
        finite("d.qpos", d.qpos, (m.nq,), code="qpos")


def start_overlaps(m: Model) -> list[Distance]:
    """Return the pairs of one robot that overlap at qpos0, which `collisions` leaves out.

    Such geometries usually overlap in every pose, like the pairs that MoveIt's assistant disables.

    Raises:
        ModelError: m is not a Model, or has no geometries or too many.
    """
    check_model(m, "start_overlaps")
    check_pairs(m, "start_overlaps")
    return list(_overlaps(m)[1])


def find_near(m: Model, d: Data, reach: float, skipped: Ints, memory: NearPairs) -> int:
    """Write the pairs up to `reach` apart to memory.found and memory.out; return their number."""
    number: int = _near_pairs.call(
        *handles(m, d), reach, skipped, memory.place, memory.order, memory.axes, memory.found,
        memory.out,
    )  # fmt: skip
    return number


def memory_of(m: Model, d: Data) -> NearPairs:
    """Return the memory of the queries of a Data."""
    memory: NearPairs | None = vars(d).get("near")
    if memory is None:
        memory = vars(d)["near"] = NearPairs(m)
    return memory


def named_distance(m: Model, g: int, h: int, row: Array) -> Distance:
    """Return the distance of two geometries, from a row of near_pairs."""
    names = m.geom_names
    return Distance(names[g], names[h], float(row[0]), row[4:7], row[7:10], row[1:4])


def _overlaps(m: Model) -> tuple[Ints, Sequence[Distance]]:
    """Return flags of pairs, 1 for an overlap at qpos0 within a robot, and the overlaps."""
    kept: tuple[Ints, Sequence[Distance]] | None = m.kept.get("start_overlaps")
    if kept is None:
        d = make_data(m)
        memory, skipped = NearPairs(m), np.zeros(m.ndistance, np.int64)
        number = find_near(m, d, -TOUCHING, skipped, memory)
        listed, one_robot = [], of_one_robot(vars(m), m.distance_geom)
        for pair, row in zip(memory.found[:number].tolist(), memory.out, strict=False):
            g, h = m.distance_geom[pair].tolist()
            if one_robot[pair]:
                skipped[pair] = 1
                listed.append(named_distance(m, g, h, row))
        kept = m.kept.setdefault("start_overlaps", (skipped, tuple(listed)))
    return kept


def skipped_pairs(m: Model) -> Ints:
    """Return a flag for each pair, 1 if it overlaps at qpos0.

    The first call for a Model warns of these.
    """
    known = "start_overlaps" in m.kept
    flags, overlaps = _overlaps(m)
    if overlaps and not known:
        warnings.warn(overlap_text(m.name, overlaps), RuntimeWarning, stacklevel=3)
    return flags


def overlap_names(overlaps: Sequence[Distance]) -> list[str]:
    """Return a text for each pair that overlaps, with its names and depth."""
    return [f"{one.geom1} and {one.geom2} ({-1e3 * one.distance:.3g} mm)" for one in overlaps]


def overlap_text(robot: str, overlaps: Sequence[Distance]) -> str:
    """Return a sentence about pairs that overlap at qpos0."""
    names = overlap_names(overlaps)
    return (
        f"'{robot}': {len(names)} pairs of geometries overlap at qpos0 and are left out of "
        f"collisions: {listing(names)}; disable them in an SRDF, or by Contact(exclude=...)"
    )


def _check_geometries(m: Any, function: str) -> None:
    if m.ngeom == 0:
        raise no_geometries(m, function)


def no_geometries(m: Any, function: str) -> ModelError:
    """Return the error of a function for a Model without a pair of geometries to measure."""
    text = (
        f"{function}: '{m.name}' has no geometries; give its file <collision> elements, and load "
        "it with contact=True"
    )
    return ModelError(Finding("no-geometries", text, "error", function))


def check_pairs(m: Any, function: str) -> None:
    """Raise ModelError if a Model has too many geometries for a list of their pairs."""
    _check_geometries(m, function)
    if m.ngeom > MOST_PAIRED:
        text = (
            f"{function}: '{m.name}' has {m.ngeom} geometries; their pairs are listed for at "
            f"most {MOST_PAIRED}. rb.distance works for each pair"
        )
        raise ModelError(Finding("too-many-geometries", text, "error", function))

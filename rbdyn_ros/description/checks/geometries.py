# SPDX-License-Identifier: Apache-2.0
"""Audit contact: geometries of links, obstacles of the world, and their surfaces."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.connectivity import audit_links
from rbdyn_ros.description.checks.names import Named
from rbdyn_ros.description.checks.values import (
    are_numbers,
    audit_finite,
    audit_pose,
    audit_positive,
    audit_sign,
)
from rbdyn_ros.description.parts.bounds import BOUNDS, audit_range
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    Exclusion,
    Filter,
    GroupState,
    HeightField,
    Obstacle,
    Points,
    Shape,
    Sphere,
    Surface,
    TriangleMesh,
    WorldShape,
)
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.triangles import MOST_TRIANGLES, cleaned
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import exactly, listing, quote, shown

#: Maximum number of corners of a geometry made in Python; meshes have far fewer (hulls.py).
MOST_POINTS = 10_000
#: Maximum number of heights of a height field: their triangles have numbers in contact_key.
MOST_HEIGHTS = 1 << 20
_FORCE = "force coefficient"
#: Largest contype and conaffinity.
MOST_BITS = (1 << 31) - 1
BITS = f"a whole number from 0 to {MOST_BITS}"


def audit_geometries(description: Description, links: Collection[str], audit: Audit) -> None:
    """Add an error for every geometry and obstacle with broken numbers or an unknown link.

    Args:
        description: its fields have the right types.
        links: names of the links without errors.
        audit: receives the errors.
    """
    for geometry in description.geometries:
        owner, line = f"geometry {quote(geometry.name)}", geometry.line
        if not audit.partial:  # else it may be a link that could not be read
            audit_links((geometry.link,), links, owner, line, audit)
        audit_shape(geometry.shape, owner, line, audit)
        audit_place(geometry.origin, owner, line, audit)
        audit_surface(geometry.surface, owner, line, audit)
        audit_filter(geometry.filter, owner, line, audit)
    audit_obstacles(description.obstacles, audit)
    audit_exclusions(description, description.exclusions, audit)
    _audit_states(description.states, audit)


def _audit_states(states: Iterable[GroupState], audit: Audit) -> None:
    """Add an error for every position that is not a finite number; joints may be unknown."""
    for state in states:
        owner = f"state {quote(state.name)}"
        for joint, position in state.positions.items():
            what = f"position of {quote(str(joint))}"
            given = position if isinstance(position, tuple) else (position,)
            audit_finite(what, given, len(given), "coordinate", owner, state.line, audit)


def audit_exclusions(
    description: Description, exclusions: Collection[Exclusion], audit: Audit
) -> bool:
    """Return whether a description has all names of some exclusions; add an error for others."""
    if audit.partial or not exclusions:
        return True
    before = len(audit.findings)
    parts: tuple[Named, ...] = (*description.links, *description.geometries)
    known = {part.name: None for part in (*parts, *description.obstacles)}
    meanings = _meanings(description)
    for pair in exclusions:
        for name in (pair.first, pair.second):
            if len(meanings.get(name, ())) > 1 and not pair.links:
                message = f"{quote(name)} is {' and '.join(meanings[name])}; rename one of them"
                audit.error("ambiguous-name", "excluded pair", pair.line, message, found=name)
            if name not in known:
                unknown = f"no link, geometry or obstacle is called {quote(name)}"
                message = f"{unknown}{audit.hint(name, known)}"
                audit.error(
                    "unknown-geometry", "excluded pair", pair.line, message, found=name,
                    allowed=listing(known),
                )  # fmt: skip
    return len(audit.findings) == before


def _meanings(description: Description) -> dict[str, list[str]]:
    """Return, by name, what has it and can touch; a geometry named like its link is its link."""
    found: dict[str, list[str]] = {one.link: ["a link"] for one in description.geometries}
    for geometry in description.geometries:
        if geometry.name != geometry.link:
            what = f"a geometry of link {quote(geometry.link)}"
            found.setdefault(geometry.name, []).append(what)
    for obstacle in description.obstacles:
        found.setdefault(obstacle.name, []).append("an obstacle")
    return found


def audit_obstacles(obstacles: Iterable[Obstacle], audit: Audit) -> None:
    """Add an error for every obstacle with broken numbers."""
    for obstacle in obstacles:
        owner, line = f"obstacle {quote(obstacle.name)}", obstacle.line
        audit_shape(obstacle.shape, owner, line, audit)
        audit_place(obstacle.origin, owner, line, audit)
        audit_filter(obstacle.filter, owner, line, audit)
        audit_finite("velocity", obstacle.velocity, 3, "surface velocity", owner, line, audit)
        friction: object = obstacle.friction  # infinity: the friction of the geometry holds
        if not are_numbers((friction,)):
            message = f"the friction is {shown(friction)}, not a number"
            audit.error("bad-friction", owner, line, message, allowed="a number or infinity")
        elif math.isinf(obstacle.friction) or audit_range(
            "friction", (obstacle.friction,), "friction", owner, line, audit
        ):
            audit_sign("friction", obstacle.friction, owner, line, audit)


def audit_shape(shape: Shape | WorldShape, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for every size that is not above 0 and in range."""
    if isinstance(shape, Box):
        _audit_edges(shape, owner, line, audit)
    elif isinstance(shape, Points):
        _audit_points(shape, owner, line, audit)
    elif isinstance(shape, HeightField):
        _audit_field(shape, owner, line, audit)
    elif isinstance(shape, TriangleMesh):
        _audit_triangles(shape, owner, line, audit)
    if isinstance(shape, Sphere | Cylinder | Capsule):
        audit_positive("radius", shape.radius, "contact size", owner, line, audit)
    if isinstance(shape, Cylinder | Capsule):
        audit_positive("length", shape.length, "contact size", owner, line, audit)


def audit_place(origin: Pose, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for an origin that is not a pose, or is too far away."""
    audit_pose("origin", origin, owner, line, audit, "contact length")


def _audit_edges(box: Box, owner: str, line: int | None, audit: Audit) -> None:
    if not audit_finite("size", box.size, 3, "contact size", owner, line, audit):
        return
    if min(box.size) <= 0.0:
        found = " ".join(f"{edge:g}" for edge in box.size)
        message = f"the size is {found}; all three must be above 0"
        audit.error("non-positive-size", owner, line, message, found=found, allowed="> 0")


def _audit_field(field: HeightField, owner: str, line: int | None, audit: Audit) -> None:
    if audit_finite("size", field.size, 2, "contact size", owner, line, audit):
        for edge in field.size:
            audit_positive("size", edge, "contact size", owner, line, audit)
    lengths = sorted({len(row) if isinstance(row, tuple) else 0 for row in field.heights})
    rows, columns = len(field.heights), lengths[-1] if lengths else 0
    if len(lengths) > 1:
        message = f"the rows of heights have {lengths[0]} to {columns} numbers, not all the same"
        audit.error("bad-heights", owner, line, message, found=f"{lengths[0]} to {columns}")
        return
    if rows < 2 or columns < 2 or rows * columns > MOST_HEIGHTS:
        found, allowed = f"{rows} x {columns}", f"2 x 2 to {MOST_HEIGHTS} in all"
        message = f"has {found} heights; allowed are {allowed}"
        audit.error("bad-heights", owner, line, message, found=found, allowed=allowed)
        return
    for number, row in enumerate(field.heights, start=1):
        what = f"row {number} of heights"
        if not audit_finite(what, row, columns, "contact length", owner, line, audit):
            return  # one message is enough


def _audit_triangles(mesh: TriangleMesh, owner: str, line: int | None, audit: Audit) -> None:
    tables = mesh.vertices, mesh.faces
    if not all(isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 3 for x in tables):
        message = "its vertices are not rows of 3 numbers, or its faces not of 3 whole ones"
        audit.error("bad-triangles", owner, line, message, allowed="(n, 3) and (k, 3)")
        return
    count, corners = len(mesh.faces), len(mesh.vertices)
    if not 1 <= count <= MOST_TRIANGLES:
        message = f"has {count} triangles; allowed are 1 to {MOST_TRIANGLES}; simplify the mesh"
        audit.error("bad-triangles", owner, line, message, found=str(count))
    elif mesh.faces.min() < 0 or mesh.faces.max() >= corners:
        found = f"{mesh.faces.min()} to {mesh.faces.max()}"
        message = f"its faces name the vertices {found}; allowed are 0 to {corners - 1}"
        audit.error("bad-triangles", owner, line, message, found=found)
    elif _audit_vertices(mesh.vertices, owner, line, audit):
        _audit_areas(mesh, owner, line, audit)


def _audit_vertices(vertices: Array, owner: str, line: int | None, audit: Audit) -> bool:
    """Return whether all vertices are finite and in range; else add an error about the first."""
    far = BOUNDS["contact length"].high
    wrong = np.flatnonzero(~(np.abs(vertices) <= far).all(axis=1))
    if len(wrong) == 0:
        return True
    what, place = f"vertex {wrong[0]}", vertices[wrong[0]].tolist()
    return audit_finite(what, place, 3, "contact length", owner, line, audit)


def _audit_areas(mesh: TriangleMesh, owner: str, line: int | None, audit: Audit) -> None:
    """Add a note about triangles without area, and an error if there are no others."""
    count, left = len(mesh.faces), len(cleaned(mesh.vertices, mesh.faces)[1])
    if left == 0:
        message = "none of its triangles has an area"
        audit.error("bad-triangles", owner, line, message, found=str(count))
    elif left < count:
        message = f"{count - left} of its {count} triangles have no area and do not count"
        audit.add("note", "flat-triangles", owner, line, message, found=str(count - left))


def _audit_points(points: Points, owner: str, line: int | None, audit: Audit) -> None:
    count = len(points.points)
    if not 1 <= count <= MOST_POINTS:
        message = f"has {count} points; allowed are 1 to {MOST_POINTS}"
        audit.error("bad-points", owner, line, message, found=str(count))
        return
    for number, point in enumerate(points.points, start=1):
        what = f"point {number}"
        if not audit_finite(what, point, 3, "contact length", owner, line, audit):
            return  # one message is enough


def audit_filter(given: Filter, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for every number of a filter that is not 31 bits."""
    for what in ("contype", "conaffinity"):
        value: object = getattr(given, what)
        if not is_bits(value):
            message = f"the {what} is {shown(value)}; allowed is {BITS}"
            audit.error("bad-filter", owner, line, message, found=shown(value), allowed=BITS)


def is_bits(value: object) -> bool:
    """Return whether a value is a whole number of 31 bits."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= int(value) <= MOST_BITS  # type: ignore[call-overload]


def audit_surface(surface: Surface, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for every number of a surface outside its range."""
    if audit_finite("friction", (surface.friction,), 1, "friction", owner, line, audit):
        audit_sign("friction", surface.friction, owner, line, audit)
    audit_positive("time constant", surface.time_constant, "contact time", owner, line, audit)
    audit_positive("damping ratio", surface.damping_ratio, "damping ratio", owner, line, audit)
    if surface.stiffness is not None:
        audit_positive("stiffness", surface.stiffness, _FORCE, owner, line, audit)
    for what in ("damping", "viscosity"):  # 0 switches it off
        value = getattr(surface, what)
        if value is not None and audit_finite(what, (value,), 1, _FORCE, owner, line, audit):
            audit_sign(what, value, owner, line, audit)
    for what in ("torsional", "rolling"):
        value = getattr(surface, what)
        if audit_finite(what, (value,), 1, "contact length", owner, line, audit):
            audit_sign(what, value, owner, line, audit)
    _audit_restitution(surface.restitution, owner, line, audit)
    shares: object = surface.limit_surface
    if not isinstance(shares, bool | np.bool_):
        message = f"limit_surface is {shown(shares)}; allowed is True or False"
        audit.error(
            "wrong-kind", owner, line, message, found=shown(shares), allowed="True or False"
        )


def _audit_restitution(value: float, owner: str, line: int | None, audit: Audit) -> None:
    what = "restitution"
    if not audit_finite(what, (value,), 1, "ratio", owner, line, audit):
        return
    audit_sign(what, value, owner, line, audit)
    if value > 1.0:
        found = exactly(value)
        message = f"the restitution is {found}; allowed is 0 to 1, as an impact adds no energy"
        audit.error("large-restitution", owner, line, message, found=found, allowed="0 to 1")

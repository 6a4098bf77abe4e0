# SPDX-License-Identifier: Apache-2.0
"""Audit contact: geometries of links, obstacles of the world, and their surfaces."""

import math
from collections.abc import Collection, Iterable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.audit import Audit, Named, Subject
from rbdyn_ros.description.checks import values
from rbdyn_ros.description.checks.connectivity import audit_links
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.bounds import BOUNDS, audit_range
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.triangles import MOST_TRIANGLES, cleaned
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import counted, exactly, listing, quote, shown

#: Maximum number of corners of a geometry made in Python; meshes have far fewer (hulls.py).
MOST_POINTS = 10_000
#: Largest number of heights of a height field, so that contact_key can number the triangles.
MOST_HEIGHTS = 1 << 20
_FORCE = "force coefficient"
#: Largest contype and conaffinity.
MOST_BITS = (1 << 31) - 1
BITS = f"a whole number from 0 to {MOST_BITS}"


def audit_geometries(description: Description, links: Collection[str], audit: Audit) -> None:
    """Add an error for every geometry and obstacle with invalid numbers or an unknown link.

    Args:
        description: its fields have the right types.
        links: names of the links without errors.
        audit: receives the errors.
    """
    for geometry in description.geometries:
        at = audit.about("geometry", geometry)
        if not audit.partial:  # a missing name may belong to a link that could not be read
            audit_links((geometry.link,), links, at)
        audit_shape(geometry.shape, at)
        audit_place(geometry.origin, at)
        audit_surface(geometry.surface, at)
        audit_filter(geometry.filter, at)
    audit_obstacles(description.obstacles, audit)
    audit_exclusions(description, description.exclusions, audit)
    _audit_states(description.states, audit)


def _audit_states(states: Iterable[geometries.GroupState], audit: Audit) -> None:
    """Add an error for every position that is not a finite number; joints may be unknown."""
    for state in states:
        at = audit.about("state", state)
        for joint, position in state.positions.items():
            what = f"position of {quote(str(joint))}"
            given = position if isinstance(position, tuple) else (position,)
            values.audit_finite(what, given, len(given), "coordinate", at)


def audit_exclusions(
    description: Description, exclusions: Collection[geometries.Exclusion], audit: Audit
) -> bool:
    """Return whether a description has all names of the exclusions; if not, add errors."""
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
    """Return what each name stands for: links, geometries and obstacles.

    A link hides its geometry of the same name.
    """
    found: dict[str, list[str]] = {one.link: ["a link"] for one in description.geometries}
    for geometry in description.geometries:
        if geometry.name != geometry.link:
            what = f"a geometry of link {quote(geometry.link)}"
            found.setdefault(geometry.name, []).append(what)
    for obstacle in description.obstacles:
        found.setdefault(obstacle.name, []).append("an obstacle")
    return found


def audit_obstacles(obstacles: Iterable[geometries.Obstacle], audit: Audit) -> None:
    """Add an error for every obstacle with invalid numbers."""
    for obstacle in obstacles:
        at = audit.about("obstacle", obstacle)
        audit_shape(obstacle.shape, at)
        audit_place(obstacle.origin, at)
        audit_filter(obstacle.filter, at)
        values.audit_finite("velocity", obstacle.velocity, 3, "surface velocity", at)
        friction: object = obstacle.friction  # infinity: contacts use the friction of the geometry
        if not values.are_numbers((friction,)):
            message = f"the friction is {shown(friction)}, not a number"
            at.error("bad-friction", message, allowed="a number or infinity")
        elif math.isinf(obstacle.friction) or audit_range(
            "friction", (obstacle.friction,), "friction", at
        ):
            values.audit_sign("friction", obstacle.friction, at)


def audit_shape(shape: geometries.Shape | geometries.WorldShape, at: Subject) -> None:
    """Add an error for every size that is not above 0 and in range."""
    if isinstance(shape, geometries.Box):
        _audit_edges(shape, at)
    elif isinstance(shape, geometries.Points):
        _audit_points(shape, at)
    elif isinstance(shape, geometries.HeightField):
        _audit_field(shape, at)
    elif isinstance(shape, geometries.TriangleMesh):
        _audit_triangles(shape, at)
    if isinstance(shape, geometries.Sphere | geometries.Cylinder | geometries.Capsule):
        values.audit_positive("radius", shape.radius, "contact size", at)
    if isinstance(shape, geometries.Cylinder | geometries.Capsule):
        values.audit_positive("length", shape.length, "contact size", at)


def audit_place(origin: Pose, at: Subject) -> None:
    """Add an error for an origin that is not a pose, or is too far away."""
    values.audit_pose("origin", origin, at, "contact length")


def _audit_edges(box: geometries.Box, at: Subject) -> None:
    if not values.audit_finite("size", box.size, 3, "contact size", at):
        return
    if min(box.size) <= 0.0:
        found = " ".join(f"{edge:g}" for edge in box.size)
        message = f"the size is {found}; all three must be above 0"
        at.error("non-positive-size", message, found=found, allowed="> 0")


def _audit_field(field: geometries.HeightField, at: Subject) -> None:
    if values.audit_finite("size", field.size, 2, "contact size", at):
        for edge in field.size:
            values.audit_positive("size", edge, "contact size", at)
    lengths = sorted({len(row) if isinstance(row, tuple) else 0 for row in field.heights})
    rows, columns = len(field.heights), lengths[-1] if lengths else 0
    if len(lengths) > 1:
        message = f"the rows of heights have {lengths[0]} to {columns} numbers, not all the same"
        at.error("bad-heights", message, found=f"{lengths[0]} to {columns}")
        return
    if rows < 2 or columns < 2 or rows * columns > MOST_HEIGHTS:
        found, allowed = f"{rows} x {columns}", f"2 x 2 to {MOST_HEIGHTS} in all"
        message = f"it has {found} heights; allowed are {allowed}"
        at.error("bad-heights", message, found=found, allowed=allowed)
        return
    for number, row in enumerate(field.heights, start=1):
        what = f"row {number} of heights"
        if not values.audit_finite(what, row, columns, "contact length", at):
            return  # one message is enough


def _audit_triangles(mesh: geometries.TriangleMesh, at: Subject) -> None:
    tables = mesh.vertices, mesh.faces
    if not all(isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 3 for x in tables):
        message = "its vertices are not rows of 3 numbers, or its faces not rows of 3 integers"
        at.error("bad-triangles", message, allowed="(n, 3) and (k, 3)")
        return
    count, corners = len(mesh.faces), len(mesh.vertices)
    if not 1 <= count <= MOST_TRIANGLES:
        message = f"it has {count} triangles; allowed are 1 to {MOST_TRIANGLES}; simplify the mesh"
        at.error("bad-triangles", message, found=str(count))
    elif mesh.faces.min() < 0 or mesh.faces.max() >= corners:
        found = f"{mesh.faces.min()} to {mesh.faces.max()}"
        message = f"its faces name the vertices {found}; allowed are 0 to {corners - 1}"
        at.error("bad-triangles", message, found=found)
    elif _audit_vertices(mesh.vertices, at):
        _audit_areas(mesh, at)


def _audit_vertices(vertices: Array, at: Subject) -> bool:
    """Return whether vertices are finite and in range; report the first wrong vertex."""
    far = BOUNDS["contact length"].high
    wrong = np.flatnonzero(~(np.abs(vertices) <= far).all(axis=1))
    if len(wrong) == 0:
        return True
    what, place = f"vertex {wrong[0]}", vertices[wrong[0]].tolist()
    return values.audit_finite(what, place, 3, "contact length", at)


def _audit_areas(mesh: geometries.TriangleMesh, at: Subject) -> None:
    """Add a note about triangles without area, and an error if all triangles are without area."""
    count, left = len(mesh.faces), len(cleaned(mesh.vertices, mesh.faces)[1])
    if left == 0:
        message = "none of its triangles has an area"
        at.error("bad-triangles", message, found=str(count))
    elif left < count:
        message = f"it ignores triangles without an area: {count - left} of {count}"
        at.note("flat-triangles", message, found=str(count - left))


def _audit_points(points: geometries.Points, at: Subject) -> None:
    count = len(points.points)
    if not 1 <= count <= MOST_POINTS:
        message = f"it has {counted(count, 'point')}; allowed are 1 to {MOST_POINTS}"
        at.error("bad-points", message, found=str(count))
        return
    for number, point in enumerate(points.points, start=1):
        what = f"point {number}"
        if not values.audit_finite(what, point, 3, "contact length", at):
            return  # one message is enough


def audit_filter(given: geometries.Filter, at: Subject) -> None:
    """Add an error for every number of a filter that is not a whole number of at most 31 bits."""
    for what in ("contype", "conaffinity"):
        value: object = getattr(given, what)
        if not is_bits(value):
            message = f"the {what} is {shown(value)}; allowed is {BITS}"
            at.error("bad-filter", message, found=shown(value), allowed=BITS)


def is_bits(value: object) -> bool:
    """Return whether a value is a whole number from 0 to MOST_BITS."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= int(value) <= MOST_BITS  # type: ignore[call-overload]


def audit_surface(surface: geometries.Surface, at: Subject) -> None:
    """Add an error for every number of a surface outside its range."""
    values.audit_not_negative("friction", surface.friction, "friction", at)
    values.audit_positive("time constant", surface.time_constant, "contact time", at)
    values.audit_positive("damping ratio", surface.damping_ratio, "damping ratio", at)
    if surface.stiffness is not None:
        values.audit_positive("stiffness", surface.stiffness, _FORCE, at)
    for what in ("damping", "viscosity"):  # 0 switches the property off
        if (value := getattr(surface, what)) is not None:
            values.audit_not_negative(what, value, _FORCE, at)
    for what in ("torsional", "rolling"):
        length = getattr(surface, what)
        values.audit_not_negative(f"{what} friction", length, "contact length", at)
    _audit_restitution(surface.restitution, at)
    shares: object = surface.limit_surface
    if not isinstance(shares, bool | np.bool_):
        message = f"limit_surface is {shown(shares)}; allowed is True or False"
        at.error("wrong-kind", message, found=shown(shares), allowed="True or False")


def _audit_restitution(value: float, at: Subject) -> None:
    if values.audit_not_negative("restitution", value, "ratio", at) and value > 1.0:
        found = exactly(value)
        message = f"the restitution is {found}; allowed is 0 to 1, as an impact adds no energy"
        at.error("large-restitution", message, found=found, allowed="0 to 1")

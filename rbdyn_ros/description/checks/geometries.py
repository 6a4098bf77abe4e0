"""Audit contact: geometries of links, obstacles of the world, and their surfaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.connectivity import audit_links
from rbdyn_ros.description.checks.values import (
    are_finite,
    are_numbers,
    audit_finite,
    audit_pose,
    audit_positive,
    audit_sign,
)
from rbdyn_ros.description.geometries import (
    MAX_LENGTH,
    Box,
    Capsule,
    Cylinder,
    Obstacle,
    Points,
    Shape,
    Sphere,
    Surface,
    WorldShape,
)
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import quote, shown

#: Maximum number of corners of a geometry made in Python; meshes have far fewer (hulls.py).
MOST_POINTS = 10_000


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
        _audit_origin(geometry.origin, owner, line, audit)
        audit_surface(geometry.surface, owner, line, audit)
    audit_obstacles(description.obstacles, audit)


def audit_obstacles(obstacles: Iterable[Obstacle], audit: Audit) -> None:
    """Add an error for every obstacle with broken numbers."""
    for obstacle in obstacles:
        owner, line = f"obstacle {quote(obstacle.name)}", obstacle.line
        audit_shape(obstacle.shape, owner, line, audit)
        _audit_origin(obstacle.origin, owner, line, audit)
        friction: object = obstacle.friction  # infinity: the friction of the geometry holds
        if not are_numbers((friction,)):
            message = f"the friction is {shown(friction)}, not a number"
            audit.error("bad-friction", owner, line, message, allowed="a number or infinity")
        else:
            audit_sign("friction", obstacle.friction, owner, line, audit)


def audit_shape(shape: Shape | WorldShape, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for every size that is not above 0 and at most MAX_LENGTH."""
    if isinstance(shape, Box):
        _audit_edges(shape, owner, line, audit)
    elif isinstance(shape, Points):
        _audit_points(shape, owner, line, audit)
    if isinstance(shape, Sphere | Cylinder | Capsule):
        _audit_length("radius", shape.radius, owner, line, audit)
    if isinstance(shape, Cylinder | Capsule):
        _audit_length("length", shape.length, owner, line, audit)


def _audit_length(what: str, length: float, owner: str, line: int | None, audit: Audit) -> None:
    if audit_positive(what, length, owner, line, audit):
        _audit_reach(what, (length,), owner, line, audit)


def _audit_origin(origin: Pose, owner: str, line: int | None, audit: Audit) -> None:
    if audit_pose("origin", origin, owner, line, audit):
        _audit_reach("position of the origin", origin.pos, owner, line, audit)


def _audit_reach(
    what: str, lengths: tuple[float, ...], owner: str, line: int | None, audit: Audit
) -> None:
    """Add an error if one of these lengths is more than MAX_LENGTH."""
    if max(map(abs, lengths)) > MAX_LENGTH:
        found, allowed = " ".join(f"{x:g}" for x in lengths), f"up to {MAX_LENGTH:g} m"
        message = f"the {what} is {found}; allowed is {allowed}"
        audit.error("too-long", owner, line, message, found=found, allowed=allowed)


def _audit_edges(box: Box, owner: str, line: int | None, audit: Audit) -> None:
    if not audit_finite("size", box.size, 3, owner, line, audit):
        return
    _audit_reach("size", box.size, owner, line, audit)
    if min(box.size) <= 0.0:
        found = " ".join(f"{edge:g}" for edge in box.size)
        message = f"the size is {found}; all three must be above 0"
        audit.error("non-positive-size", owner, line, message, found=found, allowed="> 0")


def _audit_points(points: Points, owner: str, line: int | None, audit: Audit) -> None:
    count = len(points.points)
    if not 1 <= count <= MOST_POINTS:
        message = f"has {count} points; allowed are 1 to {MOST_POINTS}"
        audit.error("bad-points", owner, line, message, found=str(count))
        return
    for number, point in enumerate(points.points, start=1):
        if not (are_finite(point, 3) and max(map(abs, point)) <= MAX_LENGTH):
            what = f"point {number}"
            if audit_finite(what, point, 3, owner, line, audit):
                _audit_reach(what, point, owner, line, audit)
            return  # one message is enough


def audit_surface(surface: Surface, owner: str, line: int | None, audit: Audit) -> None:
    """Add an error for every number of a surface outside its range."""
    if audit_finite("friction", (surface.friction,), 1, owner, line, audit):
        audit_sign("friction", surface.friction, owner, line, audit)
    audit_positive("time constant", surface.time_constant, owner, line, audit)
    audit_positive("damping ratio", surface.damping_ratio, owner, line, audit)
    if surface.stiffness is not None:
        audit_positive("stiffness", surface.stiffness, owner, line, audit)
    for what in ("damping", "viscosity"):  # 0 switches it off
        value = getattr(surface, what)
        if value is not None and audit_finite(what, (value,), 1, owner, line, audit):
            audit_sign(what, value, owner, line, audit)

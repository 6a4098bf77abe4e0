# SPDX-License-Identifier: Apache-2.0
"""Apply the argument `contact`: obstacles for a robot, surfaces, filters, excluded pairs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.checks.connectivity import links_on_base
from rbdyn_ros.description.checks.geometries import (
    audit_exclusions,
    audit_filter,
    audit_obstacles,
    audit_surface,
)
from rbdyn_ros.description.checks.kinds import audit_contact_kinds
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.parts.geometries import (
    FLOOR,
    Contact,
    Exclusion,
    Filter,
    Geometry,
    Obstacle,
    Surface,
)
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import Finding, ParameterError, listing, quote, shown

_Part = TypeVar("_Part", Surface, Filter)
_WHAT = "contact"


def check_contact(contact: object) -> Contact | None:
    """Return the argument as a Contact: True gives a default Contact, False gives None.

    Raises:
        ParameterError: contact is not True, False or a Contact; or the Contact has errors, which
            the message lists.
    """
    if isinstance(contact, bool | np.bool_):
        return Contact() if contact else None
    if not isinstance(contact, Contact):
        text = f"contact is {shown(contact)}; allowed is True, False or a Contact"
        raise ParameterError(Finding("bad-contact", text, found=shown(contact)))
    audit = Audit()
    if audit_contact_kinds(contact, audit):
        audit_names("obstacle", contact.obstacles, audit)
        audit_obstacles(contact.obstacles, audit)
        audit_surface(contact.surface, Subject(audit, _WHAT))
        for name, surface in contact.surfaces.items():
            audit_surface(surface, Subject(audit, f"{_WHAT}, surface of {quote(name)}"))
        for name, given in contact.filters.items():
            audit_filter(given, Subject(audit, f"{_WHAT}, filter of {quote(name)}"))
    if audit.errors:
        raise ParameterError(audit.errors)
    return contact


def with_contact(description: Description, contact: Contact | None, audit: Audit) -> Description:
    """Return a description with the obstacles, surfaces and filters of a Contact.

    Obstacles of the description stay, unless the Contact has an obstacle of the same name. If the
    description has obstacles, the default floor of the Contact is left out.

    Args:
        description: description of the robot.
        contact: the Contact; None: change nothing.
        audit: receives an error for every surface, filter or exclusion of something unknown.
    """
    if contact is None:
        return description
    excluded = [Exclusion(first, second) for first, second in contact.exclude]
    obstacles = _together(description.obstacles, contact.obstacles)
    _audit_filtered(contact.filters, description.geometries, obstacles, audit)
    dressed = replace(
        description,
        geometries=_dressed(description.geometries, contact, audit),
        obstacles=tuple(
            replace(one, filter=contact.filters.get(one.name, one.filter)) for one in obstacles
        ),
        self_collision=description.self_collision and bool(contact.self_collision),
    )
    if not audit_exclusions(dressed, excluded, audit):
        return dressed
    dressed = with_furniture(dressed, _fixed(contact.furniture, description, audit))
    return replace(dressed, exclusions=(*description.exclusions, *excluded))


def with_furniture(description: Description, names: Iterable[str]) -> Description:
    """Return the description with these links, fixed to the base, as furniture of the world."""
    return replace(description, robots=tuple(dict.fromkeys((*description.robots, *names))))


def _fixed(names: Collection[str], description: Description, audit: Audit) -> list[str]:
    """Return the links that are fixed to the base; add an error for other links."""
    known = {geometry.link: None for geometry in description.geometries}
    _audit_known(names, "no link with a geometry is called", known, audit)
    still = links_on_base(description)
    for name in names:
        if name in known and name not in still:
            message = f"the link {quote(name)} moves; furniture is fixed to the base of the robot"
            audit.error("bad-furniture", _WHAT, None, message, found=name)
    return [name for name in names if name in still]


def _together(own: tuple[Obstacle, ...], wanted: tuple[Obstacle, ...]) -> tuple[Obstacle, ...]:
    if own and tuple(wanted) == (FLOOR,):
        return own
    left = {obstacle.name: obstacle for obstacle in wanted}
    replaced = [left.pop(obstacle.name, obstacle) for obstacle in own]
    return (*replaced, *left.values())


def _dressed(
    geometries: tuple[Geometry, ...], contact: Contact, audit: Audit
) -> tuple[Geometry, ...]:
    """Return geometries with the surfaces and filters of a Contact.

    A surface by name replaces the own surface of a geometry; the common surface replaces only a
    default surface.
    """
    _audit_named(contact.surfaces, geometries, audit)
    dressed = []
    for part in geometries:
        own = contact.surface if part.surface == Surface() else part.surface
        surface = _chosen(part, contact.surfaces, own)
        masks = _chosen(part, contact.filters, part.filter)
        dressed.append(replace(part, surface=surface, filter=masks))
    return tuple(dressed)


def _chosen(geometry: Geometry, named: Mapping[str, _Part], own: _Part) -> _Part:
    """Return the part that `named` has for a geometry, else for its link, else `own`."""
    return named.get(geometry.name, named.get(geometry.link, own))


def _audit_named(
    surfaces: Mapping[str, Surface], geometries: tuple[Geometry, ...], audit: Audit
) -> None:
    known = {name: None for geometry in geometries for name in (geometry.name, geometry.link)}
    _audit_known(surfaces, "no geometry or link with a geometry is called", known, audit)


def _audit_filtered(
    filters: Mapping[str, Filter],
    geometries: tuple[Geometry, ...],
    obstacles: tuple[Obstacle, ...],
    audit: Audit,
) -> None:
    known = {name: None for geometry in geometries for name in (geometry.name, geometry.link)}
    known |= dict.fromkeys(obstacle.name for obstacle in obstacles)
    _audit_known(filters, "no geometry, obstacle or link with a geometry is called", known, audit)


def _audit_known(named: Collection[str], what: str, known: Collection[str], audit: Audit) -> None:
    for name in named:
        if name not in known and not audit.partial:
            unknown = f"{what} {quote(name)}"
            message = f"{unknown}{audit.hint(name, known)}"
            allowed = listing(known)
            audit.error("unknown-geometry", _WHAT, None, message, found=name, allowed=allowed)

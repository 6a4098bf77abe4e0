"""What a caller asks for by `contact`: obstacles for a robot, surfaces for its geometries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.geometries import audit_obstacles, audit_surface
from rbdyn_ros.description.checks.kinds import audit_contact_kinds
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.geometries import FLOOR, Contact, Geometry, Obstacle, Surface
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import Finding, ParameterError, listing, quote, shown

_WHAT = "contact"


def check_contact(contact: object) -> Contact | None:
    """Return what is asked for: True is a Contact with all its defaults, False is None.

    Raises:
        ParameterError: it is neither True, False nor a Contact, or with everything that is wrong
            with the Contact.
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
        audit_surface(contact.surface, _WHAT, None, audit)
        for name, surface in contact.surfaces.items():
            audit_surface(surface, f"{_WHAT}, surface of {quote(name)}", None, audit)
    if audit.errors:
        raise ParameterError(audit.errors)
    return contact


def with_contact(description: Description, contact: Contact | None, audit: Audit) -> Description:
    """Return a description with the obstacles and surfaces of a Contact.

    Obstacles of the description stay, but one of the Contact takes the place of that of its
    name. Where there are any the Contact's floor by default is left out.

    Args:
        description: its geometries may be of any origin.
        contact: None: nothing is changed.
        audit: receives an error for every surface of a geometry or link that is not there.
    """
    if contact is None:
        return description
    return replace(
        description,
        geometries=_dressed(description.geometries, contact, audit),
        obstacles=_together(description.obstacles, contact.obstacles),
    )


def _together(own: tuple[Obstacle, ...], wanted: tuple[Obstacle, ...]) -> tuple[Obstacle, ...]:
    if own and tuple(wanted) == (FLOOR,):
        return own
    left = {obstacle.name: obstacle for obstacle in wanted}
    replaced = [left.pop(obstacle.name, obstacle) for obstacle in own]
    return (*replaced, *left.values())


def _dressed(
    geometries: tuple[Geometry, ...], contact: Contact, audit: Audit
) -> tuple[Geometry, ...]:
    """Return geometries with surfaces; one that was given its own keeps it if it is not named."""
    _audit_named(contact.surfaces, geometries, audit)
    return tuple(replace(part, surface=_surface(part, contact)) for part in geometries)


def _surface(geometry: Geometry, contact: Contact) -> Surface:
    own = contact.surface if geometry.surface == Surface() else geometry.surface
    of_link = contact.surfaces.get(geometry.link, own)
    return contact.surfaces.get(geometry.name, of_link)


def _audit_named(
    surfaces: Mapping[str, Surface], geometries: tuple[Geometry, ...], audit: Audit
) -> None:
    known: Collection[str] = {
        name: None for geometry in geometries for name in (geometry.name, geometry.link)
    }
    for name in surfaces:
        if name not in known and not audit.partial:
            there_is = f"there is no geometry, and no link with one, of the name {quote(name)}"
            message = f"{there_is}{audit.hint(name, known)}"
            allowed = listing(known)
            audit.error("unknown-geometry", _WHAT, None, message, found=name, allowed=allowed)

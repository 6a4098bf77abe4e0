# SPDX-License-Identifier: Apache-2.0
"""Audit the types of the fields of a Description that was built in Python.

Readers and builders use the right types; a Description from a user may hold anything anywhere.
Numbers, vectors, poses, limits and motions are audited with their values.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import UnionType
from typing import Any

import numpy as np

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.description.parts.geometries import (
    Contact,
    Exclusion,
    Filter,
    Geometry,
    GroupState,
    HeightField,
    Obstacle,
    Points,
    Shape,
    Surface,
    WorldShape,
)
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.sensors import SensorEntry
from rbdyn_ros.description.parts.servos import Servo
from rbdyn_ros.description.parts.types import (
    Constraint,
    Description,
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Length,
    Link,
    Mimic,
    Spring,
    Trajectory,
)
from rbdyn_ros.errors import Finding, Severity, quote, shown

Kind = tuple[type | UnionType, str]

#: The type of a field by its annotation, and its name in messages.
_BY_ANNOTATION: dict[object, Kind] = {
    str: (str, "a string"),
    Severity: (str, "a string"),
    bool: (bool | np.bool_, "True or False"),
    int: (int | np.integer, "a whole number"),
    int | None: (int | None, "a whole number or None"),
    Inertial | None: (Inertial | None, "an Inertial or None"),
    Mimic | None: (Mimic | None, "a Mimic or None"),
    Surface: (Surface, "a Surface"),
    Surface | None: (Surface | None, "a Surface or None"),
    Filter: (Filter, "a Filter"),
    Filter | None: (Filter | None, "a Filter or None"),
    Contact: (Contact, "a Contact"),
    Shape: (Shape, "a Sphere, Box, Cylinder, Capsule or Points"),
    WorldShape: (
        WorldShape,
        "a Plane, Sphere, Box, Cylinder, Capsule, Points, HeightField or TriangleMesh",
    ),
}
#: Fields that hold several values, by their class.
_SEVERAL: dict[type, dict[str, Kind]] = {
    Description: {"gravity": (tuple | None, "a tuple or None")},
    Joint: {
        "rest": (tuple, "a sequence of numbers, one per coordinate"),
        "start": (tuple, "a sequence of numbers, one per coordinate"),
        "transmission": (tuple, "a sequence of spatial forces, one per degree of freedom"),
    },
    Length: {
        "links": (tuple, "a sequence of names"),
        "points": (tuple, "a sequence of points, one per link"),
    },
    Gear: {"terms": (tuple, "a sequence of GearTerm")},
    Points: {"points": (tuple, "a sequence of points")},
    HeightField: {"heights": (tuple, "a sequence of rows of numbers")},
    Placed: {"start": (Mapping, "a mapping of names of joints to numbers")},
    Contact: {
        "surfaces": (Mapping, "a mapping of names to Surfaces"),
        "filters": (Mapping, "a mapping of names to Filters"),
    },
    GroupState: {"positions": (Mapping, "a mapping of names of joints to numbers")},
    Servo: {"terms": (tuple, "a sequence of ServoTerm")},
    SensorEntry: {"values": (Mapping, "a mapping of keys to values")},
}
#: The sequences of a Description: type of an item, its name in messages, its name in elements.
_PARTS: dict[str, tuple[type | UnionType, str, str]] = {
    "links": (Link, "Link", "link"),
    "joints": (Joint, "Joint", "joint"),
    "springs": (Spring, "Spring", "spring"),
    "constraints": (Constraint, "Length, Gear or Roll", "constraint"),
    "geometries": (Geometry, "Geometry", "geometry"),
    "obstacles": (Obstacle, "Obstacle", "obstacle"),
    "exclusions": (Exclusion, "Exclusion", "exclusion"),
    "states": (GroupState, "GroupState", "state"),
    "servos": (Servo, "Servo", "servo"),
    "sensors": (SensorEntry, "SensorEntry", "sensor"),
    "findings": (Finding, "Finding", "finding"),
}


@functools.cache
def _fields_of(part: type) -> dict[str, Kind]:
    """Return the type of each field of a class that is audited here."""
    found = {field.name: _BY_ANNOTATION.get(field.type) for field in fields(part)}
    several = next((_SEVERAL[base] for base in part.__mro__ if base in _SEVERAL), {})
    return {name: kind for name, kind in found.items() if kind} | several


def audit_kinds(description: Description, audit: Audit) -> bool:
    """Return whether every field has its type; add an error for each field of a wrong type."""
    before = len(audit.findings)
    name: object = description.name
    robot = Subject(audit, robot_element(name) if isinstance(name, str) else "robot")
    _audit_fields(description, Description, "", robot)
    for field in _PARTS:
        _audit_parts(description, field, robot)
    for field in ("objects", "robots"):
        roots: object = getattr(description, field)
        if not isinstance(roots, tuple) or not all(isinstance(name, str) for name in roots):
            _wrong(field, roots, "a tuple of names of links", robot)
    return len(audit.findings) == before


def audit_scene_kinds(
    robots: Mapping[str, Placed],
    objects: Iterable[Object],
    obstacles: Iterable[Obstacle],
    audit: Audit,
) -> bool:
    """Return whether every field of the parts of a scene has its type; if not, add errors."""
    before = len(audit.findings)
    for name, placed in robots.items():
        at = Subject(audit, f"robot {quote(name)}" if name else "the robot")
        _audit_fields(placed, Placed, "", at)
    for element, parts in (("object", objects), ("obstacle", obstacles)):
        for number, part in enumerate(parts, start=1):
            _audit_part(part, element, number, audit)
    return len(audit.findings) == before


def audit_contact_kinds(contact: Contact, audit: Audit) -> bool:
    """Return whether every field of a Contact has its type; if not, add errors."""
    before, at = len(audit.findings), Subject(audit, "contact")
    _audit_fields(contact, Contact, "", at)
    _audit_parts(contact, "obstacles", at)
    if len(audit.findings) > before:
        return False
    audit_exclude(contact.exclude, audit)
    names: object = contact.furniture
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        _wrong("furniture", names, "a tuple of names of links", at)
    _audit_by_name("surface", contact.surfaces, Surface, at)
    _audit_by_name("filter", contact.filters, Filter, at)
    return len(audit.findings) == before


def _audit_by_name(what: str, given: Mapping[Any, Any], kind: type, at: Subject) -> None:
    """Add an error for each item of a mapping whose name or value has the wrong type."""
    for name, value in given.items():
        if not isinstance(name, str):
            _wrong(f"a name in its {what}s", name, "a string", at)
        elif not isinstance(value, kind):
            called = f"a {kind.__name__}"
            _wrong(f"the {what} of {quote(name)}", value, called, at)


def audit_exclude(exclude: object, audit: Audit, owner: str = "contact") -> None:
    """Add an error unless these are pairs of names."""
    at = Subject(audit, owner)
    if not isinstance(exclude, tuple | list):
        _wrong("exclude", exclude, "a tuple of pairs of names", at)
        return
    for number, pair in enumerate(exclude, start=1):
        sound = isinstance(pair, tuple | list) and len(pair) == 2
        if not sound or not all(isinstance(name, str) for name in pair):
            what = f"entry {number} of exclude"
            _wrong(what, pair, "a pair of names", at)


def _audit_parts(whole: object, field: str, at: Subject) -> None:
    kind, called, element = _PARTS[field]
    parts: object = getattr(whole, field)
    if not isinstance(parts, tuple | list):
        _wrong(field, parts, f"a tuple of {called}", at)
        return
    for number, part in enumerate(parts, start=1):
        if isinstance(part, kind):
            _audit_part(part, element, number, at.audit)
        else:
            article = "an" if called[0] in "AEIOU" else "a"
            what = f"entry {number} of its {field}"
            _wrong(what, part, f"{article} {called}", at)


def _audit_part(part: Any, element: str, number: int, audit: Audit) -> None:
    name, line = getattr(part, "name", None), part.line
    called = quote(name) if isinstance(name, str) else f"number {number}"
    at = Subject(audit, f"{element} {called}", line if isinstance(line, int) else None)
    _audit_fields(part, type(part), "", at)
    shapes = (("shape", Points), ("shape", HeightField))
    for field, kind in (("mimic", Mimic), ("motion", Trajectory), *shapes):
        value = getattr(part, field, None)
        if isinstance(value, kind):
            _audit_fields(value, kind, f"{field}.", at)
    if isinstance(part, Length):
        _audit_names(part.links, at)
    elif isinstance(part, Gear):
        _audit_terms(part.terms, at)


def _audit_names(links: object, at: Subject) -> None:
    for number, name in enumerate(links if isinstance(links, tuple) else (), start=1):
        if not isinstance(name, str):
            _wrong(f"entry {number} of its links", name, "a string", at)


def _audit_terms(terms: object, at: Subject) -> None:
    for number, term in enumerate(terms if isinstance(terms, tuple) else (), start=1):
        if isinstance(term, GearTerm):
            what = f"entry {number} of its terms: "
            _audit_fields(term, GearTerm, what, at)
        else:
            _wrong(f"entry {number} of its terms", term, "a GearTerm", at)


def _audit_fields(part: object, of: type, path: str, at: Subject) -> None:
    for field, (kind, allowed) in _fields_of(of).items():
        value = getattr(part, field)
        if not isinstance(value, kind):
            _wrong(f"{path}{field}", value, allowed, at)


def _wrong(what: str, value: object, allowed: str, at: Subject) -> None:
    found = shown(value)
    message = f"{what} is {found}; allowed is {allowed}"
    at.error("wrong-kind", message, found=found, allowed=allowed)

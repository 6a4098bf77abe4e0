"""Judges of what kind the parts of a Description are that was built in Python.

Readers and builders make every field of the kind that types.py says; what a person hands over may
hold anything anywhere. Numbers, vectors, poses, limits and motions are left to those who judge
their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any

import numpy as np

from rbdyn_ros.description.audit import Audit, quote, robot_element, told
from rbdyn_ros.description.types import (
    Description,
    Inertial,
    Joint,
    Link,
    Mimic,
    Spring,
    Trajectory,
)
from rbdyn_ros.errors import Finding

Kind = tuple[type | UnionType, str]

_TEXT: Kind = (str, "a text")
_FLAG: Kind = (bool | np.bool_, "True or False")
_LINE: Kind = (int | None, "a whole number or None")

#: Of what kind a field must be, and how a sentence says so.
_FIELDS: dict[type, dict[str, Kind]] = {
    Description: {"name": _TEXT, "source": _TEXT, "base": _TEXT},
    Link: {"name": _TEXT, "inertial": (Inertial | None, "an Inertial or None"), "line": _LINE},
    Joint: {
        "name": _TEXT,
        "type": _TEXT,
        "parent": _TEXT,
        "child": _TEXT,
        "mimic": (Mimic | None, "a Mimic or None"),
        "line": _LINE,
        "rest": (tuple, "a sequence of numbers, one a coordinate"),
        "closes_loop": _FLAG,
    },
    Mimic: {"joint": _TEXT},
    Trajectory: {"periodic": _FLAG},
    Spring: {"name": _TEXT, "link1": _TEXT, "link2": _TEXT, "line": _LINE},
    Finding: {"code": _TEXT, "message": _TEXT, "severity": _TEXT, "element": _TEXT, "line": _LINE},
}
_PARTS: dict[str, type] = {"links": Link, "joints": Joint, "springs": Spring, "findings": Finding}


def judge_kinds(description: Description, audit: Audit) -> bool:
    """Return whether every part is of the kind that types.py says; add an error for each other."""
    before = len(audit.findings)
    name: object = description.name
    robot = robot_element(name) if isinstance(name, str) else "robot"
    _judge_fields(description, _FIELDS[Description], "", robot, None, audit)
    for field, kind in _PARTS.items():
        parts: object = getattr(description, field)
        if not isinstance(parts, tuple | list):
            _wrong(field, parts, f"a tuple of {kind.__name__}", robot, None, audit)
            continue
        for number, part in enumerate(parts, start=1):
            if isinstance(part, kind):
                _judge_part(part, kind, number, audit)
            else:
                what = f"number {number} of its {field}"
                _wrong(what, part, f"a {kind.__name__}", robot, None, audit)
    return len(audit.findings) == before


def _judge_part(part: Any, kind: type, number: int, audit: Audit) -> None:
    name, line = getattr(part, "name", None), part.line
    called = quote(name) if isinstance(name, str) else f"number {number}"
    owner, line = f"{kind.__name__.lower()} {called}", line if isinstance(line, int) else None
    _judge_fields(part, _FIELDS[kind], "", owner, line, audit)
    for field, below in (("mimic", Mimic), ("motion", Trajectory)):
        value = getattr(part, field, None)
        if isinstance(value, below):
            _judge_fields(value, _FIELDS[below], f"{field}.", owner, line, audit)


def _judge_fields(
    part: object, kinds: Mapping[str, Kind], path: str, owner: str, line: int | None, audit: Audit
) -> None:
    for field, (kind, allowed) in kinds.items():
        value = getattr(part, field)
        if not isinstance(value, kind):
            _wrong(f"{path}{field}", value, allowed, owner, line, audit)


def _wrong(
    what: str, value: object, allowed: str, owner: str, line: int | None, audit: Audit
) -> None:
    found = told(value)
    message = f"{what} is {found}; allowed is {allowed}"
    audit.error("wrong-kind", owner, line, message, found=found, allowed=allowed)

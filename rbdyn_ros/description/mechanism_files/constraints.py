# SPDX-License-Identifier: Apache-2.0
"""The constraints and springs of a mechanism file."""

from typing import Any

from rbdyn_ros.description.build.constraints import centre_line
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.description.parts.types import Constraint, Gear, GearTerm, Length, Roll, Spring
from rbdyn_ros.description.yaml_files.kinds import VECTOR, Flag, List, Name, Number, Whole
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, table
from rbdyn_ros.errors import ParameterError

ZERO: Vec3 = (0.0, 0.0, 0.0)
Point = tuple[str, Vec3]


POINT = table(
    "",
    Key("link", Name(), "a link", needed=True),
    Key("xyz", VECTOR, "point in the link's frame [m]", default=ZERO),
    make=lambda link, xyz: (link, xyz),
)
ENDS = (Key("from", POINT, "first end", needed=True), Key("to", POINT, "other end", needed=True))
ROD = table("rod", *ENDS, Key("length", Number(unit="m"), "length of the rod", needed=True))
BAND = table(
    "band",
    Key("points", List(POINT, "point"), "points of the line", needed=True),
    Key("length", Number(unit="m"), "length of the band", needed=True),
    Key("closed", Flag(), "the band returns to its first point", default=True),
    Key("radius", Number(unit="m"), "radius of the disks inside the band", default=0.0),
)
TERM = table(
    "",
    Key("joint", Name(), "a joint", needed=True),
    Key("factor", Number(), "factor of the joint's position", needed=True),
    Key("coordinate", Whole(), "number of the joint's coordinate, from 0; default 0"),
    make=GearTerm,
)
GEAR = table(
    "gear",
    Key("terms", List(TERM, "term"), "terms of the weighted sum", needed=True),
    Key("offset", Number(), "value of the sum; default 0"),
)
ROLL = table(
    "roll",
    Key("link", Name(), "the link that rolls", needed=True),
    Key("on", Name(), "the link that carries the plane", needed=True),
    Key("radius", Number(unit="m"), "radius of the sphere or disk", needed=True),
    Key("centre", VECTOR, "centre of the sphere or disk, in `link` [m]; default 0"),
    Key("axis", VECTOR, "axis of the disk, in `link`; default: a sphere rolls"),
    Key("point", VECTOR, "a point of the plane, in `on` [m]; default 0"),
    Key("normal", VECTOR, "normal of the plane, in `on`; default: upwards"),
)
CONSTRAINT = table(
    "constraint",
    Key("rod", ROD, "keeps two points at a constant distance"),
    Key("band", BAND, "keeps the length of a line through points constant"),
    Key("gear", GEAR, "keeps a weighted sum of joint positions constant"),
    Key("roll", ROLL, "a sphere or a disk rolls on a plane"),
    one=("rod", "band", "gear", "roll"),
    code="bad-constraint",
)
SPRING = table(
    "spring",
    *ENDS,
    Key("stiffness", Number(unit="N/m"), "stiffness of the spring; default 0"),
    Key("damping", Number(unit="N s/m"), "damping of the damper; default 0"),
    Key("length", Number(unit="m"), "length at rest; default 0"),
)
CONSTRAINTS = ByName(CONSTRAINT, "constraint", "constraint", empty=True)
SPRINGS = ByName(SPRING, "spring", "spring", empty=True)


def read_constraints(section: Given) -> list[Constraint]:
    """Return the constraints of the section."""
    found = (
        _constraint(name, given, section.lines[name])
        for name, given in section.items()
        if given.sound
    )
    return [constraint for constraint in found if constraint is not None]


def _constraint(name: str, constraint: Given, line: int) -> Constraint | None:
    kind, given = next(iter(constraint.items()))
    if kind == "rod":
        return _line_through(name, (given["from"], given["to"]), given["length"], False, line)
    if kind == "gear":
        return Gear(name, line=line, **given)
    if kind == "roll":
        return Roll(name, line=line, **given)
    closed = given["closed"]
    try:
        length = centre_line(given["length"], given["radius"], closed)
    except ParameterError as error:
        given.error(error.code, "", error.findings[0].message)
        return None
    return _line_through(name, given["points"], length, closed, line)


def _line_through(
    name: str, corners: tuple[Point, ...], length: float, closed: bool, line: int
) -> Length:
    links, points = tuple(corner[0] for corner in corners), tuple(corner[1] for corner in corners)
    return Length(name, links, points, length, closed, line)


def read_springs(section: Given) -> list[Spring]:
    """Return the springs of the section."""
    springs = []
    for name, given in section.items():
        if "from" in given and "to" in given:
            numbers: dict[str, Any] = {**given}
            one, other = numbers.pop("from"), numbers.pop("to")
            ends = (one[0], other[0], one[1], other[1])
            springs.append(Spring(name, *ends, line=section.lines[name], **numbers))
    return springs

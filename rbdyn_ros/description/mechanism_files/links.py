# SPDX-License-Identifier: Apache-2.0
"""The links of a mechanism file: inertials by shape, or by numbers."""

from collections.abc import Callable, Sequence

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.parts.types import Inertial, Link
from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.poses import AT, pose_of
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, Table, WithKey, table
from rbdyn_ros.errors import ParameterError

#: The function for each shape.
MAKERS: dict[str, Callable[..., Inertial]] = {
    "box": shapes.box,
    "cylinder": shapes.cylinder,
    "sphere": shapes.sphere,
    "capsule": shapes.capsule,
    "top": shapes.top,
}


def _length(name: str, doc: str) -> Key:
    return Key(name, kinds.Number(unit="m"), doc, needed=True)


def _shape(name: str, doc: str, *sizes: Key) -> Key:
    masses = (
        Key("density", kinds.Number(unit="kg/m^3"), "density, instead of `mass`"),
        Key("mass", kinds.Number(unit="kg"), "mass, instead of `density`"),
    )
    return Key(name, table(name, *sizes, *masses, *AT), doc)


RADIUS, LENGTH = _length("radius", "radius"), _length("length", "length along z")
SHAPES = (
    _shape("box", "a box around its origin", Key("size", kinds.VECTOR, "edges [m]", needed=True)),
    _shape("cylinder", "a cylinder along z, around its origin", RADIUS, LENGTH),
    _shape("sphere", "a sphere around its origin", RADIUS),
    _shape("capsule", "a cylinder along z with half spheres beyond `length`", RADIUS, LENGTH),
    _shape(
        "top",
        "a spinning top, its tip at the origin",
        RADIUS,
        _length("thickness", "thickness of the disk"),
        _length("height", "height of the disk above the tip"),
    ),
)
BY_NUMBER = (
    Key("mass", kinds.Number(unit="kg"), "mass", needed=True),
    Key("inertia", kinds.NumberList(6),
        "xx, yy, zz, xy, xz, yz about the centre of mass [kg m^2]; default 0"),
    *AT,
)  # fmt: skip
PART = WithKey(
    tuple(key.name for key in BY_NUMBER),
    Table("table of mass and inertia", BY_NUMBER),
    Table("link", SHAPES),
)
LINKS = ByName(
    kinds.OrNothing(kinds.Either(items=kinds.List(PART, "shape"), table=PART), ()),
    "link",
    "link",
    empty=True,
)


def read_links(section: Given, known: Sequence[Link]) -> list[Link]:
    """Return the known links, with new inertials from the section, then its new links."""
    links = {link.name: link for link in known}
    for name, line in section.lines.items():
        parts = section.get(name, ())
        parts = (parts,) if isinstance(parts, Given) else parts
        found = [inertial for part in parts for inertial in _inertials(part)]
        inertial = shapes.combine(*found) if found else None
        if inertial is None and name in links:
            inertial = links[name].inertial
        links[name] = Link(name, inertial, line)
    return list(links.values())


def _inertials(part: Given) -> list[Inertial]:
    """Return the inertials of a part by numbers or by shapes; shapes with errors are left out."""
    if "mass" in part and part.sound:
        xx, yy, zz, xy, xz, yz = part.get("inertia", (0.0,) * 6)
        return [Inertial(part["mass"], pose_of(part), (xx, yy, zz, xy, xz, yz))]
    found = []
    for kind, given in part.items():
        if not isinstance(given, Given) or not given.sound:
            continue
        sizes = {key: value for key, value in given.items() if key not in ("xyz", "rpy")}
        try:
            found.append(MAKERS[kind](**sizes, at=pose_of(given)))
        except ParameterError as error:
            given.error(error.code, "", error.findings[0].message)
    return found

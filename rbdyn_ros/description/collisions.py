"""Reads the `<collision>` elements of a URDF: what links touch with.

urdf_parser_py knows no capsules and raises, so the guarded tree is read here, with prune.py's
judgement of text and numbers. What is broken is reported and left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from rbdyn_ros.description.audit import Audit, listing, quote
from rbdyn_ros.description.geometries import Box, Capsule, Cylinder, Geometry, Shape, Sphere
from rbdyn_ros.description.guard import Element
from rbdyn_ros.description.meshes import LEFT_OUT, Meshes
from rbdyn_ros.description.poses import ZERO, pose
from rbdyn_ros.description.prune import SCHEMA, Pruner, Tag
from rbdyn_ros.description.prune import WANTED as WANTED_WITHOUT
from rbdyn_ros.description.types import Pose, Vec3

_ROUND = Tag(numbers=("radius", "length"), required=("radius", "length"))

SHAPES = {
    "box": Tag(vectors=("size",), required=("size",)),
    "sphere": Tag(numbers=("radius",), required=("radius",)),
    "cylinder": _ROUND,
    "capsule": _ROUND,
    "mesh": Tag(names=("filename",), vectors=("scale",)),
}
_SCHEMA = {
    "collision": Tag(one=("origin",), ignored=("name", "geometry", "verbose", "material")),
    "origin": SCHEMA["origin"],
    **SHAPES,
}

#: What guard.parse goes into where contact is asked for.
WANTED = {
    **WANTED_WITHOUT,
    "link": WANTED_WITHOUT["link"] | {"collision"},
    "collision": {"geometry"},
    "geometry": set[str](),
}


def read_collisions(robot: Element, meshes: Meshes, audit: Audit) -> tuple[Geometry, ...]:
    """Return the geometries of all links, in the order of the text.

    A geometry is called as its element, or else as its link; further ones of a name get a number.

    Args:
        robot: the root, not pruned yet.
        meshes: where those are had that it names.
        audit: receives what is wrong; a mesh that cannot be used is an error if strict, else it
            is left out.
    """
    reader, names = _Reader(meshes, audit), _Names()
    return tuple(
        Geometry(
            name=names.free(called if called.strip() else link),
            link=link,
            shape=shape,
            origin=origin,
            line=line,
        )
        for link, called, shape, origin, line in reader.all(robot)
    )


class _Names:
    """Gives every name once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._count: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        name = wanted
        while name in self._taken:
            self._count[wanted] = self._count.get(wanted, 0) + 1
            name = f"{wanted}_{self._count[wanted]}"
        self._taken.add(name)
        return name


class _Reader:
    def __init__(self, meshes: Meshes, audit: Audit) -> None:
        self.meshes = meshes
        self.audit = audit
        self.pruner = Pruner(audit, _SCHEMA)

    def all(self, robot: Element) -> Iterator[tuple[str, str, Shape, Pose, int]]:
        """Return link, own name, shape, origin and line of each collision that can be read."""
        for link in robot:
            name = link.get("name", "")
            if link.tag != "link" or not name.strip():
                continue  # prune.py reports a link without a name
            for element in link:
                if element.tag == "collision":
                    assert isinstance(element, Element)
                    owner = f"link {quote(name)}"
                    called = element.get("name", "")
                    shape = self.shape(element, owner)
                    self.pruner.clean(element, owner)
                    if shape is not None:
                        yield name, called, shape, _origin(element), element.line

    def shape(self, collision: Element, owner: str) -> Shape | None:
        """Return the one shape of a collision; add an error if there is none, or several."""
        geometries = [child for child in collision if child.tag == "geometry"]
        shapes = [shape for geometry in geometries for shape in geometry]
        where = "in its <collision>"
        if len(geometries) > 1 or len(shapes) > 1:
            parts = shapes if len(shapes) > 1 else geometries
            tags = " and ".join(f"<{part.tag}>" for part in parts[:2])
            message = f"has more than one shape {where}, {tags}; give each a <collision>"
            line = parts[1].line  # type: ignore[attr-defined]
            self.audit.error("duplicate-element", owner, line, message, found=tags)
            return None
        if not shapes:
            what = "no shape in the <geometry> of its <collision>" if geometries else (
                f"no <geometry> {where}"
            )  # fmt: skip
            allowed = listing(SHAPES)
            message = f"has {what}; a shape is one of {allowed}"
            self.audit.error("missing-element", owner, collision.line, message, allowed=allowed)
            return None
        assert isinstance(shapes[0], Element)
        return self.read(shapes[0], owner)

    def read(self, shape: Element, owner: str) -> Shape | None:
        if shape.tag not in SHAPES:
            allowed = listing(SHAPES)
            hint = self.audit.hint(shape.tag, SHAPES) or f"; known are {allowed}"
            message = f"the shape <{quote(shape.tag)[1:-1]}> of its <collision> is unknown{hint}"
            self.audit.repair(
                "unknown-shape", owner, shape.line, message, LEFT_OUT, found=shape.tag,
                allowed=allowed,
            )  # fmt: skip
            return None
        if not self.pruner.clean(shape, owner):
            return None
        if shape.tag == "mesh":
            scale = _vector(shape, "scale", (1.0, 1.0, 1.0))
            name = shape.attrib["filename"]
            return self.meshes.read(name, scale, owner, shape.line, self.audit)
        if shape.tag == "box":
            return Box(_vector(shape, "size", ZERO))
        radius = float(shape.attrib["radius"])
        if shape.tag == "sphere":
            return Sphere(radius)
        length = float(shape.attrib["length"])
        return (Cylinder if shape.tag == "cylinder" else Capsule)(radius, length)


def _origin(collision: Element) -> Pose:
    origin = collision.find("origin")
    if origin is None:
        return Pose()
    return pose(_vector(origin, "xyz", ZERO), _vector(origin, "rpy", ZERO))


def _vector(element: object, attribute: str, default: Vec3) -> Vec3:
    text = element.attrib.get(attribute)  # type: ignore[attr-defined]
    if text is None:
        return default
    x, y, z = map(float, text.split())
    return x, y, z

# SPDX-License-Identifier: Apache-2.0
"""Read the `<collision>` elements of a URDF, the contact shapes of links.

urdf_parser_py raises for capsules, so the guarded tree is read here, with the checks of prune.py.
Broken elements are reported and left out. appearance/shapes.py reads `<visual>` elements with the
same ShapeReader.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.description.meshes.meshes import LEFT_OUT, Meshes
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Geometry, Sphere
from rbdyn_ros.description.parts.poses import ZERO, Pose, Vec3
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.urdf_files.prune import Pruner
from rbdyn_ros.description.urdf_files.pruned import pose_of, vector
from rbdyn_ros.description.urdf_files.schema import SCHEMA, Tag
from rbdyn_ros.description.urdf_files.schema import WANTED as WANTED_WITHOUT
from rbdyn_ros.description.urdf_files.versions import WITH_CAPSULES, Version, needed, version_of
from rbdyn_ros.errors import listing, quote

Primitive = Box | Sphere | Cylinder | Capsule

_ROUND = Tag(numbers=("radius", "length"), required=("radius", "length"))

SHAPES = {
    "box": Tag(vectors=("size",), required=("size",)),
    "sphere": Tag(numbers=("radius",), required=("radius",)),
    "cylinder": _ROUND,
    "capsule": _ROUND,
    "mesh": Tag(names=("filename",), vectors=("scale",)),
}
_AROUND = Tag(one=("origin",), ignored=("name", "geometry", "material"), unused=("verbose",))
_SCHEMA = {**SCHEMA, "geometry": Tag(one=tuple(SHAPES), ignored=("name",)), **SHAPES}

#: The elements that guard.parse reads for contact.
WANTED = {
    **WANTED_WITHOUT,
    "link": {*WANTED_WITHOUT["link"], "collision"},
    "collision": {"geometry"},
    "geometry": set[str](),
}


def read_collisions(robot: Element, meshes: Meshes, audit: Audit) -> tuple[Geometry, ...]:
    """Return the geometries of all links, in the order of the file.

    A geometry has the name of its element, else of its link; repeated names get a number. A mesh
    is one geometry, or one for each convex part.

    Args:
        robot: the root element, not pruned yet.
        meshes: meshes of the robot.
        audit: receives errors; an unusable mesh is an error if strict, else it is left out.
    """
    reader = ShapeReader("collision", meshes.read_convex, audit, version_of(robot))
    names = UniqueNames()
    geometries = []
    for link, element in reader.elements(robot):
        called = element.get("name", "")
        name = called if called.strip() else link
        read = reader.read(element, f"link {quote(link)}")
        if read is not None:
            shape, origin = read
            geometries += [
                Geometry(names.free(name), link, part, origin, line=element.line)
                for part in (shape if isinstance(shape, tuple) else (shape,))
            ]
    reader.pruner.unused.report(robot_element(robot.get("name", "")), audit)
    return tuple(geometries)


class UniqueNames:
    """Makes names unique by adding numbers."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._count: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        """Return the wanted name, with a number if it is taken."""
        name = wanted
        while name in self._taken:
            self._count[wanted] = self._count.get(wanted, 0) + 1
            name = f"{wanted}_{self._count[wanted]}"
        self._taken.add(name)
        return name


Mesh = TypeVar("Mesh")
#: Function that makes a shape from a mesh's name and scale, or returns None to leave it out.
MeshReader = Callable[[str, Vec3, Subject], Mesh | None]


class ShapeReader(Generic[Mesh]):
    """Reads the shapes of one kind of element, `collision` or `visual`."""

    def __init__(self, kind: str, mesh: MeshReader[Mesh], audit: Audit, version: Version) -> None:
        self.kind = kind
        self.mesh = mesh
        self.audit = audit
        self.pruner = Pruner(audit, {**_SCHEMA, kind: _AROUND}, version, kind)

    def elements(self, robot: Element) -> Iterator[tuple[str, Element]]:
        """Yield the name of the link and the element, in the order of the file."""
        for link in robot:
            name = link.get("name", "")
            if link.tag != "link" or not name.strip():
                continue  # prune.py reports a link without a name
            for element in link:
                if element.tag == self.kind:
                    assert isinstance(element, Element)
                    yield name, element

    def read(self, element: Element, owner: str) -> tuple[Primitive | Mesh, Pose] | None:
        """Return shape and origin, or None if the shape cannot be read."""
        shape = self.shape(element, owner)
        self.pruner.clean(element, owner)
        origin = element.find("origin")
        return None if shape is None else (shape, Pose() if origin is None else pose_of(origin))

    def shape(self, element: Element, owner: str) -> Primitive | Mesh | None:
        """Return the shape of an element, or None after an error unless it has exactly one."""
        geometries = [child for child in element if child.tag == "geometry"]
        shapes = [shape for geometry in geometries for shape in geometry]
        where = f"in its <{self.kind}>"
        if len(geometries) > 1 or len(shapes) > 1:
            parts = shapes if len(shapes) > 1 else geometries
            tags = " and ".join(f"<{part.tag}>" for part in parts[:2])
            message = f"it has more than one shape {where}, {tags}; give each a <{self.kind}>"
            line = parts[1].line  # type: ignore[attr-defined]
            self.audit.error("duplicate-element", owner, line, message, found=tags)
            return None
        if not shapes:
            what = f"no shape in the <geometry> of its <{self.kind}>" if geometries else (
                f"no <geometry> {where}"
            )  # fmt: skip
            allowed = listing(SHAPES)
            message = f"it has {what}; a shape is one of {allowed}"
            self.audit.error("missing-element", owner, element.line, message, allowed=allowed)
            return None
        shape, geometry = shapes[0], geometries[0]
        assert isinstance(shape, Element)
        assert isinstance(geometry, Element)
        at = Subject(self.audit, owner, geometry.line)
        self.pruner.attributes(geometry, _SCHEMA["geometry"], at)
        return self.known(shape, owner, geometry)

    def known(self, shape: Element, owner: str, geometry: Element) -> Primitive | Mesh | None:
        if shape.tag not in SHAPES:
            allowed = listing(SHAPES)
            hint = self.audit.hint(shape.tag, SHAPES) or f"; known are {allowed}"
            name = quote(shape.tag)[1:-1]
            message = f"the shape <{name}> of its <{self.kind}> is unknown{hint}"
            self.audit.repair(
                "unknown-shape", owner, shape.line, message, LEFT_OUT, found=shape.tag,
                allowed=allowed,
            )  # fmt: skip
            return None
        if shape.tag == "capsule" and self.pruner.version < WITH_CAPSULES:
            what = (
                f"the <capsule> of its <{self.kind}> is ignored in a file of this version of URDF"
            )
            text = f"{what}; {needed(WITH_CAPSULES)}"
            self.audit.add("warning", "newer-shape", owner, shape.line, text, found="capsule")
            return None
        if not self.pruner.clean(shape, owner, geometry):
            return None
        if shape.tag == "mesh":
            scale = vector(shape, "scale", (1.0, 1.0, 1.0))
            name = shape.attrib["filename"]
            return self.mesh(name, scale, Subject(self.audit, owner, shape.line))
        if shape.tag == "box":
            return Box(vector(shape, "size", ZERO))
        radius = float(shape.attrib["radius"])
        if shape.tag == "sphere":
            return Sphere(radius)
        length = float(shape.attrib["length"])
        return (Cylinder if shape.tag == "cylinder" else Capsule)(radius, length)

# SPDX-License-Identifier: Apache-2.0
"""The contacts of an MJCF: the geometries of links, obstacles, pairs and excluded bodies."""

from collections.abc import Mapping
from dataclasses import replace

from rbdyn_ros.description.mjcf_files.bodies import BodyTree, MjcfBody
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.mjcf_files.geoms import Geom
from rbdyn_ros.description.mjcf_files.meshes import MeshShapes
from rbdyn_ros.description.parts import geometries
from rbdyn_ros.description.parts.poses import compose
from rbdyn_ros.description.urdf_files.collisions import UniqueNames
from rbdyn_ros.errors import quote

_BITS = 31


def read_contacts(
    document: MjcfDocument, classes: Classes, tree: BodyTree, meshes: MeshShapes
) -> tuple[list[geometries.Geometry], list[geometries.Obstacle], list[geometries.Exclusion]]:
    """Return the contact geometries, the obstacles of the world, and the excluded pairs."""
    furniture = _furniture(tree)
    pairs = _NamedPairs(document, classes, tree, furniture)
    names = UniqueNames()
    shapes, obstacles = list[geometries.Geometry](), list[geometries.Obstacle]()
    standing = dict[str, MjcfBody]()
    for body in tree.bodies.values():
        for given in body.geoms:
            filtered = pairs.filter(given)
            if not (filtered.contype or filtered.conaffinity):
                continue
            geom = given.resolved(meshes)
            if geom is None:
                continue
            if body in furniture:
                found = _obstacles(geom, body, names, filtered, meshes)
                obstacles += found
                standing |= {one.name: body for one in found}
                continue
            wanted = names.free(geom.name or body.name)
            at, surface, line = geom.placed(), geom.surface(), geom.item.line
            for number, shape in enumerate(geom.shape(meshes)):
                if isinstance(
                    shape, geometries.Plane | geometries.HeightField | geometries.TriangleMesh
                ):
                    what = "plane" if isinstance(shape, geometries.Plane) else "height field"
                    message = f"a {what} on a body that is not the world is left out"
                    geom.item.warn("plane-on-body", message)
                    continue
                name = wanted if number == 0 else names.free(geom.name or body.name)
                part = geometries.Geometry(name, body.name, shape, at, surface, line, filtered)
                shapes.append(part)
    return shapes, obstacles, [*pairs.excluded(furniture, standing), *_families(tree)]


def _furniture(tree: BodyTree) -> set[MjcfBody]:
    """Return the world, and the bodies fixed in it that carry nothing that moves."""
    carriers = set[MjcfBody]()
    for body in tree.bodies.values():
        above = body if body.moves else None
        while above is not None:
            carriers.add(above)
            above = above.parent
    standing = [body for body in tree.bodies.values() if body.group.parent is None]
    return {body for body in standing if body not in carriers or body.parent is None}


def _obstacles(
    geom: Geom, body: MjcfBody, names: UniqueNames, filtered: geometries.Filter, meshes: MeshShapes
) -> list[geometries.Obstacle]:
    surface, at = geom.surface(), compose(body.place, geom.placed())
    if surface.torsional or surface.rolling:
        message = (
            "its torsional and rolling friction are not used: obstacles have sliding friction"
        )
        geom.item.warn("not-used", message, "note")
    return [
        geometries.Obstacle(
            names.free(geom.name or (body.name if body.parent else geom.kind)),
            shape,
            at,
            surface.friction,
            geom.item.line,
            filtered,
        )
        for shape in geom.shape(meshes, stands=True)
    ]


def _families(tree: BodyTree) -> list[geometries.Exclusion]:
    """Return the pairs of bodies that a joint connects: they do not touch in MuJoCo.

    Bodies that do not move relative to each other count as one; the world and bodies fixed in it
    are left out.
    """
    members: dict[MjcfBody, list[MjcfBody]] = {}
    for body in tree.bodies.values():
        members.setdefault(body.group, []).append(body)
    touching = {body for body in tree.bodies.values() if body.geoms}
    return [
        geometries.Exclusion(first.name, second.name, first.item.line, links=True)
        for group, below in members.items()
        if group.parent is not None and group.parent.group.parent is not None
        for first in below
        for second in members[group.parent.group]
        if first in touching and second in touching
    ]


class _NamedPairs:
    """The contact filters of geoms, including pairs that touch only by their names in <pair>.

    Each <pair> gets a bit of its own: the first geom has it in its contype, the second in its
    conaffinity.
    """

    def __init__(
        self, document: MjcfDocument, classes: Classes, tree: BodyTree, furniture: set[MjcfBody]
    ) -> None:
        self._document, self._tree, self._furniture = document, tree, furniture
        named = [(g, body) for body in tree.bodies.values() for g in body.geoms if g.name]
        self._geoms = {geom.name: geom for geom, _ in named}
        self._bodies = {geom.name: body for geom, body in named}
        self._changed: dict[str, geometries.Filter] = {}
        self._excluded = list[Item]()
        used = 0
        for body in tree.bodies.values():
            for geom in body.geoms:
                used |= geom.filter.contype | geom.filter.conaffinity
        self._free = [1 << k for k in range(_BITS) if not used >> k & 1]
        for element in document.sections("contact"):
            item = classes.item(element, f"contact {element.tag}")
            if element.tag == "pair":
                self._pair(item)
            elif element.tag == "exclude":
                self._excluded.append(item)
                for key in ("body1", "body2"):
                    self._check_body(item, item.text(key))

    def filter(self, geom: Geom) -> geometries.Filter:
        """Return the filter of a geom."""
        return self._changed.get(geom.name, geom.filter) if geom.name else geom.filter

    def _pair(self, item: Item) -> None:
        geoms = [self._geoms.get(item.text(key)) for key in ("geom1", "geom2")]
        if geoms[0] is None or geoms[1] is None:
            wrong = next(
                item.text(k) for k in ("geom1", "geom2") if item.text(k) not in self._geoms
            )
            if not self._document.audit.partial:
                hint = self._document.audit.hint(wrong, self._geoms)
                message = f"there is no geom {quote(wrong)}{hint}"
                item.error("unknown-geometry", message, found=wrong)
            return
        if self._are_neighbours(*(self._bodies[geom.name] for geom in geoms if geom is not None)):
            item.warn("not-used", "a joint connects the bodies of its geoms: they do not touch")
            return
        one, other = (self.filter(geom) for geom in geoms if geom is not None)
        if one.contype & other.conaffinity or other.contype & one.conaffinity:
            return
        if not self._free:
            message = f"more than {_BITS} pairs of geoms that touch by name only are not read"
            item.repair("too-many-pairs", message, "it is left out")
            return
        bit = self._free.pop(0)
        self._changed[geoms[0].name] = replace(one, contype=one.contype | bit)
        self._changed[geoms[1].name] = replace(other, conaffinity=other.conaffinity | bit)

    def _are_neighbours(self, *bodies: MjcfBody) -> bool:
        """Return whether a joint connects two bodies, neither of which is furniture."""
        if not self._furniture.isdisjoint(bodies):
            return False
        free = {joint.child for joint in self._tree.joints if joint.type == "floating"}
        first, second = (body.group for body in bodies)
        above = [
            None if group.parent is None or group.name in free else group.parent.group
            for group in (first, second)
        ]
        return above[0] is second or above[1] is first

    def _check_body(self, item: Item, name: str) -> None:
        if name not in self._tree.bodies and not self._document.audit.partial:
            hint = self._document.audit.hint(name, self._tree.bodies)
            item.error("unknown-body", f"there is no body {quote(name)}{hint}", found=name)

    def excluded(
        self, furniture: set[MjcfBody], standing: Mapping[str, MjcfBody]
    ) -> list[geometries.Exclusion]:
        """Return the excluded pairs of bodies.

        Args:
            furniture: bodies that stand in the world.
            standing: the body of each obstacle.
        """
        found = []
        for item in self._excluded:
            bodies = [self._tree.bodies.get(item.text(key)) for key in ("body1", "body2")]
            first, second = bodies
            if first is None or second is None:
                continue
            if first in furniture:
                first, second = second, first
            if first in furniture:
                continue
            if second not in furniture:
                found.append(geometries.Exclusion(first.name, second.name, item.line, links=True))
                continue
            names = [name for name, body in standing.items() if body is second]
            found += [geometries.Exclusion(first.name, name, item.line) for name in names]
        return found

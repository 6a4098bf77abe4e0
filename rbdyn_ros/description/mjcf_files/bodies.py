# SPDX-License-Identifier: Apache-2.0
"""The bodies of an MJCF: links, joints, sites and geoms, in the order of the file."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.mjcf_files.defaults import MAIN, Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument, elements
from rbdyn_ros.description.mjcf_files.geoms import Geom, read_geom
from rbdyn_ros.description.mjcf_files.joints import JointReader
from rbdyn_ros.description.mjcf_files.meshes import MeshAsset
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings, middle
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose
from rbdyn_ros.description.parts.types import WORLD, Joint, Link
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import quote

#: Children of a body that are read elsewhere, or only checked.
_LOOKS = ("camera",)
_REFUSED = ("composite", "flexcomp", "replicate", "attach", "plugin")


@dataclass(slots=True, eq=False)
class MjcfBody:
    """A body of an MJCF.

    Attributes:
        name: name of its link.
        parent: the parent body; None for the world.
        place: pose in the world, before a joint moves.
        moves: whether it has joints of its own.
        item: Item of its element.
        inertial: inertial of its element <inertial>; None without one.
        lights: the elements of its lights, and their frames in the body.
    """

    name: str
    parent: "MjcfBody | None"
    place: Pose
    moves: bool
    item: Item
    inertial: Item | None = None
    geoms: list[Geom] = field(default_factory=list)
    lights: list[tuple[Item, Pose]] = field(default_factory=list)

    @property
    def group(self) -> "MjcfBody":
        """The nearest body with joints, from this body up; without such a body the world."""
        body = self
        while not body.moves and body.parent is not None:
            body = body.parent
        return body


@dataclass(slots=True)
class BodyTree:
    """All bodies of a model.

    Attributes:
        bodies: by name; the world is first.
        joints: the joints of links, then the fixed joints of sites.
        between: links without mass between the joints of one body.
        sites: by name: the body of the site, and the pose of the site in the body.
    """

    bodies: dict[str, MjcfBody] = field(default_factory=dict)
    joints: list[Joint] = field(default_factory=list)
    between: list[Link] = field(default_factory=list)
    sites: dict[str, tuple[MjcfBody, Pose]] = field(default_factory=dict)


def read_tree(
    document: MjcfDocument,
    classes: Classes,
    settings: CompilerSettings,
    meshes: dict[str, MeshAsset],
) -> BodyTree:
    """Return the bodies of all <worldbody> elements."""
    reader = _TreeReader(document, classes, settings, meshes)
    for element in document.root.iterfind("worldbody"):
        assert isinstance(element, Element)
        item = document.item(element, "the world")
        world = reader.tree.bodies.setdefault(WORLD, MjcfBody(WORLD, None, IN_PLACE, False, item))
        reader.inside(element, world, classes.child(element, "the world", MAIN))
    if not reader.tree.bodies:
        item = document.item(document.root, "")
        reader.tree.bodies[WORLD] = MjcfBody(WORLD, None, IN_PLACE, False, item)
    return reader.tree


class _TreeReader:
    def __init__(
        self,
        document: MjcfDocument,
        classes: Classes,
        settings: CompilerSettings,
        meshes: dict[str, MeshAsset],
    ) -> None:
        self._document, self._classes = document, classes
        self._settings, self._meshes = settings, meshes
        self._joints = JointReader(document, settings)
        self.tree = BodyTree()

    def inside(self, element: Element, body: MjcfBody, around: str) -> None:
        """Read the geoms, sites and bodies in the element of a body that has been placed.

        `around` is the class of its children.
        """
        below = []
        for child, frame, name in self._flat(element, around, IN_PLACE):
            if child.tag == "geom":
                self._geom(child, body, frame, name)
            elif child.tag == "site":
                self._site(child, body, frame, name)
            elif child.tag == "body":
                below.append((child, frame, name))
            elif child.tag == "light":
                item = self._classes.item(child, f"light of {body.item.owner}", name)
                body.lights.append((item, frame))
            elif child.tag in _LOOKS:
                self._document.seen.add(id(child))
            elif child.tag in _REFUSED:
                item = self._document.item(child, f"<{child.tag}> of {body.item.owner}")
                item.repair("not-supported", "it is not read", "it is left out", found=child.tag)
        for child, frame, name in below:
            self._body(child, body, frame, name)

    def _flat(
        self, element: Element, around: str, frame: Pose
    ) -> Iterator[tuple[Element, Pose, str]]:
        """Yield the children of a body, also inside frames, each with its frame and its class.

        `around` is the class, and `frame` the frame, of direct children.
        """
        for child in elements(element):
            if child.tag != "frame":
                yield child, frame, around
                continue
            owner = f"frame {quote(child.get('name', ''))}"
            item = self._document.item(child, owner)
            item.text("childclass")
            name = self._classes.child(child, owner, around)
            yield from self._flat(child, name, compose(frame, self._settings.pose(item)))

    def _body(self, element: Element, parent: MjcfBody, frame: Pose, around: str) -> None:
        tree = self.tree
        name = element.get("name") or free_name(f"body{len(tree.bodies)}", tree.bodies)
        owner = f"body {quote(name)}"
        item = self._document.item(element, owner)
        item.text("childclass")
        if name in tree.bodies:
            message = "another body has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
            return
        around = self._classes.child(element, owner, around)
        at = compose(frame, self._settings.pose(item))
        found = [
            (self._classes.item(child, self._joints.owner(child, name), inside), place)
            for child, place, inside in self._flat(element, around, IN_PLACE)
            if child.tag in ("joint", "freejoint")
        ]
        body = MjcfBody(name, parent, compose(parent.place, at), bool(found), item)
        tree.bodies[name] = body
        if item.flag("mocap", False):
            item.warn("not-used", "a mocap body stands still here")
        chain = self._joints.read(found, parent.name, name, at, parent.parent is None)
        tree.joints += chain
        tree.between += [Link(joint.child, line=item.line) for joint in chain[:-1]]
        inertials = [child for child in elements(element) if child.tag == "inertial"]
        if inertials:
            body.inertial = self._document.item(inertials[0], f"inertial of {owner}")
        self.inside(element, body, around)

    def _geom(self, element: Element, body: MjcfBody, frame: Pose, around: str) -> None:
        name = element.get("name", "")
        owner = f"geom {quote(name)}" if name else f"geom of {body.item.owner}"
        item = self._classes.item(element, owner, around)
        geom = read_geom(item, frame, self._settings, self._meshes)
        if geom is not None:
            body.geoms.append(geom)
            return
        self._document.pass_over(element)
        if item.document.audit.errors:
            item.document.audit.partial = True

    def _site(self, element: Element, body: MjcfBody, frame: Pose, around: str) -> None:
        name = element.get("name", "")
        item = self._classes.item(element, f"site {quote(name)}", around)
        at = self._settings.pose(item)
        ends = item.numbers("fromto", 6)
        if ends and ends[:3] != ends[3:]:
            at = Pose(*middle(ends)[:2])
        if not name:
            return
        if name in self.tree.sites:
            message = "another site has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
            return
        self.tree.sites[name] = (body, compose(frame, at))


def site_frames(tree: BodyTree) -> tuple[list[Link], list[Joint]]:
    """Return a link without mass at each site, and its fixed joint."""
    links, joints = list[Link](), list[Joint]()
    taken = {*tree.bodies, *(link.name for link in tree.between)}
    names = {joint.name for joint in tree.joints}
    for site, (body, at) in tree.sites.items():
        name = free_name(site, taken)
        joint = free_name(name, names)
        taken.add(name)
        names.add(joint)
        links.append(Link(name, line=body.item.line))
        joints.append(Joint(joint, "fixed", body.name, name, origin=at, line=body.item.line))
    return links, joints

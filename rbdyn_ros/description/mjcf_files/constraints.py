# SPDX-License-Identifier: Apache-2.0
"""The equalities and fixed tendons of an MJCF: loop joints, mimic joints and gears."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.mjcf_files.bodies import BodyTree, MjcfBody
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument, elements
from rbdyn_ros.description.mjcf_files.joints import limiting_range
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings
from rbdyn_ros.description.parts.poses import Pose, compose, inverse
from rbdyn_ros.description.parts.types import WORLD, Gear, GearTerm, Joint, Mimic
from rbdyn_ros.errors import quote

_LEFT_OUT = "it is left out"
#: Types of joints that tendons and couplings may name.
_FLAT = ("revolute", "continuous", "prismatic")
#: Attributes by which a fixed tendon does more than transmit actuator forces; they are not read.
_FORCES = ("stiffness", "damping", "frictionloss", "armature", "actuatorfrcrange")


@dataclass(slots=True)
class Couplings:
    """The constraints between bodies and joints that are not part of the tree.

    Attributes:
        loops: joints that close loops.
        mimics: Mimic objects by the joint that follows another joint.
        gears: linear equations between joints.
        tendons: the terms of fixed tendons by name.
    """

    loops: list[Joint] = field(default_factory=list)
    mimics: dict[str, Mimic] = field(default_factory=dict)
    gears: list[Gear] = field(default_factory=list)
    tendons: dict[str, tuple[GearTerm, ...]] = field(default_factory=dict)


def read_couplings(
    document: MjcfDocument, classes: Classes, settings: CompilerSettings, tree: BodyTree
) -> Couplings:
    """Return the tendons and equalities of a model."""
    return _CouplingReader(document, classes, settings, tree).couplings


def starts(tree: BodyTree) -> dict[str, float]:
    """Return the start positions of the joints with one coordinate, by name."""
    return {j.name: j.start[0] if j.start else 0.0 for j in tree.joints if j.type in _FLAT}


class _CouplingReader:
    def __init__(
        self, document: MjcfDocument, classes: Classes, settings: CompilerSettings, tree: BodyTree
    ) -> None:
        self._document, self._settings, self._tree = document, settings, tree
        self._zero = starts(tree)
        self._names = {joint.name for joint in tree.joints}
        self.couplings = Couplings()
        for element in document.sections("tendon"):
            self._tendon(classes.item(element, f"tendon {quote(element.get('name', ''))}"))
        for number, element in enumerate(document.sections("equality")):
            name = element.get("name") or f"{element.tag}{number}"
            # all equalities share the defaults of <equality>
            item = classes.item(element, f"equality {quote(name)}")
            if item.flag("active", True):
                self._equality(item, name)
            else:
                item.warn("not-used", "it is not active", "note")
                document.pass_over(element)

    def _tendon(self, item: Item) -> None:
        name, tag = item.text("name"), item.element.tag
        if tag != "fixed":
            message = f"a <{tag}> tendon is not read; only <fixed> tendons are"
            item.repair("not-supported", message, _LEFT_OUT, found=tag, allowed="fixed")
            for child in item.element.iter():
                self._document.pass_over(child)
            return
        terms = []
        for child in elements(item.element):
            part = self._document.item(child, item.owner)
            joint, factor = self._joint(part, "joint"), part.number("coef", 1.0)
            if joint and factor:
                terms.append(GearTerm(joint, factor))
        if name:
            self.couplings.tendons[name] = tuple(terms)
        acts = [what for what in _FORCES if any(item.numbers(what, 1, 3, inf=True))]
        if limiting_range(item, "limited", "range", self._settings):
            acts.append("range")
        if acts:
            message = f"the {' and '.join(acts)} of a tendon is not read"
            item.repair("not-supported", message, "the tendon has none", found=" ".join(acts))

    def _joint(self, item: Item, attribute: str) -> str:
        """Return the joint of one coordinate that an attribute names, or "" after an error."""
        name = item.text(attribute)
        if name in self._zero:
            return name
        if name in self._names:
            message = f"{attribute} {quote(name)} has not exactly one coordinate"
            item.error("unfit-joint", message, found=name, allowed="hinge or slide")
        elif not self._document.audit.partial:
            hint = self._document.audit.hint(name, self._zero)
            item.error("unknown-joint", f"there is no joint {quote(name)}{hint}", found=name)
        return ""

    def _equality(self, item: Item, name: str) -> None:
        tag = item.element.tag
        if tag in ("connect", "weld"):
            self._loop(item, name, tag)
        elif tag == "joint":
            self._coupling(item, name)
        elif tag == "tendon":
            self._tendons(item, name)
        else:
            item.repair("not-supported", f"a <{tag}> equality is not read", _LEFT_OUT, found=tag)
            self._document.pass_over(item.element)

    def _loop(self, item: Item, name: str, tag: str) -> None:
        """Add the joint of an equality connect or weld; `tag` says which."""
        ends = self._ends(item, tag)
        if ends is None:
            return
        (first, at1), (second, at2) = ends
        if first.group is second.group:
            message = (
                f"{quote(first.name)} and {quote(second.name)} do not move relative to each other"
            )
            item.warn("not-used", f"{message}; it has no effect", "note")
            return
        kind = "spherical" if tag == "connect" else "fixed"
        if name in self._names:
            name = free_name(name, self._names)
        self._names.add(name)
        self.couplings.loops.append(
            Joint(
                name,
                kind,
                first.name,
                second.name,
                origin=at1,
                child_origin=at2,
                closes_loop=True,
                line=item.line,
            )
        )

    def _ends(
        self, item: Item, tag: str
    ) -> tuple[tuple[MjcfBody, Pose], tuple[MjcfBody, Pose]] | None:
        """Return both bodies and the frame of the joint in each, or None after an error."""
        if item.given("site1"):
            sites = [self._site(item, key) for key in ("site1", "site2")]
            return None if None in sites else (sites[0], sites[1])  # type: ignore[return-value]
        first, second = self._body(item, "body1"), self._body(item, "body2")
        if first is None or second is None:
            return None
        anchor = item.vector("anchor")
        relative = compose(inverse(first.place), second.place)
        if tag == "connect":
            at1 = Pose(anchor)
            return (first, at1), (second, compose(inverse(relative), at1))
        given = item.numbers("relpose", 7)
        if given and any(given[3:]):
            length = sum(x * x for x in given[3:]) ** 0.5
            w, x, y, z = (n / length for n in given[3:])
            # the joint is at the anchor of the second body, not at its frame
            back = Pose((-anchor[0], -anchor[1], -anchor[2]))
            relative = compose(Pose((given[0], given[1], given[2]), (w, x, y, z)), back)
        return (first, relative), (second, Pose())

    def _site(self, item: Item, attribute: str) -> tuple[MjcfBody, Pose] | None:
        name = item.text(attribute)
        if name not in self._tree.sites:
            hint = self._document.audit.hint(name, self._tree.sites)
            item.error("unknown-site", f"there is no site {quote(name)}{hint}", found=name)
            return None
        return self._tree.sites[name]

    def _body(self, item: Item, attribute: str) -> MjcfBody | None:
        name = item.text(attribute, WORLD)
        body = self._tree.bodies.get(name)
        if body is None and not self._document.audit.partial:
            hint = self._document.audit.hint(name, self._tree.bodies)
            item.error("unknown-body", f"there is no body {quote(name)}{hint}", found=name)
        return body

    def _line(self, item: Item) -> tuple[float, float] | None:
        """Return the constant and the ratio of an equality, or None if it is not linear."""
        constant, ratio, *rest = item.filled("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0))
        if any(rest):
            message = f"polycoef is '{item.text('polycoef')}'; only its first two numbers are read"
            item.repair("not-supported", message, _LEFT_OUT, found=item.text("polycoef"))
            return None
        return constant, ratio

    def _coupling(self, item: Item, name: str) -> None:
        """Let a joint follow another joint.

        Add a gear instead if the joint follows a joint already, would follow itself, or if no
        other joint is named.
        """
        line, follower = self._line(item), self._joint(item, "joint1")
        leader = self._joint(item, "joint2") if item.given("joint2") else ""
        if line is None or not follower or (item.given("joint2") and not leader):
            return
        constant, ratio = line
        offset = constant + self._zero[follower]
        if not leader:
            self._gear(item, name, (GearTerm(follower),), offset)
            return
        offset -= ratio * self._zero[leader]
        mimics = self.couplings.mimics
        if follower in mimics or self._follows(leader, follower):
            terms = (GearTerm(follower), GearTerm(leader, -ratio))
            self._gear(item, name, terms, offset)
        else:
            mimics[follower] = Mimic(leader, ratio, offset)

    def _follows(self, joint: str, other: str) -> bool:
        """Return whether a joint is the other joint, or follows it."""
        while joint != other and joint in self.couplings.mimics:
            joint = self.couplings.mimics[joint].joint
        return joint == other

    def _tendons(self, item: Item, name: str) -> None:
        line = self._line(item)
        names = [item.text("tendon1"), *([item.text("tendon2")] if item.given("tendon2") else [])]
        tendons = self.couplings.tendons
        if line is None or not all(one in tendons for one in names):
            if line is not None and not self._document.audit.partial:
                missing = " or ".join(quote(one) for one in names if one not in tendons)
                message = f"no fixed tendon named {missing} was read"
                item.repair("unknown-tendon", message, _LEFT_OUT)
            return
        constant, ratio = line
        terms = list(tendons[names[0]])
        offset = constant + self._length(terms)
        if len(names) > 1:
            others = tendons[names[1]]
            offset -= ratio * self._length(others)
            terms += [GearTerm(one.joint, -ratio * one.factor) for one in others]
        self._gear(item, name, tuple(terms), offset)

    def _length(self, terms: list[GearTerm] | tuple[GearTerm, ...]) -> float:
        return sum(one.factor * self._zero[one.joint] for one in terms)

    def _gear(self, item: Item, name: str, terms: tuple[GearTerm, ...], offset: float) -> None:
        taken = {gear.name for gear in self.couplings.gears} | self._names
        kept = tuple(term for term in terms if term.factor)
        if len(kept) < 2:
            message = (
                "it holds a single joint in place, which is not read; give the joint a "
                "range of one value"
            )
            item.repair("not-supported", message, _LEFT_OUT)
            return
        self.couplings.gears.append(Gear(free_name(name, taken), kept, offset, item.line))


def followed(joints: list[Joint], mimics: Mapping[str, Mimic]) -> list[Joint]:
    """Return the joints with their mimics; a joint that follows another has no start."""
    return [
        replace(joint, mimic=mimics[joint.name], start=()) if joint.name in mimics else joint
        for joint in joints
    ]

# SPDX-License-Identifier: Apache-2.0
"""The joints of an MJCF. Several joints of a body become a chain of links without mass."""

import math
from collections.abc import Sequence
from typing import Any

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings, about, unit
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, Vec3, compose, rotate
from rbdyn_ros.description.parts.types import ROOT_JOINT, Joint, Limit
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import quote

_TYPES = ("free", "ball", "slide", "hinge")
_LIMITED = ("false", "true", "auto")


class JointReader:
    """Reads the joints of bodies, with unique names."""

    def __init__(self, document: MjcfDocument, settings: CompilerSettings) -> None:
        self._document, self._settings = document, settings
        self._names = dict[str, None]()
        for element in document.root.iter():
            if element.tag in ("joint", "freejoint") and element.get("name"):
                self._names.setdefault(element.attrib["name"])
        self._given = set[str]()

    def owner(self, element: Element, body: str) -> str:
        """Return the name of a joint in messages."""
        name = element.get("name")
        return f"joint {quote(name)}" if name else f"joint of body {quote(body)}"

    def read(
        self, found: Sequence[tuple[Item, Pose]], parent: str, child: str, at: Pose, top: bool
    ) -> list[Joint]:
        """Return the joints from a body to a child.

        Args:
            found: the elements, each with the frame around it in the child.
            parent: link of the body above.
            child: link of the body; there is a massless link after each joint except the last.
            at: place of the child in the parent before a joint moves.
            top: whether the parent is the world.
        """
        if not found:
            name = self._free(f"{child}_fixed")
            line = self._document.root.line
            return [Joint(name, "fixed", parent, child, origin=at, line=line)]
        joints = list[Joint]()
        above = parent
        for number, (item, frame) in enumerate(found, start=1):
            is_last = number == len(found)
            name = self._name(item, child, len(found), number)
            below = child if is_last else f"{child}:{name}"
            kind = (
                "free" if item.element.tag == "freejoint" else item.choice("type", _TYPES, "hinge")
            )
            if kind == "free":
                if len(found) > 1 or not top:
                    message = "a free joint must be the only joint of a body of the world"
                    item.error("bad-free-joint", message)
                joints.append(self._floating(item, name, above, below, at))
            else:
                joints.append(self._joint(item, frame, kind, name, above, below, at))
            above, at = below, IN_PLACE
        return joints

    def _name(self, item: Item, child: str, count: int, number: int) -> str:
        name = item.text("name")
        if not name:
            is_free = item.element.tag == "freejoint" or item.text("type") == "free"
            if is_free and ROOT_JOINT not in self._names:
                return self._free(ROOT_JOINT)
            return self._free(f"{child}_joint{number if count > 1 else ''}")
        if name in self._given:
            message = "another joint has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        self._given.add(name)
        return name

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._names)
        self._names[name] = None
        return name

    def _floating(self, item: Item, name: str, parent: str, child: str, at: Pose) -> Joint:
        if item.choice("align", ("false", "true", "auto"), "auto") == "true":
            message = "align moves the frame of the body, which is not read"
            item.repair("not-supported", message, "the frame stays", allowed="align false")
        return Joint(
            name,
            "floating",
            parent,
            child,
            damping=_coefficient(item, "damping"),
            friction=item.number("frictionloss"),
            armature=item.number("armature"),
            actuated=False,
            start=(*at.pos, *at.quat),
            line=item.line,
        )

    def _joint(
        self, item: Item, frame: Pose, kind: str, name: str, parent: str, child: str, at: Pose
    ) -> Joint:
        anchor = compose(frame, Pose(item.vector("pos"))).pos
        axis, reference = self._axis(item, frame), item.number("ref")
        limit = self._limit(item, kind)
        more: dict[str, Any] = {}
        zero = Pose(anchor)
        if kind == "hinge":
            reference = self._settings.angle(reference)
            zero = Pose(anchor, about(list(axis), -reference)) if reference else zero
        elif kind == "slide" and reference:
            moved = [a - reference * x for a, x in zip(anchor, axis, strict=True)]
            zero = Pose((moved[0], moved[1], moved[2]))
        if kind != "ball":
            more["axis"] = axis
            more["start"] = (reference,) if reference else ()
        more |= self._spring(item, kind)
        bounded = limit is not None and (limit.lower > -math.inf or limit.upper < math.inf)
        types = {"ball": "spherical", "slide": "prismatic"}
        if item.given("springdamper") and any(item.numbers("springdamper", 2)):
            message = "springdamper is not read; give stiffness and damping"
            item.repair("not-supported", message, "the joint has no such spring")
        return Joint(
            name,
            types.get(kind, "revolute" if bounded else "continuous"),
            parent,
            child,
            origin=compose(at, zero) if zero != IN_PLACE else at,
            child_origin=Pose(anchor),
            limit=limit,
            damping=_coefficient(item, "damping"),
            friction=item.number("frictionloss"),
            armature=item.number("armature"),
            line=item.line,
            **more,
        )

    def _axis(self, item: Item, frame: Pose) -> Vec3:
        given = item.vector("axis", (0.0, 0.0, 1.0))
        try:
            x, y, z = unit(list(given))
        except ZeroDivisionError:
            item.error("zero-vector", "the axis has no direction", found=item.text("axis"))
            return (0.0, 0.0, 1.0)
        return rotate(frame.quat, (x, y, z)) if frame != IN_PLACE else (x, y, z)

    def _spring(self, item: Item, kind: str) -> dict[str, Any]:
        stiffness = _coefficient(item, "stiffness")
        rest = item.number("springref")
        if not stiffness:
            return {}
        if kind == "ball":
            return {"stiffness": stiffness}
        return {
            "stiffness": stiffness,
            "rest": (self._settings.angle(rest) if kind == "hinge" else rest,),
        }

    def _limit(self, item: Item, kind: str) -> Limit | None:
        """Return the limits of position and effort, or None without limits."""
        lower, upper = -math.inf, math.inf
        bounds = limiting_range(item, "limited", "range", self._settings)
        if bounds:
            turns = kind in ("hinge", "ball")
            lower, upper = (self._settings.angle(x) if turns else x for x in bounds)
        effort = self._effort(item)
        if (lower, upper, effort) == (-math.inf, math.inf, math.inf):
            return Limit() if kind == "slide" else None
        return Limit(max(lower, 0.0) if kind == "ball" else lower, upper, effort)

    def _effort(self, item: Item) -> float:
        forces = limiting_range(item, "actuatorfrclimited", "actuatorfrcrange", self._settings)
        if forces is None:
            return math.inf
        effort = min(map(abs, forces))
        if forces[0] != -forces[1]:
            message = f"actuatorfrcrange is {quote(item.text('actuatorfrcrange'))}"
            item.warn("not-supported", f"{message}; {effort:g} limits the effort both ways")
        return effort


def limiting_range(
    item: Item, flag: str, range_of: str, settings: CompilerSettings
) -> tuple[float, float] | None:
    """Return a range that limits a quantity, or None if there is no limit.

    Args:
        item: the element.
        flag: attribute that says whether the range limits.
        range_of: attribute with the range. With `auto`, a range that is empty does not limit.
        settings: settings of the compiler.
    """
    word, given = item.choice(flag, _LIMITED, "auto"), item.numbers(range_of, 2, inf=True)
    if not given or word == "false":
        return None
    if given[0] < given[1]:
        return (given[0], given[1]) if word == "true" or settings.autolimits else None
    if word == "true":
        found = item.text(range_of)
        message = f"{range_of} is {quote(found)}; the first number must be the smaller one"
        item.error("bad-value", message, found=found)
    return None


def _coefficient(item: Item, name: str) -> float:
    """Return the first number of a stiffness or damping; the others make it nonlinear."""
    found = item.numbers(name, 1, 3)
    if any(found[1:]):
        message = f"{name} has more than one number, which is not read"
        item.repair("not-supported", message, "the first one is used", allowed="one number")
    return found[0] if found else 0.0

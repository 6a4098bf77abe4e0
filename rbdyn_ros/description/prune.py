"""Leaves of a URDF tree only what dynamics needs, and judges its text.

What is broken is reported and dropped, so that the rest of the document can still be judged.
What remains has only known tags, known attributes and well-formed finite numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from rbdyn_ros.description.audit import Audit, listing, quote
from rbdyn_ros.description.check import judge_type
from rbdyn_ros.description.guard import Element

# The digits are written out: [0-9] is ASCII only, and no two parts can match the same text.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ONE = re.compile(rf"[ \t\r\n]*{_NUMBER}[ \t\r\n]*")
_THREE = re.compile(rf"[ \t\r\n]*{_NUMBER}(?:[ \t\r\n]+{_NUMBER}){{2}}[ \t\r\n]*")
_NOT_FINITE = re.compile(r"[ \t]*[+-]?(nan|inf|infinity)[ \t]*", re.IGNORECASE)
_XACRO = re.compile(r"\$[({]")
_VERSION = re.compile(r"1(\.[0-9]+)*")


@dataclass(frozen=True)
class Tag:
    """What a tag may hold: attributes by kind and children.

    Attributes:
        numbers: attributes that hold one number.
        vectors: attributes that hold three numbers.
        names: attributes that hold a name; always required.
        required: attributes that must be there.
        assumed: values of required attributes where ``strict=False`` goes on without them.
        one: children of which there may be one; many: any number; needed: exactly one.
        ignored: children and attributes that are known and not needed here.
    """

    numbers: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    assumed: dict[str, str] = field(default_factory=dict)
    one: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.names + self.numbers + self.vectors

    @property
    def children(self) -> tuple[str, ...]:
        return self.needed + self.one + self.many


_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_UNLIMITED = {"effort": "inf", "velocity": "inf"}

SCHEMA = {
    "robot": Tag(names=("name",), many=("link", "joint"), ignored=("version",)),
    "link": Tag(
        names=("name",), one=("inertial",), ignored=("visual", "collision", "origin", "type")
    ),
    "inertial": Tag(needed=("mass", "inertia"), one=("origin",)),
    "mass": Tag(numbers=("value",), required=("value",)),
    "inertia": Tag(numbers=_INERTIA, required=_INERTIA),
    "origin": Tag(vectors=("xyz", "rpy"), ignored=("quat_xyzw",)),
    "joint": Tag(
        names=("name", "type"),
        needed=("parent", "child"),
        one=("origin", "axis", "limit", "dynamics", "mimic"),
        ignored=("safety_controller", "calibration"),
    ),
    "parent": Tag(names=("link",)),
    "child": Tag(names=("link",)),
    "axis": Tag(vectors=("xyz",), required=("xyz",)),
    "limit": Tag(
        numbers=("lower", "upper", "effort", "velocity"),
        required=("effort", "velocity"),
        assumed=_UNLIMITED,
    ),
    "dynamics": Tag(numbers=("damping", "friction")),
    "mimic": Tag(names=("joint",), numbers=("multiplier", "offset")),
}
WANTED = {tag: frozenset(spec.children) for tag, spec in SCHEMA.items()}

# Elements of xacro that stand for content; their presence means that xacro has not run.
_XACRO_CONTENT = {
    f"xacro:{tag}" for tag in ("include", "property", "macro", "arg", "if", "unless")
}


def prune(robot: Element, audit: Audit) -> None:
    """Cut a ``<robot>`` tree down to what dynamics needs, in place.

    Args:
        robot: root of the tree, as ``guard.parse`` returns it.
        audit: receives what is wrong with the text.
    """
    version = robot.get("version", "1.0")
    if not _VERSION.fullmatch(version):
        message = f"the version of URDF is {quote(version)}; known is 1.x"
        audit.error("bad-version", "robot", robot.line, message, found=version, allowed="1.x")
    for tag in _unexpanded(robot):
        message = (
            f"<{tag}> shows that this is xacro source, not URDF; "
            "expand it with the command xacro, or name the file *.xacro and pass its path"
        )
        audit.error("raw-xacro", "robot", robot.line, message, found=f"<{tag}>", allowed="URDF")
        break
    _Pruner(audit).clean(robot, "robot")


def _unexpanded(robot: Element) -> list[str]:
    tags = [child.tag for child in robot]
    tags += [child.tag for part in robot if part.tag in ("link", "joint") for child in part]
    return [tag for tag in tags if tag in _XACRO_CONTENT]


class _Pruner:
    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def clean(self, element: Element, owner: str) -> bool:
        """Prune one element and all below it; return False if it has to be dropped."""
        spec = SCHEMA[element.tag]
        owner = self.owner(element, owner)
        sound = self.attributes(element, spec, owner)
        return self.children(element, spec, owner) and sound

    def owner(self, element: Element, owner: str) -> str:
        if element.tag in ("robot", "link", "joint"):
            name = element.get("name", "")
            return f"{element.tag} {quote(name)}" if name else f"{element.tag} without a name"
        return owner

    def attributes(self, element: Element, spec: Tag, owner: str) -> bool:
        present = element.attrib
        for name in [name for name in present if name not in spec.attributes]:
            self.unknown(element, name, spec, owner)
            del present[name]
        sound = True
        for name in spec.names:
            sound &= self.name(element, name, owner)
        if element.tag == "joint" and sound:
            sound = judge_type(present["type"], owner, element.line, self.audit)
        for name, text in present.items():
            if name in spec.numbers:
                sound &= self.number(element, name, text, owner, 1)
            elif name in spec.vectors:
                sound &= self.number(element, name, text, owner, 3)
        for name in spec.required:
            sound &= name in present or self.missing(element, name, spec, owner)
        return sound

    def children(self, element: Element, spec: Tag, owner: str) -> bool:
        sound = True
        first: dict[str, Element] = {}
        kept: list[Element] = []
        for child in element:
            tag = child.tag
            if tag not in spec.children:
                self.unknown_child(child, spec, owner)
            elif tag in first and tag not in spec.many:
                self.twice(first[tag], child, owner)
            else:
                first.setdefault(tag, child)
                if self.clean(child, owner):
                    kept.append(child)
                else:
                    sound &= self.dropped(child, spec, kept)
        for tag in spec.needed:
            if tag not in first:
                sound = False
                self.missing_child(element, tag, owner)
        element[:] = kept
        return sound

    def dropped(self, child: Element, spec: Tag, kept: list[Element]) -> bool:
        """Leave out a broken child; return False if its parent cannot do without it."""
        if child.tag in ("link", "joint"):
            self.audit.partial = True
        if child.tag == "limit":  # no limits are better than a complaint that there are none
            child.attrib.update(_UNLIMITED, lower="-inf", upper="inf")
            kept.append(child)
        return child.tag not in spec.needed

    def name(self, element: Element, attribute: str, owner: str) -> bool:
        text = element.get(attribute)
        if text is not None and text.strip():
            return True
        what = "has no" if text is None else "has an empty"
        shown = _shown(element, attribute)
        code = "missing-name" if attribute == "name" else "missing-attribute"
        message = f"{what} {shown}" if owner else f"{shown}: {what}"
        self.audit.error(code, owner, element.line, message, found=text or "", allowed="a name")
        return False

    def missing(self, element: Element, attribute: str, spec: Tag, owner: str) -> bool:
        message = f"has no {_shown(element, attribute)}"
        if attribute not in spec.assumed:
            self.audit.error("missing-attribute", owner, element.line, message, allowed="a number")
            return False
        self.audit.repair(
            "missing-attribute",
            owner,
            element.line,
            message,
            "taken as unlimited",
            allowed="a number",
        )
        element.set(attribute, spec.assumed[attribute])
        return True

    def number(self, element: Element, attribute: str, text: str, owner: str, count: int) -> bool:
        if (_ONE if count == 1 else _THREE).fullmatch(text):
            if all(math.isfinite(float(word)) for word in text.split()):
                return True
            self.not_finite(element, attribute, text, owner)
            return False
        words = text.split()
        if any(_NOT_FINITE.fullmatch(word) for word in words):
            self.not_finite(element, attribute, text, owner)
            return False
        allowed = "one number" if count == 1 else "three numbers"
        message = f"{_shown(element, attribute)} is {quote(text)}, not {allowed}"
        message += _advice(text, words, count)
        self.audit.error("bad-number", owner, element.line, message, found=text, allowed=allowed)
        return False

    def not_finite(self, element: Element, attribute: str, text: str, owner: str) -> None:
        message = f"{_shown(element, attribute)} is {quote(text)}; numbers must be finite"
        self.audit.error(
            "not-finite", owner, element.line, message, found=text, allowed="finite numbers"
        )

    def twice(self, first: Element, second: Element, owner: str) -> None:
        tag = first.tag
        message = f"has more than one <{tag}>, on lines {first.line} and {second.line}; delete one"
        self.audit.error("duplicate-element", owner, second.line, message, found=f"<{tag}>")

    def missing_child(self, element: Element, tag: str, owner: str) -> None:
        inside = f" in its <{element.tag}>" if element.tag == "inertial" else ""
        attribute = SCHEMA[tag].attributes[0]
        message = f"has no <{tag}>{inside}"
        allowed = f"<{tag} {attribute}=.../>"
        self.audit.error("missing-element", owner, element.line, message, allowed=allowed)

    def unknown_child(self, child: Element, spec: Tag, owner: str) -> None:
        """Warn if an element that is left out looks like a misspelt or misplaced known one."""
        tag = child.tag
        if tag in spec.ignored or owner.startswith("robot") or len(tag) > 20:
            return
        if tag in SCHEMA:
            where = ", ".join(f"<{p}>" for p, parent in SCHEMA.items() if tag in parent.children)
            message = f"<{tag}> does not belong here and is ignored; it belongs in {where}"
        elif guess := self.audit.hint(tag, spec.children):
            message = f"<{tag}> is unknown and ignored{guess}"
        else:
            return
        allowed = listing(spec.children)
        self.audit.add(
            "warning", "unknown-element", owner, child.line, message, found=tag, allowed=allowed
        )

    def unknown(self, element: Element, attribute: str, spec: Tag, owner: str) -> None:
        """Warn if an attribute that is left out looks like a misspelt known one."""
        if attribute in spec.ignored or element.tag == "robot" or len(attribute) > 20:
            return
        absent = [name for name in spec.attributes if name not in element.attrib]
        if guess := self.audit.hint(attribute, absent):
            message = f"<{element.tag} {attribute}> is unknown and ignored{guess}"
            self.audit.add(
                "warning",
                "unknown-attribute",
                owner,
                element.line,
                message,
                found=attribute,
                allowed=listing(spec.attributes),
            )


def _shown(element: Element, attribute: str) -> str:
    return attribute if element.tag in ("link", "joint", "robot") else f"<{element.tag} {attribute}>"


def _advice(text: str, words: list[str], count: int) -> str:
    if not words:
        return "; it is empty"
    if _XACRO.search(text):
        return "; this is xacro, expand it first"
    bad = [word for word in words if not _ONE.fullmatch(word)]
    if not bad and all(c in " \t\r\n0123456789+-.eE" for c in text):
        return f" but {len(words)}"
    if "," in text:
        return "; write a decimal point, and spaces between numbers"
    if not text.isascii():
        return "; only the digits 0 to 9 are numbers"
    if "_" in text:
        return "; digits cannot be grouped by '_'"
    word = bad[0] if bad else text
    unit = re.fullmatch(rf"({_NUMBER})[A-Za-z]+", word)
    return f"; write {unit.group(1)} without a unit" if unit else "; write decimals such as -0.5"

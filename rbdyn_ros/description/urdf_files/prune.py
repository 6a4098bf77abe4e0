"""Cut a URDF tree down to the elements that dynamics needs, and audit their text.

Broken elements are reported and dropped, so that the rest of the document is still audited. The
rest has only known tags, known attributes and well-formed finite numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.joints import audit_type
from rbdyn_ros.description.checks.values import audit_finite
from rbdyn_ros.description.joint_types import URDF_TYPES
from rbdyn_ros.description.urdf_files.guard import Element, refuse
from rbdyn_ros.errors import listing, quote

# The digits are written out: [0-9] is ASCII only, and no two parts can match the same text.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ONE = re.compile(rf"[ \t\r\n]*{_NUMBER}[ \t\r\n]*")
_THREE = re.compile(rf"[ \t\r\n]*{_NUMBER}(?:[ \t\r\n]+{_NUMBER}){{2}}[ \t\r\n]*")
_NOT_FINITE = re.compile(r"[ \t]*[+-]?(nan|inf|infinity)[ \t]*", re.IGNORECASE)
_XACRO = re.compile(r"\$[({]")
_VERSION = re.compile(r"1(\.[0-9]+)*")


@dataclass(frozen=True)
class Tag:
    """The attributes and children that a tag may have.

    Attributes:
        numbers: attributes with one number.
        vectors: attributes with three numbers.
        names: attributes that are names; always required.
        required: required attributes.
        assumed: values of required attributes that may be missing with ``strict=False``.
        one: children allowed once; many: any number; needed: exactly one.
        ignored: known children and attributes that are not needed.
        kinds: number of numbers of every attribute; 0 for a name.
        children: all allowed child tags.
        needs: all required attributes.
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
    kinds: dict[str, int] = field(init=False)
    children: frozenset[str] = field(init=False)
    needs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = dict.fromkeys(self.names, 0) | dict.fromkeys(self.numbers, 1)
        object.__setattr__(self, "kinds", kinds | dict.fromkeys(self.vectors, 3))
        object.__setattr__(self, "children", frozenset(self.needed + self.one + self.many))
        object.__setattr__(self, "needs", frozenset(self.names + self.required))


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
WANTED = {tag: spec.children for tag, spec in SCHEMA.items()}

# Elements of xacro that expand to content: xacro has not run.
_XACRO_CONTENT = {
    f"xacro:{tag}" for tag in ("include", "property", "macro", "arg", "if", "unless")
}


def prune(robot: Element, audit: Audit, source: str) -> None:
    """Cut a ``<robot>`` tree down to what dynamics needs, in place.

    Args:
        robot: root of the tree, as ``guard.parse`` returns it.
        audit: receives errors.
        source: name of the document for messages.

    Raises:
        DescriptionError: the document is xacro source that was not expanded.
    """
    _refuse_raw_xacro(robot, source)
    version = robot.get("version", "1.0")
    if not _VERSION.fullmatch(version):
        message = f"the URDF version is {quote(version)}; allowed is 1.x"
        audit.error("bad-version", "", robot.line, message, found=version, allowed="1.x")
    Pruner(audit, SCHEMA).clean(robot, "")


def _refuse_raw_xacro(robot: Element, source: str) -> None:
    parts = list(robot)
    parts += [child for part in robot if part.tag in ("link", "joint") for child in part]
    for part in parts:
        if part.tag in _XACRO_CONTENT and isinstance(part, Element):
            message = (
                f"<{part.tag}> is xacro, not URDF; expand it with the command xacro, or pass the "
                "path of a .xacro file"
            )
            refuse("raw-xacro", message, source, part.line, f"<{part.tag}>", "URDF")


class Pruner:
    """Prunes elements by a schema, which has a Tag for each wanted tag."""

    def __init__(self, audit: Audit, schema: Mapping[str, Tag]) -> None:
        self.audit = audit
        self.schema = schema

    def clean(self, element: Element, owner: str) -> bool:
        """Prune an element and its children; return False if it must be dropped."""
        spec = self.schema[element.tag]
        if element.tag in ("robot", "link", "joint"):
            name = element.get("name", "")
            owner = f"{element.tag} {quote(name)}" if name else f"{element.tag} without a name"
        sound = self.attributes(element, spec, owner)
        if len(element) or spec.needed:
            sound &= self.children(element, spec, owner)
        return sound

    def attributes(self, element: Element, spec: Tag, owner: str) -> bool:
        present, sound = element.attrib, True
        for name, text in list(present.items()):
            count = spec.kinds.get(name)
            if count is None:
                self.unknown(element, name, spec, owner)
                del present[name]
            elif text == "0 0 0" and element.tag == "origin":
                del present[name]  # the default: less work for urdf_parser_py
            elif count:
                sound &= self.number(element, name, text, owner, count)
            elif not text.strip():
                sound = False
                self.empty_name(element, name, text, owner)
        if not spec.needs <= present.keys():
            for name in spec.names + spec.required:
                sound &= name in present or self.missing(element, name, spec, owner)
        if element.tag == "joint" and sound:
            sound = audit_type(present["type"], owner, element.line, self.audit, URDF_TYPES)
        return sound

    def children(self, element: Element, spec: Tag, owner: str) -> bool:
        sound = True
        first: dict[str, Element] = {}
        kept: list[Element] = []
        for child in element:
            assert isinstance(child, Element)
            tag = child.tag
            if tag not in spec.children:
                self.unknown_child(child, spec, owner)
            elif tag in first and tag not in spec.many:
                self.duplicate(first[tag], child, owner)
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
        """Drop a broken child; return False if its parent needs it."""
        if child.tag in ("link", "joint"):
            self.audit.partial = True
        if child.tag == "limit":  # else the missing limit would be reported as well
            child.attrib.update(_UNLIMITED, lower="-inf", upper="inf")
            kept.append(child)
        return child.tag not in spec.needed

    def empty_name(self, element: Element, attribute: str, text: str, owner: str) -> None:
        code = "missing-name" if attribute == "name" else "missing-attribute"
        message = f"its {_named(element, attribute)} is empty"
        self.audit.error(code, owner, element.line, message, found=text, allowed="a name")

    def missing(self, element: Element, attribute: str, spec: Tag, owner: str) -> bool:
        code = "missing-name" if attribute == "name" else "missing-attribute"
        allowed = "a name" if attribute in spec.names else "a number"
        message = f"has no {_named(element, attribute)}"
        if attribute not in spec.assumed:
            self.audit.error(code, owner, element.line, message, allowed=allowed)
            return False
        repaired = "taken as unlimited"
        self.audit.repair(code, owner, element.line, message, repaired, allowed=allowed)
        element.set(attribute, spec.assumed[attribute])
        return True

    def number(self, element: Element, attribute: str, text: str, owner: str, count: int) -> bool:
        if (_ONE if count == 1 else _THREE).fullmatch(text):
            if attribute == "rpy":  # a description has quaternions only
                angles = tuple(map(float, text.split()))
                what = _named(element, attribute)
                return audit_finite(what, angles, 3, "angle", owner, element.line, self.audit)
            if len(text) < 300 and "e" not in text and "E" not in text:
                return True  # too short to overflow
            if all(math.isfinite(float(word)) for word in text.split()):
                return True
            self.not_finite(element, attribute, text, owner)
            return False
        words = text.split()
        if any(_NOT_FINITE.fullmatch(word) for word in words):
            self.not_finite(element, attribute, text, owner)
            return False
        allowed = "one number" if count == 1 else "three numbers"
        what = f"is {quote(text)}, not {allowed}" if words else f"is empty; it must be {allowed}"
        message = f"{_named(element, attribute)} {what}{_advice(text, words)}"
        self.audit.error("bad-number", owner, element.line, message, found=text, allowed=allowed)
        return False

    def not_finite(self, element: Element, attribute: str, text: str, owner: str) -> None:
        message = f"{_named(element, attribute)} is {quote(text)}; numbers must be finite"
        self.audit.error(
            "not-finite", owner, element.line, message, found=text, allowed="finite numbers"
        )

    def duplicate(self, first: Element, second: Element, owner: str) -> None:
        tag = first.tag
        message = f"has more than one <{tag}>, on lines {first.line} and {second.line}; delete one"
        self.audit.error("duplicate-element", owner, second.line, message, found=f"<{tag}>")

    def missing_child(self, element: Element, tag: str, owner: str) -> None:
        inside = f" in its <{element.tag}>" if element.tag == "inertial" else ""
        attribute = next(iter(self.schema[tag].kinds))
        message = f"has no <{tag}>{inside}"
        allowed = f"<{tag} {attribute}=.../>"
        self.audit.error("missing-element", owner, element.line, message, allowed=allowed)

    def unknown_child(self, child: Element, spec: Tag, owner: str) -> None:
        """Warn if an ignored element is probably misspelt or misplaced."""
        tag = child.tag
        if tag in spec.ignored or len(tag) > 20:
            return
        if tag in self.schema:
            above = [f"<{p}>" for p, parent in self.schema.items() if tag in parent.children]
            where = ", ".join(above)
            message = f"<{tag}> does not belong here and is ignored; it belongs in {where}"
        elif guess := self.audit.hint(tag, spec.children):
            message = f"<{tag}> is unknown and ignored{guess}"
        else:
            return
        allowed = listing(sorted(spec.children))
        self.audit.add(
            "warning", "unknown-element", owner, child.line, message, found=tag, allowed=allowed
        )

    def unknown(self, element: Element, attribute: str, spec: Tag, owner: str) -> None:
        """Warn if an ignored attribute is probably misspelt."""
        if attribute in spec.ignored or element.tag == "robot" or len(attribute) > 20:
            return
        absent = [name for name in spec.kinds if name not in element.attrib]
        if guess := self.audit.hint(attribute, absent):
            message = f"<{element.tag} {attribute}> is unknown and ignored{guess}"
            self.audit.add(
                "warning",
                "unknown-attribute",
                owner,
                element.line,
                message,
                found=attribute,
                allowed=listing(spec.kinds),
            )


def _named(element: Element, attribute: str) -> str:
    return (
        attribute if element.tag in ("link", "joint", "robot") else f"<{element.tag} {attribute}>"
    )


def _advice(text: str, words: list[str]) -> str:
    if not words:
        return ""
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

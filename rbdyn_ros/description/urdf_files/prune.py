# SPDX-License-Identifier: Apache-2.0
"""Cut a URDF tree down to the elements that dynamics needs, and audit their text.

Broken elements are reported and dropped, so that the rest of the document is still audited. The
rest has only known tags, known attributes and well-formed finite numbers.
"""

import math
import re
from collections.abc import Collection, Mapping

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.checks.rotations import NEARLY
from rbdyn_ros.description.checks.joints import audit_type
from rbdyn_ros.description.checks.limits import LIMITED_TYPES
from rbdyn_ros.description.checks.values import audit_finite
from rbdyn_ros.description.parts.joint_types import LOOP_TYPES, URDF_TYPES
from rbdyn_ros.description.parts.poses import rpy_from_quat
from rbdyn_ros.description.reading.guard import Element, refuse
from rbdyn_ros.description.urdf_files import portability, versions
from rbdyn_ros.description.urdf_files.misplaced import (
    Place,
    place_of_attribute,
    place_of_child,
    words_of,
)
from rbdyn_ros.description.urdf_files.schema import LOOPS, QUATERNION, SCHEMA, UNLIMITED, Tag
from rbdyn_ros.description.urdf_files.words import counter
from rbdyn_ros.description.xml_files.unused import Unused
from rbdyn_ros.errors import listing, quote

# The digits are written out: [0-9] is ASCII only, and no two parts can match the same text.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ONE = re.compile(rf"[ \t\r\n]*{_NUMBER}[ \t\r\n]*")
_SEVERAL = {
    count: re.compile(rf"[ \t\r\n]*{_NUMBER}(?:[ \t\r\n]+{_NUMBER}){{{count - 1}}}[ \t\r\n]*")
    for count in (3, 4)
}
_FORMS = {1: _ONE, **_SEVERAL}
_COUNTS = {1: "one number", 3: "three numbers", 4: "four numbers"}
_NOT_FINITE = re.compile(r"[ \t]*[+-]?(nan|inf|infinity)[ \t]*", re.IGNORECASE)
_BREAK = re.compile(r"[\t\r\n]")
_XACRO = re.compile(r"\$[({]")
#: Names of the elements in findings.
_OWNERS = {"robot": "robot", "link": "link", "joint": "joint", **dict.fromkeys(LOOPS, "joint")}
_TYPES: dict[str, tuple[str, ...]] = {"joint": URDF_TYPES, **dict.fromkeys(LOOPS, LOOP_TYPES)}
_TYPES["constraint"] = (*LOOP_TYPES, "universal")
#: Longer words are not compared with words of URDF [characters].
LONGEST_WORD = 20

# Elements of xacro that expand to content; they mean that xacro has not run.
_XACRO_CONTENT = {
    f"xacro:{tag}" for tag in ("include", "property", "macro", "arg", "if", "unless")
}


def prune(robot: Element, audit: Audit, source: str, unused: Unused) -> None:
    """Remove all elements from a ``<robot>`` tree that dynamics does not need, in place.

    Args:
        robot: root of the tree, as ``guard.parse`` returns it.
        audit: receives errors.
        source: name of the document for messages.
        unused: receives the unread elements and attributes.

    Raises:
        DescriptionError: the document is xacro source that was not expanded.
    """
    _refuse_raw_xacro(robot, source)
    versions.audit_version(robot, audit)
    owner = robot_element(robot.get("name", ""))
    portability.audit_materials(robot, owner, audit)
    Pruner(audit, SCHEMA, versions.version_of(robot), unused=unused).clean(robot, "")


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
    """Prunes elements by a schema, which has a Tag for each wanted tag.

    The version of URDF decides which attributes are read. `part` is the child of a link that is
    being pruned, for messages.
    """

    def __init__(
        self,
        audit: Audit,
        schema: Mapping[str, Tag],
        version: versions.Version,
        part: str = "inertial",
        unused: Unused | None = None,
    ) -> None:
        self.audit = audit
        self.part = part
        self.schema = schema
        self.version = version
        self.words = words_of(schema)
        self.unused = counter() if unused is None else unused

    def clean(self, element: Element, owner: str, parent: Element | None = None) -> bool:
        """Prune an element and its children; return False if the element must be dropped."""
        spec = self.schema[element.tag]
        if (kind := _OWNERS.get(element.tag)) is not None:
            name = element.get("name", "")
            owner = f"{kind} {quote(name)}" if name else f"{kind} without a name"
        if element.tag == "joint":
            portability.audit_joint(element, owner, self.audit)
        at = Subject(self.audit, owner, element.line)
        sound = self.attributes(element, spec, at, parent)
        if len(element) or spec.needed:
            sound &= self.children(element, spec, at, parent)
        if element.tag == "joint" and self.version >= versions.WITH_JERK:
            self.bounds(element, owner)
        return sound

    def bounds(self, joint: Element, owner: str) -> None:
        """Audit the position limits of a joint, which newer versions of URDF require."""
        limit = joint.find("limit")
        if limit is None or joint.get("type") not in LIMITED_TYPES:
            return
        assert isinstance(limit, Element)
        at = Subject(self.audit, owner, limit.line)
        for name in ("lower", "upper"):
            if name not in limit.attrib:
                message = f"it has no <limit {name}>, which this version of URDF requires"
                at.repair("missing-bound", message, "taken as 0", allowed="a number")

    def attributes(
        self, element: Element, spec: Tag, at: Subject, parent: Element | None = None
    ) -> bool:
        present, sound = element.attrib, True
        if element.text:
            self.text(element, spec, at)
        if spec.since:
            sound = self.newer(element, spec, at)
        for name, text in list(present.items()):
            count = spec.kinds.get(name)
            if count is None:
                self.unknown(element, name, spec, at, parent)
                del present[name]
            elif text == "0 0 0" and element.tag == "origin":
                del present[name]  # without the default numbers urdf_parser_py has less work
            elif count:
                sound &= self.number(element, name, text, at, count)
                if text[-1:].isspace() or _BREAK.search(text):
                    self.white_space(element, name, text, at, parent)
            elif not text.strip():
                sound = False
                self.empty_name(element, name, text, at)
        if not spec.needs <= present.keys():
            for name in spec.names + spec.required:
                sound &= name in present or self.missing(element, name, spec, at)
        if QUATERNION in present and sound:
            sound = self.orientation(element, at)
        types = _TYPES.get(element.tag)
        if types is not None and sound:
            sound = audit_type(present["type"], at, types)
        return sound

    def newer(self, element: Element, spec: Tag, at: Subject) -> bool:
        """Drop attributes that the version lacks; return False if there are two orientations."""
        present = element.attrib
        for name, since in spec.since.items():
            if name in present and self.version < since:
                message = f"<{element.tag} {name}> is ignored in a file of this version of URDF"
                at.warn("newer-attribute", f"{message}; {versions.needed(since)}", found=name)
                del present[name]
        if QUATERNION not in present or "rpy" not in present:
            return True
        message = f"<{element.tag}> has both rpy and {QUATERNION}; delete one"
        at.error("two-orientations", message, found="rpy", allowed="one of both")
        return False

    def orientation(self, element: Element, at: Subject) -> bool:
        """Replace a quaternion by rpy, which every parser reads; return False after an error."""
        x, y, z, w = values = tuple(map(float, element.attrib.pop(QUATERNION).split()))
        what = _named(element, QUATERNION)
        if not audit_finite(what, values, 4, "direction", at):
            return False
        length = math.hypot(*values)
        if length == 0.0:
            message = f"{what} is zero; it must have a direction"
            at.error("zero-quaternion", message, found="0 0 0 0")
            return False
        if abs(length - 1.0) > NEARLY:
            message = f"{what} has length {length:.6g}; it is divided by its length"
            at.note("quaternion-normalised", message, found=f"{length:g}")
        turn = (w / length, x / length, y / length, z / length)
        element.set("rpy", " ".join(map(repr, rpy_from_quat(turn))))
        return True

    def children(self, element: Element, spec: Tag, at: Subject, parent: Element | None) -> bool:
        sound = True
        first: dict[str, Element] = {}
        reported: dict[str, bool] = {}
        kept: list[Element] = []
        for child in element:
            assert isinstance(child, Element)
            tag = child.tag
            if tag not in spec.children:
                if tag not in reported:  # report each word once: a file may have a million
                    reported[tag] = self.unknown_child(child, element, at.owner, parent)
                if not (reported[tag] or tag in spec.ignored):
                    self.unused.count(f"<{tag}>", child.line, tag)
            elif tag in first and tag not in spec.many:
                self.duplicate(first[tag], child, at.owner)
            else:
                first.setdefault(tag, child)
                if self.clean(child, at.owner, element):
                    kept.append(child)
                else:
                    sound &= self.dropped(child, spec, kept)
        for tag in spec.needed:
            if tag not in first:
                sound = False
                self.missing_child(element, tag, at)
        element[:] = kept
        return sound

    def dropped(self, child: Element, spec: Tag, kept: list[Element]) -> bool:
        """Drop a broken child (a limit becomes infinite); return False if the parent needs it."""
        if child.tag in _OWNERS:
            self.audit.partial = True
        if child.tag == "limit":  # avoid a second error about the missing limit
            child.attrib.clear()
            child.attrib.update(UNLIMITED, lower="-inf", upper="inf")
            kept.append(child)
        return child.tag not in spec.needed

    def empty_name(self, element: Element, attribute: str, text: str, at: Subject) -> None:
        code = "missing-name" if attribute == "name" else "missing-attribute"
        at.error(code, f"its {_named(element, attribute)} is empty", found=text, allowed="a name")

    def missing(self, element: Element, attribute: str, spec: Tag, at: Subject) -> bool:
        code = "missing-name" if attribute == "name" else "missing-attribute"
        allowed = "a name" if attribute in spec.names else "a number"
        message = f"it has no {_named(element, attribute)}"
        if attribute not in spec.assumed:
            at.error(code, message, allowed=allowed)
            return False
        element.set(attribute, spec.assumed[attribute])
        if spec.optional(attribute, self.version):
            return True
        at.repair(code, message, "taken as unlimited", allowed=allowed)
        return True

    def number(self, element: Element, attribute: str, text: str, at: Subject, count: int) -> bool:
        if _FORMS[count].fullmatch(text):
            if attribute == "rpy":  # check the angles here, as a description has quaternions only
                angles = tuple(map(float, text.split()))
                what = _named(element, attribute)
                return audit_finite(what, angles, 3, "angle", at)
            if len(text) < 300 and "e" not in text and "E" not in text:
                return True  # numbers this short cannot overflow
            if all(math.isfinite(float(word)) for word in text.split()):
                return True
            self.not_finite(element, attribute, text, at)
            return False
        words = text.split()
        if any(_NOT_FINITE.fullmatch(word) for word in words):
            self.not_finite(element, attribute, text, at)
            return False
        allowed = _COUNTS[count]
        what = f"is {quote(text)}, not {allowed}" if words else f"is empty; it must be {allowed}"
        message = f"{_named(element, attribute)} {what}{_advice(text, words)}"
        at.error("bad-number", message, found=text, allowed=allowed)
        return False

    def white_space(
        self, element: Element, attribute: str, text: str, at: Subject, parent: Element | None
    ) -> None:
        """Warn of white space that urdfdom refuses."""
        count = self.schema[element.tag].kinds[attribute]
        if not (portability.is_refused(text, count) and _FORMS[count].fullmatch(text)):
            return
        if (
            element.tag == "axis"
            and parent is not None
            and parent.get("type") in portability.AXIS_FREE
        ):
            return
        effect = (
            portability.drops(self.part) if at.owner.startswith("link ") else portability.REFUSES
        )
        advice = "separate the numbers by blanks" if count > 1 else "delete the white space"
        message = f"{_named(element, attribute)} is {quote(text)}: {effect}; {advice}"
        at.warn("unportable", message, found=text)

    def not_finite(self, element: Element, attribute: str, text: str, at: Subject) -> None:
        message = f"{_named(element, attribute)} is {quote(text)}; numbers must be finite"
        at.error("not-finite", message, found=text, allowed="finite numbers")

    def duplicate(self, first: Element, second: Element, owner: str) -> None:
        tag = first.tag
        lines = f"lines {first.line} and {second.line}"
        message = f"it has more than one <{tag}>, on {lines}; delete one"
        self.audit.error("duplicate-element", owner, second.line, message, found=f"<{tag}>")

    def missing_child(self, element: Element, tag: str, at: Subject) -> None:
        inside = f" in its <{element.tag}>" if element.tag == "inertial" else ""
        attribute = next(iter(self.schema[tag].kinds))
        allowed = f"<{tag} {attribute}=.../>"
        at.error("missing-element", f"it has no <{tag}>{inside}", allowed=allowed)

    def unknown_child(
        self, child: Element, element: Element, owner: str, parent: Element | None
    ) -> bool:
        """Return whether a child is misplaced or probably misspelt, and report it."""
        tag, spec = child.tag, self.schema[element.tag]
        if tag in spec.ignored or tag in spec.unused or len(tag) > LONGEST_WORD:
            return False
        known, at = tag.lower() in self.words, Subject(self.audit, owner, child.line)
        place = place_of_child(child, element, parent, self.schema) if known else None
        if place is not None:
            self.misplaced(f"<{tag}> in its <{element.tag}>", tag, place, at)
            return True
        guess = self.audit.hint(tag, spec.children)
        if guess:
            self.misspelt("element", f"<{tag}>", tag, guess, spec.children, at)
        return bool(guess)

    def unknown(
        self, element: Element, attribute: str, spec: Tag, at: Subject, parent: Element | None
    ) -> None:
        """Report an ignored attribute: misplaced, probably misspelt, or not used."""
        what = f"<{element.tag} {attribute}>"
        if attribute in spec.ignored or attribute.startswith("xmlns"):
            return
        is_own = element.tag != "robot" and len(attribute) <= LONGEST_WORD
        if attribute not in spec.unused and is_own:
            known = attribute.lower() in self.words
            place = place_of_attribute(element, attribute, parent, self.schema) if known else None
            if place is not None:
                self.misplaced(what, attribute, place, at)
                return
            absent = [name for name in spec.kinds if name not in element.attrib]
            if guess := self.audit.hint(attribute, absent):
                self.misspelt("attribute", what, attribute, guess, spec.kinds, at)
                return
        self.unused.count(what, element.line, attribute)

    def misspelt(
        self, kind: str, what: str, word: str, guess: str, known: Collection[str], at: Subject
    ) -> None:
        """Warn of a word that is probably misspelt; `what` names it, and `guess` is the hint."""
        message = f"{what} is unknown and ignored{guess}"
        allowed = listing(known if kind == "attribute" else sorted(known))
        at.warn(f"unknown-{kind}", message, found=word, allowed=allowed)

    def misplaced(self, what: str, word: str, place: Place, at: Subject) -> None:
        """Report a word that belongs in another place; `what` names it."""
        message = f"{what} is not read; {place.advice}"
        if place.severity == "error":
            at.repair("misplaced", message, "it is ignored", found=word)
        else:
            at.audit.add(place.severity, "misplaced", at.owner, at.line, message, found=word)

    def text(self, element: Element, spec: Tag, at: Subject) -> None:
        """Report text inside an element that has attributes only."""
        text, element.text = (element.text or "").strip(), None
        if spec.children:
            return  # text next to children is a comment
        numbers = [name for name, count in spec.kinds.items() if count]
        lost = numbers and not any(name in element.attrib for name in numbers)
        where = ", ".join(f"<{element.tag} {name}>" for name in numbers or spec.kinds)
        place = Place(f"it belongs in {where}", "error" if lost else "warning")
        what = f"the text {quote(text)} in its <{element.tag}>"
        self.misplaced(what, text, place, at)


def _named(element: Element, attribute: str) -> str:
    return attribute if element.tag in _OWNERS else f"<{element.tag} {attribute}>"


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
    return f"; write {unit.group(1)} without a unit" if unit else "; write decimals such as 0.5"

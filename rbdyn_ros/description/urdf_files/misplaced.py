# SPDX-License-Identifier: Apache-2.0
"""Find the right place of a misplaced word in a URDF.

There are two rules. A word that the schema has in another place belongs there; the nearest place
counts first. Words of other formats are in FOREIGN. All other unknown words are extensions, which
are skipped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from rbdyn_ros.description.urdf_files.schema import LOOPS, NEW_LIMITS, QUATERNION, Tag
from rbdyn_ros.errors import Severity


@dataclass(frozen=True, slots=True)
class Place:
    """The right place of a misplaced word.

    Attributes:
        advice: in words: `it belongs in <axis xyz>`.
        severity: error: the robot would not move as intended; warning: the right place has a
            value, or the motion stays the same; note: the value is the default of the word.
    """

    advice: str
    severity: Severity


#: Words of another format, each with its place in URDF, and with the attributes of the same
#: meaning. Without these attributes the finding is a warning, as no parser of URDF reads the word.
_Foreign = dict[str, tuple[str, tuple[str, ...]]]
#: The right place of a word, whether a value is given there, and whether it affects the motion.
_Found = tuple[str, bool, bool]


def _words(where: str, instead: str, words: str) -> _Foreign:
    return {word: (where, tuple(instead.split())) for word in words.split()}


_PLACED = (
    _words("<{} xyz>, three numbers", "xyz", "x y z pos position translation offset pose")
    | _words("<{} rpy>, three numbers", f"rpy {QUATERNION}", "roll pitch yaw r p rot rotation")
    | _words("<{} rpy>, three numbers", f"rpy {QUATERNION}", "orientation euler angles")
    | _words(f"<{{}} {QUATERNION}>, four numbers", f"rpy {QUATERNION}", "quat quaternion wxyz")
)
_ROTOR = _words("an actuators file, as `armature`", "", "armature rotor_inertia")
_SPRING = _words("a mechanism file, as `stiffness` and `rest`", "", "spring stiffness springref")
_SPRING |= _words(_SPRING["spring"][0], "", "spring_stiffness spring_reference")

_RATIO = _words(
    "<mimic multiplier>", "multiplier", "ratio gear gear_ratio factor gain scale coefficient"
)

FOREIGN: dict[str, _Foreign] = {
    **dict.fromkeys(("origin", *LOOPS["loop_joint"]), _PLACED),
    "mimic": _RATIO | _words("<mimic offset>", "offset", "bias shift"),
    "limit": _words("<limit lower>", "lower", "min minimum low")
    | _words("<limit upper>", "upper", "max maximum high")
    | _words("<limit lower> and <limit upper>", "lower upper", "range")
    | _words("<limit effort>", "effort", "torque force max_effort max_torque max_force")
    | _words("<limit velocity>", "velocity", "speed vel max_velocity max_speed"),
    "dynamics": _words("<dynamics friction>", "friction", "frictionloss coulomb static")
    | _words("<dynamics damping>", "damping", "viscous viscosity")
    | _ROTOR
    | _SPRING,
    "joint": _ROTOR
    | _SPRING
    | _words("<limit lower> and <limit upper>", "limit", "min max range")
    | _words("<origin>", "origin", "pose pos"),
    "axis": _words("the vector in <axis xyz>; no parser turns it by rpy", "", "rpy"),
    "link": _words(
        "<origin> of <inertial>, <visual>, <collision> or <joint>", "", "origin pose pos xyz rpy"
    )
    | _words("<mass value>, in <inertial>", "", "density"),
    "inertial": _words("<origin xyz>, in <inertial>", "origin", "com cog center_of_mass pose pos")
    | _words("<mass value>, in <inertial>", "mass", "density"),
}
#: Attributes that name a unit; the units that URDF has anyway change nothing.
_UNITS = ("unit", "units")
_SI = {"", "kg", "m", "meter", "rad", "radian", "si", "n", "nm", "n*m", "m/s", "rad/s", "kg*m^2"}

#: Attributes that do not affect the motion, or occur in many elements with many meanings.
_HARMLESS = frozenset((*NEW_LIMITS, "radius", "length", "size"))
_TOO_COMMON = frozenset(("value", "size", "length", "scale", "radius"))
#: Default values of attributes, where the default is not 0.
_USUAL = dict.fromkeys(("multiplier", *_RATIO), (1.0,)) | {
    "axis": (1.0, 0.0, 0.0),
    "scale": (1.0, 1.0, 1.0),
}


def words_of(schema: Mapping[str, Tag]) -> frozenset[str]:
    """Return the words that have a place in a schema; all other words are extensions."""
    attributes = {name for spec in schema.values() for name in spec.kinds}
    foreign = {word for words in FOREIGN.values() for word in words}
    return frozenset(attributes | foreign | schema.keys() | set(_UNITS))


def place_of_attribute(
    element: ET.Element, name: str, parent: ET.Element | None, schema: Mapping[str, Tag]
) -> Place | None:
    """Return the right place of an unknown attribute, or None if it is an extension."""
    text = element.attrib[name]
    if name.lower() in _UNITS:
        usual = text.strip().lower() in _SI
        advice = "URDF has kg, m, rad, s and N; convert the number"
        return Place(advice, "note" if usual else "error")
    near = _Near(element, parent, schema)
    found = _foreign(element, name) or near.of_attribute(name)
    found = found or near.of_child(name, attribute=True)
    return _judged(found, name, text)


def place_of_child(
    child: ET.Element, element: ET.Element, parent: ET.Element | None, schema: Mapping[str, Tag]
) -> Place | None:
    """Return the right place of an unknown child of an element, or None if it is an extension."""
    tag, near = child.tag, _Near(element, parent, schema)
    found = _foreign(element, tag)
    if found is None and tag in schema:
        found = (near.of_child(tag) if element.tag != "robot" else None) or near.anywhere(tag)
    elif found is None:
        found = near.of_attribute(tag, itself=True)
    texts = [text for name, text in child.attrib.items() if name != "name"]
    return _judged(found, tag, " ".join(texts) if texts else child.text or "?")


def _judged(found: _Found | None, word: str, text: str) -> Place | None:
    """Return the place of a word with the text `text`, with the severity, or None if not found."""
    if found is None:
        return None
    where, given, moves = found
    advice = f"it belongs in {where}"
    if not given and _is_usual(word, text):
        return Place(advice, "note")
    return Place(advice, "warning" if given or not moves else "error")


def _is_usual(word: str, text: str) -> bool:
    """Return whether a text is empty, or has the default numbers of the attribute `word`."""
    try:
        numbers = tuple(map(float, text.split()))
    except ValueError:
        return False
    return numbers == _USUAL.get(word, (0.0,) * len(numbers)) if numbers else True


def _foreign(element: ET.Element, word: str) -> _Found | None:
    entry = FOREIGN.get(element.tag, {}).get(word.lower())
    if entry is None:
        return None
    where, instead = entry
    given = any(name in element.attrib or element.find(name) is not None for name in instead)
    return where.format(element.tag), given, bool(instead)


class _Near:
    """The places near an element, the nearest kind first."""

    def __init__(
        self, element: ET.Element, parent: ET.Element | None, schema: Mapping[str, Tag]
    ) -> None:
        self._element, self._parent, self._schema = element, parent, schema

    def of_attribute(self, name: str, *, itself: bool = False) -> _Found | None:
        """Return the nearest place of an attribute, or None if no element has it.

        If `itself`, the element itself counts as the nearest.
        """
        for tag, of, path in self._kinds(itself):
            if self._schema[tag].kinds.get(name):
                given = any(name in other.attrib for other in of.iterfind(path))
                return f"<{tag} {name}>", given, name not in _HARMLESS
        owners = [f"<{tag} {name}>" for tag, spec in self._schema.items() if spec.kinds.get(name)]
        if not owners or name in _TOO_COMMON:
            return None
        return ", ".join(owners), False, False

    def of_child(self, word: str, *, attribute: bool = False) -> _Found | None:
        """Return the nearest place of an element, or None if it belongs in no element nearby.

        Args:
            word: tag of the element.
            attribute: whether the file has an attribute of this name instead of the element.
        """
        for tag, of, path in self._kinds(itself=True):
            if word in self._schema[tag].children and word not in ("link", "joint"):
                given = any(other.find(word) is not None for other in of.iterfind(path))
                inner = f"<{word} {next(iter(self._schema[word].kinds), '')}>"
                return inner if attribute else f"<{tag}>", given, True
        return None

    def anywhere(self, tag: str) -> _Found | None:
        """Return the elements in which an element is allowed, or None if it is allowed nowhere."""
        above = [f"<{name}>" for name, spec in self._schema.items() if tag in spec.children]
        # some robots of vendors have an <inertial> directly in <robot>, where it has no effect
        return (", ".join(above), False, self._element.tag != "robot") if above else None

    def _kinds(self, itself: bool) -> Iterator[tuple[str, ET.Element, str]]:
        """Yield tag, element, and path from the element to the tag, the nearest first."""
        element, parent = self._element, self._parent
        if itself:
            yield element.tag, element, "."
        for tag in self._children(element.tag):
            yield tag, element, tag
        if parent is not None and parent.tag != "robot":
            for tag in self._children(parent.tag):
                if tag != element.tag:
                    yield tag, parent, tag
            yield parent.tag, parent, "."
        for child in self._children(element.tag):
            for tag in self._children(child):
                yield tag, element, f"{child}/{tag}"

    def _children(self, tag: str) -> list[str]:
        """Return the children of a tag that the schema has, in its order."""
        spec = self._schema[tag]
        return [child for child in (*spec.needed, *spec.one, *spec.many) if child in self._schema]

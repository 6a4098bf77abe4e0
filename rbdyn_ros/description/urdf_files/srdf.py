# SPDX-License-Identifier: Apache-2.0
"""Read an SRDF, the semantic description of a robot: which links may overlap.

Only `<disable_collisions>`, `<disable_default_collisions>`, `<enable_collisions>` and
`<group_state>` are read; the other elements are for MoveIt. A pair with an unknown link is ignored
with a warning: one SRDF often serves several variants of a robot.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.description.parts.geometries import Exclusion, GroupState
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, counted, quote, shown

SUFFIX = ".srdf"
#: Codes of findings that are not about links.
OF_STATES = ("bad-state", "unusable-srdf")

_DISABLE, _ENABLE = "disable_collisions", "enable_collisions"
_DISABLE_ALL = "disable_default_collisions"
_STATE, _JOINT = "group_state", "joint"
_LINKS = {_DISABLE: ("link1", "link2"), _ENABLE: ("link1", "link2"), _DISABLE_ALL: ("link",)}
_WANTED = {
    "robot": {*_LINKS, _STATE},
    _STATE: {_JOINT},
    **{tag: set[str]() for tag in (*_LINKS, _JOINT)},
}


@dataclass(frozen=True, slots=True)
class Semantics:
    """The pairs of links that may overlap.

    Attributes:
        exclusions: pairs that the SRDF disables.
        enabled: pairs that it enables.
        states: poses of the robot; links that overlap in one of these poses may overlap.
    """

    exclusions: tuple[Exclusion, ...] = ()
    states: tuple[GroupState, ...] = ()
    enabled: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class SrdfSource:
    """The source of the SRDF of a robot.

    Attributes:
        given: path of the file, the text, True for a file next to the robot, or False for none.
        robot: path of the robot file; None if the robot is given as text.
    """

    given: str | bytes | Path | bool
    robot: Path | None

    def read(self, name: str, links: Collection[str], audit: Audit) -> Semantics:
        """Return the pairs of links that may overlap according to the SRDF.

        Args:
            name: name of the robot.
            links: names of its links.
            audit: receives warnings; one of them is about a file next to the robot that cannot be
                used.

        Raises:
            DescriptionError: a given file cannot be used.
        """
        if self.given is True:
            path = self.beside(name)
            if path is None:
                return Semantics()
            try:
                data = read_bytes(path, "an .srdf file", "its path")
                return _read(data, path.name, links, audit)
            except DescriptionError as error:
                message = f"the file beside the robot is ignored: {error}"
                audit.add("warning", "unusable-srdf", f"srdf {quote(path.name)}", None, message)
                return Semantics()
        if self.given is False:
            return Semantics()
        if isinstance(self.given, bytes) or (isinstance(self.given, str) and "<" in self.given):
            return _read(self.given, "srdf", links, audit)
        path = Path(self.given)
        return _read(
            read_bytes(path, "an .srdf file", "its path or text"), path.name, links, audit
        )

    def beside(self, name: str) -> Path | None:
        """Return the SRDF next to a robot file, named like the file or the robot, or None."""
        if self.robot is None:
            return None
        folder = self.robot.parent
        stem = self.robot.name.partition(".")[0]
        names = [stem] if Path(name).name != name else [stem, name]
        places = (folder, folder / "srdf", folder.parent / "srdf")
        paths = (place / f"{each}{SUFFIX}" for each in names for place in places)
        return next((path for path in paths if kind_of(path) == "file"), None)


def text_beside(robot: Path, name: str) -> str:
    """Return the text of the SRDF next to a robot file, or "" if no SRDF can be used."""
    path = SrdfSource(given=True, robot=robot).beside(name)
    if path is None:
        return ""
    try:
        data = read_bytes(path, "an .srdf file", "its path")
        _read(data, path.name, (), Audit())
        return guard.decode(data, path.name)
    except DescriptionError:
        return ""


def check_srdf(srdf: object) -> None:
    """Raise ParameterError unless `srdf` is a path, a text, True or False."""
    if not isinstance(srdf, str | bytes | Path | bool):
        text = f"srdf is {shown(srdf)}; allowed are a path, the text of an SRDF, True and False"
        raise ParameterError(Finding("bad-srdf", text, "error", "srdf", None, shown(srdf)))


def _read(data: bytes | str, source: str, links: Collection[str], audit: Audit) -> Semantics:
    robot = guard.parse(data, source, "robot", _WANTED)
    reader = _Reader(source, links, audit)
    disabled: dict[frozenset[str], int] = {}
    enabled: list[frozenset[str]] = []
    for element in robot:
        assert isinstance(element, guard.Element)
        if element.tag == _DISABLE_ALL:
            for name in reader.links(element):
                disabled |= {frozenset((name, other)): element.line for other in links}
    for tag in (_ENABLE, _DISABLE):
        for element in robot.findall(tag):
            assert isinstance(element, guard.Element)
            pair = reader.links(element)
            if len(pair) == 2 and tag == _DISABLE:
                disabled[frozenset(pair)] = element.line
            elif len(pair) == 2:
                disabled.pop(frozenset(pair), None)
                enabled.append(frozenset(pair))
    found = [
        Exclusion(min(pair), max(pair), line, links=True)
        for pair, line in disabled.items()
        if len(pair) == 2
    ]
    count = len(found)
    message = f"{counted(count, 'pair')} of links may overlap"
    audit.add("note", "srdf", f"srdf {quote(source)}", None, message, found=str(count))
    enabled = [pair for pair in enabled if pair not in disabled]
    return Semantics(tuple(found), tuple(reader.states(robot)), tuple(enabled))


class _Reader:
    """Reads links and group states from an SRDF; each unknown link is reported once."""

    def __init__(self, source: str, links: Collection[str], audit: Audit) -> None:
        self._known = dict.fromkeys(links)
        self._element = f"srdf {quote(source)}"
        self._audit = audit
        self._reported: set[str] = set()

    def links(self, element: guard.Element) -> list[str]:
        """Return the links of an element, or an empty list if a link is missing or unknown."""
        names = []
        for attribute in _LINKS[element.tag]:
            name = element.get(attribute)
            if name is None:
                self._report(f"<{element.tag}> has no attribute {attribute}", element, "")
            elif name not in self._known:
                hint = self._audit.hint(name, self._known)
                message = f"<{element.tag}> names the unknown link {quote(name)}{hint}"
                self._report(message, element, name)
            else:
                names.append(name)
        return names if len(names) == len(_LINKS[element.tag]) else []

    def states(self, robot: guard.Element) -> Iterator[GroupState]:
        """Yield the poses, without joints with several coordinates such as a floating base.

        Report poses with errors and leave them out.
        """
        for element in robot.findall(_STATE):
            assert isinstance(element, guard.Element)
            name, positions = element.get("name", ""), dict[str, float]()
            if not name.strip():
                self._report("a <group_state> has no name", element, "", "bad-state")
                continue
            try:
                for joint in element:
                    values = [_coordinate(value) for value in joint.get("value", "").split()]
                    if len(values) == 1:
                        positions[joint.get("name", "")] = values[0]
                yield GroupState(name, positions, element.line)
            except ValueError:
                message = f"the state {quote(name)} has a position that is not a number"
                self._report(message, element, "", "bad-state")

    def _report(
        self, message: str, element: guard.Element, name: str, code: str = "unknown-link"
    ) -> None:
        key = name or message
        if key in self._reported:
            return
        self._reported.add(key)
        where, line = f"line {element.line}: {message}; it is ignored", element.line
        self._audit.add("warning", code, self._element, line, where, found=name)


def _coordinate(text: str) -> float:
    value = float(text)
    if not abs(value) <= BOUNDS["coordinate"].high:
        raise ValueError(text)
    return value

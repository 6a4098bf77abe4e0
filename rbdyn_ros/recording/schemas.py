"""The types of messages in a recording: their text as ROS 2 has it, and their bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rbdyn_ros.errors import Finding, ParameterError

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

NANOSECONDS = 10**9
STATE = "rbdyn_interfaces/msg/State"
#: The fields of rbdyn_interfaces/msg/State.msg, for where ROS 2 is not installed.
STATE_FIELDS = """\
builtin_interfaces/Time stamp
uint64 tick
float64 time
uint32 epoch
float64[] qpos
float64[] qvel
float64[] qacc
float64[] effort
float64[] xfrc
float64[] contact
"""


def missing_extra(package: str) -> ParameterError:
    """Return the error for a package that only recordings need."""
    package = package.split(".", maxsplit=1)[0]
    text = f'recordings need {package}, which is not installed: pip install "rbdyn_ros[record]"'
    return ParameterError(Finding("no-record-extra", text, "error", "", None, "", package))


class Schemas:
    """Types by name: the standard ones of ROS 2, State, and what is found elsewhere.

    Args:
        find: returns the text of a .msg file by the name of its type, or None.

    Raises:
        ParameterError: rosbags is not installed.
    """

    def __init__(self, find: Callable[[str], str | None] = lambda _: None) -> None:
        try:
            from rosbags.typesys import Stores, get_types_from_msg, get_typestore
        except ImportError as error:
            raise missing_extra("rosbags") from error
        self._find, self._parse = find, get_types_from_msg
        self.store: Typestore = get_typestore(Stores.LATEST)
        self.store.register(get_types_from_msg(STATE_FIELDS, STATE))

    def text(self, typename: str) -> str:
        """Return the definition of a type with all its parts, as encoding ros2msg has it.

        Raises:
            ParameterError: the type, or one of its parts, is not known.
        """
        self._learn(typename)
        text, _ = self.store.generate_msgdef(typename, ros_version=2)
        return text

    def define(self, typename: str, fields: str) -> None:
        """Make a type known by its fields, as a .msg file has them."""
        if typename not in self.store.types:
            self.store.register(self._parse(fields, typename))

    def serialize(self, typename: str, message: Any) -> bytes:
        """Return the bytes (CDR, little-endian) of a message of rosbags."""
        return bytes(self.store.serialize_cdr(message, typename))

    def message(self, typename: str) -> Any:
        """Return the class of a type."""
        self._learn(typename)
        return self.store.types[typename]

    def _learn(self, typename: str) -> None:
        if typename in self.store.types:
            return
        text = self._find(typename)
        if text is None:
            why = f"the type {typename} of a message is not known, so it cannot be recorded"
            raise ParameterError(Finding("unknown-type", why, "error", "", None, typename))
        new = self._parse(text, typename)
        for part in _parts(new[typename]):
            self._learn(part)
        self.store.register(new)


def _parts(definition: Any) -> list[str]:
    """Return the names of the types that the fields of a type are of."""
    names: list[str] = []

    def collect(field: Any) -> None:
        kind, detail = field
        if kind.name == "NAME":
            names.append(detail)
        elif kind.name in ("ARRAY", "SEQUENCE"):
            collect(detail[0])

    for _, field in definition[1]:
        collect(field)
    return names


def schema_text(typename: str) -> str:
    """Return the definition of a standard type, or of State, with all its parts."""
    return Schemas().text(typename)

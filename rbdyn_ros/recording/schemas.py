# SPDX-License-Identifier: Apache-2.0
"""Message types of a recording: define them as ROS 2 does, and serialize their messages."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

#: Name of the library in the header of a recording.
LIBRARY = "rbdyn_ros"
STATE = "rbdyn_interfaces/msg/State"
#: Fields of rbdyn_interfaces/msg/State.msg, for use without ROS 2.
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
float64[] stick
float64[] stick_qfrc
float64[] act
"""
#: Fields that later versions added to State.msg, in the order in which they were added.
LATER = ("stick", "stick_qfrc", "act")
#: Number of bytes before a message, which name its encoding; and the first two of these bytes for
#: big-endian and for little-endian CDR.
PREFIX, ENCODINGS = 4, (b"\0\0", b"\0\1")
#: Largest numbers of unused bytes: after a message, and in addition for each empty array.
SPARE, SPARE_EMPTY = 3, 4


def older_state(known: int) -> tuple[str, str]:
    """Return name and fields of an older State, which has only the first `known` of LATER."""
    fields = STATE_FIELDS
    for name in reversed(LATER[known:]):
        fields = fields.removesuffix(f"float64[] {name}\n")
    return f"{STATE}{known}", fields


def missing_extra(package: str) -> ParameterError:
    """Return the error about a missing package that only recordings need."""
    package = package.split(".", maxsplit=1)[0]
    text = f'recordings need {package}, which is not installed: pip install "rbdyn_ros[record]"'
    return ParameterError(Finding("no-record-extra", text, "error", "", None, "", package))


class Schemas:
    """Message types by name: the standard types of ROS 2, State, and types from `find`.

    Args:
        find: returns the text of the .msg file of a type; None: it does not know the type.

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
        """Return the definition of a type and all its dependencies, in the encoding ros2msg.

        Raises:
            ParameterError: the type or a dependency is unknown.
        """
        self._learn(typename)
        text, _ = self.store.generate_msgdef(typename, ros_version=2)
        return text

    def define(self, typename: str, fields: str) -> None:
        """Define a type by the text of its .msg file."""
        if typename not in self.store.types:
            self.store.register(self._parse(fields, typename))

    def serialize(self, typename: str, message: Any) -> bytes:
        """Return a rosbags message of a type as bytes (little-endian CDR)."""
        return bytes(self.store.serialize_cdr(message, typename))

    def deserialize(self, raw: bytes, typename: str) -> Any:
        """Return the message of a type from the bytes that a publisher has sent.

        Fast DDS reserves bytes to align the first number of each array. For an empty array these
        bytes remain unused at the end of the message.

        Raises:
            Exception: rosbags raises it for a malformed message.
        """
        kind = self.store.get_msgdef(typename)
        if raw[:2] not in ENCODINGS:
            raise ValueError("its encoding is not CDR")
        read = kind.deserialize_cdr_le if raw[1] else kind.deserialize_cdr_be
        message, end = read(raw[PREFIX:], 0, kind.cls, self.store)
        arrays = [x for x in vars(message).values() if isinstance(x, np.ndarray)]
        unused = len(raw) - PREFIX - end
        if unused > SPARE + SPARE_EMPTY * sum(not x.size for x in arrays):
            raise ValueError(f"{unused} bytes follow it")
        return message

    def message(self, typename: str) -> Any:
        """Return the class of the messages of a type."""
        self._learn(typename)
        return self.store.types[typename]

    def _learn(self, typename: str) -> None:
        if typename in self.store.types:
            return
        text = self._find(typename)
        if text is None:
            reason = f"the message type {typename} is unknown, so it cannot be recorded"
            raise ParameterError(Finding("unknown-type", reason, "error", "", None, typename))
        new = self._parse(text, typename)
        for part in _parts(new[typename]):
            self._learn(part)
        self.store.register(new)


def _parts(definition: Any) -> list[str]:
    """Return the names of the message types of a type's fields."""
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

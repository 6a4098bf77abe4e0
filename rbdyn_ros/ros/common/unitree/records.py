# SPDX-License-Identifier: Apache-2.0
"""Convert LowCmd and LowState to rows of numbers, and rows to messages with a checksum.

The checksum `crc` is a CRC-32 with polynomial 0x04C11DB7 and initial value 0xFFFFFFFF, without
reflection. It covers the 32-bit words of the C structure with the same fields, except the last
word, which is `crc` itself. `motor_crc.cpp` of unitree_ros2 computes the same checksum.
"""

import functools
import importlib
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

#: Format characters of Python's `struct` for the types of ROS fields. Each type is aligned to its
#: size.
CODES = {
    "uint8": "B",
    "int8": "b",
    "octet": "B",
    "boolean": "?",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "uint64": "Q",
    "int64": "q",
    "float": "f",
    "double": "d",
}
FIELD = re.compile(r"([\w/]+)(?:\[(\d+)\])?")
#: All bytes, with their bits in reverse order.
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
#: First bytes of a message in little-endian CDR.
CDR = b"\0\1\0\0"


class RecordField(NamedTuple):
    """A field of a message: its name, type, number of elements, and whether it is an array."""

    name: str
    kind: Any
    size: int
    is_array: bool


class UnitreeRecord:
    """A message of fixed size whose last field is `crc`.

    Args:
        kind: class of the message.

    Attributes:
        places: index in a row by the name of a number, such as `motor_state[3].q`.
    """

    def __init__(self, kind: Any) -> None:
        leaves = list(_leaves(kind, ""))
        self.places = {name: k for k, (name, _) in enumerate(leaves)}
        self._kind = kind
        self._memory = struct.Struct("<" + _structure(kind)[0])
        self._wire = struct.Struct("<" + _wire([code for _, code in leaves]))

    def zeros(self) -> list[Any]:
        """Return a row with a zero for each number of the message."""
        return [0] * len(self.places)

    def row(self, message: Any) -> list[Any]:
        """Return all numbers of a message as one row."""
        return list(_numbers(message, self._kind))

    def crc(self, row: list[Any]) -> int:
        """Return the checksum of a row, which covers all numbers but the last."""
        words = np.frombuffer(self._memory.pack(*row)[:-4], "<u4")
        data = words.astype(">u4").tobytes().translate(REVERSED)
        return int(f"{~zlib.crc32(data) & 0xFFFFFFFF:032b}"[::-1], 2)

    def message(self, row: list[Any]) -> bytes:
        """Return the serialised message of a row, after setting its checksum."""
        row[-1] = self.crc(row)
        return CDR + self._wire.pack(*row)


@functools.cache
def _fields(kind: Any) -> tuple[RecordField, ...]:
    fields = []
    for name, text in kind.get_fields_and_field_types().items():
        match = FIELD.fullmatch(text)
        assert match is not None, f"{kind.__name__}.{name} is {text}, which has no fixed size"
        base, count = match[1], int(match[2] or 1)
        if base not in CODES:
            package, _, title = base.partition("/")
            base = getattr(importlib.import_module(f"{package}.msg"), title)
        fields.append(RecordField(name, base, count, match[2] is not None))
    return tuple(fields)


def _leaves(kind: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the name, after a prefix, and the format character of each number of a message."""
    for name, base, count, is_array in _fields(kind):
        for k in range(count):
            place = f"{prefix}{name}[{k}]" if is_array else f"{prefix}{name}"
            if isinstance(base, str):
                yield place, CODES[base]
            else:
                yield from _leaves(base, f"{place}.")


def _numbers(message: Any, kind: Any) -> Iterator[Any]:
    for name, base, _, is_array in _fields(kind):
        value = getattr(message, name)
        values = value if is_array else (value,)
        for part in values.tolist() if isinstance(values, np.ndarray) else values:
            if isinstance(base, str):
                yield part
            else:
                yield from _numbers(part, base)


def _structure(kind: Any) -> tuple[str, int]:
    """Return the format of the C structure of a message, with padding; and its alignment."""
    text, offset, most = "", 0, 1
    for _, base, count, _ in _fields(kind):
        part, align = (CODES[base], 0) if isinstance(base, str) else _structure(base)
        size = struct.calcsize("<" + part)
        align = align or size
        pad = -offset % align
        text += "x" * pad + part * count
        offset, most = offset + pad + size * count, max(most, align)
    return text + "x" * (-offset % most), most


def _wire(codes: list[str]) -> str:
    """Return the format of these codes in CDR, which aligns each number to its size."""
    text, offset = "", 0
    for code in codes:
        size = struct.calcsize("<" + code)
        pad = -offset % size
        text += "x" * pad + code
        offset += pad + size
    return text

# SPDX-License-Identifier: Apache-2.0
"""Change the bytes of a seed by edits that Hypothesis draws."""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import strategies as st

NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
NUMBERS = [
    *(b"0 -0 1 -1 2 0.5 1e-300 1e-30 1e-9 1e5 1e9 1e12 1e18 1e300 -1e308 1e999".split()),
    *(b"nan inf .inf 9999999999999999999 0x10 1_0 010 1,5 true ~ 6.2831853 -5e-324".split()),
]
PIECES = [
    *(b"< > / \" ' & ; { } [ ] ( ) : , - # $ \\ = \n \t \xff \x00 \xc2\x85".split(b" ")),
    *(b"&lt; &#0; <!DOCTYPE <![CDATA[ <!-- --> ]]> ${ $( }} *a &a !!str << --- ... %YAML".split()),
    *(b"${10-3} **9**9 $(arg x) <xacro:if fixed floating planar mimic universal".split()),
    *(b"spherical name link joint base parent child world true null solid vertex".split()),
    *(b"facet v f 1/1/1".split()),
]


class Edit(NamedTuple):
    """One change of a file.

    Attributes:
        kind: replace, number (an entry of NUMBERS replaces a number), copy, cut or bits.
        at: place of the change as a share of the length, in units of 2**-16.
        length: length of the replaced, copied or deleted part [bytes].
        piece: the new bytes.
    """

    kind: str
    at: int
    length: int
    piece: bytes


EDITS = st.lists(
    st.builds(
        Edit,
        st.sampled_from(("replace", "number", "number", "copy", "cut", "bits")),
        st.integers(0, 2**16 - 1),
        st.integers(0, 40),
        st.one_of(st.sampled_from(PIECES), st.sampled_from(NUMBERS), st.binary(max_size=8)),
    ),
    max_size=6,
)


def mutated(data: bytes, edits: list[Edit]) -> bytes:
    """Return the data with all edits, which are applied one after the other."""
    for edit in edits:
        data = _CHANGES[edit.kind](data, edit)
    return data


def _replace(data: bytes, edit: Edit) -> bytes:
    at = _place(data, edit)
    return data[:at] + edit.piece + data[at + min(edit.length, 12) :]


def _number(data: bytes, edit: Edit) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _replace(data, edit)
    old = found[edit.at % len(found)]
    return data[: old.start()] + NUMBERS[edit.length % len(NUMBERS)] + data[old.end() :]


def _copy(data: bytes, edit: Edit) -> bytes:
    at, to = _place(data, edit), edit.length * len(data) // 41
    return data[:to] + data[at : at + 4 * edit.length] + data[to:]


def _cut(data: bytes, edit: Edit) -> bytes:
    at = _place(data, edit)
    return data[:at] + data[at + edit.length :]


def _bits(data: bytes, edit: Edit) -> bytes:
    changed = bytearray(data)
    for k, byte in enumerate(edit.piece):
        if changed:
            changed[(_place(data, edit) + k) % len(changed)] ^= byte
    return bytes(changed)


def _place(data: bytes, edit: Edit) -> int:
    return edit.at * len(data) >> 16


_CHANGES = {
    "replace": _replace,
    "number": _number,
    "copy": _copy,
    "cut": _cut,
    "bits": _bits,
}

# SPDX-License-Identifier: Apache-2.0
"""From any bytes the reader makes a Description or a DescriptionError within seconds."""

import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbdyn_ros.description.mechanism_files.mechanism import read_text
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import RbdynError

GOOD = b"""rbdyn_mechanism: 1
name: m
base: a
links:
  b: {box: {size: [1, 0.1, 0.1], density: 2700, xyz: [0.5, 0, 0], rpy: [0, 0, 1]}}
  c: [{sphere: {radius: 1, mass: 1}}, {mass: 1, xyz: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}]
joints:
  j: {type: revolute, parent: a, child: b, axis: [0, 0, 1], limit: {lower: -1, upper: .inf}}
  k: {type: helical, parent: c, child: b, pitch: 0.1, stiffness: 1, rest: 0.5,
      actuated: false, transmission: [[0, 0, 1, 0, 0, 0]]}
loops:
  l: {type: universal, predecessor: c, successor: a, X_P: {xyz: [1, 0, 0]}, axis2: [0, 1, 0]}
couplings: {k: {follows: j, ratio: 2, offset: 1}}
constraints:
  r: {rod: {from: {link: a, xyz: [1, 0, 0]}, to: {link: c}, length: 1}}
  t: {band: {points: [{link: a}, {link: b}, {link: c}], length: 9, closed: true, radius: 0.5}}
  g: {gear: {terms: [{joint: j, factor: 1, coordinate: 0}, {joint: k, factor: 2}], offset: 1}}
  o: {roll: {link: c, on: a, radius: 1, centre: [0, 0, 0], axis: [0, 1, 0], normal: [0, 0, 1]}}
springs: {s: {from: {link: a, xyz: [1, 0, 0]}, to: {link: c}, stiffness: 1}}
drives: {j: {times: [0, 1, 2], positions: [0, 1, 0], periodic: true}}
"""

PIECES = [
    *(b".nan .inf -1 1e999 0x1 ~ null yes &a *a !!str ! | > ? - -- --- ... %YAML <<".split()),
    *(b'{ } [ ] : , " # robot: links: joints: a b c j k fixed planar spherical 0'.split()),
    *(b"rod band gear roll terms: points: transmission: actuated: true -1".split()),
    *(b"limits: rest: motion: function: type: axis: 1_0 \t \xc2\x85 \xe2\x80\xa8".split(b" ")),
    *(b'"\\U99999999" "\\x" \xff \x00'.split(b" ")),
]
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(GOOD)),
        st.integers(0, 12),
        st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)),
    ),
    min_size=1,
    max_size=6,
)


def must_be_read_or_refused(data):
    for strict in (True, False):
        start = time.process_time()
        try:
            outcome = read_text(data, strict=strict)
        except RbdynError as error:
            outcome = error
        assert isinstance(outcome, Description) or (outcome.findings and str(outcome))
        assert time.process_time() - start < 30.0  # a reader that hangs would fail


def test_the_unchanged_document_is_accepted():
    assert [finding.severity for finding in read_text(GOOD).findings] == ["note"]


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(EDITS)
def test_edited_documents_are_read_or_refused(edits):
    data = GOOD
    for position, length, piece in edits:
        data = data[:position] + piece + data[position + length :]
    must_be_read_or_refused(data)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    must_be_read_or_refused(data)
    must_be_read_or_refused(b"rbdyn_mechanism: 1\n" + data)


SECTION_WORDS = ("links", "joints", "loops", "couplings", "constraints", "springs", "drives")
WORDS = (
    *SECTION_WORDS,
    *("j", "k", "a", "b", "type", "parent", "child", "limit", "axis", "limits", "from", "to"),
    *("link", "follows", "times", "positions", "box", "size", "mass", "rest", "rod", "band"),
    *("gear", "roll", "points", "terms", "joint", "factor", "coordinate", "length", "body", "on"),
    *("radius", "actuated", "transmission"),
)


def as_table(table):
    return f"{{{', '.join(f'{key}: {value}' for key, value in table.items())}}}"


TREES = st.recursive(
    st.sampled_from(["1", "a", "~", "", ".nan", "'x'"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.sampled_from(WORDS), inner, max_size=4).map(as_table),
    ),
    max_leaves=12,
)
SECTIONS = st.sampled_from([*SECTION_WORDS, "base"])


@settings(max_examples=300)
@given(st.dictionaries(SECTIONS, TREES))
def test_random_trees_of_valid_keys_are_read_or_refused(tree):
    text = "".join(f"{key}: {value}\n" for key, value in tree.items())
    must_be_read_or_refused(f"rbdyn_mechanism: 1\n{text}")

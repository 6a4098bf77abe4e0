# SPDX-License-Identifier: Apache-2.0
"""From any bytes the reader makes a Description or a DescriptionError within seconds."""

import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import RbdynError

GOOD = b"""<?xml version="1.0" encoding="utf-8"?>
<robot name="r" version="1.2">
  <link name="a"/><link name="b"><inertial><origin xyz="0 0 1" quat_xyzw="0 0.6 0 0.8"/>
    <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="c"/>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1" jerk="1"/>
    <dynamics damping="1" friction="0"/>
  </joint>
  <joint name="k" type="continuous"><parent link="b"/><child link="c"/>
    <mimic joint="j" multiplier="2" offset="1"/></joint>
  <loop_joint name="l" type="spherical"><link1 link="a" rpy="0 0 1"/><link2 link="c"/>
  </loop_joint>
</robot>"""

PIECES = [
    *(b"nan inf -1 1e999 ${pi} &#0; &lt; \xff \x00 <!DOCTYPE <![CDATA[ ]]> <!-- utf-16".split()),
    *(b'"" < > / " = a b c j k xyz= <limit/> <inertial/> </robot> <robot> <xacro:if>'.split()),
    *(b'<mimic <joint fixed floating planar name="a" name="j" lower upper idna <?xml'.split()),
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


def outcome_of(data, strict):
    try:
        return read_text(data, strict=strict)
    except RbdynError as error:
        return error


def must_be_read_or_refused(data):
    for strict in (True, False):
        start = time.process_time()
        outcome = outcome_of(data, strict)
        assert isinstance(outcome, Description) or (outcome.findings and str(outcome))
        assert time.process_time() - start < 30.0  # a reader that hangs would fail


def test_the_unchanged_document_is_accepted():
    assert read_text(GOOD).findings == ()


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(EDITS)
def test_edited_bytes_are_read_or_refused(edits):
    data = GOOD
    for at, length, piece in edits:
        data = data[:at] + piece + data[at + length :]
    must_be_read_or_refused(data)


VALUES = st.one_of(
    st.sampled_from([piece.decode("latin-1") for piece in PIECES]),
    st.text(max_size=8),
    st.floats().map(str),
    st.integers().map(str),
)
TOKENS = sorted(set(GOOD.decode().split('"')[1::2]))


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(TOKENS), VALUES), min_size=1, max_size=3))
def test_edited_values_are_read_or_refused(edits):
    text = GOOD.decode()
    for old, new in edits:
        text = text.replace(f'"{old}"', f'"{new}"')
    must_be_read_or_refused(text)


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_random_input_is_read_or_refused(data):
    must_be_read_or_refused(data)

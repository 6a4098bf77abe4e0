# SPDX-License-Identifier: Apache-2.0
"""The error about each bad input has a code, an element and a line."""

import math
from pathlib import Path

import pytest
from support.refusals import refused

from rbdyn_ros.checks import audit
from rbdyn_ros.description.robot_files import read
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
AXIS = '<axis xyz="0 0 1"/>'
AB = '<link name="a"/>\n<link name="b"/>\n'
C = '<link name="c"/>\n'


def robot(*parts):
    return '<robot name="r">\n' + "".join(parts) + "</robot>"


def inertial(mass='value="1"', iyz='iyz="0"'):
    tensor = f'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" {iyz}/>'
    return robot(f'<link name="a">\n<inertial>\n<mass {mass}/>\n{tensor}</inertial></link>\n')


def joint(inner=LIMIT, axis=AXIS, name="j", kind="revolute", parent="a", child="b"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}\n{axis}\n{inner}</joint>\n'


def limit(lower="-1", upper="1", effort="1", velocity="1"):
    values = f'lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"'
    return robot(AB, joint(f"<limit {values}/>"))


def axis(xyz):
    return robot(AB, joint(axis=f'<axis xyz="{xyz}"/>'))


def follow(target):
    return f'{LIMIT}<mimic joint="{target}"/>'


# for each mistake: the document, and code, element and line of the error
ROWS = {
    # broken inertials
    "mass nan": (inertial('value="nan"'), "not-finite", "link 'a'", 4),
    "mass empty": (inertial('value=""'), "bad-number", "link 'a'", 4),
    "mass without value": (inertial(""), "missing-attribute", "link 'a'", 4),
    "mass negative": (inertial('value="-1"'), "negative-mass", "link 'a'", 2),
    "iyz missing": (inertial(iyz=""), "missing-attribute", "link 'a'", 5),
    "inertia missing": (
        robot('<link name="a"><inertial><mass value="1"/></inertial></link>'),
        "missing-element",
        "link 'a'",
        2,
    ),
    # not finite
    "infinite limit": (limit(lower="-inf"), "not-finite", "joint 'j'", 6),
    "NaN in a vector": (axis("0 NaN 1"), "not-finite", "joint 'j'", 5),
    "beyond the largest number": (axis("0 0 1e999"), "not-finite", "joint 'j'", 5),
    # topology
    "two parents": (
        robot(AB, C, joint(child="c"), joint(name="k"), joint(name="m", parent="c")),
        "two-parents",
        "link 'b'",
        11,
    ),
    "self loop": (robot(AB, joint(parent="b")), "self-loop", "joint 'j'", 4),
    "cycle off the tree": (
        robot(
            AB,
            C,
            '<link name="d"/>\n',
            joint(parent="c"),
            joint(name="k", parent="b", child="c"),
            joint(name="m", child="d"),
        ),
        "cycle",
        "link 'b'",
        6,
    ),
    "two roots": (robot(AB, C, joint()), "several-roots", "robot 'r'", 4),
    "no links": (robot(), "no-links", "robot 'r'", None),
    # names
    "duplicate link": (robot(AB, '<link name="a"/>\n', joint()), "duplicate-name", "link 'a'", 4),
    "duplicate joint": (robot(AB, C, joint(), joint(child="c")), "duplicate-name", "joint 'j'", 8),
    "unknown parent": (
        robot('<link name="base"/>\n<link name="b"/>\n', joint(parent="bose")),
        "unknown-link",
        "joint 'j'",
        4,
    ),
    "unknown child": (
        robot('<link name="a"/>\n<link name="hand"/>\n', joint(child="hnad")),
        "unknown-link",
        "joint 'j'",
        4,
    ),
    "no parent": (
        robot(AB, '<joint name="j" type="fixed"><child link="b"/></joint>\n'),
        "missing-element",
        "joint 'j'",
        4,
    ),
    "robot without a name": (
        '\n<robot><link name="a"/></robot>',
        "missing-name",
        "robot without a name",
        2,
    ),
    "link with an empty name": (
        robot(AB, joint(), '<link name=""/>'),
        "missing-name",
        "link without a name",
        7,
    ),
    # joints
    "unknown type": (robot(AB, joint(kind="revolut")), "unknown-joint-type", "joint 'j'", 4),
    "zero axis": (axis("0 0 0"), "zero-axis", "joint 'j'", 4),
    "revolute without limit": (robot(AB, joint("")), "missing-limit", "joint 'j'", 4),
    "limit without effort": (
        robot(AB, joint('<limit lower="0" upper="1" velocity="1"/>')),
        "missing-attribute",
        "joint 'j'",
        6,
    ),
    "lower above upper": (limit(lower="2"), "limit-order", "joint 'j'", 4),
    "negative effort": (limit(effort="-5"), "negative-effort", "joint 'j'", 4),
    "negative velocity": (limit(velocity="-5"), "negative-velocity", "joint 'j'", 4),
    "negative damping": (
        robot(AB, joint(LIMIT + '<dynamics damping="-0.1"/>')),
        "negative-damping",
        "joint 'j'",
        4,
    ),
    "negative friction": (
        robot(AB, joint(LIMIT + '<dynamics friction="-0.1"/>')),
        "negative-friction",
        "joint 'j'",
        4,
    ),
    "limit twice": (robot(AB, joint(LIMIT + "\n\n" + LIMIT)), "duplicate-element", "joint 'j'", 8),
    # mimic
    "mimic unknown": (
        robot(AB, C, joint(follow("kk")), joint(name="kkk", child="c")),
        "mimic-unknown",
        "joint 'j'",
        5,
    ),
    "mimic self": (robot(AB, joint(follow("j"))), "mimic-self", "joint 'j'", 4),
    "mimic loop": (
        robot(AB, C, joint(follow("k")), joint(follow("j"), name="k", child="c")),
        "mimic-loop",
        "joint 'j'",
        5,
    ),
    "mimic of a fixed joint": (
        robot(AB, C, joint(follow("k")), joint("", name="k", child="c", kind="fixed")),
        "mimic-fixed",
        "joint 'j'",
        5,
    ),
    "mimic on a floating joint": (
        robot(AB, C, joint(follow("k"), kind="floating"), joint(name="k", child="c")),
        "mimic-type",
        "joint 'j'",
        5,
    ),
    # numbers
    "decimal comma": (axis("1,5 0 0"), "bad-number", "joint 'j'", 5),
    "unit": (limit(upper="1.5rad"), "bad-number", "joint 'j'", 6),
    "xacro expression": (limit(upper="${pi}"), "bad-number", "joint 'j'", 6),
    "grouped digits": (limit(upper="1_000"), "bad-number", "joint 'j'", 6),
    "digits of other scripts": (limit(upper="\u0661"), "bad-number", "joint 'j'", 6),
    "hexadecimal": (limit(upper="0x1p3"), "bad-number", "joint 'j'", 6),
    "two of three": (axis("0 1"), "bad-number", "joint 'j'", 5),
    "four of three": (axis("0 1 0 0"), "bad-number", "joint 'j'", 5),
    # documents
    "empty": ("", "empty", "", None),
    "blank": (b"\xef\xbb\xbf \n ", "empty", "", None),
    "file name as text": ("panda.urdf", "file-name-as-text", "", 1),
    "not XML": ("\nname: panda\n", "not-xml", "", 2),
    "raw xacro": (robot('<xacro:macro name="m"/>\n'), "raw-xacro", "", 2),
    "SDF": ('<sdf version="1.7"><model/></sdf>', "not-urdf", "", 1),
    "MuJoCo": ("<mujoco/>", "not-urdf", "", 1),
    "another root": ("<!-- x -->\n<kml/>", "not-urdf", "", 2),
    "version 2": ('<robot name="r" version="2.0"><link name="a"/></robot>', "bad-version", "", 1),
    "DOCTYPE": ('\n<!DOCTYPE robot [<!ENTITY a "b">]>' + robot(AB, joint()), "doctype", "", 2),
    "undefined entity": (robot('<link name="&a;"/>'), "malformed-xml", "", 2),
    "nested 100,000 deep": ('<robot name="r">\n' + "<a>" * 100_000, "too-deep", "", 2),
    "cut off": (robot(AB)[:-8] + "<link", "malformed-xml", "", 4),
    "mismatched": (robot('<link name="a">\n'), "malformed-xml", "", 3),
    "attribute twice": (robot('<link name="a" name="b"/>\n'), "malformed-xml", "", 2),
    "NUL": (robot('<link name="a\0"/>\n'), "nul-character", "", 2),
    "NUL by reference": (robot('<link name="a&#0;"/>\n'), "malformed-xml", "", 2),
    "bytes that are not UTF-8": (
        b'<robot name="r">\n<link name="\xff"/></robot>',
        "bad-encoding",
        "",
        2,
    ),
    "bytes that are not as declared": (
        b'<?xml version="1.0" encoding="ascii"?><robot name="\xe4"/>',
        "bad-encoding",
        "",
        1,
    ),
    "unknown encoding": (
        b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>',
        "unknown-encoding",
        "",
        1,
    ),
    "codec that is no encoding": (
        b'<?xml version="1.0" encoding="punycode"?><robot name="r"/>',
        "unknown-encoding",
        "",
        1,
    ),
    "lone surrogate": ('<robot name="\ud800"/>', "bad-encoding", "", 1),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_bad_input_is_refused(row):
    document, code, element, line = ROWS[row]
    with refused(DescriptionError, code, element, line=line) as caught:
        read_text(document)
    where = f"line {line}: " if line is not None else ""
    assert str(caught.value).startswith(f"<text>: {where}{element}")


def test_too_deeply_nested_elements_are_refused():
    for document in ("<robot name='r'>" + "<a>" * 100_000, "<robot>" * 100_000):
        with refused(DescriptionError, "too-deep"):
            read_text(document)


def test_the_size_of_a_file_and_its_number_of_elements_are_limited(monkeypatch):
    from rbdyn_ros.description.reading import guard

    monkeypatch.setattr(guard, "MAX_ELEMENTS", 3)
    with refused(DescriptionError, "too-many-elements"):
        read_text(robot(AB, joint()))
    monkeypatch.setattr(guard, "MAX_BYTES", 10)
    with refused(DescriptionError, "too-large"):
        read_text(robot(AB))


def test_all_errors_are_reported_at_once():
    document = robot(
        '<link name="a"><inertial><mass value="1kg"/></inertial></link>\n',
        C,
        joint(LIMIT.replace('"1"', '"one"'), parent="aa", child="b", name="j"),
        joint(follow("x") + LIMIT, axis='<axis xyz="0 0 0"/>', child="c", name="k"),
    )
    with pytest.raises(DescriptionError) as caught:
        read_text(document, source="arm.urdf")
    found = [(finding.code, finding.line) for finding in caught.value.findings]
    assert found == [
        ("bad-number", 2),
        ("missing-element", 2),
        ("unknown-link", 4),
        ("unknown-link", 4),
        ("bad-number", 6),
        ("bad-number", 6),
        ("bad-number", 6),
        ("zero-axis", 7),
        ("mimic-unknown", 7),
        ("duplicate-element", 9),
    ]
    lines = str(caught.value).splitlines()
    assert lines[0] == "arm.urdf: 10 errors"
    assert lines[1].startswith("  line 2: link 'a': <mass value> is '1kg'")


def test_a_dropped_element_is_reported_once():
    """A joint without a type is dropped. Its child is not reported as a second root."""
    document = robot(
        AB,
        C,
        '<joint name="j"><parent link="a"/><child link="b"/></joint>\n',
        joint(follow("j"), name="k", child="c"),
    )
    with refused(DescriptionError, "missing-attribute", "joint 'j'", line=5):
        read_text(document)


def test_a_limit_with_a_bad_number_has_one_error():
    with refused(DescriptionError, "bad-number"):
        read_text(limit(lower="5", effort="x"))


def test_long_and_unprintable_text_is_cut():
    with pytest.raises(DescriptionError) as caught:
        read_text(limit(upper="9" * 50_000 + "&#10;x"))
    assert len(str(caught.value)) < 300
    assert len(caught.value.findings[0].found) > 50_000


def test_the_search_for_similar_names_is_limited_for_hostile_input(monkeypatch):
    links = "".join(f'<link name="l{i}"/>\n' for i in range(3000))
    joints = "".join(joint(name=f"j{i}", parent=f"x{i}", child=f"y{i}") for i in range(3000))
    compared = []
    monkeypatch.setattr(audit, "did_you_mean", lambda _, known: compared.append(known) or "")
    with pytest.raises(DescriptionError) as caught:
        read_text(robot(links, joints))
    assert len(caught.value.findings) == 6000
    assert sum(map(len, compared)) <= audit.HINT_BUDGET


def test_wrong_paths_are_refused(tmp_path):
    (tmp_path / "panda.urdf").write_text(robot(AB, joint()), encoding="utf-8")
    cases = {
        str(tmp_path / "pnda.urdf"): "no-such-file",
        tmp_path: "not-a-file",
        "package://a/b.urdf": "not-a-path",
    }
    for source, code in cases.items():
        with refused(DescriptionError, code, found=str(source)):
            read(source)


def test_an_error_in_a_file_names_the_file_and_the_line(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(axis("0 0 0"), encoding="utf-8")
    with refused(DescriptionError, "zero-axis", "joint 'j'", line=4) as caught:
        read(path)
    assert caught.value.source == str(path)
    assert str(caught.value).startswith(f"{path}: line 4: joint 'j': ")


def test_text_is_never_read_as_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(robot(AB, joint()), encoding="utf-8")
    assert read("arm.urdf").name == "r"
    with refused(DescriptionError, "file-name-as-text"):
        read_text("arm.urdf")


def test_reading_a_urdf_prints_nothing(capfd):
    read_text(robot(AB, joint(LIMIT + "<foo/><texture/>"), "<gazebo/><transmission/>"))
    assert capfd.readouterr() == ("", "")


def test_missing_bounds_of_a_continuous_joint_are_infinite():
    document = robot(AB, joint("", kind="continuous"))
    assert read_text(document).joints[0].limit is None
    document = robot(AB, joint('<limit effort="1" velocity="2"/>', kind="continuous"))
    limits = read_text(document).joints[0].limit
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)

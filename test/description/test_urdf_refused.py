"""Every bad input gets its own sentence, with element and line."""

import math
import time
from pathlib import Path

import pytest

from rbdyn_ros.description.urdf_files.urdf import read, read_text
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


TYPES = "revolute, continuous, prismatic, fixed, floating, planar"
URDF_ROOT = "export the robot as URDF, whose root element is <robot>"

# Each row: the document, then code, element, line and sentence of its error.
ROWS = {
    # broken inertials
    "mass nan": (
        inertial('value="nan"'),
        "not-finite",
        "link 'a'",
        4,
        "<mass value> is 'nan'; numbers must be finite",
    ),
    "mass empty": (
        inertial('value=""'),
        "bad-number",
        "link 'a'",
        4,
        "<mass value> is empty; it must be one number",
    ),
    "mass without value": (
        inertial(""),
        "missing-attribute",
        "link 'a'",
        4,
        "has no <mass value>",
    ),
    "mass negative": (
        inertial('value="-1"'),
        "negative-mass",
        "link 'a'",
        2,
        "the mass is -1 kg; it must not be negative",
    ),
    "iyz missing": (
        inertial(iyz=""),
        "missing-attribute",
        "link 'a'",
        5,
        "has no <inertia iyz>",
    ),
    "inertia missing": (
        robot('<link name="a"><inertial><mass value="1"/></inertial></link>'),
        "missing-element",
        "link 'a'",
        2,
        "has no <inertia> in its <inertial>",
    ),
    # not finite
    "infinite limit": (
        limit(lower="-inf"),
        "not-finite",
        "joint 'j'",
        6,
        "<limit lower> is '-inf'; numbers must be finite",
    ),
    "NaN in a vector": (
        axis("0 NaN 1"),
        "not-finite",
        "joint 'j'",
        5,
        "<axis xyz> is '0 NaN 1'; numbers must be finite",
    ),
    "beyond the largest number": (
        axis("0 0 1e999"),
        "not-finite",
        "joint 'j'",
        5,
        "<axis xyz> is '0 0 1e999'; numbers must be finite",
    ),
    # topology
    "two parents": (
        robot(AB, C, joint(child="c"), joint(name="k"), joint(name="m", parent="c")),
        "two-parents",
        "link 'b'",
        11,
        (
            "has two parents, 'a' (joint 'k', line 8) and 'c' (joint 'm', line 11); "
            "URDF robots are trees, a closed loop needs a mechanism file"
        ),
    ),
    "self loop": (
        robot(AB, joint(parent="b")),
        "self-loop",
        "joint 'j'",
        4,
        "joins the link 'b' to itself",
    ),
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
        "lies on a cycle: 'b' -> 'c' -> 'b'; delete one of its joints",
    ),
    "two roots": (
        robot(AB, C, joint()),
        "several-roots",
        "robot 'r'",
        4,
        (
            "the links 'a', 'c' have no parent; a robot has exactly one such root: "
            "join the others to it"
        ),
    ),
    "no links": (
        robot(),
        "no-links",
        "robot 'r'",
        None,
        "has no links; the smallest robot is one <link name=.../>",
    ),
    # names
    "duplicate link": (
        robot(AB, '<link name="a"/>\n', joint()),
        "duplicate-name",
        "link 'a'",
        4,
        "the name is given to more than one link, on lines 2 and 4; names must be unique",
    ),
    "duplicate joint": (
        robot(AB, C, joint(), joint(child="c")),
        "duplicate-name",
        "joint 'j'",
        8,
        "the name is given to more than one joint, on lines 5 and 8; names must be unique",
    ),
    "unknown parent": (
        robot('<link name="base"/>\n<link name="b"/>\n', joint(parent="bose")),
        "unknown-link",
        "joint 'j'",
        4,
        "its parent link 'bose' does not exist (did you mean 'base'?)",
    ),
    "unknown child": (
        robot('<link name="a"/>\n<link name="hand"/>\n', joint(child="hnad")),
        "unknown-link",
        "joint 'j'",
        4,
        "its child link 'hnad' does not exist (did you mean 'hand'?)",
    ),
    "no parent": (
        robot(AB, '<joint name="j" type="fixed"><child link="b"/></joint>\n'),
        "missing-element",
        "joint 'j'",
        4,
        "has no <parent>",
    ),
    "robot without a name": (
        '\n<robot><link name="a"/></robot>',
        "missing-name",
        "robot without a name",
        2,
        "has no name",
    ),
    "link with an empty name": (
        robot(AB, joint(), '<link name=""/>'),
        "missing-name",
        "link without a name",
        7,
        "its name is empty",
    ),
    # joints
    "unknown type": (
        robot(AB, joint(kind="revolut")),
        "unknown-joint-type",
        "joint 'j'",
        4,
        f"the type 'revolut' is unknown (did you mean 'revolute'?); allowed are {TYPES}",
    ),
    "zero axis": (
        axis("0 0 0"),
        "zero-axis",
        "joint 'j'",
        4,
        "the axis is zero; a revolute joint needs a direction",
    ),
    "revolute without limit": (
        robot(AB, joint("")),
        "missing-limit",
        "joint 'j'",
        4,
        "a revolute joint must have a <limit>; one that turns without end is 'continuous'",
    ),
    "limit without effort": (
        robot(AB, joint('<limit lower="0" upper="1" velocity="1"/>')),
        "missing-attribute",
        "joint 'j'",
        6,
        "has no <limit effort>",
    ),
    "lower above upper": (
        limit(lower="2"),
        "limit-order",
        "joint 'j'",
        4,
        "the lower limit 2 is above the upper limit 1",
    ),
    "negative effort": (
        limit(effort="-5"),
        "negative-effort",
        "joint 'j'",
        4,
        "the effort limit is -5; it must not be negative",
    ),
    "negative velocity": (
        limit(velocity="-5"),
        "negative-velocity",
        "joint 'j'",
        4,
        "the velocity limit is -5; it must not be negative",
    ),
    "negative damping": (
        robot(AB, joint(LIMIT + '<dynamics damping="-0.1"/>')),
        "negative-damping",
        "joint 'j'",
        4,
        "the damping is -0.1; it must not be negative",
    ),
    "negative friction": (
        robot(AB, joint(LIMIT + '<dynamics friction="-0.1"/>')),
        "negative-friction",
        "joint 'j'",
        4,
        "the friction is -0.1; it must not be negative",
    ),
    "limit twice": (
        robot(AB, joint(LIMIT + "\n\n" + LIMIT)),
        "duplicate-element",
        "joint 'j'",
        8,
        "has more than one <limit>, on lines 6 and 8; delete one",
    ),
    # mimic
    "mimic unknown": (
        robot(AB, C, joint(follow("kk")), joint(name="kkk", child="c")),
        "mimic-unknown",
        "joint 'j'",
        5,
        "follows the joint 'kk', which does not exist (did you mean 'kkk'?)",
    ),
    "mimic self": (
        robot(AB, joint(follow("j"))),
        "mimic-self",
        "joint 'j'",
        4,
        "follows itself",
    ),
    "mimic loop": (
        robot(AB, C, joint(follow("k")), joint(follow("j"), name="k", child="c")),
        "mimic-loop",
        "joint 'j'",
        5,
        "follows itself by way of others: 'j' -> 'k' -> 'j'",
    ),
    "mimic of a fixed joint": (
        robot(AB, C, joint(follow("k")), joint("", name="k", child="c", kind="fixed")),
        "mimic-fixed",
        "joint 'j'",
        5,
        "follows the joint 'k', which is fixed; it must be one of revolute, continuous, prismatic",
    ),
    "mimic on a floating joint": (
        robot(AB, C, joint(follow("k"), kind="floating"), joint(name="k", child="c")),
        "mimic-type",
        "joint 'j'",
        5,
        "a floating joint cannot follow another",
    ),
    # numbers
    "decimal comma": (
        axis("1,5 0 0"),
        "bad-number",
        "joint 'j'",
        5,
        (
            "<axis xyz> is '1,5 0 0', not three numbers; "
            "write a decimal point, and spaces between numbers"
        ),
    ),
    "unit": (
        limit(upper="1.5rad"),
        "bad-number",
        "joint 'j'",
        6,
        "<limit upper> is '1.5rad', not one number; write 1.5 without a unit",
    ),
    "xacro expression": (
        limit(upper="${pi}"),
        "bad-number",
        "joint 'j'",
        6,
        "<limit upper> is '${pi}', not one number; this is xacro, expand it first",
    ),
    "grouped digits": (
        limit(upper="1_000"),
        "bad-number",
        "joint 'j'",
        6,
        "<limit upper> is '1_000', not one number; digits cannot be grouped by '_'",
    ),
    "digits of other scripts": (
        limit(upper="\u0661"),
        "bad-number",
        "joint 'j'",
        6,
        "<limit upper> is '\u0661', not one number; only the digits 0 to 9 are numbers",
    ),
    "hexadecimal": (
        limit(upper="0x1p3"),
        "bad-number",
        "joint 'j'",
        6,
        "<limit upper> is '0x1p3', not one number; write decimals such as -0.5",
    ),
    "two of three": (
        axis("0 1"),
        "bad-number",
        "joint 'j'",
        5,
        "<axis xyz> is '0 1', not three numbers but 2",
    ),
    "four of three": (
        axis("0 1 0 0"),
        "bad-number",
        "joint 'j'",
        5,
        "<axis xyz> is '0 1 0 0', not three numbers but 4",
    ),
    # documents
    "empty": ("", "empty", "", None, "the document is empty; a URDF starts with <robot name=...>"),
    "blank": (
        b"\xef\xbb\xbf \n ",
        "empty",
        "",
        None,
        "the document is empty; a URDF starts with <robot name=...>",
    ),
    "file name as text": (
        "panda.urdf",
        "file-name-as-text",
        "",
        1,
        (
            "'panda.urdf' is a file name where the text of a URDF was expected; "
            "read the file and pass what is in it"
        ),
    ),
    "not XML": (
        "\nname: panda\n",
        "not-xml",
        "",
        2,
        "this is not XML: it begins with 'name: panda' instead of '<'",
    ),
    "raw xacro": (
        robot('<xacro:macro name="m"/>\n'),
        "raw-xacro",
        "",
        2,
        (
            "<xacro:macro> shows that this is xacro source, not URDF; expand it with the "
            "command xacro, or name the file *.xacro and pass its path"
        ),
    ),
    "SDF": (
        '<sdf version="1.7"><model/></sdf>',
        "not-urdf",
        "",
        1,
        f"this is SDF, the format of Gazebo, not URDF; {URDF_ROOT}",
    ),
    "MuJoCo": (
        "<mujoco/>",
        "not-urdf",
        "",
        1,
        f"this is MJCF, the format of MuJoCo, not URDF; {URDF_ROOT}",
    ),
    "another root": (
        "<!-- x -->\n<kml/>",
        "not-urdf",
        "",
        2,
        f"the root element is <kml>, not URDF; {URDF_ROOT}",
    ),
    "version 2": (
        '<robot name="r" version="2.0"><link name="a"/></robot>',
        "bad-version",
        "",
        1,
        "the version of URDF is '2.0'; known is 1.x",
    ),
    "DOCTYPE": (
        '\n<!DOCTYPE robot [<!ENTITY a "b">]>' + robot(AB, joint()),
        "doctype",
        "",
        2,
        "the document has a DOCTYPE, which can define entities and is refused; delete it",
    ),
    "undefined entity": (
        robot('<link name="&a;"/>'),
        "malformed-xml",
        "",
        2,
        "the XML is malformed inside the <robot> of line 1: undefined entity",
    ),
    "nested 100,000 deep": (
        '<robot name="r">\n' + "<a>" * 100_000,
        "too-deep",
        "",
        2,
        "the elements are nested more than 64 deep",
    ),
    "cut off": (
        robot(AB)[:-8] + "<link",
        "malformed-xml",
        "",
        4,
        "the XML is malformed inside the <robot> of line 1: unclosed token",
    ),
    "mismatched": (
        robot('<link name="a">\n'),
        "malformed-xml",
        "",
        3,
        "the XML is malformed inside the <link> of line 2: mismatched tag",
    ),
    "attribute twice": (
        robot('<link name="a" name="b"/>\n'),
        "malformed-xml",
        "",
        2,
        "the XML is malformed inside the <robot> of line 1: duplicate attribute",
    ),
    "NUL": (
        robot('<link name="a\0"/>\n'),
        "nul-character",
        "",
        2,
        "the document holds a NUL character",
    ),
    "NUL by reference": (
        robot('<link name="a&#0;"/>\n'),
        "malformed-xml",
        "",
        2,
        "the XML is malformed inside the <robot> of line 1: reference to invalid character number",
    ),
    "bytes that are not UTF-8": (
        b'<robot name="r">\n<link name="\xff"/></robot>',
        "bad-encoding",
        "",
        2,
        (
            "the document is not valid utf-8; declare its encoding in "
            '<?xml version="1.0" encoding="..."?> or save it as UTF-8'
        ),
    ),
    "bytes that are not as declared": (
        b'<?xml version="1.0" encoding="ascii"?><robot name="\xe4"/>',
        "bad-encoding",
        "",
        1,
        (
            "the document is not valid ascii; declare its encoding in "
            '<?xml version="1.0" encoding="..."?> or save it as UTF-8'
        ),
    ),
    "unknown encoding": (
        b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>',
        "unknown-encoding",
        "",
        1,
        "the document declares the encoding 'klingon', which is not known; save it as UTF-8",
    ),
    "codec that is no encoding": (
        b'<?xml version="1.0" encoding="punycode"?><robot name="r"/>',
        "unknown-encoding",
        "",
        1,
        "the document declares the encoding 'punycode', which is not known; save it as UTF-8",
    ),
    "lone surrogate": (
        '<robot name="\ud800"/>',
        "bad-encoding",
        "",
        1,
        (
            "the document is not valid UTF-8; declare its encoding in "
            '<?xml version="1.0" encoding="..."?> or save it as UTF-8'
        ),
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_bad_input_has_its_sentence(row):
    document, code, element, line, sentence = ROWS[row]
    with pytest.raises(DescriptionError) as caught:
        read_text(document)
    finding = caught.value.findings[0]
    assert len(caught.value.findings) == 1
    assert finding.message == (f"{element}: {sentence}" if element else sentence)
    assert (finding.code, finding.element, finding.line) == (code, element, line)
    where = f"line {line}: " if line is not None else ""
    assert str(caught.value) == f"<text>: {where}{finding.message}"


def test_depth_is_refused_at_once():
    start = time.perf_counter()
    for document in ("<robot name='r'>" + "<a>" * 100_000, "<robot>" * 100_000):
        with pytest.raises(DescriptionError, match="nested more than 64 deep"):
            read_text(document)
    assert time.perf_counter() - start < 1.0


def test_size_and_number_of_elements_are_capped(monkeypatch):
    from rbdyn_ros.description.urdf_files import guard

    monkeypatch.setattr(guard, "MAX_ELEMENTS", 3)
    with pytest.raises(DescriptionError, match="more than 3 elements") as caught:
        read_text(robot(AB, joint()))
    assert caught.value.code == "too-many-elements"
    monkeypatch.setattr(guard, "MAX_BYTES", 10)
    with pytest.raises(DescriptionError) as caught:
        read_text(robot(AB))
    assert caught.value.code == "too-large"


def test_all_errors_are_told_at_once():
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
    assert lines[1] == (
        "  line 2: link 'a': <mass value> is '1kg', not one number; write 1 without a unit"
    )


def test_what_was_dropped_is_not_complained_about_again():
    """A joint without a type is left out; its child is no second root, its name is known."""
    document = robot(
        AB,
        C,
        '<joint name="j"><parent link="a"/><child link="b"/></joint>\n',
        joint(follow("j"), name="k", child="c"),
    )
    with pytest.raises(DescriptionError) as caught:
        read_text(document)
    assert [str(finding) for finding in caught.value.findings] == [
        "line 5: joint 'j': has no type"
    ]


def test_broken_limit_is_reported_once():
    with pytest.raises(DescriptionError) as caught:
        read_text(limit(lower="5", effort="x"))
    assert [finding.code for finding in caught.value.findings] == ["bad-number"]


def test_long_and_unprintable_text_is_cut():
    with pytest.raises(DescriptionError) as caught:
        read_text(limit(upper="9" * 50_000 + "&#10;x"))
    assert len(str(caught.value)) < 300
    assert len(caught.value.findings[0].found) > 50_000


def test_hints_do_not_make_hostile_input_slow():
    links = "".join(f'<link name="l{i}"/>\n' for i in range(3000))
    joints = "".join(joint(name=f"j{i}", parent=f"x{i}", child=f"y{i}") for i in range(3000))
    start = time.process_time()
    with pytest.raises(DescriptionError) as caught:
        read_text(robot(links, joints))
    assert len(caught.value.findings) == 6000
    assert time.process_time() - start < 5.0


def test_paths(tmp_path):
    (tmp_path / "panda.urdf").write_text(robot(AB, joint()), encoding="utf-8")
    cases = {
        str(tmp_path / "pnda.urdf"): (
            "no-such-file",
            (
                f"there is no file '{tmp_path}/pnda.urdf' (did you mean 'panda.urdf'?); "
                "give a path or the text of a URDF"
            ),
        ),
        tmp_path: (
            "not-a-file",
            f"'{tmp_path}' is not a file; give the path of a .urdf or .xacro file",
        ),
        "package://a/b.urdf": (
            "not-a-path",
            "'package://a/b.urdf' is an address, not a path; give the path of the file",
        ),
    }
    for source, (code, sentence) in cases.items():
        with pytest.raises(DescriptionError) as caught:
            read(source)
        assert (caught.value.code, str(caught.value)) == (code, sentence)


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(axis("0 0 0"), encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        read(path)
    assert caught.value.source == str(path)
    assert str(caught.value).startswith(f"{path}: line 4: joint 'j': the axis is zero")


def test_text_is_never_taken_for_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(robot(AB, joint()), encoding="utf-8")
    assert read("arm.urdf").name == "r"
    with pytest.raises(DescriptionError, match="is a file name"):
        read_text("arm.urdf")


def test_nothing_is_printed(capfd):
    read_text(robot(AB, joint(LIMIT + "<foo/><texture/>"), "<gazebo/><transmission/>"))
    assert capfd.readouterr() == ("", "")


def test_infinity_is_no_text_but_a_missing_bound():
    document = robot(AB, joint("", kind="continuous"))
    assert read_text(document).joints[0].limit is None
    document = robot(AB, joint('<limit effort="1" velocity="2"/>', kind="continuous"))
    limits = read_text(document).joints[0].limit
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)

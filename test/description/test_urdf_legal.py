# SPDX-License-Identifier: Apache-2.0
"""Unusual but legal input is accepted and read correctly."""

import math
import subprocess
import sys

import pytest

from rbdyn_ros.description.parts.poses import Pose, quat_from_rpy
from rbdyn_ros.description.robot_files import read
from rbdyn_ros.description.urdf_files.urdf import read_text

LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
ENDS = '<parent link="a"/><child link="b"/>'
LINKS = '<link name="a"/><link name="b"/>'
SMALL = '<robot name="r"><link name="a"/></robot>'


def one_joint(inner, kind="revolute"):
    text = f'<robot name="r">{LINKS}<joint name="j" type="{kind}">{ENDS}{inner}</joint></robot>'
    return read_text(text)


def codes(description):
    return [(finding.severity, finding.code) for finding in description.findings]


def test_each_element_of_a_link_and_a_joint_is_read():
    text = """<robot name="arm">
      <link name="base"/>
      <link name="upper">
        <inertial>
          <origin xyz="0.1 0.2 0.3" rpy="0 0 1.5"/><mass value="2.5"/>
          <inertia ixx="2" iyy="3" izz="4" ixy="0.1" ixz="0.2" iyz="0.3"/>
        </inertial>
      </link>
      <joint name="shoulder" type="revolute">
        <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
        <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="2" effort="30" velocity="4"/>
        <dynamics damping="0.5" friction="0.25"/>
      </joint>
    </robot>"""
    robot = read_text(text)
    assert (robot.name, robot.source, robot.findings) == ("arm", "<text>", ())
    upper = robot.links[1]
    assert (upper.name, upper.line) == ("upper", 3)
    assert upper.inertial.mass == 2.5
    assert upper.inertial.inertia == (2, 3, 4, 0.1, 0.2, 0.3)
    half = (math.cos(0.75), 0, 0, math.sin(0.75))
    assert upper.inertial.origin.pos == (0.1, 0.2, 0.3)
    assert upper.inertial.origin.quat == pytest.approx(half, abs=1e-15)
    shoulder = robot.joints[0]
    assert (shoulder.parent, shoulder.child, shoulder.line) == ("base", "upper", 9)
    assert shoulder.origin.pos == (1, 2, 3)
    assert shoulder.axis == (0, 0, 1)
    limit = shoulder.limit
    assert (limit.lower, limit.upper, limit.effort, limit.velocity) == (-1, 2, 30, 4)
    assert (shoulder.damping, shoulder.friction, shoulder.mimic) == (0.5, 0.25, None)


def test_rpy_are_rotations_about_fixed_axes():
    from scipy.spatial.transform import Rotation

    for angles in ((0.3, -1.1, 2.5), (0, 0, math.pi), (math.pi / 2, math.pi / 2, 0), (-3, 3, 1)):
        x, y, z, w = Rotation.from_euler("xyz", angles).as_quat()
        quat = quat_from_rpy(*angles)
        assert abs(w * quat[0] + x * quat[1] + y * quat[2] + z * quat[3]) == pytest.approx(1)
        assert math.hypot(*quat) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    "document",
    [
        " \n\t" + '<?xml version="1.0"?>' + SMALL,
        "\ufeff\n" + '<?xml version="1.0"?>' + SMALL,
        b"\xef\xbb\xbf" + b'<?xml version="1.0" encoding="utf-8"?>' + SMALL.encode(),
        b"\n" + b'<?xml version="1.0" encoding="latin-1"?>' + SMALL.encode(),
        '<?xml version="1.0" encoding="utf-16"?>' + SMALL,
        SMALL.encode("utf-16"),
        SMALL.encode("utf-16-le"),
        SMALL.encode("utf-32"),
        b'<?xml version="1.0" encoding="cp1252"?>' + SMALL.encode(),
        SMALL.replace('name="r"', 'name="r" version="1.1"'),
        SMALL.replace('name="r"', 'name="r" xmlns:xacro="x" xmlns="y"'),
        SMALL.replace("/></", "><visual><geometry><capsule/></geometry></visual></link></"),
        "<!-- c --><?pi x?>" + SMALL + "<!-- d -->\n",
        SMALL.replace("><", ">\r\n<![CDATA[ ${x} ]]><"),
    ],
)
def test_unusual_but_legal_xml_documents_are_read(document):
    robot = read_text(document)
    assert (robot.name, [link.name for link in robot.links]) == ("r", ["a"])
    assert robot.findings == ()


def test_lines_before_the_declaration_are_counted():
    assert read_text("\n\n \n" + SMALL).links[0].line == 4


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "iso8859-15"])
def test_names_may_be_in_any_script_of_the_encoding(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?>'
    text += '<robot name="b\u00e4r"><link name="\u00fc"/></robot>'
    robot = read_text(text.encode(encoding))
    assert (robot.name, robot.links[0].name) == ("b\u00e4r", "\u00fc")


def test_the_default_axis_is_x():
    assert one_joint(LIMIT).joints[0].axis == (1, 0, 0)


def test_axis_is_normalised_with_a_note():
    robot = one_joint(LIMIT + '<axis xyz="0 3 4"/>')
    assert robot.joints[0].axis == pytest.approx((0, 0.6, 0.8), abs=1e-16)
    assert (robot.findings[0].element, robot.findings[0].found) == ("joint 'j'", "5")
    assert codes(one_joint(LIMIT + '<axis xyz="0 0 0.9999998"/>')) == [("note", "axis-normalised")]
    assert codes(one_joint(LIMIT + '<axis xyz="0 0 1.0000000000001"/>')) == []


def test_a_zero_axis_of_a_fixed_joint_is_ignored():
    robot = one_joint(
        '<axis xyz="0 0 0"/><limit lower="3" upper="1" effort="0" velocity="0"/>', "fixed"
    )
    assert (robot.joints[0].axis, robot.joints[0].limit, robot.findings) == ((1, 0, 0), None, ())


def test_bounds_of_a_continuous_joint_are_ignored():
    robot = one_joint(LIMIT, "continuous")
    limit = robot.joints[0].limit
    assert (limit.lower, limit.upper, limit.effort, limit.velocity) == (-math.inf, math.inf, 3, 4)
    assert codes(robot) == [("note", "limit-ignored")]
    assert robot.findings[0].found == "-1 to 2"


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_limits_of_joints_with_several_degrees_of_freedom_are_ignored(kind):
    robot = one_joint(LIMIT + '<axis xyz="0 0 1"/>', kind)
    assert robot.joints[0].limit is None
    assert ("note", "limit-ignored") in codes(robot)
    assert robot.joints[0].axis == ((0, 0, 1) if kind == "planar" else (1, 0, 0))
    assert (("note", "axis-ignored") in codes(robot)) == (kind == "floating")


def test_missing_bounds_are_zero():
    robot = one_joint('<limit effort="1" velocity="1"/>', "prismatic")
    assert (robot.joints[0].limit.lower, robot.joints[0].limit.upper) == (0, 0)
    assert codes(robot) == [("warning", "locked-joint")]


def test_an_effort_limit_of_zero_causes_a_warning():
    robot = one_joint('<limit lower="0" upper="1" effort="0" velocity="1"/>')
    assert codes(robot) == [("warning", "zero-effort")]
    assert (robot.findings[0].element, robot.findings[0].line) == ("joint 'j'", 1)


def test_numbers_of_every_legal_form_are_read():
    robot = one_joint('<origin xyz=" +1. .5e-1\n-2E+2 " rpy="00 -0 0.0"/>' + LIMIT)
    assert robot.joints[0].origin == Pose((1.0, 0.05, -200.0))


def test_chains_and_defaults_of_mimic_joints_are_read():
    text = f"""<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
      <joint name="i" type="revolute"><parent link="a"/><child link="b"/>{LIMIT}</joint>
      <joint name="j" type="revolute"><parent link="a"/><child link="c"/>{LIMIT}
        <mimic joint="k" multiplier="0" offset="-1"/></joint>
      <joint name="k" type="prismatic"><parent link="a"/><child link="d"/>{LIMIT}
        <mimic joint="i"/></joint></robot>"""
    mimics = [joint.mimic for joint in read_text(text).joints]
    assert mimics[0] is None
    assert (mimics[1].joint, mimics[1].ratio, mimics[1].offset) == ("k", 0, -1)
    assert (mimics[2].joint, mimics[2].ratio, mimics[2].offset) == ("i", 1, 0)


def test_mimic_on_a_fixed_joint_is_ignored():
    robot = one_joint('<mimic joint="nobody"/>', "fixed")
    assert robot.joints[0].mimic is None
    assert codes(robot) == [("note", "mimic-ignored")]


def test_misspelt_elements_and_attributes_cause_a_warning():
    robot = one_joint(
        LIMIT + '<dynamic damping="1"/><dynamics friction="0" dampning="1"/><sensor/>'
    )
    assert codes(robot) == [
        ("warning", "unknown-element"),
        ("warning", "unknown-attribute"),
        ("note", "not-used"),
    ]
    assert "(did you mean 'dynamics'?)" in robot.findings[0].message
    assert "(did you mean 'damping'?)" in robot.findings[1].message
    robot = read_text('<robot name="r"><link name="a"/><lnk name="b"/><sensor/></robot>')
    assert codes(robot) == [("warning", "unknown-element"), ("note", "not-used")]
    assert "(did you mean 'link'?)" in robot.findings[0].message


@pytest.mark.parametrize(
    ("inertia", "moments"),
    [
        ((1, 1, 1, 0, 0, 9), "-8, 1, 10"),
        ((1, 1, 3, 0, 0, 0), "1, 1, 3"),
        ((-1, 1, 1, 0, 0, 0), "-1, 1, 1"),
        ((1, 1, 2, 0, 0, 0), None),
        ((0, 1, 1, 0, 0, 0), None),
        ((0, 0, 0, 0, 0, 0), None),
        ((1e-320, 1e-320, 1e-320, 0, 0, 0), None),
        ((1e24, 1e24, 1e24, 0, 0, 0), None),
    ],
)
def test_an_inertia_that_no_body_can_have_causes_a_warning(inertia, moments):
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    values = " ".join(f'{name}="{value}"' for name, value in zip(names, inertia, strict=True))
    robot = read_text(
        f'<robot name="r"><link name="a"><inertial><mass value="1"/><inertia {values}/>'
        "</inertial></link></robot>"
    )
    assert codes(robot) == [("warning", "non-physical-inertia")] * bool(moments)
    assert [finding.found for finding in robot.findings] == [moments] * bool(moments)


def test_errors_are_repaired_with_a_warning_unless_strict():
    text = f"""<robot name="r">{LINKS}<link name="c"/>
      <joint name="j" type="revolute">{ENDS}<mimic joint="x"/></joint>
      <joint name="k" type="prismatic"><parent link="a"/><child link="c"/>
        <limit lower="-1" upper="1"/></joint></robot>"""
    robot = read_text(text, strict=False)
    assert [(f.severity, f.line, f.code, f.element) for f in robot.findings] == [
        ("warning", 2, "missing-limit", "joint 'j'"),
        ("warning", 2, "mimic-unknown", "joint 'j'"),
        ("warning", 4, "missing-attribute", "joint 'k'"),
        ("warning", 4, "missing-attribute", "joint 'k'"),
    ]
    first, second = robot.joints
    assert first.mimic is None
    assert (first.limit.lower, first.limit.effort) == (-math.inf, math.inf)
    assert (second.limit.lower, second.limit.upper, second.limit.effort) == (-1, 1, math.inf)


def test_links_and_joints_keep_the_order_of_the_urdf():
    names = ["z", "a", "m", "b"]
    links = "".join(f'<link name="l{name}"/>' for name in ["", *names])
    joints = "".join(
        f'<joint name="{n}" type="fixed"><parent link="l"/><child link="l{n}"/></joint>'
        for n in names
    )
    robot = read_text(f'<robot name="r">{joints}{links}</robot>')
    assert [joint.name for joint in robot.joints] == names
    assert [link.name for link in robot.links] == ["l", *(f"l{n}" for n in names)]


def test_bytes_text_and_paths_give_the_same_robot(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(SMALL.encode())
    assert read(SMALL) == read(SMALL.encode())
    assert read(path).links == read(str(path)).links == read(SMALL).links
    assert read(path).source == str(path)


def test_ten_thousand_links_are_read():
    links = "".join(f'<link name="l{i}"/>\n' for i in range(10_000))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
        "</joint>\n"
        for i in range(9_999)
    )
    robot = read_text(f'<robot name="long">\n{links}{joints}</robot>')
    assert len(robot.joints) == 9_999
    assert robot.joints[-1].line == 20_000


def test_heavy_modules_are_imported_only_when_needed():
    names = "{'xacro', 'urdf_parser_py'}"
    code = f"import rbdyn_ros.description.urdf_files.urdf, sys; print({names} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_releases_of_urdf_parser_that_call_getchildren_work(monkeypatch):
    """Some releases of urdf_parser_py call getchildren, which ElementTree no longer has."""
    from urdf_parser_py.xml_reflection import core

    monkeypatch.setattr(core, "xml_children", lambda node: node.getchildren())
    assert one_joint(LIMIT).joints[0].limit.upper == 2


def test_a_urdf_parser_that_takes_text_only_can_be_used(monkeypatch):
    """Old releases of urdf_parser_py read text only, no files."""
    from urdf_parser_py.urdf import URDF
    from urdf_parser_py.xml_reflection import core

    path = core.Path
    monkeypatch.delattr(core, "Path")
    monkeypatch.setattr(
        URDF,
        "from_xml_string",
        classmethod(lambda cls, text: _with_path(core, path, cls, text)),
    )
    robot = one_joint(LIMIT + '<origin xyz="1 2 3" rpy="0 0 0"/>')
    assert robot.joints[0].origin.pos == (1, 2, 3)


def _with_path(core, path, cls, text):
    core.Path = path
    return cls.from_xml(core.ET.fromstring(text), path("robot"))

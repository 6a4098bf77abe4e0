# SPDX-License-Identifier: Apache-2.0
"""What vendors write into a URDF is used, or named once with its line and the reason."""

import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.urdf_files.urdf import read_text

#: Of an element of the robot, of a link, and of a joint: what the note names.
CORPUS = {
    "robot": {
        '<gazebo reference="a"><mu1>0.2</mu1></gazebo>': "<gazebo>",
        '<transmission name="t"><joint name="j"/></transmission>': "<transmission>",
        '<constraint type="closed_loop"><parent link="a"/></constraint>': "<constraint>",
        '<sensor name="s"/>': "<sensor>",
        '<disable_collisions link1="a" link2="b"/>': "<disable_collisions>",
        '<ros2_control><hardware/></ros2_control>': "<ros2_control> <hardware>",
        '<ros2_control><gpio name="io"/></ros2_control>': "<ros2_control> <gpio name='io'>",
        '<ros2_control><sensor name="ft"/></ros2_control>': "<ros2_control> <sensor name='ft'>",
        '<ros2_control><joint name="j"><param name="mimic">k</param></joint></ros2_control>':
            "<ros2_control> <joint> mimic",
        '<ros2_control><joint name="j"><command_interface name="position">'
        '<param name="min">-1</param></command_interface></joint></ros2_control>':
            "<ros2_control> <command_interface> min",
    },
    "link": {
        '<verbose value="x"/>': "<verbose>",
        '<self_collision_checking><origin/></self_collision_checking>':
            "<self_collision_checking>",
    },
    "joint": {
        '<safety_controller k_velocity="10"/>': "<safety_controller>",
        '<calibration rising="0"/>': "<calibration>",
        '<position_based_velocity_limits kind="franka"/>': "<position_based_velocity_limits>",
        '<state_interface name="position"/>': "<state_interface>",
    },
}  # fmt: skip
ATTRIBUTES = {
    '<axis xyz="0 0 1"': ('quality="fine"', "<axis quality>"),
    "<robot ": ('vendor="x" ', "<robot vendor>"),
    '<limit effort="9"': ('colour="red"', "<limit colour>"),
    '<mass value="1"': ('source="cad"', "<mass source>"),
}


def robot(robot="", link="", joint=""):
    return f"""<robot name="r">
<link name="a"/>
<link name="b"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{link}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <limit effort="9" velocity="1" lower="-1" upper="1"/>{joint}</joint>
{robot}</robot>"""


def notes(text):
    return [(f.code, f.found, f.line) for f in read_text(text).findings]


def line_of(text, word):
    return 1 + text[: text.index(word)].count("\n")


@pytest.mark.parametrize(
    ("place", "text", "named"),
    [(place, text, named) for place, rows in CORPUS.items() for text, named in rows.items()],
)
def test_a_tag_that_is_not_used_is_named_once(place, text, named):
    document = robot(**{place: f"{text}\n{text}"})
    (found,) = read_text(document).findings
    assert (found.code, found.found, found.line) == ("not-used", named, line_of(document, text))
    assert ", 2 in all: " in found.message
    assert found.severity == ("warning" if named == "<constraint>" else "note")


@pytest.mark.parametrize(("place", "attribute"), ATTRIBUTES.items())
def test_an_attribute_that_is_not_used_is_named(place, attribute):
    text, named = attribute
    document = robot().replace(place, f"{place} {text} ", 1)
    assert notes(document) == [("not-used", named, line_of(document, text))]


def control(value, joint="j", interface="position"):
    return (
        f'<ros2_control name="c" type="system"><joint name="{joint}">'
        f'<state_interface name="{interface}"><param name="initial_value">{value}</param>'
        "</state_interface></joint></ros2_control>"
    )


def test_a_robot_starts_at_the_initial_values_of_ros2_control():
    m = rb.load_urdf(robot(robot=control(0.5)))
    assert m.qpos0.tolist() == rb.make_data(m).qpos.tolist() == [0.5]
    assert m.findings == ()
    assert rb.load_urdf(robot()).qpos0.tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (control("2"), "initial-value"),
        (control("x"), "initial-value"),
        (control("nan"), "initial-value"),
        (control("0.5", joint="k"), "initial-value"),
        (control("0.5", interface="velocity"), "not-used"),
    ],
)
def test_an_initial_value_that_no_joint_can_have_is_named(given, code):
    document = robot(robot=given)
    ((found, _, line),) = notes(document)
    assert (found, line) == (code, line_of(document, "<ros2_control"))
    assert rb.load_urdf(document).qpos0.tolist() == [0.0]


def test_a_parameter_without_names_is_noted():
    part = "<state_interface><param/></state_interface><param/>"
    document = robot(robot=f'<ros2_control><joint name="j">{part}</joint></ros2_control>')
    assert {code for code, _, _ in notes(document)} == {"not-used"}
    long = f"<{'x' * 5000}/>"
    assert len(read_text(robot(link=long)).findings[0].message) < 200


def test_a_hundred_kinds_are_not_all_listed():
    many = "".join(f"<vendor_specific_{k}/>" for k in range(100))
    found = notes(robot(robot=many))
    assert len(found) == 61
    assert {code for code, _, _ in found} == {"not-used"}


def test_the_joints_of_ros2_control_are_no_joints_of_the_robot():
    assert [joint.name for joint in read_text(robot(robot=control(0.5))).joints] == ["j"]

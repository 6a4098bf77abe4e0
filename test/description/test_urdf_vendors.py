# SPDX-License-Identifier: Apache-2.0
"""Vendors' extensions of URDF are used, or a finding names them once, with line and reason."""

import dataclasses
import math
import textwrap

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import Exclusion, Surface
from rbdyn_ros.description.parts.poses import rotate
from rbdyn_ros.description.parts.sensors import SensorEntry
from rbdyn_ros.description.parts.types import Mimic
from rbdyn_ros.description.source import read
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.sensors import sensors_of


def in_control(joint):
    return f'<ros2_control name="c" type="system"><joint name="j">{joint}</joint></ros2_control>'


def interface(kind, name, param, value):
    inside = f'<param name="{param}">{value}</param>'
    return in_control(f'<{kind}_interface name="{name}">{inside}</{kind}_interface>')


def transmission(inside):
    return f'<transmission name="t">{inside}</transmission>'


#: Unused elements in a robot, in a link and in a joint, and their names in the note.
NAMED = {
    "robot": {
        '<sensor name="s"/>': "<sensor>",
        '<disable_collisions link1="a" link2="b"/>': "<disable_collisions>",
        "<ros2_control><hardware/></ros2_control>": "<ros2_control> <hardware>",
        '<ros2_control><gpio name="io"/></ros2_control>': '<ros2_control> <gpio name="io">',
        '<ros2_control><sensor name="ft"/></ros2_control>': "<ros2_control> <sensor>",
        '<ros2_control rw_rate="9"/>': "<ros2_control rw_rate=>",
        in_control('<limits enable="false"/>'): "<joint> <limits>",
        in_control('<param name="offset">3</param>'): '<joint> <param name="offset">',
        in_control('<param name="gain">3</param>'): '<joint> <param name="gain">',
        in_control('<state_interface name="position" size="3"/>'): "<state_interface size=>",
        interface("command", "position", "min", "-0.5"): '<command_interface> <param name="min">',
        interface("command", "position", "initial_value", "1"):
            '<command_interface> <param name="initial_value">',
        interface("state", "velocity", "initial_value", "1"):
            '<state_interface> <param name="initial_value">',
        transmission('<joint name="j"><mechanicalReduction>50</mechanicalReduction></joint>'):
            "<joint> <mechanicalReduction>",
        transmission('<joint name="j"/><actuator name="m"><motorTorqueConstant/></actuator>'):
            "<actuator> <motorTorqueConstant>",
        transmission('<leftActuator name="m" mechanicalReduction="2"/>'):
            "<transmission> <leftActuator>",
        transmission('<passive_joint name="p"/>'): "<transmission> <passive_joint>",
        '<gazebo><plugin name="p"/></gazebo>': "<gazebo> <plugin>",
        "<gazebo><static>true</static></gazebo>": "<gazebo> <static>",
        "<gazebo><pose>0 0 1 0 0 0</pose></gazebo>": "<gazebo> <pose>",
        '<gazebo reference="b"><mu1>1</mu1><mu2>2</mu2></gazebo>': "<gazebo> <mu2>",
        '<gazebo reference="b"><minDepth>1</minDepth></gazebo>': "<gazebo> <minDepth>",
        '<gazebo reference="b"><material>Gazebo/Red</material></gazebo>': "<gazebo> <material>",
        '<gazebo reference="j"><stopErp>1</stopErp></gazebo>': "<gazebo> <stopErp>",
        '<gazebo reference="b"><sensor name="s" type="altimeter"/></gazebo>':
            '<gazebo> <sensor type="altimeter">',
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
#: Unused extensions that cause a warning, because they would change the motion.
WARNED = {
    '<gazebo reference="b"><gravity>0</gravity></gazebo>': "<gazebo> <gravity>",
    '<gazebo reference="b"><dampingFactor>1</dampingFactor></gazebo>': "<gazebo> <dampingFactor>",
    '<gazebo reference="b"><turnGravityOff>1</turnGravityOff></gazebo>': "turnGravityOff",
    '<gazebo reference="c"/>': "c",
    '<gazebo reference="b"><mu1>-1</mu1></gazebo>': "-1",
    '<gazebo reference="b"><mu1>wet</mu1></gazebo>': "wet",
    '<gazebo reference="b"><selfCollide>perhaps</selfCollide></gazebo>': "perhaps",
    transmission('<joint name="j"/><joint name="k"/>'): "<transmission>",
    in_control('<param name="mimic">k</param>'): "k",
    interface("command", "effort", "max", "0"): "0",
    transmission(
        '<joint name="j"/><actuator name="m"><drake:rotor_inertia value="heavy"/></actuator>'
    ): "heavy",
    in_control('<param name="mimic">j</param>'): "j",
    interface("command", "effort", "min", "nan"): "nan",
    '<gazebo reference="j"><springStiffness>1e300</springStiffness></gazebo>': "1e300",
    transmission(
        '<joint name="j"/><actuator name="m"><drake:rotor_inertia value="1e200"/>'
        '<drake:gear_ratio value="1e10"/></actuator>'
    ): "1e200",
    '<gazebo reference="b"><sensor name="s" type="imu"><pose>1e300 0 0 0 0 0</pose></sensor>'
    "</gazebo>": "",
    '<ros2_control><sensor name="s"><state_interface name="force.x"/>'
    '<param name="frame_id">c</param></sensor></ros2_control>': "c",
    '<gazebo reference="j"><sensor name="s" type="force_torque"><force_torque><frame>foo</frame>'
    "</force_torque></sensor></gazebo>": "foo",
    '<gazebo reference="j"><sensor name="s" type="force_torque"><force_torque><measure_direction>'
    "bar</measure_direction></force_torque></sensor></gazebo>": "bar",
    '<gazebo reference="b"><sensor name="s" type="ray"><ray><scan><horizontal><samples>-5'
    "</samples><max_angle>1</max_angle></horizontal></scan></ray></sensor></gazebo>": "-5",
}


def joint_of(robot):
    return next(joint for joint in robot.joints if joint.name == "j")


def limit_of(name):
    return lambda robot: getattr(joint_of(robot).limit, name)


def sensor(kind, inside="", name="s"):
    return f'<sensor name="{name}" type="{kind}">{inside}</sensor>'


def entries(robot):
    return robot.sensors


ROTOR = '<actuator name="m"><drake:rotor_inertia value="1e-4"/><drake:gear_ratio value="100"/>'
IMU_STATES = "".join(
    f'<state_interface name="{word}.x"/>' for word in ("angular_velocity", "linear_acceleration")
)
FORCES = '<state_interface name="force.x"/><param name="frame_id">b</param>'
#: Extensions that change numbers; one note counts all joints or links that they change.
NOTED = ('="effort"', '="velocity"', "mimic", "rotor", "spring", "mu1")
#: For each extension that is used: a function that returns the number it sets, and the number.
USED = {
    interface("state", "position", "initial_value", "0.5"):
        (lambda robot: joint_of(robot).start, (0.5,)),
    interface("command", "effort", "max", "5"): (limit_of("effort"), 5.0),
    in_control('<command_interface name="effort"><param name="min">0</param>'
               '<param name="max">5</param></command_interface>'): (limit_of("effort"), 5.0),
    interface("command", "velocity", "min", "-0.5"): (limit_of("velocity"), 0.5),
    in_control('<param name="mimic">k</param><param name="multiplier">2</param>')
    + '<joint name="k" type="revolute"><parent link="a"/><child link="d"/>'
    '<limit effort="1" velocity="1" lower="-.5" upper=".5"/></joint>'
    '<link name="d"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>':
        (lambda robot: joint_of(robot).mimic, Mimic("k", 2.0)),
    f'<ros2_control>{sensor("", IMU_STATES + FORCES[-32:])}</ros2_control>'
    .replace(' type=""', ""): (entries, (SensorEntry("s", "imu", "b", line=9),)),
    f'<ros2_control><sensor name="s">{FORCES}</sensor></ros2_control>':
        (entries, (SensorEntry("s", "force_torque", joint="j", frame="b", line=9),)),
    transmission(f'<joint name="j"/>{ROTOR}</actuator>'):
        (lambda robot: joint_of(robot).armature, 1e-4 * 100.0**2),
    '<gazebo reference="j"><springStiffness>3</springStiffness>'
    "<springReference>0.25</springReference></gazebo>":
        (lambda robot: (joint_of(robot).stiffness, joint_of(robot).rest), (3.0, (0.25,))),
    '<gazebo reference="b"><mu1>0.2</mu1><mu2>0.2</mu2></gazebo>':
        (lambda robot: robot.geometries[1].surface, Surface(friction=0.2)),
    '<gazebo reference="b"><mu1 value="0.2"/></gazebo>':
        (lambda robot: robot.geometries[1].surface, Surface(friction=0.2)),
    '<gazebo reference="b"><selfCollide>false</selfCollide></gazebo>':
        (lambda robot: robot.exclusions, (Exclusion("a", "b", 9, links=True),)),
    "<gazebo><self_collide>false</self_collide></gazebo>":
        (lambda robot: robot.self_collision, False),
    f'<gazebo reference="b">{sensor("contact")}</gazebo>':
        (entries, (SensorEntry("s", "contact", "b", line=9),)),
    f'<gazebo reference="j">{sensor("force_torque")}</gazebo>':
        (entries, (SensorEntry("s", "force_torque", joint="j", frame="b",
                               values={"measured": "child_to_parent"}, line=9),)),
}  # fmt: skip
ATTRIBUTES = {
    '<axis xyz="0 0 1"': ('quality="fine"', "<axis quality>"),
    "<robot ": ('vendor="x" ', "<robot vendor>"),
    '<limit effort="9"': ('colour="red"', "<limit colour>"),
    '<mass value="1"': ('source="cad"', "<mass source>"),
}


def robot(robot="", link="", joint=""):
    ball = "<collision><geometry><sphere radius='0.1'/></geometry></collision>"
    return f"""<robot name="r">
<link name="a"><collision><origin xyz="1 0 0"/>{ball[11:]}</link>
<link name="b"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{ball}{link}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <limit effort="9" velocity="1" lower="-1" upper="1"/>{joint}</joint>

<material name="grey"/>
{robot}</robot>"""


def notes(text):
    return [(f.code, f.found, f.line) for f in read_text(text).findings]


def line_of(text, word):
    return 1 + text[: text.index(word)].count("\n")


@pytest.mark.parametrize(
    ("place", "text", "named"),
    [(place, text, named) for place, rows in NAMED.items() for text, named in rows.items()],
)
def test_one_note_names_an_unused_tag_and_its_count(place, text, named):
    document = robot(**{place: f"{text}\n{text}"})
    (found,) = read_text(document).findings
    assert (found.code, found.found, found.line) == ("not-used", named, line_of(document, text))
    assert ", 2 in all: " in found.message
    assert found.severity == "note"


@pytest.mark.parametrize(("text", "named"), WARNED.items())
def test_unused_elements_that_would_change_the_motion_cause_warnings(text, named):
    document = robot(robot=text)
    (found,) = read_text(document).findings
    assert (found.found, found.severity) == (named, "warning")
    assert found.line == line_of(document, text)


@pytest.mark.parametrize("text", USED)
def test_a_tag_that_is_used_changes_the_robot(text):
    seen, value = USED[text]
    before, after = (read_text(robot(robot=x), contact=True) for x in ("", text))
    codes = ["vendor-value"] if any(word in text for word in NOTED) else []
    assert [finding.code for finding in after.findings] == codes
    assert seen(after) == value
    assert seen(before) != value


@pytest.mark.parametrize(
    "text",
    [
        interface("command", "effort", "min", "-50"),
        interface("command", "position", "min", "-1"),
        interface("state", "position", "initial_value", "0"),
        interface("state", "velocity", "initial_value", "0.0"),
        transmission(
            "<type>transmission_interface/SimpleTransmission</type><joint name='j'>"
            "<hardwareInterface>x</hardwareInterface></joint>"
            "<actuator name='m'><mechanicalReduction>1</mechanicalReduction></actuator>"
        ),
        '<gazebo reference="b"><selfCollide>true</selfCollide></gazebo>',
    ],
)
def test_values_that_the_robot_already_has_cause_no_note(text):
    assert read_text(robot(robot=text), contact=True) == read_text(robot(), contact=True)


@pytest.mark.parametrize("kind", ["camera", "depth", "rgbd", "ray", "gpu_lidar", "sonar", "imu"])
def test_sensors_of_gazebo_equal_sensors_of_a_sensors_file(kind):
    inside = "<pose>0 0 1 0 0 0</pose><update_rate>20</update_rate>"
    text = robot(robot=f'<gazebo reference="b">{sensor(kind, inside)}</gazebo>')
    described, m = read_text(text), rb.load_urdf(text)
    specs, findings = sensors_of(m, described)
    assert findings == described.findings == ()
    assert {spec.rate for spec in specs} == {20.0}
    frame = m.frame_id(specs[0].link)
    assert m.frame_pos[frame].tolist() == [0.0, 0.0, 1.0]
    looks = (0, 0, 1) if kind in ("camera", "depth", "rgbd") else (1, 0, 0)
    forward = rotate(tuple(m.frame_quat[frame]), looks)
    np.testing.assert_allclose(forward, (1, 0, 0), atol=1e-15)


def four_bar():
    """Return the links and joints of a four-bar linkage, without the joint that closes it."""
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    links = "".join(f'<link name="{x}">{inertial}</link>' for x in "abcd")
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="{p}"/><child link="{c}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 0 1"/></joint>'
        for name, p, c, xyz in (
            ("j1", "a", "b", "0 0 0"),
            ("j2", "b", "c", "0 1 0"),
            ("j3", "a", "d", "1 0 0"),
        )
    )
    return links + joints


def test_a_constraint_closes_a_loop_with_any_axes():
    """A <constraint> with rotated ends equals a <loop_joint> whose frames coincide."""
    end = (
        '<constraint name="l" type="revolute"><parent link="c"/><parent_origin xyz="1 0 0"/>'
        '<parent_axis xyz="0 0 1"/><child link="d"/><child_origin xyz="0 1 0" rpy="1.2 0 0"/>'
        f'<child_axis xyz="0 {math.sin(1.2)} {math.cos(1.2)}"/></constraint>'
    )
    plain = (
        '<loop_joint name="l" type="revolute"><link1 link="c" xyz="1 0 0"/>'
        '<link2 link="d" xyz="0 1 0"/></loop_joint>'
    )
    one, other = (
        rb.load_urdf(f'<robot name="r">{four_bar()}{text}</robot>') for text in (end, plain)
    )
    assert one.loop_names == other.loop_names == ("l",)
    d, e = rb.make_data(one), rb.make_data(other)
    for m, x in ((one, d), (other, e)):
        x.qvel[:] = (1.0, -1.0, 1.0)
        rb.forward(m, x)
    np.testing.assert_allclose(d.qacc, e.qacc, atol=1e-9)


@pytest.mark.parametrize(("place", "attribute"), ATTRIBUTES.items())
def test_a_note_names_an_unused_attribute(place, attribute):
    text, named = attribute
    document = robot().replace(place, f"{place} {text} ", 1)
    assert notes(document) == [("not-used", named, line_of(document, text))]


def control(value, joint="j", name="position"):
    return interface("state", name, "initial_value", value).replace(
        'joint name="j"', f'joint name="{joint}"'
    )


def test_a_robot_starts_at_the_initial_values_of_ros2_control():
    m = rb.load_urdf(robot(robot=control(0.5)))
    assert m.qpos0.tolist() == rb.make_data(m).qpos.tolist() == [0.5]
    assert m.findings == ()
    assert rb.load_urdf(robot()).qpos0.tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (control("2"), "not-used"),
        (control("x"), "not-used"),
        (control("nan"), "not-used"),
        (control("0.5", joint="k"), "not-used"),
        (control("0.5", name="velocity"), "not-used"),
    ],
)
def test_a_note_names_an_initial_value_that_the_joint_cannot_have(given, code):
    document = robot(robot=given)
    ((found, _, line),) = notes(document)
    assert (found, line) == (code, line_of(document, "<ros2_control"))
    assert rb.load_urdf(document).qpos0.tolist() == [0.0]


def test_params_without_a_name_are_reported_and_notes_about_long_tags_are_short():
    part = "<state_interface><param/></state_interface><param/>"
    document = robot(robot=f'<ros2_control><joint name="j">{part}</joint></ros2_control>')
    assert {code for code, _, _ in notes(document)} == {"not-used"}
    long = f"<{'x' * 5000}/>"
    assert len(read_text(robot(link=long)).findings[0].message) < 200


def test_at_most_60_kinds_of_unused_tags_are_listed():
    many = "".join(f"<vendor_specific_{k}/>" for k in range(100))
    found = notes(robot(robot=many))
    assert len(found) == 61
    assert {code for code, _, _ in found} == {"not-used"}


def test_the_joints_of_ros2_control_are_not_joints_of_the_robot():
    assert [joint.name for joint in read_text(robot(robot=control(0.5))).joints] == ["j"]


@pytest.mark.parametrize("place", ["joint_limits.yaml", "../config/joint_limits.yaml"])
def test_moveit_limits_in_a_file_beside_a_robot_bound_planned_motions(tmp_path, place):
    path = tmp_path / "urdf/robot.urdf"
    path.parent.mkdir()
    path.write_text(robot())
    (tmp_path / "package.xml").write_text("<package><name>p</name></package>")
    limits = path.parent / place
    limits.parent.mkdir(exist_ok=True)
    limits.write_text(
        "joint_limits:\n  other: {has_velocity_limits: true, max_velocity: 1}\n"
        "  j: {has_velocity_limits: true, max_velocity: 0.5, has_jerk_limits: false,\n"
        "      max_jerk: 1, has_acceleration_limits: true, max_acceleration: 5}\n"
    )
    found = read(path)
    own = joint_of(read_text(robot())).limit
    assert joint_of(found).limit == dataclasses.replace(own, velocity=0.5, acceleration=5.0)
    assert [(x.code, x.severity) for x in found.findings] == [("joint-limits", "note")]
    assert read(path, srdf=False).findings == ()
    whole = textwrap.indent(limits.read_text(), 6 * " ")
    for head in ("/**:\n  ros__parameters:\n    ", "move_group:\n  ros__parameters:\n    "):
        limits.write_text(f"{head}robot_description_planning:\n{whole}")
        assert joint_of(read(path)).limit == joint_of(found).limit
    limits.write_text(f"robot_description_planning:\n{whole}")
    assert joint_of(read(path)).limit == joint_of(found).limit
    limits.write_text("joint_limits: {j: {has_velocity_limits: true, max_velocity: fast}}")
    assert [(x.found, x.severity) for x in read(path).findings] == [("fast", "warning")]
    limits.write_text("j: {limit: {lower: 1}}")  # these limits are for a xacro file
    assert read(path).findings == ()
    limits.write_text("- [")
    assert [(x.code, x.severity) for x in read(path).findings] == [("joint-limits", "warning")]
    limits.write_text("joint_limits: {k: {has_velocity_limits: true, max_velocity: 0.5}}")
    (found,) = read(path).findings
    assert found.message.endswith("it is not used: the robot has none of its joints 'k'")
    limits.write_text("joint_limits: {j: {has_velocity_limits: yes, max_velocity: 0.5}}")
    assert [x.found for x in read(path).findings] == ["yes"]
    limits.write_text("joint_limits:\n  j: {max_velocity: 1}\n  j: {max_velocity: 2}\n")
    assert [x.severity for x in read(path).findings] == ["warning"]


@pytest.mark.parametrize("case", ["open folder", "another package", "no package"])
def test_limits_of_other_packages_and_open_folders_are_ignored(tmp_path, case):
    for at in ("urdf", "config"):
        (tmp_path / at).mkdir()
    if case != "no package":
        below = tmp_path / "urdf" if case == "another package" else tmp_path
        (below / "package.xml").write_text("<package><name>p</name></package>")
    if case == "open folder":
        (tmp_path / "config").chmod(0o777)
    path = tmp_path / "urdf/robot.urdf"
    path.write_text(robot())
    text = "joint_limits: {j: {has_velocity_limits: true, max_velocity: 0.5}}"
    (tmp_path / "config/joint_limits.yaml").write_text(text)
    assert joint_of(read(path)).limit == joint_of(read_text(robot())).limit


def test_a_note_counts_the_joints_and_links_that_vendors_change():
    text = USED_MU + interface("command", "effort", "max", "5")
    found = [x.message for x in read_text(robot(robot=text), contact=True).findings]
    assert found == [
        "robot 'r': <command_interface> narrows the limits of 1 joint: 'j'",
        "robot 'r': <gazebo> sets the surface of 1 link: 'b'",
    ]


USED_MU = '<gazebo reference="b"><mu1>0.2</mu1></gazebo>'


@pytest.mark.parametrize("limits", ['<limits enable="false"/>', '<limits enable="False"/>'])
@pytest.mark.parametrize("in_joint", [False, True])
def test_a_range_that_is_not_enabled_changes_nothing(limits, in_joint):
    outer, inner = (limits, "") if in_joint else ("", limits)
    part = f'{outer}<command_interface name="effort">{inner}<param name="max">5</param>'
    found = read_text(robot(robot=in_control(f"{part}</command_interface>")))
    assert joint_of(found).limit.effort == 9.0


@pytest.mark.parametrize(
    "ends", [("nan", "5"), ("5", "nan")], ids=["nan is the least", "nan is the most"]
)
def test_a_range_with_nan_changes_nothing(ends):
    low, high = (
        f'<param name="{name}">{x}</param>' for name, x in zip(("min", "max"), ends, strict=True)
    )
    text = in_control(f'<command_interface name="effort">{low}{high}</command_interface>')
    found = read_text(robot(robot=text))
    assert joint_of(found).limit.effort == 9.0
    assert all("is not a number" in finding.message for finding in found.findings)


@pytest.mark.parametrize("inside", ["<kp>1e5</kp>", "<mu1/>", "<mu1>nan</mu1>"])
def test_the_default_friction_is_kept_without_a_usable_mu1(inside):
    found = read_text(robot(robot=f'<gazebo reference="b">{inside}</gazebo>'), contact=True)
    assert found.geometries[1].surface.friction == Surface().friction


def test_a_surface_of_the_file_overrides_the_default_but_not_the_surface_of_a_link():
    rubber, other = Surface(friction=1.5), Surface(friction=1.25)
    for surfaces, wanted in (({}, 0.2), ({"b": other}, 1.25)):
        contact = rb.Contact(surface=rubber, surfaces=surfaces)
        found = read_text(robot(robot=USED_MU), contact=contact).geometries
        assert [x.surface.friction for x in found] == [1.5, wanted]


def test_a_gazebo_reference_applies_to_a_link_and_a_joint_of_the_same_name():
    both = (
        f"<springStiffness>3</springStiffness><mu1>0.2</mu1>{sensor('force_torque')}"
        f"{sensor('imu', name='i')}"
    )
    text = robot(robot=f'<gazebo reference="b">{both}</gazebo>').replace('name="j"', 'name="b"')
    found = read_text(text, contact=True)
    assert found.joints[0].stiffness == 3.0
    assert found.geometries[1].surface.friction == 0.2
    assert sorted(x.type for x in found.sensors) == ["force_torque", "imu"]
    assert {x.code for x in found.findings} == {"vendor-value"}


SECOND = (
    '<joint name="k" type="{}"><parent link="b"/><child link="d"/><axis xyz="0 0 1"/>'
    '<limit effort="9" velocity="1" lower="-1" upper="1"/></joint><link name="d"/>'
)


@pytest.mark.parametrize(
    ("kind", "control_of"),
    [
        ("fixed", {"j": "k"}),
        ("revolute", {"j": "k", "k": "j"}),
        ("revolute", {"j": "k</param><param name='multiplier'>1e300"}),
        ("revolute", {"j": "k</param><param name='offset'>1e300"}),
        ("revolute", {"j": "k</param><param name='multiplier'>abc"}),
    ],
)
def test_an_impossible_mimic_joint_is_left_out(kind, control_of):
    parts = (
        f'<joint name="{name}"><param name="mimic">{text}</param></joint>'
        for name, text in control_of.items()
    )
    found = read_text(
        robot(robot=f"<ros2_control>{''.join(parts)}</ros2_control>{SECOND.format(kind)}")
    )
    assert sum(joint.mimic is not None for joint in found.joints) == len(control_of) - 1
    assert [x.code for x in found.findings if x.severity == "warning"] == ["not-used"]


def test_a_rest_position_that_a_joint_cannot_have_is_left_out():
    text = robot(robot='<gazebo reference="j"><springReference>1</springReference></gazebo>')
    found = read_text(text.replace('"revolute"', '"planar"'))
    assert joint_of(found).rest == ()


def test_warnings_in_gazebo_name_their_link():
    (found,) = read_text(robot(robot='<gazebo reference="b"><mu1>wet</mu1></gazebo>')).findings
    assert found.element == "link 'b'"


def test_a_loop_is_cut_at_a_joint_without_command_interface():
    loop = (
        '<loop_joint name="l" type="revolute"><link1 link="c" xyz="1 0 0"/>'
        '<link2 link="d" xyz="0 1 0"/><dynamics damping="1"/></loop_joint>'
    )
    for driven in ("j1", "j2", "j3"):
        text = (
            in_control("")
            .replace('"j"', f'"{driven}"')
            .replace("</joint>", '<command_interface name="effort"/></joint>')
        )
        found = read_text(f'<robot name="r">{four_bar()}{loop}{text}</robot>')
        closing = [joint.name for joint in found.joints if joint.closes_loop]
        assert len(closing) == 1
        assert driven not in closing


def test_values_that_a_fixed_joint_ignores_are_not_noted_as_changes():
    text = '<gazebo reference="j"><springStiffness>3</springStiffness></gazebo>'
    found = read_text(robot(robot=text).replace('"revolute"', '"fixed"')).findings
    assert "fixed-joint" in {x.code for x in found}
    assert "vendor-value" not in {x.code for x in found}

# SPDX-License-Identifier: Apache-2.0
"""Every attribute in URDF's schema (urdf.xsd, 1.0 to 1.2) changes the robot or causes a finding.

Each test changes one attribute of a robot that has all elements. The change must show in the
Description, which is read with contact, or in the Appearance.
"""

from dataclasses import replace

import pytest

from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError

ORIGIN = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
MATERIAL = '<material name="red"><color rgba="1 0 0 1"/></material>'
INERTIA = '<inertia ixx="1" ixy="0.01" ixz="0.02" iyy="1.1" iyz="0.03" izz="1.2"/>'
LIMIT = (
    '<limit lower="-1" upper="1" effort="2" velocity="3" acceleration="4" deceleration="5" '
    'jerk="6"/>'
)
SHAPES = (
    '<box size="1 2 3"/>',
    '<sphere radius="0.5"/>',
    '<cylinder radius="0.25" length="0.75"/>',
    '<capsule radius="0.35" length="0.85"/>',
    '<mesh filename="package://a/b.stl" scale="1 1 2"/>',
)


def shapes(kind, inner):
    return "".join(
        f"<{kind}>{ORIGIN}<geometry>{shape}</geometry>{inner}</{kind}>" for shape in SHAPES
    )


VISUALS, COLLISIONS = shapes("visual", MATERIAL), shapes("collision", "")
ROBOT = f"""<robot name="r" version="1.2"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="a"/>
<link name="b"><inertial>{ORIGIN}<mass value="2"/>{INERTIA}</inertial>
{VISUALS}{COLLISIONS}</link>
<link name="c"/>
<joint name="i" type="revolute">{ORIGIN}<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
{LIMIT}<dynamics damping="0.5" friction="0.6"/></joint>
<joint name="j" type="prismatic"><parent link="a"/><child link="c"/>
<limit lower="-1" upper="1" effort="2" velocity="3"/>
<mimic joint="i" multiplier="0.9" offset="0.1"/>
</joint></robot>"""

#: For each attribute that is read: its text in the robot, and a text with another value.
READ = {
    "robot name": ('name="r"', 'name="other"'),
    "robot version": ('version="1.2"', 'version="1.1"'),
    "link name": ('name="c"', 'name="d"'),
    "origin xyz": ('xyz="1 2 3"', 'xyz="1 2 4"'),
    "origin rpy": ('rpy="0.1 0.2 0.3"', 'rpy="0.1 0.2 0.4"'),
    "origin quat_xyzw": ('rpy="0.1 0.2 0.3"', 'quat_xyzw="0 0 1 0"'),
    "mass value": ('mass value="2"', 'mass value="3"'),
    "inertia ixx": ('ixx="1"', 'ixx="1.3"'),
    "inertia ixy": ('ixy="0.01"', 'ixy="0.04"'),
    "inertia ixz": ('ixz="0.02"', 'ixz="0.04"'),
    "inertia iyy": ('iyy="1.1"', 'iyy="1.3"'),
    "inertia iyz": ('iyz="0.03"', 'iyz="0.04"'),
    "inertia izz": ('izz="1.2"', 'izz="1.3"'),
    "material name": ('material name="red"><color rgba="1 0 0 1"/>', 'material name="blue">'),
    "color rgba": ('rgba="1 0 0 1"', 'rgba="0 1 0 1"'),
    "box size": ('size="1 2 3"', 'size="1 2 4"'),
    "sphere radius": ('radius="0.5"', 'radius="0.6"'),
    "cylinder radius": ('radius="0.25"', 'radius="0.3"'),
    "cylinder length": ('length="0.75"', 'length="0.8"'),
    "capsule radius": ('radius="0.35"', 'radius="0.4"'),
    "capsule length": ('length="0.85"', 'length="0.9"'),
    "mesh filename": ("package://a/b.stl", "package://a/c.stl"),
    "mesh scale": ('scale="1 1 2"', 'scale="1 0 1"'),
    "collision name": ("<collision>", '<collision name="hand">'),
    "joint name": ('name="j"', 'name="k"'),
    "joint type": ('type="prismatic"', 'type="revolute"'),
    "parent link": ('<parent link="a"/><child link="c"', '<parent link="b"/><child link="c"'),
    "child link": ('link="b"', 'link="c"'),
    "axis xyz": ('xyz="0 0 1"', 'xyz="0 1 0"'),
    "limit lower": ('lower="-1"', 'lower="-2"'),
    "limit upper": ('upper="1"', 'upper="2"'),
    "limit effort": ('effort="2"', 'effort="3"'),
    "limit velocity": ('velocity="3"', 'velocity="4"'),
    "limit acceleration": ('acceleration="4"', 'acceleration="5"'),
    "limit deceleration": ('deceleration="5"', 'deceleration="6"'),
    "limit jerk": ('jerk="6"', 'jerk="7"'),
    "dynamics damping": ('damping="0.5"', 'damping="0.7"'),
    "dynamics friction": ('friction="0.6"', 'friction="0.7"'),
    "mimic joint": ('joint="i"', 'joint="x"'),
    "mimic multiplier": ('multiplier="0.9"', 'multiplier="0.8"'),
    "mimic offset": ('offset="0.1"', 'offset="0.2"'),
}

_IMAGE = '<image width="1" height="1" format="R8G8B8" hfov="1" near="1" far="2"/>'
_RAY = '<{} samples="1" resolution="1" min_angle="0" max_angle="1"/>'
_SOFT = (
    '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_position="1" k_velocity="1"/>'
)
_RAYS = f"<ray>{_RAY.format('horizontal')}{_RAY.format('vertical')}</ray>"
AXIS, END, BLUE = '<axis xyz="0 0 1"/>', "</robot>", '<material name="blue">'

#: For each unused element or attribute: the text where it is inserted, the inserted text, and its
#: name in the finding. No finding names the attributes of an unused element.
TOLD = {
    "link type": ('<link name="c"', ' type="x"', "<link type>"),
    "verbose": ("<collision>", '<verbose value="1"/>', "<verbose>"),
    "calibration": (
        AXIS,
        '<calibration reference_position="1" rising="1" falling="2"/>',
        "<calibration>",
    ),
    "safety_controller": (AXIS, _SOFT, "<safety_controller>"),
    "camera": (
        END,
        f'<sensor name="s" update_rate="1">{ORIGIN}<camera>{_IMAGE}</camera></sensor>',
        "<sensor>",
    ),
    "ray": (END, f'<sensor name="s"><parent link="a"/>{_RAYS}</sensor>', "<sensor>"),
}


def seen(text):
    """Return the contents of a robot without line numbers (None if refused), and the findings."""
    look = read_appearance(text)
    try:
        d = read_text(text, strict=False, contact=True)
    except DescriptionError as error:
        return None, [*look.findings, *error.findings]
    links = [replace(link, line=None) for link in d.links]
    joints = [replace(joint, line=None) for joint in d.joints]
    geometries = [replace(geometry, line=None) for geometry in d.geometries]
    content = (d.name, links, joints, geometries, look.visuals, look.collisions)
    return content, [*look.findings, *d.findings]


def told(findings):
    return {(finding.code, finding.found, finding.message) for finding in findings}


@pytest.fixture(scope="module")
def whole():
    content, findings = seen(ROBOT)
    # the robot names a mesh of a package that is not installed
    assert {finding.code for finding in findings} <= {"missing-meshes", "package-not-found"}
    return content, told(findings)


@pytest.mark.parametrize("attribute", READ)
def test_an_attribute_of_the_schema_is_read(attribute, whole):
    old, new = READ[attribute]
    assert old in ROBOT
    content, findings = seen(ROBOT.replace(old, new, 1))
    assert content != whole[0] or told(findings) - whole[1]


@pytest.mark.parametrize("element", TOLD)
def test_unused_elements_are_reported(element, whole):
    place, text, named = TOLD[element]
    changed = text + place if place == END else place + text
    content, findings = seen(ROBOT.replace(place, changed, 1))
    assert content == whole[0]
    (finding,) = (finding for finding in findings if finding.code == "not-used")
    assert finding.found == named
    assert finding.line is not None


def test_unused_elements_are_reported_once():
    sensor = '<sensor name="t"/>\n'
    text = f'<robot name="r">\n{sensor * 5}<link name="a"/></robot>'
    (finding,) = read_text(text).findings
    assert (finding.code, finding.severity, finding.line) == ("not-used", "note", 2)
    assert "5 in all" in finding.message

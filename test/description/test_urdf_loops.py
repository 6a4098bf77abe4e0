# SPDX-License-Identifier: Apache-2.0
"""Loops in URDF: the extensions of Isaac Sim and URDF+ become loops of a mechanism file."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.description.parts.types import Mimic
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError

BODY = (
    '<inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
HINGE = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/>{}{}</joint>'
AXIS = '<axis xyz="0 0 1"/>'


def four_bar(loop, version="1.0"):
    """Return the URDF of a parallelogram, without one joint; `loop` starts on line 7."""
    return f"""<robot name="bar" version="{version}"><link name="ground"/>
<link name="left">{BODY}</link><link name="right">{BODY}</link>
<link name="rod">{BODY}</link>
{HINGE.format("i", "ground", "left", "", AXIS)}
{HINGE.format("j", "ground", "right", '<origin xyz="2 0 0"/>', AXIS)}
{HINGE.format("k", "left", "rod", '<origin xyz="1 0 0"/>', AXIS)}
{loop}</robot>"""


ISAAC = (
    '<loop_joint name="l" type="{}"><link1 link="rod" xyz="2 0 0" rpy="0 0 0.25"/>'
    '<link2 link="right" rpy="0 0 0" xyz="1 0 0"/></loop_joint>'
)
PLUS = (
    '<loop name="l" type="{}"><predecessor link="rod"><origin xyz="2 0 0" rpy="0 0 0.25"/>'
    f'</predecessor><successor link="right"><origin xyz="1 0 0"/></successor>{AXIS}</loop>'
)
YAML = """rbdyn_mechanism: 1
robot: bar.urdf
loops:
  l: {{type: {}, predecessor: rod, successor: right, axis: {},
       X_P: {{xyz: [2, 0, 0], rpy: [0, 0, 0.25]}}, X_S: {{xyz: [1, 0, 0]}}}}
"""


@pytest.mark.parametrize(
    ("loop", "kind", "axis"),
    [(ISAAC, "spherical", "[1, 0, 0]"), (PLUS, "revolute", "[0, 0, 1]")],
)
def test_a_loop_of_a_urdf_equals_the_loop_of_a_mechanism_file(loop, kind, axis, tmp_path):
    text = four_bar(loop.format(kind))
    assert read_text(text).findings == ()
    (tmp_path / "bar.urdf").write_text(four_bar(""))
    (tmp_path / "bar.yaml").write_text(YAML.format(kind, axis))
    m, expected = rb.load_urdf(text), rb.load(tmp_path / "bar.yaml")
    assert m.loop_names == expected.loop_names == ("l",)
    for name in ("qpos0", "body_pos", "body_mat", "jnt_axis", "jnt_type"):
        np.testing.assert_array_equal(getattr(m, name), getattr(expected, name))
        if name != "qpos0":
            one, other = getattr(m.loops, name), getattr(expected.loops, name)
            np.testing.assert_array_equal(one, other)
    d, d_expected = rb.make_data(m), rb.make_data(expected)
    d.qvel[:] = d_expected.qvel[:] = (0.3, 0.3, -0.3)
    for _ in range(5):
        rb.step(m, d)
        rb.step(expected, d_expected)
    np.testing.assert_array_equal(d.qpos, d_expected.qpos)


def test_the_orientation_of_a_loop_end_can_be_a_quaternion():
    turned = 'quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"'
    isaac = ISAAC.format("fixed").replace('rpy="0 0 0.25"', turned)
    (joint,) = (j for j in read_text(four_bar(isaac, "1.1")).joints if j.closes_loop)
    assert joint.origin.quat == pytest.approx(pose(rpy=(0, 0, np.pi / 2)).quat, abs=1e-15)
    assert joint.child_origin.pos == (1, 0, 0)


@pytest.mark.parametrize(
    ("old", "new", "code", "element"),
    [
        ('type="spherical"', 'type="ball"', "unknown-joint-type", "joint 'l'"),
        ('type="spherical"', "", "missing-attribute", "joint 'l'"),
        ('name="l"', "", "missing-name", "joint without a name"),
        ('name="l"', 'name="i"', "duplicate-name", "joint 'i'"),
        ('link1 link="rod"', 'link1 link="x"', "unknown-link", "joint 'l'"),
        ('link1 link="rod"', "link1", "missing-attribute", "joint 'l'"),
        ('link1 link="rod"', 'link1 link="right"', "self-loop", "joint 'l'"),
        ('xyz="2 0 0"', 'xyz="2 0"', "bad-number", "joint 'l'"),
        ('xyz="2 0 0"', 'xyz="nan 0 0"', "not-finite", "joint 'l'"),
    ],
)
def test_bad_loops_are_refused(old, new, code, element):
    text = four_bar(ISAAC.format("spherical").replace(old, new))
    with refused(DescriptionError, code, element, line=7):
        read_text(text)


def test_a_loop_without_an_end_is_refused():
    text = four_bar('<loop name="l" type="fixed"><successor link="rod"/></loop>')
    with refused(DescriptionError, "missing-element", "joint 'l'", line=7):
        read_text(text)


def test_the_coupling_element_of_urdf_plus_is_reported_as_unused():
    (finding,) = read_text(four_bar("<coupling name='c'/>")).findings
    assert (finding.code, finding.found, finding.line) == ("not-used", "<coupling>", 7)


def test_a_loop_may_have_the_properties_of_a_joint():
    more = (
        '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="0.5" friction="0.25"/></loop>'
    )
    checked = read_text(four_bar(PLUS.format("revolute").replace("</loop>", more)))
    (loop,) = (joint for joint in checked.joints if joint.name == "l")
    assert (loop.limit, loop.damping, loop.friction) == (rb.Limit(-1, 2, 3, 4), 0.5, 0.25)
    assert not loop.closes_loop
    assert [joint.name for joint in checked.joints if joint.closes_loop] == ["k"]
    follows = '<mimic joint="i" multiplier="-2" offset="0.5"/></loop>'
    checked = read_text(four_bar(PLUS.format("revolute").replace("</loop>", follows)))
    assert checked.joints[-1].mimic == Mimic("i", -2.0, 0.5)

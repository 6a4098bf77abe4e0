# SPDX-License-Identifier: Apache-2.0
"""Robots in MJCF are the same as in MuJoCo, and agree with closed forms."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.meshes.meshes import read_parts
from rbdyn_ros.description.meshes.polygons import triangulated
from rbdyn_ros.description.mjcf_files import mjcf
from rbdyn_ros.errors import DescriptionError

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"

#: A model with nested default classes, all kinds of orientations and joints, and frames.
TREE = """<mujoco model="tree">
  <compiler angle="degree" eulerseq="XYz" meshdir="meshes"/>
  <default>
    <joint damping="0.1" armature="0.01"/>
    <geom density="500"/>
    <default class="arm">
      <joint stiffness="3" springref="20"/>
      <geom type="capsule" size="0.05 0.2"/>
      <default class="wrist"><joint damping="0.3" range="-90 45"/></default>
    </default>
    <default class="dense"><geom density="3000"/></default>
  </default>
  <asset><mesh name="wedge" file="tetra.obj" scale="0.2 0.3 0.4" refpos="0.1 0 0"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="free" pos="0 0 1" euler="10 20 30">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" axisangle="1 1 0 40"/>
      <site name="top" pos="0 0 0.3" zaxis="1 0 1"/>
      <frame pos="0.2 0 0" xyaxes="0 1 0 -1 0.2 0" childclass="arm">
        <body name="upper" pos="0 0.1 0" quat="2 0 1 0">
          <joint name="shoulder" type="ball" pos="0 0 -0.2" stiffness="0"/>
          <geom/>
          <geom class="dense" type="sphere" size="0.04" pos="0 0 0.2"/>
          <body name="lower" pos="0 0 0.4">
            <joint name="a" axis="1 0.5 0" pos="0 0 -0.2" ref="30"/>
            <joint name="b" type="slide" axis="0 1 1" springref="0.1" ref="0.2"/>
            <joint name="c" class="wrist" axis="0 0 1" pos="0.1 0 0"/>
            <geom fromto="0 0 -0.1 0.1 0 0.2" size="0.03"/>
            <geom type="ellipsoid" size="0.1 0.2 0.05" mass="0.7" pos="0 0.1 0"/>
            <geom type="mesh" mesh="wedge" class="dense" euler="5 0 0" pos="0 0 0.1"/>
          </body>
        </body>
      </frame>
    </body>
    <body name="given" pos="1 0 0">
      <joint name="crank"/>
      <inertial pos="0.1 0 0" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
      <geom size="1"/>
      <frame euler="0 90 0" pos="0 0 0.5">
        <body name="tip" childclass="arm"><joint name="flap" axis="0 0 1"/><geom size="0.02 0.1"/>
        </body>
      </frame>
    </body>
  </worldbody>
</mujoco>"""

ACTUATORS = """<mujoco>
  <compiler autolimits="true" angle="radian"/>
  <default><position kp="20" kv="2"/><default class="stiff"><position kp="50" dampratio="0.7"/>
    </default></default>
  <worldbody>
    <body><joint name="a" axis="0 1 0" range="-1 2"/><geom type="capsule" size="0.1 0.3"/>
      <body pos="0.4 0 0"><joint name="b" axis="0 1 0" actuatorfrcrange="-3 3"/>
        <geom size="0.1"/>
        <body pos="0.4 0 0"><joint name="c" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
        <body pos="0 0.4 0"><joint name="d" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="both"><joint joint="c" coef="0.5"/><joint joint="d" coef="-2"/></fixed>
  </tendon>
  <actuator>
    <motor joint="a" gear="3" ctrlrange="-1 0.5"/>
    <position joint="b" ctrlrange="-0.5 0.5"/>
    <position joint="a" class="stiff" inheritrange="0.8" gear="2"/>
    <velocity joint="c" kv="4" forcerange="-1 3"/>
    <general tendon="both" gear="1.5" gainprm="7" biastype="affine" biasprm="1 -2 -3"
      forcerange="-9 9"/>
    <general joint="d" biastype="none" biasprm="1 2 3" armature="0.2" damping="0.1" gear="2"/>
  </actuator>
</mujoco>"""


#: A model with vectors that have fewer numbers than their class or the format.
SHORT = """<mujoco>
  <default>
    <general biastype="affine" gainprm="100" biasprm="0 -100 -5"/>
    <geom type="capsule" size=".1 .5" friction="1 .1 .2" condim="6"/>
    <default class="thin"><geom size=".05" friction=".3"/></default>
  </default>
  <worldbody>
    <body><joint name="a" axis="0 1 0"/><geom size=".2" friction=".5"/>
      <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom class="thin" friction=".7 .4"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="b" joint2="a" polycoef="0.1"/></equality>
  <actuator><general joint="a" biasprm="0 -50"/><general joint="a" biasprm="3"/></actuator>
</mujoco>"""


@pytest.fixture
def write(tmp_path):
    """Write the mesh of a tetrahedron; return a function that writes a model beside it."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/tetra.obj").write_text(TETRAHEDRON)

    def written(text, name="robot.xml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


def body(inside, more=""):
    """Return a model of one body on a hinge, with `more` in front of the worldbody."""
    joint = '<joint name="j" axis="0 1 0"/>'
    return f'<mujoco>{more}<worldbody><body name="b">{joint}{inside}</body></worldbody></mujoco>'


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_moves_as_in_mujoco(write, seed):
    from support.mjcf import Twins

    twins = Twins(write(TREE))
    twins.move(seed)
    twins.check()


@pytest.mark.parametrize("seed", range(3))
def test_actuators_act_as_in_mujoco(write, seed):
    from support.mjcf import Twins

    twins = Twins(write(ACTUATORS))
    twins.move(seed)
    twins.check()
    twins.check_actuators()


@pytest.mark.parametrize(
    ("outer", "inner", "own"),
    [
        ('quat="1 1 0 0"', 'euler="0 0 90"', ""),
        ('euler="0 0 90"', 'zaxis="1 0 0"', ""),
        ('euler="0 0 90"', 'quat="1 1 0 0"', ""),
        ('euler="0 0 90"', 'xyaxes="0 1 0 1 0 0"', 'quat="1 0 1 0"'),
    ],
)
def test_the_innermost_orientation_is_used(write, outer, inner, own):
    from support.mjcf import Twins

    classes = f"""<default><site {outer}/><default class="c"><site {inner}/></default></default>"""
    site = f"<geom size='.1'/><site name='s' class='c' {own}/>"
    twins = Twins(write(body(site, classes)))
    twins.move(0)
    twins.check()


def test_short_vectors_keep_the_numbers_of_their_class(write):
    from support.mjcf import Twins

    twins = Twins(write(SHORT))
    twins.move(1)
    twins.check()
    twins.check_actuators()
    follower = next(joint for joint in twins.described.joints if joint.mimic)
    line = follower.mimic.offset, follower.mimic.ratio
    np.testing.assert_array_equal(line, twins.theirs.eq_data[0, :2])
    surfaces = [x.surface for x in mjcf.read(write(SHORT), contact=True).geometries]
    ours = [(x.friction, x.torsional, x.rolling) for x in surfaces]
    np.testing.assert_array_equal(ours, twins.theirs.geom_friction)


RANGES = """<mujoco><compiler autolimits="{}" angle="radian"/><worldbody>
  <body><joint name="j" range="{}" limited="{}" actuatorfrcrange="{}" actuatorfrclimited="{}"/>
    <geom size="0.1"/></body></worldbody>
  <actuator><motor joint="j" ctrlrange="{}" ctrllimited="{}" forcerange="{}" forcelimited="{}"/>
  </actuator></mujoco>"""


@pytest.mark.parametrize(
    ("autolimits", "word", "given"),
    [
        ("true", "auto", "0 0"),
        ("true", "auto", "1 1"),
        ("true", "auto", "2 1"),
        ("true", "auto", "-2 2"),
        ("true", "false", "-2 2"),
        ("false", "true", "-2 2"),
        ("false", "auto", "0 0"),
    ],
)
def test_ranges_limit_joints_as_in_mujoco(write, autolimits, word, given):
    from support.mjcf import mujoco

    path = write(RANGES.format(autolimits, *[given, word] * 4))
    theirs, described = mujoco.MjModel.from_xml_path(str(path)), mjcf.read(path)
    joint, servo = described.joints[0], described.servos[0]
    limits = (
        joint.type == "revolute",
        math.isfinite(joint.limit.effort if joint.limit else math.inf),
    )
    assert limits == (theirs.jnt_limited[0], theirs.jnt_actfrclimited[0])
    ranges = math.isfinite(servo.control[0]), math.isfinite(servo.force[0])
    assert ranges == (theirs.actuator_ctrllimited[0], theirs.actuator_forcelimited[0])


def test_the_smaller_of_two_effort_limits_of_a_joint_is_used(write):
    text = body("<geom size='1'/>").replace("axis", "actuatorfrcrange='-1 5' axis")
    described = mjcf.read(write(text))
    assert described.joints[0].limit.effort == 1.0
    assert [x.code for x in described.findings] == ["not-supported"]


SHAPES = {
    "sphere": 'type="sphere" size="0.2"',
    "box": 'type="box" size="0.1 0.2 0.3"',
    "cylinder": 'type="cylinder" size="0.1 0.3"',
    "capsule": 'type="capsule" size="0.1 0.3"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.3"',
    "mesh": 'type="mesh" mesh="tetra"',
    "fitted capsule": 'type="capsule" mesh="tetra"',
    "fitted box": 'type="box" mesh="tetra" fitscale="1.2"',
    "shell of a sphere": 'type="sphere" size="0.2" shellinertia="true"',
    "shell of a box": 'type="box" size="0.1 0.2 0.3" shellinertia="true"',
    "shell of a cylinder": 'type="cylinder" size="0.1 0.3" shellinertia="true"',
    "shell of a capsule": 'type="capsule" size="0.1 0.3" shellinertia="true"',
    "between points": 'type="box" size="0.1 0.2" fromto="0 0 0 0.3 0.2 0.1"',
    "of a mass": 'type="box" size="0.1 0.2 0.3" mass="2" density="7"',
}
COMPILERS = {
    "usual": "",
    "bounds": '<compiler boundmass="900" boundinertia="80"/>',
    "total": '<compiler settotalmass="3"/>',
    "groups": '<compiler inertiagrouprange="1 2"/>',
    "balance": '<compiler balanceinertia="true" inertiafromgeom="true"/>',
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_geoms_give_the_inertia_of_mujoco(write, shape, compiler):
    from support.mjcf import Twins

    asset = '<asset><mesh name="tetra" file="meshes/tetra.obj" scale="1 2 3"/></asset>'
    around = 'pos="0.1 0.2 0.3" quat="1 0.2 0.3 0.4" group="1"'
    second = '<geom size="0.1" pos="0 0 1" group="4"/>'
    text = body(f"<geom {SHAPES[shape]} {around}/>{second}", COMPILERS[compiler] + asset)
    if "fromto" in text:
        text = text.replace('pos="0.1 0.2 0.3" quat="1 0.2 0.3 0.4"', "")
    twins = Twins(write(text))
    np.testing.assert_allclose(twins.m.body_mass, twins.theirs.body_mass, rtol=1e-12)
    twins.move(1)
    twins.check()


@pytest.mark.parametrize("kind", ["legacy", "exact", "convex", "shell"])
def test_meshes_give_the_inertia_of_mujoco(write, kind):
    from support.mjcf import Twins

    # an L is not convex, so inertia `exact` and `convex` differ
    corners = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)]
    points = "".join(f"v {x} {y} {z}\n" for z in (0, 1) for x, y in corners)
    flat = [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)]
    faces = [*((a, c, b) for a, b, c in flat), *((a + 6, b + 6, c + 6) for a, b, c in flat)]
    for k in range(6):
        a, b = k + 1, (k + 1) % 6 + 1
        faces += [(a, b, b + 6), (a, b + 6, a + 6)]
    (write("").parent / "l.obj").write_text(
        points + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)
    )
    asset = f'<asset><mesh name="l" file="l.obj" inertia="{kind}"/></asset>'
    twins = Twins(write(body('<geom type="mesh" mesh="l" density="1"/>', asset)))
    twins.move(1)
    twins.check()
    if kind == "exact":
        assert twins.m.body_mass[1] == pytest.approx(4.0, rel=1e-12)
        older = asset.replace(' inertia="exact"', "")
        text = f'<compiler exactmeshinertia="true"/>{older}'
        m = rb.load(write(body('<geom type="mesh" mesh="l" density="1"/>', text)))
        np.testing.assert_array_equal(m.body_inertia, twins.m.body_inertia)


def test_the_inertia_of_a_tetrahedron_is_exact(write):
    asset = '<asset><mesh name="tetra" file="meshes/tetra.obj" inertia="exact"/></asset>'
    m = rb.load(write(body('<geom type="mesh" mesh="tetra" density="6"/>', asset)))
    d = rb.make_data(m)
    # this tetrahedron, of volume 1/6, has the inertia rho (1/60 + 1/60) about an edge of length 1
    # at its right angle
    np.testing.assert_allclose(rb.mass_matrix(m, d), [[6 * (1 / 60 + 1 / 60)]], rtol=1e-12)


def test_a_pendulum_agrees_with_its_closed_form(write):
    m = rb.load(write(body('<inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.1"/>')))
    d = rb.make_data(m)
    d.qpos[:] = 0.3
    rb.forward(m, d)
    assert rb.mass_matrix(m, d)[0, 0] == pytest.approx(0.1 + 2 * 0.25, rel=1e-14)
    assert d.qfrc_bias[0] == pytest.approx(2 * 9.81 * 0.5 * math.sin(0.3), rel=1e-12)


def test_qpos_has_the_numbers_of_the_file(write):
    text = body('<geom size="0.1"/>').replace('axis="0 1 0"', 'axis="0 1 0" ref="90"')
    m = rb.load(write(text))
    assert m.qpos0[0] == pytest.approx(math.pi / 2, rel=1e-15)
    d = rb.make_data(m)
    rb.kinematics(m, d)
    np.testing.assert_allclose(rb.frame_pose(m, d, "b")[1], np.eye(3), atol=1e-15)


def test_includes_are_read_in_place(write):
    write("<mujocoinclude><geom size='0.2' density='1'/></mujocoinclude>", "part.xml")
    m = rb.load(write(body("<include file='part.xml'/>")))
    assert m.body_mass[1] == pytest.approx(4 / 3 * math.pi * 0.008, rel=1e-12)


def test_keyframes_have_all_coordinates(write):
    text = """<mujoco><worldbody>
      <body name="f"><freejoint name="root"/><geom size="1"/>
        <body><joint name="a"/><geom size="1"/></body></body></worldbody>
      <keyframe><key name="up" qpos="1 2 3 0 1 0 0 0.5"/></keyframe></mujoco>"""
    m = rb.load(write(text))
    assert m.key_names == ("up",)
    np.testing.assert_array_equal(m.key_qpos[0], [1, 2, 3, 0, 1, 0, 0, 0.5])


EQUALITIES = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="a"><joint name="ja" axis="0 1 0" ref="0.1"/><geom size="0.1" pos="0.5 0 0"/>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0"/>
      <site name="end" pos="1 0 0"/></body></body>
  <body name="c" pos="2 0 1"><joint name="jc" axis="0 1 0"/><geom size="0.1"/>
    <site name="hook" pos="0 0 -1"/></body>
</worldbody>{}</mujoco>"""


@pytest.mark.parametrize(
    "equality",
    [
        '<connect body1="b" body2="c" anchor="1 0 0"/>',
        '<connect site1="end" site2="hook"/>',
        '<weld body1="b" body2="c" name="w"/>',
    ],
)
def test_equalities_of_bodies_close_loops(write, equality):
    m = rb.load(write(EQUALITIES.format(f"<equality>{equality}</equality>")))
    d = rb.make_data(m)
    d.qvel[:] = 0.1
    rb.step(m, d, 200)
    end, hook = (rb.frame_pose(m, d, name)[0] for name in ("end", "hook"))
    np.testing.assert_allclose(end, hook, atol=1e-5)
    assert len(m.loop_names) == 1


WELDED = """<mujoco><worldbody>
  <body name="a" pos=".1 0 0" euler="10 20 30"><freejoint/><geom size=".1"/></body>
  <body name="b" pos=".5 .1 .2"><freejoint/><geom size=".1"/></body></worldbody>
  <equality><weld body1="a" body2="b" {} relpose=".1 .2 .3 .8 .6 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("anchor", ["", 'anchor=".3 .1 -.2"'])
def test_a_weld_holds_its_anchor_at_the_pose_of_the_file(write, anchor):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    path = write(WELDED.format(anchor))
    m, theirs = rb.load(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    data.qpos[:] = rb.assemble(m, m.qpos0)
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(data.efc_pos, np.zeros(6), atol=1e-10)


def test_the_error_about_an_equality_of_one_joint_names_the_equality(write):
    equality = '<equality><joint joint1="ja" polycoef="0.2 0 0 0 0"/></equality>'
    path = write(EQUALITIES.format(equality))
    with refused(DescriptionError, "not-supported", "equality 'joint0'"):
        mjcf.read(path)
    assert not mjcf.read(path, strict=False).constraints


def test_an_equality_of_joints_is_a_mimic_joint(write):
    text = '<equality><joint joint1="jc" joint2="ja" polycoef="0.2 3"/></equality>'
    m = rb.load(write(EQUALITIES.format(text)))
    d = rb.make_data(m)
    d.qpos[m.jnt_qposadr[m.jnt_id("ja")]] = 0.4
    rb.forward(m, d)
    # MuJoCo has qc - 0 = 0.2 + 3 (qa - 0.1), because the ref of ja is 0.1
    np.testing.assert_allclose(m.jnt_mimic_offset[m.jnt_id("jc")], 0.2 - 0.3, rtol=1e-15)
    assert m.nv == 2


def test_cycles_of_equalities_and_tendons_become_gears(write):
    text = """<tendon><fixed name="t"><joint joint="jb" coef="2"/>
      <joint joint="jc" coef="-1"/></fixed></tendon>
      <equality><joint joint1="ja" joint2="jb"/>
      <joint joint1="jb" joint2="ja" polycoef="0 1"/><tendon tendon1="t"/></equality>"""
    described = mjcf.read(write(EQUALITIES.format(text)))
    assert [joint.name for joint in described.joints if joint.mimic] == ["ja"]
    gear = described.constraints[-1]
    assert [(term.joint, term.factor) for term in gear.terms] == [("jb", 2.0), ("jc", -1.0)]
    assert gear.offset == 0.0


CONTACTS = """<mujoco><worldbody>
  <geom name="ground" type="plane" size="1 1 1" friction="0.7"/>
  <body name="table" pos="3 0 1"><geom name="top" type="box" size="0.5 0.5 0.1"/></body>
  <body name="a" pos="0 0 2"><freejoint/><geom name="ga" size="0.1" friction="0.5 0.01 0.002"/>
    <body name="b" pos="0.1 0 0"><joint/><geom name="gb" size="0.1"/>
      <body name="c" pos="0.5 0 0"><geom name="gc" size="0.1" condim="1"/></body></body></body>
  <body name="d" pos="0 3 2"><freejoint/><geom name="gd" size="0.1" condim="6" contype="0"
    conaffinity="0"/></body>
</worldbody><contact><exclude body1="d" body2="b"/><pair geom1="ga" geom2="gd"/></contact>
</mujoco>"""


def test_a_model_has_the_contacts_of_its_file(write):
    described = mjcf.read(write(CONTACTS), contact=True)
    obstacles = {one.name: one for one in described.obstacles}
    assert list(obstacles) == ["ground", "top"]
    assert obstacles["ground"].friction == 0.7
    np.testing.assert_allclose(obstacles["top"].origin.pos, (3, 0, 1))
    geoms = {one.name: one for one in described.geometries}
    assert list(geoms) == ["ga", "gb", "gc", "gd"]
    assert [geoms[name].surface.friction for name in geoms] == [0.5, 1.0, 0.0, 1.0]
    assert geoms["gd"].surface.rolling == 0.0001
    filters = {name: one.filter for name, one in geoms.items()}
    meet = filters["ga"].contype & filters["gd"].conaffinity
    assert meet
    assert not filters["gb"].contype & filters["gd"].conaffinity
    excluded = {frozenset((x.first, x.second)) for x in described.exclusions}
    # a and b are parent and child, and c is fixed to b
    assert excluded == {frozenset(pair) for pair in ("db", "ab", "ac")}


STANDING = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <body name="table"><geom name="top" type="box" size=".1 .1 .1" condim="4"/></body>
  <body name="arm"><joint/><geom name="hand" size=".2"/></body>
</worldbody><contact><exclude body1="{}" body2="{}"/></contact></mujoco>"""


@pytest.mark.parametrize(
    ("first", "second", "obstacle"),
    [
        ("table", "arm", "top"),
        ("arm", "table", "top"),
        ("arm", "world", "floor"),
        ("table", "world", None),
    ],
)
def test_a_pair_with_a_body_fixed_in_the_world_excludes_obstacles(write, first, second, obstacle):
    path = write(STANDING.format(first, second))
    found = mjcf.read(path, contact=True).exclusions
    expected = [("arm", obstacle, False)] if obstacle else []
    assert [(x.first, x.second, x.links) for x in found] == expected


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [("lid", "wall", 1), ("lid", "floor", 0), ("knob", "wall", 0), ("ball", "wall", 0)],
)
def test_a_contact_pair_of_bodies_that_a_joint_connects_is_reported(write, first, second, named):
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" contype="0"/>
      <body name="box"><geom name="wall" size=".1" contype="0" conaffinity="0"/>
        <body name="cover"><joint/><geom name="lid" size=".1"/>
          <body><joint/><geom name="knob" size=".1"/></body></body></body>
      <body><freejoint/><geom name="ball" size=".1"/></body></worldbody>
      <contact><pair geom1="{}" geom2="{}"/></contact></mujoco>"""
    found = mjcf.read(write(text.format(first, second)), contact=True).findings
    assert sum("a joint connects" in finding.message for finding in found) == named


def test_rolling_friction_of_an_obstacle_is_reported_as_unused(write):
    described = mjcf.read(write(STANDING.format("arm", "world")), contact=True)
    assert [x.element for x in described.findings if x.code == "not-used"] == ["geom 'top'"]


def test_an_actuator_with_gear_0_keeps_its_place_in_the_controls(write):
    more = """<actuator><motor name="none" joint="j" gear="0"/>
      <motor name="one" joint="j" gear="2" ctrlrange="-1 1"/></actuator>"""
    path = write(body("<geom size='1'/>", more))
    m = rb.load(path)
    servos = rb.servos(m, path)
    assert servos.names == ("none", "one")
    np.testing.assert_array_equal(servos.efforts(rb.make_data(m), [9.0, 1.0]), [2.0])
    assert m.jnt_effort[0] == 2.0


def test_no_mesh_is_opened_without_contact(write):
    asset = '<asset><mesh name="gone" file="gone.stl"/></asset>'
    given = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="gone"/>'
    path = write(body(given, asset))
    assert rb.load(path).nv == 1
    with refused(DescriptionError, "mesh-missing", "geom of body 'b'"):
        rb.load(path, contact=True)


def test_joints_without_actuators_are_passive(write):
    more = "<actuator><motor joint='j' ctrlrange='-2 2' gear='3'/></actuator>"
    text = body("<geom size='1'/><body><joint name='k'/><geom size='1'/></body>", more)
    described = {joint.name: joint for joint in mjcf.read(write(text)).joints}
    assert described["j"].limit.effort == 6.0
    assert described["j"].actuated
    assert not described["k"].actuated


def test_servos_of_a_mimic_joint_act_on_its_leader(write):
    more = """<equality><joint joint1="k" joint2="j" polycoef="0 2"/></equality>
      <actuator><motor name="m" joint="k"/></actuator>"""
    path = write(body("<geom size='1'/><body><joint name='k'/><geom size='1'/></body>", more))
    m = rb.load(path)
    servos = rb.servos(m, path)
    assert servos.names == ("m",)
    np.testing.assert_array_equal(servos.efforts(rb.make_data(m), [3.0]), [6.0])
    with refused(rb.ParameterError, "bad-argument"):
        servos.efforts(rb.make_data(m), [1.0, 2.0])


def mesh_of(face):
    """Return the XML of a mesh with vertices and a face."""
    return f"<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='{face}'/></asset>"


REFUSED = {
    "two keyframes of one name": (
        body("<geom size='1'/>", "<keyframe><key name='k'/>\n<key name='k'/></keyframe>"),
        "duplicate-name", "keyframe 'k'", 2,
    ),
    "NaN": (body("\n<geom size='nan'/>"), ["bad-value", "bad-value"], "geom of body 'b'", 2),
    "no number": (body("<geom size='1' pos='1 x 2'/>"), "bad-value", "geom of body 'b'", 1),
    "a wrong count": (body("<geom size='1' pos='1 2'/>"), "bad-value", "geom of body 'b'", 1),
    "two orientations": (
        body("<geom size='1' euler='0 0 0' quat='1 0 0 0'/>"), "duplicate-orientation", None, 1,
    ),
    "no direction": (
        body("<geom size='1'/>").replace('"0 1 0"', '"0 0 0"'), "zero-vector", "joint 'j'", 1,
    ),
    "an unknown class": (body("<geom class='x' size='1'/>"), "unknown-class", None, 1),
    "an unknown mesh": (body("<geom type='mesh' mesh='x'/>"), "unknown-mesh", None, 1),
    "a body twice": (
        body("<geom size='1'/><body name='b'/>"), "duplicate-name", "body 'b'", 1,
    ),
    "a free joint inside": (
        body("<geom size='1'/><body><freejoint/><geom size='1'/></body>"), "bad-free-joint",
        None, 1,
    ),
    "an unknown joint": (
        body("<geom size='1'/>", "<actuator><motor joint='x'/></actuator>"), "unknown-joint",
        "actuator 'motor0'", 1,
    ),
    "a range without room": (
        body("<geom size='1'/>").replace("axis", "limited='true' range='1 1' axis"), "bad-value",
        "joint 'j'", 1,
    ),
    "a muscle": (
        body("<geom size='1'/>", "<actuator><muscle name='m' joint='j'/></actuator>"),
        "not-supported", "actuator 'm'", 1,
    ),
    "a lag": (
        body("<geom size='1'/>", "<actuator><position joint='j' timeconst='1'/></actuator>"),
        "not-supported", None, 1,
    ),
    "a thruster": (
        body("<geom size='1'/><site name='s'/>", "<actuator><motor site='s'/></actuator>"),
        "not-supported", None, 1,
    ),
    "a spatial tendon": (
        body("<geom size='1'/>", "<tendon><spatial name='t'><site site='s'/></spatial></tendon>"),
        "not-supported", "tendon 't'", 1,
    ),
    "a polynomial": (
        body("<geom size='1'/>", "<equality><joint joint1='j' polycoef='0 1 2'/></equality>"),
        "not-supported", None, 1,
    ),
    "a lag of the class": (
        body(
            "<geom size='1'/>",
            "<default><position kp='1' timeconst='1'/></default>"
            "<actuator><position joint='j'/></actuator>",
        ),
        "not-supported", None, 1,
    ),
    "an equality without a tendon": (
        body("<geom size='1'/>", "<tendon><fixed/></tendon><equality><tendon/></equality>"),
        "unknown-tendon", "equality 'tendon0'", 1,
    ),
    "a face with a huge number": (
        body("<geom size='1'/>", mesh_of("0 1 1e300")), "bad-value", "mesh 'm'", 1,
    ),
    "a face with a fraction": (
        body("<geom size='1'/>", mesh_of("0 1 1.7")), "bad-value", "mesh 'm'", 1,
    ),
    "a face of four": (
        body("<geom size='1'/>", mesh_of("0 1 2 3")), "bad-value", "mesh 'm'", 1,
    ),
    "a fitted bounding box": (
        body("<geom type='box' mesh='m'/>", "<compiler fitaabb='true'/>" + mesh_of("")),
        "not-supported", "geom of body 'b'", 1,
    ),
    "a top default with a class": (
        body("<geom size='1'/>", "<default class='x'/>"), "bad-value", "default", 1,
    ),
    "a flex": (body("<geom size='1'/><flexcomp name='f'/>"), "not-supported", None, 1),
    "an MSH": (
        body("<geom type='mesh' mesh='m'/>", "<asset><mesh name='m' file='m.msh'/></asset>"),
        "mesh-format", "mesh 'm'", 1,
    ),
    "global coordinates": (
        body("<geom size='1'/>", "<compiler coordinate='global'/>"), "bad-value", "compiler", 1,
    ),
    "an entity bomb": (
        "<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco>&b;</mujoco>", "doctype", None, 1,
    ),
    "nested frames": (
        "<mujoco><worldbody>" + "<frame>" * 10_000 + "</frame>" * 10_000 + "</worldbody></mujoco>",
        "too-deep", None, 1,
    ),
    "an include outside": (
        body("<include file='../x.xml'/>"), ["bad-include", "no-inertia"][:1], None, 1,
    ),
    "an unknown site": (
        body("<geom size='1'/>", "<equality><connect site1='s' site2='t'/></equality>"),
        ["unknown-site", "unknown-site"], None, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_models_are_refused(write, case):
    text, codes, element, line = REFUSED[case]
    with refused(DescriptionError, codes, element, line=line):
        mjcf.read(write(text))


@pytest.mark.parametrize(
    "case", [name for name, row in REFUSED.items() if row[1] == "not-supported"]
)
def test_unsupported_elements_are_left_out_without_strict(write, case):
    m = rb.load(write(REFUSED[case][0]), strict=False)
    assert m.nv == 1
    assert "not-supported" in {x.code for x in m.findings if x.severity == "warning"}


def test_a_file_that_includes_itself_is_refused(write):
    path = write(body("<include file='other.xml'/>"))
    write("<mujocoinclude>\n<include file='robot.xml'/></mujocoinclude>", "other.xml")
    with refused(DescriptionError, "bad-include", "include 'robot.xml'"):
        mjcf.read(path)


def test_a_file_may_be_included_several_times(write):
    """MuJoCo also reads one file several times if it has several names, such as symbolic links."""
    mujoco = pytest.importorskip("mujoco")
    part = write("<mujocoinclude><geom size='0.1' pos='0 0 1'/></mujocoinclude>", "part.xml")
    part.with_name("link.xml").symlink_to("part.xml")
    path = write(body("<include file='part.xml'/><include file='link.xml'/>"))
    theirs = mujoco.MjModel.from_xml_path(str(path))
    mass = rb.load(path).body_mass[1]
    assert mass == pytest.approx(theirs.body_mass[1])
    assert rb.load(write(body("<include file='part.xml'/>" * 2))).body_mass[1] == mass


def test_includes_that_expand_exponentially_are_refused(write):
    for k in range(12):
        inside = f"<include file='{k + 1}.xml'/>" * 2 if k < 11 else "<geom size='1'/>"
        write(f"<mujocoinclude>{inside}</mujocoinclude>", f"{k}.xml")
    with refused(DescriptionError, "too-many-files", line=1):
        mjcf.read(write(body("<include file='0.xml'/>")))


def test_included_files_that_are_together_nested_too_deep_are_refused(write):
    for k in range(60):
        inside = f"<include file='{k + 1}.xml'/>" if k < 59 else "<geom size='1'/>"
        frames = "<frame>" * 50 + inside + "</frame>" * 50
        write(f"<mujocoinclude>{frames}</mujocoinclude>", f"{k}.xml")
    with refused(DescriptionError, "too-deep", line=1):
        mjcf.read(write(body("<include file='0.xml'/>")))


def test_an_error_in_an_included_file_has_its_line(write):
    write("<mujocoinclude>\n\n<geom size='-1'/></mujocoinclude>", "part.xml")
    with pytest.raises(DescriptionError, match=r"line 1: geom of body 'b'.*\(part.xml, line 3\)"):
        mjcf.read(write(body("<include file='part.xml'/>")))


def test_a_mesh_with_too_many_triangles_gives_no_inertia(write, monkeypatch):
    from rbdyn_ros.description.mjcf_files import meshes

    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 3)
    asset = '<asset><mesh name="tetra" file="meshes/tetra.obj"/></asset>'
    with refused(DescriptionError, "mesh-too-large", "mesh 'tetra'"):
        mjcf.read(write(body('<geom type="mesh" mesh="tetra"/>', asset)))


def test_an_attribute_that_is_unused_in_one_of_two_elements_is_reported(write):
    more = """<default><joint stiffness="2"/></default>
      <compiler angle="radian"/><compiler autolimits="true"/>"""
    text = body("<geom size='1'/>", more).replace(
        '<joint name="j"', "<joint name='j' stiffness='1'"
    )
    free = "<body><joint type='free' stiffness='5'/><geom size='1' mass='1'/></body></worldbody>"
    found = mjcf.read(write(text.replace("</worldbody>", free)), contact=True).findings
    noted = [(x.severity, x.found) for x in found if x.code == "not-used"]
    assert noted == [("warning", "<joint stiffness=>")]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ('density="0" gravity="0 0 -9.8"', []),
        ('density="1000" wind="0 1 0"', ["not-used", "not-used"]),
    ],
)
def test_unused_options_that_would_change_the_motion_cause_warnings(write, options, codes):
    found = mjcf.read(write(body("<geom size='1'/>", f"<option {options}/>"))).findings
    assert [x.code for x in found if x.severity == "warning"] == codes, found


@pytest.mark.parametrize(
    ("options", "gravity"),
    [
        ('gravity="0 0 -1.62"', [0.0, 0.0, -1.62]),
        ('gravity="0 0 -1"><flag gravity="disable"/></option><option', [0.0, 0.0, 0.0]),
        ('timestep="0.01"', [0.0, 0.0, -9.81]),
        ('gravity=""', [0.0, 0.0, -9.81]),
    ],
)
def test_gravity_comes_from_the_file(write, options, gravity):
    m = rb.load(write(body("<geom size='1'/>", f"<option {options}/>")))
    assert m.opt.gravity.tolist() == gravity


def test_a_finding_names_each_unsupported_element_once(write):
    more = """<option timestep="0.01"/><sensor><touch site="s"/><touch site="t"/></sensor>
      <custom><numeric name="n"/></custom>"""
    text = body("<geom size='1' solref='1 1' shine='2'/><geom size='1' solref='1 1'/>", more)
    found = [str(x) for x in mjcf.read(write(text), contact=True).findings]
    for kind in ("'timestep' of <option> is", "<touch>", "<geom solref=>", "<geom shine=>"):
        assert sum(kind in line for line in found) == 1, found
    assert not any("numeric" in line for line in found)


def _hfield(tmp_path, kind, numbers):
    """Return the <hfield> of 3 rows and 4 columns, and write its file if the kind has one."""
    size = 'name="hill" size="2 1 0.5 0.1"'
    if kind == "elevation":
        rows = numbers[::-1]  # the text begins with the row of the largest y
        text = " ".join(f"{x:g}" for x in rows.ravel())
        return f'<hfield {size} nrow="3" ncol="4" elevation="{text}"/>'
    if kind == "flat":
        return f'<hfield {size} nrow="3" ncol="4"/>'
    if kind == "file":
        data = np.array([3, 4], "<i4").tobytes() + numbers.astype("<f4").tobytes()
        (tmp_path / "hill.bin").write_bytes(data)
        return f'<hfield {size} file="hill.bin"/>'
    image = pytest.importorskip("PIL.Image")
    image.fromarray(numbers[::-1].astype(np.uint8)).save(tmp_path / "hill.png")
    return f'<hfield {size} file="hill.png"/>'


@pytest.mark.parametrize("kind", ["elevation", "file", "picture", "flat"])
def test_height_fields_are_terrain_as_in_mujoco(write, tmp_path, kind):
    mujoco = pytest.importorskip("mujoco")
    numbers = np.array([[0, 10, 20, 30], [5, 70, 90, 10], [40, 200, 0, 60]], float)
    path = write(
        f"<mujoco><asset>{_hfield(tmp_path, kind, numbers)}</asset><worldbody>"
        '<geom name="ground" type="hfield" hfield="hill" pos="0.5 0 0.2"/>'
        '<body pos="0 0 5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    m, theirs = rb.load_urdf(path, contact=True), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    d = rb.make_data(m)
    rb.forward(m, d)
    x, y = np.meshgrid(np.linspace(-1.999, 1.999, 4) + 0.5, np.linspace(-0.999, 0.999, 3))
    points = np.stack([x.ravel(), y.ravel(), np.full(12, 3.0)], axis=1)
    down, geom = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    wanted = [mujoco.mj_ray(theirs, data, at, down, None, 1, -1, geom) for at in points]
    found = rb.cast_rays(m, d, points, np.tile(down, (12, 1)))
    np.testing.assert_allclose(found.distance, wanted, atol=2e-3)


def _prism(corners, seed):
    """Return the OBJ of a prism with warped faces: two caps of many corners, sides of four."""
    rng = np.random.default_rng(seed)
    angles = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    radii = np.where(np.arange(corners) % 2, 0.5, 1.0)  # the cap is a star, which is not convex
    ring = np.stack([radii * np.cos(angles), radii * np.sin(angles), 0.0 * angles], axis=1)
    points = np.concatenate([ring + np.array((0.3, 0.2, z)) for z in (-0.5, 0.5)])
    points += 0.03 * rng.normal(size=points.shape)
    first = np.arange(1, corners + 1)
    after = np.roll(first, -1)
    sides = np.stack([first, after, after + corners, first + corners], axis=1)
    faces = [first[::-1].tolist(), (first + corners).tolist(), *sides.tolist()]
    lines = [f"v {x} {y} {z}" for x, y, z in points.tolist()]
    lines += ["f " + " ".join(map(str, face)) for face in faces[:-1]]
    lines.append("f " + " ".join(f"{k - 2 * corners - 1}" for k in faces[-1]))
    return "\n".join(lines)


@pytest.mark.parametrize("corners", [4, 6, 10, 24])
@pytest.mark.parametrize("seed", [1, 2])
def test_polygons_have_the_triangles_of_mujoco(write, tmp_path, corners, seed):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "prism.obj").write_text(_prism(corners, seed))
    path = write(
        '<mujoco><asset><mesh name="p" file="prism.obj" inertia="exact"/></asset><worldbody>'
        '<body name="b"><freejoint/><geom type="mesh" mesh="p"/></body></worldbody></mujoco>'
    )
    m, theirs = rb.load_urdf(path), mujoco.MjModel.from_xml_path(str(path))
    np.testing.assert_allclose(m.body_mass[1], theirs.body_mass[1], rtol=1e-6)
    np.testing.assert_allclose(m.body_ipos[1], theirs.body_ipos[1], atol=1e-6)


@pytest.mark.parametrize(
    "options", ['gravity="0 0 -1"', '><flag gravity="disable"/></option><option']
)
def test_an_option_that_is_used_gets_no_note(write, options):
    found = mjcf.read(write(body("<geom size='1'/>", f"<option {options}/>"))).findings
    assert not any("<option>" in str(finding) for finding in found)


@pytest.mark.parametrize("worst", ["nan", "inf", "-1e308 1e308"])
@pytest.mark.filterwarnings("error")
def test_a_height_field_with_infinite_heights_is_refused(write, tmp_path, worst):
    numbers = [*map(float, worst.split()), *[0.0] * 12][:12]
    asset = f'elevation="{" ".join(map(str, numbers))}" nrow="3" ncol="4"'
    if "308" not in worst:
        data = np.array([3, 4], "<i4").tobytes() + np.array(numbers, "<f4").tobytes()
        (tmp_path / "hill.bin").write_bytes(data)
        asset = 'file="hill.bin"'
    path = write(
        f'<mujoco><asset><hfield name="hill" size="2 1 0.5 0.1" {asset}/></asset><worldbody>'
        '<geom type="hfield" hfield="hill"/></worldbody></mujoco>'
    )
    with refused(DescriptionError, "bad-height-field"):
        mjcf.read(path, contact=True)


def test_a_star_polygon_of_51_corners_is_cut_into_49_triangles(tmp_path):
    """The edges of the star cross, so that ear clipping alone does not finish."""
    angles = np.arange(51) * 2 * np.pi * 25 / 51
    lines = [f"v {x} {y} 1" for x, y in zip(np.cos(angles), np.sin(angles), strict=True)]
    face = " ".join(map(str, range(1, 52)))
    (tmp_path / "star.obj").write_text("\n".join([*lines, f"f {face}"]))
    (part,) = read_parts(tmp_path / "star.obj")
    assert len(part.faces) == 49


def test_many_large_polygons_are_left_as_they_are():
    angles = np.arange(300) * 2 * np.pi / 300
    lines = [f"v {x} {y} 1" for x, y in zip(np.cos(angles), np.sin(angles), strict=True)]
    face = "f " + " ".join(map(str, range(1, 301)))
    found = triangulated("\n".join([*lines, *[face] * 40]).encode())
    assert found.count(face.encode()) == 37

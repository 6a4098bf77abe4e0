# SPDX-License-Identifier: Apache-2.0
"""A robot that was written in another format is the same robot, or findings name what is lost."""

import numpy as np
import pytest
from support.mechanisms import crank_slider, delta, four_bar, rack, wedge
from support.refusals import refused
from support.robots import FAMILIES, SINGULAR, needs_robots, robot_id

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError

QUICK = ("a1", "baxter", "centauro", "panda", "ur5_robot")
SOUND = [path for path in FAMILIES if path.name not in SINGULAR]
each_robot = pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.nightly] * (robot_id(p) not in QUICK)) for p in SOUND],
    ids=list(map(robot_id, SOUND)),
)
SHAPES = rb.Contact(obstacles=())
#: Prefixes of fields that depend on which pairs of links can touch each other.
PAIRS = ("exclude_", "push_", "distance_", "face_", "geom_face")


def of_one_sign(name, other, value):
    """Return `other`; quaternions get the signs of `value`, because q and -q are one rotation."""
    if not name.endswith("quat"):
        return other
    return other * np.where((other * value).sum(-1, keepdims=True) < 0.0, -1.0, 1.0)


def same(ours, theirs, but=()):
    """Assert that two Models have equal arrays, except for names that begin with `but`."""
    for name, value in vars(ours).items():
        if not isinstance(value, np.ndarray) or name.startswith(but):
            continue
        other = of_one_sign(name, getattr(theirs, name), value)
        assert value.shape == other.shape, name
        if value.dtype.kind == "f":
            # the rounding of inertias turns principal axes, and articulated inertias amplify the
            # rounding of poses in the file
            bar = 1e-9 if name == "dof_inertia0" else 1e-11
            np.testing.assert_allclose(other, value, rtol=bar, atol=bar, err_msg=name)
        else:
            np.testing.assert_array_equal(other, value, err_msg=name)


def lost(findings):
    return {finding.message for finding in findings if finding.code == "left-out"}


@needs_robots
@each_robot
@pytest.mark.parametrize("suffix", [".urdf", ".yaml"])
def test_a_written_robot_is_read_as_the_same_model(path, suffix, tmp_path):
    written = tmp_path / f"robot{suffix}"
    left_out = lost(rb.convert(path, written, strict=False))
    # a mechanism file cannot have the <selfCollide> of PR2's fingers, which a finding says
    but = PAIRS if any(text.startswith("pair ") for text in left_out) else ()
    m = rb.load_urdf(path, strict=False, contact=SHAPES, srdf=suffix == ".urdf")
    same(m, rb.load(written, contact=SHAPES), but)


INWARDS = (
    rb.SystemBuilder("inwards")
    .body("one", rb.shapes.sphere(0.1, mass=1.0))
    .joint("A", "universal", "one", "base", xyz=(0, 0, 1), axis=(1, 0, 0), axis2=(0, 1, 0))
)
MECHANISMS = {
    "inwards": INWARDS,
    "four_bar": four_bar(0.3, 0.8, 0.6, 0.7),
    "crank_slider": crank_slider(),
    "delta": delta(),
    "wedge": wedge(),
    "rack": rack(),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_file_equals_its_builder(name, tmp_path):
    written = tmp_path / "robot.yaml"
    assert not lost(rb.convert(MECHANISMS[name], written))
    same(rb.build(MECHANISMS[name]), rb.load(written))


def test_values_that_a_format_cannot_express_are_reported(tmp_path):
    system = (
        rb.SystemBuilder("losses", base="ground")
        .body("one", rb.shapes.sphere(0.1, mass=1.0))
        .joint("A", "revolute", "ground", "one", armature=0.1, stiffness=3.0)
        .spring("pull", "ground", "one", stiffness=2.0)
        .geometry("ball", "one", rb.Sphere(0.1), surface=rb.Surface(0.3, rolling=0.01))
        .obstacle("floor", rb.Plane())
    )
    assert lost(rb.convert(system, tmp_path / "robot.urdf")) == {
        "joint 'A': its armature is left out: URDF cannot express it",
        "spring 'pull': it is left out: URDF cannot express it",
        "geometry 'ball': its rolling is left out: URDF cannot express it",
        "obstacle 'floor': it is left out: URDF cannot express it",
    }
    assert not lost(rb.convert(system, tmp_path / "robot.yaml"))
    same(rb.build(system), rb.load(tmp_path / "robot.yaml"))


@pytest.mark.parametrize(
    ("suffix", "kind", "properties", "named"),
    [
        (
            *("sdf", "spherical"),
            {"damping": 1.0, "friction": 2.0, "stiffness": 3.0, "limit": rb.Limit(0.0, 0.5)},
            ("damping", "friction", "stiffness", "limit of lower", "limit of upper"),
        ),
        (
            *("urdf", "planar"),
            {"stiffness": 3.0, "rest": (0.1, 0.2, 0.3), "limits": (rb.Limit(-1.0, 1.0),) * 3},
            ("rest position of its spring", "limit of lower", "limit of upper"),
        ),
    ],
)
def test_joints_of_several_coordinates_lose_nothing_without_a_finding(
    suffix, kind, properties, named, tmp_path
):
    system = rb.SystemBuilder("s").body("one", rb.shapes.sphere(0.1, mass=1.0))
    system.joint("A", kind, "base", "one", **properties)
    texts = lost(rb.convert(system, tmp_path / f"robot.{suffix}"))
    assert all(any(words in text for text in texts) for words in named), texts


def test_each_axis_of_a_universal_joint_keeps_the_rest_position_of_its_spring(tmp_path):
    system = rb.SystemBuilder("s").body("one", rb.shapes.sphere(0.1, mass=1.0))
    system.joint("A", "universal", "base", "one", axis=(1, 0, 0), axis2=(0, 1, 0),
                 stiffness=3.0, rest=(0.1, 0.2))  # fmt: skip
    rb.convert(system, tmp_path / "robot.sdf")
    m = rb.load(tmp_path / "robot.sdf")
    np.testing.assert_array_equal(m.qpos_spring, [0.1, 0.2])


def test_numbers_of_numpy_are_written_into_a_mechanism_file(tmp_path):
    one = np.float64(0.5)
    inertial = rb.Inertial(one, rb.Pose((one, one, one)), (one,) * 3 + (0.0,) * 3)
    system = rb.SystemBuilder("s").body("one", inertial)
    system.joint("A", "revolute", "base", "one", limit=rb.Limit(-one, one))
    rb.convert(system, tmp_path / "robot.yaml")
    same(rb.build(system), rb.load(tmp_path / "robot.yaml"))


@pytest.mark.parametrize(("suffix", "joint"), [("urdf", "teeth"), ("sdf", "teeth")])
def test_a_finding_names_a_loop_that_a_format_cannot_express(suffix, joint, tmp_path):
    if suffix == "sdf":
        with refused(ParameterError, "not-convertible", f"joint '{joint}'"):
            rb.convert(rack(), tmp_path / "robot.sdf")
        return
    assert any(joint in text for text in lost(rb.convert(rack(), tmp_path / "robot.urdf")))


def test_a_joint_that_a_format_cannot_express_is_refused(tmp_path):
    system = (
        rb.SystemBuilder("screw", base="ground")
        .body("nut", rb.shapes.sphere(0.1, mass=1.0))
        .joint("thread", "helical", "ground", "nut", pitch=0.01)
    )
    for suffix in ("urdf", "xml"):
        with refused(ParameterError, "not-convertible", "joint 'thread'"):
            rb.convert(system, tmp_path / f"robot.{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_refused_path_leaves_no_file_and_the_source_unchanged(tmp_path):
    path = tmp_path / "robot.yaml"
    rb.convert(four_bar(0.1, 0.25, 0.2, 0.3), path)
    before = path.read_bytes()
    with refused(ParameterError, "same-file", "path"):
        rb.convert(path, path)
    with refused(ParameterError, "unknown-suffix", "path"):
        rb.convert(path, tmp_path / "robot.json")
    with refused(ParameterError, "unwritable-file", "path"):
        rb.convert(path, tmp_path / "nowhere" / "robot.urdf")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["robot.yaml"]


#: Fields that an SDF keeps: not frames without a link, nor the pairs of an SRDF.
MOVING = (
    *("body_mass", "body_ipos", "body_pos", "body_quat", "body_parentid", "jnt_axis", "jnt_range"),
    *("dof_damping", "dof_frictionloss", "geom_pos", "geom_mat", "vert_pos"),
)


@needs_robots
@each_robot
def test_a_written_sdf_moves_like_the_robot(path, tmp_path):
    written = tmp_path / "robot.sdf"
    rb.convert(path, written, strict=False)
    m = rb.load_urdf(path, strict=False, contact=SHAPES, srdf=False)
    again = rb.load(written, contact=SHAPES)
    assert again.jnt_names == m.jnt_names
    moving = {name: getattr(m, name).copy() for name in MOVING}
    masses = moving["body_mass"][1:]
    np.maximum(masses, 1e-6, out=masses)  # in SDF every link has a mass
    for name, value in moving.items():
        np.testing.assert_allclose(
            np.clip(of_one_sign(name, getattr(again, name), value), -1e9, 1e9),
            np.clip(value, -1e9, 1e9),
            rtol=1e-11,
            atol=1e-11,
            err_msg=name,
        )
    assert again.body_mass.sum() == pytest.approx(moving["body_mass"].sum(), rel=1e-12)


def with_frames(base="world"):
    """Return a robot with a massless flange, a geometry of the base, and the given base link."""
    return (
        rb.SystemBuilder("framed", base=base)
        .body("arm", rb.shapes.sphere(0.1, mass=2.0))
        .body("flange")
        .body("tool", rb.shapes.sphere(0.05, mass=0.5))
        .joint("A", "revolute", base, "arm", axis=(0, 1, 0), xyz=(0, 0, 1))
        .joint("F", "fixed", "arm", "flange", xyz=(0.2, 0, 0), rpy=(0.1, 0.2, 0.3))
        .joint("B", "revolute", "flange", "tool", axis=(1, 0, 0), xyz=(0, 0.1, 0), damping=0.1)
        .geometry("skin", "flange", rb.Sphere(0.02), origin=rb.pose((0.01, 0, 0)))
        .geometry("table", base, rb.Box((1, 1, 0.1)))
    )


@pytest.mark.parametrize("base", ["world", "stand"])
@pytest.mark.parametrize("suffix", [".sdf", ".xml"])
def test_links_without_mass_stay_massless(base, suffix, tmp_path):
    rb.convert(with_frames(base), tmp_path / f"robot{suffix}")
    m, again = rb.build(with_frames(base)), rb.load(tmp_path / f"robot{suffix}", contact=True)
    np.testing.assert_allclose(again.body_mass[1:], m.body_mass[1:], rtol=1e-12)
    np.testing.assert_allclose(again.body_pos, m.body_pos, atol=1e-12)
    skin, was = (one.geom_pos[one.geom_bodyid > 0] for one in (again, m))
    np.testing.assert_allclose(skin, was, atol=1e-12)
    # this is the table
    assert any(np.allclose(half, (0.5, 0.5, 0.05)) for half in again.geom_size)


def test_files_of_other_programs_are_not_replaced(tmp_path):
    arm = with_frames("stand")
    hull = arm.geometry("hull", "arm", rb.Points(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))))
    written = tmp_path / "robot.urdf"
    rb.convert(hull, written)
    rb.convert(hull, written)  # files that exist and are equal are accepted
    before = written.read_bytes()
    for name in ("robot.srdf", "robot_meshes/hull_hull.obj"):
        other = tmp_path / name
        kept = other.read_bytes() if other.exists() else None
        other.write_text("of somebody else")
        with refused(ParameterError, "not-overwritten", "path"):
            rb.convert(hull, written)
        assert other.read_text() == "of somebody else"
        assert written.read_bytes() == before
        other.unlink() if kept is None else other.write_bytes(kept)


def test_servos_are_written_or_a_finding_names_them(tmp_path):
    arm = tmp_path / "arm.xml"
    arm.write_text(
        """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size="0.1"/>
        <body pos="0 0 1"><joint name="b" axis="0 1 0"/><geom size="0.1"/></body></body>
        </worldbody><tendon><fixed name="t"><joint joint="a" coef="2"/>
        <joint joint="b" coef="-1"/></fixed></tendon>
        <actuator><position name="p" joint="a" kp="100" kv="3" ctrlrange="-1 1"/>
        <motor name="m" tendon="t" gear="5" forcerange="-2 2"/></actuator></mujoco>"""
    )
    m = rb.load(arm)
    rb.convert(arm, tmp_path / "again.xml")
    again = rb.servos(m, tmp_path / "again.xml")
    d = rb.make_data(m)
    d.qpos, d.qvel = (0.3, -0.2), (0.5, 0.7)
    for control in ((0.4, 0.1), (3.0, 4.0)):
        np.testing.assert_allclose(
            again.efforts(d, control), rb.servos(m, arm).efforts(d, control), rtol=1e-12
        )
    assert "servo 'p': it is left out: URDF cannot express it" in lost(
        rb.convert(arm, tmp_path / "arm.urdf")
    )


def test_a_locked_joint_stays_locked_in_an_mjcf(tmp_path):
    system = (
        rb.SystemBuilder("locked", base="ground")
        .body("one", rb.shapes.sphere(0.1, mass=1.0))
        .joint("A", "revolute", "ground", "one", limit=rb.Limit(0.5, 0.5, 0.0))
    )
    findings = rb.convert(system, tmp_path / "robot.xml")
    assert "a range of 0 limits nothing in MuJoCo" in str(findings[0])
    m = rb.load(tmp_path / "robot.xml")
    np.testing.assert_allclose(m.jnt_range[0], 0.5, atol=2e-9)
    assert m.jnt_effort[0] <= 1e-9


def test_findings_name_parts_of_the_source_that_are_not_read(tmp_path):
    (tmp_path / "in.xml").write_text(
        '<mujoco><option density="1000"/><worldbody><body name="b" gravcomp="1"><joint name="j"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    for suffix in ("urdf", "sdf", "yaml"):
        text = " ".join(map(str, rb.convert(tmp_path / "in.xml", tmp_path / f"out.{suffix}")))
        assert "density" in text
        assert "gravcomp" in text


def test_gravity_and_sensors_of_a_file_are_kept_or_reported(tmp_path):
    (tmp_path / "in.xml").write_text(
        '<mujoco><option gravity="0 0 -1.5"/><worldbody><body name="b"><joint name="j"/>'
        '<geom size="0.1"/><site name="s"/></body></worldbody><sensor><gyro site="s"/></sensor>'
        "</mujoco>"
    )
    sensor = "sensor 's': it is left out: "
    for suffix in ("urdf", "sdf", "yaml"):
        found = lost(rb.convert(tmp_path / "in.xml", tmp_path / f"out.{suffix}"))
        assert any(text.startswith(sensor) for text in found), found
        assert any("its gravity 0 0 -1.5 m/s^2" in text for text in found), found
    assert any(
        x.startswith(sensor) for x in lost(rb.convert(tmp_path / "in.xml", tmp_path / "m.xml"))
    )
    assert rb.load(tmp_path / "m.xml").opt.gravity.tolist() == [0.0, 0.0, -1.5]


@pytest.mark.parametrize(
    ("surface", "words"),
    [
        (rb.Surface(friction=0.3), []),
        (rb.Surface(damping=3.0), ["its damping"]),
        (rb.Surface(stiffness=1e5, damping=3.0), ["its damping", "its stiffness"]),
    ],
)
def test_a_finding_names_a_surface_that_a_urdf_cannot_express(surface, words, tmp_path):
    system = (
        rb.SystemBuilder("touching", base="ground")
        .body("one", rb.shapes.sphere(0.1, mass=1.0))
        .joint("A", "revolute", "ground", "one")
        .geometry("ball", "one", rb.Sphere(0.1), surface=surface)
    )
    found = sorted(lost(rb.convert(system, tmp_path / "robot.urdf")))
    assert len(found) == len(words)
    assert all(any(word in text for text in found) for word in words)
    back = rb.load(tmp_path / "robot.urdf", contact=SHAPES)
    assert back.geom_friction[0] == surface.friction
    assert back.geom_stiffness[0] == 0.0

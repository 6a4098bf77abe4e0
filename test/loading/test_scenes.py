# SPDX-License-Identifier: Apache-2.0
"""A scene has robots, free objects and obstacles in one Model."""

from pathlib import Path

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.scenes.entities import floating_scene, with_entity, without_entity
from rbdyn_ros.description.source import read
from rbdyn_ros.loading.free_objects import placed_entity
from rbdyn_ros.loading.load import complete
from rbdyn_ros.ros.simulator.world.places import Places

GRIPPER = "config/scenes/gripper.urdf"
CUBE = rb.Box((0.1, 0.1, 0.1))
ARM = (
    rb.SystemBuilder("arm", base="stand")
    .body("stand", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    .body("beam", rb.shapes.box((0.4, 0.05, 0.05), mass=1.0, at=rb.pose((0.2, 0.0, 0.0))))
    .joint("hinge", "revolute", "stand", "beam", xyz=(0.0, 0.0, 0.5), axis=(0.0, 1.0, 0.0))
    .geometry("skin", "beam", rb.Box((0.4, 0.05, 0.05)), origin=rb.pose((0.2, 0.0, 0.0)))
)


def cube(name="cube", at=(0.0, 0.0, 0.05), **more):
    return rb.Object(name, CUBE, **{"mass": 1.0, "pose": rb.pose(at), **more})


def pose_of(m, d, name):
    at = m.jnt_qposadr[m.jnt_id(name)]
    return d.qpos[at : at + 7]


def test_an_object_is_where_it_was_put_with_its_mass():
    shapes = [rb.Sphere(0.1), (rb.Sphere(0.1), rb.pose((0.5, 0.0, 0.0)))]
    at = rb.pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    ball = 4.0 / 3.0 * np.pi * 1e-3
    m = rb.scene(
        ARM,
        objects=[
            rb.Object("bell", shapes, mass=2.0, pose=at, surface=rb.Surface(friction=0.3)),
            rb.Object("ball", rb.Sphere(0.1), density=500.0, pose=rb.pose((3.0, 0.0, 1.0))),
        ],
        name="two",
    )
    assert m.name == "two"
    assert m.jnt_names == ("hinge", "bell", "ball")
    assert m.body_mass[2:].tolist() == pytest.approx([2.0, 500.0 * ball])
    d = rb.make_data(m)
    np.testing.assert_allclose(pose_of(m, d, "bell"), [*at.pos, *at.quat])
    rb.kinematics(m, d)
    np.testing.assert_allclose(d.xpos[2], at.pos)
    np.testing.assert_allclose(m.body_ipos[2], (0.25, 0.0, 0.0), atol=1e-15)
    assert m.geom_names[1:] == ("bell_0", "bell_1", "ball", "floor")
    assert m.geom_friction[1:].tolist() == [0.3, 0.3, 0.8, np.inf]


def test_a_hull_has_the_inertia_of_its_body():
    corners = [(x, y, z) for x in (0.0, 0.2) for y in (0.0, 0.3) for z in (0.0, 0.4)]
    at = rb.pose((-0.1, -0.15, -0.2))
    hull, box = rb.shapes.hull(corners, mass=3.0, at=at), rb.shapes.box((0.2, 0.3, 0.4), mass=3.0)
    np.testing.assert_allclose(hull.origin.pos, box.origin.pos, atol=1e-15)
    np.testing.assert_allclose(hull.inertia, box.inertia, atol=1e-15)
    assert rb.shapes.hull(corners, density=10.0).mass == pytest.approx(0.24)
    with refused(rb.ParameterError, "no-volume"):
        rb.shapes.hull(corners[:4], mass=1.0)


def test_a_cube_falls_on_a_table_and_rests():
    table = rb.Obstacle("table", rb.Box((1.0, 1.0, 0.5)), rb.pose((0.0, 0.0, 0.25)))
    m = rb.scene(objects=[cube(at=(0.0, 0.0, 0.7))], obstacles=[table])
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert pose_of(m, d, "cube")[2] == pytest.approx(0.55, abs=1e-5)
    assert np.abs(d.qvel).max() < 1e-9
    assert set(rb.contact_forces(m, d)) == {("table", "cube")}


def test_a_cube_rests_on_a_free_table():
    table = rb.Object("table", rb.Box((0.5, 0.5, 0.1)), mass=5.0, pose=rb.pose((0.0, 0.0, 0.05)))
    m = rb.scene(objects=[table, cube(at=(0.1, 0.0, 0.2))])
    d = rb.make_data(m)
    rb.step(m, d, 1500)
    assert pose_of(m, d, "cube")[:3] == pytest.approx((0.1, 0.0, 0.15), abs=1e-5)
    assert np.abs(d.qvel).max() < 1e-9
    forces = rb.contact_forces(m, d)
    assert set(forces) == {("floor", "table"), ("table", "cube")}
    assert forces["floor", "table"][2] == pytest.approx(6.0 * 9.81, rel=1e-6)
    assert forces["table", "cube"][2] == pytest.approx(9.81, rel=1e-6)


def test_the_bundled_gripper_lifts_and_holds_the_cube():
    m = rb.load("config/scenes/gripper.yaml")
    d = rb.make_data(m)
    lift, *fingers = (int(m.jnt_dofadr[m.jnt_id(name)]) for name in ("lift", "left", "right"))

    def move(height, grip, steps):
        begin = d.qpos[lift]
        for k in range(steps):
            goal = begin + (height - begin) * min(1.0, 1.5 * k / steps)
            d.qfrc_applied[lift] = 2000.0 * (goal - d.qpos[lift]) - 80.0 * d.qvel[lift] + 12.0
            d.qfrc_applied[fingers] = grip - 5.0 * d.qvel[fingers]
            rb.step(m, d)

    move(-0.235, -2.0, 1000)
    move(-0.235, 6.0, 300)
    move(0.0, 6.0, 1000)
    move(0.0, 6.0, 300)
    in_hand = pose_of(m, d, "cube")[2] - d.qpos[lift]
    assert pose_of(m, d, "cube")[:3] == pytest.approx((0.0, 0.0, 0.555), abs=1e-3)
    move(0.0, 6.0, 1000)
    assert pose_of(m, d, "cube")[2] - d.qpos[lift] == pytest.approx(in_hand, abs=1e-9)
    assert d.nunsolved == 0
    assert ("left_finger", "cube") in rb.contact_forces(m, d)


def test_a_robot_in_a_scene_moves_like_the_robot_alone():
    """A robot at a pose in a scene moves as it does without the scene."""
    alone = rb.build(ARM)
    m = rb.scene(rb.Placed(ARM, rb.pose((1.0, 0.0, 0.0)), start={"hinge": 0.4}),
                 objects=[cube(at=(5.0, 0.0, 3.0))])  # fmt: skip
    d, one = rb.make_data(m), rb.make_data(alone)
    one.qpos[0] = 0.4
    rb.step(m, d, 100)
    rb.step(alone, one, 100)
    assert d.qpos[0] == pytest.approx(one.qpos[0], abs=1e-12)
    frame = m.frame_id("stand")
    np.testing.assert_allclose(m.frame_pos[frame], (1.0, 0.0, 0.0))


def test_a_scene_may_have_several_robots_and_files():
    m = rb.scene(
        {
            "left": rb.Placed(GRIPPER, rb.pose((0.0, 1.0, 1.0))),
            "right": rb.Placed(ARM, rb.pose((0.0, -1.0, 2.0)), floating_base=True),
        },
        objects=[
            rb.Object(
                "lost", GRIPPER, pose=rb.pose((3.0, 0.0, 1.0)), surface=rb.Surface(friction=0.1)
            )
        ],
        floor=False,
    )
    assert m.jnt_names[:3] == ("left/lift", "left/left", "left/right")
    assert "right/root_joint" in m.jnt_names
    assert "lost/lift" in m.jnt_names
    assert m.nobstacle == 0
    assert {"left/mount", "right/stand", "lost", "lost/hand"} <= set(m.frame_names)
    acts = {m.jnt_names[j] for j in np.flatnonzero(m.jnt_actuated)}
    assert acts == {"left/lift", "left/left", "left/right", "right/hinge"}


def test_an_object_in_an_obstacle_is_raised():
    table = rb.Obstacle("table", rb.Box((1.0, 1.0, 0.5)), rb.pose((0.0, 0.0, 0.25)))
    m = rb.scene(ARM, objects=[cube(at=(2.0, 0.0, 0.0)), cube("other", (0.0, 0.3, 0.52))],
                 obstacles=[table])  # fmt: skip
    d = rb.make_data(m)
    assert pose_of(m, d, "cube")[2] == pytest.approx(0.05, abs=1e-8)
    assert pose_of(m, d, "other")[2] == pytest.approx(0.55, abs=1e-8)
    assert [f.code for f in m.findings if f.element.startswith("object")] == ["raised"] * 2


@pytest.mark.parametrize(
    "shape", ["box: {size: [1, 1, 1]}", "height_field: {file: hill.csv, size: [1, 1]}"]
)
def test_an_obstacle_is_not_moved_into_a_robot(shape, tmp_path):
    (tmp_path / "hill.csv").write_text("0.5, 0.5\n0.5, 0.5\n")
    scene = tmp_path / "scene.yaml"
    robot = f"{{file: {Path(GRIPPER).absolute()}, xyz: [0, 0, 3]}}"
    for height in (2.0, 2.5):
        place = f"{{{shape}, xyz: [0, 0, {height}]}}"
        scene.write_text(f"rbdyn_scene: 1\nrobot: {robot}\nobstacles:\n  hill: {place}\n")
        given = read(scene)
        m = complete(given)
        if height == 2.0:
            assert placed_entity(m, given, "hill", m.qpos0) == 0.0
        else:
            with refused(rb.DescriptionError, "object-overlaps"):
                placed_entity(m, given, "hill", m.qpos0)


SCENES = {
    "object in object": (ARM, [cube(), cube("other", (0.05, 0.0, 0.05))], "object-overlaps"),
    "object in robot": (ARM, [cube(at=(0.2, 0.0, 0.5))], "object-overlaps"),
    "name twice": (ARM, [cube(at=(5.0, 0.0, 1.0)), cube(at=(8.0, 0.0, 1.0))], "duplicate-name"),
    "name of a link": (ARM, [cube("beam", (5.0, 0.0, 1.0))], "duplicate-name"),
    "no mass": (None, [cube(mass=0.0)], "bad-argument"),
    "neither mass nor density": (None, [cube(mass=None)], "density-or-mass"),
    "both": (None, [cube(density=1.0)], "density-or-mass"),
    "mass of a file": (None, [rb.Object("x", GRIPPER, mass=1.0)], "bad-argument"),
    "quaternion": (None, [cube(pose=rb.Pose((0.0, 0.0, 1.0), (1.0, 1.0, 0.0, 0.0)))],
                   "bad-quaternion"),
    "NaN": (None, [cube(pose=rb.Pose((0.0, 0.0, np.nan)))], "not-finite"),
    "friction": (None, [cube(surface=rb.Surface(friction=-0.1))], "negative-friction"),
    "restitution": (None, [cube(surface=rb.Surface(restitution=1.1))], "large-restitution"),
    "flat hull": (None, [rb.Object("x", rb.Points(((0, 0, 0), (1, 0, 0), (0, 1, 0))), mass=1.0)],
                  "no-volume"),
    "no shape": (None, [rb.Object("x", 7, mass=1.0)], "bad-argument"),
    "scale": (None, [rb.Object("x", "x.stl", mass=1.0, scale=(1.0, np.nan, 1.0))], "bad-argument"),
    "no mesh": (None, [rb.Object("x", "missing.stl", mass=1.0)], "mesh-missing"),
    "no file": (None, [rb.Object("x", "missing.urdf")], "no-such-file"),
    "start": (rb.Placed(ARM, start={"hingge": 1.0}), [], "unknown-joint"),
    "start of words": (rb.Placed(ARM, start={"hinge": "up"}), [], "not-finite"),
    "robot": (rb.Placed("missing.urdf"), [], "no-such-file"),
    "surface of nothing": (rb.Placed(ARM, contact=Contact((), surfaces={"nose": rb.Surface()})),
                           [], "unknown-geometry"),
}  # fmt: skip


@pytest.mark.parametrize("case", SCENES)
def test_bad_scenes_are_refused(case):
    robot, objects, code = SCENES[case]
    with pytest.raises(rb.DescriptionError) as error:
        rb.scene(robot, objects=objects)
    assert code in [finding.code for finding in error.value.findings]
    assert len(error.value.findings) <= 3


@pytest.mark.parametrize(
    "wrong",
    [{"objects": ["cube"]}, {"objects": CUBE}, {"obstacles": [CUBE]}, {"name": ""},
     {"robot": {"": ARM}}, {"floor": 0.0}],
)  # fmt: skip
def test_arguments_of_a_wrong_type_are_refused(wrong):
    with refused(rb.ParameterError, "bad-argument"):
        rb.scene(**wrong)


@pytest.mark.parametrize(
    ("part", "element"),
    [
        (cube(7), "object number 1"),
        (cube(surface="rubber"), "object 'cube'"),
        (cube(filter=3), "object 'cube'"),
        (cube(decompose=1), "object 'cube'"),
        (rb.Obstacle("post", "post.stl"), "obstacle 'post'"),
        (rb.Placed(ARM, floating_base="no"), "the robot"),
        (rb.Placed(ARM, contact=True), "the robot"),
        (rb.Placed(ARM, box=5), "the robot"),
        (rb.Placed(ARM, base=None), "the robot"),
    ],
)
def test_objects_with_fields_of_a_wrong_type_are_refused(part, element):
    keys = {rb.Object: "objects", rb.Obstacle: "obstacles"}
    given = {"robot": part} if isinstance(part, rb.Placed) else {keys[type(part)]: [part]}
    with refused(rb.ParameterError, "wrong-kind", element):
        rb.scene(**given)


def test_a_start_outside_the_limits_or_of_other_joints_is_refused():
    swing = (
        rb.SystemBuilder("swing")
        .body("a", rb.shapes.sphere(0.1, mass=1.0))
        .body("b", rb.shapes.sphere(0.1, mass=1.0))
    )
    good = swing.joint("j", "revolute", "base", "a", limit=(-1.0, 1.0), start=0.5)
    good.joint("free", "floating", "base", "b", start=rb.pose((1.0, 0.0, 0.0)))
    assert rb.build(good).qpos0.tolist() == [0.5, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    for joint, start in (("revolute", 2.0), ("revolute", (0.1, 0.2)), ("spherical", 0.1),
                         ("floating", (1.0, 2.0))):  # fmt: skip
        bad = rb.SystemBuilder("bad").body("a", rb.shapes.sphere(0.1, mass=1.0))
        limits = {"limit": (-1.0, 1.0)} if joint == "revolute" else {}
        bad.joint("j", joint, "base", "a", start=start, **limits)
        with refused(rb.DescriptionError, "bad-start", "joint 'j'"):
            rb.build(bad)


PAIR = """rbdyn_mechanism: 1
base: stand
links:
  stand: {box: {size: [0.1, 0.1, 0.1], mass: 1}}
  left: {box: {size: [0.1, 0.1, 0.1], mass: 1}}
  right: {box: {size: [0.1, 0.1, 0.1], mass: 1}}
joints:
  turn: {type: revolute, parent: stand, child: left, axis: [0, 0, 1], xyz: [0, 0.2, 0]}
  back: {type: revolute, parent: stand, child: right, axis: [0, 0, 1], xyz: [0, -0.2, 0]}
constraints:
  teeth: {gear: {terms: [{joint: turn, factor: 1}, {joint: back, factor: 1}]}}
geometries:
  shape: {link: left, box: {size: [0.1, 0.1, 0.1]}}
"""


def test_names_of_objects_may_begin_with_the_name_of_another_object(tmp_path):
    file = tmp_path / "pair.yaml"
    file.write_text(PAIR)
    scene = read("config/scenes/gripper.urdf", contact=Contact())
    scene = floating_scene(scene)
    for name, x in (("shelf", 1.0), ("shelf/pair", 2.0)):
        scene = with_entity(scene, rb.Object(name, str(file), pose=rb.pose((x, 0.0, 0.5))))
    m = complete(scene)
    places, names = Places(m, m.qpos0, 0.0), scene.objects
    for name, x in (("shelf", 1.0), ("shelf/pair", 2.0)):
        (part,) = places.placed(scene, name, names)
        assert part.pose.pos == pytest.approx((x, 0.2, 0.5))
    left = without_entity(scene, "shelf")
    assert left.objects == ("shelf/pair",)
    assert [gear.name for gear in left.constraints] == ["shelf/pair/teeth"]
    assert complete(left).njnt == 7

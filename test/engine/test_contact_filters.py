# SPDX-License-Identifier: Apache-2.0
"""contype, conaffinity, exclusions and overlaps at the start decide what can touch."""

import itertools

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.scenes.entities import Weld, with_entity, with_welds, without_entity
from rbdyn_ros.description.source import read
from rbdyn_ros.loading.load import complete

BALL = rb.Sphere(0.1)
MASKS = [(0, 0), (1, 1), (2, 1), (1, 2), (4, 0), (0, 4)]


def test_an_attached_object_touches_all_bodies_but_its_carrier():
    """Only contacts with the body to which the object is welded are left out."""
    described = read("config/scenes/gripper.yaml")
    m = complete(described)

    def pairs(weld):
        new = complete(with_welds(described, [weld]), before=m)
        return {frozenset(new.geom_names[g] for g in pair) for pair in new.push_geom.tolist()}

    every = {frozenset(m.geom_names[g] for g in pair) for pair in m.push_geom.tolist()}
    assert pairs(Weld("cube", "world", Pose((0, 0, 0.5)), (("cube",), ("table",)))) == every
    carried = pairs(Weld("cube", "hand", Pose((0, 0, -0.3)), (("cube",), ("hand",))))
    assert carried == every - {frozenset({"cube", "hand"})}


def ball(name, at, **more):
    return rb.Object(name, BALL, mass=1.0, pose=rb.pose(at), **more)


def touching(m, steps=400):
    """Simulate, and return the names of all pairs of geometries that touched."""
    d, pairs = rb.make_data(m), set()
    for _ in range(steps):
        rb.step(m, d)
        pairs |= {(one.geom1, one.geom2) for one in rb.contacts(m, d)}
    return pairs


def follows_the_rule(one, two):
    """Return whether masks (contype, conaffinity) of two geometries match by MuJoCo's rule."""
    return bool(one[0] & two[1]) or bool(two[0] & one[1])


@pytest.mark.parametrize(("one", "two"), [*itertools.combinations_with_replacement(MASKS, 2)])
def test_two_bodies_can_touch_if_their_filters_match(one, two):
    m = rb.scene(
        objects=[
            ball("one", (0.0, 0.0, 1.0), filter=rb.Filter(*one)),
            ball("two", (0.0, 0.0, 1.3), filter=rb.Filter(*two)),
        ],
        floor=False,
    )
    assert (m.npush, m.ndistance) == ((1, 1) if follows_the_rule(one, two) else (0, 0))


@pytest.mark.parametrize(("one", "two"), [*itertools.product(MASKS, MASKS)])
def test_a_body_touches_an_obstacle_if_their_filters_match(one, two):
    floor = rb.Obstacle("floor", rb.Plane(), filter=rb.Filter(*two))
    m = rb.scene(
        objects=[ball("ball", (0.0, 0.0, 0.11), filter=rb.Filter(*one))], obstacles=[floor]
    )
    matches = follows_the_rule(one, two)
    assert m.geom_touches.tolist() == [[int(matches)]]
    d = rb.make_data(m)
    rb.step(m, d, 500)
    assert (d.qpos[2] > 0.099) == matches


def test_excluded_objects_and_obstacles_pass_through_each_other():
    table = rb.Obstacle("table", rb.Box((1.0, 1.0, 0.1)), rb.pose((0.0, 0.0, 1.0)))
    objects = [ball("one", (0.0, 0.0, 1.2)), ball("two", (0.0, 0.0, 1.5))]
    pairs = {("table", "one"), ("one", "two")}
    assert touching(rb.scene(objects=objects, obstacles=[table], floor=False)) == pairs
    for pair in pairs:
        m = rb.scene(objects=objects, obstacles=[table], floor=False, exclude=[pair])
        assert pair not in touching(m)
        m = rb.scene(objects=objects, obstacles=[table], floor=False, exclude=[pair[::-1]])
        assert pair not in touching(m)
    with refused(rb.DescriptionError, "unknown-geometry"):
        rb.scene(objects=objects, exclude=[("one", "tabel")])
    with refused(rb.ParameterError, "wrong-kind"):
        rb.scene(objects=objects, exclude=[("one",)])


def falling(**contact):
    system = rb.SystemBuilder("two", base="world")
    for name in ("low", "high"):
        system.body(name, rb.shapes.sphere(0.1, mass=1.0))
        system.joint(f"to {name}", "floating", "world", name).geometry(f"{name} ball", name, BALL)
    return rb.build(system.floor(), contact=rb.Contact(**contact))


def test_filters_may_name_a_link_a_geometry_or_an_obstacle():
    for name in ("low", "low ball"):
        m = falling(filters={name: rb.Filter(conaffinity=0, contype=2)})
        assert m.geom_contype.tolist() == [2, 1, 1]
        assert m.npush == 0
        assert m.geom_touches.tolist() == [[0], [1]]
    m = falling(filters={"floor": rb.Filter(0, 0)})
    assert m.npush == 1
    assert not m.geom_touches.any()
    m = falling(exclude=(("low", "floor"),))
    assert m.geom_touches.tolist() == [[0], [1]]
    with refused(rb.DescriptionError, "unknown-geometry"):
        falling(filters={"lwo": rb.Filter()})
    for masks in (rb.Filter(-1), rb.Filter(1, 1 << 31), rb.Filter(True)):
        with refused(rb.ParameterError, "bad-filter"):
            falling(filters={"low": masks})


def test_filters_are_saved_and_change_the_hash(tmp_path):
    m = falling(filters={"low": rb.Filter(2, 2)})
    rb.save(m, tmp_path / "two.npz")
    same = rb.load(tmp_path / "two.npz")
    np.testing.assert_array_equal(same.geom_touches, m.geom_touches)
    assert same.sha256() == m.sha256() != falling().sha256()


def test_a_note_names_bodies_that_overlap_at_the_start():
    m = falling()
    found = [finding for finding in m.findings if finding.code == "bodies-overlap"]
    assert len(found) == 1
    assert "low ball and high ball (200 mm)" in found[0].message
    assert found[0].severity == "warning"
    apart = falling(exclude=(("low", "high"),))
    assert "bodies-overlap" not in {finding.code for finding in apart.findings}


POST, BEAM = rb.Box((0.1, 0.1, 0.2)), rb.Box((0.4, 0.05, 0.05))
#: A crane whose beam turns about a post, which the beam overlaps.
CRANE = (
    rb.SystemBuilder("crane", base="post")
    .body("post", rb.shapes.box(POST.size, mass=1.0))
    .body("beam", rb.shapes.box(BEAM.size, mass=1.0, at=rb.pose((0.2, 0.0, 0.0))))
    .joint("turn", "continuous", "post", "beam", axis=(0.0, 0.0, 1.0))
    .geometry("post", "post", POST)
    .geometry("beam", "beam", BEAM, origin=rb.pose((0.2, 0.0, 0.0)))
)


@pytest.mark.parametrize("self_collision", [True, False])
def test_a_robot_touches_fixed_links_of_another_robot_but_not_its_own(self_collision, tmp_path):
    """Parent and child links do not touch, but a fixed post of another robot is no parent."""
    contact = rb.Contact(obstacles=(), self_collision=self_collision)
    places = {"left": (0.0, 0.0, 0.0), "right": (0.3, 0.3, 0.0)}
    cranes = {name: rb.Placed(CRANE, rb.pose(at), contact=contact) for name, at in places.items()}
    m = rb.scene(cranes, floor=False)
    rb.save(m, tmp_path / "cranes.npz")
    m = rb.load(tmp_path / "cranes.npz")
    assert m.geom_robotid.tolist() == [0, 1, 0, 1]
    distance_pairs = {(m.geom_names[g], m.geom_names[h]) for g, h in m.distance_geom.tolist()}
    across = {("left/beam", "right/post"), ("right/beam", "left/post")}
    assert distance_pairs == across | {("left/beam", "right/beam")}
    d = rb.make_data(m)
    d.qvel[0] = 1.0
    seen = set()
    for _ in range(1000):
        rb.step(m, d)
        seen |= {(one.geom1, one.geom2) for one in rb.contacts(m, d)}
    assert seen == {("right/post", "left/beam")}
    assert 0.3 < d.qpos[0] < 0.7


def test_spawned_and_deleted_robots_keep_their_own_fixed_links(tmp_path):
    """The first robot was loaded without a scene, so it has no robot number."""
    file = tmp_path / "crane.urdf"
    file.write_text(
        """<robot name="crane"><link name="world"/><link name="post"><collision><geometry>
        <box size="0.1 0.1 0.2"/></geometry></collision></link><link name="beam"><inertial>
        <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><box size="0.4 0.05 0.05"/></geometry></collision></link>
        <joint name="foot" type="fixed"><parent link="world"/><child link="post"/></joint>
        <joint name="turn" type="continuous"><parent link="post"/><child link="beam"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    )

    def pairs(scene):
        made = complete(scene)
        names = made.geom_names
        return {frozenset((names[g], names[h])) for g, h in made.distance_geom.tolist()}

    alone = read(file, contact=rb.Contact(obstacles=()))
    assert pairs(alone) == set()
    two = with_entity(alone, rb.Object("two", str(file), pose=rb.pose((2.0, 0, 0))), acts=True)
    kept = {frozenset(pair) for pair in (("two/post", "beam"), ("two/beam", "post"))}
    assert pairs(two) == kept | {frozenset({"two/beam", "beam"})}
    three = with_entity(two, rb.Object("three", str(file), pose=rb.pose((4.0, 0, 0))), acts=True)
    left = without_entity(three, "two")
    assert left.robots == ("three",)
    assert len(pairs(left)) == 3

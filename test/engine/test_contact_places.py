# SPDX-License-Identifier: Apache-2.0
"""Geometries have the right contact points with planes, boxes and spheres from all sides."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
from support import touching
from support.touching import BALL, CAPSULE, CUBE, CYLINDER, SHAPES

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.points.contact_list import LEVEL_SLOPE
from rbdyn_ros.model.declared.model_fields import PRIMARY

# pose of the obstacles, so that their frames differ from the world's
AWAY = (0.4, -0.3, 0.2)
TURN = Rotation.from_euler("xyz", [0.3, -0.5, 0.7])
OBSTACLES = {
    "plane": rb.Plane(),
    "ball": rb.Sphere(0.15),
    "block": rb.Box((0.3, 0.4, 0.2)),
}
EPS = 1e-14  # rounding error of sums of coordinates below 1

each_shape = pytest.mark.parametrize("shape", SHAPES)
each_obstacle = pytest.mark.parametrize("obstacle", OBSTACLES)


def scene(shape, obstacle):
    """Return a Model of a free body with a shape, and an obstacle at AWAY, rotated by TURN."""
    at = rb.Pose(AWAY, tuple(touching.wxyz(TURN)))
    system = touching.free(shape, floor=False, surface=rb.Surface(stiffness=1000.0))
    return rb.build(system.obstacle("it", obstacle, origin=at))


def meet(m, pos, turn=None):
    """Return the contacts (pos, normal, dist) of the body at a pose, in the obstacle's frame."""
    d = touching.placed(m, AWAY + TURN.apply(pos), TURN * (turn or Rotation.identity()))
    rb.forward(m, d)
    back = TURN.inv()
    return [
        (back.apply(x - np.array(AWAY)), back.apply(normal), dist)
        for _, _, x, normal, dist, _ in touching.contacts(d)
    ]


def compare_contacts(found, *expected):
    """Assert that two lists of contacts (pos, normal, dist) agree, in any order."""
    assert len(found) == len(expected)
    assert in_order(found) == pytest.approx(in_order(expected), abs=1e-12)


def in_order(found):
    rows = np.array([[*x, *normal, dist] for x, normal, dist in found], float)
    return rows[np.lexsort(rows[:, :3].round(9).T)]


def test_a_ball_on_a_plane_has_one_contact():
    compare_contacts(
        meet(scene(BALL, rb.Plane()), (0.2, 0.3, 0.09)), ((0.2, 0.3, -0.01), (0, 0, 1), -0.01)
    )


def test_a_ball_entirely_below_a_plane_is_pushed_up():
    compare_contacts(meet(scene(BALL, rb.Plane()), (0, 0, -0.5)), ((0, 0, -0.6), (0, 0, 1), -0.6))


def test_a_capsule_touches_a_plane_with_its_ends():
    m = scene(CAPSULE, rb.Plane())
    lying = Rotation.from_euler("y", np.pi / 2)
    compare_contacts(
        meet(m, (0, 0, 0.04), lying),
        ((-0.1, 0, -0.01), (0, 0, 1), -0.01),
        ((0.1, 0, -0.01), (0, 0, 1), -0.01),
    )
    compare_contacts(meet(m, (0, 0, 0.14)), ((0, 0, -0.01), (0, 0, 1), -0.01))


def test_a_box_touches_a_plane_with_its_corners():
    m = scene(CUBE, rb.Plane())
    corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    compare_contacts(
        meet(m, (0, 0, 0.09)), *(((x, y, -0.01), (0, 0, 1), -0.01) for x, y in corners)
    )
    edge = 0.1 * np.sqrt(2.0)
    deep = edge - 0.12
    compare_contacts(
        meet(m, (0, 0, 0.12), Rotation.from_euler("x", np.pi / 4)),
        ((-0.1, 0, -deep), (0, 0, 1), -deep),
        ((0.1, 0, -deep), (0, 0, 1), -deep),
    )


def test_corners_of_a_hull_touch_a_plane_if_they_are_below_it():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (40, 3))
    m = scene(rb.Points(tuple(points)), rb.Plane())
    turn = Rotation.random(random_state=1)
    placed = turn.apply(points) + np.array([0.0, 0.0, 0.7])
    below = placed[placed[:, 2] < 0.0]
    assert 2 < len(below) <= m.ncontact
    compare_contacts(meet(m, (0, 0, 0.7), turn), *((x, (0, 0, 1), x[2]) for x in below))


@pytest.mark.parametrize("tilt", [0.0, 0.3, np.pi / 2 - 0.1])
def test_a_cylinder_touches_a_plane_with_the_lowest_point_of_a_rim(tilt):
    """The rim is a circle, not a polygon, so the point is exact for any roll."""
    m = scene(CYLINDER, rb.Plane())
    for roll in (0.0, 0.1, 2.0):
        turn = Rotation.from_euler("zyz", [roll, tilt, -0.4])
        lowest = 0.1 * np.sin(tilt) + 0.1 * np.cos(tilt)
        found = meet(m, (0, 0, lowest - 0.001), turn)
        assert min(dist for _, _, dist in found) == pytest.approx(-0.001, abs=1e-15)
        if tilt == 0.3:  # other points of the cylinder are 3 cm higher
            assert len(found) == 1


@pytest.mark.parametrize("side", range(6))
@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder", "capsule"])
def test_a_block_pushes_shapes_out_on_all_sides(shape, side):
    """The shape's axis passes through the middle of a face."""
    block = OBSTACLES["block"]
    # the radius keeps the rim inside the face, away from other faces
    m = scene(rb.Cylinder(0.08, 0.2) if shape == "cylinder" else SHAPES[shape], block)
    axis, sign = side // 2, 1.0 - 2.0 * (side % 2)
    normal = np.zeros(3)
    normal[axis] = sign
    half = {"sphere": 0.1, "box": 0.11, "cylinder": 0.1, "capsule": 0.15}[shape]
    pos = normal * (block.size[axis] / 2 + half - 0.002)
    upright, _ = Rotation.align_vectors([normal], [[0.0, 0.0, 1.0]])
    found = meet(m, pos, upright)
    assert len(found) >= (1 if shape in ("sphere", "capsule") else 4)
    for _, n, dist in found:
        assert n == pytest.approx(normal, abs=1e-12)
        assert dist == pytest.approx(-0.002, abs=1e-14)
    if len(found) < 8:  # a cylinder may lack some of its 8 points
        centre = np.mean([x for x, _, _ in found], axis=0)
        assert np.delete(centre, axis) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_ball_touches_an_edge_and_a_corner_of_a_block():
    """The normal points from the nearest point of the block to the ball's centre."""
    block = np.array([0.15, 0.2, 0.1])
    m = scene(BALL, OBSTACLES["block"])
    for away in np.array([(0.6, 0.8, 0.0), (0.0, -0.6, 0.8), (2 / 3, 1 / 3, -2 / 3)]):
        edge = np.sign(away) * block
        found = meet(m, edge + 0.09 * away)
        compare_contacts(found, (edge - 0.01 * away, away, -0.01))


def test_a_capsule_across_an_edge_of_a_block_has_one_contact():
    """The middle of the capsule's axis is nearest to the edge; both ends are in the air."""
    m = scene(CAPSULE, OBSTACLES["block"])
    away = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    edge = np.array([0.15, 0.05, 0.1])
    slide = np.array([0.02, 0.0, -0.02])  # vector from the nearest point to the capsule's middle
    turn, _ = Rotation.align_vectors([[1.0, 0.0, -1.0]], [[0.0, 0.0, 1.0]])
    found = meet(m, edge + slide + 0.049 * away, turn)
    # the search tilts the axis by LEVEL_SLOPE, so positions have errors of this order, and depths
    # have errors of its square
    assert len(found) == 1
    assert found[0][0] == pytest.approx(edge - 0.001 * away, abs=0.05 * LEVEL_SLOPE)
    assert found[0][1] == pytest.approx(away, abs=LEVEL_SLOPE)
    assert found[0][2] == pytest.approx(-0.001, abs=0.05 * LEVEL_SLOPE**2)


def test_the_depth_of_a_capsule_at_an_edge_follows_from_the_distance_of_its_axis():
    m = scene(CAPSULE, OBSTACLES["block"])
    rng = np.random.default_rng(4)
    middles = 0
    for _ in range(100):
        turn = Rotation.random(random_state=rng)
        pos = np.array([0.15, 0.0, 0.1]) + rng.uniform(-0.02, 0.05, 3)
        ends = pos + turn.apply([[0.0, 0.0, -0.1], [0.0, 0.0, 0.1]])

        def from_block(s, ends=ends):
            beyond = abs(ends[0] + s * (ends[1] - ends[0])) - [0.15, 0.2, 0.1]
            return np.linalg.norm(np.maximum(beyond, 0.0)) + min(0.0, beyond.max())

        best = minimize_scalar(from_block, bounds=(0.0, 1.0), options={"xatol": 1e-10})
        nearest = min(best.fun, from_block(0.0), from_block(1.0))
        found = meet(m, pos, turn)
        if nearest > 0.05 or nearest < 0.0:
            assert bool(found) == (nearest < 0.05)
            continue
        middles += 0.02 < best.x < 0.98
        # the search leaves out 1 % of the axis, 2 mm, so the error is less than 2 mm
        assert min(dist for _, _, dist in found) == pytest.approx(nearest - 0.05, abs=2e-3)
        if 0.02 < best.x < 0.98:
            depth = min(dist for _, _, dist in found)
            assert depth == pytest.approx(nearest - 0.05, abs=LEVEL_SLOPE * 0.2)
    assert middles > 20


def test_corners_of_a_block_touch_a_face_of_a_larger_box():
    """None of the larger box's own corners touches."""
    m = scene(rb.Box((2.0, 2.0, 0.2)), OBSTACLES["block"])
    compare_contacts(
        meet(m, (0.1, 0.0, 0.198)),
        *(((x, y, 0.098), (0, 0, 1), -0.002) for x in (-0.15, 0.15) for y in (-0.2, 0.2)),
    )


def test_a_ball_under_a_box_has_one_contact():
    """A spherical obstacle touches a face, an edge and a corner of the box above it."""
    m = scene(rb.Box((1.0, 1.0, 0.2)), OBSTACLES["ball"])
    compare_contacts(meet(m, (0.3, 0.2, 0.248)), ((0, 0, 0.148), (0, 0, 1), -0.002))
    away = np.array([-0.8, 0.0, 0.6])
    edge = 0.149 * away
    compare_contacts(meet(m, np.add(edge, (-0.5, 0.1, 0.1))), (edge, away, -0.001))
    away = np.array([-2 / 3, 1 / 3, 2 / 3])
    corner = 0.149 * away
    compare_contacts(meet(m, np.add(corner, (-0.5, 0.5, 0.1))), (corner, away, -0.001))


def test_a_ball_touches_a_cylinder_and_a_capsule():
    m = scene(CYLINDER, OBSTACLES["ball"])
    compare_contacts(meet(m, (0.249, 0, 0.05)), ((0.149, 0, 0), (1, 0, 0), -0.001))
    compare_contacts(meet(m, (0.02, 0.03, 0.249)), ((0, 0, 0.149), (0, 0, 1), -0.001))
    m = scene(CAPSULE, OBSTACLES["ball"])
    compare_contacts(meet(m, (0.199, 0, 0.07)), ((0.149, 0, 0), (1, 0, 0), -0.001))
    away = np.array([0.0, 0.6, 0.8])
    compare_contacts(meet(m, 0.199 * away + [0, 0, 0.1]), (0.149 * away, away, -0.001))


def test_two_balls_have_one_contact():
    m = scene(BALL, OBSTACLES["ball"])
    away = np.array([0.36, 0.48, -0.8])
    compare_contacts(meet(m, 0.249 * away), (0.149 * away, away, -0.001))


def poses(number, reach, seed):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield rng.uniform(-reach, reach, 3), Rotation.random(random_state=rng)


@each_obstacle
@each_shape
def test_contacts_do_not_depend_on_the_bounding_radius(shape, obstacle):
    m = scene(SHAPES[shape], OBSTACLES[obstacle])
    arrays = {name: getattr(m, name) for name in PRIMARY}
    everywhere = rb.Model(m.name, arrays | {"geom_rbound": np.full(m.ngeom, 1e6)}, m.names)
    touched, spared = 0, 0
    for pos, turn in poses(200, 0.5, 7):
        found, expected = meet(m, pos, turn), meet(everywhere, pos, turn)
        assert bool(found) == bool(expected)
        if m.npush == 0:  # else this radius also decides which faces are parallel
            assert len(found) == len(expected)
        touched += bool(found)
        spared += not found
    assert touched > 10
    assert spared > 10
    assert not meet(m, (0.0, 0.0, 5.0))


@each_obstacle
@each_shape
def test_moving_along_the_normal_reduces_the_depth_by_the_same_distance(shape, obstacle):
    m = scene(SHAPES[shape], OBSTACLES[obstacle])
    deepest = 0.02 if obstacle == "block" else 0.05  # so that no other face is nearer
    seen = 0
    for pos, turn in poses(300, 0.3, 11):
        for _, normal, dist in meet(m, pos, turn):
            assert dist < 0.0
            assert np.linalg.norm(normal) == pytest.approx(1.0, abs=EPS)
            if dist < -deepest:
                continue
            seen += 1
            for share in (0.5, 0.999):
                moved = -share * dist * normal
                again = [one for one in meet(m, pos + moved, turn) if one[1] @ normal > 0.999]
                errors = [abs(p - (1.0 - share) * dist) for _, _, p in again]
                assert min(errors) < 1e-9
    assert seen > 10


def test_a_free_body_touches_links_that_are_fixed_to_the_world():
    system = touching.free(CUBE)
    system.body("post", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    system.joint("weld", "fixed", "world", "post")
    system.geometry("on the post", "post", CUBE).geometry("on the ground", "world", CUBE)
    m = rb.build(system)
    assert list(m.geom_names) == ["skin", "on the post", "on the ground", "floor"]
    d = touching.placed(m, (0.0, 0.0, 0.5))
    rb.forward(m, d)
    assert d.ncon == 0
    d.qpos[2] = 0.199
    rb.forward(m, d)
    pairs = d.contact_geom[: d.ncon].tolist()
    assert sorted(pairs) == 4 * [[1, 0]] + 4 * [[2, 0]]  # geom1 is the fixed geometry
    assert (d.contact_body[: d.ncon] == (0, 1)).all()
    assert d.contact_normal[: d.ncon] == pytest.approx(np.array(8 * [[0.0, 0.0, 1.0]]))


def test_links_fixed_to_a_moving_link_make_contact():
    system = touching.free(BALL)
    system.body("mast", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    system.joint("weld", "fixed", "body", "mast", xyz=(0, 0, -1), rpy=(0, np.pi / 2, 0))
    system.geometry("foot", "mast", BALL, origin=rb.pose((0.2, 0, 0)))
    m = rb.build(system)
    d = touching.placed(m, (0.0, 0.0, 1.29))
    rb.forward(m, d)
    ((g, _, x, _, dist, _),) = touching.contacts(d)
    assert m.geom_names[g] == "foot"
    assert x == pytest.approx([0.0, 0.0, -0.01], abs=1e-15)
    assert dist == pytest.approx(-0.01, abs=1e-15)


WALL = rb.Obstacle("it", rb.Box((0.02, 1.0, 0.5)), rb.pose((0.0, 0.0, 0.25)))
STONE = rb.Obstacle("it", rb.Sphere(0.05), rb.pose((0.0, 0.0, 0.45)))
BEAM = rb.Points(
    [(x, y, z) for x in (-0.5, 0.5) for y, z in ((-0.05, 0.05), (0.05, 0.05), (0.0, -0.05))]
)


@pytest.mark.parametrize("obstacle", [WALL, STONE], ids=["wall", "stone"])
@pytest.mark.parametrize("shape", [rb.Cylinder(0.05, 1.0), BEAM], ids=["rod", "beam"])
def test_a_rod_across_an_obstacle_rests_on_it(shape, obstacle):
    """The contact is far from all corners of the rod and of the wall."""
    turn = (0.0, np.pi / 2.0, 0.0) if isinstance(shape, rb.Cylinder) else (0.0, 0.0, 0.0)
    rod = rb.Object("rod", shape, mass=1.0, pose=rb.pose((0.0, 0.0, 0.6), turn))
    m = rb.scene(objects=[rod], obstacles=[obstacle])
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert d.qpos[2] == pytest.approx(0.55, abs=1e-6)
    assert np.abs(d.qvel).max() < 1e-9
    assert d.ncon == (2 if obstacle is WALL else 1)
    assert m.geom_names[d.contact_geom[0, 0]] == "it"


def test_a_cylinder_rolls_smoothly_on_a_box():
    table = rb.Obstacle("table", rb.Box((4.0, 2.0, 0.2)), rb.pose((0.0, 0.0, 0.1)))
    wheel = rb.Object(
        "wheel", rb.Cylinder(0.1, 0.2), mass=1.0, pose=rb.pose((-1.0, 0, 0.3), (np.pi / 2, 0, 0))
    )
    m = rb.scene(objects=[wheel], obstacles=[table])
    d = rb.make_data(m)
    rb.step(m, d, 200)
    d.qvel[0], d.qvel[3:] = 1.0, 0.0
    d.qvel[5] = -10.0  # about the cylinder's axis z, which is -y of the world
    rb.step(m, d, 1000)
    assert d.qpos[0] == pytest.approx(0.0, abs=2e-3)
    assert abs(d.qpos[2] - 0.3) < 1e-6
    assert np.hypot(*d.qvel[:2]) == pytest.approx(1.0, abs=1e-3)

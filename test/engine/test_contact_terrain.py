# SPDX-License-Identifier: Apache-2.0
"""Contact with height fields agrees with planes and closed forms, and bodies rest on bumps."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots, states
from support.refusals import refused
from support.touching import wxyz

import rbdyn_ros as rb

SHAPES = {
    "sphere": rb.Sphere(0.1),
    "capsule": rb.Capsule(0.05, 0.2),
    "cylinder": rb.Cylinder(0.1, 0.2),
    "box": rb.Box((0.2, 0.3, 0.1)),
    "hull": rb.Points(
        ((0.1, 0.0, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.0), (0.0, 0.0, 0.2), (0.0, 0.1, 0.1))
    ),
}
INERTIA = rb.shapes.box((0.2, 0.3, 0.1), mass=1.0)


def grid(function, size=(2.0, 2.0), number=(9, 11)):
    """Return a height field of z = function(x, y), with these edges [m] and numbers of points."""
    y, x = (np.linspace(-0.5, 0.5, n) * edge for n, edge in zip(number, size[::-1], strict=True))
    return rb.HeightField(function(*np.meshgrid(x, y)), size)


def body(shape, obstacle, friction=0.8):
    """Return a Model of a free body with a shape, and an obstacle."""
    return rb.build(
        rb.SystemBuilder("body", base="world")
        .body("body", INERTIA)
        .joint("free", "floating", "world", "body")
        .geometry("skin", "body", shape, surface=rb.Surface(friction=friction))
        .obstacle("ground", *obstacle)
    )


def placed(m, pos, turn):
    d = rb.make_data(m)
    d.qpos[:3], d.qpos[3:] = pos, wxyz(turn)
    return d


def listed(m, d):
    """Return positions, normals and distances of the contacts, sorted by position."""
    rb.forward(m, d)
    n = d.ncon
    order = np.lexsort(np.round(d.contact_pos[:n], 7).T)
    return [x[:n][order].copy() for x in (d.contact_pos, d.contact_normal, d.contact_dist)]


PLACES = {
    "level": rb.Pose(),
    "tilted": rb.pose((0.3, -0.2, 0.1), (0.2, -0.3, 0.5)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_flat_height_field_acts_as_a_plane(shape, slope, place):
    """The triangles may be inclined to the frame of the field."""
    at, angle = PLACES[place], np.arctan(slope)
    plane = rb.Pose(at.pos, tuple(wxyz(rotation(at.quat) * Rotation.from_rotvec([angle, 0, 0]))))
    flat = body_at(SHAPES[shape], grid(lambda _x, y: slope * y), at)
    same = body_at(SHAPES[shape], rb.Plane(), plane)
    rng = np.random.default_rng(3)
    number = 0
    for _ in range(60):
        turn = Rotation.random(random_state=rng)
        local = np.array([*rng.uniform(-0.4, 0.4, 2), 0.0])
        local[2] = slope * local[1] + rng.uniform(0.0, 0.15)
        pos = np.array(at.pos) + rotation(at.quat).apply(local)
        ours, theirs = (listed(m, placed(m, pos, turn)) for m in (flat, same))
        number += len(theirs[0])
        assert len(ours[0]) == len(theirs[0])
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
    assert number > 30


def rotation(quat):
    return Rotation.from_quat([*quat[1:], quat[0]])


def body_at(shape, ground, at):
    return rb.build(
        rb.SystemBuilder("body", base="world")
        .body("body", INERTIA)
        .joint("free", "floating", "world", "body")
        .geometry("skin", "body", shape)
        .obstacle("ground", ground, origin=at)
    )


def roof(x, _y):
    return -0.5 * np.abs(x)


@pytest.mark.parametrize("across", [0.0, 0.3, 1.2])
def test_a_box_across_a_ridge_touches_it_between_its_sides(across):
    """The contact line ends where the sides of the level box cross the ridge."""
    m = body(SHAPES["box"], (grid(roof),))
    d = placed(m, (0.02, 0.03, 0.0499), Rotation.from_euler("z", across))
    pos, normal, dist = listed(m, d)
    np.testing.assert_allclose(dist, -1e-4, atol=1e-9)
    np.testing.assert_allclose(normal, [[0.0, 0.0, 1.0]] * len(dist), atol=1e-9)
    x, (wide, long) = 0.02, (0.1, 0.15)
    turned = np.array([[np.cos(across), np.sin(across)], [-np.sin(across), np.cos(across)]])
    start, way = turned @ [-x, 0.0], turned @ [0.0, 1.0]  # ridge in box axes
    way = np.where(way == 0.0, 1e-12, way)
    sides = np.sort([([-wide, -long] - start) / way, ([wide, long] - start) / way], axis=0)
    low, high = 0.03 + sides[0].max(), 0.03 + sides[1].min()
    assert (pos[:, 1].min(), pos[:, 1].max()) == pytest.approx((low, high), abs=1e-3)
    assert np.abs(pos[:, 0]).max() < 1e-9


def test_the_normal_between_an_edge_of_a_box_and_a_ridge_is_perpendicular_to_both():
    m = body(SHAPES["box"], (grid(roof),))
    turn = Rotation.from_euler("zy", [0.0, 0.7])
    reach = (turn.as_matrix() @ np.diag([0.1, 0.15, 0.05]))[2]
    turn = Rotation.from_euler("z", np.pi / 2) * turn  # the lowest edge is along x
    low = np.abs(reach[[0, 2]]).sum()
    d = placed(m, (0.0, 0.03, low - 1e-4), turn)
    _pos, normal, dist = listed(m, d)
    assert len(dist) == 1
    np.testing.assert_allclose(normal, [[0.0, 0.0, 1.0]], atol=1e-6)
    np.testing.assert_allclose(dist, -1e-4, atol=1e-9)


def test_a_ridge_through_the_middle_of_a_coin_has_a_vertical_normal():
    """The ridge passes through both ends of the coin, so sideways normals cancel."""
    m = body(rb.Cylinder(0.2, 0.02), (grid(lambda x, y: roof(x, y) - 0.3 * y),))
    _pos, normal, dist = listed(m, placed(m, (0.0, 0.03, -0.009), Rotation.identity()))
    ridge = normal[:, 2] > 0.999
    assert ridge.any()
    np.testing.assert_allclose(dist[ridge], -0.01, atol=1e-6)
    assert np.isfinite(dist).all()


@pytest.mark.parametrize("x", [0.0, 0.03, -0.2])
def test_a_ball_on_a_roof_touches_the_nearest_side(x):
    """Above the ridge the ball touches the ridge itself."""
    m = body(SHAPES["sphere"], (grid(roof),))
    up = np.sqrt(1.25)
    z = 0.1 * up - 0.5 * abs(x) if abs(x) > 0.1 * 0.5 / up else np.sqrt(0.01 - x * x)
    _pos, normal, dist = listed(m, placed(m, (x, 0.07, z - 1e-5), Rotation.identity()))
    away = np.array([x, 0.0, z]) if abs(x) < 0.1 * 0.5 / up else np.array([0.5 * np.sign(x), 0, 1])
    assert len(dist) == 1
    np.testing.assert_allclose(normal[0], away / np.linalg.norm(away), atol=1e-3)
    assert dist[0] == pytest.approx(-1e-5 * normal[0, 2], abs=1e-8)


def test_a_ball_in_a_valley_touches_both_sides():
    m = body(SHAPES["sphere"], (grid(lambda x, _y: 0.5 * np.abs(x)),))
    _pos, normal, dist = listed(m, placed(m, (0.0, 0.03, 0.1118), Rotation.identity()))
    assert len(dist) == 2
    np.testing.assert_allclose(np.sort(normal[:, 0]), [-0.5 / np.sqrt(1.25), 0.5 / np.sqrt(1.25)])
    np.testing.assert_allclose(dist, 0.1118 / np.sqrt(1.25) - 0.1, atol=1e-12)


@pytest.mark.parametrize("cells", [4, 80])
@pytest.mark.parametrize(("yaw", "height"), [(90, 0.2 * np.hypot(1.0, 0.6)), (45, 0.0), (0, 0.38)])
def test_a_cylinder_in_a_valley_touches_both_sides(yaw, height, cells):
    """Along the valley the cylinder's side touches the slopes; across the valley its rims do."""
    valley = grid(lambda x, _y: 0.6 * np.abs(x), (4.0, 4.0), (cells + 1, cells + 1))
    m = body(rb.Cylinder(0.2, 0.6), (valley,))
    x = 0.02 if yaw == 90 else 0.0
    turn = Rotation.from_euler("ZY", (yaw, 90), degrees=True)
    d = placed(m, (x, 0.01, 0.385 if yaw < 90 else 0.25), turn)
    before, deepest, gain = states.energy(m, d.copy()), 0.0, 0.0
    for _ in range(150):
        rb.step(m, d, 10)
        after = states.energy(m, d.copy())
        gain, before = max(gain, after - before), after
        deepest = min(deepest, d.contact_dist[: d.ncon].min(initial=0.0))
        assert len(set(d.contact_key[: d.ncon])) == d.ncon
    assert gain < 1e-5
    assert deepest > -1e-5
    if height > 0.0:
        assert d.qpos[2] == pytest.approx(height, abs=1e-6)
        assert np.abs(d.qvel).max() < 1e-9


def test_a_body_next_to_a_height_field_has_no_contacts():
    m = body(SHAPES["sphere"], (grid(lambda x, _y: 0.0 * x),))
    _pos, _normal, dist = listed(m, placed(m, (1.2, 0.0, 0.0), Rotation.identity()))
    assert len(dist) == 0
    # the border of the field is an edge
    _pos, normal, dist = listed(m, placed(m, (1.05, 0.03, 0.08), Rotation.identity()))
    assert len(dist) == 1
    assert dist[0] == pytest.approx(np.hypot(0.05, 0.08) - 0.1, abs=1e-9)
    np.testing.assert_allclose(
        normal[0], np.array([0.05, 0.0, 0.08]) / np.hypot(0.05, 0.08), atol=1e-5
    )


def hills(seed, height):
    z = np.random.default_rng(seed).uniform(0.0, height, (41, 41))
    return rb.HeightField(z, (4.0, 4.0))


@pytest.mark.parametrize("shape", SHAPES)
def test_no_body_falls_through_bumpy_terrain(shape):
    """The body rests or keeps rolling above the lowest point of the field."""
    m = body(SHAPES[shape], (hills(5, 0.05),))
    d = placed(m, (0.1, 0.05, 0.5), Rotation.from_euler("xyz", [0.5, 0.3, 0.2]))
    rb.step(m, d, 4000)
    assert np.isfinite(d.qpos).all()
    assert -0.001 < d.qpos[2] < 0.3
    assert d.contact_dist[: d.ncon].min(initial=0.0) > -1e-3
    touched = d.ncon > 0
    for _ in range(300):  # a rolling body may be in the air
        rb.step(m, d)
        touched |= d.ncon > 0
    assert touched
    if shape in ("box", "hull"):
        assert np.abs(d.qvel).max() < 1e-6


def test_a_box_rests_on_a_slope_up_to_the_friction_angle():
    """At 99 % of the friction angle the box rests; above, the box slides at g (sin - mu cos)."""
    for part, sign in ((0.99, 0), (1.5, 1)):
        m = body(SHAPES["box"], (grid(lambda x, _y, s=0.5 * part: -s * x, (20.0, 4.0)),), 0.5)
        angle = np.arctan(0.5 * part)
        up = Rotation.from_euler("y", angle)
        d = placed(m, up.apply([0.0, 0.0, 0.05]), up)
        rb.step(m, d, 500)
        v, a = np.linalg.norm(d.qvel[:3]), 9.81 * (np.sin(angle) - 0.5 * np.cos(angle))
        assert v == pytest.approx(sign * a * 0.5, abs=1e-9 if sign == 0 else 1e-5)


def test_invalid_height_fields_are_refused():
    for heights, code in (
        ([[0.0, 1.0]], "bad-heights"),
        ([[0.0, 1.0], [0.0]], "bad-heights"),
        ([[0.0, np.nan], [0.0, 0.0]], "not-finite"),
        ("hills", "wrong-kind"),
    ):
        with refused(rb.DescriptionError, code):
            body(SHAPES["box"], (rb.HeightField(heights, (1.0, 1.0)),))
    with refused(rb.DescriptionError, "non-positive-size"):
        body(SHAPES["box"], (rb.HeightField(np.zeros((3, 3)), (1.0, 0.0)),))
    m = body(SHAPES["box"], (hills(1, 0.1),))
    with refused(rb.ParameterError, "height-field"):
        rb.distance(m, rb.make_data(m), "skin", "ground")


def test_an_object_inside_the_ground_is_raised_at_the_start():
    cube = rb.Object("cube", rb.Box((0.1, 0.1, 0.1)), mass=1.0, pose=rb.pose((0.1, 0.2, 0.0)))
    m = rb.scene(objects=[cube], obstacles=[rb.Obstacle("hills", hills(2, 0.1))], floor=False)
    assert "raised" in {finding.code for finding in m.findings}
    assert 0.05 < m.qpos0[2] < 0.16
    d = rb.make_data(m)
    rb.forward(m, d)
    assert d.contact_dist[: d.ncon].min(initial=0.0) > -1e-6


@robots.needs_robots
def test_a_quadruped_stands_on_bumps():
    """The robot holds its joints on a field with slopes of up to 30 degrees."""
    ground = rb.Obstacle("hills", hills(7, 0.06))
    m = rb.load_urdf(
        robots.find("go2.urdf"),
        floating_base=True,
        strict=False,
        contact=rb.Contact(obstacles=(ground,)),
    )
    assert m.geom_touches.max() == 2
    legs = np.arange(6, m.nv)
    m = m.replaced(dof_damping=np.where(np.arange(m.nv) < 6, 0.0, 8.0))
    d = rb.make_data(m)
    stand = np.tile([0.0, 0.8, -1.6], 4)
    d.qpos[7:] = stand
    d.qpos[2] += 0.2
    for _ in range(6500):
        d.qfrc_applied[legs] = 300.0 * (stand - d.qpos[7:])
        rb.step(m, d)
    assert d.qpos[2] > 0.2, "the robot has fallen"
    assert np.abs(d.qvel).max() < 1e-6
    assert d.contact_force[: d.ncon, 2].sum() == pytest.approx(9.81 * m.body_mass.sum(), rel=1e-3)
    assert d.nunsolved < 40


def test_a_box_on_terrain_keeps_its_friction_if_objects_are_added():
    """Other objects change the numbers of the box's contact pairs."""

    def scene(*names):
        objects = [
            rb.Object(name, rb.Box((0.2, 0.2, 0.2)), mass=1.0, pose=rb.pose((x, 0, 0.35)))
            for x, name in enumerate(names)
        ]
        slope = rb.Obstacle("slope", grid(lambda x, _y: 0.2 * x, (8.0, 8.0)))
        return rb.scene(objects=objects, obstacles=[slope], floor=False)

    m = scene("cube")
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert d.nstick == 4
    for names in (("cube", "other"), ("cube", "third", "fourth")):
        d, m = rb.carry(m, d, new := scene(*names)), new
        force = d.stick_force[: d.nstick].copy()
        assert np.linalg.norm(force, axis=1).min() > 0.1
        rb.step(m, d)
        assert np.abs(d.qvel[:6]).max() < 1e-9
    d.stick_force[:] = 0.0
    rb.step(m, d)
    assert np.abs(d.qvel[:6]).max() > 1e-9  # without its memory the box slips

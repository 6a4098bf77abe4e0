# SPDX-License-Identifier: Apache-2.0
"""Bodies rest on obstacles of several shapes, and do not fall through them."""

import numpy as np
import pytest

import rbdyn_ros as rb

GRAVITY = 9.81
HALF = 0.05
LYING = rb.pose((0.0, 0.0, 0.0), (0.0, np.pi / 2, 0.0))
CORNERS = tuple((x, y, z) for x in (-0.4, 0.4) for y in (-0.4, 0.4) for z in (-0.1, 0.1))
#: Obstacles: the shape, its pose, and the height of its top above the origin [m].
OBSTACLES = {
    "cylinder": (rb.Cylinder(0.4, 0.2), rb.pose(), 0.1),
    "lying cylinder": (rb.Cylinder(0.1, 0.8), LYING, 0.1),
    "capsule": (rb.Capsule(0.1, 0.8), LYING, 0.1),
    "hull": (rb.Points(CORNERS), rb.pose(), 0.1),
}
#: Bodies: the shape and half of its height [m].
BODIES = {
    "box": (rb.Box((0.1, 0.1, 0.1)), HALF),
    "sphere": (rb.Sphere(HALF), HALF),
    "cylinder": (rb.Cylinder(HALF, 0.1), HALF),
    "capsule": (rb.Capsule(HALF, 0.1), 2 * HALF),
    "hull": (rb.Points(tuple(tuple(0.125 * x for x in c) for c in CORNERS)), 0.0125),
}


def falling(body, obstacle, height=0.0):
    """Return a system of a free body, at a height [m] above the top of an obstacle."""
    shape, half = BODIES[body]
    solid, at, top = OBSTACLES[obstacle]
    system = rb.SystemBuilder("falling", base="ground")
    system.body("body", rb.shapes.box((0.1, 0.1, 0.1), mass=2.0))
    system.joint("free", "floating", "ground", "body", xyz=(0.0, 0.0, top + half + height))
    return system.geometry("skin", "body", shape).obstacle("solid", solid, origin=at)


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("body", BODIES)
def test_an_obstacle_carries_a_body(body, obstacle):
    m = rb.build(falling(body, obstacle, height=0.003))
    d = rb.make_data(m)
    rb.step(m, d, 150)
    rb.forward(m, d)
    force = rb.contact_forces(m, d)["solid", "skin"]
    np.testing.assert_allclose(force[2], 2.0 * GRAVITY, rtol=0.02)
    assert d.qpos[2] == pytest.approx(-0.003, abs=1e-4)


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_fast_ball_does_not_fall_through_an_obstacle(obstacle):
    m = rb.build(falling("sphere", obstacle, height=0.5))
    d = rb.make_data(m)
    d.qvel[2] = -30.0
    low = np.inf
    for _ in range(60):
        rb.step(m, d)
        low = min(low, d.qpos[2])
    assert low > -0.501  # the ball touches at -0.5 m


def test_a_belt_of_any_shape_carries_a_body_along():
    system = falling("box", "hull")
    (solid,) = system.description().obstacles
    belt = rb.Obstacle("solid", solid.shape, solid.origin, 0.4, velocity=(0.5, 0.0, 0.0))
    m = rb.build(system, contact=rb.Contact(obstacles=(belt,)))
    d = rb.make_data(m)
    rb.step(m, d, 100)
    slip = 0.4 * GRAVITY * 100 * m.opt.timestep
    assert d.qvel[0] == pytest.approx(min(slip, 0.5), rel=0.02)


def test_rays_and_distances_take_obstacles_into_account():
    m = rb.build(falling("sphere", "capsule", height=0.2))
    d = rb.make_data(m)
    rb.fwd_position(m, d)
    hit = rb.cast_rays(m, d, [[0.3, 0.0, 1.0]], [[0.0, 0.0, -1.0]])
    assert hit.distance[0] == pytest.approx(0.9)
    assert rb.distance(m, d, "skin", "solid").distance == pytest.approx(0.2)


def test_a_saved_model_keeps_its_pairs_with_obstacles(tmp_path):
    m = rb.build(falling("box", "cylinder"))
    rb.save(m, tmp_path / "m.npz")
    again = rb.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.push_geom, m.push_geom)
    assert len(m.push_geom) == 1

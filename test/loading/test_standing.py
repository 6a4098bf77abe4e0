"""Start pose of a robot that can have contacts."""

import numpy as np
import pytest

import rbdyn_ros as rb

BALL = rb.shapes.sphere(0.1, mass=1.0)


def ball(joint="floating", **more):
    system = rb.SystemBuilder("ball", base="ground").body("body", BALL)
    system.joint("free", joint, "ground", "body", **more)
    return system.geometry("skin", "body", rb.Sphere(0.1))


def found(m):
    codes = ("raised", "in-obstacle")
    return [(f.code, f.severity) for f in m.findings if f.code in codes]


@pytest.mark.parametrize(("joint", "z"), [("floating", 2), ("sixdof_fp", 6), ("sixdof_fs", 6)])
def test_a_floating_robot_starts_on_the_floor(joint, z):
    m = rb.build(ball(joint).floor(height=-0.03))
    assert m.qpos0[z] == pytest.approx(0.07, abs=1e-8)
    assert found(m) == [("raised", "note")]
    d = rb.make_data(m)
    rb.forward(m, d)
    assert not d.qfrc_contact.any()  # it touches, and nothing presses
    rb.step(m, d, 200)
    assert np.abs(d.qvel).max() < 1e-9
    assert d.ncon == 1


@pytest.mark.parametrize("base", [True, "sixdof_fp", "sixdof_fs"])
def test_a_floating_base_starts_on_the_floor(base):
    system = rb.SystemBuilder("ball", base="body").body("body", BALL)
    m = rb.build(system.geometry("skin", "body", rb.Sphere(0.1)).floor(), floating_base=base)
    assert m.qpos0[2 if base is True else 6] == pytest.approx(0.1, abs=1e-8)


def test_a_robot_above_the_floor_stays():
    m = rb.build(ball().floor(height=-0.5))
    assert np.array_equal(m.qpos0, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert found(m) == []


def test_it_is_raised_through_one_obstacle_onto_another():
    shelf = rb.Box((1.0, 1.0, 0.1))
    m = rb.build(ball().floor().obstacle("shelf", shelf, origin=rb.pose((0.0, 0.0, 0.25))))
    assert m.qpos0[2] == pytest.approx(0.4, abs=1e-8)


def test_a_fixed_robot_in_the_floor_gets_a_warning():
    m = rb.build(ball("prismatic", axis=(0.0, 0.0, 1.0)).floor(height=-0.05))
    assert m.qpos0 == [0.0]
    assert found(m) == [("in-obstacle", "warning")]


def test_a_robot_that_cannot_be_raised_gets_a_warning():
    """Between a floor and a ceiling that leave no room; below the ceiling's plane is its solid."""
    down = rb.pose((0.0, 0.0, 0.1), (np.pi, 0.0, 0.0))
    m = rb.build(ball().floor().obstacle("ceiling", rb.Plane(), origin=down))
    assert np.array_equal(m.qpos0[:3], np.zeros(3))
    assert found(m) == [("in-obstacle", "warning")]

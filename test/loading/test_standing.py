# SPDX-License-Identifier: Apache-2.0
"""In its start pose a robot with contact stands on the floor or on an obstacle."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.dynamics.configuration import start_within_limits
from rbdyn_ros.loading.standing import may_stand, on_floor

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
    weight = m.body_mass.sum() * 9.81
    assert np.abs(d.qfrc_contact).max() == pytest.approx(weight, rel=1e-3)  # the robot stands
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


def test_a_robot_is_raised_through_one_obstacle_onto_another():
    shelf = rb.Box((1.0, 1.0, 0.1))
    m = rb.build(ball().floor().obstacle("shelf", shelf, origin=rb.pose((0.0, 0.0, 0.25))))
    assert m.qpos0[2] == pytest.approx(0.4, abs=1e-8)


def test_a_fixed_robot_in_the_floor_gets_a_warning():
    m = rb.build(ball("prismatic", axis=(0.0, 0.0, 1.0)).floor(height=-0.05))
    assert m.qpos0 == [0.0]
    assert found(m) == [("in-obstacle", "warning")]


def test_a_robot_that_cannot_be_raised_gets_a_warning():
    """There is no room between floor and ceiling, because the ceiling is solid below its plane."""
    down = rb.pose((0.0, 0.0, 0.1), (np.pi, 0.0, 0.0))
    m = rb.build(ball().floor().obstacle("ceiling", rb.Plane(), origin=down))
    assert np.array_equal(m.qpos0[:3], np.zeros(3))
    assert found(m) == [("in-obstacle", "warning")]


def limited(*limits, kind="revolute", **more):
    system = rb.SystemBuilder("arm", base="ground").body("body", BALL)
    if len(limits) > 1:
        return system.joint("elbow", kind, "ground", "body", limits=limits, **more)
    return system.joint("elbow", kind, "ground", "body", limit=limits[0], **more)


def outside(m):
    return [(f.severity, f.message) for f in m.findings if f.code == "outside-limits"]


@pytest.mark.parametrize(
    ("lower", "upper", "start"), [(0.5, 2.0, 1.25), (-3.0, -0.5, -1.75), (0.5, np.inf, 0.5)]
)
def test_a_joint_whose_limits_exclude_zero_has_a_note_with_its_start(lower, upper, start):
    m = rb.build(limited(rb.Limit(lower, upper)))
    ((severity, message),) = outside(m)
    assert severity == "note"
    assert f"'elbow' ({lower:g} to {upper:g}) at {start:g}" in message
    assert rb.make_data(m).qpos[0] == m.qpos0[0] == 0.0
    assert start_within_limits(m)[0] == start


def test_a_limit_of_any_coordinate_can_exclude_zero():
    m = rb.build(limited(rb.Limit(-1.0, 1.0), rb.Limit(0.25, 0.75), kind="cylindrical"))
    assert "'elbow' (0.25 to 0.75) at 0.5" in outside(m)[0][1]
    assert start_within_limits(m).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("limit", [rb.Limit(-1.0, 1.0), rb.Limit(0.0, 1.0), rb.Limit(-1.0, 0.0)])
def test_limits_that_include_zero_have_no_note(limit):
    assert outside(rb.build(limited(limit))) == []


def test_a_joint_with_a_prescribed_motion_has_no_note_about_its_start():
    motion = rb.Trajectory((0.0, 1.0), ((1.0,), (1.5,)))
    assert outside(rb.build(limited(rb.Limit(0.5, 2.0), motion=motion))) == []


def test_a_note_about_20_joints_names_the_first_8():
    system = rb.SystemBuilder("arm", base="ground")
    for k in range(20):
        system.body(f"b{k}", BALL)
        system.joint(f"j{k}", "prismatic", "ground", f"b{k}", limit=rb.Limit(1.0, 2.0))
    message = outside(rb.build(system))[0][1]
    assert "20 in all" in message
    assert "'j7'" in message
    assert "'j8'" not in message


def table(*feet):
    """Return a plate with feet at positions (x, y); its centre of mass is above the origin."""
    system = rb.SystemBuilder("table", base="plate").body("plate", BALL)
    for k, (x, y) in enumerate(feet):
        system.geometry(f"foot{k}", "plate", rb.Sphere(0.05), origin=rb.pose((x, y, -0.4)))
    return rb.build(system.floor(height=0.3), floating_base=True)


@pytest.mark.parametrize("height", [-2.0, 0.0, 0.75, 5.0])
def test_on_floor_puts_a_robot_onto_its_floor_from_any_height(height):
    m = table((0.1, 0.1), (-0.1, 0.1), (0.0, -0.1))
    qpos = m.qpos0.copy()
    qpos[2] = height
    assert on_floor(m, qpos)[2] == pytest.approx(0.75, abs=1e-6)


def test_on_floor_does_not_move_a_robot_without_a_floor():
    m = rb.build(ball(), floating_base=False)
    assert (on_floor(m, m.qpos0) == m.qpos0).all()


@pytest.mark.parametrize(
    ("feet", "stands"),
    [
        ([(0.1, 0.1), (-0.1, 0.1), (0.0, -0.1)], True),
        # the centre of mass is not above the feet
        ([(0.1, 0.1), (-0.1, 0.1), (0.0, 0.05)], False),
        ([(0.1, 0.0), (-0.1, 0.0)], False),  # the robot would tip over about this line
        ([(0.0, 0.0)], False),
    ],
)
def test_a_robot_stands_if_its_mass_is_above_its_feet(feet, stands):
    m = table(*feet)
    assert may_stand(m, m.qpos0, 0) == stands

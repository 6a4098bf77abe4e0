# SPDX-License-Identifier: Apache-2.0
"""geom_mass0 is the effective mass at a geometry's corners."""

import numpy as np
import pytest
from support import robots, touching

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import FLOOR, Box, Geometry, Obstacle, Points, Sphere
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link, Mimic
from rbdyn_ros.loading import geometries
from rbdyn_ros.loading.geometries import with_masses
from rbdyn_ros.loading.mobility import mobility

BRICK = Inertial(2.0, inertia=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0))
X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def system(links, joints, *geoms, **parts):
    links = (Link("base"), *(Link(name, BRICK) for name in links))
    return rb.build(
        Description("n", links, joints, base="base", geometries=geoms, obstacles=(FLOOR,), **parts)
    )


def dot(name, link, *points):
    return Geometry(name, link, Points(points or ((0.0, 0.0, 0.0),)))


def test_the_effective_mass_of_a_free_body_is_its_mass_at_the_centre_and_less_elsewhere():
    joint = Joint("j", "floating", "base", "a")
    m = system(("a",), (joint,), dot("centre", "a"), dot("corner", "a", (0.5, 0.0, 0.0)))
    assert m.geom_mass0[0] == pytest.approx(2.0, rel=1e-14)
    # the mobility is 1/m in three directions, plus a^2 / I for rotations about y and z
    mobile = (3 / 2.0 + 0.25 / 0.2 + 0.25 / 0.3) / 3
    assert m.geom_mass0[1] == pytest.approx(1 / mobile, rel=1e-14)


def test_the_effective_mass_is_the_inverse_of_the_mean_mobility_of_the_corners():
    joint = Joint("j", "revolute", "base", "a", axis=Z)
    corners = ((0.1, 0.0, 0.0), (0.0, 0.3, 5.0))
    m = system(("a",), (joint,), dot("g", "a", *corners))
    assert m.geom_mass0[0] == pytest.approx(1 / (np.mean([0.01, 0.09]) / 0.3 / 3), rel=1e-13)


def test_a_fixed_geometry_has_the_mass_of_its_body():
    joint = Joint("j", "revolute", "base", "a", axis=Z)
    m = system(("a",), (joint,), dot("on the axis", "a", (0.0, 0.0, 0.7)))
    assert m.geom_mass0[0] == 2.0


def test_a_mimic_joint_moves_with_its_leader():
    lead = Joint("lead", "prismatic", "base", "a", axis=X)
    follow = Joint("follow", "prismatic", "a", "b", axis=X, mimic=Mimic("lead", 2.0))
    m = system(("a", "b"), (lead, follow), dot("g", "b"))
    # b moves three times as far as a, so M = 2 + 9 * 2, and the mobility of the point is 9 / M in
    # one direction
    assert m.geom_mass0[0] == pytest.approx(3 * 20 / 9, rel=1e-14)


def test_constraints_increase_the_effective_mass():
    joints = (
        Joint("j", "prismatic", "base", "a", axis=X),
        Joint("k", "prismatic", "base", "b", axis=X),
        Joint("weld", "fixed", "a", "b", closes_loop=True),
    )
    m = system(("a", "b"), joints, dot("g", "a"))
    assert m.geom_mass0[0] == pytest.approx(3 * 4.0, rel=1e-12)


def test_a_geometry_that_a_loop_locks_has_the_mass_of_its_body():
    joints = (
        Joint("j", "prismatic", "base", "a", axis=X),
        Joint("lock", "fixed", "base", "a", closes_loop=True),
    )
    m = system(("a",), joints, dot("g", "a"))
    assert m.geom_mass0[0] == 2.0


@robots.needs_robots
@pytest.mark.parametrize("name", ["talos_reduced.urdf", "go2.urdf"])
def test_masses_agree_with_jacobians(name):
    """Jacobians from differences of positions give the same effective masses."""
    m = rb.load_urdf(robots.find(name), floating_base=True, strict=False, contact=True)
    M_inv, _ = mobility(m)
    d = rb.make_data(m)
    h = 1e-6
    for g in (0, m.ngeommoving // 2, m.ngeommoving - 1):
        number = m.geom_vertnum[g]
        J = np.zeros((number, 3, m.nv))
        for k in range(m.nv):
            for sign in (1, -1):
                v = np.zeros(m.nv)
                v[k] = sign
                d.qpos = m.qpos0
                rb.integrate_pos(m, d.qpos, v, h)
                rb.kinematics(m, d)
                J[:, :, k] += sign * touching.corners(m, d, g) / (2 * h)
        traces = np.einsum("nik,kl,nil->n", J, M_inv, J)
        # central differences of coordinates of about 1 m have rounding errors of 1e-16 / 1e-6
        assert m.geom_mass0[g] == pytest.approx(3 / traces.mean(), rel=1e-6)


def test_geometries_of_a_model_with_too_many_dofs_have_the_mass_of_the_body(monkeypatch):
    joints = (Joint("j", "floating", "base", "a"), Joint("k", "floating", "a", "b"))
    m = system(("a", "b"), joints, dot("g", "b", (1.0, 0.0, 0.0)))
    assert m.geom_mass0[0] < 2.0
    monkeypatch.setattr(geometries, "MOST_DOFS", 5)
    assert with_masses(m).geom_mass0[0] == 2.0


def test_a_long_chain_without_a_mass_matrix_has_geom_mass0():
    names = [f"l{k}" for k in range(2001)]
    joints = tuple(
        Joint(f"j{k}", "revolute", "base" if k == 0 else names[k - 1], name, axis=X)
        for k, name in enumerate(names)
    )
    m = system(names, joints, dot("g", names[-1]))
    assert m.nM == 0
    assert m.geom_mass0[0] == 2.0


def test_ball_and_box_have_the_effective_mass_of_their_corners():
    joint = Joint("j", "floating", "base", "a")
    box, ball = Geometry("b", "a", Box((1.0, 1.0, 1.0))), Geometry("s", "a", Sphere(0.5))
    m = system(("a",), (joint,), box, ball)
    arm = 0.5 * (1 / 0.1 + 1 / 0.2 + 1 / 0.3)  # each corner has a^2 = 0.5 about each axis
    assert m.geom_mass0[:2] == pytest.approx([1 / ((1.5 + arm) / 3), 2.0], rel=1e-13)


def test_a_model_without_geometries_is_returned_unchanged():
    m = rb.build(Description("n", (Link("base"),), (), obstacles=(Obstacle("s", Sphere(1.0)),)))
    assert with_masses(m) is m

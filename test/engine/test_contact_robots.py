# SPDX-License-Identifier: Apache-2.0
"""Robots of example-robot-data fall on the floor without torque, and lie still."""

import functools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import contact_referee, contact_scenes, robots, touching

import rbdyn_ros as rb

pytestmark = robots.needs_robots

NAMES = (
    "talos_full_v2.urdf", "go2.urdf", "a1.urdf", "g1_29dof_rev_1_0.urdf", "panda.urdf",
    "icub.urdf", "hyq_no_sensors.urdf", "solo12.urdf", "bolt.urdf", "ur5_robot.urdf",
    "allegro_right_hand.urdf", "tiago.urdf", "quadruped.urdf",
)  # fmt: skip


def fallen(name, seconds, height=0.3, integrator="implicit_damping"):
    m = rb.load_urdf(robots.find(name), floating_base=True, strict=False, contact=True)
    m.opt.integrator = integrator
    d = rb.make_data(m)
    touching.lift(m, d, height)
    rb.step(m, d, round(seconds / m.opt.timestep))
    return m, d


def test_a_humanoid_that_has_fallen_hardly_moves_after_ten_seconds():
    """For 30 s no joint with friction or damping turns faster than 0.1 rad/s.

    The ankles have neither friction nor damping, so a foot in the air may swing.
    """
    m, d = fallen("talos_reduced.urdf", 10.0, 0.02)
    fastest, deepest = 0.0, 0.0
    held = np.flatnonzero(m.dof_frictionloss + m.dof_damping > 0.0)
    assert len(held) > 10
    for _ in range(3000):
        rb.step(m, d, 10)
        fastest = max(fastest, abs(d.qvel[held]).max())
        deepest = min(deepest, d.contact_dist[: d.ncon].min())
    assert fastest < 0.1
    assert abs(d.qvel[:6]).max() < 1e-2
    assert d.nbad == 0
    assert d.nunsolved < 5  # of 40,000 steps
    assert d.qpos[2] < 0.4, "the humanoid has not fallen"
    assert -1e-3 < deepest < 0.0
    rb.forward(m, d)
    weight = m.body_mass.sum() * touching.G
    assert d.cfrc_contact[:, 5].sum() == pytest.approx(weight, rel=1e-2)


@pytest.mark.parametrize("self_collision", [True, False])
def test_steps_of_a_falling_humanoid_satisfy_the_contact_law(self_collision):
    """Feet jam and limbs hit each other, which couples friction and normal forces strongly.

    A fall is chaotic, so rounding decides which steps are hard to solve. Of 13 falls whose starts
    differed by 1e-7 rad, 10 had no step that missed the law, and 11 had no unsolved step. In the
    worst fall 1 of 150 checked steps missed the law, by 1.4e-5, and 4 of 1500 were unsolved. In
    one of 100 checked steps an error in the law changes the forces by 37 times this error.
    """
    m, d = contact_scenes.humanoid(self_collision)
    largest, mutual, missed = 0, 0, []
    for k in range(1500):
        start = d.copy()
        rb.step(m, d, 1)
        if k % 10 == 0 and d.ncon > 0 and d.contact_force[: d.ncon].any():
            largest = max(largest, contact_referee.check_law(m, start, d, missed))
            mutual += d.nmutual > 0
    assert d.nunsolved < 8
    assert len(missed) < 4
    assert largest > 1000.0
    assert (mutual > 0) == self_collision


@functools.cache
def humanoid():
    floor_alone = rb.Contact(self_collision=False)
    return rb.load_urdf(robots.find("talos_reduced.urdf"), True, strict=False, contact=floor_alone)


TURNS = {"face": (0.0, np.pi / 2, 0.0), "side": (0.6, 0.8, 0.0)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("turn", TURNS)
def test_a_humanoid_that_lies_on_the_floor_rests(turn, seed):
    """Dry friction and limits hold the joints, and friction of the floor holds the links.

    In 24 such starts no joint was faster than 2e-13 rad/s after 4 s. With the smooth friction law
    joints would creep at 1e-4 rad/s.
    """
    m = humanoid()
    d = rb.make_data(m)
    d.qpos[3:7] = touching.wxyz(Rotation.from_rotvec(TURNS[turn]))
    d.qpos[7:] += np.random.default_rng(seed).uniform(-1e-3, 1e-3, m.nq - 7)
    touching.lift(m, d, 0.02)
    rb.step(m, d, 8000)
    start = d.qpos.copy()
    for _ in range(100):
        rb.step(m, d, 20)
        assert abs(d.qvel).max() < 1e-9
    assert abs(d.qpos - start).max() < 1e-9
    assert (d.qvel[6:] == 0.0).sum() > 15
    assert d.ncon > 5
    assert d.nbad == 0


@pytest.mark.parametrize("name", NAMES)
def test_robots_fall_on_the_floor_and_stay_above_it(name):
    m, d = fallen(name, 5.0)
    assert d.nbad == 0
    assert np.isfinite([*d.qpos, *d.qvel]).all()
    assert d.ncon > 0
    assert d.contact_dist[: min(d.ncon, m.ncontact)].min() > -2e-3
    assert abs(rb.com_velocity(m, d)).max() < 1.0  # limbs may still swing
    rb.kinematics(m, d)
    lowest = min(touching.corners(m, d, g)[:, 2].min() for g in range(m.ngeommoving))
    assert lowest > -2e-3


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_fallen_robot_rests_with_other_integrators(integrator):
    _, d = fallen("go2.urdf", 5.0, integrator=integrator)
    assert d.nbad == 0
    assert abs(d.qvel).max() < 0.05


@pytest.mark.nightly  # simulates ten seconds
def test_a_fallen_robot_rests_with_twice_the_timestep():
    m = rb.load_urdf(
        robots.find("talos_reduced.urdf"), floating_base=True, strict=False, contact=True
    )
    m.opt.timestep = 0.002
    d = rb.make_data(m)
    touching.lift(m, d, 0.02)
    rb.step(m, d, 5000)
    assert d.nbad == 0
    # the base rests; an arm may still swing, depending on the fall, which rounding decides
    assert abs(d.qvel[:6]).max() < 0.05
    assert abs(d.qvel).max() < 1.0

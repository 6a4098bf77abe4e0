"""The pull of a hand: as strong as what it moves is heavy, and calm though it comes late."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.build.shapes import box
from rbdyn_ros.description.parts.types import Description, Link
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.loading.assets import bundled_robot
from rbdyn_ros.view.live.pull import GRAVITY, MOST_WEIGHTS, RATE, HandSpring

LATE = 0.033  # [s] between two renewals, and the age of what each is computed from


def moving(d):
    return Instant(d.time, d.qpos.copy(), d.qvel.copy(), np.zeros_like(d.qvel))


@pytest.fixture(scope="module")
def brick():
    link = Link("brick", box((0.1, 0.2, 0.3), mass=2.5))
    return rb.build(Description("brick", links=(link,), joints=()), floating_base=True)


def test_a_free_body_is_pulled_as_a_mass_on_a_spring(brick):
    """Closed form: m (w^2 x - 2 w v), at the centre of mass."""
    d = rb.make_data(brick)
    d.qvel[:3] = 0.1, -0.2, 0.3
    target = d.qpos[:3] + np.array([0.2, 0.1, -0.1])
    force = HandSpring(brick).force(moving(d), "brick", target)
    wanted = 2.5 * (RATE**2 * (target - d.qpos[:3]) - 2.0 * RATE * d.qvel[:3])
    assert force == pytest.approx(wanted, rel=1e-9)


def test_it_pulls_no_harder_than_some_weights(brick):
    force = HandSpring(brick).force(
        moving(rb.make_data(brick)), "brick", np.array([9e9, 0.0, 0.0])
    )
    assert np.linalg.norm(force) == pytest.approx(MOST_WEIGHTS * GRAVITY * 2.5)


@pytest.mark.parametrize("robot", ["seven_dof_arm", "pendulum"])
def test_no_direction_is_heavier_than_the_robot(robot):
    """Where the robot cannot move at all, as along a stretched arm, its inertia has no bound."""
    m = rb.load_urdf(bundled_robot(robot))
    d, spring = rb.make_data(m), HandSpring(m)
    place = spring.at(moving(d), m.body_names[-1])
    for axis in np.eye(3):
        force = spring.force(moving(d), m.body_names[-1], place + 0.01 * axis)
        assert axis @ force <= m.body_mass.sum() * RATE**2 * 0.01 * (1.0 + 1e-9)


def test_a_late_pull_brings_the_tip_to_the_hand_and_leaves_it_there():
    """Without friction and without weight, nothing but the pull can calm the arm."""
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    m = m.replaced(dof_damping=np.zeros(m.nv), dof_frictionloss=np.zeros(m.nv))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d, spring, tip = rb.make_data(m), HandSpring(m), m.body_names[-1]
    d.qpos = np.array([0.3, 0.6, 0.2, -1.2, 0.1, 0.8, 0.0])
    target = spring.at(moving(d), tip) + np.array([0.1, -0.15, 0.1])
    body, seen, distances = m.body_names.index(tip), moving(d), []
    for _ in range(round(6.0 / LATE)):
        force = spring.force(seen, tip, target)
        seen = moving(d)  # what the next one knows
        for _ in range(round(LATE / m.opt.timestep)):
            rb.kinematics(m, d)
            d.xfrc_applied[body, :3] = force
            d.xfrc_applied[body, 3:] = np.cross(d.xpos[body] - d.xipos[body], force)
            rb.step(m, d)
        distances.append(np.linalg.norm(spring.at(moving(d), tip) - target))
    assert max(distances[-30:]) < 0.05 * distances[0]

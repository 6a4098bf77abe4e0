# SPDX-License-Identifier: Apache-2.0
"""Each command mode follows its formula within its limits, and modes can change."""

import itertools

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, walk
from support.robots import find, load

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.types import EFFORT, IMPEDANCE, POSITION, VELOCITY, Command

H, T = 1e-3, 0.05


def pendulum():
    box = rb.shapes.box((0.4, 0.1, 0.1), mass=1.5, at=rb.pose((0.2, 0.0, 0.0)))
    builder = rb.SystemBuilder("pendulum").body("a", box)
    return rb.build(builder.joint("hinge", "revolute", "base", "a", axis=(0, 1, 0)))


@pytest.mark.parametrize("make", [rail, pendulum])
def test_a_servo_approaches_a_position_like_a_critically_damped_oscillator(start, make):
    loop = start(make(), **WALKING, servo_time_constant=T)
    loop.orders.command(commanded(0, POSITION, 0.4))
    q = np.array([state.qpos[0] for state in walk(loop, 400)])
    expected, position, speed = [], 0.0, 0.0
    for _ in range(400):  # the joint has the servo's acceleration
        speed += H * ((0.4 - position) / T**2 - 2.0 * speed / T)
        position += H * speed
        expected.append(position)
    np.testing.assert_allclose(q, expected, rtol=1e-9)
    t = H * np.arange(1, 401)
    np.testing.assert_allclose(q, 0.4 * (1.0 - (1.0 + t / T) * np.exp(-t / T)), atol=0.006)


@pytest.mark.parametrize("robot", ["bundled", "ur5_robot.urdf", "panda.urdf"])
def test_servos_of_robots_reach_their_goals_within_all_limits(start, robot):
    m = bundled_arm() if robot == "bundled" else load(find(robot))
    low, high = m.jnt_range[m.dof_jntid].T
    begin, goal = 0.5 * low + 0.5 * high, 0.3 * low + 0.7 * high
    loop = start(m, begin, **WALKING)
    loop.orders.command(commanded(np.arange(m.nv), POSITION, goal))
    speed, effort = m.jnt_velocity[m.dof_jntid], m.jnt_effort[m.dof_jntid]
    states = walk(loop, 2500)
    # below 1e-3 rad/s the servo compensates only a part of friction, so friction can stop a joint
    near = np.where(m.dof_frictionloss > 0.0, 2.0 * 1e-3 * 0.01, 1e-6)
    assert (np.abs(states[-1].qpos - goal) < near).all()
    # the limit of a servo may act for a few ticks after the servo slows down, hence the 5 %
    assert (np.abs([state.qvel for state in states]) < 1.05 * speed).all()
    assert (np.abs([state.effort for state in states]) <= effort).all()


def test_a_servo_moves_at_the_velocity_limit_and_not_faster(start):
    loop = start(rail(limit=rb.Limit(velocity=0.5)), **WALKING)
    loop.orders.command(commanded(0, POSITION, 0.3))
    states = walk(loop, 1000)
    speeds = [state.qvel[0] for state in states]
    assert 0.499 < max(speeds) < 0.5 + 1e-9
    assert states[-1].qpos[0] == pytest.approx(0.3, abs=1e-9)


def test_a_servo_keeps_the_effort_limit_and_states_report_saturation(start):
    loop = start(rail(limit=rb.Limit(effort=10.0)), **WALKING)
    loop.orders.command(commanded(0, POSITION, 1.0))
    states = walk(loop, 5)
    assert [state.effort[0] for state in states] == [10.0] * 5
    assert [state.saturated for state in states] == [0] * 5
    assert states[-1].qvel[0] == pytest.approx(5 * H * 5.0, rel=1e-12)
    assert loop.readout.saturated_ticks == 5


@pytest.mark.parametrize("goal", [9.0, -9.0])
def test_goals_beyond_a_position_limit_become_the_limit(start, goal):
    loop = start(rail(limit=(-0.2, 0.3)), **WALKING)
    end = np.clip(goal, -0.2, 0.3)
    loop.orders.command(commanded(0, POSITION, goal))
    assert walk(loop, 300)[-1].qpos[0] == pytest.approx(end, abs=1e-6)
    loop.orders.command(commanded(0, IMPEDANCE, goal, stiffness=160.0, damping=80.0))
    assert walk(loop, 300)[-1].qpos[0] == pytest.approx(end, abs=1e-6)


def test_a_joint_in_velocity_mode_stops_at_a_position_limit(start):
    loop = start(rail(limit=(-0.2, 0.3), damping=4.0), **WALKING)
    loop.orders.command(commanded(0, VELOCITY, velocity=0.5))
    last = walk(loop, 1500)[-1]
    assert abs(last.qvel[0]) < 1e-6
    assert (
        0.3 <= last.qpos[0] < 0.3 + 0.5 * 0.01 + 1e-3
    )  # the joint brakes with a time constant of 0.01 s
    loop.orders.command(commanded(0, VELOCITY, velocity=-0.5))
    assert walk(loop, 100)[-1].qvel[0] == pytest.approx(-0.5, rel=1e-3)


def stands_at_half(loop, k=0):
    """Command dof k to its present position 0.5; return whether it stays at rest."""
    loop.orders.command(commanded(k, POSITION, 0.5))
    state = walk(loop, 1)[0]
    return state.qacc[k] == 0.0 and state.qpos[k] == 0.5


def test_a_servo_starts_at_the_position_of_the_joint(start):
    loop = start(rail(limit=rb.Limit(velocity=1.0)), np.array([0.5]), **WALKING)
    assert stands_at_half(loop)
    loop.orders.command(commanded(0, POSITION, -2.0))
    walk(loop, 100)
    loop.plant.reset()
    assert stands_at_half(loop)
    loop.orders.command(commanded(0, POSITION, -2.0))
    walk(loop, 100)
    one = np.ones(1, bool)
    loop.plant.set_state(np.array([0.5]), np.zeros(1), one, one)
    assert stands_at_half(loop)


@pytest.mark.parametrize("mode", [EFFORT, VELOCITY, IMPEDANCE])
def test_a_servo_starts_at_the_position_of_a_moving_joint(start, mode):
    loop = start(rail(limit=rb.Limit(velocity=1.0)), **WALKING)
    loop.orders.command(commanded(0, mode, velocity=0.5, effort=20.0, damping=4.0))
    before = walk(loop, 50)[-1]
    loop.orders.command(commanded(0, POSITION, 5.0))
    after = walk(loop, 1)[0]
    # the reference starts at the present position with the largest allowed speed
    wanted = 1.0 * H / 0.01**2 - 2.0 * before.qvel[0] / 0.01
    assert after.qacc[0] == pytest.approx(wanted, rel=1e-9)


def test_a_feedforward_speed_is_clamped_to_the_velocity_limit(start):
    loop = start(rail(limit=rb.Limit(velocity=0.5)), **WALKING)
    loop.orders.command(commanded(0, POSITION, 2.0, 0.5))
    speeds = [state.qvel[0] for state in walk(loop, 1000)]
    assert 0.499 < max(speeds) < 0.5 + 1e-9


@pytest.mark.parametrize(("asked", "found"), [(0.2, 0.2), (-0.2, -0.2), (3.0, 0.5), (-3.0, -0.5)])
def test_a_joint_in_velocity_mode_has_the_exact_velocity_within_the_limit(start, asked, found):
    m = rail(damping=8.0, friction=1.5, limit=rb.Limit(velocity=0.5))
    loop = start(m, **WALKING)
    loop.orders.command(commanded(0, VELOCITY, velocity=asked))
    assert walk(loop, 400)[-1].qvel[0] == pytest.approx(found, rel=1e-9)


def impedance(command, state):
    spring = command.stiffness * (command.position - state.qpos[command.dofs])
    damper = command.damping * (command.velocity - state.qvel[command.dofs])
    return command.effort + spring + damper


def test_efforts_in_impedance_mode_follow_the_formula(start):
    loop = start(bundled_arm(), **WALKING)
    command = Command(
        np.arange(7),
        np.full(7, IMPEDANCE),
        np.linspace(-0.1, 0.2, 7),
        np.linspace(0.3, -0.3, 7),
        np.linspace(1.0, 2.0, 7),
        np.linspace(20.0, 5.0, 7),
        np.linspace(3.0, 1.0, 7),
    )
    before = loop.readout.latest()
    loop.orders.command(command)
    for state in walk(loop, 60):
        np.testing.assert_allclose(state.effort, impedance(command, before), rtol=1e-12)
        before = state


def test_joints_can_have_different_modes_at_the_same_time(start):
    loop = start(bundled_arm(), **WALKING)
    modes = np.array([EFFORT, POSITION, VELOCITY, IMPEDANCE, POSITION, EFFORT, POSITION])
    columns = np.zeros((5, 7))
    columns[0] = 0.0, 0.3, 0.0, 0.2, -0.2, 0.0, 0.0
    columns[1, 2] = 0.4
    columns[2] = 1.5, 0.0, 0.0, 0.5, 0.0, -0.1, 0.0
    columns[3:, 3] = 30.0, 4.0
    mixed = Command(np.arange(7), modes, *columns)
    loop.orders.command(mixed)
    states = walk(loop, 600)
    for before, after in itertools.pairwise(states):
        assert (after.effort[[0, 5]] == [1.5, -0.1]).all()
        assert after.effort[3] == pytest.approx(impedance(mixed, before)[3], rel=1e-12)
    last = states[-1]
    assert last.qpos[[1, 4]] == pytest.approx([0.3, -0.2], abs=5e-3)
    assert last.qvel[2] == pytest.approx(0.4, abs=0.02)


def test_a_joint_can_change_its_mode_in_each_tick(start):
    loop = start(bundled_arm(), **WALKING)
    loop.orders.command(commanded(np.arange(7), POSITION, 0.1))
    walk(loop, 10)
    loop.orders.command(commanded([0, 2], EFFORT, effort=0.25))
    assert (walk(loop, 1)[0].effort[[0, 2]] == 0.25).all()
    loop.orders.command(commanded(np.arange(7), EFFORT, effort=-0.5))
    assert (walk(loop, 1)[0].effort == -0.5).all()
    loop.orders.command(commanded(2, VELOCITY, velocity=0.1))
    after = walk(loop, 1)[0].effort
    assert after[2] != -0.5
    assert (after[[0, 1, 3, 4, 5, 6]] == -0.5).all()


@pytest.mark.parametrize("mode", [POSITION, VELOCITY, IMPEDANCE])
def test_a_command_of_every_mode_expires(start, mode):
    loop = start(rail(damping=1.0), **WALKING | {"command_timeout": 0.05})
    loop.orders.command(commanded(0, mode, 5.0, 0.5, 1.0, 2.0, 1.0))
    states = walk(loop, 100)
    assert (states[0].stale, states[-1].stale) == (0, 1)
    assert states[0].effort[0] != 0.0
    assert states[-1].effort[0] == 0.0


def test_joints_under_the_gravity_policy_rest_while_a_servo_holds_one_joint(start):
    """The policy of the six joints without a command is gravity compensation."""
    m = bundled_arm()
    position = np.array([0.0, 0.9, 0.2, 0.4, 0.1, -0.5, 0.0])
    loop = start(m, position, **WALKING | {"command_timeout": 1e5}, on_timeout="gravity")
    loop.orders.command(commanded(0, POSITION, 0.0))
    last = walk(loop, 200)[-1]
    assert last.qpos == pytest.approx(position, abs=1e-9)
    assert last.stale == 6


def test_a_joint_at_its_effort_limit_does_not_slow_an_independent_joint(start):
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=2.0)
    weak = rb.Limit(effort=0.01)
    carts = rb.SystemBuilder("carts").body("a", box).body("b", box)
    carts.joint("x", "prismatic", "base", "a").joint("y", "prismatic", "base", "b", limit=weak)
    loop = start(rb.build(carts), **WALKING)
    loop.orders.command(commanded([0, 1], POSITION, 0.4))
    both = walk(loop, 60)
    assert {state.effort[1] for state in both} == {0.01}
    alone = start(rail(), **WALKING)
    alone.orders.command(commanded(0, POSITION, 0.4))
    assert [s.qpos[0] for s in both] == [s.qpos[0] for s in walk(alone, 60)]

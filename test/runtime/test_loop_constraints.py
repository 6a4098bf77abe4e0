# SPDX-License-Identifier: Apache-2.0
"""The loop moves robots with mimic joints, closed loops and driven joints."""

from pathlib import Path

import numpy as np
import pytest
from running import WALKING, states_over, states_until, walk
from support.mechanisms import crank_slider_gap, four_bar

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Trajectory
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.preparation import actuated
from rbdyn_ros.runtime.types import Command

FILE = Path(__file__).parents[2] / "examples" / "crank_slider.yaml"
BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


def gripper(ratio=-0.5, offset=0.1):
    """Return a Model with three joints, in which joint 1 follows joint 0."""
    return rb.build(
        rb.SystemBuilder("gripper")
        .body("a", BOX)
        .body("b", BOX)
        .body("c", BOX)
        .joint("left", "prismatic", "base", "a", axis=(0, 1, 0))
        .joint("right", "prismatic", "base", "b", axis=(0, 1, 0))
        .joint("wheel", "revolute", "base", "c", axis=(0, 0, 1))
        .couple("right", "left", ratio, offset)
    )


def test_every_state_has_the_positions_and_velocities_of_mimic_joints(start):
    loop = start(gripper(), np.array([0.3, 0.0]), **WALKING)
    loop.orders.command(Command.of_efforts(np.array([0, 1]), np.array([2.0, 0.1])))
    states = walk(loop, 200)
    loop.plant.reset()
    states += walk(loop, 100)
    rows = np.array([state.row for state in states])
    qpos, qvel, effort = rows[:, :3], rows[:, 3:6], rows[:, 6:9]
    np.testing.assert_array_equal(qpos[:, 2], -0.5 * qpos[:, 0] + 0.1)
    np.testing.assert_array_equal(qvel[:, 2], -0.5 * qvel[:, 0])
    assert qvel[:, 0].max() > 0.2
    assert set(effort[:, 2]) == {0.0}
    assert set(effort[:, 0]) == {2.0, 0.0}
    # q'' = 2 N / (1 + 0.5^2) kg with the inertia of the mimic joint, and Euler's steps are exact
    moving = np.flatnonzero(effort[:, 0])
    first, last = states[moving[0]], states[moving[-1]]
    gained = last.qvel[0] - first.qvel[0]
    assert gained == pytest.approx(1.6 * 1e-3 * (last.tick - first.tick), rel=1e-9)


def test_the_fault_of_a_diverged_mimic_joint_names_this_joint(start):
    loop = start(gripper(ratio=1e4), command_timeout=100.0)
    loop.orders.command(
        Command.of_efforts(np.array([0]), np.array([1e12]))
    )  # 1e4 m/s^2, and 1e8 m/s^2 for the mimic joint
    last = states_until(loop, lambda state: state.fault >= 0)[-1]
    assert loop.m.jnt_names[last.fault] == "right"
    assert np.isfinite(last.row).all()


def crank_slider():
    """Return the example's Model with gravity in its plane and an actuator only at the crank."""
    m = rb.load(FILE).replaced(jnt_actuated=np.array([1, 0, 0]))
    m.opt.gravity[:] = 3.0, -9.81, 0.0
    return m


def at_angle(m, crank):
    # from this start Newton's method finds the solution with the slider on the right
    return rb.assemble(m, [crank, -1.3 * crank, 0.0], fixed=["main_bearing"])


def potential(m, crank):
    d = rb.make_data(m)
    d.qpos = at_angle(m, crank)
    rb.forward(m, d)
    rb.energy(m, d)
    return d.energy[0]


@pytest.mark.parametrize("policy", ["gravity", "hold"])
def test_the_actuator_of_the_crank_carries_the_mechanism(start, policy):
    m = crank_slider()
    position = at_angle(m, 0.8)
    loop = start(m, position, on_timeout=policy)
    last = states_over(loop, 0.3)[-1]
    # by virtual work the torque is the derivative of the potential energy by the crank's angle
    slope = (potential(m, 0.8 + 1e-5) - potential(m, 0.8 - 1e-5)) / 2e-5
    assert abs(slope) > 1.0
    assert last.effort == pytest.approx([slope, 0.0, 0.0], abs=1e-6)
    assert last.qpos == pytest.approx(position, abs=1e-7)
    assert last.stale == 1


def test_the_policy_hold_brakes_a_moving_mechanism(start):
    m = crank_slider()
    policy = {"on_timeout": "hold", "command_timeout": 0.05}
    loop = start(m, at_angle(m, 0.8), **WALKING | policy)
    for _ in range(20):
        loop.orders.command(Command.of_efforts(np.array([0]), np.array([4.0])))
        walk(loop, 10)
    states = walk(loop, 1400)
    speeds = np.array([state.qvel[0] for state in states])
    assert np.abs(speeds).max() > 2.0
    assert np.abs(states[-1].qvel).max() < 1e-4
    # a step of Euler opens the loop by a term of third order, at 10 rad/s by 1e-6 rad at 0.3 m
    assert max(crank_slider_gap(state.qpos) for state in states) < 1e-5
    assert not any(state.effort[1:].any() for state in states)


def test_a_mechanism_without_efforts_swings_and_stays_closed(start):
    m = crank_slider()
    loop = start(m, at_angle(m, 0.8))
    states = states_over(loop, 1.0)
    assert np.ptp([state.qpos[0] for state in states]) > 1.0
    assert max(crank_slider_gap(state.qpos) for state in states) < 1e-7


def test_a_joint_that_cannot_be_commanded_has_no_share_of_the_efforts(start, tmp_path):
    """A universal joint has an actuator by default, but cannot get a command."""
    path = tmp_path / "universal.yaml"
    pin = "crank_pin: {type: revolute, parent: crank, child: rod, axis: [0, 0, 1],"
    text = FILE.read_text()
    assert pin in text
    path.write_text(text.replace(pin, pin.replace("revolute", "universal") + " axis2: [0, 1, 0],"))
    m = rb.load(path).replaced(jnt_actuated=np.array([1, 1, 0]))
    m.opt.gravity[:] = 3.0, -9.81, 0.0
    position = rb.assemble(m, [0.8, -1.04, 0.0, 0.0], fixed=["main_bearing"])
    last = states_over(start(m, position, on_timeout="gravity"), 0.3)[-1]
    assert last.effort[0] > 1.0
    assert last.qpos == pytest.approx(position, abs=1e-6)


def test_a_diverged_mechanism_moves_again_after_a_reset(start):
    m = crank_slider()
    m.opt.integrator = "rk4"  # rk4 closes loops in trial states, which are NaN here
    loop = start(m, at_angle(m, 0.8))
    loop.orders.command(Command.of_efforts(np.array([0]), np.array([np.nan])))
    states_until(loop, lambda state: state.fault >= 0)
    assert loop.time.diverged
    loop.plant.reset()
    states = states_over(loop, 0.3)
    assert {state.fault for state in states} == {-1}
    assert np.isfinite([state.row for state in states]).all()
    assert np.ptp([state.qpos[0] for state in states]) > 0.01
    assert max(crank_slider_gap(state.qpos) for state in states) < 1e-7


def test_actuated_finds_the_dofs_on_which_actuators_act():
    def chain(**changes):
        builder = rb.SystemBuilder("chain").body("a", BOX).body("b", BOX).body("c", BOX)
        return rb.build(
            builder.joint("one", "revolute", "base", "a", actuated=changes.get("one", True))
            .joint("two", "revolute", "a", "b", actuated=changes.get("two", True))
            .joint("many", "universal", "b", "c", axis=(1, 0, 0), axis2=(0, 1, 0))
            .couple("two", "one", changes.get("ratio", 2.0))
        )

    assert actuated(chain()).tolist() == [1, 0, 0]
    assert actuated(chain(one=False)).tolist() == [1, 0, 0]
    assert actuated(chain(one=False, ratio=0.0)).tolist() == [0, 0, 0]
    assert actuated(chain(one=False, two=False)).tolist() == [0, 0, 0]


def test_a_driven_joint_that_locks_is_a_fault_until_a_reset(start):
    """After a reset the driven crank moves again, and locks again at the end of its range."""
    system = four_bar(0.2, 0.25, 0.12, 0.3).drive("A", Trajectory((0.0, 9.0), ((1.0,), (40.0,))))
    loop = start(rb.build(system), time_mode="fast", command_timeout=1e6)
    tick, stops = 0, []
    for _ in range(2):
        last = states_until(loop, lambda state, tick=tick: state.fault >= 0 and state.tick > tick)[
            -1
        ]
        assert loop.m.jnt_names[last.fault] == "A"
        assert np.isfinite(last.row).all()
        stops.append((last.tick - tick, last.row[:3].copy()))
        tick = last.tick
        loop.plant.reset()
    assert abs(stops[1][0] - stops[0][0]) <= 2
    np.testing.assert_allclose(stops[1][1], stops[0][1], atol=1e-9)


def crank(t, q, qd, qdd):
    q[0] = 1.0 + 2.0 * t
    qd[0] = 2.0
    qdd[0] = 0.0


@pytest.fixture(scope="session", autouse=True)
def compiled_motion():
    """Compile the motion when a test runs, not in each process that collects the tests."""
    rb.register_motion("test_loop_crank")(crank)


def test_no_state_has_the_velocities_of_a_step_that_locks(start):
    """The step that locks computes 3e5 rad/s, and the step before computes 72 rad/s."""
    m = rb.build(four_bar(0.2, 0.25, 0.12, 0.3).drive("A", "test_loop_crank"))
    m.opt.integrator = "rk4"
    loop = start(m, **WALKING)
    states = walk(loop, 350)
    assert states[-1].fault >= 0
    speeds = [np.abs(state.qvel).max() for state in states]
    assert 20.0 < max(speeds) < 100.0

# SPDX-License-Identifier: Apache-2.0
"""The loop simulates faults of the channel, the encoders and the joints."""

import dataclasses
import threading

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, states_over, walk
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.types import EFFORT, POSITION, Faults

H = 1e-3


def faulty(loop, **numbers):
    """Replace all faults from the next tick on; a number applies to every dof."""
    nv = loop.m.nv
    arrays = {
        name: np.full(nv, value)
        for name, value in numbers.items()
        if name.startswith(("encoder", "velocity", "effort"))
    }
    loop.plant.set_faults(dataclasses.replace(Faults.none(nv), **numbers | arrays))


def moving_rail(start, **settings):
    """Return a loop with a frictionless cart that moves at 0.3 m/s."""
    loop = start(rail(), **WALKING, **settings)
    one = np.ones(1, bool)
    loop.plant.set_state(np.zeros(1), np.array([0.3]), one, one)
    return loop


def efforts_of_a_staircase(loop, ticks):
    """Command the effort k before tick k; return the applied efforts (ticks,)."""
    acted = []
    for k in range(ticks):
        loop.orders.command(commanded(0, EFFORT, effort=float(k)))
        acted.append(walk(loop, 1)[0].effort[0])
    return np.array(acted)


@pytest.mark.parametrize("delay", [0, 1, 7, 40])
def test_a_command_arrives_exactly_after_its_delay(start, delay):
    loop = start(rail(), **WALKING)
    faulty(loop, command_delay=delay * H)
    acted = efforts_of_a_staircase(loop, 60)
    np.testing.assert_array_equal(acted, np.maximum(np.arange(60) - delay, 0))


@pytest.mark.parametrize("delay", [1, 7, 40])
def test_a_state_arrives_exactly_after_its_delay(start, delay):
    loop = moving_rail(start)
    begun = loop.time.tick
    faulty(loop, state_delay=delay * H)
    states = walk(loop, 100)
    true = {state.tick: state for state in states}
    for state in states:
        sent = state.tick - delay
        if sent <= begun:  # no state was sent before the delay began
            assert state.measured_tick == -1
        else:
            assert state.measured_tick == sent
            assert state.measured_position[0] == true[sent].qpos[0]
            assert state.measured_velocity[0] == true[sent].qvel[0]
            assert state.measured_effort[0] == true[sent].effort[0]


def test_a_delayed_state_does_not_overtake_an_earlier_state(start):
    loop = moving_rail(start, seed=2)
    faulty(loop, state_delay=2 * H, state_jitter=6 * H)
    states = walk(loop, 800)
    delivered = [state for state in states if state.measured_tick >= 0]
    ticks = [state.measured_tick for state in delivered]
    delays = {state.tick - state.measured_tick for state in delivered}
    assert ticks == sorted(set(ticks))
    # long delays are rare, because a message is lost if a later message would overtake it
    assert set(range(2, 7)) <= delays <= set(range(2, 9))
    true = {state.tick: state.qpos[0] for state in states}
    assert all(s.measured_position[0] == true[s.measured_tick] for s in delivered[10:])


def test_a_delayed_command_does_not_overtake_an_earlier_command(start):
    loop = start(rail(), **WALKING, seed=2)
    faulty(loop, command_delay=2 * H, command_jitter=6 * H)
    acted = efforts_of_a_staircase(loop, 200)
    assert (np.diff(acted) >= 0.0).all()
    assert set(np.arange(200)[10:] - acted[10:]) >= set(range(2, 9))


def test_a_lossy_channel_loses_the_requested_share_of_states(start):
    loop = moving_rail(start, seed=7)
    faulty(loop, state_drop=0.25)
    lost = np.array([state.measured_tick < 0 for state in walk(loop, 4000)])
    # the bound is five standard deviations of a binomial distribution, sqrt(4000 x 0.25 x 0.75)
    assert abs(lost.sum() - 1000) < 137
    pairs = (lost[1:] & lost[:-1]).sum()
    assert abs(pairs - 250) < 100  # the losses are independent
    again = moving_rail(start, seed=7)
    faulty(again, state_drop=0.25)
    assert [state.measured_tick < 0 for state in walk(again, 300)] == lost[:300].tolist()


def test_the_last_received_command_stays_in_force_after_a_lost_command(start):
    loop = start(rail(), **WALKING, seed=7)
    faulty(loop, command_drop=0.5)
    acted = efforts_of_a_staircase(loop, 400)
    arrived = acted == np.arange(400)
    assert abs(arrived.sum() - 200) < 50
    held = np.flatnonzero(~arrived[1:]) + 1
    np.testing.assert_array_equal(acted[held], acted[held - 1])


def test_a_lost_link_transmits_no_command_and_no_state(start):
    loop = start(rail(), **WALKING)
    loop.orders.command(commanded(0, EFFORT, effort=1.0))
    walk(loop, 1)
    faulty(loop, link_loss=True)
    loop.orders.command(commanded(0, EFFORT, effort=2.0))
    for state in walk(loop, 5):
        assert (state.effort[0], state.measured_tick) == (1.0, -1)
    faulty(loop)
    last = walk(loop, 1)[0]
    assert (last.effort[0], last.measured_tick) == (1.0, 7)  # a lost command never arrives
    loop.orders.command(commanded(0, EFFORT, effort=3.0))
    assert walk(loop, 1)[0].effort[0] == 3.0


def test_delayed_commands_arrive_when_the_fault_ends(start):
    loop = start(rail(), **WALKING)
    faulty(loop, command_delay=0.5)
    loop.orders.command(commanded(0, EFFORT, effort=2.0))
    assert walk(loop, 5)[-1].effort[0] == 0.0
    faulty(loop)
    assert walk(loop, 1)[0].effort[0] == 2.0


def test_a_delay_that_the_channel_cannot_store_is_refused(start):
    loop = start(rail(), **WALKING)
    with refused(rb.ParameterError, "fault-delay", "faults.command_delay"):
        faulty(loop, command_delay=2.0)
    assert loop.plant.faults.command_delay == 0.0


def test_measured_positions_have_the_resolution_and_the_bias_of_the_encoders(start):
    loop = moving_rail(start)
    faulty(loop, encoder_resolution=0.01, encoder_bias=0.104)
    for state in walk(loop, 200):
        assert state.measured_position[0] == np.rint((state.qpos[0] + 0.104) / 0.01) * 0.01
        assert state.measured_velocity[0] == state.qvel[0]


def test_noise_has_the_requested_standard_deviation_and_is_independent(start):
    loop = start(bundled_arm(), **WALKING, seed=11)
    faulty(loop, encoder_noise=2e-3, velocity_noise=5e-2, effort_noise=0.125)
    states = walk(loop, 3000)
    rows = {
        2e-3: np.array([s.measured_position - s.qpos for s in states]),
        5e-2: np.array([s.measured_velocity - s.qvel for s in states]),
        0.125: np.array([s.effort for s in states]),  # without a command this is only noise
    }
    for size, numbers in rows.items():
        n = len(numbers)
        assert (np.abs(numbers.mean(0)) < 4.5 * size / np.sqrt(n)).all()
        assert (np.abs(numbers.std(0) - size) < 4.5 * size / np.sqrt(2 * n)).all()
        between = np.corrcoef(numbers.T) - np.eye(7)
        assert np.abs(between).max() < 4.5 / np.sqrt(n)
    np.testing.assert_array_equal(states[-1].measured_effort, states[-1].effort)


def test_a_servo_moves_the_measured_position_of_a_biased_encoder_to_the_goal(start):
    loop = start(rail(), **WALKING)
    faulty(loop, encoder_bias=0.05)
    loop.orders.command(commanded(0, POSITION, 0.2))
    assert walk(loop, 300)[-1].qpos[0] == pytest.approx(0.15, abs=1e-9)


ARM = """<robot name="two">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.2 0 0.05"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="one" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
  <joint name="two" type="{}"><parent link="a"/><child link="b"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
  <joint name="three" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.4 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
</robot>"""


def test_a_stuck_joint_acts_like_a_fixed_joint_until_the_fault_ends(start):
    """The joint is stuck at zero, where the reference has a fixed joint."""
    loop = start(rb.load_urdf(ARM.format("revolute")), **WALKING)
    faulty(loop, stuck=np.array([False, True, False]))
    loop.orders.command(commanded([0, 1, 2], EFFORT, effort=[3.0, 50.0, 0.1]))
    welded = rb.load_urdf(ARM.format("fixed"))
    d = rb.make_data(welded)
    d.qfrc_applied = [3.0, 0.1]
    for state in walk(loop, 300):
        rb.step(welded, d)
        np.testing.assert_allclose(state.qpos[[0, 2]], d.qpos, atol=1e-6)
        assert abs(state.qpos[1]) < 1e-9
    assert np.abs(d.qpos).min() > 1e-2
    faulty(loop)
    assert walk(loop, 50)[-1].qvel[1] > 1.0


def test_faults_begin_and_end_while_the_loop_runs(start):
    m = bundled_arm()
    m.opt.gravity[:] = 0.0  # the arm rests without a servo
    loop = start(m)
    for numbers in ({"encoder_bias": 0.5, "state_delay": 5 * H}, {}):
        faulty(loop, **numbers)
        states_over(loop, 0.05)
        state = loop.readout.latest()
        bias = state.measured_position - state.qpos
        np.testing.assert_allclose(bias, 0.5 if numbers else 0.0, atol=1e-2)
        assert state.tick - state.measured_tick == (5 if numbers else 0)


@pytest.mark.parametrize("faults_first", [True, False])
def test_faults_and_a_new_model_from_two_threads_both_take_effect(
    start, monkeypatch, faults_first
):
    loop = start(rail(), **WALKING)
    plant, heavy = loop.plant, rail().replaced()
    heavy.opt.gravity = (0.0, 0.0, -1.6)
    acts = [lambda: faulty(loop, stuck=np.ones(1, bool)), lambda: plant.exchange(heavy)]
    first, second = acts if faults_first else acts[::-1]
    edit, threads = plant._requests.edit, []

    def edit_amid(*arguments):
        if not threads:  # the second change begins during the first
            threads.append(threading.Thread(target=second))
            threads[0].start()
            threads[0].join(0.1)
        edit(*arguments)

    monkeypatch.setattr(plant._requests, "edit", edit_amid)
    first()
    threads[0].join()
    assert plant.faults.stuck.all()
    assert plant.m.opt.gravity.tolist() == [0.0, 0.0, -1.6]
    assert plant.m.dof_armature[0] > 1e6  # armature of a stuck joint

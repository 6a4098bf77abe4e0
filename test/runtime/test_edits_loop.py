# SPDX-License-Identifier: Apache-2.0
"""Requests change state, time and robot of a loop between two ticks."""

import threading

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, wait_until, walk
from support.refusals import refused
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.types import EFFORT, POSITION, Wrench

ALL = np.arange(7)


def test_set_state_sets_only_the_given_coordinates(start):
    loop = start(bundled_arm(), **WALKING)
    loop.orders.command(commanded(ALL, EFFORT, effort=1.0))
    before = walk(loop, 30)[-1]
    qpos, qvel = np.linspace(0.1, 0.7, 7), np.linspace(-1.0, 1.0, 7)
    loop.plant.set_state(qpos, qvel, ALL < 3, ALL > 4)
    state = loop.readout.latest()
    assert (state.tick, state.epoch, state.time) == (31, 0, before.time)
    np.testing.assert_array_equal(state.qpos, np.where(ALL < 3, qpos, before.qpos))
    np.testing.assert_array_equal(state.qvel, np.where(ALL > 4, qvel, before.qvel))
    assert not state.qacc.any()
    np.testing.assert_array_equal(state.measured_position, state.qpos)
    assert (walk(loop, 1)[0].effort == 1.0).all()  # commands still act


def test_set_state_sets_all_joints_in_one_tick_while_the_loop_runs(start):
    """All positions of each state are nearly equal, so no state has only some of the jumps."""
    loop = start(bundled_arm(), on_timeout="hold")
    seen = []
    for k in range(50):
        value = 0.01 * (k + 1)
        loop.plant.set_state(np.full(7, value), np.zeros(7), ALL < 7, ALL < 7)
        while state := loop.readout.next_state(0.0):
            seen.append(state)
    assert len(seen) > 25
    # a joint moves far less in a tick than in a jump
    assert all(np.ptp(s.qpos) < 1e-3 for s in seen)
    assert seen[-1].qpos[0] > 0.25


def test_set_state_does_not_skip_ticks(start):
    loop = start(rail(), start_paused=False)
    for _ in range(100):
        loop.plant.set_state(np.zeros(1), np.ones(1), ALL[:1] < 0, ALL[:1] < 1)
    loop.time.pause(True)
    assert loop.readout.timing().ticks == loop.time.tick
    assert loop.readout.latest().qpos[0] > 0.5e-3 * loop.time.tick


@pytest.mark.parametrize("time", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_a_reset_restarts_time_and_state_as_requested(start, time, state):
    begin = np.linspace(-0.2, 0.3, 7)
    loop = start(bundled_arm(), begin, **WALKING)
    loop.orders.command(commanded(ALL, EFFORT, effort=1.0))
    loop.orders.push(Wrench(3, np.zeros(3), np.ones(3), np.ones(3), False, 9.0))
    before = walk(loop, 30)[-1]
    loop.plant.reset(time=time, state=state)
    after = loop.readout.latest()
    assert (after.tick, after.epoch) == ((0, 1) if time else (31, 0))
    assert after.time == (0.0 if time else before.time)
    np.testing.assert_array_equal(after.qpos, begin if state else before.qpos)
    np.testing.assert_array_equal(after.qvel, np.zeros(7) if state else before.qvel)
    following = walk(loop, 1)[0]
    assert (following.effort == (0.0 if state else 1.0)).all()
    assert following.xfrc.any() != state
    assert following.stale == (7 if state else 0)


def diverged(start):
    loop = start(bundled_arm(), **WALKING)
    loop.orders.command(commanded([0], EFFORT, effort=np.nan))
    loop.time.step(3)  # `step` returns, although the state diverges
    assert loop.time.diverged
    assert loop.time.tick == 0
    return loop


def test_a_reset_ends_a_fault(start):
    loop = diverged(start)
    loop.plant.reset()
    assert not loop.time.diverged
    assert walk(loop, 5)[-1].tick == 6


def test_a_new_state_ends_a_fault(start):
    loop = diverged(start)
    loop.plant.set_state(np.zeros(7), np.zeros(7), ALL < 7, ALL < 7)
    loop.orders.command(commanded([0], EFFORT, effort=0.0))
    assert walk(loop, 5)[-1].fault == -1


def test_steps_of_simultaneous_requests_add_up(start):
    loop = start(bundled_arm(), **WALKING | {"time_mode": "realtime"})
    threads = [threading.Thread(target=loop.time.step, args=(n,)) for n in (3, 5, 7, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: loop.time.tick == 24)
    loop.time.step(1)
    assert loop.time.tick == 25
    assert loop.time.paused


def steps_that_are_cancelled(loop):
    with refused(rb.RbdynError, "cancelled"):
        loop.time.step(1_000_000)  # 1000 s; another thread cancels the steps


def test_steps_can_be_cancelled_at_any_time(start):
    """Afterwards time is paused, so a single step advances the tick by one."""
    loop = start(bundled_arm(), **WALKING | {"time_mode": "realtime"})
    for _ in range(10):
        thread = threading.Thread(target=steps_that_are_cancelled, args=(loop,))
        thread.start()
        tick = loop.time.tick
        wait_until(lambda: loop.time.tick > tick + 2)  # noqa: B023 - called at once
        loop.time.cancel_steps()
        thread.join()
        tick = loop.time.tick
        loop.time.step(1)
        assert tick < loop.time.tick <= tick + 2  # a cancelled step may end later


def heavier(gravity):
    m = bundled_arm()
    m.opt.gravity[:] = gravity
    return m


def test_an_exchange_of_the_model_changes_gravity_between_two_ticks(start):
    loop = start(bundled_arm(), **WALKING)
    for gravity in ((0.0, 0.0, -9.81), (3.0, 0.0, -1.62), (0.0, 0.0, 0.0)):
        plant = heavier(gravity)
        d, now = rb.make_data(plant), loop.readout.latest()
        d.qpos, d.qvel, d.stick_qfrc = now.qpos, now.qvel, now.stick_qfrc
        loop.plant.exchange(plant)
        for state in walk(loop, 40):
            rb.step(plant, d)
            assert (state.qpos == d.qpos).all()
            assert (state.qvel == d.qvel).all()


def test_a_servo_uses_the_new_model_after_an_exchange_of_models(start):
    """The servo compensates weight and damping of the new Model, whose friction law is smooth."""
    loop = start(smoothly(bundled_arm()), **WALKING)
    changed = smoothly(heavier((2.0, 0.0, -20.0)).replaced(dof_damping=np.full(7, 0.7)))
    loop.plant.exchange(changed)
    loop.orders.command(commanded(ALL, POSITION, 0.2))
    last = walk(loop, 1500)[-1]
    assert last.qpos == pytest.approx([0.2] * 7, abs=1e-6)
    d = rb.make_data(changed)
    d.qpos = last.qpos
    rb.forward(changed, d)
    np.testing.assert_allclose(last.effort, d.qfrc_bias, atol=1e-3)


def test_exchanged_models_stay_in_memory_while_the_loop_needs_them(start):
    loop = start(bundled_arm(), on_timeout="hold")
    for k in range(100):
        loop.plant.exchange(heavier((0.0, 0.0, -9.81 - 0.01 * k)))
    assert loop.readout.latest().fault == -1
    assert loop.plant.m.opt.gravity[2] == -9.81 - 0.99


def test_calls_of_a_stopped_loop_have_no_effect_or_are_refused(start):
    """Another thread may not know yet that the loop has stopped."""
    loop = start(rail())
    loop.stop()
    loop.orders.command(commanded(0, EFFORT))
    loop.orders.clear_wrenches()
    for edit in (
        loop.plant.reset,
        lambda: loop.plant.set_state(np.zeros(1), np.zeros(1), ALL[:1] < 1, ALL[:1] < 1),
    ):
        with refused(rb.RbdynError, "stopped"):
            edit()
    assert loop.readout.latest().fault == -1
    loop.stop()


def test_next_state_waits_until_a_state_arrives(start):
    loop = start(rail(), **WALKING)
    while loop.readout.next_state(0.0):
        pass
    threading.Timer(0.1, loop.time.step).start()
    assert loop.readout.next_state(60.0).tick == 1


def test_a_loop_answers_requests_during_a_very_long_tick(start):
    """A tick takes 50 s of wall time, but the loop does not wait for its end."""
    loop = start(rail(), real_time_factor=0.02, control_decimation=1000)
    loop.time.pause(True)
    loop.plant.reset()
    loop.stop()

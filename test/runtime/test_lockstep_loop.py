# SPDX-License-Identifier: Apache-2.0
"""In lock-step the loop computes a tick when each joint has a command for this tick."""

import random
import threading
import time

import numpy as np
import pytest
from running import bundled_arm, commanded, wait_until

from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.types import EFFORT

LOCKED = {"time_mode": "lockstep", "lockstep_timeout": 0.0, "start_paused": True}
ALL = np.arange(7)


def begin_locked(start, **settings):
    """Return a new loop that has got a command for tick 0, and waits for a command for tick 1."""
    loop = start(bundled_arm(), **LOCKED | settings)
    loop.orders.command(commanded(ALL, EFFORT), tick=0)
    loop.time.pause(False)
    wait_until(lambda: loop.time.tick == 1 and loop.time.waiting)
    return loop


def stays_waiting(loop, tick):
    time.sleep(0.03)  # the loop polls several times
    return loop.time.waiting and loop.time.tick == tick


def test_a_tick_waits_for_every_joint(start):
    loop = begin_locked(start)
    loop.orders.command(commanded([0, 1, 2], EFFORT, effort=0.1), tick=1)
    assert stays_waiting(loop, 1)
    loop.orders.command(commanded([3, 4, 5], EFFORT, effort=0.2), tick=1)
    assert stays_waiting(loop, 1)
    loop.orders.command(commanded([6], EFFORT, effort=0.3), tick=1)
    wait_until(lambda: loop.time.tick == 2)
    wait_until(lambda: loop.readout.latest().tick == 2)
    assert loop.readout.latest().effort.tolist() == [0.1] * 3 + [0.2] * 3 + [0.3]


def test_lockstep_waits_only_for_the_chosen_joints(start):
    loop = start(bundled_arm(), **LOCKED, lockstep_dofs=np.array([2, 5]))
    loop.orders.command(commanded([2, 5], EFFORT, effort=0.1), tick=0)
    loop.time.pause(False)
    wait_until(lambda: loop.time.tick == 1 and loop.time.waiting)


def test_lockstep_does_not_wait_for_a_passive_joint(start):
    """A joint with an effort limit of 0, such as a caster, needs no command."""
    m = bundled_arm()
    limits = m.jnt_effort.copy()
    limits[3] = 0.0
    loop = start(m.replaced(jnt_effort=limits), **LOCKED)
    loop.orders.command(commanded(np.delete(ALL, 3), EFFORT, effort=0.1), tick=0)
    loop.time.pause(False)
    wait_until(lambda: loop.time.tick == 1 and loop.time.waiting)


def test_unanswered_names_the_joints_for_which_lockstep_waits(start):
    loop = begin_locked(start)
    assert loop.unanswered == tuple(loop.m.jnt_names)
    loop.orders.command(commanded([0, 1, 2, 4, 5, 6], EFFORT), tick=1)
    wait_until(lambda: loop.unanswered == (loop.m.jnt_names[3],))


def test_unanswered_names_the_joints_that_caused_a_timeout(start):
    loop = begin_locked(start, lockstep_timeout=0.05)
    loop.orders.command(commanded([0, 1, 2, 4, 5, 6], EFFORT), tick=1)
    wait_until(lambda: loop.readout.lockstep_timeouts == 1 and not loop.time.locked)
    assert loop.unanswered == (loop.m.jnt_names[3],)


@pytest.mark.parametrize("wrong", [0, 2, 1000, None])
def test_a_command_for_another_tick_is_ignored(start, wrong):
    loop = begin_locked(start)
    loop.orders.command(commanded(ALL, EFFORT, effort=5.0), tick=wrong)
    assert stays_waiting(loop, 1)
    loop.orders.command(commanded(ALL, EFFORT, effort=0.5), tick=1)
    wait_until(lambda: loop.readout.latest().tick == 2)
    assert (loop.readout.latest().effort == 0.5).all()


@pytest.mark.parametrize("wrong", [3, 40])
def test_a_command_for_a_later_tick_is_ignored_while_time_runs_freely(start, wrong):
    loop = start(bundled_arm(), **LOCKED | {"lockstep_timeout": 0.05})
    loop.time.step(10)
    loop.orders.command(commanded(ALL, EFFORT, effort=5.0), tick=wrong)
    loop.time.step(2)
    assert not loop.readout.latest().effort.any()


def answers(loop, efforts, ticks, naps=0.0):
    """Answer every state, a share `naps` of them late; return the hash of the last state."""
    chance = random.Random(1)
    while (state := loop.readout.next_state(60.0)) is None or state.tick < ticks:
        if state is None or loop.settings.lockstep_timeout > 0.0:
            continue
        if chance.random() < naps:
            time.sleep(chance.uniform(0.0, 2e-3))
        tau = efforts(state)
        loop.orders.command(commanded(ALL, EFFORT, effort=tau), tick=state.tick)
    return state.hash()


def swinging(state):
    return 3.0 * np.sin(0.01 * state.tick + ALL) - 2.0 * state.qpos


def run_with_a_controller(start, ticks, naps):
    """Run a loop with a controller in a thread; return the hash of the last state."""
    loop = start(bundled_arm(), **LOCKED)
    found = []
    thread = threading.Thread(
        target=lambda: found.append(answers(loop, swinging, ticks, naps)), daemon=True
    )
    thread.start()
    wait_until(lambda: loop._shared.due[6] == 0)  # the controller has answered
    loop.time.pause(False)
    thread.join(600.0)
    assert found, f"the controller has not finished at tick {loop.time.tick}"
    loop.stop()
    return found[0]


def test_ten_thousand_ticks_in_lockstep_repeat_bit_for_bit(start):
    first = run_with_a_controller(start, 10_000, 0.02)
    assert run_with_a_controller(start, 10_000, 0.0) == first


def test_two_programs_can_command_different_joints_in_lockstep(start):
    loop = start(bundled_arm(), **LOCKED)
    states = {}

    def command_half(dofs, effort):
        while loop.time.tick < 500:
            tick = loop.time.tick
            loop.orders.command(commanded(dofs, EFFORT, effort=effort), tick=tick)
            while loop.time.tick == tick:
                time.sleep(1e-4)

    threads = [
        threading.Thread(target=command_half, args=(ALL[:3], 0.5), daemon=True),
        threading.Thread(target=command_half, args=(ALL[3:], -0.25), daemon=True),
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: not loop._shared.due.any())
    loop.time.pause(False)
    while loop.time.tick < 500:
        state = loop.readout.next_state(1.0)
        states |= {state.tick: state} if state else {}
    for thread in threads:
        thread.join(600.0)
    efforts = {tuple(state.effort) for tick, state in states.items() if tick > 0}
    assert efforts == {(0.5,) * 3 + (-0.25,) * 4}


def test_time_runs_freely_between_a_timeout_and_the_next_command(start):
    loop = begin_locked(start, lockstep_timeout=0.05, command_timeout=0.02)
    wait_until(lambda: loop.readout.lockstep_timeouts == 1 and loop.time.tick > 5)
    assert not loop.time.waiting
    loop.time.pause(True)
    tick = loop.time.tick
    loop.orders.command(commanded(ALL, EFFORT, effort=0.5), tick=tick)
    loop.time.pause(False)
    wait_until(lambda: loop.readout.lockstep_timeouts == 2)
    assert loop.time.tick >= tick + 1


def test_a_loop_that_waits_for_commands_answers_requests(start):
    loop = begin_locked(start)
    assert stays_waiting(loop, 1)
    loop.time.pause(True)
    loop.time.pause(False)
    loop.plant.reset()
    assert loop.time.tick == 2
    loop.plant.set_state(np.full(7, 0.1), np.zeros(7), ALL < 7, ALL < 7)
    assert loop.time.tick == 3
    wait_until(lambda: loop.time.waiting)
    loop.stop()
    assert loop.time.tick == 3


def test_the_next_step_uses_a_command_that_was_sent_during_a_pause(start):
    loop = begin_locked(start)
    loop.time.pause(True)
    loop.orders.command(commanded(ALL, EFFORT, effort=0.75), tick=1)
    loop.time.step(1)
    assert (loop.readout.latest().tick, loop.readout.latest().effort[0]) == (2, 0.75)


@pytest.mark.parametrize("halves", [False, True])
def test_the_loop_ignores_a_command_from_before_a_reset(start, halves):
    """A reset of time repeats tick 0, but a command for the first tick 0 does not act again."""
    loop = start(bundled_arm(), **LOCKED)
    loop.orders.command(commanded(ALL, EFFORT, effort=5.0), tick=0)
    loop.time.step(1)
    loop.plant.reset(time=True)
    if halves:
        loop.orders.command(commanded(ALL[:3], EFFORT, effort=0.5), tick=0)
    loop.time.pause(False)
    time.sleep(0.03)
    loop.orders.command(commanded(ALL, EFFORT, effort=0.5), tick=loop.time.tick)
    wait_until(lambda: loop.readout.latest().effort[0] != 0.0)
    assert (loop.readout.latest().effort == 0.5).all()


def test_steps_that_wait_for_commands_can_be_cancelled(start):
    loop = begin_locked(start)
    loop.time.pause(True)
    loop.time.request_steps(5)
    loop.time.cancel_steps()
    loop.time.wait_for_steps()
    loop.orders.command(commanded(ALL, EFFORT), tick=1)
    time.sleep(0.03)
    assert loop.time.tick == 1
    assert not loop.time.waiting


def test_time_runs_freely_before_the_first_command(start):
    loop = start(bundled_arm(), time_mode="lockstep", lockstep_timeout=0.0)
    wait_until(lambda: loop.time.tick > 20)
    assert not loop.time.waiting

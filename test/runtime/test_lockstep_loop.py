"""Lock-step: a tick for each complete set of commands stamped for it, and what happens without."""

import random
import threading
import time

import numpy as np
import pytest
from running import bundled_arm, commanded, wait_until

from rbdyn_ros.engine import jit

if jit.DISABLED:
    pytest.skip("the loop is compiled only", allow_module_level=True)

from rbdyn_ros.runtime.orders import EFFORT

LOCKED = {"time_mode": "lockstep", "lockstep_timeout": 0.0, "start_paused": True}
ALL = np.arange(7)


def begin_locked(start, **settings):
    """Start with a command for tick 0; after it the loop waits for one for tick 1."""
    runtime = start(bundled_arm(), **LOCKED | settings)
    runtime.command(commanded(ALL, EFFORT), tick=0)
    assert runtime.pause(False)
    wait_until(lambda: runtime.tick == 1 and runtime.waiting)
    return runtime


def stays_waiting(runtime, tick):
    time.sleep(0.03)  # several looks of the loop
    return runtime.waiting and runtime.tick == tick


def test_a_tick_waits_for_every_joint(start):
    runtime = begin_locked(start)
    runtime.command(commanded([0, 1, 2], EFFORT, effort=0.1), tick=1)
    assert stays_waiting(runtime, 1)
    runtime.command(commanded([3, 4, 5], EFFORT, effort=0.2), tick=1)
    assert stays_waiting(runtime, 1)
    runtime.command(commanded([6], EFFORT, effort=0.3), tick=1)
    wait_until(lambda: runtime.tick == 2)
    wait_until(lambda: runtime.latest().tick == 2)
    assert runtime.latest().effort.tolist() == [0.1] * 3 + [0.2] * 3 + [0.3]


def test_only_the_joints_that_count_are_waited_for(start):
    runtime = start(bundled_arm(), **LOCKED, lockstep_dofs=np.array([2, 5]))
    runtime.command(commanded([2, 5], EFFORT, effort=0.1), tick=0)
    assert runtime.pause(False)
    wait_until(lambda: runtime.tick == 1 and runtime.waiting)


@pytest.mark.parametrize("wrong", [0, 2, 1000, None])
def test_a_command_for_another_tick_does_not_count(start, wrong):
    runtime = begin_locked(start)
    runtime.command(commanded(ALL, EFFORT, effort=5.0), tick=wrong)
    assert stays_waiting(runtime, 1)
    runtime.command(commanded(ALL, EFFORT, effort=0.5), tick=1)
    wait_until(lambda: runtime.latest().tick == 2)
    assert (runtime.latest().effort == 0.5).all()


@pytest.mark.parametrize("wrong", [3, 40])
def test_nor_does_it_while_time_runs_free(start, wrong):
    runtime = start(bundled_arm(), **LOCKED | {"lockstep_timeout": 0.05})
    assert runtime.step(10)
    runtime.command(commanded(ALL, EFFORT, effort=5.0), tick=wrong)
    assert runtime.step(2)
    assert not runtime.latest().effort.any()


def answers(runtime, efforts, ticks, naps=0.0):
    """Answer every state with a command for its tick, like a controller; return the hash."""
    chance = random.Random(1)
    while (state := runtime.next_state(20.0)) is None or state.tick < ticks:
        if state is None or runtime.settings.lockstep_timeout > 0.0:
            continue
        if chance.random() < naps:
            time.sleep(chance.uniform(0.0, 2e-3))
        tau = efforts(state)
        runtime.command(commanded(ALL, EFFORT, effort=tau), tick=state.tick)
    return state.hash()


def swinging(state):
    return 3.0 * np.sin(0.01 * state.tick + ALL) - 2.0 * state.qpos


def run_with_a_controller(start, ticks, naps):
    """10,000 ticks and a controller in a thread that is late now and then."""
    runtime = start(bundled_arm(), **LOCKED)
    found = []
    thread = threading.Thread(
        target=lambda: found.append(answers(runtime, swinging, ticks, naps)), daemon=True
    )
    thread.start()
    wait_until(lambda: runtime._shared.due[6] == 0)  # its answer to the state at the start
    assert runtime.pause(False)
    thread.join(60.0)
    assert found, f"the controller is stuck at tick {runtime.tick}"
    runtime.stop()
    return found[0]


def test_ten_thousand_ticks_are_the_same_bit_for_bit(start):
    first = run_with_a_controller(start, 10_000, 0.02)
    assert run_with_a_controller(start, 10_000, 0.0) == first


def test_two_commanders_share_the_joints(start):
    runtime = start(bundled_arm(), **LOCKED)
    states = {}

    def command_half(dofs, effort):
        while runtime.tick < 500:
            tick = runtime.tick
            runtime.command(commanded(dofs, EFFORT, effort=effort), tick=tick)
            while runtime.tick == tick:
                time.sleep(1e-4)

    threads = [
        threading.Thread(target=command_half, args=(ALL[:3], 0.5), daemon=True),
        threading.Thread(target=command_half, args=(ALL[3:], -0.25), daemon=True),
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: not runtime._shared.due.any())
    assert runtime.pause(False)
    while runtime.tick < 500:
        state = runtime.next_state(1.0)
        states |= {state.tick: state} if state else {}
    for thread in threads:
        thread.join(20.0)
    efforts = {tuple(state.effort) for tick, state in states.items() if tick > 0}
    assert efforts == {(0.5,) * 3 + (-0.25,) * 4}


def test_given_up_time_runs_free_until_the_next_command(start):
    runtime = begin_locked(start, lockstep_timeout=0.05, command_timeout=0.02)
    wait_until(lambda: runtime.lockstep_timeouts == 1 and runtime.tick > 5)
    assert not runtime.waiting
    assert runtime.pause(True)
    tick = runtime.tick
    runtime.command(commanded(ALL, EFFORT, effort=0.5), tick=tick)
    assert runtime.pause(False)
    wait_until(lambda: runtime.lockstep_timeouts == 2)  # it was locked again, and waited again
    assert runtime.tick >= tick + 1


def test_who_waits_for_ever_still_answers(start):
    runtime = begin_locked(start)
    assert stays_waiting(runtime, 1)
    assert runtime.pause(True)
    assert runtime.pause(False)
    assert runtime.reset()
    assert runtime.tick == 2
    assert runtime.set_state(np.full(7, 0.1), np.zeros(7), ALL < 7, ALL < 7)
    assert runtime.tick == 3
    wait_until(lambda: runtime.waiting)
    runtime.stop()
    assert runtime.tick == 3


def test_while_paused_the_command_for_the_standing_tick_is_taken(start):
    runtime = begin_locked(start)
    assert runtime.pause(True)
    runtime.command(commanded(ALL, EFFORT, effort=0.75), tick=1)
    assert runtime.step(1)
    assert (runtime.latest().tick, runtime.latest().effort[0]) == (2, 0.75)


@pytest.mark.parametrize("halves", [False, True])
def test_a_command_from_before_a_reset_does_not_count(start, halves):
    """Time begins anew, so tick 0 comes twice; a stamp of the first is not for the second."""
    runtime = start(bundled_arm(), **LOCKED)
    runtime.command(commanded(ALL, EFFORT, effort=5.0), tick=0)
    assert runtime.step(1)
    assert runtime.reset(time=True)
    if halves:
        runtime.command(commanded(ALL[:3], EFFORT, effort=0.5), tick=0)
    assert runtime.pause(False)
    time.sleep(0.03)
    runtime.command(commanded(ALL, EFFORT, effort=0.5), tick=runtime.tick)
    wait_until(lambda: runtime.latest().effort[0] != 0.0)
    assert (runtime.latest().effort == 0.5).all()


def test_steps_that_wait_for_commands_can_be_taken_back(start):
    runtime = begin_locked(start)
    assert runtime.pause(True)
    assert not runtime.step(5)  # nobody commands
    runtime.cancel_steps()
    runtime.command(commanded(ALL, EFFORT), tick=1)
    time.sleep(0.03)
    assert runtime.tick == 1
    assert not runtime.waiting


def test_time_runs_free_before_the_first_command(start):
    runtime = start(bundled_arm(), time_mode="lockstep", lockstep_timeout=0.0)
    wait_until(lambda: runtime.tick > 20)
    assert not runtime.waiting

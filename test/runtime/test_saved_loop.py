# SPDX-License-Identifier: Apache-2.0
"""A loop that loads a saved state repeats the future of this state to the last bit."""

import dataclasses

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, walk
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime import saved_loop, shared
from rbdyn_ros.runtime.types import EFFORT, POSITION, Faults, TrajectoryOrder, Wrench

ALL = np.arange(7)
NOISY = dataclasses.replace(
    Faults.none(7),
    command_delay=0.004,
    command_jitter=0.003,
    command_drop=0.2,
    state_delay=0.002,
    state_jitter=0.004,
    state_drop=0.1,
    encoder_noise=np.full(7, 1e-3),
    velocity_noise=np.full(7, 1e-2),
    effort_noise=np.full(7, 0.1),
)

#: Fields that a saved state lacks: settings, requests, Models, mailboxes and statistics.
LIVE = {
    *("asked", "done", "period", "decimation", "time_mode", "timeout", "policy"),
    *("lockstep_timeout", "every", "report_current"),
    *("states_wakeup", "orders_wakeup"),
    *("models", "plant", "nominal", "braked_plant", "row_address", "still_address", "start_qpos"),
    *("dof_acts", "dof_drive", "dof_effort", "dof_low", "dof_high", "dof_speed", "dof_qposadr"),
    *("dof_time", "body_group", "noise_stream", "part", "nheld", "dof_held", "push_now"),
    *("dof_required", "fault_words", "fault_floats", "push_inbox_words", "push_inbox_floats"),
    *("command_version", "command_words", "command_floats", "push_version", "push_words"),
    *("push_floats", "state_version", "state_slots", "state_float_slots", "push_newest"),
    *("deadline", "woken", "elapsed", "halted", "waiting", "performed", "loaded"),
    *("port", "letter_words", "letter_floats"),
    *("ticks", "overruns", "latest", "longest", "active", "missed", "clamped", "timeouts", "age"),
    *("lateness", "work", "saved", "before", "scratch"),
}


def test_every_field_of_a_loop_is_part_of_the_saved_state_or_an_exception():
    names = {field.name for field in shared.FIELDS if not field.inside}
    others = {name for name in names if name.split("_")[0] in ("edit", "stream")}
    assert names - others - LIVE == {*saved_loop.SAVED, *saved_loop.UNDER_WAY}


def seen(states):
    """Return tick, measured_tick, stale, tracking, saturated and the row of each state."""
    return [
        (s.tick, s.measured_tick, s.stale, s.tracking, s.saturated, s.row.tobytes())
        for s in states
    ]


def trajectory():
    points = np.array([[0.3, -0.3], [0.6, 0.1], [0.0, 0.0]])
    rest = np.zeros((3, 2))
    return TrajectoryOrder(np.array([1, 4]), np.array([0.05, 0.1, 0.2]), points, rest, rest, 3)


def set_going(loop):
    """Give the loop orders of all kinds, some of which still act afterwards."""
    loop.plant.set_faults(NOISY)
    loop.orders.command(commanded(ALL[:1], POSITION, position=0.4))
    walk(loop, 20)
    loop.orders.track(trajectory())
    loop.orders.push(Wrench(3, np.zeros(3), np.ones(3), np.ones(3), False, 0.055))
    walk(loop, 15)
    loop.orders.command(commanded(ALL[5:], EFFORT, effort=3.0))
    loop.orders.push(Wrench(5, np.zeros(3), np.ones(3), np.zeros(3), True, 0.02), "stream")


def test_a_loop_with_a_loaded_state_repeats_the_future_of_the_state(start):
    loop = start(bundled_arm(), **WALKING, seed=5, on_timeout="gravity")
    set_going(loop)
    saved = loop.save_state()
    begin = loop.readout.latest()
    expected = seen(walk(loop, 60))
    assert any(s[1] == -1 for s in expected)  # some states were lost

    # these orders belong to another future, and may not act after the load
    loop.orders.command(commanded(ALL, EFFORT, effort=-2.0))
    loop.orders.push(Wrench(6, np.zeros(3), 9.0 * np.ones(3), np.zeros(3), False, 50.0), "stream")
    loop.orders.track(trajectory())
    walk(loop, 30)
    loop.plant.reset(time=True, seed=77)
    walk(loop, 30)

    for _ in range(2):
        loop.load_state(saved)
        state = loop.readout.latest()
        assert seen([state])[0][:4] == seen([begin])[0][:4]
        assert state.row.tobytes() == begin.row.tobytes()
        assert state.hash() == begin.hash()
        assert state.epoch > begin.epoch
        assert len(loop.orders.wrenches()) == 2
        assert seen(walk(loop, 60)) == expected
    # new orders still act
    loop.orders.command(commanded(ALL[:2], EFFORT, effort=1.5))
    assert (walk(loop, 40)[-1].effort[:2] != expected[-1][-1][:2]).all()


def test_lockstep_waits_for_commands_at_the_loaded_tick(start):
    from rbdyn_ros.runtime.settings import LOCKSTEP, MODES_OF_TIME

    loop = start(rail(), time_mode=MODES_OF_TIME[LOCKSTEP], lockstep_timeout=0.0)

    def answer(ticks):
        for _ in range(ticks):
            tick = loop.time.tick
            loop.orders.command(commanded(0, EFFORT, effort=0.1 * tick), tick=tick)
            while loop.time.tick == tick:
                loop.readout.next_state(0.05)
        return loop.readout.latest().row.tobytes()

    answer(10)
    begun, saved = loop.time.tick, loop.save_state()  # time runs freely before a command
    expected = answer(15)
    loop.load_state(saved)
    assert (loop.time.tick, loop.time.locked) == (begun, True)
    assert answer(15) == expected


def test_a_diverged_state_is_not_saved_but_another_state_can_be_loaded(start):
    loop = start(rail(), **WALKING)
    walk(loop, 5)
    saved = loop.save_state()
    loop.plant.set_state(np.zeros(1), np.full(1, 1e7), ALL[:1] < 0, ALL[:1] < 1)
    walk(loop, 1)
    assert loop.time.diverged
    with refused(rb.RbdynError, "diverged"):
        loop.save_state()
    loop.load_state(saved)
    assert walk(loop, 1)[-1].tick == 6

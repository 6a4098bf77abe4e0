# SPDX-License-Identifier: Apache-2.0
"""The loop without ROS applies efforts and policies, pauses, and reports faults and overruns."""

import dataclasses
import gc
import re
import time
from pathlib import Path

import numpy as np
import pytest
from running import (
    WALKING,
    states_for,
    states_over,
    states_until,
    wait_until,
    walk,
)
from support import mechanisms
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import ModelError, RbdynError
from rbdyn_ros.share import bundled_robot

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime import realtime
from rbdyn_ros.runtime.loop import Loop, warm
from rbdyn_ros.runtime.settings import HOLD, ON_TIMEOUT, LoopSettings
from rbdyn_ros.runtime.types import Command


@pytest.fixture
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.mark.parametrize("paused", [True, False])
def test_a_loop_that_has_not_begun_shows_its_start_state(arm, paused):
    loop = Loop(arm, LoopSettings(realtime="off", start_paused=paused))
    before = loop.time.paused, loop.time.diverged, loop.time.tick
    assert before == (paused, False, 0)
    with refused(RbdynError, "stopped"):
        loop.plant.reset()
    try:
        loop.start()
        assert loop.readout.next_state(0.0) is not None  # it sends states
        assert (loop.time.paused, loop.time.diverged) == (paused, False)
    finally:
        loop.stop()


def test_a_loop_that_never_starts_leaves_no_file_open(arm):
    def open_files():
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    closed_loop = rb.build(mechanisms.grashof())
    before = open_files()
    for _ in range(3):
        Loop(arm, LoopSettings(realtime="off"))
        with refused(ModelError, "not-traceable"):
            Loop(closed_loop, LoopSettings(realtime="off", specialize=True))
    assert open_files() == before


def test_a_state_counts_the_contacts_that_do_not_fit_into_the_list(start):
    """50 capsules in one place have more contacts than the list of a state can hold."""
    capsule = rb.Capsule(0.05, 0.2)
    heap = rb.SystemBuilder("heap", base="world")
    for k in range(50):
        heap.body(f"b{k}", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        heap.joint(f"j{k}", "floating", "world", f"b{k}").geometry(f"g{k}", f"b{k}", capsule)
    m = rb.build(heap)
    loop = start(m, **WALKING)
    loop.time.step()
    state = loop.readout.latest()
    assert state.dropped > 0
    assert state.unsolved in (0, 1)


def test_a_state_has_the_friction_memory_of_joints_and_contacts(start):
    """A state with few contacts has a shorter row, which still has the friction of all joints.

    The contact forces of a state equal the contact forces of `step`.
    """
    box = rb.shapes.box((0.2, 0.2, 0.2), mass=1.0)
    system = rb.SystemBuilder("two", base="world").body("held", box).body("lying", box)
    system.joint("hinge", "revolute", "world", "held", xyz=(2, 0, 1), axis=(0, 1, 0), friction=3.0)
    system.joint("free", "floating", "world", "lying")
    system.geometry("skin", "lying", rb.Box((0.2, 0.2, 0.2))).obstacle("floor", rb.Plane())
    m = rb.build(system)
    m.opt.exact_stops = True
    position = m.qpos0.copy()
    position[m.jnt_qposadr[m.jnt_id("free")] + 2] = 0.1
    loop = start(m, position, **WALKING)
    hinge = m.jnt_dofadr[m.jnt_id("hinge")]
    loop.orders.command(Command.of_efforts(np.array([hinge]), np.array([2.0])))
    first, *_, last = walk(loop, 50)
    d = rb.make_data(m)
    d.qpos = position
    rb.step(m, d)
    assert np.array_equal(first.contact[:, :3], d.cfrc_contact[:, 3:])
    assert len(last.stick) == 4
    assert last.stick_qfrc[hinge] == pytest.approx(-2.0, rel=1e-6)
    moved = dataclasses.replace(last, row=last.row.copy())
    moved.stick_qfrc[hinge] += 0.1
    assert moved.hash() != last.hash()


def test_the_motion_of_a_loop_equals_steps_of_the_engine(arm, start):
    loop = start(arm, **WALKING)
    loop.orders.command(Command.of_efforts(np.arange(7), np.linspace(-1.0, 1.0, 7)))
    d = rb.make_data(arm)
    d.qfrc_applied = np.linspace(-1.0, 1.0, 7)
    for _ in range(20):
        loop.time.step()
    last = loop.readout.latest()
    rb.step(arm, d, 20)
    assert last.tick == 20
    assert (last.qpos == d.qpos).all()
    assert (last.qvel == d.qvel).all()


def test_the_gravity_policy_applies_inverse_dynamics(arm, start):
    position = np.array([0.0, 0.9, 0.2, 0.4, 0.1, -0.5, 0.0])
    loop = start(arm, position, on_timeout="gravity")
    last = states_over(loop, 0.3)[-1]
    d = rb.make_data(arm)
    d.qpos = last.qpos
    rb.forward(arm, d)
    np.testing.assert_allclose(last.effort, d.qfrc_bias, atol=1e-6)
    np.testing.assert_allclose(last.qpos, position, atol=1e-6)
    assert last.stale == 7


def test_the_hold_policy_brakes_to_rest(arm, start):
    position = np.array([0.0, 0.9, 0.0, 0.4, 0.0, 0.5, 0.0])
    policy = {"on_timeout": "hold", "command_timeout": 0.1}
    loop = start(arm, position, **WALKING | policy)
    for _ in range(10):
        loop.orders.command(Command.of_efforts(np.array([0]), np.array([60.0])))
        walk(loop, 10)
    fastest = max(abs(state.qvel[0]) for state in walk(loop, 150))
    rested = walk(loop, 1000)[-1]
    assert fastest > 0.5
    assert np.abs(rested.qvel).max() < 0.01
    last = walk(loop, 500)[-1]
    np.testing.assert_allclose(last.qpos, rested.qpos, atol=0.01)


def test_an_effort_beyond_its_limit_becomes_the_limit(arm, start):
    loop = start(arm, **WALKING)
    loop.orders.command(Command.of_efforts(np.array([6]), np.array([-1e9])))
    states = walk(loop, 10)
    assert min(state.effort[6] for state in states) == -20.0
    assert any(state.saturated == 6 for state in states)


def test_a_command_does_not_expire_while_time_is_paused(arm, start):
    loop = start(arm)
    loop.time.pause(True)
    loop.orders.command(Command.of_efforts(np.array([0]), np.array([3.0])))
    time.sleep(0.3)
    loop.time.step()
    assert loop.readout.latest().effort[0] == 3.0
    loop.time.pause(False)
    wait_until(lambda: loop.readout.latest().effort[0] == 0.0)


def test_a_loop_with_a_diverged_state_stops_until_a_reset(arm, start):
    loop = start(arm, time_mode="fast")  # a reader gets every state
    loop.orders.command(Command.of_efforts(np.array([0]), np.array([np.nan])))
    states = states_until(loop, lambda state: state.fault >= 0)
    last = states[-1]
    assert last.fault == 0
    assert np.isfinite([state.row[:14] for state in states]).all()
    assert states_for(loop, 0.05) == []
    loop.plant.reset()
    states = states_until(loop, lambda state: state.tick > last.tick + 10)
    assert {state.fault for state in states} == {-1}
    assert states[0].tick == last.tick + 1


BOX = rb.shapes.box((0.4, 0.1, 0.1), mass=1.0, at=rb.pose((0.2, 0.0, 0.0)))


@pytest.mark.parametrize("policy", ["gravity", "hold"])
def test_timeout_policies_include_the_forces_of_springs(start, policy):
    """Springs and efforts of the policy together hold the robot against gravity."""
    m = rb.build(
        rb.SystemBuilder("balanced")
        .body("a", BOX)
        .body("b", BOX)
        .joint("shoulder", "revolute", "base", "a", axis=(0, 1, 0), stiffness=30.0, rest=-0.5)
        .joint("elbow", "revolute", "a", "b", axis=(0, 1, 0), xyz=(0.4, 0, 0))
        .spring("balance", "base", "b", point1=(0, 0, 0.5), stiffness=60.0, length=0.1)
    )
    loop = start(m, np.array([0.3, 0.4]), command_timeout=0.001, on_timeout=policy)
    last = states_over(loop, 0.4)[-1]
    assert last.qpos == pytest.approx([0.3, 0.4], abs=1e-6)
    assert np.abs(last.effort).max() > 1.0


def with_a_gap(t, q, qd, qdd):
    q[0] = np.nan if 0.05 < t < 0.06 else t
    qd[0] = 1.0


@pytest.fixture(scope="session", autouse=True)
def compiled_motion():
    """Register the motion when a test runs, so that collecting the tests compiles nothing."""
    rb.register_motion("test_with_a_gap")(with_a_gap)


def driven_and_free(motion):
    """Return a Model whose joint 0 has a prescribed motion, and whose joint 1 is free."""
    return rb.build(
        rb.SystemBuilder("driven")
        .body("a", BOX)
        .body("b", BOX)
        .joint("rail", "prismatic", "base", "a")
        .joint("hinge", "revolute", "a", "b", axis=(0, 1, 0))
        .drive("rail", motion)
    )


def test_a_state_has_the_positions_of_prescribed_motions(start):
    times = np.linspace(0.0, 10.0, 11)
    loop = start(driven_and_free(rb.Trajectory(times, 0.1 * times)))
    state = states_over(loop, 0.05)[-1]
    expected = rb.make_data(loop.m)
    expected.time = state.time
    rb.kinematics(loop.m, expected)
    assert state.row[1] == expected.qpos_all[1]
    assert state.time > 0.0


def test_the_fault_in_a_state_is_the_number_of_the_faulty_joint(start):
    loop = start(driven_and_free(rb.Trajectory((0.0, 1.0), (0.0, 1.0))))
    loop.orders.command(Command.of_efforts(np.array([0]), np.array([np.nan])))
    assert states_until(loop, lambda state: state.fault >= 0)[-1].fault == 1
    loop = start(driven_and_free("test_with_a_gap"))
    last = states_until(loop, lambda state: state.fault >= 0)[-1]
    assert last.fault == 0
    assert np.isfinite(last.row).all()


def test_a_reader_gets_each_state_once_and_in_order(arm, start):
    states = states_over(start(arm, time_mode="fast"), 1.0)
    assert (np.diff([state.tick for state in states]) == 1).all()
    # in real time the loop does not wait, and a state counts the states that the reader missed
    states = states_over(start(arm), 0.5)
    gaps = np.diff([state.tick for state in states])
    assert (gaps > 0).all()
    assert (gaps == [1 + state.missed for state in states[1:]]).all()


def test_a_loop_counts_overruns_and_does_not_catch_up(arm, start):
    # the thread wakes later than after the period, so every tick is an overrun
    arm.opt.timestep = 1e-6
    began = time.monotonic()
    loop = start(arm)
    wait_until(lambda: loop.readout.timing().overruns > 0)
    time.sleep(0.3)
    timing = loop.readout.timing()
    assert timing.ticks * 1e-6 < time.monotonic() - began
    arm.opt.timestep = 1e-3


def test_an_unknown_policy_for_timeouts_is_refused(arm):
    with refused(rb.ParameterError, "on-timeout", "on_timeout"):
        Loop(arm, LoopSettings(on_timeout="brake"))


def test_realtime_enforce_is_refused_without_the_privileges(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(realtime.os, "sched_setscheduler", refuse)
    with refused(rb.ParameterError, "realtime", "realtime"):
        realtime.obtain("enforce")


def locked_memory():
    """Return the size of the locked memory of this process [kB]."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmLck:\s*(\d+)", status)[1])


def test_memory_is_unlocked_by_the_last_thread_that_needs_it(monkeypatch):
    monkeypatch.setattr(realtime.os, "sched_setscheduler", lambda *_: None)  # without privileges
    one, other = (realtime.obtain("try", bind=False) for _ in range(2))
    if one.memory:
        pytest.skip(f"memory cannot be locked: {one.memory}")
    assert locked_memory() > 0
    realtime.release(one)
    assert locked_memory() > 0
    realtime.release(other)
    assert locked_memory() == 0
    realtime.release(realtime.Grant())  # grant of a thread without requests


def test_a_loop_that_has_ended_locks_no_memory(arm, start, monkeypatch):
    monkeypatch.setattr(realtime.os, "sched_setscheduler", lambda *_: None)
    loop = start(arm, realtime="try")
    if loop.grant.memory:
        pytest.skip(f"memory cannot be locked: {loop.grant.memory}")
    loop.move(arm, arm, arm.qpos0, lambda _: None)  # a new thread runs the loop
    assert locked_memory() > 0
    loop.stop()
    assert locked_memory() == 0


def test_warm_leaves_no_thread_behind(arm):
    import threading

    before = threading.active_count()
    warm(arm)
    assert threading.active_count() == before
    assert ON_TIMEOUT[HOLD] == "hold"

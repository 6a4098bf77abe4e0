# SPDX-License-Identifier: Apache-2.0
"""In closed loop with simulated arms, the controller changes modes and serves many threads."""

import contextlib
import threading
import tracemalloc

import numpy as np
import pytest
from closed_loop import BENT, FILES, MS, ClosedLoop, armed, model
from support.refusals import refused

from rbdyn_ros.control.motion.planning import quintic
from rbdyn_ros.errors import ParameterError, RbdynError

UR5 = FILES[0]
Q = np.array(BENT[UR5])
ACTING = ("gravity", "hold", "computed_torque", "impedance")
#: A push for 0.1 s [N m] under which no joint reaches its velocity limit.
PUSH = dict(zip(FILES, (20.0, 4.0, 0.8, 4.0), strict=True))
each_mode = pytest.mark.parametrize("mode", ACTING)


# an arm in mode gravity


@pytest.mark.parametrize("file", FILES)
def test_the_arm_in_mode_gravity_floats_yields_and_comes_to_rest(file):
    loop = armed(file)
    start = loop.d.qpos.copy()
    still = loop.run(10.0)
    assert np.abs(still.qpos - start).max() < 1e-3
    loop.push[1] = PUSH[file]
    loop.run(0.1)
    loop.push[:] = 0.0
    loop.run(2.0)
    assert np.abs(loop.d.qpos - start).max() > 0.01
    assert np.abs(loop.d.qvel).max() < 1e-3
    rest = loop.d.qpos.copy()
    loop.run(1.0)
    assert np.abs(loop.d.qpos - rest).max() < 2e-4  # 1e-3 rad/s still counts as rest
    assert loop.controller.fault is None


@pytest.mark.parametrize("mounting", [(0.0, np.pi / 2, 0.0), (np.pi, 0.0, 0.0)])
def test_a_mounted_arm_in_mode_gravity_floats(mounting):
    loop = armed(mounting=mounting)
    trace = loop.run(2.0)
    assert np.abs(trace.qpos - Q).max() < 1e-3


def test_a_robot_with_its_own_compensation_floats_in_mode_gravity():
    loop = armed(arm={"robot_compensates_gravity": True})
    trace = loop.run(2.0)
    assert np.abs(trace.qpos - Q).max() < 1e-3
    np.testing.assert_allclose(trace.effort, 0.0, atol=1e-6)


@each_mode
def test_a_dry_run_sends_nothing_and_never_trips(mode):
    loop = ClosedLoop(model(), mode=mode, dry_run=True, target_timeout=0.1).arm()
    if mode == "computed_torque":
        loop.controller.follow_path(quintic([Q, Q + 1.0], [0.0, 1.0]))
    trace = loop.run(2.0)
    assert loop.controller.fault is None
    assert "armed (dry run)" in loop.controller.status()
    assert not np.isnan(trace.effort).any()
    np.testing.assert_allclose(loop.d.qpos, Q, atol=1e-6)
    assert mode != "computed_torque" or loop.controller.progress().done


# modes


@each_mode
@pytest.mark.parametrize("before", ACTING)
def test_modes_change_without_a_bump(before, mode):
    loop = armed(mode=before)
    loop.d.qvel[:] = [0.3, -0.3, 0.3, 0.0, 0.2, 0.0]
    trace = loop.run(0.05)
    loop.controller.set_mode(mode)
    more = loop.run(1.5)
    efforts = np.vstack([trace.effort[-1:], more.effort])
    assert np.abs(np.diff(efforts, axis=0)).max() <= 1.0 + 1e-9
    assert before == mode or np.abs(efforts[1] - efforts[0]).max() < 1e-9
    loop.run(1.5)  # the arm swings for a while under impedance
    assert loop.controller.fault is None
    assert np.abs(loop.d.qvel).max() < 0.05


def test_a_fault_during_a_bumpless_start_ends_the_start():
    """A fault ends the blending: the rest of the old law's effort must not delay braking."""
    loop = armed(gravity_damping=0.0, tracking_tolerance=0.01)
    loop.kick(2.0, 0)
    loop.run(0.01)
    loop.controller.set_mode("hold")
    loop.kick(2.5, 0)  # the target stays where it is, although the arm moves
    trace = loop.run(2.0)
    assert loop.controller.fault.code == "tracking"
    assert loop.controller.status().endswith("holding")
    assert (trace.effort[:120, 0] <= 1.0).all()  # all efforts brake
    # the arm moves 0.2 rad until the fault, and at most (2 rad/s) / (10 1/s) while it is braked
    assert trace.qpos[:, 0].max() - trace.qpos[0, 0] < 0.4


@pytest.mark.parametrize("speed", [0.5, 2.0, 3.0])
def test_an_arm_held_while_moving_decelerates_without_returning(speed):
    loop = armed(gravity_damping=0.0)
    loop.kick(speed, 0)
    loop.run(0.01)
    loop.controller.set_mode("hold")
    trace = loop.run(2.0)
    assert loop.controller.fault is None
    way = trace.qpos[:, 0] - trace.qpos[0, 0]
    # a constant deceleration to rest takes 0.4 s, so the arm moves 0.2 s times its speed
    assert way[-1] == pytest.approx(0.2 * speed, rel=0.02)
    assert way.max() - way[-1] < 0.02
    assert np.abs(trace.qvel[-1]).max() < 1e-3


def test_an_arm_stopped_on_a_path_decelerates_within_its_limits():
    loop = armed(mode="computed_torque")
    q = loop.d.qpos.copy()
    there = q.copy()
    there[0] += 1.5
    loop.controller.follow_path(quintic([q, there], [0.0, 1.2]))
    loop.run(0.6)
    assert loop.d.qvel[0] > 2.0
    speed, place = loop.d.qvel[0], loop.d.qpos[0]
    loop.controller.stop_following()
    trace = loop.run(1.5)
    assert loop.controller.fault is None
    assert trace.qpos[-1, 0] - place == pytest.approx(0.2 * speed, rel=0.05)
    assert trace.qpos[:, 0].max() - trace.qpos[-1, 0] < 0.01
    assert loop.controller.progress().done


def test_a_path_starts_at_the_state_it_was_checked_with():
    loop = armed(mode="computed_torque")
    q = loop.d.qpos.copy()
    path = quintic([q, q + 0.5], [0.1, 1.1])
    begun = loop.controller.measured()[2]
    loop.run(0.005)
    loop.controller.follow_path(path, begun)
    loop.run(0.5)
    rows = path.sample(0.505, np.empty((3, len(q))))
    np.testing.assert_allclose(loop.controller.progress().desired[0], rows[0], atol=1e-9)


def test_limits_that_an_armed_arm_would_violate_are_refused():
    loop = armed(mode="hold")
    c = loop.controller
    with refused(RbdynError, "too-heavy", "shoulder_lift_joint"):
        c.tighten(0.05, 1.0, 0.0)
    with refused(RbdynError, "limits", "elbow_joint"):
        c.tighten(1.0, 1.0, 2.2)
    assert c.gate.limits.effort_scale == 1.0
    c.tighten(0.9, 0.5, 0.01)
    loop.run(0.5)
    assert c.fault is None


def test_an_inactive_controller_is_not_armed():
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.3)
    loop.controller.active = False
    with refused(RbdynError, "not-active"):
        loop.controller.try_arm(loop.now)
    loop.controller.active = True
    loop.controller.try_arm(loop.now)


def test_a_low_rate_of_states_prevents_arming():
    loop = ClosedLoop(model(), mode="hold")
    loop.h = 0.03
    loop.run(3.0)
    with refused(RbdynError, "gains", "states"):
        loop.controller.try_arm(loop.now)


def test_arming_needs_clear_fault_after_a_stall_of_the_sender():
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.5)
    loop.now += 500 * MS
    behind(loop, 1000)
    with refused(RbdynError, "state", "latency") as refusal:
        loop.controller.try_arm(loop.now)
    assert "stalled, call clear_fault" in str(refusal.value)
    loop.controller.clear_fault()
    behind(loop, 500)
    loop.controller.try_arm(loop.now)


def behind(loop, ticks):
    """Run for some ticks with stamps of a clock that is 0.5 s behind."""
    for _ in range(ticks):
        loop.tick(stamp=loop.now - 500 * MS)


def test_unknown_modes_are_refused_and_idle_disarms():
    loop = armed()
    with refused(RbdynError, "mode", "gravty"):
        loop.controller.set_mode("gravty")
    assert loop.controller.armed
    loop.controller.set_mode("idle")
    assert not loop.controller.armed
    assert np.isnan(loop.run(0.1).effort).all()
    assert "the arm was disarmed" in loop.controller.progress().failed


def test_disarming_ends_a_path():
    loop = armed(mode="computed_torque")
    loop.controller.follow_path(quintic([Q, Q + 1.0], [0.0, 2.0]))
    loop.run(1.0)
    loop.controller.disarm()
    loop.run(0.5)
    place = loop.d.qpos.copy()
    loop.controller.try_arm(loop.now)
    loop.run(1.0)
    np.testing.assert_allclose(loop.d.qpos, place, atol=1e-4)


# joints that are not controlled


def test_a_moving_uncontrolled_joint_does_not_disturb_the_others():
    """An external torque turns the uncontrolled shoulder; the other joints follow exactly."""
    m = model()
    for mode in ("hold", "computed_torque", "impedance"):
        loop = ClosedLoop(m, mode=mode, names=list(m.jnt_names[1:]))
        loop.arm()
        loop.run(0.6)
        for k in range(1000):  # something outside drives the joint at 1 rad/s
            loop.d.qpos[0], loop.d.qvel[0] = Q[0] + 0.001 * k, 1.0
            loop.tick()
            assert (
                np.abs(loop.answer[0] - loop.bare.gravity_effort(loop.d.qpos, np.empty(6))[1]) < 30
            )
        assert loop.controller.fault is None
        np.testing.assert_allclose(loop.d.qpos[1:], Q[1:], atol=0.1)


def test_messages_of_other_devices_are_ignored():
    loop = armed()
    states = loop.controller.states
    assert loop.send(names=["gripper"], position=np.array([np.nan])) is None
    assert loop.send(names=[], position=np.empty(0)) is None
    assert (loop.controller.states, loop.controller.refused) == (states, 0)
    assert loop.controller.fault is None


def test_bad_gains_and_settings_are_refused():
    for name in ("stiffness", "damping", "impedance_stiffness", "impedance_damping"):
        for bad in (-1.0, np.nan, (1.0, 2.0)):
            with refused(ParameterError, "bad-argument"):
                ClosedLoop(model(), **{name: bad})
    for name in ("blind_time", "target_timeout", "tracking_tolerance", "start_tolerance"):
        for bad in (-1.0, np.nan, np.inf):
            with refused(ParameterError, "bad-argument"):
                ClosedLoop(model(), **{name: bad})
    with refused(ParameterError, "bad-argument"):
        ClosedLoop(model(), start_tolerance=0.051)  # the target would jump too far


# a tick


@each_mode
def test_a_tick_is_deterministic_to_the_last_bit(mode):
    def run():
        loop = armed(mode=mode)
        loop.push[2] = 5.0
        return loop.run(0.3)

    first, second = run(), run()
    for name in ("qpos", "qvel", "effort"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@each_mode
def test_a_tick_allocates_no_memory(mode):
    loop = armed(mode=mode)
    state = loop.state()

    def ticks(n):
        for _ in range(n):
            state["stamp"] += MS
            state["arrival"] += MS
            loop.controller.on_state(**state)

    ticks(100)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    ticks(3000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 6000  # two bytes a tick are for integers and caches; no array is allocated


# threads


def test_requests_from_many_threads_are_answered_while_states_arrive():
    """While states arrive, every request returns, and every answer is of one state."""
    loop = armed(mode="computed_torque", arm_without_effort=True)
    c, stop, failed = loop.controller, threading.Event(), []
    most = loop.gate.limits.effort.copy()

    def asking(*questions):
        def run():
            try:
                last = False
                while not last:  # it asks at least once, even if it starts late
                    last = stop.is_set()
                    for question in questions:
                        with contextlib.suppress(
                            RbdynError
                        ):  # some requests are refused, for example a path in mode gravity
                            question()
            except BaseException as error:  # noqa: BLE001 - reported by the main thread
                failed.append(error)

        return threading.Thread(target=run)

    def look():
        qpos, qvel, _stamp = c.measured()
        # all joints of a state have the same offset, so a mix of two states would have two offsets
        assert np.ptp(qpos - Q) < 1e-12
        assert np.ptp(qvel) == 0.0
        shown = c.progress()
        assert shown.desired.shape == (3, 6)
        c.status()

    askers = [
        asking(look),
        asking(
            lambda: c.set_payload("tool0", 1.0, (0, 0, 0), (0,) * 6),
            lambda: c.set_payload("tool0", 0.0, (0, 0, 0), (0,) * 6),
        ),
        asking(lambda: c.set_payload("forearm_link", 0.5, (0, 0, 0), (0,) * 6)),
        asking(
            *(lambda mode=mode: c.set_mode(mode) for mode in ACTING),
            # this arm ignores commands, so on a longer path it would count as frozen
            lambda: c.follow_path(quintic([Q, Q + 1e-5], [0.0, 1.0])),
            c.stop_following,
            lambda: c.tighten(1.0, 1.0, 0.0),
            lambda: c.on_watch(loop.now),
        ),
    ]
    loop.now += MS
    loop.send(position=Q.copy(), velocity=np.zeros(6), effort=np.empty(0))
    for asker in askers:
        asker.start()
    answers = 0
    for k in range(1500):
        loop.now += MS
        offset = 1e-4 * np.sin(0.05 * k)
        speed = 5e-3 * np.cos(0.05 * k)
        # measured efforts would show that there is no payload
        unmeasured = np.empty(0)
        answer = loop.send(position=Q + offset, velocity=np.full(6, speed), effort=unmeasured)
        answers += answer is not None
        assert answer is None or (np.abs(answer) <= most).all()
    stop.set()
    for asker in askers:
        asker.join(300.0)
        assert not asker.is_alive()
    assert failed == []
    assert answers == 1500
    assert c.fault is None
    assert set(c.arm.payloads) <= {"tool0", "forearm_link"}
    assert "forearm_link" in c.arm.payloads  # a second payload does not remove the first one


def test_arming_from_another_thread_starts_at_the_holding_effort():
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.3)
    asked = threading.Thread(target=loop.controller.try_arm, args=(loop.now,))
    asked.start()
    asked.join(300.0)
    assert loop.controller.armed
    held = loop.applied.copy()
    loop.tick()
    np.testing.assert_allclose(loop.answer, held, atol=1e-6)


def test_efforts_computed_while_disarmed_are_not_sent():
    """`sending` says whether the returned efforts may be sent. Returned arrays never change."""
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.3)
    c = loop.controller
    assert not c.sending
    returned = loop.answer
    kept = returned.copy()
    c.try_arm(loop.now)
    assert not c.sending  # the last answer was computed before arming
    np.testing.assert_array_equal(returned, kept)
    loop.tick()
    assert c.sending
    c.disarm()
    loop.tick()
    assert not c.sending


def test_gains_too_high_for_the_rate_prevent_arming_and_mode_changes():
    loop = ClosedLoop(model(), mode="impedance", impedance_stiffness=100.0, impedance_damping=30.0)
    loop.run(0.3)
    with refused(RbdynError, "gains"):
        loop.controller.try_arm(loop.now)
    loop.controller.set_mode("gravity")
    loop.controller.try_arm(loop.now)
    with refused(RbdynError, "gains"):
        loop.controller.set_mode("impedance")
    assert loop.controller.mode == "gravity"

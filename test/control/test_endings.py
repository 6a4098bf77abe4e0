# SPDX-License-Identifier: Apache-2.0
"""After a fault an armed arm brakes and holds, or brakes without states and then goes silent."""

import numpy as np
import pytest
from closed_loop import BENT, MS, START, ClosedLoop, armed, model
from support.arm_kernels import Stopping
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.blind.endings import BRAKING
from rbdyn_ros.errors import RbdynError

NOBODY = np.empty(0, np.int64)
Q = np.array(BENT["ur5_robot.urdf"])
STRETCHED = np.array([0.0, -1.2, 1.4, -0.6, 0.0, 0.0])
NAN = np.full(6, np.nan)
ZERO = np.zeros(6)


def ending(others=NOBODY, **settings):
    m = model()
    arm = Arm(m)
    settings = {"blind_time": 0.2} | settings
    names = [name for k, name in enumerate(arm.names) if k not in others]
    end = Stopping(arm, ControlSettings(**settings), Limits.of(m, names))
    return arm, end


def see(end, qpos, qvel, dt=0.001, push=ZERO):
    end.s.push = push
    return end.see(0, qpos, qvel, dt)


class Blindly:
    """Asks for the efforts after a fault, without states: every call is 10 ms after the last."""

    def __init__(self, end, velocity=ZERO):
        self.end, self.now, self.velocity = end, START, velocity

    def __call__(self):
        self.now += 10 * MS
        return self.end.stop(self.now, 0, Q, self.velocity)


def test_an_arm_brakes_until_it_rests_and_holds_there():
    arm, end = ending()
    fast = np.full(6, 0.5)
    g = arm.twin().gravity_effort(Q, np.empty(6))
    braking = see(end, Q, fast, 0.001) - g
    M_v = arm.twin().inverse_dynamics(Q, ZERO, fast, np.empty(6)) - g
    np.testing.assert_allclose(braking, -BRAKING * M_v, atol=1e-9)
    for _ in range(99):
        see(end, Q, ZERO, 0.001)
    assert end.phase == "braking"  # the arm must first rest for 0.1 s
    for _ in range(3):
        held = see(end, Q, ZERO, 0.001)
    assert end.phase == "holding"
    np.testing.assert_allclose(held, g, atol=1e-9)
    back = see(end, Q + 0.01, ZERO, 0.001)
    assert end.phase == "holding"
    assert (np.sign(back - arm.gravity_effort(Q + 0.01, np.empty(6)))[:3] < 0).all()


def test_an_arm_that_still_moves_after_a_second_of_braking_is_held():
    _, end = ending()
    for _ in range(999):
        see(end, Q, np.full(6, 0.2), 0.001)
    assert end.phase == "braking"
    for _ in range(3):
        see(end, Q, np.full(6, 0.2), 0.001)
    assert end.phase == "holding"


def growing(k):
    """After 0.1 s a push multiplies the speed by up to 1.5; it stays below every limit."""
    return Q, np.full(6, 1.4 if k <= 100 else 1.8)


def faster(k):
    """The arm soon moves 1.2 times as fast as the limits."""
    return Q, np.full(6, 3.1 if k == 0 else 3.9)


def too_fast(_k):
    """The arm moves faster than the limits, at the same energy."""
    return Q, np.full(6, 3.3)


def not_resting(k):
    """The arm keeps moving, too slowly for the other conditions."""
    return Q + 0.2e-3 * k, np.full(6, 0.2)


def moved_away(k):
    """The arm rests for 0.15 s and is then slowly moved away."""
    return Q + 1e-3 * max(0, k - 150), np.full(6, 0.0 if k < 150 else 1.0)


def struck(k):
    """The arm rests for 0.15 s, and then moves faster than the limits."""
    return Q, np.full(6, 0.0 if k < 150 else 3.3)


@pytest.mark.parametrize(
    ("motion", "count"),
    [
        (growing, 101),
        (faster, 1),
        (too_fast, 200),
        (not_resting, 1000),
        (moved_away, 450),
        (struck, 150),
    ],
)
def test_after_a_failed_brake_the_last_efforts_hold_the_arm(motion, count):
    """After `count` states one more answer follows, which holds the arm."""
    arm, end = ending()
    for k in range(count + 3):
        qpos, qvel = motion(k)
        effort = see(end, qpos, qvel)
        if end.phase == "silent":
            break
    assert abs(k - count) <= 1
    assert end.reason
    np.testing.assert_allclose(effort, arm.gravity_effort(qpos, np.empty(6)), atol=1e-9)
    assert see(end, qpos, ZERO) is None
    assert see(end, Q, ZERO) is None


@pytest.mark.parametrize("blind_time", [0.0, 0.2])
def test_an_arm_without_states_is_held_before_the_controller_falls_silent(blind_time):
    arm, end = ending(blind_time=blind_time)
    g = arm.twin().gravity_effort(Q, np.empty(6))
    count, blindly = 0, Blindly(end)
    while (effort := blindly()) is not None:
        np.testing.assert_allclose(effort, g, atol=1e-9)
        count += end.phase == "blind"
    assert end.phase == "silent"
    assert count == pytest.approx(blind_time / 0.01 + 1, abs=1)
    assert see(end, Q, ZERO, 0.001) is None
    assert blindly() is None
    assert end.phase == "silent"
    end.trip()  # the arm was armed again, and another fault follows
    assert see(end, Q, ZERO, 0.001) is not None


def test_an_arm_without_states_holds_once_and_falls_silent_after_a_pause_of_minutes():
    """After a pause of minutes the motion is not predicted, and no efforts follow."""
    arm, end = ending()
    blindly = Blindly(end, np.full(6, 0.5))
    assert blindly() is not None
    assert end.phase == "blind"
    blindly.now += 300_000 * MS
    g = arm.twin().gravity_effort(end.s.blind_qpos + 0.05, np.empty(6))
    # the arm is braked from 0.5 rad/s with the rate 10 1/s
    np.testing.assert_allclose(blindly(), g, atol=1e-6)
    assert end.phase == "silent"
    assert blindly() is None


@pytest.mark.parametrize("mode", ["gravity", "hold", "computed_torque"])
def test_a_controller_that_was_not_called_for_minutes_sends_nothing(mode):
    """The driver controls the arm then, and somebody may have moved it."""
    loop = armed(mode=mode)
    loop.d.qvel[:] = 0.3
    loop.run(0.05)
    loop.now += 300_000 * MS
    sent = [loop.controller.on_watch(loop.now + 10 * k * MS) for k in range(50)]
    assert sent == [None] * 50
    assert loop.controller.fault.code == "age"
    assert "not called in time" in loop.controller.status()
    loop.watched = loop.now
    loop.run(0.1)  # new states alone do not resume control
    assert loop.answer is None


@pytest.mark.parametrize("mode", ["gravity", "hold", "computed_torque"])
def test_no_state_is_answered_after_minutes_without_calls(mode):
    loop = armed(mode=mode)
    loop.run(0.05)
    loop.now += 300_000 * MS
    loop.d.qpos += 0.2
    for k in range(50):
        assert loop.send(stamp=loop.now + k * MS, arrival=loop.now + k * MS) is None
    assert loop.controller.fault.code == "age"
    assert "not called in time" in loop.controller.status()


def test_the_arm_brakes_without_states_after_a_short_pause_of_the_calls():
    loop = armed()
    loop.now += 200 * MS
    assert loop.controller.on_watch(loop.now) is not None
    assert loop.controller.ending == ["blind"]


def test_times_without_states_add_up_although_valid_states_arrive_in_between():
    _, end = ending()
    blindly = Blindly(end)
    for _ in range(5):
        for _ in range(4):
            if blindly() is None:
                break
        see(end, Q, ZERO, 0.001)
    assert end.phase == "braking"
    for _ in range(20):
        blindly()
    assert end.phase == "silent"


def test_joints_that_are_not_controlled_are_not_held():
    arm, end = ending(others=np.array([0]))
    for _ in range(150):
        see(end, Q, ZERO, 0.001)
    assert end.phase == "holding"
    turned = Q.copy()
    turned[0] += 1.0  # an uncontrolled joint: it must not disturb the others
    g = arm.twin().gravity_effort(turned, np.empty(6))
    np.testing.assert_allclose(see(end, turned, ZERO, 0.001), g, atol=1e-9)


# in closed loop


def moving(mode="gravity", speed=0.5, **keywords):
    """Return an armed loop whose joints move at up to about this speed [rad/s]."""
    loop = ClosedLoop(model(), mode=mode, **keywords).arm()
    loop.run(0.6)
    loop.kick([speed, -speed, speed, 0.0, speed, 0.0])
    loop.run(0.01)
    return loop


def ended(loop, trace, fault, state):
    """Check that the run ended in this fault and state, at rest, and without acceleration."""
    assert loop.controller.fault.code == fault
    assert loop.controller.status().endswith(state)
    assert np.abs(loop.d.qvel).max() < 0.01
    assert np.abs(trace.qvel).max() < 3.3
    assert np.isfinite(trace.effort[~np.isnan(trace.effort).all(axis=1)]).all()
    loop.run(0.1)
    assert loop.controller.armed  # the arm stays armed, so that no other controller takes over
    with refused(RbdynError, "fault", fault):
        loop.controller.set_mode("hold")
    with refused(RbdynError, "fault", fault):
        loop.controller.try_arm(loop.now)


ONCE = {
    "finite": {"velocity": NAN},
    "names": {"names": ["shoulder_pan_joint"]},
    "clock": {"stamp": 1},
    "position": {"position": np.array([0.3, -0.9, 3.16, -0.7, 0.5, 0.4])},
    "velocity": {"velocity": np.full(6, 3.3)},
}


@pytest.mark.parametrize("mode", ["gravity", "hold", "computed_torque", "impedance"])
@pytest.mark.parametrize("fault", ONCE)
def test_a_moving_arm_comes_to_rest_after_one_bad_state(mode, fault):
    loop = moving(mode)
    loop.tick(**ONCE[fault])
    trace = loop.run(2.0)
    ended(loop, trace, fault, "holding")
    place = loop.d.qpos.copy()
    loop.run(1.0)
    np.testing.assert_allclose(loop.d.qpos, place, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"position": NAN}, "finite"),
        ({"names": ["shoulder_pan_joint", "x"]}, "names"),
        ({"position": np.array([-0.9, 0.3, 1.1, -0.7, 0.5, 0.4])}, "velocity"),
    ],
)
def test_lasting_bad_states_end_in_silence(changes, fault):
    loop = moving()
    trace = loop.run(1.0, **changes)
    ended(loop, trace, fault, "silent")
    quiet = np.isnan(trace.effort).all(axis=1)
    assert quiet[-600:].all()  # no efforts follow, not even for a valid state
    assert not quiet[:200].all()
    assert np.isnan(loop.run(0.2).effort).all()


def test_missing_states_end_in_silence():
    loop = moving()
    loop.publish = False
    trace = loop.run(1.0)
    loop.publish = True
    ended(loop, trace, "age", "silent")
    sent = np.flatnonzero(~np.isnan(trace.effort).all(axis=1))
    assert 0.02 <= sent[0] * 1e-3 <= 0.04  # the arm coasts before the fault
    assert 0.1 <= sent[-1] * 1e-3 <= 0.15


def test_the_arm_is_held_after_a_short_loss_of_states():
    loop = moving(blind_time=0.2)
    loop.publish = False
    trace = loop.run(0.2)
    loop.publish = True
    loop.run(1.0)
    ended(loop, trace, "age", "holding")


def test_frozen_stamps_count_as_missing_states():
    loop = moving()
    trace = loop.run(1.0, stamp=loop.now)
    ended(loop, trace, "age", "silent")


@pytest.mark.parametrize("jump", [-5_000, 5_000])
def test_a_clock_jump_is_a_fault_and_the_arm_is_held(jump):
    loop = moving()
    rows = []
    for _ in range(1500):
        rows.append(loop.d.qvel.copy())
        loop.tick(stamp=loop.now + jump * MS)
    assert loop.controller.fault.code == "clock"
    assert loop.controller.status().endswith("holding")
    assert np.abs(rows[-1]).max() < 0.01


@pytest.mark.parametrize("lie", [-1.0, 0.0])
@pytest.mark.parametrize("mode", ["gravity", "hold", "computed_torque"])
def test_wrong_velocities_do_not_drive_the_arm(mode, lie):
    """A brake that uses velocities of the wrong sign would accelerate the arm."""
    loop = ClosedLoop(model(), mode=mode).arm()
    loop.run(0.6)
    loop.d.qvel[:3] = 0.3
    fastest = 0.0
    for _ in range(2000):
        loop.tick(velocity=lie * loop.d.qvel)
        fastest = max(fastest, np.abs(loop.d.qvel[:3]).max())
    if loop.controller.fault is not None:
        assert loop.controller.fault.code in ("velocity", "tracking")
        assert loop.controller.status().endswith(("silent", "holding"))
    # without usable velocities nothing damps the arm, so it may keep swinging
    assert np.abs(loop.d.qvel).max() < (0.02 if lie else 0.3)
    assert fastest < 5.0  # without the gate's check it would exceed 100 rad/s


def pushed(loop, force, duration):
    """Push the tool along its y axis [N] for a time [s]; return the relative speeds."""
    shares = []
    for k in range(round(1.5 / loop.h)):
        loop.push[:] = 0.0
        if loop.h * k < duration:
            rb.forward(loop.plant, loop.d)
            loop.push[:] = force * rb.frame_jacobian(loop.plant, loop.d, "tool0", "local")[4]
        loop.tick()
        shares.append((np.abs(loop.d.qvel) / loop.gate.limits.velocity).max())
    return np.array(shares)


@pytest.mark.parametrize("period", [0.001, 0.004])
@pytest.mark.parametrize("duration", [0.1, 9.0])
def test_an_arm_pushed_while_it_is_braked_is_braked_and_held(duration, period):
    """The push begins at the fault, so the brake has not measured it before."""
    loop = ClosedLoop(model(), qpos=STRETCHED)
    loop.h = period
    loop.arm().run(0.6)
    loop.tick(velocity=NAN)
    shares = pushed(loop, 40.0, duration)
    assert loop.controller.status().endswith("holding")
    assert 0.2 < shares.max() < 0.5
    assert np.abs(loop.d.qvel).max() < 0.01


def test_a_push_that_is_a_tracking_fault_is_braked_and_held():
    loop = ClosedLoop(model(), qpos=STRETCHED, mode="hold", tracking_tolerance=0.03).arm()
    loop.run(0.6)
    pushed(loop, 150.0, 0.1)
    ended(loop, loop.run(0.1), "tracking", "holding")


def test_an_arm_pushed_with_tightened_limits_ends_in_a_hold():
    loop = ClosedLoop(model(), qpos=STRETCHED).arm()
    loop.run(0.6)
    loop.controller.tighten(0.9, 0.1, 0.0)
    pushed(loop, 60.0, 0.1)
    ended(loop, loop.run(0.1), "velocity", "holding")


@pytest.mark.parametrize("period", [0.001, 0.004])
@pytest.mark.parametrize("speed", [0.5, 2.2])
def test_braking_ends_if_it_accelerates_the_arm(speed, period):
    """Mirrored positions and mirrored velocities agree, so only the energy shows the error."""
    loop = ClosedLoop(model()).arm()
    loop.h = period
    loop.run(0.6)
    # the joint turns about the vertical, so gravity does no work
    loop.kick([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    loop.run(0.01)
    loop.controller._trip(Fault("target", "a fault"))
    place = loop.d.qpos.copy()
    shares = []
    while loop.now < START + 2_000 * MS:
        loop.tick(position=2.0 * place - loop.d.qpos, velocity=-loop.d.qvel)
        shares.append((np.abs(loop.d.qvel) / loop.gate.limits.velocity).max())
    assert loop.controller.status().split("; ")[-2] == "silent"
    assert 0.5 < max(shares) < 1.35, max(shares)
    assert np.abs(loop.d.qvel).max() < 0.01


def test_an_arm_that_hits_a_limit_at_speed_is_stopped():
    q = Q.copy()
    q[2] = 3.0
    loop = ClosedLoop(model(), qpos=q, gravity_damping=0.0).arm()
    loop.run(0.6)
    loop.kick(1.5, 2)
    trace = loop.run(2.0)
    ended(loop, trace, "position", "holding")
    beyond = trace.qpos[:, 2] - np.pi
    # an arm that is braked with the rate 10 1/s moves by speed / 10
    assert 0.05 < beyond.max() < 0.2
    g = np.array([loop.bare.gravity_effort(q, np.empty(6))[2] for q in trace.qpos])
    # the effort falls by 1 N m per ms, so it takes longer after a larger effort
    inside = (beyond > 0.0) & (np.arange(len(beyond)) > np.argmax(beyond > 0.0) + 20)
    assert (trace.effort[inside, 2] <= np.maximum(g[inside], 0.0) + 1e-6).all()

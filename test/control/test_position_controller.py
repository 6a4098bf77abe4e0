# SPDX-License-Identifier: Apache-2.0
"""An arm commanded by positions follows paths and forces, and comes to rest after a fault."""

import numpy as np
import pytest
from positioned_arm import FRAME, SENSOR, PositionedArm
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.laws.external_wrench import SensedWrench
from rbdyn_ros.control.motion.cartesian_path import cartesian_path
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.errors import RbdynError

pytest.importorskip("daqp", reason="daqp is not installed")

#: Mass, damping and stiffness of the admittance.
LAW = {
    "admittance_frame": FRAME,
    "admittance_mass": [0.2] * 3 + [4.0] * 3,
    "admittance_damping": [4.0] * 3 + [80.0] * 3,
    "admittance_stiffness": [20.0] * 3 + [400.0] * 3,
    "admittance_deadband": [0.0] * 6,
}
FREE = LAW | {"admittance_stiffness": [0.0] * 6}


def test_an_armed_arm_stays_and_then_follows_a_path_exactly():
    arm = PositionedArm()
    place, _ = arm.pose()
    with refused(RbdynError, "mode") as caught:
        arm.controller.set_mode("gravity")
    assert "sends positions" in str(caught.value)
    arm.armed()
    assert np.abs(arm.run(0.2) - place).max() == 0.0
    d = rb.make_data(arm.m)
    d.qpos = arm.d.qpos
    goal = place + np.array([-0.1, 0.0, 0.1])
    path = cartesian_path(arm.m, d, FRAME, goal[None])
    arm.controller.follow_path(path)
    ways = arm.run(path.duration + 0.1) - place
    along = (goal - place) / np.linalg.norm(goal - place)
    assert np.abs(ways - (ways @ along)[:, None] * along).max() < 1e-6
    np.testing.assert_allclose(ways[-1], goal - place, atol=1e-7)
    assert arm.controller.progress().done


@pytest.mark.parametrize("source", ["sensor", "efforts"])
def test_admittance_rests_at_force_over_stiffness_and_returns(source):
    arm = PositionedArm("admittance", **LAW, admittance_wrench=source).armed()
    place, turn = arm.pose()
    arm.run(0.2)
    np.testing.assert_allclose(arm.pose()[0], place, atol=1e-9)
    arm.wrench = np.array([0.0, 0.0, 1.0, -12.0, 4.0, 8.0])
    arm.run(4.0)
    found, turned = arm.pose()
    # the estimate of the wrench is damped by (1 cm)^2, which matters near a singular posture
    tolerance = 1e-5 if source == "sensor" else 2e-3
    np.testing.assert_allclose(found - place, arm.wrench[3:] / 400.0, atol=tolerance)
    angle = np.arccos(0.5 * (np.trace(turned @ turn.T) - 1.0))
    assert angle == pytest.approx(1.0 / 20.0, abs=100 * tolerance if source != "sensor" else 1e-4)
    arm.wrench[:] = 0.0
    arm.run(4.0)
    np.testing.assert_allclose(arm.pose()[0], place, atol=1e-5)


def test_a_pushed_arm_moves_as_a_mass_with_a_damper():
    arm = PositionedArm("admittance", **FREE).armed()
    arm.run(0.1)
    place, _ = arm.pose()
    arm.wrench[3] = -10.0
    ways = arm.run(1.0)[:, 0] - place[0]
    t = arm.h * np.arange(1, len(ways) + 1)
    expected = -10.0 / 80.0 * (t + 4.0 / 80.0 * np.expm1(-80.0 / 4.0 * t))
    np.testing.assert_allclose(ways, expected, atol=1e-4)
    arm.wrench[:] = 0.0
    arm.run(1.0)
    assert np.abs(arm.run(0.2) - arm.pose()[0]).max() < 1e-6


def test_forces_within_the_deadband_and_the_weight_of_the_tool_do_not_move_the_arm():
    band = {"admittance_deadband": [0.1] * 3 + [3.0] * 3}
    arm = PositionedArm("admittance", **LAW | band).armed()
    place, _ = arm.pose()
    arm.wrench[4] = 2.9
    arm.run(0.5)
    np.testing.assert_allclose(arm.pose()[0], place, atol=1e-9)

    tool = {"tool_mass": 2.0, "tool_com": (0.0, 0.03, 0.1)}
    arm = PositionedArm("admittance", **LAW, **tool).armed()
    origin, axes = rb.frame_pose(arm.m, arm.d, SENSOR)
    weight = np.array([0.0, 0.0, -2.0 * 9.81])
    at = origin + axes @ [0.0, 0.03, 0.1]
    arm.wrench[:] = *np.cross(at - place, weight), *weight
    arm.run(0.5)
    np.testing.assert_allclose(arm.pose()[0], place, atol=1e-9)


def test_the_mass_does_not_wind_up_while_the_arm_is_stretched():
    """After a long push outwards, the stretched arm moves back as soon as it is pulled back."""
    arm = PositionedArm("admittance", **FREE).armed()
    force = np.array([30.0, 20.0, 0.0])
    arm.wrench[3:] = force
    arm.run(3.0)
    stretched, _ = arm.pose()
    arm.run(1.5)
    assert arm.controller.fault is None
    assert np.abs(arm.pose()[0] - stretched) @ [1.0, 1.0, 0.0] < 0.02
    arm.wrench[3:] = -force
    way = arm.run(2.0)[-1] - stretched
    assert arm.controller.fault is None
    assert way @ force < -0.1 * np.linalg.norm(force)


def test_a_stale_wrench_is_a_fault_that_ends_at_rest_and_in_silence():
    arm = PositionedArm("admittance", **FREE).armed()
    arm.wrench[3] = -20.0
    arm.run(0.6)
    assert np.abs(arm.d.qvel).max() > 0.05
    arm.feels = False
    arm.run(0.2)
    assert arm.controller.fault.code == "wrench"
    assert "braking" in arm.controller.status()
    arm.run(1.0)
    assert np.abs(arm.d.qvel).max() == 0.0
    assert arm.answer is None
    assert "silent" in arm.controller.status()
    arm.controller.clear_fault()
    with refused(RbdynError, "wrench"):
        arm.controller.try_arm(arm.now)
    arm.feels = True
    arm.run(0.05)
    arm.controller.try_arm(arm.now)
    assert "armed" in arm.controller.status()


def moving():
    arm = PositionedArm().armed()
    d = rb.make_data(arm.m)
    d.qpos = arm.d.qpos
    goal = arm.pose()[0] + [-0.3, 0.0, 0.1]
    arm.controller.follow_path(cartesian_path(arm.m, d, FRAME, goal[None]))
    arm.run(1.0)
    return arm


def test_the_positions_come_to_rest_without_states():
    arm = moving()
    speed, steps, last = np.abs(arm.d.qvel).max(), [], arm.answer
    for _ in range(100):
        arm.now += 10_000_000
        answer = arm.controller.on_watch(arm.now)
        if answer is not None:
            steps.append(np.abs(answer - last).max() / 0.01)
            last = answer.copy()
    assert arm.controller.fault.code == "age"
    assert speed > 0.02
    assert max(steps[1:]) < 1.1 * speed
    assert steps[-1] == 0.0
    assert arm.controller.on_watch(arm.now + 10_000_000) is None
    assert arm.controller.ending == ["silent"]


def test_an_arm_that_does_not_follow_is_a_fault():
    arm = moving()
    arm.follows = False
    arm.d.qvel[:] = 0.0
    place = arm.d.qpos.copy()
    arm.run(4.0, velocity=np.zeros(6))
    assert arm.controller.fault.code in ("tracking", "velocity")
    assert np.array_equal(arm.d.qpos, place)


def test_a_bad_state_ends_at_rest_and_no_position_is_beyond_its_limits():
    arm = moving()
    before = arm.answer
    arm.tick(position=np.full(6, np.nan))
    assert arm.controller.fault.code == "finite"
    assert np.abs(arm.answer - before).max() < 0.01
    arm.run(1.0)
    assert arm.answer is None


def test_wrenches_with_unknown_links_or_impossible_numbers_are_refused():
    arm = PositionedArm("admittance", **LAW)
    for link, force, words in (
        ("nowhere", (0, 0, 0), "there is no link 'nowhere'"),
        (SENSOR, (np.nan, 0, 0), "nan"),
        (SENSOR, (1e300, 0, 0), "1e+300"),
    ):
        with refused(RbdynError, "wrench") as caught:
            arm.controller.wrench.take(link, force, (0, 0, 0), arm.now)
        assert words in str(caught.value)
    named = PositionedArm("admittance", **LAW, sensor_frame=SENSOR)
    named.controller.wrench.take("a frame of TF", (0, 0, 0), (0, 0, 0), named.now)
    with refused(RbdynError, "unknown-frame"):
        PositionedArm("admittance", **LAW, sensor_frame="nowhere")
    arm.feels = False
    arm.run(0.1)
    with refused(RbdynError, "wrench") as caught:
        arm.controller.try_arm(arm.now)
    assert "has arrived yet" in str(caught.value)
    with refused(RbdynError, "mode") as caught:
        PositionedArm().armed().controller.set_mode("admittance")
    assert "admittance.frame" in str(caught.value)


@pytest.mark.parametrize("mode", ["tracking", "admittance"])
@pytest.mark.parametrize("pause", [0.02, 0.06, 0.075])
def test_positions_continue_within_the_limits_after_a_pause_of_the_states(mode, pause):
    """The next position must be within reach, for the driver goes there within one cycle."""
    arm = PositionedArm(mode, **LAW).armed()
    q, fastest = arm.d.qpos.copy(), arm.gate.limits.velocity
    goal = q + 0.5 * np.sign(-q)
    time = 1.1 * 0.5 * 1.875 / fastest.min()  # the peak of the path is near the limit
    zero = np.zeros((2, len(q)))
    arm.controller.follow_path(Path([0.0, time], np.stack([q, goal]), zero, zero, 5))
    arm.run(0.5 * time)
    arm.now += int(1e9 * pause)
    before, steps = arm.d.qpos.copy(), []
    for _ in range(60):
        arm.tick()
        steps.append(np.abs(arm.d.qpos - before) / (fastest * arm.h))
        before = arm.d.qpos.copy()
    assert arm.controller.fault is None
    assert 0.5 < np.max(steps) < 1.05
    arm.run(time)
    assert arm.controller.progress().done


def test_a_position_controller_that_was_not_called_for_minutes_sends_nothing():
    arm = PositionedArm().armed()
    arm.run(0.1)
    arm.now += 300 * 10**9
    sent = [arm.controller.on_watch(arm.now + k * 10**7) for k in range(50)]
    assert sent == [None] * 50
    assert arm.controller.fault.code == "age"
    assert "silent" in arm.controller.status()


@pytest.mark.parametrize("before", ["tracking", "blind"])
def test_a_position_controller_sends_nothing_if_a_state_is_the_first_call_after_minutes(before):
    """Somebody moved the arm during the pause; it must not jump back."""
    arm = PositionedArm().armed()
    arm.run(0.1)
    if before == "blind":
        arm.now += 10**8
        assert arm.controller.on_watch(arm.now) is not None
    arm.now += 300 * 10**9
    arm.d.qpos += 0.5
    for _ in range(50):
        arm.tick()
        assert arm.answer is None
    assert arm.controller.fault.code == "age"
    assert "silent" in arm.controller.status()


def test_a_pause_of_minutes_ends_the_start_up_test_even_if_a_state_is_the_first_call():
    arm = PositionedArm(start_up_test=True).armed()
    arm.run(0.3)
    arm.now += 300 * 10**9
    arm.tick()
    assert "start-up test was stopped" in arm.controller.failed_test
    assert not arm.controller.sending


def test_an_old_wrench_counts_as_missing_also_after_a_reset_of_time():
    sensor = SensedWrench(PositionedArm().arm, FRAME, 0.0, (0.0, 0.0, 0.0), 0.1, SENSOR)
    sensor.take(SENSOR, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 10**9)
    assert sensor.missing(1_100_000_000) == ""
    assert "is 0.2 s old; allowed is 0.1 s" in sensor.missing(1_200_000_000)
    # the time of a simulated arm went back
    assert "is 1 s old; allowed is 0.1 s" in sensor.missing(0)

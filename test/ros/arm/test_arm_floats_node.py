# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation over DDS, in lock-step: a pushed arm moves, comes to rest and stays."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import PANDA_START, SEVEN_START, UR5_START, Pair, start_arm, start_pair
from support.robots import find

SEVEN = Path(__file__).parents[3] / "config/robots/seven_dof_arm.urdf"

#: For each robot: start position, rate of its states [Hz], pushed link, force [N]. The force
#: rotates a joint by about half a radian.
ROBOTS = {
    "ur5_robot.urdf": (UR5_START, 500, "tool0", (0.0, 45.0, 15.0)),
    "panda.urdf": (PANDA_START, 500, "panda_hand", (10.0, 12.0, 0.0)),
    "seven_dof_arm.urdf": (SEVEN_START, 1000, "wrist", (0.0, 60.0, 0.0)),
    "ur5_gripper.urdf": (UR5_START, 500, "tool0", (0.0, 45.0, 15.0)),
}


@pytest.mark.parametrize("name", ROBOTS, ids=[name.removesuffix(".urdf") for name in ROBOTS])
@pytest.mark.parametrize("duration", [3.0, pytest.param(10.0, marks=pytest.mark.nightly)])
def test_an_armed_arm_floats(simulate, control, peer, name, duration):
    start, rate, link, force = ROBOTS[name]
    urdf = SEVEN if name == SEVEN.name else find(name)
    robot = simulate, control, peer, urdf, start, rate
    pair = start_pair(*robot, lockstep=True, gravity_damping=5.0)
    arm = pair.arm
    pair.arm_it()
    before = arm.position
    rows = arm.wait(1.0)
    assert farthest(rows, before) < 1e-3

    # the push shows that the controller commands: otherwise the simulator would hold the arm
    pair.push(link, *force)
    ended = arm.wait(0.1)[-1][0]
    fastest = max(np.abs(row[2]).max() for row in arm.rows)
    moved = np.abs(arm.position - before).max()
    # speeds decay as exp(-5 t): after 2 s a speed below 22 rad/s is below 1e-3 rad/s
    peer.until(lambda: arm.time > ended + 2.0)
    still = max(row[0] for row in arm.rows if np.abs(row[2]).max() >= 1e-3) - ended
    assert still < 2.0
    assert moved > 0.05

    # with an exact model the arm drifts by rounding, and by 1e-3 rad/s that decay in 0.2 s
    there = arm.position
    drift = farthest(arm.wait(duration), there)
    print(
        f"{name} at {rate} Hz: pushed by {moved:.2f} rad at up to {fastest:.2f} rad/s, at rest "
        f"after {still:.2f} s; drift {1e3 * drift:.2g} mrad in {duration:g} s"
    )
    assert drift < 1e-3
    level, message, values = pair.report()
    assert (level, message, values["armed"]) == (0, "gravity; armed", "True")
    pair.end_well()
    assert "shut down while armed" in pair.controller.text()


def farthest(rows, place):
    """Return the largest distance of a joint from its position in `place` [rad]."""
    return np.abs(np.array([row[1] for row in rows]) - place).max()


def test_each_joint_is_tested_before_it_is_armed(simulate, control, peer):
    pair = start_pair(
        simulate, control, peer, SEVEN, SEVEN_START, lockstep=True, start_up_test="true"
    )
    before = pair.arm.rest()
    pair.arm_it()
    assert any("disarmed; testing joint" in line for line in pair.said)
    pair.until_said("gravity; armed")
    assert 3e-3 < farthest(pair.arm.rows, before) < 0.03
    pair.end_well()


def test_an_arm_whose_model_has_a_wrong_axis_is_not_armed(simulate, control, peer, tmp_path):
    """The first joint has a vertical axis, so no effort at rest shows the axis's direction."""
    text = SEVEN.read_text(encoding="utf-8")
    first = text.index("<axis", text.index('<joint name="shoulder_yaw"'))
    wrong = tmp_path / "wrong.urdf"
    wrong.write_text(text[:first] + text[first:].replace("0 0 1", "0 0 -1", 1), encoding="utf-8")
    simulator = start_arm(simulate, SEVEN, SEVEN_START, 1000, "", True)
    controller = control(wrong, mode="gravity", use_sim_time="true", start_up_test="true")
    pair = Pair(simulator, controller, peer)
    pair.arm.rest(0.04)
    pair.until_arming(lambda why: "joint 'shoulder_yaw' answered" in why)
    pair.until_said("the start-up test found")

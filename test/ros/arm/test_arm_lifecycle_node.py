# SPDX-License-Identifier: Apache-2.0
"""The arm controller makes lifecycle transitions, refuses bad starts, and ends at signals."""

import signal

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import UR5_START, Pair, start_arm
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from support.refusals import worded
from support.robots import find

EMPTY = "''"  # how the command line of ROS writes an empty string


def test_each_transition_leaves_the_arm_safe(simulate, control, peer):
    """The controller reads its robot from the topic of the simulator."""

    def change(transition):
        request = ChangeState.Request()
        request.transition.id = transition
        done = peer.call(ChangeState, "arm_controller/change_state", request).success
        state = peer.call(GetState, "arm_controller/get_state", GetState.Request())
        return done, state.current_state.label

    simulator = start_arm(simulate, find("ur5_robot.urdf"), UR5_START, 250)
    given = {"autostart": "false", "state_timeout": 1.0, "gravity_dampnig": 3.0}
    controller = control(EMPTY, False, mode="gravity", **given)
    controller.wait_for("waiting for the lifecycle transition configure")
    simulator.wait_for("simulating '")
    assert change(Transition.TRANSITION_CONFIGURE) == (True, "inactive")
    controller.wait_for("there is no parameter 'gravity_dampnig'")
    assert "gravity_damping" in controller.text()  # the log suggests the right name
    pair = Pair(simulator, controller, peer)
    assert pair.said[-1] == "idle; disarmed"
    assert pair.ask("arm").startswith("the mode is idle")
    assert "no state of the arm has arrived yet" in (pair.ask("gravity") or pair.ask("arm"))

    for again in (False, True):
        assert change(Transition.TRANSITION_ACTIVATE) == (True, "active")
        pair.until_said("gravity; disarmed")
        pair.arm_it()
        pair.until_commanded()
        if again:
            break
        assert change(Transition.TRANSITION_DEACTIVATE) == (True, "inactive")
        pair.until_said("idle; disarmed")
        pair.arm.wait(0.1)
        assert pair.commands_in(0.3) == 0
        assert change(Transition.TRANSITION_CLEANUP) == (False, "inactive")
    place = pair.arm.position
    controller.end_well()
    assert "shut down while armed" in controller.text()
    pair.arm.wait(0.5)
    peer.until(lambda: pair.commands_in(0.2) == 0)  # the last command may still be on its way
    pair.arm.rest()
    assert abs(pair.arm.position - place).max() < 1e-3
    simulator.end_well()


def test_invalid_parameters_are_refused_at_the_start(control, tmp_path):
    """Each bad start ends with status 2 and one line in the log."""
    robot = find("ur5_robot.urdf")
    starts = [
        (tmp_path / "none.urdf", {}, "none.urdf"),
        (robot, {"required_sha256": "ab" * 32}, "'required_sha256'"),
        (robot, {"state_timeout": 0.0}, "'state_timeout'"),
        (robot, {"joints": "[elbow_jiont]"}, "'elbow_jiont'"),
        (robot, {"impedance.frame": "tol0"}, "'tol0'"),
        (robot, {"gravity": "[0, 0, -9.81]"}, "[0.0, 0.0, -9.81]"),
    ]
    started = [control(urdf, False, **given) for urdf, given, _ in starts]
    for controller, (_, _, words) in zip(started, starts, strict=True):
        assert controller.process.wait(120.0) == 2, controller.text()
        lines = controller.text().splitlines()
        (why,) = (line for line in lines if line.startswith("rbdyn: "))
        assert words in why
        worded("arm_controller", why)
        assert "Traceback" not in controller.text()


@pytest.mark.fresh_start
def test_a_signal_during_the_start_ends_the_controller(control):
    """The signal comes while the controller waits for a robot, or while it compiles."""
    waiting = control(EMPTY, False)
    waiting.wait_for("waiting for a robot on /robot_description")
    waiting.end_well(signal.SIGTERM)
    preparing = control(find("ur5_robot.urdf"), False)
    preparing.wait_for("preparing")
    preparing.end_well()

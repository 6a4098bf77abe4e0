# SPDX-License-Identifier: Apache-2.0
"""Goals of a gripper reach the simulated hand only while the arm is armed."""

import pytest

pytest.importorskip("control_msgs.action")
from control_msgs import action as actions

if not hasattr(actions, "GripperCommand"):
    pytest.skip("control_msgs is not built", allow_module_level=True)

from action_msgs.msg import GoalStatus
from arm_pair import PANDA_START, start_pair
from rclpy.action import ActionClient
from support.robots import find

JOINTS = [f"panda_joint{k}" for k in range(1, 8)]
FINGER = "panda_finger_joint1"


class Hand:
    """A client of the controller's gripper action."""

    def __init__(self, peer):
        self.peer = peer
        name = "/arm_controller/gripper_cmd"
        self.client = ActionClient(peer.node, actions.GripperCommand, name)
        peer.until(self.client.server_is_ready)

    def send(self, position, effort=20.0):
        goal = actions.GripperCommand.Goal()
        goal.command.position, goal.command.max_effort = position, effort
        sent = self.client.send_goal_async(goal)
        self.peer.until(sent.done)
        return sent.result()

    def result(self, handle):
        ended = handle.get_result_async()
        self.peer.until(ended.done)
        return ended.result()


@pytest.fixture
def pair(simulate, control, peer):
    return start_pair(
        *(simulate, control, peer, find("panda.urdf"), PANDA_START),
        more=["-p", "grippers:=[franka_hand]"],
        joints=JOINTS,
        grippers="[franka_hand]",
        **{"gripper.goal_tolerance": "0.001", "gripper.stall_timeout": "30.0"},
    )


def test_the_gripper_moves_only_while_the_arm_is_armed(pair, peer):
    hand = Hand(peer)
    assert not hand.send(0.04).accepted
    pair.controller.wait_for("refused a goal of gripper_cmd: the arm is not armed")
    pair.arm_it("gravity")
    handle = hand.send(0.04)
    assert handle.accepted
    ended = hand.result(handle)
    assert ended.status == GoalStatus.STATUS_SUCCEEDED
    assert ended.result.reached_goal
    assert ended.result.position == pytest.approx(0.04, abs=1e-3)
    hand.client.destroy()
    pair.end_well()


def test_disarming_aborts_a_goal(pair, peer):
    hand = Hand(peer)
    pair.arm_it("gravity")
    handle = hand.send(0.0, 1e-6)  # the force [N] is too small to move the finger
    pair.do("disarm")
    assert hand.result(handle).status == GoalStatus.STATUS_ABORTED
    hand.client.destroy()


def test_a_gripper_that_the_arm_controls_is_refused(control):
    controller = control(find("panda.urdf"), wait=False, grippers="[franka_hand]")
    assert controller.process.wait(300.0) == 2
    assert f"joint '{FINGER}' is a controlled joint of the arm" in controller.text()

# SPDX-License-Identifier: Apache-2.0
"""A gripper of an arm with a manual clock: old and unmeasured states, and a late hold."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.gripper import OLD, ArmGripper
from rbdyn_ros.ros.common.gripper.grippers import TOPIC, Gripper

FINGER = Gripper("finger", 0.0, 0.04, 0.2, 100.0, 0.2, 100.0)


class Hand:
    """A gripper of an armed arm, whose time is set by hand."""

    def __init__(self, peer):
        self.peer, self.time = peer, 10**9
        settings = SimpleNamespace(dry_run=False)
        controller = SimpleNamespace(armed=True, settings=settings)
        self.sent = peer.collect(JointState, TOPIC)
        self.port = ArmGripper(peer.node, FINGER, controller, lambda: self.time)
        peer.until(lambda: peer.node.count_subscribers("joint_states") > 0)
        self.states = peer.publisher(JointState, "joint_states")

    def measure(self, *position):
        message = JointState(name=["other", "finger"], position=[0.5, *position])
        message.header.stamp.sec = 7
        self.states.publish(message)
        # messages of one publisher come in order: the next one is behind it
        heard = self.peer.collect(JointState, "joint_states")
        self.peer.until(lambda: heard, again=lambda: self.states.publish(message), every=0.1)
        self.peer.spin(0.05)
        return message

    def move(self, position):
        return self.port.move(FINGER.goal(position))


def test_a_goal_is_refused_and_ends_when_the_states_stop(peer):
    hand = Hand(peer)
    hand.measure(0.01)
    hand.time += round(OLD * 1e9)
    assert hand.move(0.02) == 1
    assert hand.port.state().failed == ""
    hand.time += 1
    assert "no message of joint_states has had a position" in hand.port.state().failed
    with pytest.raises(RbdynError, match="allowed is 0"):
        hand.move(0.03)
    hand.port.hold(1)
    peer.spin(0.1)
    assert [message.position[0] for message in hand.sent] == [0.02]


@pytest.mark.parametrize("position", [(math.nan,), ()], ids=["nan", "none"])
def test_a_state_without_a_finite_position_is_unmeasured(peer, position):
    hand = Hand(peer)
    hand.measure(*position)
    with pytest.raises(RbdynError, match="a finite position of joint 'finger' yet"):
        hand.move(0.02)
    hand.measure(0.03)
    hand.measure(*position)
    assert hand.port.state().position == 0.03


def test_a_late_hold_does_not_replace_the_next_goal(peer):
    hand = Hand(peer)
    hand.measure(0.01)
    first = hand.move(0.02)
    second = hand.move(0.03)
    hand.port.hold(first)
    assert hand.port.state().number == second
    hand.port.hold(second)
    peer.until(lambda: len(hand.sent) == 3)
    assert [message.position[0] for message in hand.sent] == [0.02, 0.03, 0.01]

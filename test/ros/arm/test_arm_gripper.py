# SPDX-License-Identifier: Apache-2.0
"""An arm's gripper handles old or incomplete states and late holds; the test sets the clock."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from arm_pair import NEWEST
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.gripper import OLD, ArmGripper
from rbdyn_ros.ros.common.gripper.grippers import TOPIC, Gripper

FINGER = Gripper("finger", 0.0, 0.04, 0.2, 100.0, 0.2, 100.0)


class Hand:
    """A gripper of an armed arm; the test sets the time."""

    def __init__(self, peer, reliability="reliable", stamp=7):
        self.peer, self.time, self.stamp = peer, 10**9, stamp
        settings = SimpleNamespace(dry_run=False)
        controller = SimpleNamespace(armed=True, settings=settings)
        self.sent = peer.collect(JointState, TOPIC)
        self.port = ArmGripper(peer.node, FINGER, controller, lambda: self.time, reliability)
        qos = QoSProfile(depth=10, reliability=ReliabilityPolicy[reliability.upper()])
        self.states = peer.node.create_publisher(JointState, "joint_states", qos)
        peer.until(lambda: self.states.get_subscription_count() > 0)

    def measure(self, *position):
        message = JointState(name=["other", "finger"], position=[0.5, *position])
        message.header.stamp.sec = self.stamp
        self.states.publish(message)
        # messages arrive in order, so the second message shows that the first has arrived
        heard = []
        self.peer.node.create_subscription(JointState, "joint_states", heard.append, NEWEST)
        self.peer.until(lambda: heard, again=lambda: self.states.publish(message), every=0.1)
        self.peer.spin(0.05)
        return message

    def move(self, position):
        return self.port.move(FINGER.goal(position))


def test_when_the_states_stop_the_goal_ends_and_a_new_goal_is_refused(peer):
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


def test_a_hold_for_an_earlier_goal_does_not_replace_the_next_goal(peer):
    hand = Hand(peer)
    hand.measure(0.01)
    first = hand.move(0.02)
    second = hand.move(0.03)
    hand.port.hold(first)
    assert hand.port.state().number == second
    hand.port.hold(second)
    peer.until(lambda: len(hand.sent) == 3)
    assert [message.position[0] for message in hand.sent] == [0.02, 0.03, 0.01]


def test_a_gripper_accepts_states_with_best_effort_qos(peer):
    hand = Hand(peer, "best_effort")
    hand.measure(0.01)
    assert hand.port.state().position == 0.01


def test_states_without_stamps_get_their_time_of_arrival(peer):
    """With a constant stamp no time would pass, and the gripper would never count as stalled."""
    hand = Hand(peer, stamp=0)
    hand.measure(0.01)
    before = hand.port.state().time_ns
    hand.time += 10**9
    hand.measure(0.01)
    assert hand.port.state().time_ns == before + 10**9
    hand.move(0.02)
    peer.until(lambda: hand.sent)
    assert hand.sent[0].header.stamp.sec == 0

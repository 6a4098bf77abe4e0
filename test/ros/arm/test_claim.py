# SPDX-License-Identifier: Apache-2.0
"""The controller accepts the states of an arm only while one publisher sends them."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.topic_endpoint_info import TopicEndpointInfo

from rbdyn_ros.ros.arm.claim import QUIET, ArmClaim, StateSource
from rbdyn_ros.ros.common.graph.endpoints import UNKNOWN, described, full_name

MS = 1_000_000
ARM, OTHER = b"arm", b"other"


def test_a_publisher_is_unknown_before_its_node_is_discovered():
    """Until discovery ROS returns placeholders for name and namespace."""
    end = TopicEndpointInfo(node_name=UNKNOWN, node_namespace="_NODE_NAMESPACE_UNKNOWN_")
    assert full_name(end) == UNKNOWN
    assert described(full_name(end)) == "a node whose name is not known yet"


def accepted(*messages):
    """Return whether each of the messages, given as (sender, time [ns]), is accepted."""
    source = StateSource()
    return [source.accepts(*message) for message in messages]


def test_states_of_a_single_publisher_are_accepted_after_any_pause():
    assert accepted((ARM, 0), (ARM, 1), (ARM, 5 * QUIET)) == [True] * 3


def test_states_of_two_publishers_are_both_refused():
    both = (ARM, 0), (OTHER, MS), (ARM, 2 * MS), (OTHER, 3 * MS), (ARM, QUIET)
    assert accepted(*both) == [True, False, False, False, False]


def test_a_publisher_is_accepted_once_the_other_has_been_silent_for_a_second():
    first = (ARM, 0), (OTHER, MS)
    assert accepted(*first, (ARM, MS + QUIET), (ARM, MS + QUIET + 1)) == [True, False, False, True]
    assert accepted(*first, (OTHER, QUIET + 2), (OTHER, QUIET + 3)) == [True, False, True, True]


def test_a_restarted_driver_is_accepted_when_the_old_driver_is_silent():
    assert accepted((ARM, 0), (OTHER, QUIET), (OTHER, QUIET + 1)) == [True, False, True]
    assert accepted((ARM, 0), (OTHER, QUIET + 1), (OTHER, QUIET + 2)) == [True, True, True]


def test_states_are_disputed_until_one_publisher_has_been_silent_for_a_second():
    source = StateSource()
    for message in ((ARM, 0), (OTHER, MS), (ARM, 2 * MS)):
        source.accepts(*message)
    assert source.disputed(MS + QUIET)
    assert not source.disputed(MS + QUIET + 1)


def test_messages_with_a_common_joint_belong_to_one_device():
    claim = ArmClaim(None, "", {}, "")
    for names in (["finger"], ["finger", "thumb"], ["thumb"], [], ["head"], ["finger"]):
        claim.note_device(names)
    assert claim._devices == {frozenset({"finger", "thumb"}), frozenset({"head"})}

"""Commands over DDS: taken as a whole, refused as a whole, given up when old, clamped."""

import math
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

PAUSED = ("--ros-args", "-p", "gravity:=[0.0, 0.0, 0.0]")


def send(publisher, **efforts):
    publisher.publish(JointState(name=list(efforts), effort=list(map(float, efforts.values()))))


def drive(peer, publisher, seconds, **efforts):
    """Send the same command at 100 Hz."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        send(publisher, **efforts)
        peer.spin(0.01)


def test_five_newton_metres_move_the_joint_and_are_shown(simulate, peer):
    simulate(*PAUSED)
    states = peer.collect(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    drive(peer, publisher, 0.3, shoulder_yaw=5.0)
    last = states[-1]
    assert last.effort[last.name.index("shoulder_yaw")] == 5.0
    assert last.velocity[0] != 0.0
    assert last.position[0] > 1e-3


def test_effort_is_clamped_to_the_limit(simulate, peer, two_joints):
    simulator = simulate(two_joints, *PAUSED)
    states = peer.collect(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    drive(peer, publisher, 0.2, lift=1000.0, turn=0.0)
    assert states[-1].effort[0] == 8.0
    simulator.wait_for("effort of joint 'lift' is clamped to 8", 2.0)


BAD = [
    (["lift", "turn"], [1.0, math.nan], "the effort of joint 'turn' is nan"),
    (["lift", "turn"], [math.inf, 1.0], "the effort of joint 'lift' is inf"),
    (["lift", "trun"], [1.0, 1.0], "there is no joint 'trun' (did you mean 'turn'?)"),
    (["lift", "lift"], [1.0, 1.0], "joint 'lift' is named twice"),
    (["lift", "turn"], [1.0], "there are 1 efforts for 2 names"),
    (["lift"], [], "it names joints but holds no position, velocity or effort for them"),
    (["mount"], [1.0], "joint 'mount' is fixed"),
    ([], [], "it names no joint"),
]


def test_bad_messages_are_refused_and_nothing_else_changes(simulate, peer, two_joints):
    simulator = simulate(two_joints, *PAUSED, "-p", "command_timeout:=100.0")
    states = peer.collect(JointState, "joint_states")
    by_name = peer.publisher(JointState, "joint_commands")
    in_order = peer.publisher(Float64MultiArray, "effort_commands")
    send(by_name, lift=2.0, turn=0.5)
    peer.until(lambda: states and list(states[-1].effort) == [2.0, 0.5])
    seen = len(states)
    for names, efforts, words in BAD:
        by_name.publish(JointState(name=names, effort=efforts))
        peer.spin(1.05)  # one report a second
        simulator.wait_for(words, 1.0)
    for efforts, words in (
        ([1.0], "it holds 1 values; 2 are"),
        ([1.0, math.nan], "'turn' is nan"),
    ):
        in_order.publish(Float64MultiArray(data=efforts))
        peer.spin(1.05)
        simulator.wait_for(words, 1.0)
    assert len(states) > seen + 1000
    assert all(list(state.effort) == [2.0, 0.5] for state in states[seen:])
    in_order.publish(Float64MultiArray(data=[3.0, 0.25]))
    peer.until(lambda: list(states[-1].effort) == [3.0, 0.25])


@pytest.mark.parametrize(
    ("policy", "after"), [("keep", [1.0, 0.5]), ("zero", [1.0, 0.0]), ("reject", [2.0, 0.5])]
)
def test_partial_commands(simulate, peer, two_joints, policy, after):
    simulate(
        two_joints, *PAUSED, "-p", "command_timeout:=100.0", "-p", f"partial_commands:={policy}"
    )
    states = peer.collect(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    send(publisher, turn=0.5, lift=2.0)
    peer.until(lambda: states and list(states[-1].effort) == [2.0, 0.5])
    send(publisher, lift=1.0)
    peer.spin(0.3)
    assert list(states[-1].effort) == after


def test_timeout_is_per_joint(simulate, peer, two_joints):
    simulate(two_joints, *PAUSED)
    states = peer.collect(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    send(publisher, lift=2.0, turn=0.5)
    drive(peer, publisher, 0.5, lift=1.0)
    assert list(states[-1].effort) == [1.0, 0.0]
    peer.spin(0.3)
    assert list(states[-1].effort) == [0.0, 0.0]


@pytest.mark.parametrize("policy", ["zero", "gravity", "hold"])
def test_on_timeout(simulate, peer, policy):
    position = "initial_positions.shoulder_pitch:=0.8"
    simulate("--ros-args", "-p", f"on_timeout:={policy}", "-p", position)
    states = peer.collect(JointState, "joint_states")
    peer.spin(0.3)
    publisher = peer.publisher(JointState, "joint_commands")
    drive(peer, publisher, 0.1, shoulder_yaw=20.0)
    peer.spin(1.0)
    last = states[-1]
    if policy == "zero":
        assert not any(last.effort)
        assert abs(last.position[1] - 0.8) > 0.1  # it fell
    else:
        assert abs(last.effort[1]) > 1.0  # it carries the arm
    if policy == "hold":
        assert max(map(abs, last.velocity)) < 0.02  # it came to rest

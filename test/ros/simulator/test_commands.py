# SPDX-License-Identifier: Apache-2.0
"""Commands over DDS are accepted or refused as a whole, expire, and are clamped."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

FLOATING = ("--ros-args", "-p", "gravity:=[0.0, 0.0, 0.0]")
#: No gravity, and a timeout that no command reaches, even on a busy machine.
PATIENT = (*FLOATING, "-p", "command_timeout:=100.0")


def command(**efforts):
    return JointState(name=list(efforts), effort=list(map(float, efforts.values())))


def insist(peer, publisher, states, efforts, **commanded):
    """Send the command `commanded` repeatedly until joint_states has these efforts."""
    message = command(**commanded)
    peer.insist(publisher, message, lambda: list(states[-1].effort) == efforts)


def test_an_effort_moves_the_joint_and_is_published(simulate, peer):
    simulate(*PATIENT)
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    k = states[0].name.index("shoulder_yaw")
    message = command(shoulder_yaw=5.0)
    peer.insist(publisher, message, lambda: states[-1].position[k] > 1e-3)
    assert states[-1].effort[k] == 5.0
    assert states[-1].velocity[k] > 0.0


def test_a_commanded_effort_is_clamped_to_the_limit(simulate, peer, two_joints):
    simulator = simulate(two_joints, *PATIENT)
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    insist(peer, publisher, states, [8.0, 0.0], lift=1000.0, turn=0.0)
    simulator.wait_for("effort of joint 'lift' is clamped to 8")
    insist(peer, publisher, states, [-8.0, 0.0], lift=-1000.0, turn=0.0)
    assert {state.effort[0] for state in states} <= {0.0, 8.0, -8.0}


def test_an_arm_that_compensates_gravity_rests_without_commands(simulate, peer):
    simulate("--ros-args", *("-p", "robot_compensates_gravity:=true"), *("-p", "on_timeout:=zero"))
    states = peer.hear(JointState, "joint_states")
    begin = states[0]
    peer.until(lambda: stamp(states[-1]) > stamp(begin) + 1.0)
    assert list(states[-1].position) == pytest.approx(list(begin.position), abs=1e-6)
    assert max(abs(effort) for effort in states[-1].effort) > 1.0


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


BAD = [
    (["lift", "turn"], [1.0, math.nan], "joint 'turn' is nan"),
    (["lift", "turn"], [math.inf, 1.0], "joint 'lift' is inf"),
    (["lift", "trun"], [1.0, 1.0], "'trun' (did you mean 'turn'?)"),
    (["lift", "lift"], [1.0, 1.0], "joint 'lift' is named twice"),
    (["lift", "turn"], [1.0], "1 effort for 2 names"),
    (["lift"], [], "no position, velocity or effort"),
    (["mount"], [1.0], "joint 'mount' is fixed"),
    ([], [], "names no joint"),
]


def test_bad_commands_are_refused_and_have_no_effect(simulate, peer, two_joints):
    simulator = simulate(two_joints, *PATIENT)
    states = peer.hear(JointState, "joint_states")
    by_name = peer.publisher(JointState, "joint_commands")
    in_order = peer.publisher(Float64MultiArray, "effort_commands")
    insist(peer, by_name, states, [2.0, 0.5], lift=2.0, turn=0.5)
    seen = len(states)

    def refused(publisher, message, words):  # at most one refusal per second is logged
        peer.insist(publisher, message, lambda: words in simulator.text())

    for names, efforts, words in BAD:
        refused(by_name, JointState(name=names, effort=efforts), words)
    for efforts, words in (
        ([1.0], "1 value; expected 2, in the order of"),
        ([1.0, math.nan], "joint 'turn' is nan"),
    ):
        refused(in_order, Float64MultiArray(data=efforts), words)
    now = len(states)
    peer.until(lambda: len(states) > now + 100)
    assert all(list(state.effort) == [2.0, 0.5] for state in states[seen:])
    other = Float64MultiArray(data=[3.0, 0.25])
    peer.insist(in_order, other, lambda: list(states[-1].effort) == [3.0, 0.25])


REFUSED = "joint 'turn' is missing; partial_commands is 'reject'"


@pytest.mark.parametrize(
    ("policy", "after"), [("keep", [1.0, 0.5]), ("zero", [1.0, 0.0]), ("reject", [2.0, 0.5])]
)
def test_commands_for_some_joints_follow_the_parameter_partial_commands(
    simulate, peer, two_joints, policy, after
):
    simulator = simulate(two_joints, *PATIENT, "-p", f"partial_commands:={policy}")
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    insist(peer, publisher, states, [2.0, 0.5], turn=0.5, lift=2.0)
    seen = len(states)
    if policy == "reject":
        peer.insist(publisher, command(lift=1.0), lambda: REFUSED in simulator.text())
        now = len(states)
        peer.until(lambda: len(states) > now + 100)
    else:
        insist(peer, publisher, states, after, lift=1.0)
    assert list(states[-1].effort) == after
    assert all(list(state.effort) in ([2.0, 0.5], after) for state in states[seen:])
    assert (REFUSED in simulator.text()) == (policy == "reject")


def test_each_joint_has_its_own_command_timeout(simulate, peer, two_joints):
    simulate(two_joints, *FLOATING)
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    insist(peer, publisher, states, [2.0, 0.5], lift=2.0, turn=0.5)
    insist(peer, publisher, states, [1.0, 0.0], lift=1.0)
    peer.until(lambda: list(states[-1].effort) == [0.0, 0.0])


@pytest.mark.parametrize("policy", ["zero", "gravity", "hold"])
def test_on_timeout_takes_effect_after_command_timeout(simulate, peer, policy):
    position = "initial_positions.shoulder_pitch:=0.8"
    simulate("--ros-args", "-p", f"on_timeout:={policy}", "-p", position)
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    message = command(shoulder_yaw=20.0)
    peer.insist(publisher, message, lambda: states[-1].effort[0] == 20.0)
    peer.until(lambda: states[-1].effort[0] != 20.0)
    if policy == "zero":
        assert not any(states[-1].effort)
        peer.until(lambda: abs(states[-1].position[1] - 0.8) > 0.1)  # the arm falls
        return
    assert abs(states[-1].effort[1]) > 1.0  # the motor carries the arm now
    if policy == "hold":
        peer.until(lambda: max(map(abs, states[-1].velocity)) < 0.02)  # the arm came to rest
        rested, seen = states[-1], len(states)
        peer.until(lambda: len(states) > seen + 100)
        assert states[-1].position == pytest.approx(rested.position, abs=0.01)
        assert abs(states[-1].effort[1]) > 1.0

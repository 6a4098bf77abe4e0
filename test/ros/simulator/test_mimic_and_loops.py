# SPDX-License-Identifier: Apache-2.0
"""A node simulates mimic joints and closed loops."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.runtime.loop import warm

EXAMPLES = Path(__file__).parents[3] / "examples"
LEFT, RIGHT = "panda_finger_joint1", "panda_finger_joint2"


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile the mechanism kernels first: otherwise waiting for a simulator could time out."""
    warm(rb.load(EXAMPLES / "crank_slider.yaml"))


def send_until(peer, publisher, condition, **efforts):
    """Send the same command until a condition holds."""
    message = JointState(name=list(efforts), effort=list(map(float, efforts.values())))
    peer.insist(publisher, message, condition)


def test_both_fingers_of_a_gripper_move(simulate, peer):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    floating, patient = "gravity:=[0.0, 0.0, 0.0]", "command_timeout:=100.0"
    simulate(find("panda.urdf"), "--ros-args", "-p", floating, "-p", patient)
    states = peer.hear(JointState, "joint_states")
    frames = peer.collect(tf2_msgs.TFMessage, "/tf", 100)
    publisher = peer.publisher(JointState, "joint_commands")
    left, right = (states[0].name.index(name) for name in (LEFT, RIGHT))
    send_until(peer, publisher, lambda: states[-1].position[right] > 0.005, **{LEFT: 0.1})
    assert (states[-1].effort[left], states[-1].effort[right]) == (0.1, 0.0)
    send_until(peer, publisher, lambda: states[-1].velocity[left] < -0.01, **{RIGHT: -0.3})
    assert (states[-1].effort[left], states[-1].effort[right]) == (-0.3, 0.0)
    both = {RIGHT: 0.25, LEFT: 0.5}
    send_until(peer, publisher, lambda: states[-1].effort[left] == 0.75, **both)
    peer.until(lambda: len(states) > 50)
    assert all(state.position[left] == state.position[right] for state in states)
    assert all(state.velocity[left] == state.velocity[right] for state in states)

    def moves():
        position = {nanoseconds(state.header.stamp): state.position[right] for state in states}
        found = [
            (transform.transform.translation.y, position[nanoseconds(transform.header.stamp)])
            for message in frames
            for transform in message.transforms
            if transform.child_frame_id == "panda_rightfinger"
            and nanoseconds(transform.header.stamp) in position
        ]
        return np.array(found).reshape(-1, 2).T

    peer.until(lambda: len(moves()[0]) > 10 and np.ptp(moves()[0]) > 0.004)
    y, expected = moves()
    # the frame of the mimic finger agrees with joint_states of the same stamp
    np.testing.assert_allclose(y, -expected, atol=1e-12)
    before = len(states)
    assert peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    peer.until(lambda: any(state.position[left] == 0.0 for state in states[before:]))
    assert all(state.position[left] == state.position[right] for state in states)


def gap(state):
    """Return the largest offset along an axis of the rod's end from the slider [m]."""
    at = dict(zip(state.name, state.position, strict=True))
    crank, pin, guide = at["main_bearing"], at["crank_pin"], at["guide"]
    x = 0.1 * np.cos(crank) + 0.3 * np.cos(crank + pin) - 0.4 - guide
    return max(abs(x), abs(0.1 * np.sin(crank) + 0.3 * np.sin(crank + pin)))


IN_PLANE = ("--ros-args", "-p", "gravity:=[3.0, -9.81, 0.0]")


def test_the_loop_of_a_running_mechanism_stays_closed(simulate, peer):
    simulate(EXAMPLES / "crank_slider.yaml", *IN_PLANE, "-p", "start_paused:=true")
    # subscribe while time is paused, to receive the motion from its start
    states = peer.hear(JointState, "joint_states")
    peer.pause(False)
    k = states[0].name.index("main_bearing")
    peer.until(lambda: abs(states[-1].position[k] - states[0].position[k]) > 0.5)
    assert max(map(gap, states)) < 1e-7


def test_the_policy_hold_stops_a_mechanism_with_its_only_actuator(simulate, peer, tmp_path):
    path = tmp_path / "one_motor.yaml"
    text = (EXAMPLES / "crank_slider.yaml").read_text()
    for line in ("crank_pin: {type: revolute,", "    type: prismatic\n"):
        assert line in text
    text = text.replace("crank_pin: {", "crank_pin: {actuated: false, ")
    path.write_text(
        text.replace("    type: prismatic\n", "    type: prismatic\n    actuated: false\n")
    )
    simulator = simulate(
        path,
        *IN_PLANE,
        *("-p", "on_timeout:=hold", "-p", "initial_positions.main_bearing:=0.8"),
    )
    states = peer.collect(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    peer.until(lambda: len(states) > 100)
    # the motor holds the weight of all parts from the first tick on
    assert states[-1].position[0] == pytest.approx(0.8, abs=1e-6)
    assert abs(states[-1].effort[0]) > 1.0
    refusal = "joint 'guide' has no actuator"
    send_until(peer, publisher, lambda: refusal in simulator.text(), guide=1.0)
    send_until(peer, publisher, lambda: states[-1].velocity[0] > 3.0, main_bearing=4.0)
    peer.until(lambda: max(map(abs, states[-1].velocity)) < 1e-3)
    rested = states[-1]
    later = nanoseconds(rested.header.stamp) + 500_000_000
    peer.until(lambda: nanoseconds(states[-1].header.stamp) > later)
    # a mechanism that is not held would have moved on by now
    assert states[-1].position == pytest.approx(rested.position, abs=1e-3)
    assert not any(any(state.effort[1:]) for state in states)
    assert max(map(gap, states)) < 1e-5

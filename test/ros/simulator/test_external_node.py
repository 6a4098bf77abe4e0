# SPDX-License-Identifier: Apache-2.0
"""~/external_effort and ~/external_wrench of simulator and arm controller show known wrenches."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

LINK = "tool_flange"
POSE = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.9, 0.1])
PUSH = np.array([6.0, -4.0, 3.0, 0.2, 0.5, -0.3])


@pytest.fixture
def arm(tmp_path):
    """Return the file of an arm without dry friction, which would absorb a part of a push."""
    path = tmp_path / "arm.urdf"
    path.write_text(re.sub(' friction="[^"]*"', "", bundled_robot("seven_dof_arm").read_text()))
    return path


def parameters(**values):
    return [x for name, value in values.items() for x in ("-p", f"{name}:={value}")]


def held(m, **values):
    """Return the arguments of a simulator that holds the arm in POSE."""
    pose = {f"initial_positions.{name}": q for name, q in zip(m.jnt_names, POSE, strict=True)}
    others = {"on_timeout": "hold", "external.time_constant": 0.02, "external.link": LINK}
    return ("--ros-args", *parameters(**pose | others | values))


def numbers(message):
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def close(found, exact):
    return np.linalg.norm(found - exact) < 0.02 * np.linalg.norm(exact)


@pytest.mark.parametrize("node", ["simulator", "arm_controller"])
def test_a_known_push_and_weight_are_estimated_within_two_percent(
    simulate, control, peer, arm, node
):
    m = rb.load_urdf(arm)
    simulator = simulate(arm, *held(m, command_timeout=1000.0))
    if node == "arm_controller":
        control(arm, dry_run="true", **{"external.time_constant": 0.02, "external.link": LINK})
    efforts = peer.hear(JointState, f"{node}/external_effort", 100)
    wrenches = peer.hear(WrenchStamped, f"{node}/external_wrench", 100)
    states = peer.hear(JointState, "joint_states", 100)

    def settles(wrench_of):
        """Wait until both estimates agree with the wrench, and check this again later."""

        def exact():
            d = rb.make_data(m)
            d.qpos[:] = states[-1].position
            wrench = wrench_of(rb.frame_pose(m, d, LINK)[1])
            J = rb.frame_jacobian(m, d, LINK, "local")
            effort = J.T @ np.roll(wrench, 3)
            return close(numbers(wrenches[-1]), wrench) and close(efforts[-1].effort, effort)

        peer.until(exact)
        seen = len(wrenches)
        peer.until(lambda: len(wrenches) > seen + 100)
        assert exact()

    message = WrenchStamped()
    message.header.frame_id = LINK
    for part, three in ((message.wrench.force, PUSH[:3]), (message.wrench.torque, PUSH[3:])):
        part.x, part.y, part.z = three.tolist()
    peer.send(WrenchStamped, "simulator/wrench", message)
    settles(lambda _: PUSH)
    assert list(efforts[-1].name) == list(m.jnt_names)
    assert wrenches[-1].header.frame_id == LINK
    assert peer.trigger("simulator/clear_wrenches")

    body = InertiaStamped()
    body.header.frame_id, body.inertia.m = LINK, 0.5
    peer.send(InertiaStamped, "simulator/payload", body)
    settles(lambda R: np.concatenate([R.T @ [0.0, 0.0, -0.5 * 9.81], np.zeros(3)]))
    if node == "arm_controller":  # once the payload is known, no external effort remains
        peer.send(InertiaStamped, f"{node}/payload", body)
        peer.until(lambda: np.abs(efforts[-1].effort).max() < 0.02)
    simulator.end_well()


def test_damping_in_the_robot_file_is_not_an_external_effort(simulate, peer, arm):
    falls = {"on_timeout": "zero", "start_paused": "true", "external.time_constant": 0.005}
    simulator = simulate(arm, *held(rb.load_urdf(arm), **falls))
    efforts = peer.collect(JointState, "simulator/external_effort", 1000)
    states = peer.hear(JointState, "joint_states", 1000)
    first = len(states)
    peer.pause(False)
    peer.until(lambda: len(efforts) > 150 and len(states) > first + 150)
    assert np.abs([message.effort for message in efforts[:150]]).max() < 0.1
    assert np.abs(states[first + 150].velocity).max() > 0.5  # damping exceeds 0.1 N m
    simulator.end_well()


def test_efforts_below_the_threshold_are_zero_and_without_a_link_there_is_no_wrench(
    simulate, peer, arm
):
    m = rb.load_urdf(arm)
    quiet = {"external.threshold": 1e6, "external.link": "''", "on_timeout": "zero"}
    simulator = simulate(arm, *held(m, publish_rate=100.0, **quiet))
    efforts = peer.hear(JointState, "simulator/external_effort", 100)
    peer.until(lambda: len(efforts) > 20)
    assert not any(any(message.effort) for message in efforts)
    topics = dict(peer.node.get_topic_names_and_types())
    assert "/simulator/external_wrench" not in topics
    simulator.end_well()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"external.link": "hnad"}, "hnad"),
        ({"actuator_effort": "current"}, "joint_states.effort is a current"),
    ],
)
def test_settings_that_allow_no_estimate_are_refused(simulate, arm, changes, words):
    simulator = simulate(arm, *held(rb.load_urdf(arm), **changes), wait=False)
    assert simulator.process.wait(600.0) != 0
    assert words in simulator.text()

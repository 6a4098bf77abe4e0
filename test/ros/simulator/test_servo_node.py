# SPDX-License-Identifier: Apache-2.0
"""Twists over DDS move the tool of a simulated arm and of a controlled arm."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from arm_pair import LATCHED, UR5_START, Watched, start_arm, start_pair
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.robots import find

import rbdyn_ros as rb

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("joy_twist", ROOT / "examples/joy_twist.py")
EXAMPLE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EXAMPLE)

TOOL = ("-p", "servo.frame:=tool0", "-p", "servo.timeout:=0.4")
#: Tolerance of the tool's path [m]: when a busy machine delays a step, joints keep their
#: velocities. topics/test_servo_topic.py and control/test_twist_streams.py test the path itself.
LOOSE = 6e-3
#: A busy machine delays commands.
CALM = ("-p", "command_timeout:=5.0", "-p", "on_timeout:=hold")


class Tool:
    """The tool of a UR5: computes its pose from joint_states and sends twists."""

    def __init__(self, peer, arm, node):
        self.peer, self.arm, self.m = peer, arm, rb.load_urdf(find("ur5_robot.urdf"))
        self.d = rb.make_data(self.m)
        self.publisher = peer.publisher(TwistStamped, f"{node}/twist")
        self.said = []
        peer.node.create_subscription(
            String, f"{node}/servo_status", lambda one: self.said.append(one.data), LATCHED
        )
        peer.until(lambda: self.said)
        peer.until(lambda: self.arm.rows)

    def pose(self):
        by_name = dict(zip(self.arm.names, self.arm.position, strict=True))
        self.d.qpos[:] = [by_name[self.m.jnt_names[j]] for j in self.m.dof_jntid]
        p, R = rb.frame_pose(self.m, self.d, "tool0")
        return p.copy(), R.copy()

    def message(self, frame, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0)):
        twist = TwistStamped()
        twist.header.frame_id = frame
        for part, numbers in ((twist.twist.linear, linear), (twist.twist.angular, angular)):
            part.x, part.y, part.z = map(float, numbers)
        return twist

    def go(self, frame, linear, way):
        """Move the tool by more than `way` [m] at a velocity [m/s]; return the pose at rest."""
        start, _ = self.pose()
        away = lambda: np.linalg.norm(self.pose()[0] - start)  # noqa: E731
        self.peer.insist(self.publisher, self.message(frame, linear), lambda: away() > way)
        return self.rest()

    def rest(self):
        self.peer.until(lambda: self.said[-1] == "holding")
        self.arm.rest()
        return self.pose()


def refusals(tool, text):
    """Assert that bad twists are refused with their error, and that the tool does not move."""
    before, _ = tool.pose()
    bad = [
        (tool.message("tool1", (0.1, 0, 0)), "no frame 'tool1' (did you mean 'tool0'?)"),
        (tool.message("tool0", (0.1, math.nan, 0)), "linear.y is nan; allowed is a number"),
        (tool.message("", (0.1, 0, 0), (0, 0, math.inf)), "angular.z is inf"),
    ]
    old = tool.message("tool0", (0.1, 0, 0))
    old.header.stamp.nanosec = 1  # this stamp is long ago
    bad.append((old, "s old; servo.timeout is 0.4 s"))
    for message, words in bad:
        tool.peer.insist(tool.publisher, message, lambda words=words: words in text())
        tool.peer.spin(1.1)  # at most one refusal per second is logged
    assert tool.pose()[0] == pytest.approx(before, abs=1e-4)


def ways(tool, straight):
    """Assert that the tool moves straight in two frames, does not rotate, and then rests."""
    place, turn = tool.pose()
    for frame, linear in (("tool0", (0.0, 0.0, -0.05)), ("base_link", (0.0, 0.04, 0.03))):
        goal, _ = tool.go(frame, linear, 0.03)
        along = np.array(linear) / np.linalg.norm(linear)
        along = turn @ along if frame == "tool0" else along
        way = goal - place
        assert np.linalg.norm(way - (way @ along) * along) < straight
        assert 0.03 < way @ along < 0.09
        place, now = tool.pose()
        assert np.abs(now - turn).max() < 2.0 * straight
        tool.peer.spin(0.5)
        assert tool.pose()[0] == pytest.approx(place, abs=1e-4)


def drag(tool):
    """Drag RViz's marker: assert that the tool follows until the button is released."""
    from visualization_msgs.msg import InteractiveMarkerFeedback, InteractiveMarkerUpdate

    updates = tool.peer.collect(InteractiveMarkerUpdate, "arm_controller/tool_marker/update", 100)
    tool.peer.until(lambda: any(one.poses for one in updates))
    seen = next(one for one in reversed(updates) if one.poses).poses[0]
    publisher = tool.peer.publisher(
        InteractiveMarkerFeedback, "arm_controller/tool_marker/feedback"
    )
    message = InteractiveMarkerFeedback(marker_name="tool", pose=seen.pose, header=seen.header)
    message.event_type = message.POSE_UPDATE
    place, _ = tool.pose()
    message.pose.position.z += 0.03
    near = lambda: abs(tool.pose()[0][2] - place[2] - 0.03) < 2e-3  # noqa: E731
    tool.peer.insist(publisher, message, near)
    message.event_type = message.MOUSE_UP
    tool.peer.insist(publisher, message, lambda: tool.said[-1] == "holding")
    assert tool.rest()[0] - place == pytest.approx([0.0, 0.0, 0.03], abs=LOOSE)


def test_the_tool_of_a_simulated_arm_follows_twists_then_holds(simulate, peer):
    simulator = start_arm(simulate, find("ur5_robot.urdf"), UR5_START, 250, more=(*TOOL, *CALM))
    simulator.wait_for("simulating '")
    tool = Tool(peer, Watched(peer), "simulator")
    refusals(tool, simulator.text)
    ways(tool, LOOSE)
    outward, _ = tool.pose()
    outward[2] = 0.0
    message = tool.message("base_link", 0.2 * outward / np.linalg.norm(outward))
    halts = lambda: any("a singular posture is near" in text for text in tool.said)  # noqa: E731
    peer.insist(tool.publisher, message, halts)
    tool.rest()
    assert "of the twist is left" in simulator.text()
    assert peer.call(Trigger, "/simulator/reset", Trigger.Request()).success
    peer.spin(0.5)
    start = dict(zip(tool.arm.names, tool.arm.position, strict=True))
    assert start["elbow_joint"] == pytest.approx(UR5_START["elbow_joint"], abs=2e-3)
    simulator.end_well()


def test_the_tool_of_a_controlled_arm_follows_twists_then_holds(simulate, control, peer):
    pair = start_pair(
        simulate,
        control,
        peer,
        find("ur5_robot.urdf"),
        UR5_START,
        250,
        more=("-p", "command_timeout:=1.0"),
        **{"servo.frame": "tool0", "servo.timeout": "0.4", "servo.marker": "true"},
    )
    tool = Tool(peer, pair.arm, "arm_controller")
    refusals(tool, pair.controller.text)
    words = "the mode is gravity; trajectories need mode computed_torque"
    message = tool.message("tool0", (0.1, 0.0, 0.0))
    peer.insist(tool.publisher, message, lambda: words in pair.controller.text())
    pair.arm_it("computed_torque")
    ways(tool, LOOSE)
    drag(tool)
    assert pair.said[-1] == "computed_torque; armed"
    pair.end_well()


def test_the_example_sends_twists_while_its_button_is_pressed(peer):
    import rclpy

    given = {"frame": "tool0", "axes": EXAMPLE.GAMEPAD, "deadman": 1, "linear": 0.1}
    rclpy.init(domain_id=peer.context.get_domain_id())
    node = EXAMPLE.JoyTwist(**given, angular=0.5)
    sent = []
    node.publisher.publish = sent.append
    axes = [-0.5, 1.0, 0.0, 0.2, 0.01, 0.0, -1.0, math.nan]
    for buttons in ([0, 0], [1], [0, 1], [0, 1], [0, 0], [0, 0]):
        node.on_joy(Joy(axes=axes, buttons=buttons))
    node.destroy_node()
    rclpy.shutdown()
    assert [one.header.frame_id for one in sent] == ["tool0"] * 3
    v, w = sent[0].twist.linear, sent[0].twist.angular
    assert [v.x, v.y, v.z, w.x, w.y, w.z] == pytest.approx([0.1, -0.05, 0.0, -0.5, 0.0, 0.1])
    assert sent[-1].twist == TwistStamped().twist

# SPDX-License-Identifier: Apache-2.0
"""Arms that are commanded by positions, over DDS: the tool follows lines and yields to a push."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")
pytest.importorskip("daqp", reason="daqp is not installed")

from arm_pair import ALL, UR5_START, Pair, start_arm
from geometry_msgs.msg import Pose, PoseArray
from support.robots import find

import rbdyn_ros as rb
from rbdyn_interfaces.srv import ApplyWrench
from rbdyn_ros.model.tree.rotation import mat_to_quat

ROBOT, FRAME = find("ur5_robot.urdf"), "tool0"
SENSORS = f"""
rbdyn_sensors: 1
sensors:
  wrist: {{type: force_torque, joint: wrist_3_link-tool0_fixed_joint, frame: {FRAME}}}
"""
STIFFNESS, DEADBAND, PUSH = 400.0, 2.0, 20.0


class Tool:
    def __init__(self, arm):
        self.arm, self.m = arm, rb.load_urdf(ROBOT)
        self.d = rb.make_data(self.m)

    def at(self, names, positions):
        by_name = dict(zip(names, positions, strict=True))
        self.d.qpos = [by_name[name] for name in self.m.jnt_names]
        return rb.frame_pose(self.m, self.d, FRAME)

    def now(self):
        return self.at(self.arm.names, self.arm.position)


@pytest.fixture
def start(simulate, control, peer, tmp_path):
    """Return start(output, lockstep), which starts a simulated arm and its controller."""

    def begin(output, lockstep):
        file = tmp_path / "sensors.yaml"
        file.write_text(SENSORS)
        more = "-p", f"sensors:={file}"
        simulator = start_arm(simulate, ROBOT, UR5_START, 250, lockstep=lockstep, more=more)
        controller = control(
            ROBOT,
            output=output,
            remap={"wrench": "/wrist/wrench", "trajectory_commands": "/joint_trajectory"},
            state_timeout=1.0,
            start_up_test=str(lockstep).lower(),
            **{"cartesian_path.frame": FRAME, "admittance.frame": FRAME},
            **{"use_sim_time" if lockstep else "simulated_clock": "true"},
        )
        return Pair(simulator, controller, peer, qos=ALL)

    return begin


def follow(pair, ways):
    """Move the tool along lines between `ways` [m]; return its positions relative to the start."""
    tool = Tool(pair.arm)
    place, turn = tool.now()
    publisher = pair.peer.publisher(PoseArray, f"{pair.node}/cartesian_path")
    first = len(pair.arm.rows)
    send = lambda: publisher.publish(poses(place + ways, turn))  # noqa: E731
    send()
    pair.arm.until_moving(first, 0.01, send)
    pair.peer.until(lambda: np.abs(tool.now()[0] - place - ways[-1]).max() < 1e-3)
    pair.arm.rest()
    rows = pair.arm.rows[first:]
    return np.array([tool.at(pair.arm.names, row[1])[0] for row in rows]) - place


WAYS = np.array([[-0.1, 0.0, 0.0], [-0.1, 0.0, -0.1]])


def off_lines(seen):
    """Return the largest distance of positions from the lines of WAYS, along one axis [m]."""
    first, second = np.abs(seen[:, 1:]).max(axis=1), np.abs(seen - WAYS[0])[:, :2].max(axis=1)
    return np.minimum(first, second).max()


def test_the_tool_follows_lines_and_yields_to_a_push(start, peer):
    pair = start("joint_positions", lockstep=True)
    pair.arm_it("tracking")
    assert any("disarmed; testing joint" in line for line in pair.said)
    # the simulated servos lag by some milliseconds
    assert off_lines(follow(pair, WAYS)) < 2e-3

    tool = Tool(pair.arm)
    place, turn = tool.now()
    publisher = peer.publisher(PoseArray, f"{pair.node}/cartesian_path")
    far = poses([place + np.array([2.0, 0.0, 0.0])], turn)
    refused = lambda: "refused a message on ~/cartesian_path" in pair.controller.text()  # noqa: E731
    peer.insist(publisher, far, refused)

    pair.do("admittance")
    push = ApplyWrench.Request(link=FRAME, axes="world")
    push.wrench.force.y, push.duration.sec = -PUSH, 600
    assert peer.call(ApplyWrench, "/simulator/apply_wrench", push).success
    way = [0.0, -(PUSH - DEADBAND) / STIFFNESS, 0.0]
    peer.until(lambda: np.abs(tool.now()[0] - place - way).max() < 1e-3)
    pair.arm.rest(5e-3)
    np.testing.assert_allclose(tool.now()[0] - place, way, atol=1.5e-3)
    assert pair.report()[0] == 0
    pair.end_well()


def test_an_arm_with_a_trajectory_controller_follows_lines(start):
    """In real time a busy machine delays states, so the tool cuts the corner by up to 30 mm."""
    pair = start("trajectory_commands", lockstep=False)
    pair.arm_it("tracking")
    assert off_lines(follow(pair, WAYS)) < 30e-3
    pair.end_well()


def poses(places, turn):
    message = PoseArray()
    for place in places:
        pose = Pose()
        pose.position.x, pose.position.y, pose.position.z = place.tolist()
        q = pose.orientation
        q.w, q.x, q.y, q.z = mat_to_quat(turn).tolist()
        message.poses.append(pose)
    return message

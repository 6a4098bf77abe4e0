# SPDX-License-Identifier: Apache-2.0
"""The bundled SO-101 picks a cube, and the recording is converted to a LeRobot dataset."""

import json
import math

import numpy as np
import pytest
import yaml
from support.commands import run

pytest.importorskip("control_msgs.action")
from control_msgs import action as actions

if not hasattr(actions, "GripperCommand"):
    pytest.skip("control_msgs is not built", allow_module_level=True)

from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_ros.share import share_dir

SCENES = share_dir() / "config" / "scenes"
SCENE, SENSORS = SCENES / "so101.yaml", SCENES / "so101_sensors.yaml"
ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
CUBE, EDGE = np.array([0.2, 0.04, 0.0125]), 0.025
#: Rotation matrix of the gripper frame when the gripper points down.
DOWN = np.diag([-1.0, 1.0, -1.0])
ABOVE, BESIDE = 0.05, 0.008
#: Positions of the jaw [rad]: parallel to the fixed finger, as around the cube, and open.
LEVEL, OPEN = 0.2, 0.6


def reach(height):
    """Return arm positions with the fingers around the cube, raised by a height [m]."""
    m = rb.load_urdf(SCENES / "so101.urdf")
    d = rb.make_data(m)
    d.qpos[:] = [0.0, -0.5, 0.6, 1.4, 0.0, OPEN]
    place = CUBE + np.array([-0.5 * EDGE - BESIDE, 0.0, height - 0.008])
    return rb.ik(m, d, "gripper_frame_link", place, DOWN).check()[:5]


class Arm:
    """Moves the arm by trajectories and the jaw by the gripper action."""

    def __init__(self, peer):
        self.peer = peer
        self.states = peer.hear(JointState, "joint_states")
        self.objects = peer.hear(TFMessage, "object_poses")
        self.path = peer.publisher(JointTrajectory, "joint_trajectory")
        self.jaw = ActionClient(peer.node, actions.GripperCommand, "/simulator/gripper_cmd")
        peer.until(self.jaw.server_is_ready)

    def position(self, name):
        state = self.states[-1]
        return state.position[state.name.index(name)]

    def cube(self):
        at = self.objects[-1].transforms[0].transform.translation
        return np.array([at.x, at.y, at.z])

    def go(self, goal):
        message = JointTrajectory(joint_names=ARM)
        point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 5)
        point.time_from_start = Duration(sec=2)
        message.points.append(point)
        self.path.publish(message)
        near = lambda: max(abs(self.position(n) - q) for n, q in zip(ARM, goal, strict=True))  # noqa: E731
        self.peer.until(lambda: near() < 0.01)
        self.peer.spin(0.3)

    def grip(self, position):
        goal = actions.GripperCommand.Goal()
        goal.command.position, goal.command.max_effort = position, 1.0
        sent = self.jaw.send_goal_async(goal)
        self.peer.until(sent.done)
        assert sent.result().accepted
        ended = sent.result().get_result_async()
        self.peer.until(ended.done)
        return ended.result().result


def test_the_arm_picks_the_cube_and_a_dataset_records_it(simulate, peer, tmp_path):
    recording = tmp_path / "pick.mcap"
    words = [f"sensors:={SENSORS}", "grippers:=[so101]", "on_timeout:=hold"]
    words += ["command_timeout:=30.0", "publish_rate:=100.0", f"record:={recording}"]
    given = [word for one in words for word in ("-p", one)]
    simulator = simulate("--scene", SCENE, "--ros-args", *given)
    arm = Arm(peer)
    assert arm.grip(OPEN).reached_goal
    arm.go(reach(ABOVE))
    arm.go(reach(0.0))
    assert arm.cube() == pytest.approx(CUBE, abs=1e-3)
    gripped = arm.grip(-0.1)
    assert gripped.stalled
    assert gripped.position == pytest.approx(LEVEL, abs=0.03)
    # the jaw has pushed the cube against the fixed finger
    held = arm.cube()
    assert held == pytest.approx(CUBE - [BESIDE, 0.0, 0.0], abs=2e-3)
    arm.go(reach(ABOVE))
    assert arm.cube() - held == pytest.approx([0.0, 0.0, ABOVE], abs=5e-3)
    arm.jaw.destroy()
    simulator.end_well()
    check_dataset(recording, tmp_path / "picks")


def check_dataset(recording, folder):
    """Convert the recording to a dataset; assert that the dataset has joints and pictures."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("av", reason="av is not installed")
    words = ["dataset", recording, "-o", folder, "--fps", 10, "--task", "pick up the cube"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    info = json.loads((folder / "meta" / "info.json").read_text())
    features = info["features"]
    assert features["observation.state"]["names"] == [f"{name}.pos" for name in (*ARM, "gripper")]
    assert features["observation.images.wrist"]["shape"] == [240, 320, 3]
    assert info["robot_type"] == "so101"
    assert info["total_frames"] > 30


def test_the_urdf_has_the_joints_of_the_preset_and_each_servo_carries_the_stretched_arm():
    m = rb.load_urdf(SCENES / "so101.urdf")
    preset = yaml.safe_load((share_dir() / "config" / "arms" / "so101.yaml").read_text())
    assert tuple(preset["joints"]) == ARM
    assert m.jnt_names == (*ARM, "gripper")
    # the servos are strong enough for the stretched arm
    d = rb.make_data(m)
    d.qpos[1:3] = math.pi / 2, -math.pi / 2
    rb.forward(m, d)
    needed = np.abs(d.qfrc_bias)
    assert (needed < 0.5 * m.jnt_effort).all()
    assert needed[1] > 0.5

# SPDX-License-Identifier: Apache-2.0
"""The tool of an armed arm moves to poses along lines; a refused pose has no effect."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from closed_loop import ClosedLoop, model
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import PoseArray, WrenchStamped
from positioned_arm import PositionedArm

import rbdyn_ros as rb
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.trajectories import PositionTrajectoryController, TrajectoryController

UR5, FRAME = "ur5_robot.urdf", "tool0"
RADIUS, AHEAD = 0.05, 0.12


def ball_below(place):
    """Return a UR5 with a ball at the distance AHEAD below a position."""
    ball = rb.Obstacle("ball", rb.Sphere(RADIUS), Pose(tuple(place - [0.0, 0.0, AHEAD + RADIUS])))
    return rb.load_urdf(robots.find(UR5), contact=rb.Contact(obstacles=(ball,)))


class Arm:
    """A UR5 in mode computed_torque, with a ball below its tool."""

    def __init__(self):
        m = model(UR5)
        self.loop = ClosedLoop(m, mode="computed_torque")
        self.d = self.loop.d
        self.place, self.turn = rb.frame_pose(self.loop.plant, self.d, FRAME)
        check = SelfCollision(ball_below(self.place), np.arange(6), 0.01, world=True)
        known = self.loop.controller
        settings = ControlSettings(
            dry_run=False, start_up_test=False, path_frame=FRAME, path_speed=0.2
        )
        self.controller = self.loop.controller = TrajectoryController(
            m, urdf.read_file(robots.find(UR5))[0], check, known.arm, self.loop.gate, settings
        )
        self.controller.set_mode("computed_torque")

    def send(self, *ways, frame="", turn=None):
        message = PoseArray()
        message.header.frame_id = frame
        for way in ways:
            pose = PoseMessage()
            at, q = pose.position, pose.orientation
            at.x, at.y, at.z = (self.place + way).tolist()
            q.x, q.y, q.z, q.w = Rotation.from_matrix(self.turn).as_quat().tolist()
            q.w = q.w if turn is None else turn
            message.poses.append(pose)
        self.controller.follow_poses(message)

    def seen(self, trace):
        """Return the positions of the tool during a run, relative to the start."""
        d, found = rb.make_data(self.loop.plant), []
        for qpos in trace.qpos[::5]:
            d.qpos[:] = qpos
            found.append(rb.frame_pose(self.loop.plant, d, FRAME)[0] - self.place)
        return np.array(found)


def test_the_tool_follows_lines_and_refused_paths_change_nothing():
    arm = Arm()
    back, aside = [-0.1, 0.0, 0.0], [-0.1, -0.08, 0.0]
    with refused(RbdynError, "not-armed"):
        arm.send(back)
    arm.loop.arm().run(0.6)
    arm.send(back, aside)
    first = arm.loop.run(0.3)
    with refused(RbdynError, "request") as caught:
        arm.send([0.0, 0.0, 0.0])
    assert "the arm is moving" in str(caught.value)
    ways = np.concatenate([arm.seen(first), arm.seen(arm.loop.run(2.0))])
    before = ways[:, 1] > -1e-4
    # an arm with an exact model does not deviate from its target
    assert np.abs(ways[before, 1:]).max() < 2e-4
    assert np.abs(ways[~before] - aside)[:, [0, 2]].max() < 2e-4
    np.testing.assert_allclose(ways[-1], aside, atol=2e-5)

    target = arm.controller.progress().desired.copy()
    for code, words, ways, more in (
        ("scene-collision", "'ball'", [[0.0, 0.0, 0.0], [0.0, 0.0, -0.3]], {}),
        ("cartesian-path", "no nearer than", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], {}),
        ("request", "in frame 'tool0'", [back], {"frame": "tool0"}),
        ("request", "the position", [[np.nan, 0.0, 0.0]], {}),
        ("request", "norm", [back], {"turn": 7.0}),
        ("request", "at most 500", [back] * 501, {}),
        ("bad-argument", "already at all poses", [aside], {}),
    ):
        with refused(RbdynError, code) as caught:
            arm.send(*ways, **more)
        assert words in str(caught.value)
    assert arm.controller.progress().done
    np.testing.assert_allclose(arm.controller.progress().desired, target, atol=1e-12)
    arm.controller.set_mode("hold")
    with refused(RbdynError, "mode"):
        arm.send(back)


def test_poses_are_refused_if_the_target_moves_during_their_planning(monkeypatch):
    arm = Arm()
    arm.loop.arm().run(0.6)
    check, collisions = arm.controller.collisions.check, arm.controller.collisions

    def slow(*given):
        check(*given)
        # the target shifts by less than start_tolerance
        there = arm.controller.progress().desired[:1] + 0.02
        arm.controller.follow_path(Path([0.2], there))
        arm.loop.run(0.3)

    monkeypatch.setattr(collisions, "check", slow)
    with refused(RbdynError, "request") as caught:
        arm.send([-0.1, 0.0, 0.0])
    assert "moved while" in str(caught.value)


def test_a_path_without_poses_stops_the_arm():
    arm = Arm()
    arm.loop.arm().run(0.6)
    arm.send([-0.2, 0.0, 0.0])
    arm.loop.run(0.6)
    arm.send()
    arm.loop.run(0.6)
    assert arm.controller.progress().done
    assert np.abs(arm.d.qvel).max() < 1e-3


def test_the_link_of_the_poses_must_be_moved_by_controlled_joints():
    known = Arm().controller
    for frame, code in (("nowhere", "unknown-frame"), ("base_link", "bad-argument")):
        settings = ControlSettings(path_frame=frame)
        with refused(RbdynError, code):
            description = urdf.read_file(robots.find(UR5))[0]
            TrajectoryController(known.arm.m, description, None, known.arm, known.gate, settings)


def test_an_arm_in_admittance_stops_at_the_margin_of_an_obstacle():
    pytest.importorskip("daqp", reason="daqp is not installed")
    place, _ = PositionedArm().pose()
    near = ball_below(place)

    def make(arm, gate, settings):
        check = SelfCollision(near, np.arange(6), 0.01, world=True)
        description = urdf.read_file(robots.find(UR5))[0]
        return PositionTrajectoryController(arm.m, description, check, arm, gate, settings)

    free = {"admittance_frame": FRAME, "admittance_stiffness": [0.0] * 6}
    arm = PositionedArm("admittance", make, **free).armed()
    message = WrenchStamped()
    message.header.frame_id = FRAME
    arm.controller.take_wrench(message, arm.now)
    message.wrench.force.x = np.nan
    with refused(RbdynError, "wrench"):
        arm.controller.take_wrench(message, arm.now)
    arm.wrench[5], d, least = -30.0, rb.make_data(near), np.inf
    for _ in range(20):
        arm.run(0.1)
        d.qpos[:] = arm.d.qpos
        pairs = rb.collisions(near, d, 1.0)
        least = min([least, *(p.distance for p in pairs if p.geom2 == "ball")])
    assert arm.controller.fault is None
    assert 0.009 < least < 0.013

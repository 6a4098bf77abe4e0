# SPDX-License-Identifier: Apache-2.0
"""Poses that would move the arm into an obstacle are refused before the arm moves."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from closed_loop import ClosedLoop, model
from geometry_msgs.msg import PoseStamped

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.laws.cartesian import CartesianImpedance
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.trajectories import TrajectoryController

UR5, FRAME, MARGIN, RADIUS = "ur5_robot.urdf", "tool0", 0.01, 0.05


class Streamed:
    """A UR5 in mode impedance, with a ball `ahead` metres in front of its tool."""

    def __init__(self, ahead, **gains):
        m = model(UR5)
        self.loop = ClosedLoop(m, mode="impedance", frame=FRAME)
        self.law = CartesianImpedance(Arm(m), FRAME, 300.0)
        self.start = self.law.pose(self.loop.d.qpos)
        self.forward = self.start[:3, 2]  # the axis of the tool
        centre = self.start[3] + (ahead + RADIUS) * self.forward
        ball = rb.Obstacle("ball", rb.Sphere(RADIUS), Pose(tuple(centre)))
        path = robots.find(UR5)
        self.near = rb.load_urdf(path, contact=rb.Contact(obstacles=(ball,)))
        check = SelfCollision(self.near, np.arange(6), MARGIN, world=True)
        known = self.loop.controller
        settings = ControlSettings(dry_run=False, start_up_test=False, frame=FRAME, **gains)
        self.loop.controller = TrajectoryController(
            m, urdf.read_file(path)[0], check, known.arm, self.loop.gate, settings
        )
        self.loop.controller.set_mode("impedance")
        self.loop.arm().run(0.6)

    def send(self, way):
        """Send the pose at a distance `way` ahead of the first pose."""
        message = PoseStamped()
        at, q = message.pose.position, message.pose.orientation
        at.x, at.y, at.z = (self.start[3] + way * self.forward).tolist()
        q.x, q.y, q.z, q.w = Rotation.from_matrix(self.start[:3]).as_quat().tolist()
        self.loop.controller.follow_pose(message)

    def nearest(self, trace):
        """Return the smallest distance of the arm to the ball during a run."""
        d, least = rb.make_data(self.near), np.inf
        for qpos in trace.qpos[::10]:
            d.qpos[:] = qpos
            pairs = rb.collisions(self.near, d, 1.0)
            least = min([least, *(p.distance for p in pairs if p.geom2 == "ball")])
        return least


@pytest.mark.parametrize(("dt", "by"), [(0.02, 0.003), (0.2, 0.01)])
def test_a_stream_of_poses_into_an_obstacle_stops_before_it(dt, by):
    """Each pose is farther ahead; it arrives before the arm has quite reached the last pose."""
    case, codes, least = Streamed(0.08), [], np.inf
    for k in range(round(0.14 / by)):
        try:
            case.send(by * k)
        except RbdynError as error:
            codes.append(error.code)
        least = min(least, case.nearest(case.loop.run(dt)))
    least = min(least, case.nearest(case.loop.run(1.0)))
    assert len(codes) > 2
    assert set(codes) == {"scene-collision"}
    assert MARGIN - 0.002 < least < MARGIN + 0.012
    case.send(0.0)
    case.loop.run(1.5)
    assert np.abs(case.law.pose(case.loop.d.qpos)[3] - case.start[3]).max() < 2e-3


def test_a_refused_pose_leaves_the_previous_pose_in_force():
    case = Streamed(0.08)
    place = case.loop.d.qpos.copy()
    with refused(RbdynError, "scene-collision") as caught:
        case.send(0.09)
    assert "'ball'" in str(caught.value)
    case.loop.run(0.3)
    assert np.abs(case.loop.d.qpos - place).max() < 1e-3


@pytest.mark.parametrize(
    ("ratio", "linear", "code"),
    [
        (5.0, 50.0, "scene-collision"),
        (1.0, 2.0, "scene-collision"),
        (0.0, 300.0, "too-slow"),
    ],
)
def test_a_slow_motion_to_a_pose_is_checked_to_its_end(ratio, linear, code):
    """The first two arms are 15 mm from the ball after 4 s; the last arm oscillates forever."""
    gains = (5.0, 5.0, 5.0, linear, linear, linear)
    case = Streamed(0.08, damping_ratio=ratio, cartesian_stiffness=gains)
    with refused(RbdynError, code):
        case.send(0.097)
    if ratio:
        case.send(0.03)

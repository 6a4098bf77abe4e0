# SPDX-License-Identifier: Apache-2.0
"""Trajectories that would move an armed arm into an obstacle are refused, however they begin."""

import numpy as np
import pytest
from support import robots
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from closed_loop import ClosedLoop, model
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.trajectories import TrajectoryController

UR5, RADIUS, MARGIN = "ur5_robot.urdf", 0.05, 0.01


class Guarded:
    """An armed UR5 in mode computed_torque, with a ball `below` metres under its tool."""

    def __init__(self, below):
        m = model(UR5)
        self.loop = ClosedLoop(m, mode="computed_torque")
        place, _ = rb.frame_pose(self.loop.plant, self.loop.d, "tool0")
        centre = Pose(tuple(place - [0.0, 0.0, below + RADIUS]))
        ball = rb.Obstacle("ball", rb.Sphere(RADIUS), centre)
        path = robots.find(UR5)
        self.near = rb.load_urdf(path, contact=rb.Contact(obstacles=(ball,)))
        self._seen = rb.make_data(self.near)
        self.check = SelfCollision(self.near, np.arange(6), MARGIN, world=True)
        known, settings = self.loop.controller, ControlSettings(dry_run=False, start_up_test=False)
        self.controller = self.loop.controller = TrajectoryController(
            m, urdf.read_file(path)[0], self.check, known.arm, self.loop.gate, settings
        )
        self.controller.set_mode("computed_torque")
        self.loop.arm().run(0.6)

    @property
    def target(self):
        return self.controller.progress().desired[0]

    def distance(self, qpos):
        """Return the distance of the arm to the ball in a posture [m]."""
        self._seen.qpos[:] = qpos
        pairs = rb.collisions(self.near, self._seen, 1.0)
        return min(pair.distance for pair in pairs if pair.geom2 == "ball")

    def send(self, *points, rates=()):
        """Send a trajectory of p points (time, position), with velocities (p, 6) unless empty."""
        message = JointTrajectory(joint_names=list(self.controller.names))
        for time, place in points:
            point = JointTrajectoryPoint(positions=place.tolist())
            point.time_from_start.sec, rest = divmod(round(time * 1e9), 10**9)
            point.time_from_start.nanosec = rest
            point.velocities = rates[len(message.points)].tolist() if len(rates) else []
            message.points.append(point)
        self.controller.follow(message)


@pytest.mark.parametrize("more", [(), (0.02,)])
def test_a_first_point_at_time_0_inside_an_obstacle_is_refused(more):
    """Each joint would jump by less than start_tolerance, but the tool by several centimetres."""
    arm = Guarded(0.06)
    here = arm.target
    slopes = [arm.distance(here + 1e-3 * row) - arm.distance(here) for row in np.eye(6)]
    inside = here - 0.049 * np.sign(slopes)
    assert arm.distance(here) > MARGIN
    assert arm.distance(inside) < 0.0
    with refused(RbdynError, "scene-collision"):
        arm.send(*((time, inside) for time in (0.0, *more)))
    np.testing.assert_array_equal(arm.target, here)
    arm.send((0.0, 2.0 * here - inside))  # an equal jump away from the ball is allowed


class Meanwhile:
    """Runs `act` during the next `times` checks of trajectories; `ways` has all checked paths."""

    def __init__(self, arm, act, times=1):
        self._check, self._act, self._left, self.ways = arm.check.check, act, times, []
        arm.check.check = self

    def __call__(self, parts, *more):
        self._check(parts, *more)
        self.ways.append(parts[0])
        if self._left:
            self._left -= 1
            self._act()


def moving():
    """Return an arm that moves far from the ball, and positions for the next trajectory."""
    arm = Guarded(0.5)
    here = arm.target
    arm.send((2.0, here + 0.5 * np.eye(6)[0]))
    arm.loop.run(0.5)
    return arm, here + np.array([-0.2, -0.3, 0.3, 0.0, 0.0, 0.0])


def away_from(way, targets):
    """Return the largest distance of targets from a path [rad]."""
    rows, times = np.empty((3, 6)), np.linspace(*way.times, 20_000)
    line = np.array([way.sample(time, rows)[0].copy() for time in times])
    return max(np.abs(line - target).max(axis=1).min() for target in targets)


def another(arm):
    """Send a trajectory, as another client would."""
    arm.send((0.4, arm.target + 0.1))
    arm.loop.run(0.2)


@pytest.mark.parametrize("act", [lambda arm: arm.loop.run(0.4), another])
def test_the_path_that_was_checked_is_the_path_that_is_driven(act):
    arm, there = moving()
    checks = Meanwhile(arm, lambda: act(arm))
    arm.send((1.0, there), (1.2, there))
    assert len(checks.ways) > 1
    arm.loop.run(0.05)
    driven = arm.loop.run(1.3).target[::40]
    assert away_from(checks.ways[-1], driven) < 1e-4
    np.testing.assert_allclose(driven[-1], there, atol=1e-12)
    assert arm.controller.fault is None


def test_a_trajectory_is_refused_if_the_arm_moves_on_during_each_check():
    arm, there = moving()
    Meanwhile(arm, lambda: arm.loop.run(0.33), times=9)
    with refused(RbdynError, "request") as caught:
        arm.send((1.0, there))
    assert "moved on" in str(caught.value)


@pytest.mark.parametrize("modes", [(), ("hold", "computed_torque")])
def test_an_arm_that_is_stopped_during_the_check_stays(modes):
    arm, there = moving()

    def stop():
        arm.controller.stop_following()
        for mode in modes:
            arm.controller.set_mode(mode)
        arm.loop.run(0.5)

    Meanwhile(arm, stop)
    with refused(RbdynError, "request") as caught:
        arm.send((1.0, there))
    assert "stopped" in str(caught.value)
    assert arm.controller.progress().done


def test_polynomials_that_leave_the_limits_between_points_are_refused():
    """A cubic from velocity v to rest, back at its start after T, moves up to 4/27 v T away."""
    arm, still, fast = Guarded(0.5), np.zeros(6), 2.0 * np.eye(6)[5]
    upper, near = arm.controller.gate.limits.upper[5], arm.target
    near[5] = upper - 0.29
    with refused(RbdynError, "request") as caught:
        arm.send((3.0, near), (4.0, near), rates=[fast, still])
    assert f"would reach {near[5] + 8 / 27:.6g} between the points" in str(caught.value)
    near[5] = upper - 0.3
    arm.send((3.0, near), (4.0, near), rates=[fast, still])
    while arm.target[5] < near[5]:
        arm.loop.run(0.01)
    with refused(RbdynError, "path", "wrist_3_joint") as caught:  # the path starts at `near`
        arm.send((1.2, near), rates=[still])
    assert "on the motion to the path" in str(caught.value)
    arm.send((0.9, near), rates=[still])

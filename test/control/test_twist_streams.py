# SPDX-License-Identifier: Apache-2.0
"""The tool of an armed arm follows streams of twists, stops, and does not collide."""

import numpy as np
import pytest
from support import robots
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from closed_loop import ClosedLoop, model
from geometry_msgs.msg import TwistStamped
from positioned_arm import PositionedArm

import rbdyn_ros as rb
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.motion.servoing import ServoSettings
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.trajectories import PositionTrajectoryController, TrajectoryController

UR5, FRAME, RADIUS, MARGIN = "ur5_robot.urdf", "tool0", 0.05, 0.01
EVERY = 0.02
OUT = {"lower_singularity_threshold": 60.0, "hard_stop_singularity_threshold": 90.0}


def twist(*linear, frame="", turn=(0.0, 0.0, 0.0)):
    message = TwistStamped()
    message.header.frame_id = frame
    for part, numbers in ((message.twist.linear, linear), (message.twist.angular, turn)):
        part.x, part.y, part.z = numbers
    return message


class Served:
    """A UR5 that is commanded by twists, with a ball `below` metres under its tool."""

    def __init__(self, mode="computed_torque", below=0.12, **settings):
        m = model(UR5)
        self.loop = ClosedLoop(m, mode=mode)
        self.m, self.d = self.loop.plant, rb.make_data(self.loop.plant)
        self.start = self.pose(self.loop.d.qpos)
        centre = Pose(tuple(self.start[0] - [0.0, 0.0, below + RADIUS]))
        ball = rb.Obstacle("ball", rb.Sphere(RADIUS), centre)
        path = robots.find(UR5)
        self.near = rb.load_urdf(path, contact=rb.Contact(obstacles=(ball,)))
        self.seen = rb.make_data(self.near)
        check = SelfCollision(self.near, np.arange(6), MARGIN, world=True)
        known, given = self.loop.controller, ControlSettings(dry_run=False, start_up_test=False)
        self.controller = self.loop.controller = TrajectoryController(
            m, urdf.read_file(path)[0], check, known.arm, self.loop.gate, given
        )
        self.controller.set_mode(mode)
        self.controller.serve(ServoSettings(FRAME, **OUT | settings))

    def pose(self, qpos):
        self.d.qpos[:] = qpos
        return rb.frame_pose(self.m, self.d, FRAME)

    def stream(self, message, seconds):
        """Send a message every 20 ms; return joint positions (k, n) and the codes of errors."""
        rows, codes = [], []
        for _ in range(round(seconds / EVERY)):
            try:
                self.controller.follow_twist(message)
            except RbdynError as error:
                codes.append(error.code)
            rows.append(self.loop.run(EVERY).qpos)
        return np.concatenate(rows), codes

    def way(self, rows):
        """Return the displacements of the tool from the start (k, 3)."""
        return np.array([self.pose(q)[0] for q in rows]) - self.start[0]

    def distance(self, rows):
        found = []
        for qpos in rows[::10]:
            self.seen.qpos[:] = qpos
            pairs = rb.collisions(self.near, self.seen, 1.0)
            found.append(min(pair.distance for pair in pairs if pair.geom2 == "ball"))
        return min(found)


@pytest.mark.parametrize("mode", ["computed_torque", "impedance"])
def test_the_tool_moves_along_a_line_and_rests_at_the_end_of_the_stream(mode):
    case = Served(mode)
    case.loop.arm().run(0.6)
    begin = case.pose(case.loop.d.qpos)[0] - case.start[0]
    rows, codes = case.stream(twist(-0.1, 0.0, 0.1), 1.0)
    assert not codes
    after = case.loop.run(1.0).qpos
    ways = case.way(np.concatenate([rows, after])) - begin
    # the arm lags behind its target, which is straight to a micrometre
    assert np.abs(ways[:, 1]).max() < 5e-4
    assert np.abs(ways[:, 0] + ways[:, 2]).max() < 5e-4
    speed = np.linalg.norm(np.diff(ways, axis=0), axis=1) / case.loop.h
    assert speed[600:900] == pytest.approx(np.sqrt(0.02), rel=5e-3)
    assert speed[-1] < 1e-4
    assert case.controller.progress().done
    turned = case.pose(after[-1])[1] @ case.start[1].T
    assert np.abs(turned - np.eye(3)).max() < 2e-3


def test_a_stream_with_gaps_does_not_jump():
    """Some twists are late, so the arm begins to brake and then continues."""
    case = Served()
    case.loop.arm().run(0.6)
    rng, rows = np.random.default_rng(3), []
    for _ in range(40):
        case.controller.follow_twist(twist(-0.15, 0.0, 0.0, turn=(0.0, 0.0, 0.2)))
        rows.append(case.loop.run(round(rng.uniform(0.005, 0.2), 3)).target)
    rates = np.diff(np.concatenate(rows), axis=0) / case.loop.h
    gains = np.abs(np.diff(rates, axis=0)).max(axis=0) / case.loop.h
    limit = case.controller.servo.limits.acceleration
    # two segments of the path can meet in a tick, each with its own acceleration
    assert (gains < 2.0 * limit * (1.0 + 1e-6)).all()


def test_a_stream_into_an_obstacle_stops_before_it_and_comes_back():
    case = Served(below=0.08)
    case.loop.arm().run(0.6)
    rows, codes = case.stream(twist(0.0, 0.0, -0.15), 1.5)
    assert len(codes) > 10
    assert set(codes) == {"scene-collision"}
    assert MARGIN - 0.002 < case.distance(rows) < MARGIN + 0.04
    assert np.abs(rows[-1] - rows[-50]).max() < 1e-3
    back, codes = case.stream(twist(0.0, 0.0, 0.15), 0.4)
    assert not codes
    assert case.way(back)[-1, 2] - case.way(rows)[-1, 2] > 0.03


def test_a_twist_respects_tightened_limits():
    case = Served(max_linear=2.0)
    case.loop.arm().run(0.6)
    case.controller.tighten(1.0, 0.1, 0.0)
    found = case.controller.follow_twist(twist(-0.6, 0.0, 0.4))
    assert found.reason == "velocity"
    rows, codes = case.stream(twist(-0.6, 0.0, 0.4), 0.6)
    assert not codes
    speed = np.abs(np.diff(rows, axis=0)).max(axis=0) / case.loop.h
    limit = case.loop.gate.limits.velocity
    assert (speed < limit).all()
    assert (speed / limit).max() > 0.89


def test_twists_that_are_refused_change_nothing():
    case = Served()
    with refused(RbdynError, "not-armed"):
        case.controller.follow_twist(twist(0.1, 0.0, 0.0))
    case.loop.arm().run(0.6)
    assert case.controller.follow_twist(twist(0.0, 0.0, 0.0, frame="world")) is None
    for code, message in (
        ("frame", twist(0.1, 0.0, 0.0, frame="tool1")),
        ("request", twist(0.1, np.nan, 0.0)),
        ("request", twist(0.1, 1e200, 0.0)),
        ("request", twist(0.1, 0.0, 0.0, turn=(np.inf, 0.0, 0.0))),
    ):
        with refused(RbdynError, code):
            case.controller.follow_twist(message)
    assert case.controller.follow_twist(twist(0.0, 0.0, 0.0)) is None
    place = case.loop.d.qpos.copy()
    assert np.abs(case.loop.run(0.3).qpos - place).max() < 1e-5
    case.controller.set_mode("hold")
    with refused(RbdynError, "mode"):
        case.controller.follow_twist(twist(0.1, 0.0, 0.0))


def test_a_zero_twist_stops_the_tool_at_the_acceleration_of_the_joints():
    case = Served(timeout=0.5)
    case.loop.arm().run(0.6)
    case.stream(twist(-0.2, 0.0, 0.0), 0.5)
    assert case.controller.follow_twist(twist(0.0, 0.0, 0.0)) is None
    speed = np.abs(case.controller.progress().desired[1])
    stop = speed.max() / case.controller.servo.limits.acceleration[0]
    case.loop.run(stop + 0.03)
    assert case.controller.progress().done


def checked_meanwhile(case, act):
    """Let `act` run while the next motion is checked for collisions."""
    check = case.controller.collisions.check

    def checked(*parts):
        check(*parts)
        case.controller.collisions.check = check
        act()

    case.controller.collisions.check = checked


@pytest.mark.parametrize("modes", [(), ("hold", "computed_torque"), ("impedance",)])
def test_an_arm_that_is_stopped_during_the_check_of_a_twist_stays(modes):
    case = Served()
    case.loop.arm().run(0.6)
    case.stream(twist(-0.1, 0.0, 0.0), 0.2)

    def stop():
        case.controller.stop_following()
        for mode in modes:
            case.controller.set_mode(mode)
        case.loop.run(0.5)

    checked_meanwhile(case, stop)
    with refused(RbdynError, "request") as caught:
        case.controller.follow_twist(twist(-0.1, 0.0, 0.0))
    assert "stopped" in str(caught.value)
    assert case.controller.progress().done
    assert case.controller.follow_twist(twist(-0.1, 0.0, 0.0)) is not None


def test_a_zero_twist_does_not_stop_the_trajectory_of_another_client():
    case = Served()
    case.loop.arm().run(0.6)
    case.stream(twist(-0.1, 0.0, 0.0), 0.2)
    case.loop.run(0.5)
    here = case.controller.progress().desired[0]
    places = np.array([here, here + 0.2])
    case.controller.follow_path(Path([0.0, 2.0], places, np.zeros((2, 6))))
    case.loop.run(0.3)
    assert case.controller.follow_twist(twist(0.0, 0.0, 0.0)) is None
    case.loop.run(2.0)
    np.testing.assert_allclose(case.controller.progress().desired[0], here + 0.2, atol=1e-9)


def test_an_arm_that_takes_positions_follows_twists():
    def make(arm, gate, settings):
        path = robots.find(UR5)
        parts = model(UR5), urdf.read_file(path)[0], None, arm, gate, settings
        controller = PositionTrajectoryController(*parts)
        controller.serve(ServoSettings(FRAME, **OUT))
        return controller

    arm = PositionedArm("tracking", make)
    arm.run(0.1)
    arm.controller.try_arm(arm.now)
    before = arm.pose()[0]
    ways = []
    for _ in range(50):
        arm.controller.follow_twist(twist(0.0, 0.0, -0.1, frame=FRAME))
        ways.append(arm.run(EVERY))
    ways.append(arm.run(0.5))
    ways = np.concatenate(ways) - before
    along = -arm.pose()[1][:, 2]
    assert np.abs(ways - np.outer(ways @ along, along)).max() < 5e-5
    assert 0.09 < ways[-1] @ along < 0.12
    np.testing.assert_allclose(ways[-1], ways[-20], atol=1e-9)

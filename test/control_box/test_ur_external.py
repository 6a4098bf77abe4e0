# SPDX-License-Identifier: Apache-2.0
"""A box of Universal Robots runs the program of ur_client_library, without sockets."""

import struct

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline
from support.reverse_client import (
    CANCELED,
    CUBIC,
    FAILURE,
    MODES,
    QUINTIC,
    SUCCESS,
    action,
    command,
    message,
    point,
    program,
)
from test_ur_servers import DT, Bench, measured

from rbdyn_ros.control_box.ur.arm import READY, pose_of
from rbdyn_ros.control_box.ur.compliance import ClientTorque, Freedrive
from rbdyn_ros.control_box.ur.external_control import ExternalControl
from rbdyn_ros.control_box.ur.external_script import ExternalScript
from rbdyn_ros.control_box.ur.modes import RuntimeState
from rbdyn_ros.control_box.ur.moves import ServoJoints, SpeedLine
from rbdyn_ros.control_box.ur.points import TrajectoryPoint
from rbdyn_ros.control_box.ur.programs import start_program
from rbdyn_ros.control_box.ur.reverse import MOST_ROWS

STEP = 2e-3
HOME = np.array(READY)


class External(Bench):
    """A Bench whose robot runs the program of ur_client_library."""

    def __init__(self, text, source=None):
        super().__init__(text)
        start_program(self.robot, source or program())
        self.program = self.robot.program
        assert isinstance(self.program, ExternalControl), self.said
        self.points, self.commands, self.reverse = (line[2] for line in self.program.lines)

    def say(self, data, cycles=1):
        self.reverse.request(data)
        self.cycle(cycles)

    def keep(self, seconds):
        """Keep a trajectory alive for a time [s]; return its result (or None) and positions."""
        path = []
        for _ in range(round(seconds / DT)):
            self.say(action("NOOP"))
            path.append(self.robot.joints.x.copy())
            if said := self.points.said():
                return struct.unpack(">i", said)[0], np.array(path)
        return None, np.array(path)

    def follow(self, *points, seconds=20.0):
        self.reverse.request(action("TRAJECTORY_MODE_RECEIVE", len(points)))
        for one in points:
            self.points.request(one)
        return self.keep(seconds)


@pytest.fixture
def bench(text):
    return External(text)


# the program


def test_ports_numbers_and_lengths_are_read_from_the_text():
    found = ExternalScript.read(program("127.0.0.9", (3, 4, 1)))
    assert (found.host, found.ports["reverse_socket"]) == ("127.0.0.9", 1)
    assert (found.message, found.point, found.command) == (8, 21, 28)
    assert (found.lookahead, found.gain) == (0.03, 2000.0)
    assert (found.velocity, found.acceleration) == (12, 13)
    assert found.name("MODE_", 8) == "TORQUE"
    assert ExternalScript.read("movej([0, 0, 0, 0, 0, 0])") is None


def test_older_versions_with_other_names_and_positions_are_read():
    source = program().replace("MOTION_TYPE_MOVEJ ", "TRAJECTORY_POINT_JOINT ")
    source = source.replace("raw_point[13]", "raw_point[7]").replace(
        "raw_point[14]", "raw_point[13]"
    )
    found = ExternalScript.read(source)
    assert (found.velocity, found.acceleration) == (6, 12)
    assert found.numbers["MOTION_TYPE_MOVEJ"] == 0


def test_a_very_long_program_text_is_read_like_a_short_text():
    """Regular expressions that backtrack at every letter would not end."""
    many = program(more="A_B = " + "*".join(["9"] * 250_000)) + "\n" * 500_000
    assert ExternalScript.read(many) == ExternalScript.read(program())


def test_a_movel_point_of_version_1_5_has_the_default_speed_and_acceleration():
    source = program().replace("= raw_point", "= 0")
    found = TrajectoryPoint.of((0,) * 20 + (1,), ExternalScript.read(source))
    assert (found.kind, found.velocity, found.acceleration) == ("MOVEL", 0.25, 1.2)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (program().replace("read_timeout", "keepalive"), "before 1.3.4"),
        (program().replace("REVERSE_INTERFACE_DATA", "DATA"), "before 1.3.4"),
        (program(point="3000"), "without its ports and numbers"),
        (program().replace("MULT_time = 1000", ""), "without its ports and numbers"),
        (program().replace('"127.0.0.1", 50001', '"127.0.0.2", 50001'), "several hosts"),
        (program(command=1), "without its ports and numbers"),
        (program(more="\n".join("A" * k + " = 1" for k in range(2, 600))), "ports and numbers"),
        (program().replace("raw_point[13]", "raw_point[19]"), "is not in a point"),
    ],
)
def test_an_unrecognised_program_is_refused(text, wrong, reason):
    bench = Bench(text)
    start_program(bench.robot, wrong)
    assert bench.robot.program is None
    assert (
        "the program that begins with 'def externalControl():' is not supported" in bench.said[-1]
    )
    assert reason in bench.said[-1]


def test_external_control_waits_for_the_first_message(bench):
    bench.cycle(2000)
    assert bench.robot.runtime == RuntimeState.PLAYING
    assert bench.robot.rests
    assert not bench.robot.awaits


# streams


def test_servoj_follows_the_commands(bench):
    for k in range(500):
        wave = 0.2 * np.sin(np.pi * k / 500) ** 2
        bench.say(message("SERVOJ", [*HOME[:5], HOME[5] + wave]), 2)
    assert isinstance(bench.robot.motion, ServoJoints)
    # servoj lags by its lookahead time
    assert np.abs(bench.robot.joints.x - HOME).max() < 0.03 * 0.2 * np.pi
    bench.say(message("IDLE"))
    bench.until_rest()
    assert bench.program.mode == "IDLE"


def test_servoj_without_commands_continues_at_its_speed_until_the_timeout(bench):
    for k in range(200):
        bench.say(message("SERVOJ", [*HOME[:5], HOME[5] + k * STEP * 0.5], timeout=0.1), 2)
    assert bench.robot.joints.v[5] == pytest.approx(0.5, rel=1e-2)
    before = bench.robot.joints.x[5]
    bench.cycle(95)
    assert bench.robot.joints.v[5] == pytest.approx(0.5, rel=1e-2)
    assert bench.robot.joints.x[5] - before == pytest.approx(0.5 * 0.095, rel=0.02)
    bench.cycle(10)
    assert "no message has come by the reverse interface for 0.1 s" in bench.said[-1]
    bench.until_rest()
    assert bench.robot.program is None


def test_a_goal_that_is_too_far_is_ignored(bench):
    bench.say(message("SERVOJ", HOME), 4)
    # the arm would need 25 rad/s to reach this goal
    bench.say(message("SERVOJ", HOME + np.eye(6)[0] * 0.05), 2)
    assert "is ignored: joint 0 would have to go from" in bench.said[-1]
    count = len(bench.said)
    for _ in range(500):
        bench.say(message("SERVOJ", HOME + 3.0), 2)
    assert len(bench.said) == count  # the box logs only one message in five seconds
    # all ignored goals make one line of the log
    assert np.abs(bench.robot.joints.x - HOME).max() < 1e-6


def test_only_the_newest_of_several_commands_counts(bench):
    goals = [HOME + 0.001 * k for k in range(10)]
    bench.say(b"".join(message("SERVOJ", goal) for goal in goals))
    assert bench.robot.motion.target == pytest.approx(goals[-1], abs=1e-6)


@pytest.mark.parametrize("parts", [(1,), (7, 13), (31, 1, 32)])
def test_messages_may_come_in_pieces(bench, parts):
    data, at = message("SPEEDJ", [0.1] * 6, 1.0) + message("SPEEDJ", [0.2] * 6, 1.0), 0
    for size in (*parts, len(data)):
        bench.say(data[at : at + size])
        at += size
    bench.cycle(100)
    assert bench.robot.joints.v == pytest.approx([0.2] * 6)


def test_speedj_and_speedl_reach_their_speeds(bench):
    bench.say(message("SPEEDJ", [0.0] * 5 + [0.4]), 50)
    assert bench.robot.joints.v[5] == pytest.approx(0.4)
    bench.say(message("SPEEDL", [0.0, 0.0, -0.05, 0.0, 0.0, 0.0], timeout=1.0), 400)
    assert isinstance(bench.robot.motion, SpeedLine)
    assert bench.robot.sensing.twist == pytest.approx([0.0, 0.0, -0.05, 0.0, 0.0, 0.0], abs=1e-3)


def test_a_pose_is_reached_by_inverse_kinematics(bench):
    T = bench.robot.arm.tool_pose(HOME + 0.01, np.eye(4))
    for _ in range(500):
        bench.say(message("POSE", pose_of(T)), 2)
    assert bench.robot.joints.x == pytest.approx(HOME + 0.01, abs=1e-5)


def test_commanded_torques_are_clamped_to_the_effort_limits(bench):
    bench.say(message("TORQUE", [5.0, 1000.0, 0.0, 0.0, 0.0, -1000.0]))
    assert isinstance(bench.robot.motion, ClientTorque)
    effort = bench.robot.arm.effort
    assert bench.robot.motion.given == pytest.approx([5.0, effort[1], 0.0, 0.0, 0.0, -effort[5]])


def test_a_change_of_the_mode_stops_the_arm_first(bench):
    bench.say(message("SPEEDJ", [0.4] + [0.0] * 5), 50)
    bench.reverse.request(message("SERVOJ", bench.robot.joints.x + 0.001))
    speeds = []
    while not isinstance(bench.robot.motion, ServoJoints):
        bench.cycle()
        speeds.append(bench.robot.joints.v[0])
    assert np.diff(speeds[:-1]) == pytest.approx(-4.0 * DT)
    assert len(speeds) == pytest.approx(0.4 / 4.0 / DT, abs=2)


def test_freedrive_ends_on_request_or_after_its_timeout(bench):
    bench.say(action("FREEDRIVE_MODE_START", mode="FREEDRIVE"))
    assert isinstance(bench.robot.motion, Freedrive)
    bench.say(action("NOOP", mode="FREEDRIVE"))
    assert isinstance(bench.robot.motion, Freedrive)
    bench.say(action("FREEDRIVE_MODE_STOP", mode="FREEDRIVE"))
    assert bench.robot.motion is None
    bench.say(action("FREEDRIVE_MODE_START", mode="FREEDRIVE", timeout=0.05))
    bench.cycle(60)
    assert bench.robot.program is None
    assert not isinstance(bench.robot.motion, Freedrive)


@pytest.mark.parametrize("number", [-(2**31), 2**31 - 1])
def test_a_speed_of_nan_stops_the_arm(bench, number):
    """The client writes NaN as an extreme integer."""
    bench.say(struct.pack(">8i", 1000, *[number] * 6, MODES["SPEEDJ"]), 200)
    assert any("protective stop: " in text for text in bench.said)
    assert bench.robot.program is None
    assert np.isfinite(bench.robot.joints.x).all()
    bench.until_rest()


# modes


def test_an_unknown_mode_lets_the_arm_rest_and_is_reported(bench):
    bench.say(message("SPEEDJ", [0.2] * 6), 50)
    bench.say(message(99, [0.2] * 6, timeout=1.0), 200)
    assert "has no mode 99" in bench.said[-1]
    assert not bench.robot.joints.v.any()
    bench.say(message("SPEEDJ", [0.2] * 6), 50)
    assert bench.robot.joints.v == pytest.approx([0.2] * 6)


def test_an_unsupported_mode_ends_the_program_with_its_name(text):
    bench = External(text, program(more="MODE_DANCE = 42"))
    bench.say(message(42), 2)
    assert "the box does not support MODE_DANCE" in bench.said[-1]
    assert bench.robot.program is None


def test_mode_stopped_ends_the_program(bench):
    bench.say(message("SPEEDJ", [0.2] * 6), 50)
    bench.say(message("STOPPED"), 200)
    assert bench.robot.program is None
    assert not bench.said
    bench.until_rest()


def test_a_closed_reverse_interface_ends_the_program(bench):
    bench.say(message("SPEEDJ", [0.2] * 6), 50)
    bench.reverse.close()
    bench.cycle()
    assert "the client has closed the reverse interface" in bench.said[-1]
    bench.until_rest()
    assert bench.robot.program is None


def test_a_program_without_timeout_continues_while_its_client_sends_no_new_commands(bench):
    bench.say(message("IDLE", timeout=0.0), 5000)
    assert bench.robot.runtime == RuntimeState.PLAYING


# trajectories


def test_movej_takes_the_commanded_time(bench):
    goal = np.add(HOME, [0.5, 0.2, 0.0, 0.0, 0.0, -0.3])
    result, path = bench.follow(point("MOVEJ", goal, time=2.0), seconds=3.0)
    assert result == SUCCESS
    assert path[-1] == pytest.approx(goal)
    assert len(path) == pytest.approx(2.0 / DT, abs=5)
    # each ramp takes a third of the time
    assert np.abs(np.diff(path[:, 0])).max() / DT == pytest.approx(0.5 * 1.5 / 2.0, rel=1e-3)


def test_movej_has_the_commanded_speed_and_acceleration(bench):
    goal = np.add(HOME, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    result, path = bench.follow(point("MOVEJ", goal, third=(0.4, 1.6)))
    assert result == SUCCESS
    assert np.abs(np.diff(path[:, 0])).max() / DT == pytest.approx(0.4, rel=1e-3)
    assert len(path) * DT == pytest.approx(0.5 / 0.4 + 0.4 / 1.6, abs=5 * DT)


def test_the_arm_reaches_trajectory_points_of_every_kind(bench):
    arm, near = bench.robot.arm, np.add(HOME, [0.2, 0.1, -0.1, 0.1, 0.1, 0.1])
    pose = pose_of(arm.tool_pose(near, np.eye(4)))
    for kind in ("MOVEJ_POSE", "MOVEL", "MOVEL_JOINT", "MOVEP", "OPTIMOVEJ", "OPTIMOVEL"):
        target = near if kind in ("MOVEL_JOINT", "OPTIMOVEJ") else pose
        result, path = bench.follow(point(kind, target, third=(0.5, 0.5)))
        assert result == SUCCESS, (kind, bench.said)
        assert path[-1] == pytest.approx(near, abs=1e-4), kind
        assert bench.follow(point("MOVEJ", HOME, third=(1.0, 2.0)))[0] == SUCCESS


@pytest.mark.parametrize("fixed", [False, True])
def test_movec_is_an_arc(bench, fixed):
    arm = bench.robot.arm
    start = arm.tool_pose(HOME, np.eye(4))
    via, goal = pose_of(start), pose_of(start)
    via[:3] += [0.1, 0.1, 0.0]
    goal[:3] += [0.2, 0.0, 0.0]  # the goal of half a circle about a point 0.1 m in front
    third = (0.1, 1.0, float(fixed))
    result, path = bench.follow(point("MOVEC", goal, via, third))
    assert result == SUCCESS, bench.said
    tools = np.array([arm.tool_pose(q, np.eye(4)) for q in path[::20]])
    away = tools[:, :3, 3] - (start[:3, 3] + [0.1, 0.0, 0.0])
    assert np.linalg.norm(away, axis=1) == pytest.approx(0.1, abs=2e-5)
    assert away[:, 1].max() == pytest.approx(0.1, abs=1e-4)
    end = arm.tool_pose(path[-1], np.eye(4))
    assert end[:3, 3] == pytest.approx(goal[:3], abs=1e-4)
    turn = np.diag([-1.0, -1.0, 1.0]) if fixed else np.eye(3)  # the tool makes half a turn about z
    assert end[:3, :3] == pytest.approx(turn @ start[:3, :3], abs=1e-3)


@pytest.mark.parametrize(("old", "places"), [(False, (12, 13)), (True, (13, 12))])
def test_the_speed_of_an_arc_is_read_from_the_fields_of_each_version(old, places):
    source = program()
    if old:
        for new, before in (("raw_point[13]", "raw_point[7]"), ("raw_point[14]", "raw_point[13]")):
            source = source.replace(new, before)
    row = [0] * 20 + [3]  # 3 is MOVEC
    row[places[0]], row[places[1]] = 200_000, 900_000
    found = TrajectoryPoint.of(tuple(row), ExternalScript.read(source))
    assert (found.kind, found.velocity, found.acceleration) == ("MOVEC", 0.2, 0.9)


def test_points_on_a_line_are_not_an_arc(bench):
    start = pose_of(bench.robot.arm.tool_pose(HOME, np.eye(4)))
    via, goal = start.copy(), start.copy()
    via[0], goal[0] = start[0] + 0.05, start[0] + 0.1
    bench.follow(point("MOVEC", goal, via, (0.1, 1.0)), seconds=0.1)
    assert "the three points of movec are on a line" in bench.said[-1]
    assert bench.robot.program is None


def test_cubic_splines_pass_through_their_points(bench):
    rng = np.random.default_rng(1)
    q = HOME + np.cumsum(rng.uniform(-0.1, 0.1, (4, 6)), axis=0)
    qd = np.array([*rng.uniform(-0.2, 0.2, (3, 6)), np.zeros(6)])
    times = np.array([0.7, 0.5, 0.4004, 0.8])  # not all times are whole ticks
    result, path = bench.follow(
        *(point("SPLINE", *row, time=t, form=CUBIC) for *row, t in zip(q, qd, times, strict=True))
    )
    assert result == SUCCESS
    knots = np.concatenate([[0.0], np.cumsum(np.round(times, 3))])
    oracle = CubicHermiteSpline(
        knots, np.array([HOME, *q.round(6)]), np.array([np.zeros(6), *qd.round(6)])
    )
    t = DT * np.arange(1, len(path) + 1)
    moving = t < knots[-1]
    assert path[moving] == pytest.approx(oracle(t[moving]), abs=1e-9)
    assert path[-1] == pytest.approx(q[-1], abs=1e-6)
    assert not bench.robot.joints.v.any()


def test_quintic_splines_pass_through_their_points(bench):
    rng = np.random.default_rng(2)
    q = HOME + np.cumsum(rng.uniform(-0.1, 0.1, (3, 6)), axis=0)
    qd = np.array([*rng.uniform(-0.2, 0.2, (2, 6)), np.zeros(6)])
    qdd = np.array([*rng.uniform(-0.2, 0.2, (2, 6)), np.zeros(6)])
    rows = zip(q, qd, qdd, strict=True)
    result, path = bench.follow(*(point("SPLINE", *row, time=0.5, form=QUINTIC) for row in rows))
    assert result == SUCCESS
    z = np.zeros((1, 6))
    ends = [np.array([a, *b.round(6)]) for a, b in ((HOME, q), (*z, qd), (*z, qdd))]
    t = DT * np.arange(1, len(path) + 1)
    for joint in range(6):
        values = np.stack([end[:, joint] for end in ends], axis=1)
        oracle = BPoly.from_derivatives(0.5 * np.arange(4), values)
        assert path[t < 1.5, joint] == pytest.approx(oracle(t[t < 1.5]), abs=1e-9)


def test_a_fast_last_point_slows_down_on_the_path(bench):
    end = np.add(HOME, [0.0, 0.0, 0.0, 0.0, 0.0, 1.5])
    speed = [0.0] * 5 + [2.5]
    result, path = bench.follow(point("SPLINE", end, speed, time=1.0, form=CUBIC))
    assert result == SUCCESS
    v = np.diff(path[:, 5]) / DT
    assert v.min() > -1e-9  # the arm does not pass the end and come back
    assert path[-1] == pytest.approx(end, abs=1e-4)
    # at full speed the last point would need an acceleration of 2500 rad/s^2
    assert np.abs(np.diff(v)).max() / DT < 16.0
    assert len(path) > 1100


def test_a_first_spline_point_at_time_zero_near_the_arm_is_skipped(bench):
    here = point("SPLINE", HOME + 1e-3, time=0.0, form=CUBIC)
    there = point("SPLINE", HOME + 0.1, time=1.0, form=CUBIC)
    result, path = bench.follow(here, there)
    assert result == SUCCESS
    assert path[-1] == pytest.approx(HOME + 0.1, abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "result", "reason"),
    [
        (point("SPLINE", HOME + 0.1, time=0.0, form=CUBIC), CANCELED, "spline needs a time"),
        (point("SPLINE", HOME + 1.0, time=0.01, form=CUBIC), CANCELED, "faster than 20 rad/s"),
        (point("SPLINE", HOME + 0.1, time=1.0, form=7), FAILURE, "7 is not a spline"),
        (point(33, HOME, time=1.0), FAILURE, "there is no point of kind 33"),
    ],
)
def test_a_wrong_point_ends_the_trajectory(bench, wrong, result, reason):
    assert bench.follow(wrong)[0] == result
    assert reason in bench.said[-1]
    assert bench.robot.runtime == RuntimeState.PLAYING  # the program continues
    assert bench.follow(point("MOVEJ", HOME + 0.01, third=(1.0, 1.0)))[0] == SUCCESS


def test_a_trajectory_with_a_missing_point_fails(bench):
    bench.reverse.request(action("TRAJECTORY_MODE_RECEIVE", 2))
    bench.points.request(point("SPLINE", HOME + 0.1, [0.2] * 6, time=0.5, form=CUBIC))
    result, path = bench.keep(2.0)
    assert result == FAILURE
    # the arm moved, so the program does not wait for the missing point
    assert len(path) * DT < 0.6
    assert np.abs(np.diff(path, 2, axis=0)).max() / DT**2 < 5.0  # the arm brakes smoothly
    bench.reverse.request(action("TRAJECTORY_MODE_RECEIVE", 1))
    # while the arm rests, the program waits 0.5 s for the point
    assert bench.keep(2.0)[0] == FAILURE


def test_remaining_points_of_a_cancelled_trajectory_are_dropped(bench):
    wrong = point("SPLINE", HOME + 1.0, time=0.01, form=CUBIC)
    stale = point("MOVEJ", HOME + 0.5, third=(1.0, 1.0))
    assert bench.follow(wrong, stale, stale)[0] == CANCELED
    result, path = bench.follow(point("MOVEJ", HOME + 0.01, third=(1.0, 1.0)))
    assert result == SUCCESS
    assert path[-1] == pytest.approx(HOME + 0.01)
    # the arm did not move towards a dropped point
    assert path.max(axis=0) == pytest.approx(HOME + 0.01)


def test_a_spline_after_a_late_point_begins_where_the_arm_is(bench):
    bench.reverse.request(action("TRAJECTORY_MODE_STREAM_START", timeout=0.0))
    bench.points.request(point("SPLINE", HOME + 0.05, [0.2] * 6, time=0.5, form=CUBIC))
    bench.cycle(503)  # the arm continues at its speed
    assert bench.robot.joints.x[0] > HOME[0] + 0.05 + 2 * DT * 0.19
    bench.points.request(point("SPLINE", HOME + 0.15, [0.2] * 6, time=0.5, form=CUBIC))
    speeds = []
    for _ in range(100):
        bench.cycle()
        speeds.append(bench.robot.joints.v[0])
    assert speeds == pytest.approx([0.2] * 100, abs=0.02)


def test_a_client_can_cancel_a_trajectory(bench):
    points = [point("MOVEJ", HOME + 0.1 * k, time=1.0) for k in range(1, 5)]
    bench.reverse.request(action("TRAJECTORY_MODE_RECEIVE", 4))
    for one in points:
        bench.points.request(one)
    bench.keep(1.5)
    bench.reverse.request(action("TRAJECTORY_MODE_CANCEL"))
    assert bench.keep(2.0)[0] == CANCELED
    assert bench.robot.joints.x[0] - HOME[0] == pytest.approx(0.15, abs=0.02)
    assert not bench.points.rows  # the remaining points are dropped


def test_another_mode_cancels_a_trajectory(bench):
    bench.reverse.request(action("TRAJECTORY_MODE_RECEIVE", 2))
    bench.points.request(point("MOVEJ", HOME + 0.3, time=1.0) + point("MOVEJ", HOME, time=1.0))
    bench.keep(0.5)
    bench.say(message("IDLE", timeout=5.0), 2000)
    assert bench.points.said() == struct.pack(">i", CANCELED)
    assert bench.program.mode == "IDLE"


def test_an_endless_trajectory_ends_on_a_message_of_the_client(bench):
    goals = [HOME + 0.01 * k for k in range(1, 11)]
    bench.reverse.request(action("TRAJECTORY_MODE_STREAM_START"))
    for k, goal in enumerate(goals):
        v = [0.2] * 6 if k < 9 else [0.0] * 6
        bench.points.request(point("SPLINE", goal, v, time=0.05, form=QUINTIC))
        bench.say(action("NOOP"), 30)
    bench.reverse.request(action("TRAJECTORY_MODE_STREAM_END", len(goals)))
    result, path = bench.keep(2.0)
    assert result == SUCCESS
    assert path[-1] == pytest.approx(goals[-1], abs=1e-6)
    bench.reverse.request(action("TRAJECTORY_MODE_STREAM_END", 77))  # no stream is active now
    bench.cycle(10)
    assert bench.follow(point("MOVEJ", HOME, third=(1.0, 1.0)))[0] == SUCCESS


def test_the_speed_slider_slows_a_spline_down(bench):
    bench.robot.signals.slider = bench.robot.scale = 0.5
    result, path = bench.follow(point("SPLINE", HOME + 0.2, time=1.0, form=CUBIC))
    assert result == SUCCESS
    assert len(path) * DT == pytest.approx(2.0, abs=0.01)


def test_a_goal_beyond_the_limits_ends_the_program(bench):
    bench.follow(point("MOVEJ", [9.0, 0.0, 0.0, 0.0, 0.0, 0.0], third=(1.0, 1.0)), seconds=0.01)
    assert "program externalControl ends: movej: joint 0 would be at 9 rad" in bench.said[-1]
    assert bench.robot.program is None


# settings, forces, contacts


def obey(bench, name, numbers=()):
    bench.commands.request(command(name, numbers))
    bench.cycle()


def test_commands_of_settings_change_the_arm(bench):
    robot = bench.robot
    obey(bench, "SET_PAYLOAD", [1.5, 0.0, 0.01, 0.1])
    assert (robot.arm.load.mass, robot.arm.load.com[2]) == pytest.approx((1.5, 0.1))
    obey(bench, "SET_TARGET_PAYLOAD", [2.0, 0, 0, 0.2, 0.02, 0.03, 0.04, 0, 0, 0])
    assert robot.arm.load.six == pytest.approx([0.02, 0.03, 0.04, 0.0, 0.0, 0.0])
    obey(bench, "SET_TCP_OFFSET", [0.0, 0.0, 0.1, 0.0, 0.0, 0.5])
    assert pose_of(robot.F_T) == pytest.approx([0.0, 0.0, 0.1, 0.0, 0.0, 0.5])
    obey(bench, "SET_GRAVITY", [0.0, 0.0, 9.0])
    assert robot.arm.gravity == pytest.approx([0.0, 0.0, -9.0])
    obey(bench, "SET_TOOL_VOLTAGE", [24.0])
    assert robot.signals.tool_voltage == 24
    for name in ("SET_FRICTION_COMPENSATION", "SET_FRICTION_SCALES", "FT_RTDE_INPUT_ENABLE"):
        obey(bench, name, [1.0])
    assert not bench.said
    obey(bench, 77)
    assert "no script command 77" in bench.said[-1]


@pytest.mark.parametrize(
    ("name", "numbers", "reason"),
    [
        ("SET_PAYLOAD", [1000.0], "a payload of 1000 kg"),
        ("SET_TOOL_VOLTAGE", [7.0], "a tool voltage of 7 V"),
        ("SET_GRAVITY", [0.0, 0.0, 99.0], "gravity"),
        ("SET_TCP_OFFSET", [9.0], "at most 2 m"),
    ],
)
def test_a_wrong_setting_ends_the_program(bench, name, numbers, reason):
    obey(bench, name, numbers)
    assert reason in bench.said[-1]
    assert bench.robot.program is None


def test_force_mode_moves_the_tool_until_it_is_ended(bench):
    bench.say(message("IDLE", timeout=0.0))
    select, wrench, limits = [0, 0, 1, 0, 0, 0], [0, 0, -20, 0, 0, 0], [0.1] * 6
    obey(bench, "START_FORCE_MODE", [*[0] * 6, *select, *wrench, 2, *limits, 0.1, 0.8])
    force = bench.robot.force
    assert (force.damping, force.gain) == (0.1, 0.8)
    assert force.selected.tolist() == [bool(one) for one in select]
    bench.cycle(200)
    assert bench.robot.sensing.twist[2] == pytest.approx(-0.8 * 2e-3 * 20 * 0.9, rel=0.02)
    obey(bench, "END_FORCE_MODE")
    bench.until_rest()
    assert bench.robot.force is None


def pushed(bench, force):
    """Run a cycle in which a force [N] in the axes of the base acts on the tool."""
    J = bench.robot.sensing.at.J
    effort = bench.robot.sensing.gravity - J[:3].T @ np.array(force)
    x, v = bench.robot.joints.x, bench.robot.joints.v
    bench.robot.act()
    bench.robot.observe(measured(x, v, effort=effort))


def test_a_contact_stops_the_tool_which_moves_back(bench):
    obey(bench, "START_TOOL_CONTACT")
    down = message("SPEEDL", [0.0, 0.0, -0.05, 0.0, 0.0, 0.0], timeout=5.0)
    bench.say(down, 300)
    z = bench.robot.sensing.at.T[2, 3]
    for _ in range(100):
        bench.reverse.request(down)
        pushed(bench, [0.0, 0.0, 30.0])
    assert bench.program.mode == "TOOL_IN_CONTACT"
    bench.until_rest()
    assert bench.commands.said() == struct.pack(">i", 0)
    assert bench.robot.sensing.at.T[2, 3] == pytest.approx(z, abs=2e-3)
    bench.say(down, 10)  # the force is ignored until the search ends
    assert bench.program.mode == "TOOL_IN_CONTACT"
    obey(bench, "END_TOOL_CONTACT")
    assert not bench.commands.said()
    bench.say(down, 10)
    assert bench.program.mode == "SPEEDL"


def test_a_search_without_contact_is_cancelled(bench):
    obey(bench, "START_TOOL_CONTACT")
    obey(bench, "END_TOOL_CONTACT")
    assert bench.commands.said() == struct.pack(">i", 1)


# floods of messages, and blocking requests


def test_a_connection_with_too_many_messages_is_full_until_they_are_processed(bench):
    assert not bench.reverse.is_full
    bench.reverse.request(message("SPEEDJ", [0.1] * 6) * MOST_ROWS)
    assert bench.reverse.is_full
    bench.cycle()
    assert not bench.reverse.is_full
    bench.points.request(point("MOVEJ", HOME) * (MOST_ROWS + 5))
    assert bench.points.is_full


def test_a_reboot_cancels_a_requested_program(bench):
    bench.robot.plays = True
    bench.robot.reboot()
    assert not bench.robot.plays


def test_a_flood_of_modes_takes_several_ticks(bench):
    modes = message("IDLE", timeout=0.0) + message("UNINITIALIZED", timeout=0.0)
    bench.say(modes * 100)
    assert len(bench.reverse.rows) == 200 - 20
    bench.cycle(10)
    assert not bench.reverse.rows


def test_the_box_waits_for_a_command_that_answers_a_state(bench):
    assert not bench.robot.awaits
    bench.say(message("SPEEDJ", [0.1] * 6))
    bench.robot.told = True
    assert bench.robot.awaits
    bench.robot.told = False  # no state was sent, so the client sends no command
    assert not bench.robot.awaits
    bench.robot.told = True
    bench.reverse.request(message("SPEEDJ", [0.1] * 6))
    assert not bench.robot.awaits
    bench.say(message("IDLE", timeout=0.0), 200)
    assert not bench.robot.awaits
    assert bench.robot.rests or bench.robot.settles


def test_the_box_does_not_wait_for_a_client_whose_program_ends(bench):
    bench.say(message("SPEEDJ", [0.4] * 6, timeout=0.1), 90)
    bench.robot.told = True
    assert bench.robot.awaits
    bench.cycle(20)
    assert bench.robot.program is not None  # the arm brakes
    assert not bench.robot.awaits


def test_time_may_be_stopped_while_the_program_waits_for_a_message(bench):
    bench.say(message("IDLE", timeout=0.3), 120)
    assert bench.robot.rests
    bench.robot.clock += 0.1  # only the box's clock advances, as if simulated time were paused
    assert not bench.program.has_work(bench.robot)
    bench.robot.clock += 0.1
    assert bench.program.has_work(bench.robot)  # the timeout of the message has passed
    bench.cycle()
    assert bench.robot.program is None


def test_a_pose_out_of_reach_ends_the_program(bench):
    bench.say(message("POSE", [5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 2)
    assert "no joint positions reach the pose" in bench.said[-1]
    assert bench.robot.program is None

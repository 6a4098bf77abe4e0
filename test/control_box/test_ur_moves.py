# SPDX-License-Identifier: Apache-2.0
"""The motions of a box of Universal Robots agree with closed forms."""

import math

import numpy as np
import pytest
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.paths import Stream
from rbdyn_ros.control_box.ur.arm import READY, UrArm, pose_from
from rbdyn_ros.control_box.ur.moves import (
    Course,
    JointMove,
    LineMove,
    Profile,
    ServoJoints,
    SpeedJoints,
    SpeedLine,
    StopMove,
)
from rbdyn_ros.description.source import read

DT = 1e-3


@pytest.fixture(scope="module")
def arm():
    text = find("ur5_robot.urdf").read_text()
    return UrArm(rb.load_urdf(text), read(text))


@pytest.fixture
def course(arm):
    F_T = np.eye(4)
    F_T[2, 3] = 0.1
    return Course(arm, Stream(np.array(READY), period=DT), F_T, DT)


def run(move, course, most=20000):
    """Run a motion to its end (`most` cycles at most); return positions and velocities (n, 6)."""
    x, v = [], []
    for _ in range(most):
        done = move.step(course)
        x.append(course.joints.x.copy())
        v.append(course.joints.v.copy())
        if done:
            return np.array(x), np.array(v)
    raise AssertionError("the motion does not end")


@pytest.mark.parametrize(("length", "v", "a"), [(1.0, 0.5, 1.0), (0.1, 2.0, 1.0), (0.0, 1.0, 1.0)])
def test_a_velocity_profile_is_a_trapezoid_or_a_triangle(length, v, a):
    found = Profile(length, v, a)
    trapezoid = length / v + v / a if length > v * v / a else 2.0 * math.sqrt(length / a)
    assert found.duration == pytest.approx(trapezoid)
    t = np.linspace(0.0, found.duration + 0.1, 2001)
    s = np.array([found.at(x) for x in t])
    speed = np.diff(s) / np.diff(t)
    assert s[0] == 0.0
    assert s[-1] == length
    assert (speed >= -1e-12).all()
    assert speed.max(initial=0.0) <= v + 1e-9
    assert np.abs(np.diff(speed) / np.diff(t)[1:]).max() <= a * (1.0 + 1e-3) + 1e-6


def test_movej_moves_all_joints_together(course):
    goal = np.add(READY, [0.4, -0.2, 0.1, 0.0, 0.3, -0.1])
    x, v = run(JointMove(np.array(READY), goal, 0.5, 1.0), course)
    assert x[-1] == pytest.approx(goal, abs=1e-12)
    assert len(x) == pytest.approx((0.4 / 0.5 + 0.5 / 1.0) / DT, abs=2)
    assert v[:, 0].max() == pytest.approx(0.5, rel=1e-6)  # this joint moves farthest
    share = (x - READY)[:, [0, 1, 2, 4, 5]] / (goal - READY)[[0, 1, 2, 4, 5]]
    assert np.abs(share - share[:, :1]).max() < 1e-9
    assert course.joints.v == pytest.approx(np.zeros(6))


def test_half_the_speed_takes_twice_the_time(course):
    goal = np.array(READY) + 0.3
    full, _ = run(JointMove(np.array(READY), goal, 0.5, 1.0), course)
    course.joints.begin(np.array(READY))
    course.scale = 0.5
    half, v = run(JointMove(np.array(READY), goal, 0.5, 1.0), course)
    assert len(half) == pytest.approx(2 * len(full), abs=2)
    assert v.max() == pytest.approx(0.25, rel=1e-6)


def test_movel_moves_on_a_line_at_its_speed(course, arm):
    start = course.tool()
    goal = start @ pose_from(np.array([0.05, -0.1, 0.05, 0.1, 0.2, -0.1]))
    away = np.linalg.norm(goal[:3, 3] - start[:3, 3])
    turn = np.linalg.norm([0.1, 0.2, -0.1])
    x, _ = run(LineMove(start, goal, 0.1, 0.4), course)
    T = np.array([arm.tool_pose(q, course.F_T) for q in x])
    assert T[-1] == pytest.approx(goal, abs=1e-6)
    e = (goal[:3, 3] - start[:3, 3]) / away
    gap = T[:, :3, 3] - start[:3, 3]
    assert np.linalg.norm(gap - np.outer(gap @ e, e), axis=1).max() < 1e-5
    length = max(away, turn)
    assert len(x) == pytest.approx((length / 0.1 + 0.1 / 0.4) / DT, abs=2)


def test_stopj_decelerates_linearly(course):
    course.joints.v = np.array([0.5, -0.25, 0.0, 0.0, 0.0, 0.1])
    x, v = run(StopMove(2.0, of_tool=False), course)
    assert len(x) == pytest.approx(0.5 / 2.0 / DT, abs=2)
    assert x[-1] - READY == pytest.approx(np.array([0.5, -0.25, 0, 0, 0, 0.1]) / 8.0, abs=1e-3)
    assert np.diff(v[:-1, 0]) == pytest.approx(-2.0 * DT, abs=1e-9)


def test_stopl_takes_the_time_of_the_tools_deceleration(course):
    course.joints.v = np.array([0.5, -0.25, 0.0, 0.0, 0.0, 0.0])
    J = course.arm.tool_jacobian(course.joints.x, course.F_T)
    twist = J @ course.joints.v
    speed = max(np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:]))
    x, _ = run(StopMove(1.0, of_tool=True), course)
    assert len(x) == pytest.approx(speed / DT, rel=0.05)


def test_speedj_speeds_up_with_its_acceleration(course):
    move = SpeedJoints()
    move.take(np.array([0.4, -0.2, 0.0, 0.0, 0.0, 0.0]), 2.0, 0.1)
    for _ in range(100):
        move.step(course)
    assert course.joints.v[:2] == pytest.approx([0.2, -0.1])
    assert move.waits
    for _ in range(150):
        move.step(course)
    assert course.joints.v[:2] == pytest.approx([0.4, -0.2])


def test_speedl_moves_the_tool(course):
    move = SpeedLine()
    move.take(np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.2]), 1.0, 0.0)
    for _ in range(500):
        move.step(course)
    twist = course.arm.tool_jacobian(course.joints.x, course.F_T) @ course.joints.v
    assert twist == pytest.approx([0.0, 0.0, 0.1, 0.0, 0.0, 0.2], abs=1e-3)
    assert not move.waits


@pytest.mark.parametrize(("gain", "lookahead"), [(300.0, 0.1), (100.0, 0.03), (2000.0, 0.2)])
def test_servoj_is_a_damped_spring(course, gain, lookahead):
    """The step response is that of an oscillator with w^2 = gain and 2 z w = gain lookahead."""
    move, step = ServoJoints(), 0.01
    goal = np.add(READY, [step, 0, 0, 0, 0, 0])
    x = []
    for _ in range(600):
        move.take(goal, 0.002, lookahead, gain)
        move.step(course)
        x.append((course.joints.x[0] - READY[0]) / step)
    t = DT * np.arange(1, 601)
    w = math.sqrt(gain)
    p, q = np.roots([1.0, gain * lookahead, w * w]).astype(complex)
    exact = 1.0 + ((q * np.exp(p * t) - p * np.exp(q * t)) / (p - q)).real
    assert np.array(x) == pytest.approx(exact, abs=0.06)  # the cycle of 1 ms limits the accuracy
    assert (np.array(x).max() > 1.05) == (gain * lookahead < 1.2 * w)

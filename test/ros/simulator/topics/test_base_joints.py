# SPDX-License-Identifier: Apache-2.0
"""The steering angles of a car that reverses stay within their limits and do not jump."""

import math

import numpy as np
import pytest
from support.mobile import TRACK, WHEELBASE, car

import rbdyn_ros as rb
from rbdyn_ros.control.mobile.driving import WheelDrive, ramped_arc
from rbdyn_ros.control.mobile.wheels import wheel_base

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.ros.simulator.topics.base_joints import WheelJoints

MOST, PERIOD, LIMIT = np.array([1.0, 1.0, 3.0]), 0.01, 0.7


class Car:
    def __init__(self, axis):
        self.m = rb.load_urdf(car(axis), floating_base=True, contact=True)
        self.joints = WheelJoints(WheelDrive(wheel_base(self.m)), 0.01, self.m)
        self.twist = np.zeros(3)

    def drive(self, target, count):
        """Approach a target twist for `count` periods; return the twists and steering goals."""
        twists, goals = [], []
        for _ in range(count):
            self.twist = self.joints.approach(self.twist, np.array(target), MOST, PERIOD)
            twists.append(self.twist)
            goals.append(self.joints.command(self.m, self.twist).position[4:])
        return np.array(twists), np.array(goals)


@pytest.mark.parametrize("axis", [1, -1])
def test_in_a_reversal_the_steering_turns_steadily_from_side_to_side(axis):
    rover = Car(axis)
    rover.drive((0.5, 0.0, 0.2), 200)
    twists, goals = rover.drive((-0.5, 0.0, 0.2), 200)
    # the curvature changes from 0.4 to -0.4 1/m in about 100 periods
    assert np.abs(np.diff(goals, axis=0)).max() < 0.01
    assert np.abs(goals).max() < 0.3
    assert twists[-1] == pytest.approx([-0.5, 0.0, 0.2])
    assert np.all(np.abs(np.diff(twists, axis=0)) <= MOST * PERIOD + 1e-12)
    inner = math.atan2(0.4 * WHEELBASE, 1.0 - 0.4 * TRACK / 2)
    assert np.all(axis * goals[-1] < 0.0)  # to turn left backwards, the car steers right
    assert np.abs(goals[-1]).max() == pytest.approx(inner)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("turn", [4.0, -4.0])
def test_an_arc_is_not_tighter_than_the_steering_allows(axis, turn):
    twists, goals = Car(axis).drive((0.5, 0.0, turn), 300)
    assert np.abs(goals[-1]).max() == pytest.approx(LIMIT)
    assert np.sign(twists[-1][2]) == np.sign(turn)
    assert twists[-1][0] == pytest.approx(0.5)


def test_a_car_at_rest_keeps_its_steering_angle():
    rover = Car(1)
    before = rover.drive((0.5, 0.0, 0.2), 200)[1][-1]
    twists, goals = rover.drive((0.0, 0.0, 0.0), 200)
    assert goals[-1] == pytest.approx(before)
    assert twists[-1] == pytest.approx(np.zeros(3))


def test_the_yaw_acceleration_stays_within_its_limit():
    """Between two twists the yaw rate, speed times curvature, changes fastest at both ends."""
    now, rates = (0.5, 2.0), []
    for _ in range(400):
        then = ramped_arc(now, (-0.5, -2.0), (1.0, 0.3), PERIOD)
        rates.append(abs(then[0] * then[1] - now[0] * now[1]) / PERIOD)
        now = then
    assert max(rates) <= 0.3 * (1.0 + 1e-9)
    assert max(rates) > 0.29

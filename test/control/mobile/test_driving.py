# SPDX-License-Identifier: Apache-2.0
"""Wheel speeds, twists, speed ramps and odometry of mobile bases agree with closed forms."""

import math

import numpy as np
import pytest
from support.mobile import RADIUS, TRACK, WHEELBASE, car, mecanum, omni
from support.rovers import SKID_STEER, TURTLEBOT3

import rbdyn_ros as rb
from rbdyn_ros.control.mobile.driving import WheelDrive, limited, ramped
from rbdyn_ros.control.mobile.odometry import WheelOdometry
from rbdyn_ros.control.mobile.wheels import wheel_base
from rbdyn_ros.errors import RbdynError

NONE = np.zeros(0)


def drive_of(text, kind="", scale=1.0):
    m = rb.load_urdf(text, floating_base=True, contact=True)
    return WheelDrive(wheel_base(m, kind), scale)


def test_wheel_speeds_of_a_differential_base_match_the_textbook():
    drive = drive_of(TURTLEBOT3.urdf)
    v, w, r, half = 0.2, 0.7, TURTLEBOT3.radius, TURTLEBOT3.track / 2
    speeds = drive.rows(NONE) @ (v, 0.0, w)
    assert speeds == pytest.approx([(v - half * w) / r, (v + half * w) / r])


def test_speeds_of_mecanum_wheels_match_the_textbook():
    """The speeds are (vx -+ vy -+ (l + h) w) / r if the rollers form an X."""
    drive = drive_of(mecanum())
    vx, vy, w, lever = 0.3, 0.2, 0.5, (TRACK + WHEELBASE) / 2
    for wheel, speed in zip(drive.base.wheels, drive.rows(NONE) @ (vx, vy, w), strict=True):
        front, side = np.sign(wheel.at)
        expected = (vx - front * side * vy - side * lever * w) / RADIUS
        assert speed == pytest.approx(expected)


def test_speeds_of_omni_wheels_match_the_textbook():
    drive = drive_of(omni())
    vx, vy, w = 0.3, -0.2, 0.5
    for k, speed in enumerate(drive.rows(NONE) @ (vx, vy, w)):
        at = math.pi / 6 + 2.0 * math.pi * k / 3
        assert speed == pytest.approx((-math.sin(at) * vx + math.cos(at) * vy + 0.2 * w) / RADIUS)


def test_the_wheels_of_a_car_turn_about_one_point():
    drive = drive_of(car())
    curvature = 0.8
    angles = drive.steer(curvature)
    centre = np.array([0.0, 1.0 / curvature])
    for joint, angle in zip(drive.base.steerings, angles, strict=True):
        lever = np.array(joint.at) - centre
        assert lever @ (math.cos(angle), math.sin(angle)) == pytest.approx(0.0, abs=1e-12)
    assert drive.curvature(angles) == pytest.approx(curvature)
    speeds = drive.rows(angles) @ (0.5, 0.0, 0.5 * curvature)
    inner = np.hypot(WHEELBASE, 1.0 / curvature - TRACK / 2) * 0.5 * curvature / RADIUS
    names = [wheel.name for wheel in drive.base.wheels]
    assert speeds[names.index("front_left_wheel_joint")] == pytest.approx(inner)


DRIVES = {
    "differential": (TURTLEBOT3.urdf, "", 1.0),
    "skid": (SKID_STEER.urdf, "skid_steer", 1.7),
    "mecanum": (mecanum(), "", 1.0),
    "omni": (omni(), "", 1.0),
}


@pytest.mark.parametrize("name", DRIVES)
def test_the_twist_is_recovered_from_the_wheel_speeds(name):
    drive = drive_of(*DRIVES[name])
    twist = np.array([0.3, -0.2, 0.7]) * drive.moves
    fit = drive.twist(NONE, drive.rows(NONE) @ twist)
    assert fit.twist == pytest.approx(twist)
    assert fit.slip == pytest.approx(np.zeros(len(fit.slip)), abs=1e-12)
    assert fit.contradiction() == pytest.approx(0.0, abs=1e-24)


def test_contradicting_wheel_speeds_are_reported_as_slip():
    drive = drive_of(SKID_STEER.urdf, "skid_steer")
    speeds = drive.rows(NONE) @ (0.3, 0.0, 0.0)
    speeds[0] += 1.0
    fit = drive.twist(NONE, speeds)
    assert np.abs(fit.slip).max() > 0.05
    # the contradiction is divided by the squared distance, so the rate of samples does not matter
    assert fit.contradiction() == pytest.approx(drive.twist(NONE, 0.01 * speeds).contradiction())
    assert fit.contradiction() > 1e-3


def test_motions_that_a_base_cannot_do_are_refused():
    with pytest.raises(RbdynError, match="does not move sideways"):
        drive_of(TURTLEBOT3.urdf).check(np.array([0.0, 0.1, 0.0]))
    with pytest.raises(RbdynError, match="does not turn in place"):
        drive_of(car()).check(np.array([0.0, 0.0, 0.1]))
    drive_of(mecanum()).check(np.array([0.1, 0.1, 0.1]))


def test_speed_limits_do_not_change_the_path_and_all_ramps_end_together():
    twist = limited(np.array([2.0, 0.0, 1.0]), np.array([0.5, 0.5, 9.0]))
    assert twist == pytest.approx([0.5, 0.0, 0.25])
    assert limited(np.zeros(3), np.array([0.5, 0.5, 9.0])) == pytest.approx(np.zeros(3))
    most = np.array([1.0, 1.0, 2.0])
    now = ramped(np.zeros(3), np.array([0.5, 0.0, 0.5]), most, 0.1)
    assert now == pytest.approx([0.1, 0.0, 0.1])
    assert ramped(now, np.array([0.12, 0.0, 0.1]), most, 0.1) == pytest.approx([0.12, 0.0, 0.1])


def test_odometry_of_an_arc_is_exact_for_any_step():
    """A quarter of a circle ends in the same pose with 3 steps and with 300 steps."""
    for steps in (3, 300):
        drive = drive_of(TURTLEBOT3.urdf)
        odometry = WheelOdometry(drive, 0.01)
        way = drive.rows(NONE) @ (math.pi / 2, 0.0, math.pi / 2)
        for k in range(steps + 1):
            odometry.update(way * k / steps, NONE, 1.0 / steps)
        assert odometry.pose == pytest.approx([1.0, 1.0, math.pi / 2])
        assert odometry.twist == pytest.approx([math.pi / 2, 0.0, math.pi / 2])
        assert odometry.pose_covariance[0, 0] > 1e-9


def test_odometry_is_right_for_a_base_frame_off_the_axle():
    """The base turns about the axle, so its frame moves on a circle."""
    text = TURTLEBOT3.urdf.replace('<origin xyz="0.0 ', '<origin xyz="0.1 ')
    drive = drive_of(text)
    assert drive.reference == pytest.approx([0.1, 0.0])
    odometry = WheelOdometry(drive, 0.01)
    way = drive.rows(NONE) @ (0.0, 0.0, math.pi / 2)
    for k in range(11):
        odometry.update(way * k / 10, NONE, 0.1)
    assert odometry.pose == pytest.approx([0.1, -0.1, math.pi / 2])


SLIP = 0.01


def driven(drive, way, steps, begin=(0.0, 0.0, 0.0)):
    """Return the odometry after a motion `way` from the pose `begin`, read in `steps` steps."""
    odometry = WheelOdometry(drive, SLIP)
    odometry.pose = np.array(begin)
    turned = drive.rows(NONE) @ way
    for k in range(steps + 1):
        odometry.update(turned * k / steps, NONE, 1.0 / steps)
    return odometry


@pytest.mark.parametrize("steps", [10, 100, 1000])
def test_the_covariance_of_a_straight_path_matches_the_closed_form_at_any_rate(steps):
    """The variances of x and yaw are q L; y is the integral of yaw, so its variance is q L^3 / 3.

    Within a step the error of yaw is constant, so L^3 / 3 is too small by L^3 / (12 steps^2).
    """
    length, track = 10.0, TURTLEBOT3.track
    found = driven(drive_of(TURTLEBOT3.urdf), (length, 0.0, 0.0), steps).pose_covariance
    yaw = 2.0 * SLIP**2 / track**2
    expected = np.diag([SLIP**2 * length / 2, yaw * length**3 / 3, yaw * length])
    expected[1, 2] = expected[2, 1] = yaw * length**2 / 2
    expected[1, 1] -= yaw * length**3 / (12 * steps**2)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_an_error_of_yaw_becomes_a_sideways_error():
    drive = drive_of(TURTLEBOT3.urdf)
    odometry = WheelOdometry(drive, 0.0)
    odometry.pose_covariance[2, 2] = 0.01
    for k in range(11):
        odometry.update(drive.rows(NONE) @ (3.0 * k / 10, 0.0, 0.0), NONE, 0.1)
    assert odometry.pose_covariance[1, 1] == pytest.approx(9.0 * 0.01)
    assert odometry.pose_covariance[0, 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("turn", [0.7, 2e-4, 3e-5, 0.0])
def test_the_derivatives_of_an_arc_match_small_differences(turn):
    """The frame is off the axle. The derivatives are with respect to the pose and the motion."""
    drive = drive_of(TURTLEBOT3.urdf.replace('<origin xyz="0.0 ', '<origin xyz="0.1 '))
    way, begin, small = np.array([0.4, 0.1, turn]), np.array([0.3, -0.2, 0.9]), 1e-6

    def moved(pose, step):
        odometry = WheelOdometry(drive, SLIP)
        odometry.pose = pose
        derivatives = odometry._advance(step)
        return odometry.pose, derivatives

    _, (by_pose, by_way) = moved(begin, way)
    for k, one in enumerate(small * np.eye(3)):
        slope = (moved(begin + one, way)[0] - moved(begin - one, way)[0]) / (2.0 * small)
        assert by_pose[:, k] == pytest.approx(slope, abs=1e-8)
        slope = (moved(begin, way + one)[0] - moved(begin, way - one)[0]) / (2.0 * small)
        assert by_way[:, k] == pytest.approx(slope, abs=1e-8)

# SPDX-License-Identifier: Apache-2.0
"""Messages on joint_trajectory become trajectories or are refused."""

import math
from array import array

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("trajectory_msgs", reason="trajectory_msgs is not installed")

from builtin_interfaces.msg import Duration, Time
from support.refusals import refused
from support.splines import sample
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.common.parsing.trajectory import MOST_POINTS, TrajectoryParser
from rbdyn_ros.runtime.types import TrajectoryOrder

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
SECOND = 1_000_000_000
NOW = 20 * SECOND


def robot():
    """Return lift (positions -1 to 2, speed 4), turn (no limits), and jaw, which mimics turn."""
    builder = rb.SystemBuilder("two")
    for name in ("lift", "turn", "jaw"):
        builder.body(f"{name}_body", BOX)
    lift = rb.Limit(lower=-1.0, upper=2.0, effort=10.0, velocity=4.0)
    builder.joint("lift", "prismatic", "base", "lift_body", axis=(0, 0, 1), limit=lift)
    builder.joint("turn", "continuous", "base", "turn_body", axis=(0, 0, 1))
    builder.joint("jaw", "revolute", "base", "jaw_body", axis=(0, 0, 1))
    return builder.couple("jaw", "turn", 2.0).description()


@pytest.fixture(scope="module")
def parser():
    m = rb.build(robot())
    return TrajectoryParser(m, command_parser(m, robot(), "keep"))


def point(t, positions, velocities=(), accelerations=(), effort=()):
    whole = math.floor(t)
    return JointTrajectoryPoint(
        time_from_start=Duration(sec=whole, nanosec=round((t - whole) * SECOND)),
        positions=array("d", positions),
        velocities=array("d", velocities),
        accelerations=array("d", accelerations),
        effort=array("d", effort),
    )


def message(names, *points, stamp=0.0):
    built = JointTrajectory(joint_names=names, points=list(points))
    built.header.stamp = Time(sec=int(stamp), nanosec=round(stamp % 1 * SECOND))
    return built


def test_points_with_positions_only_are_joined_by_straight_lines(parser):
    names = ["turn", "lift"]
    found = parser.parse(message(names, point(0.5, [1, 2]), point(1.25, [-3, 0])), NOW)
    assert isinstance(found, TrajectoryOrder), found
    assert found.order == 1
    assert found.dofs.tolist() == [1, 0]
    assert found.times.tolist() == [0.5, 1.25]
    assert found.positions.tolist() == [[1.0, 2.0], [-3.0, 0.0]]
    assert found.velocities.tolist() == found.accelerations.tolist() == [[0.0, 0.0]] * 2


def test_points_with_velocities_give_cubics_and_points_with_accelerations_quintics(parser):
    cubic = [point(0.0, [0.0], [1.0]), point(1.0, [0.5], [0.0])]
    found = parser.parse(message(["lift"], *cubic), NOW)
    assert (found.order, found.times[0], found.velocities.tolist()) == (3, 0.0, [[1.0], [0.0]])
    quintic = [point(0.0, [0.0], [1.0], [-2.0]), point(1.0, [0.5], [0.0], [3.0])]
    found = parser.parse(message(["lift"], *quintic), NOW)
    assert (found.order, found.accelerations.tolist()) == (5, [[-2.0], [3.0]])


def test_a_message_without_points_stops_the_trajectory(parser):
    assert parser.parse(message([]), NOW) is None
    assert parser.parse(message(["lift"]), NOW) is None
    with refused(rb.RbdynError, "request", "joint 'lfit'"):
        parser.parse(message(["lfit"]), NOW)


def test_the_stamp_of_a_trajectory_is_its_start_time(parser):
    points = [point(0.0, [0.0], [1.0]), point(1.0, [0.5], [1.0]), point(3.0, [1.0], [0.0])]
    later = parser.parse(message(["lift"], *points, stamp=21.25), NOW)
    assert later.times.tolist() == [1.25, 2.25, 4.25]
    begun = parser.parse(message(["lift"], *points, stamp=18.5), NOW)
    assert begun.times.tolist() == [1.5]
    assert (begun.positions.tolist(), begun.velocities.tolist()) == ([[1.0]], [[0.0]])
    just = parser.parse(message(["lift"], *points, stamp=19.0), NOW)
    assert just.times.tolist() == [0.0, 2.0]
    for stamp in (16.75, 1763768147.5):
        with refused(rb.RbdynError, "request"):
            parser.parse(message(["lift"], *points, stamp=stamp), NOW)


def one(*arguments, name="lift", **more):
    return message([name], point(1.0, *arguments, **more))


REFUSED = [
    one([math.nan]),
    message(["lift"], point(0.0, [0.0], [0.0]), point(1.0, [0.0], [-math.inf])),
    message(["lift", "turn"], point(1.0, [0, 0], [0, 0], [0, 1e101])),
    message(["lift"], point(1.0, [0.0]), point(2.0, [0.0, math.nan])),
    message(["a\nb" + "c" * 2_000_000], point(1.0, [math.nan])),
    message([], point(1.0, [])),
    message(["lift", "lift"], point(1.0, [0, 0])),
    one([0.0], name="turm"),
    one([0.0], name="jaw"),
    one([0.0, 1.0]),
    one([]),
    one([0.0], [0.0, 0.0]),
    message(["lift"], point(1.0, [0.0], [0.0]), point(2.0, [0.0])),
    message(["lift"], point(1.0, [0.0], [0.0]), point(2.0, [0.0], [0.0], [0.0])),
    one([0.0], (), [0.0]),
    one([0.0], effort=[1.0]),
    message(["lift"], point(-0.5, [0.0])),
    message(["lift"], point(0.0, [0.0]), point(0.5, [0.0]), point(0.5, [0.1])),
    one([2.1]),
    one([2.00000001]),
    message(["turn", "lift"], point(0.0, [9.0, 0.0]), point(9.0, [9.0, -1.5])),
    message(["lift"], point(0.0, [0.0], [-4.5]), point(1.0, [0.0], [0.0])),
    one([0.0], [0.5]),
    message(["lift"], point(1.0, [0.0]), point(2.0, [1.0]), point(2.25, [-0.25])),
    message(["lift"], point(1.0, [0.0]), point(2_000_000.0, [0.0])),
]


@pytest.mark.parametrize("built", REFUSED, ids=range(len(REFUSED)))
def test_invalid_messages_of_trajectories_are_refused(parser, built):
    with refused(rb.RbdynError, "request"):
        parser.parse(built, NOW)


def test_positions_may_exceed_a_limit_by_a_rounding_error(parser):
    at_limits = message(["lift"], point(0.0, [2.0 + 5e-10]), point(0.75, [-1.0 - 5e-10]))
    assert parser.parse(at_limits, NOW).positions[0, 0] == 2.0 + 5e-10


def test_a_trajectory_with_too_many_points_is_refused(parser):
    same = point(0.0, [0.0])
    with refused(rb.RbdynError, "request"):
        parser.parse(message(["lift"], *[same] * (MOST_POINTS + 1)), NOW)
    many = [point(k / 1000, [math.sin(k / 1000), k]) for k in range(20_000)]
    found = parser.parse(message(["lift", "turn"], *many), NOW)
    assert found.positions.shape == (20_000, 2)
    assert found.positions[15_000].tolist() == [math.sin(15.0), 15_000.0]
    assert found.times[-1] == 19.999


def trajectory(order, times, *rows):
    tables = [np.array(row, float).reshape(-1, 1) for row in rows]
    return TrajectoryOrder(np.array([0]), np.array(times), *tables, order=order)


def test_the_reference_follows_polynomials_exactly():
    """Points on a polynomial of degree 1, 3 or 5 give this polynomial as the reference."""
    for order in (1, 3, 5):
        p = np.polynomial.Polynomial(np.arange(1.0, order + 2.0))
        derivatives = (p, p.deriv(1), p.deriv(2))
        times = np.array([0.5, 1.25, 2.0])
        curve = trajectory(order, times, *(f(times) for f in derivatives))
        begin = [[f(0.0)] for f in derivatives]
        for t in (0.0, 0.3, 0.7, 1.9):
            found = np.concatenate(sample(curve, t, *begin))
            assert found == pytest.approx([f(t) for f in derivatives], rel=1e-10, abs=1e-10)
        q, v, a = sample(curve, 2.5, *begin)
        assert (q[0], v[0], a[0]) == (curve.positions[-1, 0], 0.0, 0.0)


def test_the_reference_starts_at_the_first_position():
    line = trajectory(1, [2.0, 3.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert [sample(line, t, [-1.0])[0][0] for t in (0.0, 1.0, 2.5)] == [-1.0, 0.0, 0.5]
    at_once = trajectory(1, [0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert sample(at_once, 0.25, [-1.0])[0][0] == 0.75

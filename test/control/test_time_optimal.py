# SPDX-License-Identifier: Apache-2.0
"""Time-optimal paths have the durations of closed forms, and agree with ruckig."""

import numpy as np
import pytest
from path_samples import sampled
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.motion.planning import SHORTEST, time_optimal
from rbdyn_ros.errors import ParameterError

ruckig = pytest.importorskip("ruckig", reason="ruckig is not installed")


def points(p, n):
    return np.random.default_rng(1).normal(size=(p, n))


# closed forms


@pytest.mark.parametrize(
    ("way", "v", "a", "duration"),
    [
        (1.0, 10.0, 4.0, 2.0 * np.sqrt(1.0 / 4.0)),  # the distance is too short to reach v
        (3.0, 1.0, 2.0, 3.0 / 1.0 + 1.0 / 2.0),  # a trapezoid
        (-3.0, 1.0, 2.0, 3.5),
    ],
)
def test_the_velocity_without_a_jerk_limit_is_a_trapezoid(way, v, a, duration):
    p = time_optimal([[0.0], [way]], v, a)
    assert p.duration == pytest.approx(duration, rel=1e-12)
    velocity, acceleration = p.peaks()
    assert acceleration[0] == pytest.approx(a, rel=1e-9)
    assert velocity[0] == pytest.approx(min(v, np.sqrt(abs(way) * a)), rel=1e-9)


@pytest.mark.parametrize(
    ("way", "v", "a", "j", "duration"),
    [
        # only the jerk limit is reached: four phases of duration t cover the distance 2 j t^3
        (0.25, 9.0, 9.0, 1.0, 4.0 * np.cbrt(0.25 / 2.0)),
        # all limits are reached: it takes v / a + a / j to accelerate, plus distance / v
        (10.0, 1.0, 2.0, 8.0, 10.0 / 1.0 + 1.0 / 2.0 + 2.0 / 8.0),
    ],
)
def test_the_velocity_with_a_jerk_limit_is_an_s_curve(way, v, a, j, duration):
    p = time_optimal([[2.0], [2.0 + way]], v, a, j)
    assert p.duration == pytest.approx(duration, rel=1e-12)
    rows = sampled(p, np.linspace(0.0, p.duration * (1 - 1e-12), 4001))
    jerk = np.abs(np.diff(rows[:, 2, 0])) / (p.duration / 4000)
    assert jerk.max() <= j * (1.0 + 1e-6)
    assert jerk.max() >= j * 0.99


def test_the_slowest_joint_sets_the_duration_of_a_straight_line():
    p = time_optimal([[0.0, 1.0, 5.0], [3.0, 0.0, 5.0]], 1.0, 2.0, 100.0)
    alone = time_optimal([[0.0], [3.0]], 1.0, 2.0, 100.0)
    assert p.duration == pytest.approx(alone.duration, rel=1e-12)
    rows = sampled(p, np.linspace(0.0, p.duration, 100))
    np.testing.assert_allclose(rows[:, 0, 1], 1.0 - rows[:, 0, 0] / 3.0, atol=1e-12)
    np.testing.assert_array_equal(rows[:, :, 2], [[5.0, 0.0, 0.0]] * 100)


def test_a_time_optimal_path_rests_at_every_point():
    way = points(4, 2)
    p = time_optimal(way, 1.0, 3.0, 40.0)
    parts = [time_optimal(way[i : i + 2], 1.0, 3.0, 40.0).duration for i in range(3)]
    assert p.duration == pytest.approx(sum(parts), rel=1e-12)
    for t, place in zip(np.cumsum([0.0, *parts]), way, strict=True):
        rows = p.sample(t, np.empty((3, 2)))
        np.testing.assert_allclose(rows[0], place, atol=1e-12)
        np.testing.assert_allclose(rows[1], 0.0, atol=1e-9)
    np.testing.assert_array_equal(p.positions[[0, -1]], way[[0, -1]])


def test_repeated_points_take_no_time():
    way = points(2, 2)
    p = time_optimal([way[0], way[0], way[1], way[1]], 1.0, 3.0)
    assert p.duration == time_optimal(way, 1.0, 3.0).duration
    assert time_optimal([way[0], way[0]], 1.0, 3.0).duration == 0.0
    assert time_optimal([way[0]], 1.0, 3.0).duration == 0.0


# ruckig's trajectories


def cases():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(1, 8))
        start = rng.uniform(-3.0, 3.0, n)
        goal = start + rng.choice([0.0, 1e-5, 0.01, 1.0, 4.0], n) * rng.normal(size=n)
        jerk = None if rng.random() < 0.3 else rng.uniform(10.0, 8000.0, n)
        yield start, goal, rng.uniform(0.5, 3.0, n), rng.uniform(1.0, 20.0, n), jerk


def test_a_path_matches_the_trajectory_of_ruckig_within_the_limits():
    for start, goal, v, a, jerk in cases():
        p = time_optimal([start, goal], v, a, jerk)
        given = ruckig.InputParameter(len(start))
        given.current_position, given.target_position = start.tolist(), goal.tolist()
        given.max_velocity, given.max_acceleration = v.tolist(), a.tolist()
        given.max_jerk = np.full(len(start), np.inf).tolist() if jerk is None else jerk.tolist()
        given.synchronization = ruckig.Synchronization.Phase
        theirs = ruckig.Trajectory(len(start))
        ruckig.Ruckig(len(start)).calculate(given, theirs)
        # segments shorter than SHORTEST are skipped
        assert abs(p.duration - theirs.duration) <= SHORTEST
        times = np.linspace(0.0, theirs.duration * (1 - 1e-9), 300)
        rows, expected = sampled(p, times), np.array([theirs.at_time(t) for t in times])
        # the path skips segments shorter than SHORTEST, so its velocity can be off by the jump of
        # the acceleration times SHORTEST, and its position by this jump times SHORTEST^2
        jump = 2.0 * a.max()
        np.testing.assert_allclose(rows[:, 0], expected[:, 0], atol=jump * SHORTEST**2 + 1e-14)
        np.testing.assert_allclose(rows[:, 1], expected[:, 1], atol=jump * SHORTEST)
        velocity, acceleration = p.peaks()
        assert (velocity <= v * (1.0 + 1e-4)).all()
        # the acceleration can exceed its limit by its change during a skipped segment
        steepest = 0.0 if jerk is None else jerk.max()
        assert (acceleration <= a + steepest * SHORTEST + 1e-2 * (jerk is None)).all()


def test_each_joint_has_its_own_limits():
    p = time_optimal([[0.0, 0.0], [2.0, 2.0]], [1.0, 0.5], [2.0, 9.0], [50.0, 60.0])
    velocity, acceleration = p.peaks()
    assert velocity[1] == pytest.approx(0.5, rel=1e-9)
    assert (velocity <= np.array([1.0, 0.5]) * (1 + 1e-9)).all()
    assert (acceleration <= np.array([2.0, 9.0]) * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"points": [0.0, 1.0]},
        {"points": []},
        {"points": [[0.0], [np.nan]]},
        {"points": [["0"], ["1"]]},
        {"velocity": 0.0},
        {"velocity": None},
        {"velocity": np.inf},
        {"acceleration": -1.0},
        {"acceleration": [1.0, 2.0]},
        {"jerk": 0.0},
        {"jerk": np.nan},
        {"points": [[0.0], [1e300]], "jerk": 1.0},
        {"velocity": 1e-300},
    ],
)
def test_invalid_time_optimal_paths_are_refused(change):
    arguments = {"points": [[0.0], [1.0]], "velocity": 1.0, "acceleration": 1.0} | change
    with refused(ParameterError, "bad-argument"):
        time_optimal(**arguments)


TWO = """<robot name="r" version="1.2"><link name="a"/><link name="b">{body}</link>
<link name="c">{body}</link><link name="d">{body}</link>
<joint name="i" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="1"
  effort="1" velocity="1.5" acceleration="4" deceleration="3" {jerk}/></joint>
<joint name="j" type="revolute"><parent link="b"/><child link="c"/><limit lower="-1" upper="1"
  effort="1" velocity="2" acceleration="5"/></joint>
<joint name="k" type="revolute"><parent link="c"/><child link="d"/><mimic joint="j"
  multiplier="-2"/><limit lower="-9" upper="9" effort="1" velocity="3" acceleration="8"/></joint>
</robot>"""
BODY = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)


def two(jerk=""):
    return rb.load_urdf(TWO.format(body=BODY, jerk=jerk))


def assert_same(p, q):
    np.testing.assert_array_equal(p.times, q.times)
    np.testing.assert_array_equal(p.positions, q.positions)


def test_limits_of_the_robot_are_the_defaults():
    """A mimic joint with the ratio -2 halves the limits of its leader."""
    way = [[0.0, 0.1], [0.9, -0.7], [0.2, 0.0]]
    assert_same(time_optimal(way, m=two()), time_optimal(way, [1.5, 1.5], [3.0, 4.0]))
    given = time_optimal(way, 0.5, [1.0, 2.0], 30.0)
    assert_same(time_optimal(way, 0.5, [1.0, 2.0], 30.0, m=two('jerk="9"')), given)
    column = [[0.0], [0.8]]
    p = time_optimal(column, m=two('jerk="9"'), joints=["i"])
    assert_same(p, time_optimal(column, 1.5, 3.0, 9.0))
    # one joint has a jerk limit and the other joint has none
    mixed = time_optimal(way, m=two('jerk="9"'))
    assert mixed.duration > time_optimal(way, m=two()).duration
    steps = np.diff(mixed.peaks()[1])
    assert np.isfinite(steps).all()


@pytest.mark.parametrize(
    ("change", "replaced", "element"),
    [
        ({"joints": ["x"]}, {}, "x"),
        ({"joints": ["k"]}, {}, "k"),
        ({"joints": "i"}, {}, ""),
        ({"points": [[0.0], [1.0]]}, {}, "joints"),
        ({}, {"jnt_acceleration": np.full(3, np.inf)}, "acceleration"),
        ({}, {"jnt_velocity": np.zeros(3)}, "velocity"),
    ],
)
def test_paths_beyond_the_limits_of_the_robot_are_refused(change, replaced, element):
    arguments = {"points": [[0.0, 0.0], [1.0, 1.0]], "m": two().replaced(**replaced)} | change
    with refused(ParameterError, "bad-argument", element):
        time_optimal(**arguments)

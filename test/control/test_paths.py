# SPDX-License-Identifier: Apache-2.0
"""Paths agree with SciPy's Bernstein polynomials and differences; wrong input is refused."""

import tracemalloc

import numpy as np
import pytest
from path_samples import sampled
from scipy.interpolate import BPoly
from support.refusals import refused

from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.errors import ParameterError

TIMES = [0.5, 0.75, 2.0, 2.25, 4.0]


def path(order, n=3, seed=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, len(TIMES), n))
    return Path(TIMES, *rows[: (order + 1) // 2])


def scipys(p):
    nodes = [p.positions, p.velocities, p.accelerations][: (p.order + 1) // 2]
    return BPoly.from_derivatives(p.times, np.stack(nodes, axis=1))


@pytest.mark.parametrize("order", [1, 3, 5])
def test_a_path_matches_the_polynomials_of_scipy(order):
    p, theirs = path(order), scipys(path(order))
    times = np.random.default_rng(0).uniform(0.5, 4.0, 500)
    ours = sampled(p, times)
    for k in range(3):
        expected = theirs(times, nu=k) if k <= order else np.zeros((500, 3))
        # second derivatives in the shortest segment (0.25 s) amplify rounding errors 16 times
        np.testing.assert_allclose(ours[:, k], expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("order", [3, 5])
def test_each_row_of_a_sample_is_the_derivative_of_the_row_before(order):
    p, h = path(order), 1e-5
    times = np.array([0.6, 0.7, 1.3, 2.1, 3.0, 3.9])
    behind, here, ahead = (sampled(p, times + s) for s in (-h, 0.0, h))
    for k in range(2):
        slope = (ahead[:, k] - behind[:, k]) / (2.0 * h)
        # the truncation error is h^2 times the third derivative, which is up to 1e5
        np.testing.assert_allclose(here[:, k + 1], slope, atol=2e-5)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_a_path_meets_its_points(order):
    p = path(order)
    rows = sampled(p, TIMES[:-1])
    np.testing.assert_array_equal(rows[:, 0], p.positions[:-1])
    if order > 1:
        np.testing.assert_allclose(rows[:, 1], p.velocities[:-1], rtol=1e-13)
    if order > 3:
        np.testing.assert_allclose(rows[:, 2], p.accelerations[:-1], rtol=1e-12)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_joints_rest_before_and_after_a_path(order):
    p = path(order)
    for t, point in ((-1e9, 0), (0.49, 0), (4.0, -1), (1e9, -1)):
        place, velocity, acceleration = p.sample(t, np.full((3, 3), np.nan))
        np.testing.assert_array_equal(place, p.positions[point])
        assert not velocity.any()
        assert not acceleration.any()


def test_a_path_of_one_point_rests_there():
    p = Path([1.0], [[0.3, 0.4]])
    assert (p.duration, p.order) == (0.0, 1)
    np.testing.assert_array_equal(p.sample(1.0, np.empty((3, 2))), [[0.3, 0.4], [0, 0], [0, 0]])
    assert not np.any(p.peaks())


def test_the_order_of_a_path_follows_from_the_given_derivatives():
    points = np.zeros((2, 1))
    assert Path([0, 1], points).order == 1
    assert Path([0, 1], points, points).order == 3
    assert Path([0, 1], points, points, points).order == 5
    assert Path([0, 1], points, points, points, order=1).order == 1


@pytest.mark.parametrize("order", [1, 3, 5])
@pytest.mark.parametrize("seed", range(8))
def test_peaks_match_the_largest_values_of_fine_samples(order, seed):
    p = path(order, seed=seed)
    rows = sampled(p, np.linspace(0.5, 4.0, 7001)[:-1])
    # also sample just before each end of a segment, where a derivative may jump
    near = sampled(p, np.array(TIMES[1:]) - 1e-9)
    largest = np.abs(np.concatenate([rows, near])).max(axis=0)
    velocity, acceleration = p.peaks()
    places = np.concatenate([rows[:, 0], p.positions])
    # a sample can be 0.25 ms away from a reversal
    beyond = 0.5 * acceleration * 0.00025**2 if order > 1 else 0.0
    for found, theirs in zip(p.extent(), (places.min(axis=0), places.max(axis=0)), strict=True):
        assert (np.abs(found - theirs) <= beyond + 1e-15).all()
    assert (p.extent()[0] <= places + 1e-15).all()
    assert (p.extent()[1] >= places - 1e-15).all()
    assert (velocity >= largest[1] * (1.0 - 1e-12)).all()
    assert (acceleration >= largest[2] * (1.0 - 1e-12)).all()
    # a sample can be 0.25 ms away from an extremum: 1e-3 of a segment, with the square as error
    np.testing.assert_allclose(velocity, largest[1], rtol=5e-5)
    np.testing.assert_allclose(acceleration, largest[2], rtol=5e-5, atol=1e-9)


def test_the_extent_includes_both_reversals_of_a_path():
    """The cubic t (1 - t) (1 - 2 t) reverses at sqrt(3) / 18 and at -sqrt(3) / 18."""
    p = Path([0, 1], [[0.0], [0.0]], [[1.0], [1.0]])
    lowest, highest = p.extent()
    assert (lowest[0], highest[0]) == pytest.approx((-np.sqrt(3) / 18, np.sqrt(3) / 18), rel=1e-14)


def test_peaks_of_a_motion_between_rests_are_exact():
    # peaks of the quintic from 0 to 1 in 1 s: the velocity 15/8 at half time, and the
    # acceleration 10 / sqrt(3) at (3 - sqrt(3)) / 6
    p = Path([0, 1], [[0.0], [1.0]], np.zeros((2, 1)), np.zeros((2, 1)))
    velocity, acceleration = p.peaks()
    assert velocity[0] == pytest.approx(15 / 8, rel=1e-14)
    assert acceleration[0] == pytest.approx(10 / np.sqrt(3), rel=1e-13)
    # peaks of the cubic: the velocity 3/2 at half time, and the acceleration 6 at both ends
    velocity, acceleration = Path([0, 1], [[0.0], [1.0]], np.zeros((2, 1))).peaks()
    assert (velocity[0], acceleration[0]) == (pytest.approx(1.5), pytest.approx(6.0))


@pytest.mark.parametrize("order", [1, 3, 5])
def test_a_scaled_path_has_the_same_shape(order):
    p = path(order)
    slow = p.scaled(2.0 * p.duration)
    assert (slow.duration, slow.times[0], slow.order) == (7.0, 0.5, order)
    times = np.linspace(0.5, 3.99, 50)
    fast, late = sampled(p, times), sampled(slow, 0.5 + 2.0 * (times - 0.5))
    for k in range(3):
        np.testing.assert_allclose(late[:, k], fast[:, k] / 2.0**k, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(slow.peaks()[0], p.peaks()[0] / 2.0, rtol=1e-12)


def test_a_path_can_be_sampled_into_a_target():
    target = Target(3)
    path(5).sample(1.0, target.rows)
    np.testing.assert_array_equal(target.rows, path(5).sample(1.0, np.empty((3, 3))))
    assert target.qvel.any()


def test_a_path_is_immutable():
    times = np.array(TIMES)
    p = Path(times, np.zeros((5, 1)))
    times[:] = 0.0
    assert p.duration == 3.5
    for array in (p.times, p.positions, p.velocities, p.accelerations, *p.peaks(), *p.extent()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_sampling_allocates_nothing():
    p, rows = path(5), np.empty((3, 3))
    p.sample(1.0, rows)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(2000):
            p.sample(0.001 * i, rows)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the interpreter itself keeps a few small objects: less than one array a call
    assert now - before < 4096
    assert peak - before < 4096


POINTS = np.zeros((2, 3))


@pytest.mark.parametrize(
    "arguments",
    [
        ([], np.zeros((0, 3))),
        ([[0, 1]], POINTS),
        ([0, 0], POINTS),
        ([1, 0], POINTS),
        ([0, np.nan], POINTS),
        (["0", "1"], POINTS),
        ([0, 1], np.zeros(2)),
        ([0, 1], np.zeros((3, 2))),
        ([0, 1], np.zeros((2, 0))),
        ([0, 1], [[0, 1], [0]]),
        ([0, 1], [[np.inf], [0]]),
        ([0, 1], None),
        ([0, 1], POINTS, np.zeros((2, 2))),
        ([0, 1], POINTS, [[np.nan] * 3] * 2),
        ([0, 1], POINTS, None, POINTS),
        ([0, 1], POINTS, POINTS, [[1j] * 3] * 2),
        ([0, 1], POINTS, None, None, 3),
        ([0, 1], POINTS, POINTS, POINTS, 4),
        ([0, 1], POINTS, POINTS, POINTS, 3.5),
        ([0, 1], POINTS, POINTS, POINTS, "5"),
        ([0, 1e-300], [[0.0], [1e300]]),
        ([0, 1], [[-1e308], [1e308]]),
    ],
)
def test_invalid_paths_are_refused(arguments):
    with refused(ParameterError, "bad-argument"):
        Path(*arguments)


@pytest.mark.parametrize("t", [np.nan, np.inf, -np.inf])
def test_sampling_needs_a_finite_time(t):
    with refused(ParameterError, "bad-argument", "t"):
        path(5).sample(t, np.empty((3, 3)))


@pytest.mark.parametrize(
    "rows", [None, np.empty(9), np.empty((3, 2)), np.empty((3, 3), np.float32), np.empty((3, 3)).T]
)
def test_output_arrays_of_a_wrong_shape_or_type_are_refused(rows):
    with refused(ParameterError, "bad-argument", "rows"):
        path(5).sample(1.0, rows)


@pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf, "1", None, 1e-320])
def test_invalid_durations_are_refused(duration):
    with pytest.raises(ParameterError):
        path(5).scaled(duration)


def test_a_path_of_one_point_cannot_be_stretched():
    with refused(ParameterError, "bad-argument", "duration"):
        Path([0.0], [[1.0]]).scaled(2.0)

# SPDX-License-Identifier: Apache-2.0
"""Minimum-jerk paths pass their points smoothly and have less jerk than other paths."""

import sys

import numpy as np
import pytest
from path_samples import sampled
from support.refusals import refused

from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.motion.planning import quintic, time_optimal
from rbdyn_ros.errors import ParameterError

TIMES = [0.0, 0.4, 1.5, 2.0, 4.0]


def points(p=5, n=3, seed=1):
    return np.random.default_rng(seed).normal(size=(p, n))


def test_two_points_are_joined_by_the_quintic_from_rest_to_rest():
    p = quintic([[1.0, 0.0], [3.0, -1.0]], [2.0, 4.0])
    x = np.linspace(0.0, 0.999, 40)
    blend = 10 * x**3 - 15 * x**4 + 6 * x**5
    rows = sampled(p, 2.0 + 2.0 * x)
    np.testing.assert_allclose(rows[:, 0, 0], 1.0 + 2.0 * blend, atol=1e-14)
    np.testing.assert_allclose(rows[:, 0, 1], -blend, atol=1e-14)


def test_a_quintic_path_meets_its_points_and_rests_at_the_ends():
    p = quintic(points(), TIMES)
    np.testing.assert_allclose(sampled(p, TIMES)[:, 0], points(), atol=1e-13)
    for array in (p.velocities, p.accelerations):
        assert not array[[0, -1]].any()
        assert array[1:-1].all()


def test_derivatives_up_to_the_fourth_are_continuous():
    """Derivatives up to the fourth agree on both sides of every point."""
    p = quintic(points(), TIMES)
    for before, t, after in zip(TIMES[:-2], TIMES[1:-1], TIMES[2:], strict=True):
        left, right = (
            np.polyfit(times, sampled(p, t + times)[:, 2], 3)
            for times in ((end - t) * np.linspace(0.1, 0.9, 4) for end in (before, after))
        )
        # the tolerance is the rounding error for values of up to 50
        np.testing.assert_allclose(left[1:], right[1:], atol=1e-8)
        assert (np.abs(left[0] - right[0]) > 1.0).all()


def test_changed_velocities_at_the_points_increase_the_squared_jerk():
    """The integral of the squared jerk is convex: every change at the points increases it."""
    best = quintic(points(), TIMES)
    least = _squared_jerk(best)
    rng = np.random.default_rng(8)
    for _ in range(20):
        change = rng.normal(size=(2, 5, 3)) * 1e-2
        change[:, [0, -1]] = 0.0
        other = Path(TIMES, points(), best.velocities + change[0], best.accelerations + change[1])
        assert _squared_jerk(other) > least


def _squared_jerk(p):
    nodes, weights = np.polynomial.legendre.leggauss(5)
    total = 0.0
    for start, end in zip(p.times[:-1], p.times[1:], strict=True):
        # the acceleration is a cubic; four of its values determine the jerk, a quadratic
        x = np.linspace(0.01, 0.99, 4)
        cubic = np.polyfit(x, sampled(p, start + x * (end - start))[:, 2], 3)
        for node, weight in zip(0.5 * (nodes + 1.0), weights, strict=True):
            jerk = [3 * node**2, 2 * node, 1.0] @ cubic[:3] / (end - start)
            total += 0.5 * weight * (end - start) * (jerk**2).sum()
    return total


def test_given_velocities_and_accelerations_are_kept():
    velocities = points(seed=4)
    p = quintic(points(), TIMES, velocities)
    np.testing.assert_array_equal(p.velocities, velocities)
    assert not p.accelerations.any()
    assert p.order == 5
    p = quintic(points(), TIMES, velocities, 2.0 * velocities)
    np.testing.assert_array_equal(p.accelerations, 2.0 * velocities)


def test_a_path_far_from_time_zero_has_the_same_shape():
    near, far = quintic(points(), TIMES), quintic(points(), np.array(TIMES) + 1e6)
    np.testing.assert_allclose(far.velocities, near.velocities, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "arguments",
    [
        ([[0.0]], [0.0]),
        ([[0.0], [1.0]], [0, 1], None, [[0], [0]]),
        ([[0.0], [np.nan]], [0, 1]),
        ([[0.0], [1.0]], [1, 1]),
        ([[0.0], [1.0]], [0, 1], [[0]]),
    ],
)
def test_invalid_quintic_paths_are_refused(arguments):
    with refused(ParameterError, "bad-argument"):
        quintic(*arguments)


def test_very_uneven_times_are_refused():
    with pytest.raises(ParameterError):
        quintic(points(4), [0.0, 1e-200, 2e-200, 1.0])


def test_missing_ruckig_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with refused(ParameterError, "no-ruckig"):
        time_optimal([[0.0], [1.0]], 1.0, 1.0)

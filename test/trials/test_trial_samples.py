# SPDX-License-Identifier: Apache-2.0
"""Sampled values have the right distributions, and depend only on the seed of their run."""

import numpy as np
import pytest
import scipy.stats
from support.trials import trial

from rbdyn_ros.trials.distributions import Choice, Constant, LogUniform, Normal, Uniform
from rbdyn_ros.trials.simulation.sampling import sample

EXPECTED = [
    (Uniform(-1.0, 3.0), scipy.stats.uniform(-1.0, 4.0)),
    (LogUniform(0.1, 10.0), scipy.stats.loguniform(0.1, 10.0)),
    (Normal(1.0, 2.0), scipy.stats.norm(1.0, 2.0)),
    (Normal(1.0, 2.0, 0.0, 2.5), scipy.stats.truncnorm(-0.5, 0.75, 1.0, 2.0)),
    (Normal(0.0, 1.0, 6.0), scipy.stats.truncnorm(6.0, np.inf)),
]


@pytest.mark.parametrize(("own", "expected"), EXPECTED, ids=[str(own) for own, _ in EXPECTED])
def test_quantiles_of_each_distribution_agree_with_scipy(own, expected):
    u = np.linspace(0.001, 0.999, 97)
    np.testing.assert_allclose(own.quantile(u), expected.ppf(u), rtol=1e-9)
    low, high = own.range
    ends = own.quantile(np.array([0.0, 1.0 - 2.0**-53]))
    assert np.isfinite(ends).all()
    assert low <= ends.min() <= ends.max() <= high


def test_all_values_of_a_choice_are_equally_likely():
    u = (np.arange(300) + 0.5) / 300
    found, counts = np.unique(Choice((3.0, 1.0, 2.0)).quantile(u), return_counts=True)
    assert found.tolist() == [1.0, 2.0, 3.0]
    assert counts.tolist() == [100, 100, 100]
    assert Constant(4.0).quantile(u[:2]).tolist() == [4.0, 4.0]
    assert Normal(5.0, 0.0).quantile(u[:2]).tolist() == [5.0, 5.0]


def test_a_sample_depends_only_on_its_seed(tmp_path):
    found = trial(tmp_path)
    rows = sample(found, range(100))
    np.testing.assert_array_equal(sample(found, [17, 3]), rows[[17, 3]])
    assert len(np.unique(rows[:, 0])) == 100
    longer = trial(tmp_path, faults=None, vary="{body_mass: {uniform: {low: 1, high: 2}}}")
    np.testing.assert_array_equal(sample(longer, range(100))[:, 0], rows[:, 0])

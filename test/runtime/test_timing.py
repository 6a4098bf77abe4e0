# SPDX-License-Identifier: Apache-2.0
"""Statistics from counters and histograms agree with NumPy's statistics of the values."""

import numpy as np
import pytest

from rbdyn_ros.runtime.timing import (
    Timing,
    Window,
    coarse,
    deviation,
    mean,
    percentile,
)


def histogram(values, bins=10_001):
    counts = np.zeros(bins, np.int64)
    np.add.at(counts, np.minimum(np.array(values, np.int64), bins - 1), 1)
    return counts


def timing(lateness, work=(3,), ticks=None, overruns=0, active_ns=None):
    ticks = len(lateness) if ticks is None else ticks
    active_ns = ticks * 1_000_000 if active_ns is None else active_ns
    worst = [1000 * max(values, default=0) for values in (lateness, work)]
    counts = histogram(lateness), histogram(work)
    both = (counts[0], worst[0], counts[1], worst[1])
    return Timing.of(ticks, overruns, 1_000_000, active_ns, *both)


@pytest.mark.parametrize("percent", [1, 50, 90, 99, 100])
@pytest.mark.parametrize("n", [1, 2, 99, 100, 101, 700])
def test_percentiles_of_a_histogram_equal_percentiles_of_numpy(n, percent):
    values = np.random.default_rng(n).integers(0, 500, n)
    expected = np.percentile(values, percent, method="inverted_cdf")
    assert percentile(histogram(values), percent) == expected


def test_the_statistics_of_an_empty_histogram_are_zero():
    empty = np.zeros(5, np.int64)
    assert percentile(empty, 99) == mean(empty) == deviation(empty) == 0.0


def test_mean_and_deviation_of_a_histogram_equal_numpy():
    values = np.random.default_rng(0).integers(0, 300, 1000)
    assert mean(histogram(values)) == pytest.approx(values.mean() + 0.5, abs=1e-9)
    assert deviation(histogram(values)) == pytest.approx(values.std(), abs=1e-9)


def test_a_timing_has_the_statistics_since_the_start_of_the_loop():
    values = [*range(100)]
    found = timing(values, [7] * 99 + [20], ticks=1000, overruns=3, active_ns=2_000_000_000)
    assert (found.ticks, found.overruns) == (1000, 3)
    assert found.real_time_factor == 0.5
    assert (found.p50, found.p99, found.worst) == (49.0, 98.0, 99.0)
    assert (found.step_p50, found.step_p99, found.step_worst) == (7.0, 7.0, 20.0)
    assert str(found) == (
        "1000 ticks, real-time factor 0.5000, wake-up lateness p50 49 us, p99 98 us, worst 99 us, "
        "step time p50 7 us, p99 7 us, worst 20 us, 3 overruns"
    )


def test_the_histograms_of_a_timing_are_copies():
    counts = histogram([5])
    found = Timing.of(1, 0, 1, 1, counts, 5000, counts, 5000)
    counts[5] = 9
    assert found.histogram[5] == found.step_histogram[5] == 1


def test_the_real_time_factor_is_zero_before_the_loop_has_run():
    assert timing([], ticks=0).real_time_factor == 0.0


def test_a_window_has_the_statistics_since_the_last_call():
    early, late = [10] * 50 + [900], [30] * 99 + [60]
    window = Window()
    first = timing(early, [5], overruns=1)
    both = timing(early + late, [5] + [8] * 9, overruns=5, active_ns=51_000_000 + 125_000_000)
    assert window.next(first) is first
    found = window.next(both)
    assert (found.ticks, found.overruns) == (100, 4)
    assert found.real_time_factor == 0.8
    assert (found.p50, found.p99, found.worst) == (30.0, 30.0, 60.0)
    assert (found.step_p50, found.step_worst) == (8.0, 8.0)
    np.testing.assert_array_equal(found.histogram, histogram(late))


def test_the_largest_value_of_a_window_is_exact_if_it_is_a_new_maximum():
    before = timing([10])
    lateness = histogram([10, 70])
    after = Timing.of(2, 0, 1, 2_000_000, lateness, 70_400, histogram([3]), 3000)
    assert after.since(before).worst == 70.4


def test_the_worst_time_of_a_window_may_be_older_if_it_exceeds_the_last_bin():
    before, after = timing([50_000]), timing([50_000, 20_000])
    assert after.since(before).worst == 50_000.0


def test_the_statistics_of_a_window_of_paused_time_are_zero():
    first = timing([10, 20])
    found = timing([10, 20]).since(first)
    assert (found.ticks, found.real_time_factor, found.p99, found.worst) == (0, 0.0, 0.0, 0.0)


def test_a_window_after_a_restart_covers_the_time_since_the_restart():
    old, new = timing([10] * 5), timing([20] * 3)
    assert new.since(old) is new


def test_coarse_bins_count_every_value_once():
    values = [0, 0, 1, 2, 9, 10, 12, 13, 99, 100, 9999, 10_000, 123_456]
    assert coarse(histogram(values)) == {
        1: 2,
        2: 1,
        3: 1,
        10: 1,
        13: 2,
        16: 1,
        100: 1,
        126: 1,
        10_000: 1,
        10_001: 2,
    }


def test_coarse_bins_equal_a_histogram_of_numpy():
    values = np.random.default_rng(1).integers(0, 10_000, 500)
    found = coarse(histogram(values))
    bounds = [0, *found]
    expected = np.histogram(values, [*bounds[:-1], bounds[-1]])[0]
    # `coarse` omits empty bins, so wider bins have the same counts
    np.testing.assert_array_equal(list(found.values()), expected)
    assert sum(found.values()) == 500

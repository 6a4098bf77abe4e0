# SPDX-License-Identifier: Apache-2.0
"""Stamps show how late states arrive; a constant offset between two clocks is not a lag."""

import numpy as np
import pytest
from closed_loop import MS, START

from rbdyn_ros.control.base.faults import KIND_CODES
from rbdyn_ros.control.states.clock import BEGUN, NUMBERS, TIMES, judge
from rbdyn_ros.dynamics.entry import Entry

JUDGE = Entry(judge)


class Clock:
    """Judges stamps of states, with a timeout [s] as the largest jump."""

    def __init__(self, timeout):
        self.timeout, self.times, self.numbers = timeout, np.zeros(TIMES, int), np.zeros(NUMBERS)

    def judge(self, stamp, arrival, latency):
        """Return the code of the fault of a state, or ""."""
        memory = self.times, self.numbers
        return KIND_CODES[JUDGE.call(stamp, arrival, latency, self.timeout, False, *memory)]


class Judging:
    """A Clock whose stamps are functions of the time of measurement [ms]."""

    def __init__(self, stamp=lambda t: t, late=lambda _t: 0.0, latency=0.02):
        self.clock, self.stamp, self.late, self.latency = Clock(0.08), stamp, late, latency

    def codes(self, duration, period=1.0):
        """Return the codes of all states in a time [ms], one per `period` [ms], as they arrive."""
        times = [k * period for k in range(int(duration / period))]
        arrived = 0.0
        found = []
        for t in times:
            arrived = max(arrived, t + self.late(t))  # no message overtakes another
            stamp = START + round(self.stamp(t) * MS)
            found.append(self.clock.judge(stamp, START + round(arrived * MS), self.latency))
        return found


@pytest.mark.parametrize("offset", [-3.6e6, -40.0, 40.0, 1e9])
def test_a_constant_offset_between_two_clocks_is_not_reported_as_latency(offset):
    assert set(Judging(stamp=lambda t: t + offset).codes(500)) == {""}


@pytest.mark.parametrize("lag", [5.0, 15.0, 19.9])
def test_a_short_lag_is_not_a_fault(lag):
    assert set(Judging(late=lambda t: lag if t > 100 else 0.0).codes(600)) == {""}


@pytest.mark.parametrize("lag", [21.0, 50.0, 75.0, 200.0])
def test_a_lasting_lag_is_a_latency_fault(lag):
    found = Judging(late=lambda t: lag if t > 100 else 0.0).codes(400)
    first = found.index("latency")
    assert first + lag - 100 <= max(lag + 22.0, 82.0)  # states arrive every ms
    assert set(found[first:]) == {"latency"}


def test_short_stalls_of_the_network_are_not_a_fault():
    """Three times a second the network stalls for 75 ms; then all messages arrive at once."""
    late = lambda t: max(0.0, 75.0 - t % 333.0)  # noqa: E731
    assert set(Judging(late=late).codes(5000)) == {""}


@pytest.mark.parametrize(("pace", "code"), [(0.5, "latency"), (0.9, "latency"), (0.9996, "")])
def test_a_slow_clock_is_reported_as_latency_but_slewing_by_0_04_percent_is_not(pace, code):
    found = Judging(stamp=lambda t: pace * t).codes(3000)
    assert set(found) == {"", code}


@pytest.mark.parametrize(("pace", "code"), [(2.0, "clock"), (1.3, "clock"), (1.05, "")])
def test_a_fast_clock_is_a_fault(pace, code):
    found = Judging(stamp=lambda t: pace * t).codes(2000)
    assert set(found) == {"", code}


def test_each_jump_of_the_clock_is_one_fault():
    found = Judging(stamp=lambda t: t + 500.0 * (t >= 100) - 900.0 * (t >= 200)).codes(600)
    assert [k for k, code in enumerate(found) if code == "clock"] == [100, 200]
    assert set(found) == {"", "clock"}


def test_a_lag_beyond_the_timeout_is_a_fault_even_if_the_limit_is_larger():
    found = Judging(late=lambda t: 90.0 if t > 100 else 0.0, latency=1.0).codes(400)
    assert found.index("latency") == 101


def test_a_tighter_limit_applies_at_once():
    judging = Judging(late=lambda _t: 0.0, latency=0.005)
    judging.late = lambda t: 8.0 if t > 100 else 0.0
    assert "latency" in judging.codes(400)


def test_after_a_pause_of_the_clock_states_are_late_until_the_pause_is_forgotten():
    clock, behind = Clock(0.1), 0
    codes = []
    for k in range(1, 3000):
        if k == 500:
            behind = 200 * MS  # a pause of the clock; states stop meanwhile
        if k == 2000:
            clock.times[BEGUN] = 0
        codes.append(clock.judge(k * MS, k * MS + behind, 0.02))
    assert set(codes[:499]) == {""}
    assert codes[1998] == "latency"
    assert set(codes[1999:]) == {""}

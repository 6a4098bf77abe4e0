"""The history of an armed arm: which of its states a lie began after."""

import math

import numpy as np
import pytest

from rbdyn_ros.control.history import EQUAL, REMEMBERED, TRUSTED, History

MS = 1_000_000
ZERO = np.zeros(3)


def history(states, freeze=None, suspicion=lambda _: 0.0):
    """Return the history of an arm whose first joint rests; the second freezes at a state."""
    known = History(3)
    for k in range(states):
        moved = min(k, freeze) if freeze is not None else k
        qpos, qvel = np.array([1.0, 1e-3 * moved, 2e-3 * k]), np.array([0.0, 1.0 + moved, 2.0])
        frost = 0.0 if freeze is None or k < freeze + 10 else 1.0
        known.add(k * MS, k * MS, qpos, qvel, ZERO, ZERO, suspicion(k), frost)
    return known


@pytest.mark.parametrize("states", [100, REMEMBERED + 100])
def test_a_joint_at_rest_is_no_joint_that_froze(states):
    freeze = states - 40
    known = history(states, freeze)
    assert known.thawed == freeze + 9
    assert known.repeated_since(known.thawed) == freeze


def test_the_least_suspicious_state_is_the_newest_of_equal_ones():
    slope = 2.0 * EQUAL
    known = history(200, suspicion=lambda k: 0.5 * EQUAL if k < 150 else slope * (k - 149))
    assert known.trusted == 149 + math.ceil(TRUSTED / slope) - 1
    assert known.least_suspicious(100, 199) == 149


def test_a_late_state_is_older_than_the_estimates_before_it():
    known = history(10)
    known.add(50 * MS, 50 * MS, ZERO, ZERO, ZERO, ZERO, 0.0, 0.0, measured=False)
    known.add(10 * MS, 51 * MS, ZERO, ZERO, ZERO, ZERO, 0.0, 0.0)
    assert (known.last, known.time(11), known.arrival(11)) == (11, 10 * MS, 51 * MS)
    assert known.arrived_before(11, 10 * MS) == 9


@pytest.mark.parametrize(("age", "number"), [(0.0, 99), (0.0105, 88), (1.0, 0)])
def test_states_are_found_by_age(age, number):
    assert history(100).before(99, age) == number

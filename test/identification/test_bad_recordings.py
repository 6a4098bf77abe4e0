# SPDX-License-Identifier: Apache-2.0
"""Errors name the mistakes in recordings that other test files do not cover.

test_identification_warnings.py has opposite signs, units, saturation and friction,
test_plausible.py has degrees, and test_recordings.py has other robots and time that goes back.
"""

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing, wrong
from support.refusals import refused

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification import identify, validate
from rbdyn_ros.identification.data.motion import Motion
from rbdyn_ros.identification.data.plausible import plausible
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import to_motion


@pytest.fixture(scope="module")
def truth():
    return load("ur5_robot.urdf")


def samples_of(m, rate, seed=1, **changes):
    """Return Samples of 20 s at a rate [Hz]; `changes` replace columns."""
    count = round(20.0 * rate) + 1
    motion = recorded(m, rubbing(m), seed, samples=count, size=0.5)
    rows = {"qpos": motion.qpos, "qvel": motion.qvel, "effort": motion.effort} | changes
    return Samples(motion.names, motion.time, **rows)


def test_an_effort_that_does_not_change_is_refused(truth):
    given = samples_of(truth, 100.0)
    effort = given.effort.copy()
    effort[:, 3] = 2.5
    with refused(ParameterError, "no-efforts") as caught:
        plausible(truth, samples_of(truth, 100.0, effort=effort))
    assert "joint 'wrist_1_joint' moves, but its effort is constant" in str(caught.value)


def test_a_joint_that_never_moves_keeps_its_friction(truth):
    motion = recorded(truth, rubbing(truth), seed=1, samples=500)
    rows = {kind: getattr(motion, kind).copy() for kind in ("qpos", "qvel", "qacc")}
    for row in rows.values():
        row[:, 4] = 0.0
    still = Motion(motion.names, motion.time, **rows, effort=np.zeros_like(motion.effort))
    effort = validate(truth, rubbing(truth), still).predicted
    found = identify(wrong(truth), Motion(motion.names, motion.time, **rows, effort=effort))
    assert "joints moved too little, so their friction is kept: wrist_2_joint" in found.warnings
    assert found.grave == ()
    assert np.isnan(found.friction_std[:2, 4]).all()


def test_a_gap_of_three_seconds_is_refused_with_its_times(truth):
    given = samples_of(truth, 100.0)
    kept = (given.time < 5.0) | (given.time > 8.0)
    rows = (getattr(given, kind)[kept] for kind in ("time", "qpos", "qvel", "effort"))
    with refused(ParameterError, "gap") as caught:
        to_motion(Samples(given.names, *rows))
    assert "has no samples from 4.990 to 8.0" in str(caught.value)
    assert "cut the recording there, or record again" in str(caught.value)


def test_results_from_two_recordings_of_different_rates_predict_each_other(truth):
    fast, slow = (to_motion(samples_of(truth, rate, s)) for rate, s in ((500.0, 1), (97.0, 2)))
    found = identify(wrong(truth), fast)
    before, after = (
        validate(m, friction, slow)
        for m, friction in ((found.prior, rubbing(truth)), (found.m, found.friction))
    )
    assert (after.rms < 0.01 * slow.effort.std(axis=0) + 0.02).all()
    assert (after.rms < 0.3 * before.rms).all()
    # exchange the roles of the two recordings
    back = identify(wrong(truth), slow)
    assert (
        validate(back.m, back.friction, fast).rms < 0.02 * fast.effort.std(axis=0) + 0.02
    ).all()

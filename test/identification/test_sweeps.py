# SPDX-License-Identifier: Apache-2.0
"""Sweeps move up and down at constant speeds within the limits, and rest at both ends."""

import numpy as np
import pytest
from identification.driven_arm import URDF
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.csv_files import read_table
from rbdyn_ros.identification.excitation.sweeps import sweeps


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(URDF)


def test_sweeps_have_their_speeds_in_both_directions(arm):
    motion = sweeps(arm, speeds=5, duration=50.0, rate=100.0, reach=(0.5, 0.7, 0.9))
    assert motion.duration == pytest.approx(50.0)
    assert motion.speeds == pytest.approx(np.geomspace(1.0, 0.01, 5)[:, None] * np.ones(3))
    assert (motion.speeds[0] == 0.5 * arm.jnt_velocity).all()
    for part, speeds in zip(np.split(motion.qvel[:-1], 5), motion.speeds, strict=True):
        for column, speed in zip(part.T, speeds, strict=True):
            for side in (1.0, -1.0):
                steady = np.isclose(column, side * speed, rtol=1e-9).mean()
                # ramps take 2 x 0.1 of the time of each half of a sweep
                assert steady > 0.25, speed
    assert (np.abs(motion.qpos) <= np.array([0.5, 0.7, 0.9]) + 1e-9).all()
    # the acceleration is zero, too, so an approach to the start can end at rest
    for rows in (motion.qpos, motion.qvel, motion.qacc):
        assert rows[[0, -1]] == pytest.approx(np.zeros((2, 3)), abs=1e-9)


def test_position_velocity_and_acceleration_belong_together(arm):
    motion = sweeps(arm, duration=20.0, rate=1000.0)
    h = motion.time[1]
    largest = np.abs(motion.qacc).max()
    for rows, rates in ((motion.qpos, motion.qvel), (motion.qvel, motion.qacc)):
        between = 0.5 * (rates[1:] + rates[:-1])
        assert np.diff(rows, axis=0) / h == pytest.approx(between, abs=0.02 * largest)
    assert largest < 20.0


def test_sweeps_keep_the_limits_and_hold_other_joints(arm, tmp_path):
    motion = sweeps(arm, ["elbow"], acceleration_limits=1.0, centre=(0.0, 0.3, 0.1))
    assert np.abs(motion.qacc).max() <= 1.0 + 1e-9
    assert motion.held == {"yaw": 0.0, "shoulder": 0.3}
    motion.write(tmp_path / "m.csv")
    names, time, columns = read_table(tmp_path / "m.csv", ("position", "velocity"))
    assert names == ("elbow", "yaw", "shoulder")
    assert len(time) == len(motion.time)
    assert columns[0][7, 1:].tolist() == [0.0, 0.3]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"speeds": 1}, "bad-argument"),
        ({"slowest": 0.0}, "bad-argument"),
        ({"duration": np.nan}, "bad-argument"),
        ({"rate": 0.1}, "bad-argument"),
        ({"velocity_share": 1.0, "reach": 0.1, "effort_share": 0.01}, "no-effort"),
    ],
)
def test_impossible_sweeps_are_refused(arm, words, code):
    with refused(ParameterError, code):
        sweeps(arm, **words)

# SPDX-License-Identifier: Apache-2.0
"""Implausible recordings are refused, and angles that jump by whole turns are unwrapped."""

from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused, worded

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.plausible import (
    at_rest,
    plausible,
    stamp_warnings,
    unknown_places,
)
from rbdyn_ros.identification.data.samples import Samples

LINK = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>"""
KINDS = {"turn": "continuous", "arm": "revolute", "slide": "prismatic"}


@pytest.fixture(scope="module")
def robot():
    parts, parent = ['<link name="base"/>'], "base"
    for name, kind in KINDS.items():
        parts += [LINK.format(f"{name}_link"), JOINT.format(name, kind, parent)]
        parent = f"{name}_link"
    return rb.load_urdf(f'<robot name="r">{"".join(parts)}</robot>')


def samples(**changed):
    """Return 10 s of Samples: sines about 3, 0.3 and 0.1, with up to 2.1 rad/s."""
    t = 0.004 * np.arange(2501)
    q = np.sin(2.1 * t)[:, None] * np.array([1.0, 0.9, 0.3]) + np.array([3.0, 0.3, 0.1])
    return replace(Samples(tuple(KINDS), t, q, None, 10.0 * np.cos(q)), **changed)


def refusal(m, *args):
    with pytest.raises(ParameterError) as caught:
        plausible(m, *args)
    error = caught.value
    worded(error.code, error.findings[0].message)
    return error.code


def wrapped(angle):
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def test_a_good_recording_is_not_changed(robot):
    given = samples()
    assert np.array_equal(plausible(robot, given).qpos, given.qpos)


def test_angles_without_limits_are_unwrapped(robot):
    given = samples()
    jumping = given.qpos.copy()
    jumping[:, 0] = wrapped(jumping[:, 0])
    assert np.abs(np.diff(jumping[:, 0])).max() > 6.0
    found = plausible(robot, replace(given, qpos=jumping)).qpos
    # unwrapping begins at the first value, so all values may be off by the same whole turns
    turns = (found - given.qpos) / (2.0 * np.pi)
    assert turns == pytest.approx(np.broadcast_to(np.round(turns[0]), turns.shape), abs=1e-12)
    assert not turns[:, 1:].any()


@pytest.mark.parametrize("joint", [1, 2])
def test_joints_with_limits_must_not_jump(robot, joint):
    given = samples()
    jumping = given.qpos.copy()
    jumping[1000:, joint] += 0.7
    assert refusal(robot, replace(given, qpos=jumping)) == "position-jumps"


def test_lost_samples_do_not_count_as_a_jump(robot):
    kept = np.r_[0:500, 520:2501]  # the gap is 0.08 s; joints move at up to 2 rad/s
    given = samples()
    fewer = replace(given, time=given.time[kept], qpos=given.qpos[kept], effort=given.effort[kept])
    plausible(robot, fewer)


def test_positions_in_degrees_are_noticed(robot):
    given = samples()
    degrees = replace(given, qpos=np.rad2deg(given.qpos))
    assert refusal(robot, degrees) == "far-outside"
    # without position limits, the joints are too fast
    endless = robot.replaced(jnt_limited=np.zeros_like(robot.jnt_limited))
    assert refusal(endless, degrees) == "too-fast"


def test_positions_of_an_uncalibrated_arm_may_exceed_the_limits_a_little(robot):
    given = samples()
    plausible(robot, replace(given, qpos=given.qpos + np.array([0.0, 1.1, 0.0])))


def test_noise_is_not_mistaken_for_speed(robot):
    # noise of 2 mrad at 250 Hz is 0.7 rad/s from sample to sample, but not over 0.1 s
    given, rng = samples(), np.random.default_rng(0)
    plausible(robot, replace(given, qpos=given.qpos + rng.normal(0.0, 2e-3, given.qpos.shape)))


def test_missing_efforts_are_refused(robot):
    given = samples()
    for factor in (0.0, 1e-300):
        assert refusal(robot, replace(given, effort=factor * given.effort)) == "no-efforts"
    some = given.effort.copy()
    some[:, 1] = 0.0
    assert refusal(robot, replace(given, effort=some)) == "no-efforts"
    still = given.qpos.copy()
    still[:, 1] = 0.3
    plausible(robot, replace(given, effort=some, qpos=still))


def test_other_joints_have_the_median_of_their_positions_and_must_not_move(robot):
    few = samples(others={"slide": np.full(30, 0.25), "turn": np.tile([3.1415, -3.1416], 15)})
    few = replace(few, names=("arm",), qpos=few.qpos[:, [1]], effort=few.effort[:, [1]])
    found = at_rest(robot, few)
    assert found[1:].tolist() == [0.0, 0.25]
    assert abs(found[0]) == pytest.approx(np.pi, abs=1e-3)  # the mean of the numbers would be 0
    assert unknown_places(robot, few) == []
    assert unknown_places(robot, replace(few, others={})) == ["turn", "slide"]
    moving = replace(few, others={"slide": np.linspace(0.0, 0.1, 30)})
    with refused(ParameterError, "moving-joint"):
        at_rest(robot, moving)
    odd = np.full(1000, 0.25)
    odd[7] = 0.9
    assert at_rest(robot, replace(few, others={"slide": odd}))[2] == 0.25


def test_irregular_stamps_cause_a_warning():
    t, rng = samples().time, np.random.default_rng(0)
    assert stamp_warnings(samples()) == []
    assert stamp_warnings(samples(time=np.delete(t, np.r_[100:110, 300, 500:520]))) == []
    late = np.sort(t + rng.exponential(0.003, t.shape))
    (warning,) = stamp_warnings(samples(time=late))
    assert "stamps" in warning

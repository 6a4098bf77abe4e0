# SPDX-License-Identifier: Apache-2.0
"""Warnings name wrong units, wrong signs, saturated drives and missing friction."""

import numpy as np
import pytest
from moved_arms import recorded, rubbing, wrong
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.motion import Motion
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.payload import identify_payload
from rbdyn_ros.identification.equations.warnings import why_no_patch

LOAD = 2.0, (0.02, -0.03, 0.08), (0.01, 0.012, 0.008, 0.001, 0.0, -0.0005)


@pytest.fixture(scope="module")
def truth():
    return rb.load_urdf(robots.find("ur5_robot.urdf"))


@pytest.fixture(scope="module")
def good(truth):
    return recorded(truth, rubbing(truth), seed=1, noise=0.05, samples=500)


def changed(motion, **fields):
    names = ("names", "time", "qpos", "qvel", "qacc", "effort")
    return Motion(**{name: getattr(motion, name) for name in names} | fields)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
def test_results_of_good_motions_may_patch_a_urdf(truth, noise):
    motion = recorded(truth, rubbing(truth), seed=1, noise=noise, samples=500)
    assert why_no_patch(identify(wrong(truth), motion)) == ""


def assert_refused(found, *messages):
    why = why_no_patch(found)
    for text in messages:
        assert text in why
    # each reason is also among the warnings
    assert all(text in found.warnings for text in found.grave)
    assert why == "; ".join(found.grave)


def test_efforts_of_the_wrong_sign_prevent_a_patch(truth, good):
    found = identify(wrong(truth), changed(good, effort=-good.effort))
    assert_refused(found, "'shoulder_lift_joint' (correlation -0.9", "opposite sign")


def test_the_reason_names_the_joint_whose_effort_has_a_wrong_sign(truth, good):
    effort = good.effort.copy()
    effort[:, 2] *= -1.0
    assert_refused(identify(wrong(truth), changed(good, effort=effort)), "'elbow_joint' (corr")


def test_a_wrong_sign_of_one_encoder_prevents_a_patch(truth, good):
    rows = {kind: getattr(good, kind).copy() for kind in ("qpos", "qvel", "qacc")}
    for row in rows.values():
        row[:, 1] *= -1.0
    assert_refused(identify(truth, changed(good, **rows)), "percent of the largest efforts")


def test_efforts_in_other_units_prevent_a_patch(truth, good):
    found = identify(wrong(truth), changed(good, effort=1e-3 * good.effort))
    assert_refused(found, "a multiple of the efforts predicted", "elbow_joint", "mN m")
    with refused(ParameterError, "too-few-samples", "shoulder_lift_joint"):
        identify(wrong(truth), changed(good, effort=1e3 * good.effort))


def test_positions_in_degrees_are_noticed(truth, good):
    k = 180.0 / np.pi
    motion = changed(good, qpos=k * good.qpos, qvel=k * good.qvel, qacc=k * good.qacc)
    found = identify(wrong(truth), motion)
    assert_refused(found, "percent of the largest efforts unexplained")


def test_unmarked_saturation_prevents_a_patch(truth, good):
    most = 0.4 * np.abs(good.effort).max(axis=0)
    found = identify(wrong(truth), changed(good, effort=np.clip(good.effort, -most, most)))
    assert_refused(found, "percent of the largest efforts unexplained")


def test_mostly_saturated_joints_prevent_a_patch(truth, good):
    kept = np.ones(good.qpos.shape, bool)
    kept[:300, 2] = False
    found = identify(wrong(truth), changed(good, kept=kept))
    assert_refused(found, "saturated in most samples of 'elbow_joint' 60%")
    messages = " | ".join(found.warnings)
    assert "300 of 500 samples of 'elbow_joint'" in messages
    assert np.isnan(found.friction_std[:2, 2]).all()
    assert found.friction.coulomb[2] == truth.dof_frictionloss[2]
    assert not np.isnan(found.friction_std[:2, [0, 1, 3, 4, 5]]).any()
    kept[150:] = True
    found = identify(wrong(truth), changed(good, kept=kept))
    assert why_no_patch(found) == ""
    assert not np.isnan(found.friction_std[:2]).any()


def test_missing_friction_prevents_a_patch(truth, good):
    found = identify(wrong(truth), good, friction=Friction.of(6))
    assert_refused(found, "residuals follow the velocity", "'wrist_2_joint'")
    known = identify(wrong(truth), good, friction=rubbing(truth))
    assert why_no_patch(known) == ""


def test_efforts_without_friction_prevent_a_patch(truth):
    plain = recorded(truth, Friction.of(6), seed=1, samples=500)
    assert_refused(identify(truth, plain), "no joint has friction")


def test_a_motion_at_rest_prevents_a_patch(truth, good):
    still = good.qpos.copy()
    still[:] = still[0]
    nothing = np.zeros_like(still)
    motion = changed(good, qpos=still, qvel=nothing, qacc=nothing)
    found = identify(truth, motion)
    assert_refused(found, "the motion is too poor")


def test_a_urdf_is_not_patched_if_it_would_predict_efforts_worse_than_before(truth, good):
    rotors = np.linspace(3.0, 6.0, 6)
    offset = np.array([0.0, 90.0, 60.0, 0.0, 0.0, 0.0])
    heavy = truth.replaced(dof_armature=rotors)
    motion = recorded(heavy, rubbing(truth), seed=1, offset=offset, samples=500)
    # without rotors and offsets, the right masses predict less than wrong masses that compensate
    # for rotors and offsets
    compensating = identify(truth, motion).m.replaced(dof_armature=np.zeros(6))
    found = identify(compensating, motion, armature=True, offset=True)
    assert_refused(found, "without rotors, offsets and Stribeck friction")
    assert found.held is not None
    assert found.held.rms.max() > found.before.rms.max() > 1e3 * found.after.rms.max()
    assert identify(truth, good).held is None


def test_one_fast_sample_is_not_enough_motion(truth, good):
    v = np.full(good.qvel.shape, 1e-4)
    v[7, 3] = 1.0
    qvel = good.qvel.copy()
    qvel[:, 3] = v[:, 3]
    messages = " | ".join(identify(truth, changed(good, qvel=qvel)).warnings)
    assert "their friction is kept: wrist_1_joint" in messages


def test_efforts_of_zero_are_refused(truth, good):
    for effort in (0.0 * good.effort, 1e-300 * good.effort):
        with refused(rb.ParameterError, "no-efforts", "motion"):
            identify(truth, changed(good, effort=effort))
        with refused(rb.ParameterError, "no-efforts", "motion"):
            identify_payload(truth, changed(good, effort=effort), "tool0")


def test_a_well_identified_payload_has_no_warnings(truth):
    loaded = rb.with_payload(truth, "tool0", *LOAD)
    found = identify_payload(truth, recorded(loaded, rubbing(truth), 3, noise=0.05), "tool0")
    assert found.warnings == ()
    assert found.condition < 10.0
    assert (np.abs(found.com - LOAD[1]) < 4.0 * found.com_std).all()
    assert found.com_std.max() < 0.005


def test_a_payload_of_a_small_motion_causes_warnings(truth):
    loaded = rb.with_payload(truth, "tool0", *LOAD)
    motion = recorded(loaded, rubbing(truth), 3, samples=300, size=0.002)
    noise = 0.3 * np.random.default_rng(0).normal(size=motion.effort.shape)
    found = identify_payload(truth, changed(motion, effort=motion.effort + noise), "tool0")
    messages = " | ".join(found.warnings)
    assert "moved too little" in messages
    assert "hardly determines the centre of mass and the inertia" in messages


def test_a_missing_payload_causes_a_warning(truth, good):
    found = identify_payload(truth, good, "tool0")
    assert "the efforts show no payload" in " | ".join(found.warnings)


def test_a_payload_from_wrong_or_saturated_efforts_causes_warnings(truth):
    loaded = rb.with_payload(truth, "tool0", *LOAD)
    motion = recorded(loaded, rubbing(truth), 3, noise=0.05, samples=300)
    flipped = identify_payload(truth, changed(motion, effort=-motion.effort), "tool0")
    assert "percent of the largest efforts unexplained" in " | ".join(flipped.warnings)
    kept = np.ones(motion.qpos.shape, bool)
    kept[:200, 1] = False
    half = identify_payload(truth, changed(motion, kept=kept), "tool0")
    assert "saturated in most samples of 'shoulder_lift_joint' 67%" in " | ".join(half.warnings)
    unknown = identify_payload(truth, motion, "tool0", friction=Friction.of(6))
    assert "residuals follow the velocity" in " | ".join(unknown.warnings)

# SPDX-License-Identifier: Apache-2.0
"""Real recordings have repeated rows, delays and unmodelled terms; results have uncertainties."""

from dataclasses import replace

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing, sines, wrong
from scipy.interpolate import CubicSpline

import rbdyn_ros as rb
from rbdyn_ros.identification import identify, report_text, validate
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import without_repeats
from rbdyn_ros.identification.equations.delay import without_delay
from rbdyn_ros.identification.equations.regressor import torque_regressor
from rbdyn_ros.identification.equations.residuals import linearised, tilted


def polled(stopped):
    """Return Samples with one row in 50 inserted (`stopped`) or replaced by the row before."""
    t, q, v, _ = sines(3, seed=1, samples=601)
    rows = np.arange(601)
    again = rows[rows % 50 == 49]
    late = (
        np.insert(rows, again + 1, again) if stopped else np.where(rows % 50 == 49, rows - 1, rows)
    )
    rng = np.random.default_rng(0)
    effort = rng.normal(size=q.shape)
    return t, Samples(("a", "b", "c"), t[1] * np.arange(len(late)), q[late], v[late], effort[late])


@pytest.mark.parametrize("stopped", [True, False])
def test_rows_that_a_recorder_wrote_twice_are_left_out(stopped):
    t, given = polled(stopped)
    found, note = without_repeats(given)
    assert "repeat the previous one" in note
    assert ("stands still" in note) == stopped
    rows = t if stopped else t[np.arange(601) % 50 != 49]
    np.testing.assert_allclose(found.time, rows, atol=1e-9)


def test_samples_without_repeats_are_not_changed():
    _, given = polled(True)
    once, _ = without_repeats(given)
    assert without_repeats(once) == (once, "")
    still = replace(once, qpos=0.0 * once.qpos, effort=0.0 * once.effort)
    assert without_repeats(still) == (still, "")


@pytest.mark.parametrize("late", [0.0, 0.02, -0.015])
def test_late_efforts_are_moved_back(late):
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, samples=1000)
    rng = np.random.default_rng(2)
    effort = CubicSpline(motion.time, motion.effort)(motion.time - late)
    effort += 0.01 * effort.std(axis=0) * rng.normal(size=effort.shape)
    found, delay, note = without_delay(truth, replace(motion, effort=effort))
    if late == 0.0:
        assert note == ""
        return
    assert delay == pytest.approx(late, abs=1e-3)
    assert ("after" if late > 0.0 else "before") in note
    inner = slice(50, -50)
    error = (found.effort - motion.effort)[inner].std(axis=0)
    assert (error < 0.05 * motion.effort.std(axis=0)).all()
    assert not found.kept.all()


def test_the_delay_of_a_long_motion_comes_from_some_of_its_samples(monkeypatch):
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, samples=5000)
    effort = CubicSpline(motion.time, motion.effort)(motion.time - 0.02)
    counts = []

    def counted(m, qpos, qvel, qacc):
        counts.append(len(qpos))
        return torque_regressor(m, qpos, qvel, qacc)

    monkeypatch.setattr("rbdyn_ros.identification.equations.delay.torque_regressor", counted)
    found, delay, _ = without_delay(truth, replace(motion, effort=effort))
    assert counts == [2000]
    assert delay == pytest.approx(0.02, abs=1e-3)
    assert len(found.time) == 5000


def test_a_term_for_rotors_is_kept_only_if_the_robot_has_rotors():
    truth = load("ur5_robot.urdf")
    rotors, offset = np.linspace(1.0, 3.0, 6), np.zeros(6)
    plain = recorded(truth, rubbing(truth), seed=1, noise=0.05, samples=600)
    turned = truth.replaced(dof_armature=rotors)
    geared = recorded(turned, rubbing(truth), seed=1, noise=0.05, samples=600, offset=offset)
    kept = [
        {term.kind: term.kept for term in identify(truth, motion, armature=None).terms}
        for motion in (plain, geared)
    ]
    assert kept == [{"armature": False}, {"armature": True}]


def leaning(seed):
    """Return a Model, a motion with friction by load and a tilted base, shares and tilt."""
    described = load("ur5_robot.urdf")
    shares, tilt = np.linspace(0.05, 0.12, 6), np.array([0.03, -0.02])
    real = tilted(described, tilt)
    motion = recorded(real, rubbing(described), seed, noise=0.03, samples=800, by_load=shares)
    return described, motion, shares, tilt


def test_terms_of_load_dependent_friction_and_tilt_are_kept():
    described, motion, shares, tilt = leaning(seed=1)
    found = identify(described, motion, load=None, tilt=None)
    assert {term.kind: term.kept for term in found.terms} == {"load": True, "tilt": True}
    np.testing.assert_allclose(found.tilt, tilt, atol=2e-3)
    # a UR5's wrist carries so little load that noise hides this friction
    np.testing.assert_allclose(found.by_load[:3], shares[:3], atol=0.01)
    assert found.m.opt.gravity[1] == pytest.approx(9.81 * tilt[0], abs=0.02)
    plain = identify(described, recorded(described, rubbing(described), 1, 0.03), load=None)
    assert [term.kept for term in plain.terms] == [False]


def test_load_dependent_friction_predicts_another_motion():
    described, motion, shares, tilt = leaning(seed=1)
    real = tilted(described, tilt)
    other = recorded(real, rubbing(described), 5, samples=300, by_load=shares)
    found = identify(described, motion, load=True, tilt=True)
    without = identify(described, motion)
    after = validate(found.m, found.friction, other, by_load=found.by_load)
    before = validate(without.m, without.friction, other)
    assert (after.rms < 0.02 * other.effort.std(axis=0)).all()
    assert (after.rms[:3] < 0.3 * before.rms[:3]).all()
    plain = found.black_box.validate(other)
    assert (plain.rms < 0.05 * other.effort.std(axis=0)).all()


def test_efforts_are_linear_in_the_direction_of_gravity():
    m = load("seven_dof_arm")
    motion = recorded(m, rubbing(m), seed=2, samples=50)
    none = rubbing(m).scaled(0.0)
    columns, angles = linearised(m, motion), np.array([0.1, -0.2])
    turned = validate(tilted(m, angles), none, motion).predicted
    np.testing.assert_allclose(columns.effort + columns.tilt @ angles, turned, atol=1e-11)


def test_masses_stay_near_the_description_when_efforts_determine_them_poorly():
    truth = load("panda.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, noise=0.3, samples=400, size=0.3)
    found = identify(wrong(truth), motion)
    ratio = found.m.body_mass[1:] / found.prior.body_mass[1:]
    assert (ratio > 0.5).all()
    assert (ratio < 2.0).all()


#: Seeds, and whether joints have Stribeck friction; these cases take longer.
CASES = [
    *((seed, False) for seed in range(20)),
    *(pytest.param(seed, True, marks=pytest.mark.nightly) for seed in range(6)),
]


@pytest.mark.parametrize(("seed", "sticky"), CASES)
def test_standard_deviations_match_the_real_errors(seed, sticky):
    # the prior is wrong, efforts have noise, drives have rotors, offsets and load-dependent
    # friction, and the base is tilted
    truth = load("seven_dof_arm")
    rng = np.random.default_rng(seed)
    rotors, offset = rng.uniform(0.05, 0.3, truth.nv), rng.normal(0.0, 0.3, truth.nv)
    rub = {"offset": offset, "by_load": rng.uniform(0.02, 0.1, truth.nv)}
    real = tilted(truth.replaced(dof_armature=rotors), rng.normal(0.0, 0.02, 2))
    friction, kinds = rubbing(truth, seed), ["viscous", "coulomb"]
    if sticky:
        more = rng.uniform(0.2, 0.8, truth.nv) * friction.coulomb
        friction, kinds = replace(friction, stribeck=more), [*kinds, "stribeck"]
    motion = recorded(real, friction, seed, noise=0.05, samples=500, **rub)
    terms = {"armature": True, "offset": True, "load": True, "tilt": True, "stribeck": sticky}
    found = identify(wrong(truth), motion, **terms)
    errors = [found.base_values - found.base.combination @ rb.inertial_parameters(truth)]
    errors += [getattr(found.friction, kind) - getattr(friction, kind) for kind in kinds]
    std = np.concatenate([found.base_std, *found.friction_std[: len(kinds)]])
    inside = np.abs(np.concatenate(errors)) <= 3.0 * std
    assert inside.mean() >= 0.95
    # the model also predicts the efforts of another motion
    other = recorded(real, friction, seed + 100, samples=200, **rub)
    rest = validate(found.m, found.friction, other, found.offset, by_load=found.by_load)
    assert (rest.rms < 0.05 * other.effort.std(axis=0)).all()


def test_the_report_shows_which_masses_come_from_the_description():
    # gravity is along the axis of the first joint, so the first body's mass has no effect
    truth = load("ur5_robot.urdf")
    found = identify(wrong(truth), recorded(truth, rubbing(truth), seed=1, noise=0.02))
    assert found.prior_share[0] > 0.99
    assert found.mass_std[0] == pytest.approx(0.2 * found.prior.body_mass[1], rel=0.1)
    weak = identify(wrong(truth), recorded(truth, rubbing(truth), 1, 0.3, samples=200, size=0.2))
    assert (weak.prior_share[1:3] > 1.2 * found.prior_share[1:3]).all()
    assert (np.abs(found.m.body_mass - truth.body_mass)[1:] < 3.0 * found.mass_std).all()
    bodies = report_text(found).split("links that are fixed")[1].splitlines()
    assert "100%" in bodies[2]

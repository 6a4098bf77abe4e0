# SPDX-License-Identifier: Apache-2.0
"""Recordings with the imperfections of real ones: repeated rows, other terms, honest doubts."""

from dataclasses import replace

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing, sines, wrong
from scipy.interpolate import CubicSpline

import rbdyn_ros as rb
from rbdyn_ros.identification import identify, validate
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import without_repeats
from rbdyn_ros.identification.equations.delay import without_delay
from rbdyn_ros.identification.equations.regressor import torque_regressor


def polled(stopped):
    """Return samples at 30 Hz, every fiftieth row written twice; whether the clock goes on."""
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


def test_held_out_parts_decide_about_terms():
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


def test_masses_stay_near_the_description_where_efforts_say_little():
    truth = load("panda.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, noise=0.3, samples=400, size=0.3)
    found = identify(wrong(truth), motion)
    ratio = found.m.body_mass[1:] / found.prior.body_mass[1:]
    assert (ratio > 0.5).all()
    assert (ratio < 2.0).all()


@pytest.mark.parametrize("seed", range(20))
def test_standard_deviations_are_honest(seed):
    # prior and truth differ, efforts have noise, and drives have rotors, offsets and friction
    truth = load("seven_dof_arm")
    rng = np.random.default_rng(seed)
    rotors, offset = rng.uniform(0.05, 0.3, truth.nv), rng.normal(0.0, 0.3, truth.nv)
    real = truth.replaced(dof_armature=rotors)
    friction = rubbing(truth, seed)
    motion = recorded(real, friction, seed, noise=0.05, samples=500, offset=offset)
    found = identify(wrong(truth), motion, armature=True, offset=True)
    errors = [found.base_values - found.base.combination @ rb.inertial_parameters(truth)]
    errors += [
        found.friction.viscous - friction.viscous,
        found.friction.coulomb - friction.coulomb,
    ]
    std = np.concatenate([found.base_std, *found.friction_std[:2]])
    inside = np.abs(np.concatenate(errors)) <= 3.0 * std
    assert inside.mean() >= 0.95
    # and the efforts are right
    other = recorded(real, friction, seed + 100, samples=200, offset=offset)
    rest = validate(found.m, found.friction, other, found.offset)
    assert (rest.rms < 0.05 * other.effort.std(axis=0)).all()

# SPDX-License-Identifier: Apache-2.0
"""Drive gains [N m/A] are identified from currents, although the masses of the arm are unknown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing
from support.commands import run
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification import DriveGains, gains_dict, identify_gains
from rbdyn_ros.identification.actuators import gains as gains_module
from rbdyn_ros.identification.data.csv_files import write_csv
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.equations.inertia import with_parameters
from rbdyn_ros.identification.equations.solve import MASS_SPREAD

UR5, SEVEN = "ur5_robot.urdf", "seven_dof_arm"
LINK = {UR5: "tool0", SEVEN: "tool_flange"}
LOAD = 3.0


def currents(file, seed, samples=500, link=None):
    """Return a Model, true gains, and motions with currents, without and with a load.

    The masses of the real arm differ at random from the Model, as much as the prior assumes.
    """
    described, rng = load(file), np.random.default_rng(1000 + seed)
    factors = np.exp(MASS_SPREAD * rng.normal(size=(described.nbody - 1, 1)))
    real = with_parameters(described, factors * rb.inertial_parameters(described).reshape(-1, 10))
    gains = 10.0 * np.exp(0.5 * rng.normal(size=described.nv))
    inertia = (0.01, 0.01, 0.01, 0.0, 0.0, 0.0)
    loaded = rb.with_payload(real, link or LINK[file], LOAD, (0.0, 0.02, 0.08), inertia)
    motions = (
        recorded(m, rubbing(described, seed), seed + more, noise=0.02, samples=samples)
        for m, more in ((real, 0), (loaded, 500))
    )
    one, two = (replace(motion, effort=motion.effort / gains) for motion in motions)
    return described, gains, one, two


@pytest.mark.parametrize("seed", range(20))
def test_gains_are_within_three_standard_deviations(seed):
    m, gains, motion, loaded = currents(UR5, seed)
    alone = identify_gains(m, motion)
    weighed = identify_gains(m, motion, loaded=loaded, link=LINK[UR5], mass=LOAD)
    for found, most in ((alone, 0.15), (weighed, 0.02)):
        errors = np.log(found.gains / gains)
        print("errors", errors, "deviations", found.std)
        assert (np.abs(errors) < 3.0 * found.std).all()
        assert (found.std < most).all()
        # the motion alone determines the ratios of gains; the wrist carries the least load
        apart = np.abs(errors - np.median(errors))
        assert (apart < (0.04, 0.04, 0.04, 0.05, 0.05, 0.15)).all()
        assert (found.ratio_std < 0.08).all()
        assert found.why_no_patch == ""
    assert "common factor" in alone.messages[0]
    assert weighed.messages == ()


@pytest.mark.parametrize("wrong", [0.25, 4.0])
def test_a_grossly_wrong_mass_of_the_load_causes_a_warning(wrong):
    m, _, motion, loaded = currents(UR5, 0)
    found = identify_gains(m, motion, loaded=loaded, link=LINK[UR5], mass=wrong * LOAD)
    assert "the weighed load makes the gains" in found.why_no_patch


@pytest.mark.parametrize("seed", range(2))
def test_a_gain_that_is_not_separable_prevents_a_patch(seed):
    """The last joint turns its link about the link's own axis, so gravity does not load it."""
    m, gains, motion, loaded = currents(SEVEN, seed)
    found = identify_gains(m, motion)
    assert (np.abs(np.log(found.gains / gains)) < 3.0 * found.std).all()
    assert "gain of joint 'wrist_roll' is not separable" in found.why_no_patch
    assert len(found.messages) == 2
    both = identify_gains(m, motion, loaded=loaded, link=LINK[SEVEN], mass=LOAD)
    np.testing.assert_allclose(both.gains, gains, rtol=0.03)
    assert both.messages == ()


def test_a_load_that_no_joint_lifts_determines_no_gain():
    """The load is on a link that only turns about the vertical axis of the first joint."""
    m, gains, motion, loaded = currents(UR5, 1, link="shoulder_link")
    found = identify_gains(m, motion, loaded=loaded, link="shoulder_link", mass=LOAD)
    assert (np.abs(np.log(found.gains / gains)) < 3.0 * found.std).all()
    assert "weighed load does not determine the gains of" in found.messages[0]
    assert found.why_no_patch == ""


def test_the_gains_of_joints_are_found_by_name():
    _, _, motion, _ = currents(UR5, 0, samples=20)
    found = DriveGains(motion.names, np.arange(1.0, 7.0), np.zeros((6, 6)))
    turned = slice(None, None, -1)
    rows = {k: getattr(motion, k)[:, turned] for k in ("qpos", "qvel", "qacc", "effort")}
    efforts = found.efforts(replace(motion, names=motion.names[turned], **rows)).effort
    np.testing.assert_array_equal(efforts[:, turned], motion.effort * np.arange(1.0, 7.0))
    fewer = DriveGains(motion.names[:5], np.ones(5), np.zeros((5, 5)))
    with refused(ParameterError, "no-gain", "wrist_3_joint"):
        fewer.efforts(motion)


def test_no_urdf_is_patched_with_gains_that_have_not_converged(monkeypatch):
    m, _, motion, _ = currents(UR5, 0)
    monkeypatch.setattr(gains_module, "MOST_STEPS", 1)
    assert "have not settled" in identify_gains(m, motion).why_no_patch


def test_a_tenth_of_all_currents_gives_ten_times_the_gains():
    m, _, motion, _ = currents(UR5, 0)
    one = identify_gains(m, motion)
    other = identify_gains(m, replace(motion, effort=0.1 * motion.effort))
    np.testing.assert_allclose(other.gains, 10.0 * one.gains, rtol=1e-3)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=0.02, atol=1e-6)
    efforts = one.efforts(motion).effort
    np.testing.assert_allclose(efforts, motion.effort * one.gains)
    assert gains_dict(one)["gains"] == one.gains.tolist()


def test_impossible_currents_are_refused():
    m, _, motion, loaded = currents(UR5, 0)
    turned = motion.effort.copy()
    turned[:, 1] *= -1.0
    with refused(ParameterError, "current-sign", "shoulder_lift_joint"):
        identify_gains(m, replace(motion, effort=turned))
    noise = np.random.default_rng(0).normal(size=motion.effort.shape)
    with refused(ParameterError, "no-gain"):
        identify_gains(m, replace(motion, effort=noise))
    silent = motion.effort.copy()
    silent[:, 5] = 0.0
    with refused(ParameterError, "no-efforts", "wrist_3_joint"):
        identify_gains(m, replace(motion, effort=silent))
    with refused(ParameterError, "no-efforts"):
        identify_gains(m, replace(motion, effort=1e-200 * motion.effort))
    for mass in (None, 0.0, -1.0, np.nan):
        with refused(ParameterError, "bad-argument"):
            identify_gains(m, motion, loaded=loaded, link="tool0", mass=mass)
    part = slice(0, 5)
    rows = {k: getattr(loaded, k)[:, part] for k in ("qpos", "qvel", "qacc", "effort")}
    with refused(ParameterError, "payload"):
        fewer = replace(loaded, names=loaded.names[part], **rows)
        identify_gains(m, motion, loaded=fewer, link="tool0", mass=LOAD)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return two CSV files of currents, without and with a load, and the true gains."""
    folder = tmp_path_factory.mktemp("gains")
    _, gains, *motions = currents(UR5, 3, samples=2000)
    paths = [folder / "without.csv", folder / "with.csv"]
    for path, x in zip(paths, motions, strict=True):
        write_csv(path, Samples(x.names, x.time, x.qpos, x.qvel, x.effort))
    return *paths, gains


def test_the_command_finds_gains_and_then_uses_torques(files, tmp_path):
    without, loaded, gains = files
    urdf, out = find(UR5), tmp_path / "identified.urdf"
    result = run("identify", urdf, without, "--current", "--patch", out)
    assert result.returncode == 0, result.stderr
    assert "drive gains, identified from currents" in result.stdout
    assert "drive_gains: [" in result.stdout
    assert "common factor of all gains" in result.stdout
    assert rb.load_urdf(out).body_mass.sum() > 0.0
    words = ("--current", "--payload", "tool0", "--payload-run", loaded, "--payload-mass", LOAD)
    result = run("identify", urdf, without, *words, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    np.testing.assert_allclose(report["drive_gains"]["gains"], gains, rtol=0.05)
    assert report["mass"] == pytest.approx(LOAD, rel=0.05)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--payload", "tool0"), "--payload-run and --payload-mass"),
        (("--payload", "tool0", "--payload-run", "b.csv"), "--payload-mass"),
        (("--drive-gains", "1", "2"), "leave one out"),
        (("--payload-mass", "3"), "needs --current and --payload-run"),
        (
            ("--payload", "a", "--payload-run", "b.csv", "--payload-mass", "-1"),
            "allowed is a number above 0",
        ),
    ],
)
def test_incomplete_or_contradicting_options_for_currents_are_refused(words, named):
    result = run("identify", "no.urdf", "no.csv", "--current", *words)
    assert result.returncode == 2
    assert named in result.stderr

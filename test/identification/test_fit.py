# SPDX-License-Identifier: Apache-2.0
"""Exact data give exact base parameters; results from noisy data predict other motions well."""

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing, sines, wrong
from scipy.signal import butter, sosfiltfilt
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.motion import Motion, dof_names
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.inertia import pseudo_inertia
from rbdyn_ros.identification.equations.payload import identify_payload
from rbdyn_ros.identification.equations.residuals import memory, validate

ROBOTS = ["ur5_robot.urdf", "panda.urdf", "seven_dof_arm"]


def base_error(found, truth):
    expected = found.base.combination @ rb.inertial_parameters(truth)
    return np.abs(found.base_values - expected).max() / np.abs(expected).max()


def assert_bodies_are_possible(m):
    J = pseudo_inertia(rb.inertial_parameters(m).reshape(-1, 10))
    assert (np.linalg.eigvalsh(J) > 0.0).all()
    # moments of inertia are positive, and the largest is below the sum of the others
    moments = np.sort(m.body_inertia[1:], axis=1)
    assert (m.body_mass[1:] > 0.0).all()
    assert (moments[:, 0] > 0.0).all()
    assert (moments[:, 0] + moments[:, 1] > moments[:, 2]).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_exact_data_give_exact_base_parameters(name):
    truth = load(name)
    friction = rubbing(truth)
    found = identify(wrong(truth), recorded(truth, friction, seed=1))
    assert base_error(found, truth) < 1e-8
    np.testing.assert_allclose(found.friction.viscous, friction.viscous, rtol=1e-8)
    np.testing.assert_allclose(found.friction.coulomb, friction.coulomb, rtol=1e-8)
    assert_bodies_are_possible(found.m)
    assert found.after.share_of_peak.max() < 1e-8 < 0.01 < found.before.share_of_peak.max()


@pytest.mark.parametrize("name", ROBOTS)
def test_results_from_noisy_data_predict_another_motion_to_2_percent(name, capsys):
    truth = load(name)
    friction = rubbing(truth)
    prior = wrong(truth)
    found = identify(prior, recorded(truth, friction, seed=1, noise=0.05))
    other = recorded(truth, friction, seed=2)
    before = validate(prior, Friction.of_model(prior), other)
    after = validate(found.m, found.friction, other)
    with capsys.disabled():
        worst = f"{np.nanmax(before.share):.2%} -> {np.nanmax(after.share):.3%}"
        print(f"\n{name}: RMS on another motion, of full scale: {worst}")
    assert (after.share < 0.02).all()
    assert (after.rms < 0.2 * before.rms).all()
    assert_bodies_are_possible(found.m)


@pytest.mark.parametrize("name", ROBOTS)
def test_identification_corrects_gravity_of_a_wrong_model(name, capsys):
    truth = load(name)
    found = identify(wrong(truth), recorded(truth, rubbing(truth), seed=1, noise=0.05))

    def efforts(m):
        d = rb.make_data(m)
        rng, rows = np.random.default_rng(4), []
        for _ in range(50):
            d.qpos[:] = rng.uniform(-2.0, 2.0, m.nq)
            rows.append(rb.gravity_term(m, d))
        return np.array(rows)

    right = efforts(truth)
    errors = [np.abs(efforts(m) - right).max() for m in (found.prior, found.m)]
    with capsys.disabled():
        print(f"\n{name}: largest error of g(q): {errors[0]:.3g} -> {errors[1]:.3g} N m")
    assert errors[1] < 0.1 * errors[0]


def test_the_result_hardly_depends_on_the_strength_of_the_prior():
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, noise=0.05)
    other = recorded(truth, rubbing(truth), seed=2)
    efforts = [
        validate(found.m, found.friction, other).predicted
        for found in (identify(wrong(truth), motion, strength=s) for s in (1e-4, 1e-2, 1.0))
    ]
    scale = truth.jnt_effort[truth.dof_jntid]
    for one in efforts[1:]:
        assert (np.sqrt(np.mean((one - efforts[0]) ** 2, axis=0)) < 2e-3 * scale).all()


def test_bodies_stay_physically_possible_even_if_the_efforts_contradict():
    # these are the efforts of impossible inertias, which plain least squares would find
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, Friction.of(6), seed=1)
    flipped = Motion(
        motion.names, motion.time, motion.qpos, motion.qvel, motion.qacc, -motion.effort
    )
    found = identify(truth, flipped)
    assert_bodies_are_possible(found.m)
    assert (found.friction.viscous >= 0.0).all()
    assert (found.friction.coulomb >= 0.0).all()


def test_friction_stays_positive_even_if_the_efforts_contradict():
    truth = load("seven_dof_arm")
    plain = recorded(truth, Friction.of(truth.nv), seed=1)
    pushed = plain.effort - 0.5 * plain.qvel
    motion = Motion(plain.names, plain.time, plain.qpos, plain.qvel, plain.qacc, pushed)
    found = identify(truth, motion)
    assert (found.friction.viscous >= 0.0).all()
    assert (found.friction.viscous < 0.05).all()


def test_rotor_inertias_and_offsets_of_efforts_are_found():
    truth = load("ur5_robot.urdf")
    rotors, offset = np.linspace(0.1, 0.6, 6), np.linspace(-2.0, 3.0, 6)
    truth = truth.replaced(dof_armature=rotors)
    prior = truth.replaced(dof_armature=np.zeros(6))
    motion = recorded(truth, rubbing(truth), seed=1, offset=offset)
    found = identify(prior, motion, armature=True, offset=True)
    np.testing.assert_allclose(found.offset, offset, atol=1e-6)
    # the first two joints have a vertical and a level axis, so only the sum of the inertias of
    # link and rotor is identifiable
    np.testing.assert_allclose(found.m.dof_armature[2:], rotors[2:], rtol=1e-6)
    assert found.after.share_of_peak.max() < 1e-8
    known = identify(truth, motion, offset=True)
    np.testing.assert_allclose(known.m.dof_armature, rotors)
    assert base_error(known, truth) < 1e-8


def test_known_friction_is_kept():
    truth = load("seven_dof_arm")
    friction = rubbing(truth)
    found = identify(wrong(truth), recorded(truth, friction, seed=1), friction=friction)
    np.testing.assert_array_equal(found.friction.viscous, friction.viscous)
    assert np.isnan(found.friction_std).all()
    assert base_error(found, truth) < 1e-8


def test_standard_deviations_agree_with_many_recordings():
    truth = load("ur5_robot.urdf")
    friction, clean = rubbing(truth), recorded(truth, rubbing(truth), seed=1, samples=300)
    rng, values, messages = np.random.default_rng(0), [], None
    for _ in range(10):
        effort = clean.effort + rng.normal(size=clean.effort.shape)
        found = identify(
            truth,
            Motion(clean.names, clean.time, clean.qpos, clean.qvel, clean.qacc, effort),
            friction=friction,
            strength=1e-4,
        )
        values.append(found.base_values)
        messages = found.base_std
    # the standard deviation of 10 recordings is itself uncertain by 24 %, and the constraint to
    # possible bodies makes some spreads narrower
    ratio = np.std(values, axis=0) / messages
    assert 0.5 < np.median(ratio) < 1.4
    assert ratio.max() < 2.2


def test_joints_that_are_not_in_the_motion_rest():
    truth = load("panda.urdf")
    motion = recorded(truth, rubbing(truth), seed=1)
    arm = slice(0, 7)
    finger = dof_names(truth)[7]
    q = motion.qpos.copy()
    q[:, 7] = truth.qpos0[7]
    rows = np.zeros_like(q)
    rows[:, arm] = motion.qvel[:, arm]
    rows2 = np.zeros_like(q)
    rows2[:, arm] = motion.qacc[:, arm]
    still = Motion(motion.names, motion.time, q, rows, rows2, np.zeros_like(q))
    effort = validate(truth, Friction.of(truth.nv), still).predicted
    part = Motion(
        motion.names[:7], motion.time, q[:, arm], rows[:, arm], rows2[:, arm], effort[:, arm]
    )
    found = identify(wrong(truth), part)
    assert base_error(found, truth) < 1e-8
    assert any(finger in text and "not in the motion" in text for text in found.warnings)


def test_joints_that_are_not_in_the_motion_rest_at_the_given_positions():
    truth = load("ur5_robot.urdf")
    t, q, v, a = sines(6, seed=1, samples=600)
    rest = np.linspace(0.5, -1.0, 6)
    q[:, 3:], v[:, 3:], a[:, 3:] = rest[3:], 0.0, 0.0
    whole = Motion(dof_names(truth), t, q, v, a, np.zeros_like(q))
    effort = validate(truth, rubbing(truth), whole).predicted
    part = Motion(whole.names[:3], t, q[:, :3], v[:, :3], a[:, :3], effort[:, :3])
    found = identify(wrong(truth), part, rest=rest)
    assert base_error(found, truth) < 1e-8
    assert found.after.share_of_peak.max() < 1e-8
    assert "are assumed to rest: wrist_1_joint at -0.4, " in found.warnings[0]
    checked = validate(found.m, found.friction, part, rest=rest)
    assert checked.share_of_peak.max() < 1e-8
    elsewhere = validate(found.m, found.friction, part)
    assert elsewhere.share_of_peak.max() > 1e-3
    loaded = rb.with_payload(truth, "tool0", 2.0, (0.0, 0.02, 0.1), (0.01,) * 3 + (0.0,) * 3)
    effort = validate(loaded, rubbing(truth), part, rest=rest).predicted
    part = Motion(part.names, t, part.qpos, part.qvel, part.qacc, effort)
    found = identify_payload(truth, part, "tool0", rest=rest)
    assert found.mass == pytest.approx(2.0, abs=1e-6)


def test_friction_is_not_biased_by_the_filter_of_the_efforts():
    # a filter of 2 Hz and downsampling from 100 to 10 Hz smooth the steps of Coulomb friction
    truth = load("ur5_robot.urdf")
    friction = Friction.of(6, viscous=0.5, coulomb=1.0)
    fast = recorded(truth, friction, seed=1, samples=2001)
    low_pass = butter(4, 2.0, output="sos", fs=100.0)

    def thin(rows):
        return sosfiltfilt(low_pass, rows, axis=0)[100:-100:10]

    # only dry friction is filtered: the efforts of bodies are not linear in the motion
    dry = friction.coulomb * np.tanh(fast.qvel / friction.smoothing)
    rows = [x[100:-100:10] for x in (fast.qpos, fast.qvel, fast.qacc, fast.effort - dry)]
    rows[3] = rows[3] + thin(dry)
    time = fast.time[100:-100:10]
    thinned = Motion(fast.names, time, *rows, fast_qvel=fast.qvel, thin=thin)
    found = identify(wrong(truth), thinned)
    np.testing.assert_allclose(found.friction.coulomb, 1.0, rtol=1e-7)
    np.testing.assert_allclose(found.friction.viscous, 0.5, rtol=1e-7)
    assert found.after.share_of_peak.max() < 1e-7
    assert validate(truth, friction, thinned).share_of_peak.max() < 1e-12
    # known friction is also filtered before it is subtracted
    known = identify(wrong(truth), thinned, friction=friction)
    assert base_error(known, truth) < 1e-7
    biased = identify(wrong(truth), Motion(fast.names, time, *rows))
    assert np.abs(biased.friction.coulomb - 1.0).max() > 0.02


def test_samples_that_the_motion_does_not_keep_are_ignored():
    truth = load("seven_dof_arm")
    friction, rng = rubbing(truth), np.random.default_rng(0)
    motion = recorded(truth, friction, seed=1, samples=600)
    kept = rng.random(motion.qpos.shape) > 0.2
    spoilt = np.where(kept, motion.effort, 0.3 * motion.effort)
    rows = (motion.names, motion.time, motion.qpos, motion.qvel, motion.qacc, spoilt)
    found = identify(wrong(truth), Motion(*rows, kept=kept))
    assert base_error(found, truth) < 1e-8
    assert found.after.rms.max() < 1e-8
    assert base_error(identify(wrong(truth), Motion(*rows)), truth) > 1e-3


def test_a_joint_without_samples_has_no_residuals():
    truth = load("seven_dof_arm")
    motion = recorded(truth, rubbing(truth), seed=1, samples=50)
    kept = np.ones(motion.qpos.shape, bool)
    kept[:, 2] = False
    rows = (motion.names, motion.time, motion.qpos, motion.qvel, motion.qacc, motion.effort)
    rms = validate(truth, Friction.of(truth.nv), Motion(*rows, kept=kept)).rms
    assert np.isnan(rms).tolist() == [k == 2 for k in range(truth.nv)]


def test_weaknesses_of_a_recording_cause_warnings():
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, rubbing(truth), seed=1, noise=0.05)
    q, v, a, effort = (x.copy() for x in (motion.qpos, motion.qvel, motion.qacc, motion.effort))
    v[:, 5] = a[:, 5] = 0.0
    effort[:20, 1] = 150.0
    found = identify(truth, Motion(motion.names, motion.time, q, v, a, effort))
    messages = " | ".join(found.warnings)
    assert "wrist_3_joint" in messages
    assert "20 of 1500 samples of 'shoulder_lift_joint'" in messages
    assert found.friction.viscous[5] == truth.dof_damping[5]


def test_efforts_at_rest_determine_only_some_base_parameters():
    truth = load("ur5_robot.urdf")
    motion = recorded(truth, Friction.of(6), seed=1, samples=400)
    still = np.zeros_like(motion.qpos)
    effort = validate(
        truth, Friction.of(6), Motion(motion.names, motion.time, motion.qpos, still, still, still)
    ).predicted
    found = identify(
        wrong(truth), Motion(motion.names, motion.time, motion.qpos, still, still, effort)
    )
    assert found.after.rms.max() < 1e-6 * np.abs(effort).max()
    assert "stay near the prior" in " ".join(found.warnings)
    assert np.isinf(found.base_std).any()


def test_an_impossible_prior_causes_a_warning_and_is_corrected():
    truth = load("seven_dof_arm")
    from rbdyn_ros.identification.equations.inertia import with_parameters

    x = rb.inertial_parameters(truth).reshape(-1, 10).copy()
    x[-1, 4:] *= 1e-6  # almost a point mass beside the axis of its joint

    found = identify(with_parameters(truth, x), recorded(truth, rubbing(truth), seed=1))
    assert truth.body_names[-1] in " ".join(found.warnings)
    assert_bodies_are_possible(found.m)
    assert base_error(found, truth) < 1e-6


def test_the_fit_reports_its_progress():
    truth, messages = load("seven_dof_arm"), []
    identify(truth, recorded(truth, rubbing(truth), seed=1, samples=200), progress=messages.append)
    assert messages[0] == "200 samples of 7 joints"
    assert messages[1].startswith("iteration 1: ")


@pytest.mark.parametrize(
    "options",
    [
        {"strength": 0.0},
        {"strength": float("nan")},
        {"smoothing": -1.0},
        {"friction": Friction.of(3)},
    ],
)
def test_invalid_options_are_refused(options):
    truth = load("seven_dof_arm")
    motion = recorded(truth, rubbing(truth), seed=1, samples=50)
    with refused(rb.ParameterError, "bad-argument"):
        identify(truth, motion, **options)


def test_a_motion_with_all_efforts_at_their_limits_is_refused():
    truth = load("seven_dof_arm")
    motion = recorded(truth, rubbing(truth), seed=1, samples=50)
    high = np.full_like(motion.effort, 1e4)
    motion = Motion(motion.names, motion.time, motion.qpos, motion.qvel, motion.qacc, high)
    with refused(rb.ParameterError, "too-few-samples"):
        identify(truth, motion)


def test_a_motion_refuses_speeds_beyond_1e50():
    truth = load("seven_dof_arm")
    motion = recorded(truth, rubbing(truth), seed=1, samples=50)
    fast = np.full_like(motion.qvel, 1e200)
    with refused(rb.ParameterError, "bad-motion", "motion"):
        Motion(motion.names, motion.time, motion.qpos, fast, motion.qacc, motion.effort)


def test_the_correlation_length_of_noise_is_found():
    rng = np.random.default_rng(0)
    white = rng.normal(size=(20000, 1))
    smooth = np.convolve(white[:, 0], np.ones(10) / 10, "same")[:, None]
    assert memory(white)[0] == pytest.approx(1.0, abs=0.1)
    assert memory(smooth)[0] == pytest.approx(10.0, rel=0.25)
    assert memory(np.zeros((100, 1)))[0] == 1.0

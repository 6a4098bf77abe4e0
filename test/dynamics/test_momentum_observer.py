# SPDX-License-Identifier: Apache-2.0
"""A MomentumObserver estimates pushes and weights from the motion."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

GAIN, PERIOD = 50.0, 1e-3
POSE = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.9, 0.1])


@pytest.fixture(scope="module")
def arm():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    m.opt.timestep = PERIOD
    m.opt.passive = False  # this removes friction
    return m


def run(simulated, known, ticks, force=None):
    """Hold the arm `simulated` and observe it with the Model `known`; return observer and Data."""
    d, observer = rb.make_data(simulated), rb.MomentumObserver(known, GAIN)
    d.qpos[:] = POSE
    last = simulated.nbody - 1
    for _ in range(ticks):
        gravity = rb.gravity_term(simulated, d)
        inertia = np.diag(rb.mass_matrix(simulated, d))
        effort = gravity + inertia * (400.0 * (POSE - d.qpos) - 40.0 * d.qvel)
        d.qfrc_applied[:] = effort
        d.xfrc_applied[last, :3] = 0.0 if force is None else force
        rb.step(simulated, d)
        observer.update(d.qpos, d.qvel, effort, PERIOD)
    return observer, d


def test_an_arm_without_a_push_has_no_external_efforts(arm):
    observer, _ = run(arm, arm, 600)
    assert observer.residual == pytest.approx(np.zeros(arm.nv), abs=0.02)


def test_a_push_is_estimated_to_two_percent(arm):
    force = np.array([6.0, -4.0, 3.0])
    observer, d = run(arm, arm, 600, force)
    last = arm.nbody - 1
    other = rb.make_data(arm)
    other.qpos[:] = d.qpos
    other.xfrc_applied[last, :3] = force
    rb.inverse_with_xfrc(arm, other)
    pushed = other.qfrc_inverse.copy()
    other.xfrc_applied[:] = 0.0
    rb.inverse_with_xfrc(arm, other)
    exact = other.qfrc_inverse - pushed
    assert np.linalg.norm(exact) > 1.0
    gap = observer.residual - exact
    assert np.linalg.norm(gap) < 0.02 * np.linalg.norm(exact)


def test_an_unknown_weight_is_estimated_as_a_wrench_on_the_tool(arm):
    frame = arm.frame_names[-1]
    heavy = rb.with_payload(arm, frame, 0.5, (0.0, 0.0, 0.0))
    d, observer = rb.make_data(heavy), rb.MomentumObserver(arm, GAIN)
    d.qpos[:] = POSE
    for _ in range(400):  # these are 20 time constants
        observer.update(POSE, np.zeros(arm.nv), rb.gravity_term(heavy, d), PERIOD)
    wrench = observer.wrench(frame)
    assert wrench[3:] == pytest.approx([0.0, 0.0, -0.5 * 9.81], abs=0.02 * 0.5 * 9.81)


def test_a_wrench_can_be_estimated_from_the_joints_with_correct_efforts(arm):
    frame, d, observer = arm.frame_names[-1], rb.make_data(arm), rb.MomentumObserver(arm, GAIN)
    d.qpos[:] = POSE
    pushed = np.array([0.1, 0.2, -0.3, 4.0, -2.0, 5.0])
    effort = rb.gravity_term(arm, d) - rb.frame_jacobian(arm, d, frame, "local").T @ pushed
    effort[0] = 50.0  # this joint's measured effort is wrong
    for _ in range(400):
        observer.update(POSE, np.zeros(arm.nv), effort, PERIOD)
    known = observer.wrench(frame, "local", range(1, arm.nv))
    assert known == pytest.approx(pushed, abs=0.02)
    assert observer.wrench(frame, "local") != pytest.approx(pushed, abs=0.5)


def test_the_residual_follows_with_its_time_constant(arm):
    d, observer = rb.make_data(arm), rb.MomentumObserver(arm, GAIN)
    d.qpos[:] = POSE
    held = rb.gravity_term(arm, d)
    push = np.eye(arm.nv)[0]
    for _ in range(1 + round(1.0 / GAIN / PERIOD)):
        observer.update(POSE, np.zeros(arm.nv), held - push, PERIOD)
    assert observer.residual[0] == pytest.approx(1.0 - np.exp(-1.0), rel=1e-9)
    observer.reset()
    assert not observer.residual.any()


@pytest.mark.parametrize("gain", [0.0, -1.0, np.nan, np.inf])
def test_a_gain_must_be_positive(arm, gain):
    with refused(rb.ParameterError, "bad-argument"):
        rb.MomentumObserver(arm, gain)


def test_another_payload_does_not_change_the_estimate_at_once(arm):
    heavy = rb.with_payload(arm, arm.frame_names[-1], 1.0, (0.0, 0.0, 0.1))
    d, qvel = rb.make_data(heavy), np.full(arm.nv, 0.5)
    observer = rb.MomentumObserver(arm, GAIN)
    observer.update(POSE, qvel, np.zeros(arm.nv), PERIOD)
    observer.change(heavy)
    d.qpos[:], d.qvel[:] = POSE, qvel
    still = rb.gravity_term(heavy, d) - rb.coriolis_matrix(heavy, d).T @ qvel
    assert observer.update(POSE, qvel, still, PERIOD) == pytest.approx(np.zeros(arm.nv), abs=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"period": 0.0},
        {"period": -1.0},
        {"period": np.nan},
        {"qpos": np.full(7, np.nan)},
        {"qvel": np.full(7, np.inf)},
        {"qvel": np.zeros(6)},
        {"effort": np.full(7, np.nan)},
        {"effort": 0.0},
    ],
)
def test_a_wrong_measurement_is_refused_and_changes_nothing(arm, wrong):
    good = {"qpos": POSE, "qvel": np.zeros(7), "effort": np.zeros(7), "period": PERIOD}
    observer, other = rb.MomentumObserver(arm, GAIN), rb.MomentumObserver(arm, GAIN)
    for each in (observer, other):
        each.update(**good)
    with refused(rb.ParameterError, "bad-argument"):
        observer.update(**good | wrong)
    assert (observer.update(**good) == other.update(**good)).all()

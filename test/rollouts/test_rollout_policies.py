# SPDX-License-Identifier: Apache-2.0
"""Policies in a rollout agree with loops of rb.step with the laws of control or with formulas."""

import numpy as np
import pytest
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import looped, robot, starts

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws.joint_laws import ComputedTorque, PDGravity
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy, PDGravityPolicy, PDPolicy
from rbdyn_ros.rollouts.rollout import rollout

NBATCH, NSTEP = 4, 10
BOTH = pytest.mark.parametrize("specialize", [True, False])

#: Tolerance as a share of the largest entry, because gains multiply rounding errors of a state.
TOLERANCE = 1e-11


def close(found, expected, names=("qpos", "qvel", "qfrc_applied")):
    for name in names:
        within = TOLERANCE * max(1.0, np.abs(expected[name]).max())
        np.testing.assert_allclose(
            getattr(found, name), expected[name], rtol=0.0, atol=within, err_msg=name
        )


def wanted(m, seed=3):
    """Return random references (NBATCH, NSTEP, nq + 2 nv)."""
    rng = np.random.default_rng(seed)
    qpos = np.array([[rb.random_qpos(m, rng) for _ in range(NSTEP)] for _ in range(NBATCH)])
    return np.concatenate([qpos, rng.normal(size=(NBATCH, NSTEP, 2 * m.nv))], axis=2)


def rolled(m, policy, reference, specialize, **more):
    qpos, qvel = starts(m, NBATCH)
    return rollout(m, qpos, qvel, reference, nstep=NSTEP, policy=policy, specialize=specialize,
                   outputs=("qpos", "qvel", "qfrc_applied"), **more)  # fmt: skip


@needs_robots
@BOTH
@pytest.mark.parametrize(
    ("policy", "law", "gains"),
    [
        (PDGravityPolicy, PDGravity, (40.0, np.arange(1.0, 7.0))),
        (ComputedTorquePolicy, ComputedTorque, (np.arange(50.0, 110.0, 10.0), 18.0)),
    ],
)
def test_policies_give_the_forces_of_the_control_laws(policy, law, gains, specialize):
    m = robot("arm")
    reference = wanted(m)[:, :, : 3 * m.nv if law is ComputedTorque else 2 * m.nv]
    arm = Arm(m, gravity=m.opt.gravity)
    control, target = law(arm, *gains), Target(m.nv)

    def forces(k, n, d):
        target.rows[:] = 0.0
        row = reference[k, n].reshape(-1, m.nv)
        target.rows[: len(row)] = row
        return control(d.qpos.copy(), d.qvel.copy(), target)

    qpos, qvel = starts(m, NBATCH)
    expected = looped([m] * NBATCH, qpos, qvel, NSTEP, forces)
    close(rolled(m, policy(*gains), reference, specialize), expected)


@needs_robots
@BOTH
def test_a_pd_policy_drives_only_actuated_joints_of_a_floating_robot(specialize):
    m = robot("floating base")
    reference = wanted(m)[:, :, : m.nq + m.nv]
    stiffness = np.random.default_rng(7).uniform(0.0, 3.0, (NBATCH, m.nv))

    def forces(k, n, d):
        e = np.zeros(m.nv)
        rb.differentiate_pos(m, e, 1.0, d.qpos.copy(), reference[k, n, : m.nq].copy())
        pd = stiffness[k] * e + 0.1 * (reference[k, n, m.nq :] - d.qvel)
        return np.where(np.arange(m.nv) < 6, 0.0, pd)

    qpos, qvel = starts(m, NBATCH)
    expected = looped([m] * NBATCH, qpos, qvel, NSTEP, forces)
    close(rolled(m, PDPolicy(stiffness, 0.1), reference, specialize), expected)


@needs_robots
@BOTH
def test_velocities_and_accelerations_that_a_reference_lacks_are_zero(specialize):
    m = robot("arm")
    reference = wanted(m)
    reference[:, :, 6:] = 0.0
    policy = ComputedTorquePolicy(30.0, 9.0)
    full = rolled(m, policy, reference, specialize)
    for width in (6, 12):
        found = rolled(m, policy, reference[:, :, :width], specialize)
        close(found, full.outputs)


@needs_robots
@BOTH
def test_forces_of_a_pd_policy_with_a_limit_are_clamped(specialize):
    m = robot("arm")
    free = rolled(m, PDPolicy(5000.0, 1.0), wanted(m)[:, :, :6], specialize).qfrc_applied
    held = rolled(m, PDPolicy(5000.0, 1.0, limit=True), wanted(m)[:, :, :6], specialize)
    assert (np.abs(free[:, 0]) > m.jnt_effort).any()
    expected = np.clip(free[:, 0], -m.jnt_effort, m.jnt_effort)
    np.testing.assert_allclose(held.qfrc_applied[:, 0], expected, rtol=1e-12)
    assert (np.abs(held.qfrc_applied) <= m.jnt_effort).all()


@needs_robots
@BOTH
def test_a_law_uses_the_model_and_not_the_parameters_of_robots(specialize):
    m = robot("arm")
    reference = wanted(m)[:, :, :6]
    rng = np.random.default_rng(8)
    mass = m.body_mass * rng.uniform(1.0, 2.0, (NBATCH, 1))
    policy = PDGravityPolicy(20.0, 2.0)
    found = rolled(m, policy, reference, specialize, params={"body_mass": mass})
    plain = rolled(m, policy, reference, specialize)
    forces = plain.qfrc_applied[:, 0]
    # rounding differs, because the law shares operations with another step
    scale = 1e-12 * np.abs(forces).max()
    np.testing.assert_allclose(found.qfrc_applied[:, 0], forces, rtol=0.0, atol=scale)
    assert np.abs(found.qvel - plain.qvel).max() > 1e-4


@needs_robots
@BOTH
def test_computed_torque_in_a_rollout_does_not_compensate_friction(specialize):
    """In `control`, a separate feedforward compensates friction."""
    m = robot("arm")
    rough = m.replaced(dof_frictionloss=np.full(6, 3.0), dof_damping=np.full(6, 2.0))
    forces = [
        rolled(each, ComputedTorquePolicy(30.0, 9.0), wanted(m)[:, :, :6], specialize).qfrc_applied
        for each in (m, rough)
    ]
    np.testing.assert_array_equal(forces[0][:, 0], forces[1][:, 0])


@needs_robots
@BOTH
def test_a_function_of_the_user_is_a_policy(specialize):
    m = robot("coupled fingers")
    reference = np.random.default_rng(9).normal(size=(NBATCH, NSTEP, 3))

    def law(t, qpos, qvel, reference):
        forces = np.tanh(3.0 * (reference[0] - qpos)) - 0.3 * np.abs(qvel) * qvel
        forces[2] = forces[2] + reference[2] * np.sin(20.0 * t)
        return forces

    def forces(k, n, d):
        return law(d.time, d.qpos, d.qvel, reference[k, n])

    qpos, qvel = starts(m, NBATCH)
    expected = looped([m] * NBATCH, qpos, qvel, NSTEP, forces)
    close(rolled(m, law, reference, specialize), expected)


@needs_robots
@BOTH
def test_a_users_function_may_branch_and_ignore_inputs(specialize):
    m = robot("arm")

    def law(t, qpos, qvel, reference):
        forces = np.zeros(6, object)
        forces[1] = 5.0 if qpos[0] > reference[1] else -7.0 * qvel[0]
        return forces

    _, qvel = starts(m, NBATCH)
    rows = np.zeros((NBATCH, 1, 40))
    rows[:, 0, 1] = np.where([True, False, True, False], 10.0, -10.0)
    found = rolled(m, law, rows, specialize)
    np.testing.assert_array_equal(found.qfrc_applied[1::2, :, 1], 5.0)
    np.testing.assert_allclose(found.qfrc_applied[::2, 0, 1], -7.0 * qvel[::2, 0], rtol=1e-15)


@needs_robots
@BOTH
def test_a_users_function_is_traced_at_every_call(specialize):
    """Variables of the function may have changed between two calls."""
    m, gain = robot("arm"), [1.0]

    def law(_, qpos, qvel, reference):
        return gain[0] * qvel

    first = rolled(m, law, np.zeros(1), specialize)
    gain[0] = 2.0
    second = rolled(m, law, np.zeros(1), specialize)
    np.testing.assert_allclose(
        second.qfrc_applied[:, 0], 2.0 * first.qfrc_applied[:, 0], rtol=1e-15
    )


@needs_robots
@BOTH
def test_a_users_function_with_memory_is_refused(specialize):
    """In the trace the object would store a symbol instead of a number."""

    class Filter:
        def __init__(self):
            self.before = None

        def __call__(self, _t, qpos, qvel, _reference):
            before = qpos if self.before is None else self.before
            self.before = qpos
            return -20.0 * (qpos - before) - qvel

    with refused(rb.ParameterError, "policy", "policy"):
        rolled(robot("arm"), Filter(), np.zeros(1), specialize)


@needs_robots
@BOTH
def test_a_random_function_is_refused(specialize):
    rng = np.random.default_rng(1)

    def noisy(t, qpos, qvel, reference):
        return -qvel + rng.normal(size=len(qvel))

    with refused(rb.ParameterError, "policy", "policy"):
        rolled(robot("arm"), noisy, np.zeros(1), specialize)


@needs_robots
@BOTH
def test_a_users_function_that_fails_is_refused(specialize):
    def law(t, qpos, qvel, reference):
        return qpos * reference[3]

    with refused(rb.ParameterError, "policy", "policy"):
        rolled(robot("arm"), law, np.zeros(1), specialize)


@needs_robots
@BOTH
def test_attributes_of_a_users_policy_take_effect(specialize):
    class Offset(PDPolicy):
        def __init__(self, offset):
            super().__init__(5.0, 1.0)
            self.offset = offset

        def forces(self, m, d, reference, gains):
            return super().forces(m, d, reference, gains) + self.offset

    m = robot("arm")
    reference = np.zeros(m.nq)
    without, twice = (rolled(m, Offset(x), reference, specialize) for x in (0.0, 2.0))
    assert np.allclose(twice.qfrc_applied[:, 0] - without.qfrc_applied[:, 0], 2.0)


@needs_robots
def test_a_law_can_control_a_robot_with_contact():
    """The robot runs on the generic engine; its law ignores contact and is traced."""
    system = (
        rb.SystemBuilder("slider", base="world")
        .body("cart", rb.Inertial(2.0, rb.Pose(), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0)))
        .joint("rail", "prismatic", "world", "cart", axis=(0.0, 0.0, 1.0))
        .geometry("skin", "cart", rb.Sphere(0.1))
        .obstacle("floor", rb.Plane())
    )
    m = rb.build(system.description())
    policy = PDGravityPolicy(400.0, 60.0)
    found = rollout(m, [0.5], [0.0], [0.3], nstep=3000, every=3000, policy=policy,
                    specialize=False)  # fmt: skip
    assert found.qpos[0, 0, 0] == pytest.approx(0.3, abs=1e-3)

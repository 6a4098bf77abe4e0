# SPDX-License-Identifier: Apache-2.0
"""Specialised code, lanes, C and GPU code compute actuators like the engine."""

from dataclasses import replace

import numpy as np
import pytest
from support.c_code import Library, code_of
from support.c_compilers import needs_gcc
from support.refusals import refused
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.actuators import read_actuators
from rbdyn_ros.codegen.samples import samples
from rbdyn_ros.errors import ModelError

NAMES = ("qpos", "qvel", "act", "actuator_force")


@pytest.fixture(scope="module")
def m():
    """Return an arm whose actuators use all features of an actuators file."""
    arm = rb.load_urdf("config/robots/seven_dof_arm.urdf")
    shoulder, elbow, wrist = read_actuators("config/actuators.yaml", arm)
    wrist = replace(wrist, cogging=(0.01, 7.0, 0.3), motorconst_error=0.1)
    return smoothly(rb.with_actuators(arm, [replace(shoulder, voltage=8.0), elbow, wrist]))


@pytest.fixture(scope="module")
def s(m):
    return rb.specialize(m)


def commands(m, count):
    """Yield efforts for `count` timesteps; they change every twentieth and reach all limits."""
    rng = np.random.default_rng(0)
    for k in range(count):
        if k % 20 == 0:
            effort = rng.normal(0, 40, m.nv)
        yield effort


def test_a_specialised_step_computes_actuators_like_the_engine(m, s):
    d, e = rb.make_data(m), rb.make_data(m)
    for effort in commands(m, 400):
        d.qfrc_applied = e.qfrc_applied = effort
        rb.step(m, d)
        s.step(e)
    assert d.act[m.actuator_actadr[0] + 1] > 0.01  # the motor has become warm
    for name in NAMES:
        expected = getattr(d, name)
        np.testing.assert_allclose(
            getattr(e, name), expected, rtol=0, atol=1e-10 * abs(expected).max()
        )
    e.qpos, e.qvel, e.act, e.qacc = d.qpos, d.qvel, d.act, np.ones(m.nv)
    d.qacc = 1.0
    rb.inverse(m, d)
    s.inverse(e)
    np.testing.assert_allclose(e.qfrc_inverse, d.qfrc_inverse, rtol=1e-11)
    rb.forward_dynamics(m, d)
    s.forward_dynamics(e)
    np.testing.assert_allclose(e.qacc, d.qacc, rtol=1e-10)


def test_a_batch_and_a_rollout_give_the_bits_of_a_single_robot(m, s):
    d, b, effort = rb.make_data(m), rb.Batch(m, 9), next(commands(m, 1))
    assert b.specialized
    rng = np.random.default_rng(1)
    b.qfrc_applied, b.ctrl = effort, effort[m.actuator_dofid] * rng.uniform(0, 1, (9, m.nu))
    b.ctrl[4] = effort[m.actuator_dofid]
    d.qfrc_applied = effort
    s.step(d, 30)
    b.step(nstep=10)
    b.step(nstep=20)
    for name in ("qpos", "qvel", "act"):
        assert getattr(b, name)[4].tobytes() == getattr(d, name).tobytes()
    b.reset([4])
    assert not b.act[4].any()
    found = rb.rollout(m, np.tile(m.qpos0, (9, 1)), d.qvel * 0.0, effort, nstep=30, every=30)
    assert {row.tobytes() for row in found.qpos[:, 0]} == {d.qpos.tobytes()}


def test_laws_of_a_rollout_ignore_the_actuators(m):
    given = {"nstep": 50, "every": 50, "policy": rb.ComputedTorquePolicy(100.0, 10.0)}
    target = m.qpos0 + 0.3
    one, other = (
        rb.rollout(m, m.qpos0, np.zeros(m.nv), target, specialize=each, **given)
        for each in (True, False)
    )
    assert abs(one.qvel).max() > 0.05
    np.testing.assert_allclose(one.qpos, other.qpos, rtol=0, atol=1e-11)


def test_a_batch_with_an_expanded_actuator_field_is_not_specialised(m):
    b = rb.Batch(m, 2)
    b.expand("dof_damping")
    b.step()
    assert b.specialized
    b.expand("actuator_error")
    b.step()
    assert not b.specialized
    b = rb.Batch(m, 2, specialize=True)
    with refused(ModelError, "not-traceable"):
        b.expand("actuator_error")
    b.step()  # the Batch is unchanged
    params = {"actuator_error": {"wrist_roll": 0.1}}
    with refused(ModelError, "not-traceable"):
        rb.rollout(m, m.qpos0, np.zeros(m.nv), nstep=1, params=params)


@pytest.mark.parametrize("nsim", [5, 1000])
def test_results_of_a_gpu_and_a_cpu_are_equal_to_the_last_bit(m, nsim, gpu):
    b, g = rb.Batch(m, nsim), rb.Batch(m, nsim, device="cuda")
    rng = np.random.default_rng(3)
    for each in (b, g):
        each.qfrc_applied = 0.5
        each.step(nstep=3)
    for k in range(4):
        effort = rng.normal(0, 40, (nsim, m.nu))
        b.ctrl, g.ctrl = effort, effort
        for each in (b, g):
            each.step(nstep=25)
            each.step([3, 1], 5)
            each.reset([k])
            each.joint("elbow_pitch").ctrl = 0.25
            each.qfrc_applied[:, :2] = 0.125  # ctrl replaces the forces of joints with an actuator
            each.step(each.time > 0.02)
    assert not b.diverged.any()
    for name in ("time", "qpos", "qvel", "act", "ctrl", "qfrc_applied", "nbad", "diverged"):
        np.testing.assert_array_equal(gpu.asnumpy(getattr(g, name)), getattr(b, name), name)
    d, e = b.get_data(3), g.get_data(3)
    assert d.act.tobytes() == e.act.tobytes()
    assert d.qfrc_applied.tobytes() == e.qfrc_applied.tobytes()


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_gpu_refuses_actuators_that_differ_between_robots(m, number, gpu):
    g = rb.Batch(m, 3, device="cuda", dtype=number)
    for name in ("actuator_error", "actuator_delay"):
        with refused(ModelError, "not-traceable"):
            g.expand(name)
    g.step()  # the Batch is unchanged


@needs_gcc
def test_generated_c_computes_actuators_like_the_engine(m, tmp_path):
    code = code_of(m, "step", "forward", "gravity")
    library, d = Library(code, "gcc", tmp_path, "-O0"), rb.make_data(m)
    given = {"qpos": d.qpos.copy(), "qvel": d.qvel.copy(), "act": d.act.copy()}
    for effort in commands(m, 50):
        d.qfrc_applied = given["qfrc_applied"] = effort
        rb.step(m, d)
        found = library.call("step", given, same=("q_next", "v_next"))
        given |= {"qpos": found["q_next"], "qvel": found["v_next"], "act": found["act_next"]}
    np.testing.assert_allclose(given["act"], d.act, rtol=0, atol=1e-11 * abs(d.act).max())
    np.testing.assert_allclose(given["qpos"], d.qpos, rtol=0, atol=1e-12)
    rb.forward_dynamics(m, d)
    np.testing.assert_allclose(library.call("forward", given)["a"], d.qacc, rtol=1e-9)
    assert all(sample.inputs["act"].all() for sample in samples(code))


def test_the_error_about_fields_that_actuators_lack_names_the_fields(m, s):
    d = rb.make_data(m)
    for function in (s.step_derivatives, s.forward_derivatives, s.inverse_derivatives):
        with refused(ModelError, "not-traceable"):
            function(d)
    with refused(ModelError, "no-code"):
        code_of(m, "inverse")

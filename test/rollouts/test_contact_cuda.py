# SPDX-License-Identifier: Apache-2.0
"""Robots with contact on a GPU have the bits of a Batch on the CPU."""

import numpy as np
import pytest
from rollouts.test_contact_capsules import rod, thrown
from rollouts.test_contact_fields import rough, terrain, walker
from rollouts.test_contact_lanes import batch, boxed, by_engine, finger, shared, trotting
from support.cuda import assert_same, compiled_by_nvcc, needs_nvcc
from support.refusals import refused
from support.robots import needs_robots

import rbdyn_ros as rb
from rbdyn_ros.rollouts.contact_step import ContactMemory
from rbdyn_ros.rollouts.cpu import Cpu
from rbdyn_ros.rollouts.cuda import EngineOfGpu, kernels_of
from rbdyn_ros.specialization.languages.c_language import DOUBLE
from rbdyn_ros.specialization.languages.cuda_code import source

COUNTS = ("nbad", "diverged", "nunsolved", "ndropped")


def copied(b):
    """Return a Batch of the same robots on a GPU."""
    g = rb.Batch(b.model, b.nsim, device="cuda")
    g.qpos, g.qvel = b.qpos, b.qvel
    return g


def assert_same_memory(b, g):
    """Assert that all robots have equal Data in both Batches, with remembered contacts."""
    for k in range(b.nsim):
        d, e = b.get_data(k), g.get_data(k)
        assert d.buffer.tobytes() == e.buffer.tobytes(), k


@needs_robots
def test_a_trot_on_a_gpu_has_the_bits_of_the_cpu(gpu):
    b, phase = batch(shared(), 24)
    g, engine = copied(b), 0
    for n in range(60):
        b.qfrc_applied = g.qfrc_applied = trotting(b.model, b.qpos, 0.001 * n, phase)
        b.step(), g.step()
        engine += by_engine(b).sum()
        assert_same(gpu, b, g, ("time", "qpos", "qvel"))
    assert 0 < engine < 0.2 * 60 * 24
    assert_same(gpu, b, g, COUNTS)
    assert_same_memory(b, g)


def test_a_finger_with_friction_and_a_limit_has_the_bits_of_the_cpu(gpu):
    b = rb.Batch(finger(dof_frictionloss=np.array([0.0, 0.02])), 9)
    b.qpos[:, 0] = np.linspace(0.02, 0.2, 9)
    g = copied(b)
    for n in range(200):
        wave = 40.0 * np.sin(0.04 * n + np.arange(9))
        b.qfrc_applied = g.qfrc_applied = np.stack([wave, np.full(9, 0.1)], axis=1)
        b.step(nstep=2), g.step(nstep=2)
        assert_same(gpu, b, g, ("time", "qpos", "qvel"))
    assert_same_memory(b, g)


def test_steps_of_the_engine_are_done_on_the_host(gpu):
    """The engine computes some steps of each robot, sometimes two steps in a row."""
    b = thrown(rod(), number=24)
    g, taken, twice = copied(b), np.zeros(24, bool), False
    for _ in range(200):
        before = by_engine(b)
        b.step()
        twice |= (before & by_engine(b)).any()
        taken |= by_engine(b)
    assert taken.sum() > 12
    assert twice
    g.step(nstep=200)
    assert_same(gpu, b, g)
    assert_same(gpu, b, g, COUNTS)
    assert_same_memory(b, g)


def test_chosen_robots_resets_parameters_forces_and_outputs_have_the_bits_of_a_batch(gpu):
    b = thrown(rod(), number=24)
    g, rng = copied(b), np.random.default_rng(1)
    b.step(nstep=60), g.step(nstep=60)
    for name in ("body_mass", "opt.gravity"):  # this keeps the memory of friction
        own = b.expand(name)
        own *= rng.uniform(0.9, 1.1, own.shape)
        g.expand(name)
        setattr(g, name.removeprefix("opt."), own)
    b.xfrc_applied = rng.normal(size=b.xfrc_applied.shape)
    g.xfrc_applied = b.xfrc_applied
    for each in (b, g):
        each.bind("xpos"), each.bind("energy")
        each.step([3, 5, 1], 40)
        each.step(each.time < 0.07, 30)
        each.reset([0, 20])
        each.step(nstep=30)
        each.model.opt.timestep = 0.0005
        each.step(nstep=30)
        each.model.opt.timestep = 0.001
    assert_same(gpu, b, g)
    assert_same(gpu, b, g, (*COUNTS, "xpos", "energy"))
    assert_same_memory(b, g)


def test_a_robot_that_diverges_on_a_gpu_is_marked_as_on_the_cpu(gpu):
    b = rb.Batch(finger(), 8)
    b.qpos[:, 0] = 0.06
    g = copied(b)
    b.qvel[3, 0] = g.qvel[3, 0] = np.nan
    b.step(nstep=100), g.step(nstep=100)
    assert_same(gpu, b, g)
    assert np.flatnonzero(b.diverged).tolist() == [3]


def test_robots_continue_after_ctrl_c(gpu, monkeypatch):
    """After Ctrl-C each robot's time shows how many steps it has done."""
    b = thrown(rod(), number=24)
    g, run, calls = copied(b), Cpu.run, []

    def interrupted(cpu, nstep, ids):
        run(cpu, nstep, ids)
        calls.append(ids)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Cpu, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            g.step(nstep=200)
    assert 0 < (g.time < 0.1995).sum() < 24
    while (g.time < 0.1995).any():
        g.step(g.time < 0.1995)
    b.step(nstep=200)
    assert_same(gpu, b, g)
    assert_same_memory(b, g)


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [(ContactMemory, "load", lambda *_: None), (EngineOfGpu, "settled", lambda e: e._cpu)],
)
def test_a_memory_that_is_not_copied_is_detected(owner, name, wrong, gpu, monkeypatch):
    monkeypatch.setattr(owner, name, wrong)
    b = thrown(rod(), number=24)
    g = copied(b)
    b.step(nstep=200), g.step(nstep=200)
    with pytest.raises(AssertionError):
        assert_same(gpu, b, g), assert_same_memory(b, g)


@needs_nvcc
@pytest.mark.parametrize("processor", ["sm_80", "sm_90"])
def test_nvcc_compiles_steps_with_contact(processor, tmp_path):
    kernels = kernels_of(rod(), {}, ("qfrc_applied", "xpos"), np.dtype(np.float64))
    report = compiled_by_nvcc(source(kernels, DOUBLE), tmp_path, processor)
    assert "Function properties for contact" in report


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: walker(terrain(rough(0.02))), "contacts that are not with planes"),
        (boxed, "no sphere of it can touch a plane"),
    ],
)
def test_contact_without_code_for_a_gpu_is_refused(make, reason, gpu):
    with refused(rb.ModelError, "not-traceable") as found:
        rb.Batch(make(), 2, device="cuda")
    assert reason in str(found.value)
    assert "this case has no GPU code" in str(found.value)


def test_contact_with_32_bit_floats_is_refused(gpu):
    """Contact forces are solved to a tolerance of 1e-9, below the precision of 32-bit floats."""
    with refused(rb.ParameterError, "bad-argument") as found:
        rb.Batch(finger(), 2, device="cuda", dtype=np.float32)
    assert "float64 for a Model with contact" in str(found.value)

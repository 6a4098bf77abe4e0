# SPDX-License-Identifier: Apache-2.0
"""GPU code compiled for this processor gives the bits of CPU code, and nvcc compiles it."""

import functools
import re

import numpy as np
import pytest
from support.cuda import ROBOTS, HostBatch, compiled_by_nvcc, load, needs_compiler, needs_nvcc
from support.robots import needs_robots
from support.rollouts import light_forces, starts

import rbdyn_ros as rb
from rbdyn_ros.rollouts.cuda import kernels_of
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.specialization.languages import cuda_code
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import source

N = 9
DERIVED = ("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy")
EXPANDED = (
    "body_mass", "body_ipos", "body_fullinertia", "dof_armature", "dof_damping",
    "dof_frictionloss", "jnt_stiffness", "gravity",
)  # fmt: skip


@functools.cache
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def both(m, folder, bound=(), expanded=(), **more):
    """Return a Batch and the same robots with GPU code, in random states."""
    b = rb.Batch(m, N, nthread=1)
    b.qpos, b.qvel = starts(m, N)
    b.qfrc_applied = light_forces(m, (N,))
    shapes = {name: b.bind(name).shape[1:] for name in bound}
    rng = np.random.default_rng(3)
    other = HostBatch(m, N, folder, shapes, expanded, **more)
    for name in expanded:
        array = b.expand(name)
        array *= rng.uniform(0.9, 1.1, array.shape)
    for name in ("qpos", "qvel", "qfrc_applied", *expanded):
        other.arrays[name][:] = np.moveaxis(getattr(b, name), 0, -1)
    return b, other


def assert_same(b, other, names=("time", "qpos", "qvel")):
    for name in names:
        found = np.moveaxis(other.arrays[name], -1, 0)
        assert np.array_equal(found, getattr(b, name), equal_nan=True), name
    assert np.array_equal(other.diverged, b.diverged)
    assert np.array_equal(other.nbad, b.nbad)


@needs_compiler
@needs_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_the_code_of_a_gpu_has_the_bits_of_a_batch(name, tmp_path):
    b, other = both(load(name), tmp_path)
    for nstep in (1, 1, 20):
        b.step(nstep=nstep)
        other.step(nstep)
    assert_same(b, other)
    assert not b.diverged.any()


@needs_compiler
@pytest.mark.parametrize("longest", [cuda_code.LONGEST_FUNCTION, 0])
def test_each_robot_has_parameters_forces_and_outputs_in_cuda_code(longest, tmp_path, monkeypatch):
    """The tested functions include functions that are cut into blocks."""
    monkeypatch.setattr(cuda_code, "BLOCK", 150)
    b, other = both(arm(), tmp_path, ("xfrc_applied", *DERIVED), EXPANDED, longest=longest)
    b.xfrc_applied[:] = np.random.default_rng(5).normal(size=b.xfrc_applied.shape)
    other.arrays["xfrc_applied"][:] = np.moveaxis(b.xfrc_applied, 0, -1)
    b.step(nstep=5)
    other.step(5)
    assert_same(b, other, ("time", "qpos", "qvel", *DERIVED))


@needs_compiler
def test_chosen_robots_are_stepped_and_diverged_robots_are_marked(tmp_path):
    b, other = both(arm(), tmp_path)
    b.qvel[4, 2] = other.arrays["qvel"][2, 4] = np.nan
    # this angle is still in the range of our own sine
    b.qpos[7, 0] = other.arrays["qpos"][0, 7] = 3e4
    for ids in ([7, 4, 0], [8], None):
        b.step(ids, 3)
        other.step(3, ids)
        assert_same(b, other) if ids is None else None
    assert list(np.flatnonzero(b.diverged)) == [4]
    b.forward()
    other.step(0)
    assert_same(b, other)


@needs_compiler
def test_single_precision_cuda_code_is_close_to_double(tmp_path):
    b, other = both(arm(), tmp_path, number=np.float32)
    b.step(nstep=20)
    other.step(20)
    np.testing.assert_allclose(other.arrays["qpos"].T, b.qpos, rtol=0, atol=2e-5)
    np.testing.assert_allclose(other.arrays["qvel"].T, b.qvel, rtol=0, atol=2e-3)


@needs_nvcc
@pytest.mark.parametrize("real", [DOUBLE, FLOAT], ids=lambda real: real.name)
@pytest.mark.parametrize("processor", ["sm_80", "sm_90"])
def test_nvcc_compiles_the_kernels_and_reports_registers(
    processor, real, tmp_path, record_property
):
    kernels = kernels_of(arm(), {}, ("qfrc_applied", "xpos"), real.info.dtype)
    report = compiled_by_nvcc(source(kernels, real), tmp_path, processor)
    for kernel in kernels:
        text = report[report.index(f"Function properties for {kernel.name}") :]
        for what in ("spill stores", "spill loads", "stack frame"):
            found = re.search(rf"(\d+) bytes {what}", text)
            record_property(f"{processor} {real.name} {kernel.name} {what}", int(found[1]))
        registers = int(re.search(r"Used (\d+) registers", text)[1])
        record_property(f"{processor} {real.name} {kernel.name} registers", registers)
        assert registers > 0


@pytest.mark.nightly  # nvcc takes a long time before it fails
@needs_nvcc
@needs_robots
def test_a_function_too_long_for_nvcc_is_cut_into_blocks(tmp_path):
    found = []
    for longest in (cuda_code.LONGEST_FUNCTION, cuda_code.BLOCK):
        kernels = kernels_of(load("Go2"), {}, ("qfrc_applied",), np.dtype(np.float64), longest)
        report = compiled_by_nvcc(source(kernels, DOUBLE), tmp_path, "sm_80")
        text = report[report.index("Function properties for advance") :]
        memory = re.search(r"(\d+) bytes stack frame", text)
        registers = re.search(r"Used (\d+) registers", text)
        found.append(cuda_code.gave_up(int(registers[1]), int(memory[1])))
    assert not found[-1]  # with long functions nvcc may also succeed

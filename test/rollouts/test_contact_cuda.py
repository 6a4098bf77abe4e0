# SPDX-License-Identifier: Apache-2.0
"""GPU code of steps with contact, compiled for this processor, gives the bits of a Batch."""

import numpy as np
import pytest
from rollouts.test_contact_capsules import rod, thrown
from rollouts.test_contact_fields import rough, terrain, walker
from rollouts.test_contact_lanes import batch, by_engine, finger, shared, trotting
from support.cuda import call, compiled_by_nvcc, compiled_for_host, needs_compiler, needs_nvcc
from support.refusals import refused
from support.robots import needs_robots

import rbdyn_ros as rb
from rbdyn_ros.rollouts.cuda import contact_kernel_of
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import source

DOUBLES = np.dtype(np.float64)


class HostRobots:
    """The robots of a Batch with GPU code that runs on the processor."""

    def __init__(self, b, folder):
        self.kernel = contact_kernel_of(b.model, {}, DOUBLES)
        self._library = compiled_for_host([self.kernel], DOUBLE, folder)
        grip = np.zeros_like(b._device._friction.grip)
        self.arrays = {"grip": grip, "left": np.zeros((1, b.nsim)), "time": np.zeros((1, b.nsim))}
        for name in ("qpos", "qvel", "qfrc_applied"):
            self.arrays[name] = getattr(b, name).T.copy()
        self.nbad, self.diverged = np.zeros(b.nsim, np.int64), np.ones(b.nsim, np.bool_)

    def step(self, nstep):
        """Advance the robots; return how many steps each has left to the engine."""
        n = len(self.nbad)
        given = (n, None, n, nstep, self.nbad, self.diverged)
        call(self._library, "contact", *given, *(self.arrays[x] for x in self.kernel.arrays))
        return self.arrays["left"][0].copy()


def assert_same(b, folder, forces, steps):
    """Compare robots until they need the engine; return the number of robots that never do."""
    other, alike = HostRobots(b, folder), np.ones(b.nsim, bool)
    for n in range(steps):
        b.qfrc_applied[:] = forces(n)
        other.arrays["qfrc_applied"][:] = b.qfrc_applied.T
        left = other.step(1)
        b.step()
        assert np.array_equal(left[alike] != 0.0, by_engine(b)[alike])
        alike &= left == 0.0
        for name in ("qpos", "qvel"):
            found = other.arrays[name].T[alike]
            assert np.array_equal(found, getattr(b, name)[alike]), (n, name)
    assert not other.diverged.any()
    return alike.sum()


@needs_compiler
def test_a_finger_has_the_bits_of_a_batch(tmp_path):
    b = rb.Batch(finger(), 9)
    b.qpos[:, 0] = np.linspace(0.02, 0.2, 9)

    def forces(n):
        return np.stack([40.0 * np.sin(0.02 * n + np.arange(9)), np.full(9, 0.1)], axis=1)

    assert assert_same(b, tmp_path, forces, 400) > 4


@needs_compiler
def test_rods_have_the_bits_of_a_batch(tmp_path):
    b = thrown(rod(), number=24)
    assert assert_same(b, tmp_path, lambda n: 0.0, 120) > 2  # noqa: ARG005


@needs_compiler
@needs_robots
def test_a_trot_has_the_bits_of_a_batch(tmp_path):
    m = shared()
    b, phase = batch(m, 24)
    same = assert_same(b, tmp_path, lambda n: trotting(m, b.qpos, 0.001 * n, phase), 60)
    assert same > 12


@needs_compiler
def test_steps_that_need_the_engine_are_not_made_on_a_gpu(tmp_path):
    """A robot stops before such a step, and reports the remaining steps of the call."""
    b = thrown(rod(), number=24)
    one, other = HostRobots(b, tmp_path), HostRobots(b, tmp_path)
    left = one.step(200)
    assert (left > 0.0).any()
    for _ in range(200):
        other.step(1)
    stopped = left > 0.0
    assert np.array_equal(one.arrays["qpos"][:, ~stopped], other.arrays["qpos"][:, ~stopped])
    assert np.array_equal(one.arrays["qpos"][:, stopped], other.arrays["qpos"][:, stopped])
    assert np.allclose(one.arrays["time"][0], 0.001 * (200.0 - left), rtol=0, atol=1e-12)


@needs_nvcc
@pytest.mark.parametrize("real", [DOUBLE, FLOAT], ids=lambda real: real.name)
@pytest.mark.parametrize("processor", ["sm_80", "sm_90"])
def test_nvcc_compiles_steps_with_contact(processor, real, tmp_path):
    kernel = contact_kernel_of(rod(), {}, real.info.dtype)
    report = compiled_by_nvcc(source([kernel], real), tmp_path, processor)
    assert "Function properties for contact" in report


def test_contact_with_terrain_has_no_code_for_a_gpu():
    with refused(rb.ModelError, "not-traceable") as found:
        contact_kernel_of(walker(terrain(rough(0.02))), {}, DOUBLES)
    assert "contact other than with planes" in str(found.value)

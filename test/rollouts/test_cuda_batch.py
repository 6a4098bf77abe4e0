# SPDX-License-Identifier: Apache-2.0
"""A Batch on a GPU equals one on the CPU in all bits; its arguments are checked without a GPU."""

import sys
import types

import numpy as np
import pytest
from support.cuda import ROBOTS, assert_same, cupy_or_skip, load
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import light_forces, starts

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.rollouts import cuda
from rbdyn_ros.rollouts.cuda import kernels_of
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.specialization.languages import cuda_code

N = 70
DERIVED = ("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy")
EXPANDED = (
    "body_mass", "body_ipos", "body_fullinertia", "dof_armature", "dof_damping",
    "dof_frictionloss", "jnt_stiffness", "opt.gravity",
)  # fmt: skip


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.mark.parametrize(
    "more",
    [
        {"device": "gpu"}, {"device": None}, {"dtype": "float32"}, {"dtype": np.int64},
        {"dtype": "many", "device": "cuda"}, {"nthread": 2, "device": "cuda"},
        {"specialize": False, "device": "cuda"},
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(m, more):
    with refused(ParameterError, "bad-argument"):
        rb.Batch(m, 2, **more)


def test_the_error_without_cupy_names_the_package(m, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with refused(ParameterError, "no-gpu", "device"):
        rb.Batch(m, 2, device="cuda")


def test_the_error_without_a_gpu_names_the_reason(m, monkeypatch):
    class CUDARuntimeError(RuntimeError):
        pass

    def getDeviceCount():
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, getDeviceCount=getDeviceCount
    )
    without = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", without)
    with refused(ParameterError, "no-gpu", "device"):
        rb.Batch(m, 2, device="cuda")


def pair(m, **more):
    """Return two Batches of the same robots, on the CPU and on a GPU."""
    b, g = rb.Batch(m, N, nthread=1), rb.Batch(m, N, device="cuda", **more)
    b.qpos, b.qvel = starts(m, N)
    b.qfrc_applied = light_forces(m, (N,))
    g.qpos, g.qvel, g.qfrc_applied = b.qpos, b.qvel, b.qfrc_applied
    return b, g


@pytest.mark.parametrize("floating", [False, True])
def test_a_gpu_has_the_bits_of_the_cpu(floating, gpu):
    m = rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=floating)
    b, g = pair(m)
    for each in (b, g):
        each.step()
        each.step(nstep=9)
        each.step([3, 5, 1], 2)
        each.qfrc_applied[:, 0] += 0.5  # a write takes effect at the next step
        each.step(each.time > 0.0105)
        each.reset([0, 2])
        each.step()
    assert_same(gpu, b, g)
    assert "float64" in repr(g)


@needs_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_a_gpu_and_the_cpu_give_equal_bits_for_real_robots(name, gpu):
    b, g = pair(load(name))
    for each in (b, g):
        each.step()
        each.step(nstep=50)
        each.reset([0, 69, 33])
        each.step(each.time < 0.01, 7)
        each.step(nstep=50)
    assert not b.diverged.all()
    assert_same(gpu, b, g)


@pytest.mark.parametrize("longest", [cuda_code.LONGEST_FUNCTION, 0])
def test_a_gpu_uses_parameters_forces_and_outputs_of_each_robot(m, longest, gpu, monkeypatch):
    """With `longest` = 0 all functions are cut into blocks."""
    monkeypatch.setattr(cuda, "LONGEST_FUNCTION", longest)
    monkeypatch.setattr(cuda_code, "BLOCK", 150)
    b, g = pair(m)
    rng = np.random.default_rng(0)
    for name in EXPANDED:
        own = b.expand(name)
        own *= rng.uniform(0.9, 1.1, own.shape)
        g.expand(name)
        setattr(g, name.removeprefix("opt."), own)
    b.xfrc_applied = rng.normal(size=b.xfrc_applied.shape)
    g.xfrc_applied = b.xfrc_applied
    for name in DERIVED:
        b.bind(name), g.bind(name)
    b.step(nstep=3)
    g.step(nstep=3)
    assert_same(gpu, b, g, ("time", "qpos", "qvel", *DERIVED))
    b.reset(), g.reset()
    assert_same(gpu, b, g, ("time", "qpos", "qvel", *DERIVED))


def test_a_batch_on_a_gpu_marks_diverged_robots_and_refuses_bad_arguments(m, gpu):
    b, g = pair(m)
    b.qvel[3, 1] = g.qvel[3, 1] = np.nan
    b.qpos[7, 0] = g.qpos[7, 0] = 3e4  # this angle is still in the range of our own sine
    b.step(), g.step()
    assert_same(gpu, b, g)
    assert np.flatnonzero(b.diverged).tolist() == [3]
    d, e = b.get_data(7), g.get_data(7)
    assert d.qpos.tobytes() == e.qpos.tobytes()
    assert not g.ndropped.any()
    for ids in ([-1], [N], [1, 1], ["a"], np.zeros(3), gpu.asarray([2, 2]), gpu.asarray([N])):
        with refused(ParameterError, "bad-argument"):
            g.step(ids)
    for value in (None, "x", np.zeros(3)):
        with refused(ParameterError, "bad-argument"):
            g.qpos = value


def test_single_precision_is_close_to_double(m, gpu):
    b, g = pair(m, dtype=np.float32)
    assert g.qpos.dtype == np.float32
    b.step(nstep=20)
    g.step(nstep=20)
    np.testing.assert_allclose(gpu.asnumpy(g.qpos), b.qpos, rtol=0, atol=2e-5)
    np.testing.assert_allclose(gpu.asnumpy(g.qvel), b.qvel, rtol=0, atol=2e-3)


def test_robots_that_do_not_fit_in_the_memory_of_a_gpu_are_refused(m):
    cupy_or_skip()
    with refused(ParameterError, "bad-argument", "nsim"):
        rb.Batch(m, 10**11, device="cuda")


def contact():
    box = rb.shapes.box((0.2, 0.2, 0.2), mass=1.0)
    system = rb.SystemBuilder("box", base="world").floor().body("box", box)
    system.joint("free", "floating", "world", "box")
    system.geometry("skin", "box", rb.Box((0.2, 0.2, 0.2)))
    return rb.build(system)


def implicit():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    m.opt.integrator = "implicit"
    return m


@pytest.mark.parametrize("make", [contact, implicit])
def test_models_without_gpu_code_are_refused_before_compilation(make):
    """The check needs no GPU."""
    with refused(rb.ModelError, "not-traceable"):
        kernels_of(make(), {}, ("qfrc_applied",), np.dtype(np.float64))


def test_torch_shares_the_arrays(m):
    cupy, torch = cupy_or_skip(), pytest.importorskip("torch")
    g = rb.Batch(m, N, device="cuda")
    shared = torch.from_dlpack(g.qvel)
    shared[:] = 0.25
    torch.cuda.synchronize()
    assert (g.qvel == 0.25).all()
    g.qpos = shared
    assert (g.qpos == 0.25).all()
    assert cupy.shares_memory(g.qvel, cupy.from_dlpack(shared))

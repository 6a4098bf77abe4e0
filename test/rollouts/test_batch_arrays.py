# SPDX-License-Identifier: Apache-2.0
"""The arrays of rb.Batch are shared without a copy, and wrong values are refused."""

import copy
import gc
import pickle

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

NAMES = (
    *("time", "qpos", "qvel", "qfrc_applied", "xfrc_applied"),
    *("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy"),
)


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def test_every_array_has_a_row_for_each_robot(m):
    b, d = rb.Batch(m, 5), rb.make_data(m)
    for name in NAMES:
        array = getattr(b, name)
        assert array is b.bind(name)
        assert array.shape == (5, *np.shape(getattr(d, name)))
        assert array.flags.writeable  # DLPack has no read-only arrays
        assert array.ctypes.data % 64 == 0  # JAX shares only writeable arrays
        assert np.moveaxis(array, 0, -1).flags.c_contiguous  # JAX shares only compact arrays
    for name in ("body_mass", "body_fullinertia", "dof_damping", "jnt_stiffness"):
        assert b.expand(name).shape == (5, *getattr(m, name).shape)
    assert len(b) == 5


def test_arrays_keep_their_memory_and_outlive_the_batch(m):
    b = rb.Batch(m, 6)
    qpos, qvel = b.qpos, b.qvel
    b.bind("xpos")
    b.expand("dof_damping")
    b.step()
    assert b.qpos is qpos
    before = qvel.copy()
    b.step()
    assert not np.array_equal(qvel, before)
    kept = qpos.copy()
    del b
    gc.collect()
    np.zeros(10**6)
    np.testing.assert_array_equal(qpos, kept)


def test_assignments_to_a_batch_write_into_its_arrays(m):
    b = rb.Batch(m, 4)
    qpos = b.qpos
    b.qpos = np.arange(7.0)
    assert b.qpos is qpos
    np.testing.assert_array_equal(qpos, np.tile(np.arange(7.0), (4, 1)))
    b.qpos += 1.0
    assert qpos[3, 0] == 1.0
    b.time = 2.0
    assert b.time.tolist() == [2.0] * 4


def test_dlpack_of_numpy_shares_the_memory(m):
    b = rb.Batch(m, 4)
    same = np.from_dlpack(b.qpos)
    b.qpos[2, 3] = 0.25
    assert same[2, 3] == 0.25


def test_torch_shares_the_memory(m):
    torch = pytest.importorskip("torch", reason="torch is not installed (make test-extras)")
    b = rb.Batch(m, 16)
    qvel, force = torch.from_dlpack(b.qvel), torch.from_dlpack(b.qfrc_applied)
    assert qvel.data_ptr() == b.qvel.ctypes.data
    force[:, 0] = 3.0
    assert b.qfrc_applied[:, 0].tolist() == [3.0] * 16
    b.step()
    np.testing.assert_array_equal(qvel.numpy(), b.qvel)
    assert qvel.abs().max() > 0.0


def test_jax_shares_the_memory(m):
    jax = pytest.importorskip("jax", reason="jax is not installed (make test-extras)")
    jax.config.update("jax_enable_x64", True)
    b = rb.Batch(m, 16)
    for name in ("qpos", "time", "xpos"):
        array = getattr(b, name)
        shared = jax.dlpack.from_dlpack(array)
        assert shared.shape == array.shape
        assert shared.unsafe_buffer_pointer() == array.ctypes.data, name
    jax.config.update("jax_enable_x64", False)


def test_a_batch_cannot_be_copied_or_pickled(m):
    b = rb.Batch(m, 2)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with refused(rb.ModelError, "not-copied", "Batch"):
            attempt(b)


@pytest.mark.parametrize("nsim", [0, -1, 2.5, "many", None, True, 2**50])
def test_an_invalid_number_of_robots_is_refused(m, nsim):
    with refused(rb.ParameterError, "bad-argument", ""):
        rb.Batch(m, nsim)


def test_more_robots_than_fit_into_the_memory_are_refused(m):
    with refused(rb.ParameterError, "bad-argument", "nsim") as error:
        rb.Batch(m, 2**39)
    assert "bytes" in str(error.value)


@pytest.mark.parametrize("nthread", [-1, 1.5, "all", None, 10**6])
def test_an_invalid_number_of_threads_is_refused(m, nthread):
    if nthread is None:
        assert rb.Batch(m, 1, nthread=0).nthread >= 1
        return
    with refused(rb.ParameterError, "bad-argument", ""):
        rb.Batch(m, 2, nthread)


@pytest.mark.parametrize(
    "ids",
    [
        [8], [-1], [0, 3, 0], [0.0, 1.0], "0", [True, False], np.zeros(9, bool), [[0, 1]],
        [2**63], [2**70], [None], {}, np.array([np.nan]),
    ],
)  # fmt: skip
def test_unknown_and_repeated_robots_are_refused(m, ids):
    b = rb.Batch(m, 8)
    for call in (b.step, b.forward, b.reset):
        with refused(rb.ParameterError, "bad-argument"):
            call(ids)
    assert not b.time.any()
    b.step(3)  # a single number stands for one robot
    assert np.flatnonzero(b.time).tolist() == [3]


@pytest.mark.parametrize("nstep", [-1, 1.5, "1", None, True, 2**60])
def test_an_invalid_number_of_steps_is_refused(m, nstep):
    with refused(rb.ParameterError, "bad-argument", ""):
        rb.Batch(m, 2).step(nstep=nstep)


def test_unknown_names_are_refused(m):
    b = rb.Batch(m, 2)
    for name in ("qpso", "M", 3, None):
        with refused(rb.ParameterError, "bad-argument", "bind"):
            b.bind(name)
    for name in ("body_mas", "qpos", 3):
        with refused(rb.ParameterError, "bad-argument", "expand"):
            b.expand(name)
    with pytest.raises(AttributeError, match="did you mean 'qpos'"):
        b.qpso  # noqa: B018
    with pytest.raises(AttributeError, match=r"b\.expand"):
        b.body_mass  # noqa: B018
    for name in ("qpso", "xpos", "nsim", "diverged"):
        with pytest.raises(AttributeError, match="allowed are time"):
            setattr(b, name, 1.0)


def test_values_of_another_shape_are_refused(m):
    b = rb.Batch(m, 3)
    for value in (np.zeros(6), np.zeros((2, 7)), "zero", [1.0, [2.0]], None, {}):
        with refused(rb.ParameterError, "bad-argument", "qpos"):
            b.qpos = value
    b.expand("dof_damping")
    with refused(rb.ParameterError, "bad-argument", "dof_damping"):
        b.dof_damping = np.zeros(3)


def test_get_data_refuses_an_unknown_robot(m):
    b = rb.Batch(m, 3)
    b.xfrc_applied[2, 1, 2] = 4.0
    assert b.get_data(2).xfrc_applied[1, 2] == 4.0
    for sim in (3, -1, 0.5, None):
        with refused(rb.ParameterError, "bad-argument", ""):
            b.get_data(sim)


def test_a_batch_of_something_other_than_a_model_is_refused():
    with refused(rb.ModelError, "not-a-model"):
        rb.Batch("arm", 3)


def test_joint_and_body_return_their_parts_of_the_arrays():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=True)
    b = rb.Batch(m, 3, specialize=False)
    base = next(name for name, dofs in zip(m.jnt_names, m.jnt_dofnum, strict=True) if dofs == 6)
    assert (b.joint(base).qpos.shape, b.joint(base).qvel.shape) == ((3, 7), (3, 6))
    last = b.joint(m.jnt_names[-1])
    last.qpos, last.qfrc_applied = [[0.1], [0.2], [0.3]], 2.0
    assert b.qpos[:, -1].tolist() == [0.1, 0.2, 0.3]
    assert (b.qfrc_applied[:, -1] == 2.0).all()
    assert (b.qfrc_applied[:, :-1] == 0.0).all()
    b.bind("xpos")
    b.forward()
    d = b.get_data(2)
    rb.kinematics(m, d)
    assert b.body(m.body_names[-1]).xpos[2].tolist() == d.xpos[-1].tolist()
    with refused(rb.ModelError, "unknown-joint"):
        b.joint("knee")
    with pytest.raises(AttributeError, match="there are qpos, qvel, qfrc_applied"):
        last.xpos  # noqa: B018

# SPDX-License-Identifier: Apache-2.0
"""Kernels call functions marked `jit.apart`, and load no number twice without need."""

import numpy as np
import pytest
from support.mechanisms import grashof

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.runtime.kernels.edits import _forget_loops
from rbdyn_ros.runtime.shared import Shared

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

#: Declares a kernel without a cache, because Numba does not return the LLVM code of cached ones.
uncached = jit.kernels_in("")


@jit.apart
def far(x):
    return 3.0 * x + 1.0


@jit.kernel
def near(x):
    return 3.0 * x + 1.0


@jit.inline
def first_caller(x):
    return far(x) + near(x)


@uncached
def caller(x):
    return first_caller(x)


@uncached
def masses_around_a_store(m, d):
    before = m.body_mass[1]
    d.qpos[0] = before
    d.nstick = 1
    return before + m.body_mass[1]


@uncached
def counts_around_a_store(m, d):
    before = d.body_touches[1]
    d.qpos[0] = 2.0 * m.body_mass[1]
    return before + d.body_touches[1]


@uncached
def bits_around_a_store(m, d):
    bits = d.qpos.view(np.int64)
    before = bits[0]
    d.qpos[0] = m.body_mass[1]
    return before != bits[0]


@uncached
def models_around_a_store(s):
    before = s.plant
    s.models[0] = 5
    return s.plant - before


@uncached
def loop_numbers_around_clearing(m, d):
    before = d.loops.joint_now[0]
    _forget_loops(d)
    return before - d.loops.joint_now[0]


@uncached
def fill(m, d):
    d.qpos[:] = m.body_mass[1]
    d.xmat[1, 7:] = 3.0


def code_of(kernel):
    (text,) = kernel.dispatcher.inspect_llvm().values()
    return text


def test_a_function_marked_apart_is_called_and_not_inlined():
    assert caller(2.0) == 14.0
    calls = [line for line in code_of(caller).splitlines() if " call " in line]
    assert any("3far" in line for line in calls)
    assert not any("4near" in line for line in calls)


@pytest.mark.parametrize("kernel", [masses_around_a_store, counts_around_a_store])
def test_a_store_to_another_array_does_not_make_a_kernel_load_a_number_again(kernel):
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    assert kernel(m, d) == (4.0 if kernel is masses_around_a_store else 0)
    text = code_of(kernel)
    body = text[text.index("define") :]
    body = body[: body.index("\n}")]
    loads = [line for line in body.splitlines() if "load" in line and "tbaa" in line]
    assert len(loads) == (1 if kernel is masses_around_a_store else 2), body


def test_a_kernel_reads_values_that_it_has_just_stored():
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    d.body_touches[1] = 5
    assert counts_around_a_store(m, d) == 10
    assert d.qpos[0] == 4.0


def test_a_kernel_reads_values_that_it_has_just_stored_as_another_type():
    """Arrays of different types share memory in a view, in Shared or in the loops of a Data."""
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    assert bits_around_a_store(m, d)
    assert models_around_a_store(Shared(m)) == 5
    m = rb.build(grashof())
    d = rb.make_data(m)
    d.loops.joint_now[0] = 7
    assert loop_numbers_around_clearing(m, d) == 7


def test_kernels_can_fill_slices():
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    fill(m, d)
    assert (d.qpos == 2.0).all()
    assert d.xmat[1, 6:].tolist() == [0.0, 3.0, 3.0]

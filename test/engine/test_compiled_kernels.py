# SPDX-License-Identifier: Apache-2.0
"""What the LLVM code of kernels tells about accesses and calls."""

import pytest

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

#: Numba shows no LLVM code of cached kernels.
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


def code_of(kernel):
    (text,) = kernel.dispatcher.inspect_llvm().values()
    return text


def test_a_kernel_apart_is_called_although_its_first_caller_is_inlined():
    assert caller(2.0) == 14.0
    calls = [line for line in code_of(caller).splitlines() if " call " in line]
    assert any("3far" in line for line in calls)
    assert not any("4near" in line for line in calls)


@pytest.mark.parametrize("kernel", [masses_around_a_store, counts_around_a_store])
def test_a_store_of_another_number_repeats_no_load(kernel):
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    assert kernel(m, d) == (4.0 if kernel is masses_around_a_store else 0)
    text = code_of(kernel)
    body = text[text.index("define") :]
    body = body[: body.index("\n}")]
    loads = [line for line in body.splitlines() if "load" in line and "tbaa" in line]
    assert len(loads) == (1 if kernel is masses_around_a_store else 2), body


def test_a_kernel_sees_what_it_has_stored():
    m = rb.scene(objects=[rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0)])
    d = rb.make_data(m)
    d.body_touches[1] = 5
    assert counts_around_a_store(m, d) == 10
    assert d.qpos[0] == 4.0

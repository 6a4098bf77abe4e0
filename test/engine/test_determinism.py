# SPDX-License-Identifier: Apache-2.0
"""Equal inputs give equal bits, and a tick allocates no memory."""

import gc
import threading
import tracemalloc

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python as runtime
from support import pairs, robots, states, trees
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.model.declared.options import INTEGRATORS

POSITION = ("xpos", "xmat", "xipos", "ximat", "subtree_com", "cinert", "cdof", "crb", "M")
VELOCITY = ("cvel", "cdof_dot", "qfrc_passive", "qfrc_bias", "cfrc_sum", "qacc")

each_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def resisting(description, base=False):
    """Return a Model with damping, dry friction, and limits that the tests reach."""
    m = trees.build(description, base)
    rng = np.random.default_rng(0)
    spans = np.where((m.jnt_type == 2) | (m.jnt_type == 3), 0.2, np.inf)
    return m.replaced(
        dof_damping=rng.uniform(0.0, 0.5, m.nv),
        dof_frictionloss=rng.uniform(0.0, 0.5, m.nv),
        jnt_range=np.column_stack([-spans, spans]),
        jnt_limited=np.isfinite(spans),
    )


@pytest.fixture(params=["tree-all", "tree-mixed"])
def model(request):
    return resisting(pairs.tree(request.param), request.param == "tree-mixed")


def started(m, seed=1):
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    states.apply_reasonable_forces(m, d)
    return d


@each_integrator
def test_n_steps_at_once_equal_n_single_steps(model, integrator):
    model.opt.integrator = integrator
    many, single = started(model), started(model)
    assert (np.abs(many.qpos) > 0.2).any(), "no joint has reached its limit"
    rb.step(model, many, 37)
    for _ in range(37):
        rb.step(model, single)
    for name in ("qpos", "qvel", "qacc", "time"):
        assert np.array_equal(getattr(many, name), getattr(single, name)), name
    assert np.isfinite(many.qpos).all()


@each_integrator
def test_calls_of_other_functions_between_steps_do_not_change_the_motion(model, integrator):
    """The motion with these calls has the same bits."""
    model.opt.integrator = integrator
    plain, nosy = started(model), started(model)
    for _ in range(5):
        rb.step(model, plain)
        rb.step(model, nosy)
        qacc = nosy.qacc.copy()
        rb.forward(model, nosy)
        rb.inverse(model, nosy)
        rb.energy(model, nosy)
        rb.mass_matrix(model, nosy)
        nosy.qacc = qacc
    assert np.array_equal(plain.qpos, nosy.qpos)
    assert np.array_equal(plain.qvel, nosy.qvel)


@each_integrator
def test_derived_fields_belong_to_the_start_of_the_last_step(model, integrator):
    """After ten steps the derived fields are those that forward computes after nine steps."""
    smoothly(model).opt.integrator = integrator
    d, before = started(model), started(model)
    rb.step(model, before, 9)
    rb.step(model, d, 10)
    after = d.qpos.copy()
    rb.forward(model, before)
    names = POSITION + VELOCITY
    if integrator == "implicit_midpoint" and model.nflighttree > 0:
        # qacc of a step includes the correction of momentum.py
        names = [name for name in names if name != "qacc"]
    for name in names:
        assert np.array_equal(getattr(d, name), getattr(before, name)), name
    assert not np.array_equal(after, before.qpos)


def test_a_call_of_zero_steps_changes_nothing(model):
    d = started(model)
    bits = d.buffer.tobytes()
    rb.step(model, d, 0)
    assert d.buffer.tobytes() == bits


@each_integrator
def test_equal_runs_in_threads_give_equal_bits(model, integrator):
    model.opt.integrator = integrator
    runs = [started(model) for _ in range(4)]
    threads = [threading.Thread(target=rb.step, args=(model, d, 300)) for d in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({d.buffer.tobytes() for d in runs}) == 1


def test_a_copy_continues_like_the_original(model):
    d = started(model)
    rb.step(model, d, 10)
    twin = d.copy()
    rb.step(model, d, 10)
    assert twin.time < d.time
    rb.step(model, twin, 10)
    assert twin.buffer.tobytes() == d.buffer.tobytes()


def test_reset_clears_all_memory_of_a_data(model):
    d = started(model)
    rb.step(model, d, 10)
    rb.reset_data(model, d)
    assert d.buffer.tobytes() == rb.make_data(model).buffer.tobytes()


@pytest.fixture
def allocations():
    """Yield a function that counts the arrays that compiled code has allocated."""
    runtime.memsys_enable_stats()
    count = runtime.memsys_get_stats_alloc
    before = count()
    numba.njit(lambda: np.zeros(3).sum())()
    assert count() > before
    yield count
    runtime.memsys_disable_stats()


@each_integrator
def test_a_tick_allocates_nothing(model, integrator, allocations):
    model.opt.integrator = integrator
    d = started(model)
    stages = (rb.forward, rb.forward_dynamics, rb.inverse, rb.energy, rb.fwd_position, rb.step)

    def ticks(count):
        for _ in range(count):
            for stage in stages:
                stage(model, d)

    ticks(3)
    gc.collect()
    compiled = allocations()
    kept, held = [], []  # bytes gained after a round, and at its peak
    tracemalloc.start()
    try:
        for _ in range(5):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            ticks(200)
            after, peak = tracemalloc.get_traced_memory()
            kept.append(after - before)
            held.append(peak - before)
    finally:
        tracemalloc.stop()
    assert allocations() == compiled, "compiled code allocated arrays"
    # A leak grows in every round, so the smallest gain counts. Other threads, such as those of
    # pytest-xdist, may allocate memory in a single round.
    assert min(kept) <= 0, f"bytes kept by rounds of 1200 calls: {kept}"
    assert min(held) < 4096, f"bytes held within rounds of 1200 calls: {held}"


@robots.needs_robots
def test_a_long_call_of_step_allocates_nothing(allocations):
    m = robots.load(robots.find("talos_reduced.urdf"))
    d = rb.make_data(m)
    rb.step(m, d)
    before = allocations()
    rb.step(m, d, 1000)
    assert allocations() == before
    assert d.time == pytest.approx(1.001)

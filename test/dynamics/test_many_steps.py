# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a call with many timesteps between two steps."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from support import mechanisms, trees

import rbdyn_ros as rb
from rbdyn_ros.dynamics import entry


@pytest.fixture(autouse=True)
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def tree():
    m = trees.build(trees.auto_tree(6, 1.5, seed=2))
    d = rb.make_data(m)
    d.qpos[:] = 0.3
    return m, d


def interrupted(advance, d):
    """Start a call that would take years, and interrupt it once it has begun to step."""

    def interrupt():
        while d.time == 0.0:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        advance(2**61)
    thread.join()


@pytest.mark.parametrize("how", ["engine", "specialised", "rk4", "closed"])
def test_ctrl_c_ends_many_steps_after_a_timestep(how):
    """The Data has the bits of a whole number of timesteps."""
    m, d = tree()
    if how == "closed":
        m = rb.build(mechanisms.grashof())
        d = rb.make_data(m)
        d.qvel[:] = 0.1
    m.opt.timestep = 2.0**-20  # a power of two, so that d.time is exact
    m.opt.integrator = "rk4" if how == "rk4" else "implicit_damping"
    twin = d.copy()
    s = rb.specialize(m) if how == "specialised" else None
    step = s.step if s else lambda d, n: rb.step(m, d, n)
    interrupted(lambda n: step(d, n), d)
    steps = d.time / m.opt.timestep
    assert steps == int(steps) > 0
    step(twin, int(steps))
    assert twin.buffer.tobytes() == d.buffer.tobytes()
    step(d, 1)


class Clock:
    """A stand-in for the module time, in which every step takes `pace` [s]."""

    def __init__(self, pace):
        self.now, self.pace, self.calls = 0.0, pace, []

    def perf_counter(self):
        return self.now

    def advance(self, n):
        self.calls.append(n)
        self.now += n * self.pace


@pytest.mark.parametrize(
    ("nstep", "first", "pace"), [(0, 5, 1.0), (5, 5, 1.0), (6, 5, 1e-9), (10**6, 300, 1e-6)]
)
def test_the_pieces_of_a_long_call_add_up_to_its_steps(monkeypatch, nstep, first, pace):
    clock = Clock(pace)
    monkeypatch.setattr(entry, "time", clock)
    entry.in_pieces(clock.advance, nstep, first)
    assert sum(clock.calls) == nstep
    assert clock.calls[0] == min(first, nstep)


@pytest.mark.parametrize("pace", [1e-7, 1e-5, 1e-3, 0.05, 1.0])
def test_each_piece_of_a_long_call_takes_less_than_a_tenth_of_a_second(monkeypatch, pace):
    clock = Clock(pace)
    monkeypatch.setattr(entry, "time", clock)
    entry.in_pieces(clock.advance, max(int(3.0 / pace), 20), 8)
    assert max(clock.calls[1:]) <= max(1, round(entry.PERIOD / pace))
    assert sum(clock.calls[-5:-1]) >= 0.8 * max(4, 4 * entry.PERIOD / pace // 1)


def test_the_number_of_steps_in_one_piece_depends_on_the_size_of_the_model():
    """Calls with at most m.steps_at_once steps are not divided."""
    m, d = tree()
    assert m.steps_at_once > 100
    big = trees.build(trees.auto_tree(900, 2.0, seed=1, kinds=trees.HINGES))
    assert big.steps_at_once == 8
    rb.step(m, d, m.steps_at_once + 1)
    assert d.time == pytest.approx((m.steps_at_once + 1) * m.opt.timestep)
    assert np.isfinite(d.qpos).all()


def test_ctrl_c_ends_explicit_steps_after_a_timestep():
    """The integrator runs as Python, so the signal may come in the middle of a step."""
    builder = rb.SystemBuilder("one").body("a", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    m = rb.build(builder.joint("j", "revolute", "base", "a", axis=(0, 1, 0)))
    d = rb.make_data(m)

    def gamma(y, yd, q, G, g):
        q[:] = y
        G[0, 0] = 1.0
        if d.time > 0.0:
            raise KeyboardInterrupt

    explicit = rb.ExplicitConstraint(m, 1, gamma)
    before = d.buffer.tobytes()
    with pytest.raises(KeyboardInterrupt):
        explicit.step(d, [0.1], [0.0], [0.0], 3)
    assert d.buffer.tobytes() == before

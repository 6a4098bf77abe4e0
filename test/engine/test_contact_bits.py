# SPDX-License-Identifier: Apache-2.0
"""Simulating from equal states gives equal bits, after any calls and in any thread or process."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.contact_scenes import MEMORY, SCENES, bits, started

import rbdyn_ros as rb

STATE = ("qpos", "qvel", "time", "qfrc_applied", *MEMORY)
PROGRAM = """
import pickle, sys
from support.contact_scenes import bits, rb
for m, state, steps in pickle.load(sys.stdin.buffer):
    d = rb.make_data(m)
    rb.load_state(m, d, state)
    rb.step(m, d, steps)
    print(bits(d))
"""


def with_state(m, other):
    """Return a new Data with only the state of another Data."""
    d = rb.make_data(m)
    for name in STATE:
        setattr(d, name, getattr(other, name))
    return d


@pytest.mark.parametrize("name", SCENES)
def test_result_bits_do_not_depend_on_earlier_calls(name):
    """Single steps, a copy, a reset, a new Data or other starts of searches change no bit."""
    m, start, steps = started(name)
    many, single, half = start.copy(), start.copy(), start.copy()
    rb.step(m, many, steps)
    mutual = 0
    for _ in range(steps):
        rb.step(m, single)
        mutual += single.nmutual
    rb.step(m, half, steps // 2)
    twin, fresh, misled = half.copy(), with_state(m, half), half.copy()
    axes = np.random.default_rng(0).normal(size=misled.push_axis.shape)
    misled.push_axis[:] = axes / np.linalg.norm(axes, axis=1)[:, None]
    for d in (twin, fresh, misled):
        rb.step(m, d, steps - steps // 2)
    rb.reset_data(m, half)
    assert half.buffer.tobytes() == rb.make_data(m).buffer.tobytes()
    again = with_state(m, start)
    rb.step(m, again, steps)
    assert many.nstick > 0
    assert mutual > 10 or name == "tumbling"
    assert {bits(d) for d in (single, twin, fresh, misled, again)} == {bits(many)}


@pytest.mark.parametrize("name", SCENES)
def test_threads_give_the_same_bits_as_step(name):
    m, start, steps = started(name)
    qvel = start.qvel + np.random.default_rng(1).normal(size=(5, m.nv)) * 1e-3
    expected = []
    for v in qvel:
        d = start.copy()
        d.qvel = v
        rb.step(m, d, steps)
        expected.append((d.qpos.copy(), d.qvel.copy()))
    ends = []
    for threads in (1, 2):
        b = rb.Batch(m, 5, nthread=threads)
        b.qpos[:], b.qvel[:], b.qfrc_applied[:] = start.qpos, qvel, start.qfrc_applied
        b.step(nstep=steps)
        ends.append((b.qpos, b.qvel))
        run = rb.rollout(
            m, start.qpos, qvel, start.qfrc_applied, nstep=steps, every=steps,
            threads=threads, specialize=False,
        )  # fmt: skip
        ends.append((run.qpos[:, -1], run.qvel[:, -1]))
    for qpos, qvel in ends:
        for k, (q, v) in enumerate(expected):
            assert qpos[k].tobytes() == q.tobytes()
            assert qvel[k].tobytes() == v.tobytes()


def test_simulations_in_two_processes_have_equal_bits():
    """Both processes simulate the scenes in the same order, from the last to the first."""
    expected, runs = [], []
    for name in reversed(SCENES):
        m, d, steps = started(name)
        runs.append((m, rb.save_state(m, d), steps))
        rb.step(m, d, steps)
        expected.append(bits(d))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    words, states = [sys.executable, "-c", PROGRAM], pickle.dumps(runs)
    run = subprocess.run(words, env=env, input=states, check=True, stdout=subprocess.PIPE)
    assert run.stdout.decode().split() == expected

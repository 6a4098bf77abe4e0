# SPDX-License-Identifier: Apache-2.0
"""Threads share the robots of a rollout; each step of each robot runs once and in order."""

import functools
import threading
import time

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.report import progress
from rbdyn_ros.rollouts import job
from rbdyn_ros.rollouts.driver import BUSY, STOP
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.pool import Pool


class Bar:
    """A stand-in for a progress bar of tqdm."""

    def __init__(self, total):
        self.total, self.n, self.closed = total, 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def update(self, n):
        assert n >= 0
        self.n += n


@pytest.fixture
def bar(monkeypatch):
    made = []

    def make(total, **settings):
        made.append(Bar(total))
        return made[-1]

    monkeypatch.setattr(progress, "bar", make)
    return made


@pytest.fixture(scope="module")
def pendulum():
    rod = rb.Inertial(1.0, rb.Pose((0.0, 0.0, -0.5)), (0.1, 0.1, 0.01, 0.0, 0.0, 0.0))
    system = rb.SystemBuilder("pendulum", base="world").body("rod", rod)
    return rb.build(system.joint("hinge", "continuous", "world", "rod", axis=(0.0, 1.0, 0.0)))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize(
    ("nbatch", "nstep", "piece"), [(1, 1, 10), (1, 1000, 10), (37, 5, 10**4), (37, 100, 7 * 40)]
)
def test_every_step_of_every_robot_is_done_once_and_in_order(
    nbatch, nstep, piece, width, threads, bar, monkeypatch, pendulum
):
    monkeypatch.setattr(job, "PIECE_WORK", piece)
    monkeypatch.setattr(job, "LaneStep", functools.partial(LaneStep, width=width))
    m = pendulum.replaced()  # a new Model has no stored code
    qvel = np.random.default_rng(1).uniform(-1.0, 1.0, (nbatch, 1))
    found = rb.rollout(
        m, np.zeros(1), qvel, nstep=nstep, threads=threads, outputs=("time", "qpos")
    )
    times = np.cumsum(np.full(nstep, m.opt.timestep))
    np.testing.assert_array_equal(found.time, np.broadcast_to(times, (nbatch, nstep)))
    s = rb.specialize(m)
    for k in range(nbatch):
        d = rb.make_data(m)
        d.qvel = qvel[k]
        s.step(d, nstep)
        assert d.qpos[0] == found.qpos[k, -1, 0]
    (shown,) = bar
    assert (shown.total, shown.n, shown.closed) == (nbatch * nstep, nbatch * nstep, True)


def test_the_progress_bar_can_be_switched_off(bar, pendulum):
    rb.rollout(pendulum, np.zeros(1), np.zeros(1), nstep=3, progress=False)
    assert bar == []


def test_an_error_in_another_thread_is_raised_in_the_calling_thread():
    met = threading.Barrier(2)

    def piece(k, words, own):
        if not words[STOP]:
            met.wait()
            if k == 1:
                raise MemoryError("for a test")
            while not words[STOP]:
                time.sleep(0.001)
        return False

    pool = Pool(2, "rollout")
    with pytest.raises(MemoryError, match="for a test"):
        pool.run(piece, 2)
    pool.run(lambda *_: False, 2)  # the other thread still works
    pool.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_in_the_calling_thread_waits_until_all_threads_have_stopped(error):
    """Other threads must not write into arrays that are already freed."""
    met, steps = threading.Barrier(2), []

    def piece(k, words, own):
        if not steps or k == 0:
            met.wait()
        if k == 0:
            raise error("for a test")
        steps.append(1)
        if words[STOP]:
            own[BUSY] = 0
            return False
        return True

    pool = Pool(2, "rollout")
    with pytest.raises(error, match="for a test"):
        pool.run(piece, 2)
    ended = len(steps)
    time.sleep(0.01)
    assert len(steps) == ended > 0
    pool.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("rollout")]

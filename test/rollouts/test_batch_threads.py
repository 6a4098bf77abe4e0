# SPDX-License-Identifier: Apache-2.0
"""The threads of a Batch are made once, end with it, and are safe after a fork and Ctrl-C."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.rollouts import job
from rbdyn_ros.share import bundled_robot


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def helpers():
    return [t for t in threading.enumerate() if t.name.startswith("batch")]


def ended(before):
    """Wait up to 5 s; return whether all threads but those in `before` have ended."""
    for _ in range(500):
        if set(helpers()) <= set(before):
            return True
        time.sleep(0.01)
    return False


def test_threads_start_at_the_first_call_and_end_with_the_batch(m):
    gc.collect()
    before = helpers()
    b = rb.Batch(m, 1000, nthread=3)
    assert helpers() == before  # before a call there are no threads
    for _ in range(20):
        b.step()
    first = set(helpers()) - set(before)
    assert len(first) == 2
    b.step(nstep=3)
    assert set(helpers()) - set(before) == first
    memory = weakref.ref(b.qpos.base)
    del b
    gc.collect()
    assert memory() is None
    assert ended(before)


def test_few_robots_start_no_thread(m):
    before = helpers()
    b = rb.Batch(m, 1, nthread=4)
    b.step(nstep=3)
    assert set(helpers()) <= set(before)


def test_calls_from_several_threads_take_turns(m):
    b, alone = rb.Batch(m, 64, nthread=2), rb.Batch(m, 64, nthread=1)
    callers = [threading.Thread(target=lambda: [b.step() for _ in range(50)]) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    alone.step(nstep=200)
    np.testing.assert_array_equal(b.qpos, alone.qpos)


@pytest.mark.parametrize("piece", [1, 4 * 8 * 8, 10**9])
def test_bits_depend_neither_on_threads_nor_on_pieces_of_work(m, piece, monkeypatch):
    monkeypatch.setattr(job, "PIECE_WORK", piece)
    ends = []
    for nthread in (1, 2, 7):
        b = rb.Batch(m, 77, nthread=nthread)
        b.qvel = np.random.default_rng(3).normal(size=(77, 7))
        for _ in range(3):
            b.step(nstep=6)
        ends.append(b.qpos.tobytes())
    assert len(set(ends)) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_batch_works_in_a_forked_process(m):
    b = rb.Batch(m, 1000, nthread=3)
    b.step()
    child = os.fork()
    if child == 0:
        good = 1
        try:
            b.step(nstep=2)
            good = 0 if np.ptp(b.time) == 0.0 else 1
        finally:
            os._exit(good)
    _, status = os.waitpid(child, 0)
    assert status == 0
    b.step()
    np.testing.assert_array_equal(b.time, 2 * m.opt.timestep)


SCRIPT = """
import os, signal, threading, time
import numpy as np
import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.rollouts import pool

signal.signal(signal.SIGINT, signal.default_int_handler)
m = rb.load_urdf(bundled_robot("seven_dof_arm"))
b = rb.Batch(m, 1000, nthread=2)
b.step()
begun, run = threading.Event(), pool.Pool.run
def watched(self, piece, threads, shown=None):
    def marked(*given):
        left = piece(*given)
        begun.set()
        return left
    run(self, marked, threads, shown)
pool.Pool.run = watched
def interrupt():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    b.step(nstep=10**9)
    print("ran to its end")
except KeyboardInterrupt:
    pool.Pool.run = run
    stopped = b.time.copy()
    time.sleep(0.02)
    same = np.array_equal(stopped, b.time)
    b.step()
    print("interrupted", same, bool(np.all(b.time == stopped + m.opt.timestep)))
"""


def test_ctrl_c_ends_a_call_and_the_batch_can_be_used_again():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60.0, check=False
    )
    assert done.stdout == "interrupted True True\n", done.stderr
    assert done.stderr == ""


def test_a_program_can_end_while_a_batch_exists():
    script = SCRIPT.partition("begun, run")[0].replace("nthread=2", "nthread=4")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60.0, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.returncode != -signal.SIGABRT

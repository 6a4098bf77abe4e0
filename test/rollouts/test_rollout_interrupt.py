# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a rollout raises KeyboardInterrupt and ends its threads; later rollouts work."""

import subprocess
import sys

import pytest
from support.robots import find, needs_robots

#: The rollout would take minutes. A thread sends the signal once the loop runs. If the rollout
#: ignores the signal, the test exceeds the timeout below.
SCRIPT = """
import os, signal, sys, threading
import numpy as np
import rbdyn_ros as rb
from rbdyn_ros.rollouts import pool
from rbdyn_ros.rollouts.rollout import rollout

m = rb.load_urdf(sys.argv[1])
specialize, nbatch, nstep = sys.argv[2] == "True", int(sys.argv[3]), int(sys.argv[4])
# a shell that starts the tests in the background lets their processes ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)
short = dict(nstep=5, specialize=specialize)
before = rollout(m, m.qpos0, np.ones(6), **short)

run, begun = pool.Pool.run, threading.Event()
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
    rollout(m, np.zeros((nbatch, 6)), np.ones(6), nstep=nstep, every=nstep, specialize=specialize)
    print("ran to its end")
except KeyboardInterrupt:
    left = [t.name for t in threading.enumerate() if t.name.startswith("rollout")]
    after = rollout(m, m.qpos0, np.ones(6), **short)
    print("interrupted", left, np.array_equal(before.qpos, after.qpos))
"""


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
@pytest.mark.parametrize(("nbatch", "nstep"), [(1, 10**10), (10**6, 10**4)])
def test_ctrl_c_ends_a_rollout_at_once(nbatch, nstep, specialize):
    """Ctrl-C ends a long rollout of one robot, and a rollout of many robots."""
    words = [str(find("ur5_robot.urdf")), str(specialize), str(nbatch), str(nstep)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    assert done.stdout == "interrupted [] True\n", done.stderr
    # there is no progress bar without a terminal, and no traceback of a thread
    assert done.stderr == ""

# SPDX-License-Identifier: Apache-2.0
"""Derivatives equal complex steps, for which the kernels run as plain Python.

Complex steps have no truncation error. The tolerance is 1e-13 of the largest entry. For results of
M^-1 it is 64 nv cond(M) eps if that is more.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from support import robots, states, trees
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

REPOSITORY = Path(__file__).resolve().parents[2]
KINDS = ("floating", "spherical", "universal", "spherical_ypr", "planar", "helical", "revolute")


def ur5():
    return rb.load_urdf(robots.find("ur5_robot.urdf"))


def tree():
    return rb.build(trees.auto_tree(7, 1.6, kinds=KINDS, seed=5, shuffle=False, offsets=0.5))


@pytest.mark.parametrize("made", [ur5, tree], ids=lambda made: made.__name__)
def test_derivatives_equal_complex_steps(made, tmp_path):
    m = made()
    m.opt.passive = False
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    d.xfrc_applied = 0.0
    source, result = tmp_path / "robot.pickle", tmp_path / "slopes.pickle"
    source.write_bytes(pickle.dumps((m, d)))
    run("support.complex_step", source, result)
    expected = pickle.loads(result.read_bytes())
    ours = {"inverse": rb.inverse_derivatives(m, d), "forward": rb.forward_derivatives(m, d)}
    M = rb.mass_matrix(m, d)
    allowed = {"inverse": 1e-13, "forward": with_inverse(1e-13, M, m.nv)}
    with Comparison("complex step", m.name) as case:
        for kind, tolerance in allowed.items():
            for k, by in enumerate(("dq", "dv")):
                case.close(f"{kind}, {by}", ours[kind][k], expected[kind][k], tolerance)


def run(module, *arguments):
    path = os.pathsep.join(
        [os.environ.get("PYTHONPATH", ""), str(REPOSITORY), str(REPOSITORY / "test")]
    )
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

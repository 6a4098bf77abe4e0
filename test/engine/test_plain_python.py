# SPDX-License-Identifier: Apache-2.0
"""Kernels run as plain Python and on symbols, and the package works without ROS."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import pairs, plain_python, states, trees
from support.compare import Comparison, with_inverse
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "test"


def python(*arguments, **environment):
    path = os.pathsep.join([str(REPOSITORY), str(TESTS), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module", params=["urdf", "library"])
def robot(request):
    """Return Model, Data and tolerance of a tree of all joint types, with all passive forces."""
    if request.param == "urdf":
        m = trees.build(pairs.tree("tree-all"))
    else:
        count = len(trees.LIBRARY)
        tree = trees.auto_tree(count, 1.5, kinds=trees.LIBRARY, shuffle=False, reversals=0.5)
        m = trees.build(tree)
    slides = m.jnt_type == rb.JointType.SLIDE
    m = m.replaced(
        dof_frictionloss=np.full(m.nv, 0.1),
        jnt_limited=slides,
        jnt_range=np.where(slides[:, None], [-0.1, 0.1], [-np.inf, np.inf]),
        jnt_stiffness=np.where(m.jnt_dofnum == 1, 3.0, 0.0),
    )
    d = rb.make_data(smoothly(m))  # the specialiser traces the smooth law
    states.randomise(m, d, 2)
    states.apply_reasonable_forces(m, d)
    return m, d


def results_of(kind, robot, folder):
    source, result = folder / "robot.pickle", folder / f"{kind}.pickle"
    source.write_bytes(pickle.dumps(robot))
    python("-m", "support.plain_python", kind, str(source), str(result), NUMBA_DISABLE_JIT="1")
    return pickle.loads(result.read_bytes())


@pytest.fixture(scope="module")
def on_numbers(robot, tmp_path_factory):
    return results_of("numbers", robot, tmp_path_factory.mktemp("numbers"))


@pytest.fixture(scope="module")
def on_symbols(robot, tmp_path_factory):
    return results_of("symbols", robot, tmp_path_factory.mktemp("symbols"))


SOLVED = ("qacc", "qacc_all", "qacc_step", "Dinv_u", "U_Dinv", "a", "qLD", "qLDiagInv")
FROM_INVERSE = (*SOLVED, "cacc", "cfrc_sum", "qfrc_inverse", "pA")


def compare(kind, robot, name, buffer):
    """Compare a buffer with compiled code, which differs only by fused multiply-adds.

    The tolerance is 1e-13 of the largest entry, or 64 nv cond(M) eps for results that use M^-1.
    """
    assert not isinstance(buffer, str), buffer
    m, d = robot[0], robot[1].copy()
    rb.forward(m, d)
    rb.factor_m(m, d)
    plain_python.run(m, d, name)
    twin = rb.make_data(m)
    twin.buffer[:] = buffer
    inverse = with_inverse(1e-13, rb.mass_matrix(m, d.copy()), m.nv)
    with Comparison(f"plain Python, {kind}", name) as case:
        for field in [field.name for field in DATA_FIELDS if field.dims]:
            tolerance = inverse if field in FROM_INVERSE else 1e-13
            if not field.startswith("rk_"):
                case.close(field, getattr(twin, field), getattr(d, field), tolerance)


@pytest.mark.parametrize("name", plain_python.SMOOTH + plain_python.OTHERS)
def test_plain_python_agrees_with_compiled_code(robot, on_numbers, name):
    compare("numbers", robot, name, on_numbers[name])


@pytest.mark.parametrize("name", plain_python.SMOOTH)
def test_kernels_can_run_on_symbols(robot, on_symbols, name):
    """The specialiser traces these kernels, so their branches must not depend on numbers."""
    compare("symbols", robot, name, on_symbols[name])


def test_the_library_works_without_ros():
    """rclpy and the message packages cannot be imported here."""
    script = (
        "import sys\n"
        "for name in ('rclpy', 'std_msgs', 'sensor_msgs', 'rosidl_runtime_py', 'mujoco',"
        " 'pinocchio'):\n"
        "    sys.modules[name] = None\n"
        "import rbdyn_ros as rb\n"
        "m = rb.load_urdf('''<robot name='r'><link name='a'/><link name='b'><inertial>"
        "<mass value='1'/><origin xyz='0 0 1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0'"
        " iyz='0'/></inertial></link><joint name='j' type='continuous'><parent link='a'/>"
        "<child link='b'/></joint></robot>''')\n"
        "d = rb.make_data(m); d.qpos = 0.1; rb.step(m, d, 10); print(d.qvel[0])\n"
        "print([n for n in sys.modules if n.startswith('rbdyn_ros.ros')])\n"
    )
    speed, modules = python("-c", script).splitlines()
    # a rod at 0.1 rad starts to fall; I = 2 kg m^2, and the centre of mass is 1 m above the pivot
    assert float(speed) == pytest.approx(0.01 * 9.81 * np.sin(0.1) / 2.0, rel=1e-3)
    assert modules == "[]"

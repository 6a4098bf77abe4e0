# SPDX-License-Identifier: Apache-2.0
"""Whole timesteps agree with mujoco.mj_step.

MuJoCo's Euler is our implicit_damping, or our euler if mjDSBL_EULERDAMP disables implicit
damping. The tolerance after n steps is n times the tolerance of one acceleration, because errors
add up.
"""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
import mujoco
from support import mujoco_twin, pairs, robots, states, trees
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

NO_EULER_DAMPING = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
INTEGRATORS = {
    "euler": (mujoco.mjtIntegrator.mjINT_EULER, NO_EULER_DAMPING),
    "implicit_damping": (mujoco.mjtIntegrator.mjINT_EULER, 0),
    "implicit": (mujoco.mjtIntegrator.mjINT_IMPLICIT, 0),
    "rk4": (mujoco.mjtIntegrator.mjINT_RK4, 0),
}
STEPS = 10


#: RK4 of MuJoCo 3 adds angular velocities in the axes of different trial states.
SECOND_ORDER_TURNS = int(mujoco.__version__.split(".")[0]) < 4


def check_steps(m, mm, integrator, where):
    turning = (m.jnt_type == rb.JointType.FREE) | (m.jnt_type == rb.JointType.BALL)
    if SECOND_ORDER_TURNS and integrator == "rk4" and turning.any():
        pytest.skip(f"rk4 of MuJoCo {mujoco.__version__} is of order 2 for turning joints")
    m = m.replaced(dof_frictionloss=0.0 * m.dof_damping, jnt_limited=0 * m.jnt_limited)
    m.opt.integrator = integrator
    theirs, flag = INTEGRATORS[integrator]
    mm.opt.integrator = theirs
    mm.opt.disableflags = (mm.opt.disableflags & ~NO_EULER_DAMPING) | flag
    d, md = rb.make_data(m), mujoco.MjData(mm)
    states.randomise(m, d, 11, speed=2.0)
    d.qacc *= 100.0  # large accelerations, so that terms of order h are visible
    states.apply_reasonable_forces(m, d)
    mujoco_twin.copy_state(d, md)
    tolerance = STEPS * with_inverse(1e-10, rb.mass_matrix(m, d), 1)
    rb.step(m, d, STEPS)
    mujoco.mj_step(mm, md, STEPS)
    with Comparison(f"MuJoCo, {integrator}", where) as case:
        case.close("qpos", d.qpos, md.qpos, tolerance)
        case.close("qvel", d.qvel, md.qvel, tolerance)
        case.close("time", d.time, md.time, 1e-12)
        if integrator != "rk4":  # MuJoCo's RK4 leaves the fields of its last trial state
            if integrator == "euler":  # MuJoCo's qacc always includes explicit damping
                case.close("qacc", d.qacc, md.qacc, tolerance)
            case.close("xpos", d.xpos, md.xpos, tolerance)
            case.close("cvel", d.cvel, md.cvel, tolerance)


each_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)
ROBOTS = ("ur5_robot.urdf", "panda.urdf", "talos_reduced.urdf", "solo12.urdf", "kinova.urdf")


@each_integrator
@pairs.each_base
@pytest.mark.parametrize("name", ROBOTS)
def test_steps_of_a_robot_agree_with_mujoco(name, base, integrator):
    m, mm = pairs.robot_pair(robots.find(name), base)
    check_steps(m, mm, integrator, f"{name}, {base} base")


@each_integrator
@pairs.each_base
@pytest.mark.parametrize("name", pairs.TREES)
def test_steps_of_a_tree_agree_with_mujoco(name, base, integrator):
    m, mm = pairs.tree_pair(name, base)
    check_steps(m, mm, integrator, f"{name}, {base} base")


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "implicit"])
def test_qacc_equals_the_acceleration_of_the_step(integrator):
    m = trees.build(pairs.tree("tree-mixed"))
    m.opt.integrator = integrator
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    start = d.copy()
    rb.step(m, d)
    rb.forward_dynamics(m, start)
    assert np.array_equal(d.qacc, start.qacc)
    moved = start.qvel + m.opt.timestep * start.qacc
    assert np.abs(d.qvel - moved).max() <= np.spacing(np.abs(moved).max())

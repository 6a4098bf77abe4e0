# SPDX-License-Identifier: Apache-2.0
"""Each stage agrees with MuJoCo, field by field; before a stage its outputs are set to NaN.

The tolerance is 1e-10 of a field's largest entry. Both engines compute the same sums, but they
diagonalise inertias and fuse fixed links differently, which costs some 1e-13 on badly scaled
robots. The tolerance of results that use M^-1 is 64 cond(M) eps if this is larger.
"""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
import mujoco
from support import mujoco_twin, pairs, robots, states
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

TOLERANCE = 1e-10


def world_inertia(xmat, moments):
    """Return the inertia tensors in world axes, because principal axes are not unique."""
    R = np.asarray(xmat).reshape(-1, 3, 3)
    return np.einsum("bij,bj,bkj->bik", R, moments, R)


def check_position(case, m, d, mm, md):
    states.poison(d, "kinematics")
    rb.kinematics(m, d)
    mujoco.mj_kinematics(mm, md)
    for name in ("xpos", "xmat", "xipos"):
        case.close(name, getattr(d, name), getattr(md, name), TOLERANCE)
    case.close(
        "ximat I ximat^T",
        world_inertia(d.ximat, m.body_inertia),
        world_inertia(md.ximat, mm.body_inertia),
        TOLERANCE,
    )
    states.poison(d, "com_pos")
    rb.com_pos(m, d)
    mujoco.mj_comPos(mm, md)
    for name in ("subtree_com", "cinert", "cdof"):
        case.close(name, getattr(d, name), getattr(md, name), TOLERANCE)


def check_inertia(case, m, d, mm, md):
    states.poison(d, "crb")
    rb.crb(m, d)
    mujoco.mj_crb(mm, md)
    case.close("crb", d.crb[1:], md.crb[1:], TOLERANCE)
    case.close("M", d.M, md.M, TOLERANCE)
    dense = np.empty((m.nv, m.nv))
    mujoco.mj_fullM(mm, md, dense)
    case.close("mass_matrix", rb.mass_matrix(m, d), dense, TOLERANCE)
    states.poison(d, "factor_m")
    rb.factor_m(m, d)
    mujoco.mj_factorM(mm, md)
    inverse = with_inverse(TOLERANCE, dense, 1)
    case.close("qLD", d.qLD, md.qLD, inverse)
    case.close("qLDiagInv", d.qLDiagInv, md.qLDiagInv, inverse)
    x, y = np.full(m.nv, np.nan), np.random.default_rng(0).normal(size=m.nv)
    expected = np.empty((1, m.nv))
    rb.solve_m(m, d, x, y)
    mujoco.mj_solveM(mm, md, expected, y[None])
    case.close("solve_m", x, expected[0], inverse)
    rb.mul_m(m, d, x, y)
    mujoco.mj_mulM(mm, md, expected[0], y)
    case.close("mul_m", x, expected[0], TOLERANCE)
    return inverse


def check_velocity(case, m, d, mm, md):
    states.poison(d, "com_vel")
    rb.com_vel(m, d)
    mujoco.mj_comVel(mm, md)
    case.close("cvel", d.cvel, md.cvel, TOLERANCE)
    case.close("cdof_dot", d.cdof_dot, md.cdof_dot, TOLERANCE)
    states.poison(d, "passive")
    rb.passive(m, d)
    mujoco.mj_passive(mm, md)
    case.close("qfrc_passive", d.qfrc_passive, md.qfrc_passive, TOLERANCE)
    states.poison(d, "bias_force", "rne")
    rb.bias_force(m, d)
    rb.rne(m, d)
    bias = np.full(m.nv, np.nan)
    mujoco.mj_rne(mm, md, 0, bias)
    case.close("qfrc_bias", d.qfrc_bias, bias, TOLERANCE)
    case.close("cfrc_sum of rne", *without_qacc(m, d), TOLERANCE)


def without_qacc(m, d):
    """Return cfrc_sum, and the sums of cfrc_bias towards the root that cfrc_sum must equal."""
    total = d.cfrc_bias.copy()
    for i in range(m.nbody - 1, 0, -1):
        total[m.body_parentid[i]] += total[i]
    return d.cfrc_sum[1:], total[1:]


def check_energy(case, m, d, mm, md):
    states.poison(d, "energy")
    rb.energy(m, d)
    mujoco.mj_energyPos(mm, md)
    mujoco.mj_energyVel(mm, md)
    case.close("energy", d.energy, md.energy, TOLERANCE)


def check_dynamics(case, m, d, mm, md, inverse):
    qacc = d.qacc.copy()
    states.poison(d, "aba", "fwd_acceleration")
    rb.aba(m, d)
    mujoco.mj_forward(mm, md)
    case.close("qacc", d.qacc, md.qacc, inverse)
    d.qacc = md.qacc[:] = qacc
    states.poison(d, "kinematics", "com_pos", "com_vel", "passive", "bias_force", "inverse")
    rb.inverse(m, d)
    mujoco.mj_inverse(mm, md)
    case.close("qfrc_inverse", d.qfrc_inverse, md.qfrc_inverse, TOLERANCE)
    # mj_rnePostConstraint includes xfrc_applied in cfrc_int, so set it to zero
    md.xfrc_applied[:] = 0.0
    mujoco.mj_rnePostConstraint(mm, md)
    case.close("cacc", d.cacc, md.cacc, TOLERANCE)
    case.close("cfrc_int", d.cfrc_sum[1:], md.cfrc_int[1:], TOLERANCE)


def check_all(m, mm, where, seed):
    smooth = m.replaced(dof_frictionloss=0.0 * m.dof_damping, jnt_limited=0 * m.jnt_limited)
    smooth.opt.integrator = "euler"  # explicit damping, as in mj_forward and mj_inverse
    d, md = rb.make_data(smooth), mujoco.MjData(mm)
    states.randomise(smooth, d, seed)
    mujoco_twin.copy_state(d, md)
    with Comparison("MuJoCo", f"{where}, seed {seed}") as case:
        check_position(case, smooth, d, mm, md)
        inverse = check_inertia(case, smooth, d, mm, md)
        check_velocity(case, smooth, d, mm, md)
        check_energy(case, smooth, d, mm, md)
        check_dynamics(case, smooth, d, mm, md, inverse)


@pairs.each_base
@robots.each_robot
def test_a_robot_agrees_with_mujoco(path, base):
    m, mm = pairs.robot_pair(path, base)
    for seed in (1, 2):
        check_all(m, mm, f"{robots.robot_id(path)}, {base} base", seed)


@pairs.each_base
@pytest.mark.parametrize("name", pairs.TREES)
def test_a_tree_agrees_with_mujoco(name, base):
    m, mm = pairs.tree_pair(name, base)
    for seed in range(4):
        check_all(m, mm, f"{name}, {base} base", seed)


@pytest.mark.parametrize("name", ["tree-mixed", "tree-all"])
def test_armature_agrees_with_mujoco(name):
    m, mm = pairs.tree_pair(name, "floating")
    armature = np.random.default_rng(9).uniform(0.1, 1.0, m.nv)
    mm.dof_armature[:] = armature
    check_all(m.replaced(dof_armature=armature), mm, f"{name} with armature", 1)


def test_gravity_may_have_any_direction():
    m, mm = pairs.tree_pair("tree-all", "fixed")
    m = m.replaced()
    gravity = (1.0, -2.0, 3.0)
    m.opt.gravity = gravity
    mm.opt.gravity[:] = gravity
    smooth = m  # no friction or limits in this tree
    d, md = rb.make_data(smooth), mujoco.MjData(mm)
    states.randomise(smooth, d, 5)
    mujoco_twin.copy_state(d, md)
    rb.forward(smooth, d)
    rb.energy(smooth, d)
    mujoco.mj_forward(mm, md)
    mujoco.mj_energyPos(mm, md)
    with Comparison("MuJoCo", "gravity (1, -2, 3)") as case:
        case.close("qfrc_bias", d.qfrc_bias, md.qfrc_bias, TOLERANCE)
        case.close("potential energy", d.energy[:1], md.energy[:1], TOLERANCE)

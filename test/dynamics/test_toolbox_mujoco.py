# SPDX-License-Identifier: Apache-2.0
"""Frames, centres of mass, momentum, energies and M^-1 agree with MuJoCo.

The tolerance is 1e-10 of the largest entry. For M^-1 it is 64 cond(M) eps if that is more. In both
engines a body has the frame of the link that its joint moves.
"""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
import mujoco
from support import mujoco_twin, pairs, robots, states
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

TOLERANCE = 1e-10
XBODY = mujoco.mjtObj.mjOBJ_XBODY


@pairs.each_base
@robots.needs_robots
@robots.each_robot
def test_the_toolbox_agrees_with_mujoco_on_a_robot(path, base):
    m, mm = pairs.robot_pair(path, base)
    compare(m, mm, f"{robots.robot_id(path)}, {base} base", path.name not in robots.SINGULAR)


@pairs.each_base
@pytest.mark.parametrize("name", pairs.TREES)
def test_the_toolbox_agrees_with_mujoco_on_a_tree(name, base):
    m, mm = pairs.tree_pair(name, base)
    compare(m, mm, f"{name}, {base} base", regular=True)


def compare(m, mm, where, regular):
    d, md = rb.make_data(m), mujoco.MjData(mm)
    states.randomise(m, d, 1)
    qacc = d.qacc.copy()
    mujoco_twin.copy_state(d, md)
    mm.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(mm, md)
    mujoco.mj_subtreeVel(mm, md)
    md.qacc[:] = qacc
    md.xfrc_applied[:] = 0.0
    mujoco.mj_rnePostConstraint(mm, md)
    if m.nbody == 1:
        assert m.nv == mm.nv == 0
        return
    with Comparison("toolbox, MuJoCo", where) as case:
        bodies = np.unique(np.linspace(1, m.nbody - 1, 4).astype(int))
        for body in bodies:
            compare_frame(case, m, d, mm, md, body)
            compare_centre(case, m, d, mm, md, body)
        compare_centre(case, m, d, mm, md, 0)
        compare_whole(case, m, d, mm, md, regular)


def compare_frame(case, m, d, mm, md, body):
    name = own_frame(m, body)
    point = md.xpos[body].copy()
    J, rate = np.zeros((6, m.nv)), np.zeros((6, m.nv))
    mujoco.mj_jac(mm, md, J[3:], J[:3], point, body)
    mujoco.mj_jacDot(mm, md, rate[3:], rate[:3], point, body)
    case.close("frame_jacobian", rb.frame_jacobian(m, d, name), J, TOLERANCE)
    case.close("frame_jacobian_dot", rb.frame_jacobian_dot(m, d, name), rate, TOLERANCE, 1.0)
    for ref, local in (("local", 1), ("local_world_aligned", 0)):
        res = np.zeros(6)
        mujoco.mj_objectVelocity(mm, md, XBODY, body, res, local)
        case.close(f"frame_velocity, {ref}", rb.frame_velocity(m, d, name, ref), res, TOLERANCE)
    mujoco.mj_objectAcceleration(mm, md, XBODY, body, res, 0)
    ours = rb.frame_acceleration(m, d, name)
    ours[3:] -= m.opt.gravity  # MuJoCo's acceleration is what an accelerometer would measure
    case.close("frame_acceleration", ours, res, TOLERANCE)


def own_frame(m, body):
    """Return the name of a body's frame in MuJoCo: the frame of the link that its joint moves."""
    return next(
        name
        for name, owner, pos, quat in zip(
            m.frame_names, m.frame_bodyid, m.frame_pos, m.frame_quat, strict=True
        )
        if owner == body and not pos.any() and quat[0] == 1.0
    )


def compare_centre(case, m, d, mm, md, body):
    if m.body_subtreemass[body] < 1e-12:
        return
    J = np.zeros((3, m.nv))
    mujoco.mj_jacSubtreeCom(mm, md, J, body)
    case.close("com", rb.com(m, d, body), md.subtree_com[body], TOLERANCE)
    case.close("com_jacobian", rb.com_jacobian(m, d, body), J, TOLERANCE)
    case.close("com_velocity", rb.com_velocity(m, d, body), md.subtree_linvel[body], TOLERANCE)


def compare_whole(case, m, d, mm, md, regular):
    mass = m.body_subtreemass[0]
    A = np.zeros((6, m.nv))
    mujoco.mj_angmomMat(mm, md, A[:3], 0)
    mujoco.mj_jacSubtreeCom(mm, md, A[3:], 0)
    A[3:] *= mass
    case.close("centroidal_momentum_matrix", rb.centroidal_momentum_matrix(m, d), A, TOLERANCE)
    h = np.concatenate([md.subtree_angmom[0], mass * md.subtree_linvel[0]])
    case.close("centroidal_momentum", rb.centroidal_momentum(m, d), h, TOLERANCE)
    m.opt.passive = False
    energy = [rb.potential_energy(m, d), rb.kinetic_energy(m, d)]
    case.close("energies", energy, md.energy, TOLERANCE)
    case.close("bias_term", rb.bias_term(m, d), md.qfrc_bias, TOLERANCE)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(mm, md, M)
    if regular:
        tolerance = with_inverse(TOLERANCE, M, 1)
        case.close(
            "inverse_mass_matrix", rb.inverse_mass_matrix(m, d), np.linalg.inv(M), tolerance
        )
        J, name = np.zeros((6, m.nv)), own_frame(m, m.nbody - 1)
        mujoco.mj_jac(mm, md, J[3:], J[:3], md.xpos[-1], m.nbody - 1)
        mobility = rb.frame_mobility(m, d, name)
        case.close("frame_mobility", mobility, J @ np.linalg.solve(M, J.T), tolerance)

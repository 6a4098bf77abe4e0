"""Model arrays against MuJoCo's: numbering, masses, sparse layout of M."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
from support import pairs, robots
from support.compare import Comparison

TREE = ("body_parentid", "body_rootid", "body_dofadr", "body_dofnum", "dof_bodyid", "dof_parentid")
SPARSE = ("M_rownnz", "M_rowadr", "M_colind")
JOINTS = ("jnt_type", "jnt_qposadr", "jnt_dofadr", "jnt_bodyid", "dof_jntid")
TOLERANCE = 1e-10  # of the largest entry: the engines fuse links and turn axes in their own order


def compare(case, m, mm):
    for name in TREE + SPARSE:
        case.equal(name, getattr(m, name), getattr(mm, name))
    for name in ("body_mass", "body_subtreemass", "dof_damping"):
        theirs = getattr(mm, name)
        linear = theirs if theirs.ndim == 1 else theirs[:, 0]  # its damping is a polynomial
        case.close(name, getattr(m, name), linear, TOLERANCE)
    case.close("body_pos", m.body_pos, mm.body_pos, TOLERANCE)
    case.close("body_ipos", m.body_ipos, mm.body_ipos, TOLERANCE)
    signs = np.sign(np.sum(m.body_quat * mm.body_quat, axis=1))[:, None]  # q and -q are one turn
    case.close("body_quat", m.body_quat, signs * mm.body_quat, TOLERANCE)
    case.close("body_inertia", np.sort(m.body_inertia), np.sort(mm.body_inertia), TOLERANCE)
    case.close("dof_armature", m.dof_armature, mm.dof_armature, TOLERANCE)


@pairs.each_base
@robots.each_robot
def test_robot(path, base):
    m, mm = pairs.robot_pair(path, base)
    with Comparison("MuJoCo, Model", f"{robots.robot_id(path)}, {base} base") as case:
        case.equal("nq, nv, nbody, njnt", (m.nq, m.nv, m.nbody, m.njnt),
                   (mm.nq, mm.nv, mm.nbody, mm.njnt))  # fmt: skip
        names = [mm.body(i).name.replace("moving_world", "world") for i in range(mm.nbody)]
        case.equal("body_names", m.body_names, names)
        case.equal("jnt_names", m.jnt_names, [mm.jnt(j).name for j in range(mm.njnt)])
        for name in JOINTS:
            case.equal(name, getattr(m, name), getattr(mm, name))
        case.close("jnt_axis", m.jnt_axis, mm.jnt_axis, TOLERANCE)
        case.close("qpos0", m.qpos0, mm.qpos0, TOLERANCE)
        compare(case, m, mm)


@pairs.each_base
@pytest.mark.parametrize("name", pairs.TREES)
def test_tree(name, base):
    m, mm = pairs.tree_pair(name, base)
    with Comparison("MuJoCo, Model", f"{name}, {base} base") as case:
        case.equal("body_names", m.body_names, [mm.body(i).name for i in range(mm.nbody)])
        compare(case, m, mm)

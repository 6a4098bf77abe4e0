# SPDX-License-Identifier: Apache-2.0
"""The numbering, masses and sparse layout of M in a Model agree with MuJoCo."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
import mujoco
from support import pairs, robots
from support.compare import Comparison

import rbdyn_ros as rb

TREE = ("body_parentid", "body_rootid", "body_dofadr", "body_dofnum", "dof_bodyid", "dof_parentid")
SPARSE = ("M_rownnz", "M_rowadr", "M_colind")
JOINTS = ("jnt_type", "jnt_qposadr", "jnt_dofadr", "jnt_bodyid", "dof_jntid")
# relative to the largest entry; the engines add the masses of fused links in different orders
TOLERANCE = 1e-10


def compare(case, m, mm):
    for name in TREE + SPARSE:
        case.equal(name, getattr(m, name), getattr(mm, name))
    for name in ("body_mass", "body_subtreemass", "dof_damping"):
        theirs = getattr(mm, name)
        # in new versions MuJoCo's damping is a polynomial
        linear = theirs if theirs.ndim == 1 else theirs[:, 0]
        case.close(name, getattr(m, name), linear, TOLERANCE)
    case.close("body_pos", m.body_pos, mm.body_pos, TOLERANCE)
    case.close("body_ipos", m.body_ipos, mm.body_ipos, TOLERANCE)
    # q and -q are the same rotation
    signs = np.sign(np.sum(m.body_quat * mm.body_quat, axis=1))[:, None]
    case.close("body_quat", m.body_quat, signs * mm.body_quat, TOLERANCE)
    case.close("body_inertia", np.sort(m.body_inertia), np.sort(mm.body_inertia), TOLERANCE)
    case.close("dof_armature", m.dof_armature, mm.dof_armature, TOLERANCE)


@pairs.each_base
@robots.each_robot
def test_the_model_of_a_robot_agrees_with_mujoco(path, base):
    m, mm = pairs.robot_pair(path, base)
    with Comparison("MuJoCo, Model", f"{robots.robot_id(path)}, {base} base") as case:
        case.equal("nq, nv, nbody, njnt", (m.nq, m.nv, m.nbody, m.njnt),
                   (mm.nq, mm.nv, mm.nbody, mm.njnt))  # fmt: skip
        names = [mm.body(i).name.replace("moving_world", "world_link") for i in range(mm.nbody)]
        case.equal("body_names", m.body_names, names)
        case.equal("jnt_names", m.jnt_names, [mm.jnt(j).name for j in range(mm.njnt)])
        for name in JOINTS:
            case.equal(name, getattr(m, name), getattr(mm, name))
        case.close("jnt_axis", m.jnt_axis, mm.jnt_axis, TOLERANCE)
        if b"initial_value" not in path.read_bytes():  # MuJoCo does not read <ros2_control>
            case.close("qpos0", m.qpos0, mm.qpos0, TOLERANCE)
        compare(case, m, mm)


@pairs.each_base
@pytest.mark.parametrize("name", pairs.TREES)
def test_the_model_of_a_tree_agrees_with_mujoco(name, base):
    m, mm = pairs.tree_pair(name, base)
    with Comparison("MuJoCo, Model", f"{name}, {base} base") as case:
        case.equal("body_names", m.body_names, [mm.body(i).name for i in range(mm.nbody)])
        compare(case, m, mm)


PLANAR = """<robot name="p"><link name="a"/><link name="b"><inertial><origin xyz=".1 .2 .3"/>
<mass value="2"/><inertia ixx="1" iyy="1.1" izz="1.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="planar"><origin xyz="1 2 3" rpy=".1 .2 .3"/><parent link="a"/>
<child link="b"/><axis xyz="{axis}"/></joint>
<mujoco><compiler fusestatic="true" balanceinertia="false"/></mujoco></robot>"""


@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0", "0 -1 0", "0 0 -1", "0.3 -0.5 0.8"])
def test_the_planar_joint_of_a_urdf_agrees_with_mujoco(axis):
    """MuJoCo makes two slides and a hinge of a planar joint; axes and coordinates agree."""
    text = PLANAR.format(axis=axis)
    m, mm = rb.load_urdf(text), mujoco.MjModel.from_xml_string(text)
    d, md = rb.make_data(m), mujoco.MjData(mm)
    d.qpos = md.qpos[:] = [0.1, 0.2, 0.3]
    d.qvel = md.qvel[:] = [0.4, 0.5, 0.6]
    rb.forward(m, d)
    mujoco.mj_forward(mm, md)
    with Comparison("MuJoCo", f"planar joint about {axis}") as case:
        for name in ("xpos", "xmat", "cdof", "cdof_dot", "M", "qfrc_bias", "qacc"):
            case.close(name, getattr(d, name), getattr(md, name), TOLERANCE)

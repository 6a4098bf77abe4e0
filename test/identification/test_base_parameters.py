# SPDX-License-Identifier: Apache-2.0
"""Base parameters have known numbers, agree with closed forms, and predict the same efforts."""

import numpy as np
import pytest
from moved_arms import ARM, recorded, rubbing, sines
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.identification.equations.base import base_parameters, condition
from rbdyn_ros.identification.equations.regressor import Extra, extra_columns, torque_regressor

DOUBLE = """<robot name="double"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0.01 0"/><mass value="3"/>
 <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
 <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
</joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/>
 <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint></robot>"""


def load(name):
    path = ARM if name == "seven_dof_arm" else robots.find(name)
    return rb.load_urdf(path, strict=False)


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf", "tiago_pro.urdf"])
def test_regressor_and_friction_columns_give_inverse_dynamics(name):
    m = load(name).replaced(dof_armature=np.zeros(load(name).nv))
    friction = rubbing(m) if name == "ur5_robot.urdf" else Friction.of(m.nv, 0.3, 0.7)
    motion = recorded(m, friction, seed=1, samples=40)
    Y = torque_regressor(m, motion.qpos, motion.qvel, motion.qacc)
    effort = Y @ rb.inertial_parameters(m)
    for k in range(m.nv):
        for kind, value in (("viscous", friction.viscous), ("coulomb", friction.coulomb)):
            effort[:, k] += value[k] * extra_columns(kind, motion, friction.smoothing)[:, k]
    # the motion's efforts come from the engine's recursion, not from a regressor
    np.testing.assert_allclose(effort, motion.effort, atol=1e-11 * np.abs(motion.effort).max())


def test_the_regressor_has_columns_for_rotors_and_offsets():
    m = load("seven_dof_arm")
    motion = recorded(m, rubbing(m), seed=1, samples=5)
    assert Extra("armature", 2).kind == "armature"
    np.testing.assert_array_equal(extra_columns("armature", motion, np.ones(7)), motion.qacc)
    np.testing.assert_array_equal(extra_columns("offset", motion, np.ones(7)), np.ones((5, 7)))


@pytest.mark.parametrize(
    ("gravity", "count"),
    [((0.0, 0.0, -9.81), 36), ((1.0, 2.0, -9.0), 38)],
)
def test_base_parameters_of_six_revolute_joints_have_the_known_number(gravity, count):
    # each joint adds 7 base parameters, but a first joint with a vertical axis adds only the
    # inertia about this axis. If the axis is tilted, two first moments matter, too
    m = load("ur5_robot.urdf").replaced()
    m.opt.gravity = gravity
    assert base_parameters(m).rank == count


@pytest.mark.parametrize("name", ["seven_dof_arm", "panda.urdf", "ur5_robot.urdf"])
def test_the_rank_agrees_with_singular_values_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    path = ARM if name == "seven_dof_arm" else str(robots.find(name))
    theirs = pin.buildModelFromUrdf(path)
    m, data = rb.load_urdf(path, mimic=False), theirs.createData()
    rows, rng = [], np.random.default_rng(3)
    for _ in range(60):
        q, v, a = rng.uniform(-3.0, 3.0, (3, theirs.nv))
        rows.append(pin.computeJointTorqueRegressor(theirs, data, q, v, a))
    values = np.linalg.svd(np.concatenate(rows), compute_uv=False)
    assert base_parameters(m).rank == int(np.sum(values > 1e-9 * values[0]))


@pytest.mark.parametrize("name", ["seven_dof_arm", "panda.urdf", "ur5_robot.urdf"])
def test_base_parameters_give_the_efforts_of_all_parameters(name):
    m = load(name)
    base, (_, q, v, a) = base_parameters(m), sines(m.nv, seed=5, samples=50)
    Y, x = torque_regressor(m, q, v, a), rb.inertial_parameters(m)
    full = Y @ x
    # URDFs have rounded angles, so columns count as dependent even if they differ by 1e-4
    allowed = 1e-9 if name != "ur5_robot.urdf" else 1e-5
    np.testing.assert_allclose(
        base.regressor(Y) @ (base.combination @ x), full, atol=allowed * np.abs(full).max()
    )
    assert np.linalg.matrix_rank(base.combination) == base.rank == len(base.names)


def test_a_double_pendulum_has_the_base_parameters_of_the_textbook():
    # with gravity along the axes z these are Izz1 + m2 l^2, m2 c2x, m2 c2y and Izz2
    m = rb.load_urdf(DOUBLE)
    m.opt.gravity = (0.0, 0.0, -9.81)
    base = base_parameters(m)
    assert base.names == ("upper.Izz + 0.25 lower.m", "lower.mx", "lower.my", "lower.Izz")
    values = base.combination @ rb.inertial_parameters(m)
    I1, I2 = 0.25 + 3.0 * (0.2**2 + 0.01**2), 0.25 + 2.0 * 0.3**2
    np.testing.assert_allclose(values, [I1 + 2.0 * 0.5**2, 0.6, 0.0, I2], atol=1e-12)


def test_a_planar_double_pendulum_has_known_base_parameters():
    # gravity in the plane of motion also shows m1 c1x + m2 l and m1 c1y
    m = rb.load_urdf(DOUBLE)
    m.opt.gravity = (0.0, -9.81, 0.0)
    base = base_parameters(m)
    assert base.rank == 6


def test_resting_joints_add_no_base_parameters():
    m = load("panda.urdf")
    arm_only = base_parameters(m, dofs=range(7))
    assert arm_only.rank < base_parameters(m).rank


def test_combinations_depend_on_the_positions_of_resting_joints():
    # the lower link is parallel or perpendicular to the upper link
    m = rb.load_urdf(DOUBLE)
    (along,) = base_parameters(m, dofs=[0]).names
    (across,) = base_parameters(m, dofs=[0], rest=[9.0, np.pi / 2.0]).names
    assert along == "upper.Izz + 0.25 lower.m + lower.mx + lower.Izz"
    assert across == "upper.Izz + 0.25 lower.m - lower.my + lower.Izz"


def test_the_condition_number_does_not_depend_on_units():
    Y = np.random.default_rng(0).normal(size=(50, 4))
    assert condition(Y * [1.0, 1e6, 1e-6, 3.0]) == pytest.approx(condition(Y), rel=1e-9)
    assert condition(np.eye(4)) == pytest.approx(1.0)
    assert condition(np.column_stack([Y, np.zeros(50)])) == np.inf
    assert condition(Y[:3]) == np.inf


def test_names_of_base_parameters_are_in_the_order_of_dofs():
    m = load("panda.urdf")
    assert dof_names(m)[-1] == "panda_finger_joint1"

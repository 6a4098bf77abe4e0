# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics finds the actuator forces that cause a given motion of a closed loop."""

from dataclasses import replace

import numpy as np
import pytest
from support import mechanisms
from support.compare import Comparison
from support.mechanisms import see_constraints, started

import rbdyn_ros as rb


def moving(m, seed=0, **how):
    """Return a Data with a state and a qacc that satisfy the loop constraints."""
    d = started(m, seed=seed, **how)
    see_constraints(m, d)
    qacc = np.random.default_rng(seed).uniform(-3.0, 3.0, m.nv)
    lacking = d.efc_aref - d.efc_J @ qacc
    d.qacc = qacc + np.linalg.lstsq(d.efc_J, lacking, rcond=1e-9)[0]
    return d


def tree_forces(m, d):
    """Return the joint forces that cause d.qacc in the spanning tree without loops."""
    twin = d.copy()
    rb.forward(m, twin)
    return rb.mass_matrix(m, twin) @ d.qacc + twin.qfrc_bias - twin.qfrc_passive


def actuated(m):
    return m.jnt_actuated[m.dof_jntid].astype(bool)


def moves_so(m, d):
    """Return the accelerations that forward dynamics computes from d.qfrc_inverse."""
    twin = d.copy()
    twin.qfrc_applied = d.qfrc_inverse
    rb.forward(m, twin)
    return twin.qacc.copy()


START = {
    "five_bar": {},
    "grashof": {"A": 1.0},
    "crank_slider": {"A": 1.0},
    "bricard": {"hinge_1": -2.0},
    "spatial_slider_crank": {"A": 1.0},
    "gripper": {},
    "pantograph": {"qpos": mechanisms.pantograph_at(0.4, -1.0)},
}


@pytest.mark.parametrize("seed", range(3))
def test_two_motors_move_a_five_bar(seed):
    """The torques are unique, as there are as many motors as degrees of freedom."""
    m = rb.build(mechanisms.five_bar())
    d = moving(m, seed)
    wanted, tau = d.qacc.copy(), tree_forces(m, d)
    rb.inverse(m, d)
    drives = actuated(m)
    assert drives.sum() == 2
    assert np.abs(d.qfrc_inverse[~drives]).max() < 1e-12 * np.abs(d.qfrc_inverse).max()
    # NumPy solves for the motor torques and lambda together
    K = d.efc_J
    unknown = np.linalg.lstsq(np.hstack([np.eye(m.nv)[:, drives], K.T]), tau, rcond=1e-9)[0]
    with Comparison("closed inverse", f"five-bar {seed}") as compare:
        compare.close("qacc", moves_so(m, d), wanted, 1e-10)
        compare.close("torques", d.qfrc_inverse[drives], unknown[:2], 1e-10)
        compare.close("balance", d.qfrc_inverse + K.T @ d.efc_force, tau, 1e-11)
        compare.close("qfrc_constraint", d.qfrc_constraint, K.T @ d.efc_force, 1e-12)


def test_three_motors_move_a_delta_robot():
    m = rb.build(mechanisms.delta())
    d = moving(m, qpos=mechanisms.delta_at(m, np.array([0.05, -0.02, -0.5])))
    wanted = d.qacc.copy()
    rb.inverse(m, d)
    drives = actuated(m)
    assert [m.jnt_names[j] for j in np.flatnonzero(m.jnt_actuated)] == [
        "motor_0", "motor_1", "motor_2",
    ]  # fmt: skip
    scale = np.abs(d.qfrc_inverse).max()
    assert np.abs(d.qfrc_inverse[~drives]).max() < 1e-11 * scale
    with Comparison("closed inverse", "delta") as compare:
        compare.close("qacc", moves_so(m, d), wanted, 1e-9)


def test_static_torques_of_a_delta_robot_satisfy_virtual_work():
    """The torques are J^T times the platform's weight, with J by differences."""
    m = rb.build(_light_delta())
    centre, h = np.array([0.06, -0.03, -0.45]), 1e-6
    d = rb.make_data(m)
    d.qpos = mechanisms.delta_at(m, centre)
    rb.inverse(m, d)
    motors = mechanisms.delta_motors
    slope = np.column_stack(
        [(motors(centre + h * e) - motors(centre - h * e)) / (2 * h) for e in np.eye(3)]
    )
    torques = np.linalg.solve(slope.T, [0.0, 0.0, 2.0 * 9.81])
    dofs = [m.jnt_dofadr[m.jnt_id(f"motor_{i}")] for i in range(3)]
    np.testing.assert_allclose(d.qfrc_inverse[dofs], torques, rtol=1e-6)


def _light_delta():
    """Return a delta robot with a heavy platform; all other masses are a millionth of a gram."""
    description = mechanisms.delta().description()
    light = rb.shapes.sphere(0.01, mass=1e-9)
    heavy = rb.shapes.sphere(0.05, mass=2.0)
    links = tuple(
        link if link.name == "ceiling"
        else replace(link, inertial=heavy if link.name == "platform" else light)
        for link in description.links
    )  # fmt: skip
    return replace(description, links=links)


@pytest.mark.parametrize("name", START)
@pytest.mark.parametrize("seed", range(2))
def test_actuator_forces_have_the_least_norm_if_all_joints_are_actuated(name, seed):
    how = {"passive": False} if name == "five_bar" else {}
    m = rb.build(getattr(mechanisms, name)(**how))
    d = moving(m, seed, **START[name])
    wanted, tau = d.qacc.copy(), tree_forces(m, d)
    rb.inverse(m, d)
    # the shortest u with u + K^T lambda = tau is tau minus its projection on the range of K^T
    K = d.efc_J
    least = tau - K.T @ np.linalg.lstsq(K.T, tau, rcond=1e-9)[0]
    force = np.linalg.lstsq(K.T, tau - least, rcond=1e-9)[0]
    with Comparison("closed inverse", f"{name} {seed}") as compare:
        scale = np.abs(tau).max()
        compare.close("forces", np.append(d.qfrc_inverse, scale), np.append(least, scale), 1e-11)
        compare.close("lambda", d.efc_force, force, 1e-9)
        compare.close("qacc", moves_so(m, d), wanted, 1e-9)


def test_three_actuators_share_the_forces_of_two_degrees_of_freedom():
    """The forces of the motors have the least norm; the joint without a motor has no force."""
    s = mechanisms.five_bar(passive=False)
    description = s.description()
    joints = tuple(
        replace(j, actuated=False) if j.name == "elbow_2" else j for j in description.joints
    )
    m = rb.build(replace(description, joints=joints))
    d = moving(m, 4)
    wanted, tau = d.qacc.copy(), tree_forces(m, d)
    rb.inverse(m, d)
    drives = actuated(m)
    assert drives.sum() == 3
    # minimise |u| with S u + K^T lambda = tau: u = S^T tau - S^T K^T lambda, where lambda balances
    # the joint without a motor; this is a least-squares problem in the null space of its row
    K = d.efc_J
    free = K.T[~drives]
    particular = np.linalg.lstsq(free, tau[~drives], rcond=1e-9)[0]
    null = np.linalg.svd(free)[2][1:].T
    A = K.T[drives] @ null
    along = np.linalg.lstsq(A, tau[drives] - K.T[drives] @ particular, rcond=1e-9)[0]
    least = tau[drives] - K.T[drives] @ particular - A @ along
    with Comparison("closed inverse", "three motors of two freedoms") as compare:
        compare.close("forces", d.qfrc_inverse[drives], least, 1e-10)
        compare.close("qacc", moves_so(m, d), wanted, 1e-10)
    assert np.abs(d.qfrc_inverse[~drives]).max() < 1e-12 * np.abs(least).max()


def test_an_impossible_acceleration_leaves_forces_at_joints_without_actuators():
    """One motor cannot cause every acceleration of a five-bar, so other joints keep a force."""
    s = mechanisms.five_bar()
    description = s.description()
    joints = tuple(
        replace(j, actuated=False) if j.name == "shoulder_2" else j for j in description.joints
    )
    m = rb.build(replace(description, joints=joints))
    d = moving(m, 5)
    wanted, tau = d.qacc.copy(), tree_forces(m, d)
    rb.inverse(m, d)
    drives = actuated(m)
    assert drives.sum() == 1
    K = d.efc_J
    least = tau[~drives] - K.T[~drives] @ np.linalg.lstsq(K.T[~drives], tau[~drives])[0]
    left = d.qfrc_inverse[~drives]
    assert np.linalg.norm(least) > 1e-3, "one motor cannot control two degrees of freedom"
    assert np.linalg.norm(left) >= np.linalg.norm(least) * (1.0 - 1e-12)
    # two loop forces balance two of the three joints without actuators
    assert (np.abs(left) > 1e-12).sum() == 1
    balance = d.qfrc_inverse + K.T @ d.efc_force
    np.testing.assert_allclose(balance, tau, atol=1e-12 * np.abs(tau).max())
    np.testing.assert_allclose(moves_so(m, d), wanted, rtol=1e-9)


def test_a_driven_joint_in_a_loop_needs_the_same_force_as_a_free_joint():
    """For the same motion, qfrc_driven equals the force along a free joint."""
    motion = rb.Trajectory((-0.2, 0.1, 0.5, 0.8), ((1.0,), (1.4,), (0.8,), (1.0,)), True)
    s = mechanisms.five_bar().drive("shoulder_2", motion)
    m, free = rb.build(s), rb.build(mechanisms.five_bar())
    assert (m.nv, m.ndrive, free.nv) == (3, 1, 4)
    d = moving(m, 2)
    names = [m.jnt_names[j] for j in range(m.njnt)]
    rb.inverse(m, d)
    e = rb.make_data(free)
    for name in names:
        j, k = m.jnt_id(name), free.jnt_id(name)
        e.qpos[free.jnt_qposadr[k]] = d.qpos_all[m.jnt_qposadr_all[j]]
        e.qvel[free.jnt_dofadr[k]] = d.qvel_all[m.jnt_dofadr_all[j]]
        e.qacc[free.jnt_dofadr[k]] = d.qacc_all[m.jnt_dofadr_all[j]]
    see_constraints(free, e)
    assert np.abs(e.efc_pos).max() < 1e-10
    assert np.abs(e.efc_vel).max() < 1e-12
    rb.inverse(free, e)
    shoulder = free.jnt_dofadr[free.jnt_id("shoulder_1")]
    other = free.jnt_dofadr[free.jnt_id("shoulder_2")]
    # shoulder_2 is driven, so its force is in qfrc_driven
    with Comparison("closed inverse", "driven") as compare:
        compare.close("shoulder_1", d.qfrc_inverse[m.jnt_dofadr[m.jnt_id("shoulder_1")]],
                      e.qfrc_inverse[shoulder], 1e-9)  # fmt: skip
        compare.close("qfrc_driven", d.qfrc_driven, e.qfrc_inverse[[other]], 1e-9)

# SPDX-License-Identifier: Apache-2.0
"""The toolbox is right for robots with mimic joints.

Only half of Pinocchio's algorithms support mimic joints. So all results are also compared with
those of the robot without couplings, projected onto the motion that the couplings allow: qvel_free
= G qvel with a constant G. Other tests compare the robot without couplings with Pinocchio.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is not installed")
from support import robots, states
from support.compare import Comparison, with_inverse
from support.pinocchio_quantities import REFERENCES, swapped
from support.pinocchio_twin import pin

import rbdyn_ros as rb

TOLERANCE = 1e-10
#: Robots whose mimic joints come after their leaders, as Pinocchio requires.
PINOCCHIO = ("baxter.urdf", "panda.urdf", "pr2.urdf", "tiago_pro.urdf")
COUPLED = (*PINOCCHIO, "talos_full_v2.urdf")

pytestmark = robots.needs_robots


def load(name, mimic=True):
    m = rb.load_urdf(robots.find(name), strict=False, mimic=mimic)
    # remove the armatures that strict=False adds
    m = m.replaced(dof_armature=0.0 * m.dof_armature)
    m.opt.passive = False
    return m


def moving(name):
    m = load(name)
    assert m.nmimic > 0
    d = rb.make_data(m)
    states.randomise(m, d, 4)
    d.xfrc_applied = 0.0
    return m, d


@pytest.mark.parametrize("name", COUPLED)
def test_the_toolbox_agrees_with_the_projection_of_the_robot_without_couplings(name):
    m, d = moving(name)
    free = load(name, mimic=False)
    e, G = rb.make_data(free), np.zeros((free.nv, m.nv))
    for j in range(m.njnt):
        ratio, offset = m.jnt_mimic_ratio[j], m.jnt_mimic_offset[j]
        G[free.jnt_dofadr[j], m.jnt_dofadr[j]] = ratio
        e.qpos[free.jnt_qposadr[j]] = ratio * d.qpos[m.jnt_qposadr[j]] + offset
    e.qvel, e.qacc = G @ d.qvel, G @ d.qacc
    frame = m.frame_names[-1]
    with Comparison("toolbox, coupled", name) as case:

        def forces(quantity):
            case.close(quantity.__name__, quantity(m, d), G.T @ quantity(free, e), TOLERANCE)

        def motions(quantity, *arguments):
            ours, theirs = quantity(m, d, *arguments), quantity(free, e, *arguments)
            case.close(quantity.__name__, ours, theirs @ G, TOLERANCE, 1.0)

        def same(quantity, *arguments):
            ours, theirs = quantity(m, d, *arguments), quantity(free, e, *arguments)
            case.close(quantity.__name__, ours, theirs, TOLERANCE)

        for quantity in (
            rb.gravity_term,
            rb.coriolis_term,
            rb.bias_term,
            rb.joint_torque_regressor,
        ):
            forces(quantity)
        for quantity in (rb.com, rb.com_velocity, rb.centroidal_momentum, rb.kinetic_energy,
                         rb.centroidal_momentum_bias, rb.potential_energy,
                         rb.kinetic_energy_regressor, rb.potential_energy_regressor):  # fmt: skip
            same(quantity)
        motions(rb.com_jacobian)
        motions(rb.centroidal_momentum_matrix)
        for ref in REFERENCES:
            motions(rb.frame_jacobian, frame, ref)
            motions(rb.frame_jacobian_dot, frame, ref)
            same(rb.frame_velocity, frame, ref)
            same(rb.frame_acceleration, frame, ref)
        C = G.T @ rb.coriolis_matrix(free, e) @ G
        case.close("coriolis_matrix", rb.coriolis_matrix(m, d), C, TOLERANCE)
        derivatives = zip(
            rb.inverse_derivatives(m, d), rb.inverse_derivatives(free, e), strict=True
        )
        for ours, theirs in derivatives:
            case.close("inverse_derivatives", ours, G.T @ theirs @ G, TOLERANCE)
        M = rb.mass_matrix(m, d)
        tolerance = with_inverse(TOLERANCE, M, 1)
        case.close(
            "inverse_mass_matrix", rb.inverse_mass_matrix(m, d), np.linalg.inv(M), tolerance
        )


@pytest.mark.parametrize("name", PINOCCHIO)
def test_the_toolbox_with_couplings_agrees_with_pinocchio(name):
    m, d = moving(name)
    model = pin.buildModelFromUrdf(str(robots.find(name)), mimic=True)
    data = model.createData()
    assert model.nv == m.nv
    q, B = pin.neutral(model), np.zeros((m.nv, m.nv))
    for j in np.flatnonzero(m.jnt_mimic < 0):
        theirs = model.joints[model.getJointId(m.jnt_names[j])]
        angle = d.qpos[m.jnt_qposadr[j]]
        turn = (np.cos(angle), np.sin(angle)) if theirs.nq == 2 else angle
        q[theirs.idx_q : theirs.idx_q + theirs.nq] = turn
        B[theirs.idx_v, m.jnt_dofadr[j]] = 1.0
    v, a = B @ d.qvel, B @ d.qacc
    frame = m.frame_names[-1]
    number = model.getFrameId(frame, pin.FrameType.BODY)
    with Comparison("toolbox, coupled, Pinocchio", name) as case:
        gravity = B.T @ pin.computeGeneralizedGravity(model, data, q)
        case.close("gravity_term", rb.gravity_term(m, d), gravity, TOLERANCE)
        bias = B.T @ pin.nonLinearEffects(model, data, q, v)
        case.close("bias_term", rb.bias_term(m, d), bias, TOLERANCE)
        J = pin.jacobianCenterOfMass(model, data, q) @ B
        case.close("com_jacobian", rb.com_jacobian(m, d), J, TOLERANCE)
        A = swapped(pin.ccrba(model, data, q, v)) @ B
        case.close("centroidal_momentum_matrix", rb.centroidal_momentum_matrix(m, d), A, TOLERANCE)
        rate = swapped(pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a).vector)
        ours = rb.centroidal_momentum_matrix(m, d) @ d.qacc + rb.centroidal_momentum_bias(m, d)
        case.close("rate of momentum", ours, rate, TOLERANCE)
        for ref, where in REFERENCES.items():
            J = swapped(pin.computeFrameJacobian(model, data, q, number, where)) @ B
            case.close("frame_jacobian", rb.frame_jacobian(m, d, frame, ref), J, TOLERANCE)
        pin.forwardKinematics(model, data, q, v, a)
        velocity = pin.getFrameVelocity(model, data, number, pin.LOCAL)
        ours = rb.frame_velocity(m, d, frame, "local")
        case.close("frame_velocity", ours, swapped(velocity.vector), TOLERANCE)
        acceleration = pin.getFrameAcceleration(model, data, number, pin.LOCAL)
        ours = rb.frame_acceleration(m, d, frame, "local")
        case.close("frame_acceleration", ours, swapped(acceleration.vector), TOLERANCE)

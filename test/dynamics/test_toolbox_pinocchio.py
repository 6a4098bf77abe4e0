# SPDX-License-Identifier: Apache-2.0
"""The toolbox agrees with Pinocchio for robots of example-robot-data and for random trees.

The tolerance is 1e-10 of the largest entry. For M^-1 it is 64 cond(M) eps if that is more.
Pinocchio has other algorithms, in link coordinates. support.pinocchio_quantities converts its
coordinates to ours, exactly to 1e-12.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is not installed")
from support import pairs, pinocchio_twin, robots, states, trees
from support.compare import Comparison, with_inverse
from support.pinocchio_quantities import REFERENCES, Quantities, pin

import rbdyn_ros as rb

TOLERANCE = 1e-10
MIXED = {"reversals": 0.5, "offsets": 0.5}
#: Joints whose axes rotate in the child link; Pinocchio leaves out the rates of these axes.
TURNING = ("universal", "spherical_ypr")
STEADY = tuple(kind for kind in pinocchio_twin.KNOWN if kind not in TURNING)
TREES = {
    "forward": {"seed": 31},
    "mixed": {"seed": 32, **MIXED},
    "reversed": {"seed": 33, "reversals": 1.0, "offsets": 1.0},
}


@pairs.each_base
@robots.needs_robots
@robots.each_robot
def test_the_toolbox_agrees_with_pinocchio_on_a_robot(path, base):
    floating = pairs.BASES[base]
    m = robots.load(path, floating)
    # strict=False may add a small armature, which Pinocchio's model lacks
    m = m.replaced(dof_armature=0.0 * m.dof_armature)
    theirs = pinocchio_twin.load(path, floating)
    if theirs.nv == 0:
        pytest.skip("Pinocchio crashes when it computes a Jacobian without joints")
    where = f"{robots.robot_id(path)}, {base} base"
    case = Case(m, theirs)
    with Comparison("toolbox, Pinocchio", where) as comparison:
        compare(comparison, case, same_frames=True)
        compare_rates(comparison, case)
        if path.name not in robots.SINGULAR:
            compare_inverses(comparison, case)


@pairs.each_base
@pytest.mark.parametrize("name", TREES)
def test_the_toolbox_agrees_with_pinocchio_on_a_tree(name, base):
    case = tree_case(STEADY, name, pairs.BASES[base])
    with Comparison("toolbox, Pinocchio", f"{name}, {base} base") as comparison:
        compare(comparison, case, same_frames=False)
        compare_rates(comparison, case)
        compare_inverses(comparison, case)


@pairs.each_base
@pytest.mark.parametrize("name", TREES)
def test_the_toolbox_agrees_with_pinocchio_for_joints_with_rotating_axes(name, base):
    case = tree_case(pinocchio_twin.KNOWN, name, pairs.BASES[base])
    with Comparison("toolbox, Pinocchio", f"{name}, turning axes, {base} base") as comparison:
        compare(comparison, case, same_frames=False)


@pytest.mark.parametrize("kind", TURNING)
def test_pinocchio_leaves_out_the_term_of_rotating_axes(kind):
    """Pinocchio's C v does not agree with Pinocchio's bias force, but our C v does."""
    case = tree_case((kind,), "forward", floating=False)
    m, d, twin = case.m, case.d, case.twin
    gravity, bias = twin.ours(pin.computeGeneralizedGravity), twin.nle()
    C = pin.computeCoriolisMatrix(twin.model, twin.data, twin.q, twin.v)
    ours = gravity + rb.coriolis_matrix(m, d) @ d.qvel
    theirs = gravity + twin.B.T @ (C @ twin.v)
    with Comparison("toolbox, Pinocchio", kind) as comparison:
        comparison.close("gravity + C qvel", ours, bias, TOLERANCE)
    assert np.abs(theirs - bias).max() > 1e-3 * np.abs(bias).max()


class Case:
    """A Model, a Data and Pinocchio's twin of them, in one random state."""

    def __init__(self, m, theirs):
        m.opt.passive = False
        self.m, self.d = m, rb.make_data(m)
        states.randomise(m, self.d, 1)
        self.d.xfrc_applied = 0.0
        self.twin = Quantities(m, self.d, theirs)
        self.M = self.twin.mass_matrix()
        # forces have this size, because velocities and accelerations are about 1
        self.scale = np.abs(self.M).max()


def tree_case(kinds, name, floating):
    tree = trees.auto_tree(2 * len(kinds), 1.6, kinds=kinds, shuffle=False, **TREES[name])
    theirs = pinocchio_twin.from_description(tree, floating)
    return Case(rb.build(tree, floating), theirs)


def compare(comparison, case, same_frames):
    """Compare all quantities except rates. `same_frames`: bodies have the frames of joints."""
    compare_terms(comparison, case)
    for name in chosen_frames(case.m, case.twin):
        compare_frame(comparison, case, name)
    compare_momentum(comparison, case)
    compare_regressors(comparison, case, same_frames)


def compare_terms(comparison, case):
    m, d, twin = case.m, case.d, case.twin
    gravity, bias = twin.ours(pin.computeGeneralizedGravity), twin.nle()
    comparison.close("gravity_term", rb.gravity_term(m, d), gravity, TOLERANCE, case.scale)
    comparison.close("bias_term", rb.bias_term(m, d), bias, TOLERANCE, case.scale)
    coriolis = gravity + rb.coriolis_term(m, d)
    comparison.close("coriolis_term", coriolis, bias, TOLERANCE, case.scale)
    energy = pin.computeKineticEnergy(twin.model, twin.data, twin.q, twin.v)
    comparison.close("kinetic_energy", rb.kinetic_energy(m, d), energy, TOLERANCE)
    energy = pin.computePotentialEnergy(twin.model, twin.data, twin.q)
    comparison.close("potential_energy", rb.potential_energy(m, d), energy, TOLERANCE)


def chosen_frames(m, twin):
    """Return the names of four frames that Pinocchio's model has (it lacks frames of sensors)."""
    names = [name for name in m.frame_names if twin.model.existFrame(name)]
    return [names[k] for k in spread(len(names))]


def spread(count):
    return np.unique(np.linspace(0, count - 1, 4).astype(int))


def compare_frame(comparison, case, name):
    m, d, twin = case.m, case.d, case.twin
    for ref in REFERENCES:
        J = rb.frame_jacobian(m, d, name, ref)
        comparison.close(f"frame_jacobian, {ref}", J, twin.jacobian(name, ref), TOLERANCE)
        velocity, acceleration = twin.frame_motion(name, ref)
        ours = rb.frame_velocity(m, d, name, ref)
        comparison.close(f"frame_velocity, {ref}", ours, velocity, TOLERANCE)
        ours = rb.frame_acceleration(m, d, name, ref)
        comparison.close(f"frame_acceleration, {ref}", ours, acceleration, TOLERANCE)
    # the joint forces that hold a frame against f are gravity minus J^T f
    body = m.frame_bodyid[m.frame_id(name)]
    if body > 0:
        force, motion = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 3.0]), [3, 4, 5, 0, 1, 2]
        external = [pin.Force(np.zeros(6)) for _ in twin.model.joints]
        place = twin.model.frames[twin.frame(name)].placement
        external[twin.joint(body)] = place.act(pin.Force(force[motion]))
        held = twin.ours(pin.computeStaticTorque, external)
        ours = rb.gravity_term(m, d) - rb.frame_jacobian(m, d, name, "local").T @ force
        comparison.close("gravity - J^T f", ours, held, TOLERANCE)


def compare_momentum(comparison, case):
    m, d, twin = case.m, case.d, case.twin
    h, A, _ = twin.momentum()
    comparison.close("centroidal_momentum", rb.centroidal_momentum(m, d), h, TOLERANCE)
    ours = rb.centroidal_momentum_matrix(m, d)
    comparison.close("centroidal_momentum_matrix", ours, A, TOLERANCE)
    for body in spread(m.nbody):
        if m.body_subtreemass[body] > 0.0:
            position, velocity, J = twin.com(body)
            comparison.close("com", rb.com(m, d, body), position, TOLERANCE)
            comparison.close("com_velocity", rb.com_velocity(m, d, body), velocity, TOLERANCE)
            comparison.close("com_jacobian", rb.com_jacobian(m, d, body), J, TOLERANCE)


def compare_regressors(comparison, case, same_frames):
    m, d, twin = case.m, case.d, case.twin
    model, data = twin.model, twin.data
    Y = twin.ours(pin.computeJointTorqueRegressor, twin.v, twin.a)
    kinetic = pin.computeKineticEnergyRegressor(model, data, twin.q, twin.v).copy()
    potential = pin.computePotentialEnergyRegressor(model, data, twin.q).copy()
    ours, theirs = rb.inertial_parameters(m), twin.parameters()
    quantities = (
        ("joint_torque_regressor", rb.joint_torque_regressor(m, d), Y),
        ("kinetic_energy_regressor", rb.kinetic_energy_regressor(m, d), kinetic),
        ("potential_energy_regressor", rb.potential_energy_regressor(m, d), potential),
    )
    for name, regressor, expected in quantities:
        comparison.close(f"{name} pi", regressor @ ours, expected @ theirs, TOLERANCE)
        if same_frames:
            comparison.close(name, regressor, expected[..., twin.columns()], TOLERANCE)
    if same_frames:
        comparison.close("inertial_parameters", ours, theirs[twin.columns()], TOLERANCE)


def compare_rates(comparison, case):
    """Compare quantities that depend on the rates of the joint axes."""
    m, d, twin = case.m, case.d, case.twin
    C = rb.coriolis_matrix(m, d)
    comparison.close("coriolis_matrix", C, twin.coriolis_matrix(), TOLERANCE, case.scale)
    bias, momentum = rb.centroidal_momentum_bias(m, d), np.abs(rb.centroidal_momentum(m, d)).max()
    comparison.close("centroidal_momentum_bias", bias, twin.momentum()[2], TOLERANCE, momentum)
    for name in chosen_frames(m, twin):
        for ref in REFERENCES:
            rate = rb.frame_jacobian_dot(m, d, name, ref)
            expected = twin.jacobian_dot(name, ref)
            comparison.close(f"frame_jacobian_dot, {ref}", rate, expected, TOLERANCE, 1.0)
    if not differentiable(m):
        return
    expected = twin.inverse_derivatives(d.qacc.copy())
    ours = rb.inverse_derivatives(m, d)
    for name, one, other in zip(("dq", "dv", "dqacc"), ours, expected, strict=True):
        comparison.close(f"inverse_derivatives, {name}", one, other, TOLERANCE, case.scale)


def compare_inverses(comparison, case):
    """Compare quantities that are computed with M^-1."""
    m, d, twin = case.m, case.d, case.twin
    tolerance = with_inverse(TOLERANCE, case.M, 1)
    X = rb.inverse_mass_matrix(m, d)
    comparison.close("inverse_mass_matrix", X, twin.inverse_mass_matrix(), tolerance)
    last = chosen_frames(m, twin)[-1]
    J = twin.jacobian(last, "world")
    mobility = rb.frame_mobility(m, d, last, "world")
    comparison.close("frame_mobility", mobility, J @ np.linalg.solve(case.M, J.T), tolerance)
    if not differentiable(m):
        return
    expected = twin.forward_derivatives(d.qfrc_applied)
    ours = rb.forward_derivatives(m, d)
    for name, one, other in zip(("dq", "dv", "dqfrc"), ours, expected, strict=True):
        comparison.close(f"forward_derivatives, {name}", one, other, tolerance, np.abs(X).max())


def differentiable(m):
    return not ((m.jnt_reversed == 1) & (m.jnt_dofnum > 1)).any()

# SPDX-License-Identifier: Apache-2.0
"""Quantities of the toolbox satisfy their relations, for forests with every joint type.

Rates are taken by differences of order eight along the motion, see support.differences.
The tolerance is 1e-13 of the largest entry. For differences it is 1e-11, which is 100 eps of
values up to a hundred times the rate. For results of M^-1 it is 64 nv cond(M) eps if that is more.
"""

from dataclasses import replace

import numpy as np
import pytest
from support import forests, systems, trees
from support.compare import Comparison, with_inverse
from support.differences import by_position, by_time
from support.smooth import smoothly

import rbdyn_ros as rb

EXACT, RATE = 1e-13, 1e-11
REFERENCES = ("world", "local", "local_world_aligned")
#: Every joint type, and more joints of the types that can be mimic joints.
KINDS = (*trees.LIBRARY, "revolute", "prismatic", "helical", "revolute", "prismatic", "revolute")
MIXED = {"reversals": 0.4, "offsets": 0.5}
CASES = {
    "forward": {"seed": 1},
    "mixed": {"seed": 2, **MIXED},
    "reversed": {"seed": 3, "reversals": 1.0, "offsets": 1.0},
    "coupled": {"seed": 4, "coupled": True, **MIXED},
    "three trees": {"seed": 5, "coupled": True, "count": 3, "offsets": 0.5},
    "lossy": {"seed": 6, "coupled": True, "losses": True, **MIXED},
}
#: Forests with driven joints, which move but have no dof.
MOVED = {"driven": {"seed": 7, "coupled": True, "driven": True, **MIXED}}
# the name of a Model with user-defined joints, loops, and springs between points
EVERYTHING = "everything"


def system(name, floating):
    """Return a Model and a Data in a random state with velocities and forces."""
    if name == EVERYTHING:
        systems.register()
        m = rb.build(systems.everything())
    else:
        m = rb.build(forests.forest(KINDS, **(CASES | MOVED)[name]), floating)
    smoothly(m)  # the forces of a nearly rigid limit would hide all other forces
    d = rb.make_data(m)
    forests.randomise(m, d, 1)
    return m, d


@pytest.fixture(
    params=[(name, floating) for name in CASES for floating in (False, True)],
    ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}",
    scope="module",
)
def free(request):
    """Return a system without driven joints, and its name."""
    return *system(*request.param), request.param[0]


@pytest.fixture(params=[*CASES, *MOVED, EVERYTHING], scope="module")
def any_system(request):
    return *system(request.param, floating=False), request.param


def frames(m):
    """Return the names of five frames, from the first to the last body."""
    return [m.frame_names[k] for k in np.linspace(0, len(m.frame_names) - 1, 5).astype(int)]


def test_the_terms_satisfy_the_equation_of_motion(free):
    m, d, where = free
    M = rb.mass_matrix(m, d)
    gravity, coriolis = rb.gravity_term(m, d), rb.coriolis_term(m, d)
    qacc = d.qacc.copy()
    rb.inverse(m, d)
    with Comparison("terms", where) as case:
        case.close("bias = gravity + Coriolis", rb.bias_term(m, d), gravity + coriolis, EXACT)
        case.close("C qvel", rb.coriolis_matrix(m, d) @ d.qvel, coriolis, EXACT)
        whole = M @ qacc + rb.bias_term(m, d)
        case.close("M qacc + bias = inverse", whole, d.qfrc_inverse + d.qfrc_passive, EXACT)
        case.close("qfrc_bias", rb.bias_term(m, d), d.qfrc_bias, EXACT)
        m.opt.gravity = (0.0, 0.0, 0.0)
        case.close("without gravity", rb.bias_term(m, d), coriolis, EXACT)
        assert not rb.gravity_term(m, d).any()
        m.opt.gravity = (0.0, 0.0, -9.81)
        d.qvel *= -2.0
        case.close("Coriolis of -2 qvel", rb.coriolis_term(m, d), 4.0 * coriolis, EXACT)
        d.qvel /= -2.0


def test_the_coriolis_matrix_does_no_work(free):
    """dM/dt is C + C^T, so dM/dt - 2 C does no work."""
    m, d, where = free
    C = rb.coriolis_matrix(m, d)
    rate = by_time(m, d, lambda: rb.mass_matrix(m, d).copy())
    with Comparison("terms", where) as case:
        case.close("C + C^T = dM/dt", C + C.T, rate, RATE)
        scale = np.abs(d.qvel) @ np.abs(C) @ np.abs(d.qvel)
        power = d.qvel @ (rate - 2.0 * C) @ d.qvel
        case.close("qvel (dM/dt - 2 C) qvel", scale + power, scale, RATE)
        twice = d.copy()
        twice.qvel *= 2.0
        case.close("C is linear in qvel", rb.coriolis_matrix(m, twice), 2.0 * C, EXACT)


def test_gravity_is_the_gradient_of_the_potential(free):
    m, d, where = free
    m.opt.passive = False  # this leaves out the potential of springs
    slope = by_position(m, d, lambda: rb.potential_energy(m, d))
    with Comparison("terms", where) as case:
        case.close("dV/dq", rb.gravity_term(m, d), slope, RATE)
    m.opt.passive = True


def test_the_potential_energy_includes_springs():
    m, d = system("lossy", floating=False)
    stiff = m.replaced(dof_damping=0.0 * m.dof_damping, dof_frictionloss=0.0 * m.dof_frictionloss,
                       jnt_limited=0 * m.jnt_limited)  # fmt: skip
    # these limits belong to joints with several coordinates, and d is within them
    assert stiff.nlimit > 0
    d = rb.make_data(stiff)
    forests.randomise(stiff, d, 1)
    d.qpos *= 0.5
    d.qvel = 0.0
    slope = by_position(stiff, d, lambda: rb.potential_energy(stiff, d))
    rb.forward(stiff, d)
    expected = rb.gravity_term(stiff, d) - d.qfrc_passive
    with Comparison("terms", "springs") as case:
        case.close("dV/dq = gravity - springs", slope, expected, RATE)


def test_energies_are_right_and_stored_in_data(free):
    m, d, where = free
    before = d.energy.copy()
    kinetic, potential = rb.kinetic_energy(m, d), rb.potential_energy(m, d)
    assert isinstance(kinetic, float)
    assert isinstance(potential, float)
    with Comparison("energies", where) as case:
        M = rb.mass_matrix(m, d)
        case.close("qvel M qvel / 2", kinetic, 0.5 * d.qvel @ M @ d.qvel, EXACT)
        rate = by_time(m, d, lambda: rb.kinetic_energy(m, d))
        power = d.qvel @ (M @ d.qacc + rb.coriolis_term(m, d))
        scale = np.abs(d.qvel) @ np.abs(M @ d.qacc)
        case.close("dT/dt = power", scale + rate, scale + power, RATE)
    d.energy = before


def test_jacobians_give_velocities_and_accelerations_of_frames(free):
    m, d, where = free
    for name in frames(m):
        for ref in REFERENCES:
            with Comparison("frames", f"{where}, {name}, {ref}") as case:
                J, rate = (
                    rb.frame_jacobian(m, d, name, ref),
                    rb.frame_jacobian_dot(m, d, name, ref),
                )
                velocity = rb.frame_velocity(m, d, name, ref)
                case.close("J qvel", J @ d.qvel, velocity, EXACT)
                acceleration = rb.frame_acceleration(m, d, name, ref)
                case.close("J qacc + dJ/dt qvel", J @ d.qacc + rate @ d.qvel, acceleration, EXACT)


def test_rates_of_frames_are_exact(any_system):
    """Some systems have driven joints, which move frames even at qvel = 0."""
    m, d, where = any_system
    for name in frames(m):
        for ref in REFERENCES:
            with Comparison("frames", f"{where}, {name}, {ref}") as case:
                J, rate = (
                    rb.frame_jacobian(m, d, name, ref),
                    rb.frame_jacobian_dot(m, d, name, ref),
                )
                moved = by_time(m, d, lambda f=name, r=ref: rb.frame_jacobian(m, d, f, r))
                # J is added, because a rate of zero would have no scale
                case.close("dJ/dt", J + rate, J + moved, RATE)
                moved = by_time(m, d, lambda f=name, r=ref: rb.frame_velocity(m, d, f, r))
                case.close("dv/dt", rb.frame_acceleration(m, d, name, ref), moved, RATE)


def test_velocity_is_the_rate_of_the_pose(any_system):
    m, d, where = any_system
    for name in frames(m):
        with Comparison("frames", f"{where}, {name}") as case:
            p, R = rb.frame_pose(m, d, name)
            aligned = rb.frame_velocity(m, d, name)
            case.close("dp/dt", aligned[3:], by_time(m, d, lambda f=name: place(m, d, f)), RATE)
            turning = by_time(m, d, lambda f=name: rb.frame_pose(m, d, f)[1]) @ R.T
            case.close("dR/dt R^T", turning, cross(aligned[:3]), RATE)
            local = rb.frame_velocity(m, d, name, "local")
            case.close(
                "local", local, np.concatenate([R.T @ aligned[:3], R.T @ aligned[3:]]), EXACT
            )
            spatial = np.concatenate([aligned[:3], aligned[3:] + np.cross(p, aligned[:3])])
            case.close("world", rb.frame_velocity(m, d, name, "world"), spatial, EXACT)


def place(m, d, name):
    return rb.frame_pose(m, d, name)[0]


def cross(w):
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def test_driven_joints_move_frames_at_qvel_zero():
    """J qvel is not the whole velocity; the velocity at qvel = 0 adds to it."""
    m, d = system("driven", floating=False)
    seen = 0.0
    for name in frames(m):
        J, velocity = rb.frame_jacobian(m, d, name), rb.frame_velocity(m, d, name)
        still = d.copy()
        still.qvel = 0.0
        driven = rb.frame_velocity(m, still, name)
        with Comparison("frames", f"driven, {name}") as case:
            case.close("J qvel + driven", J @ d.qvel + driven, velocity, EXACT)
        seen = max(seen, np.abs(driven).max())
    assert seen > 0.1


def test_a_centre_of_mass_is_the_weighted_mean_of_bodies(any_system):
    m, d, where = any_system
    for body in (0, m.nbody // 2):
        with Comparison("centre of mass", f"{where}, body {body}") as case:
            c = rb.com(m, d, body)
            below = [i for i in range(1, m.nbody) if body in ancestors(m, i)]
            mass = m.body_mass[below]
            rb.kinematics(m, d)
            case.close("com", c, mass @ d.xipos[below] / mass.sum(), EXACT)
            rate = by_time(m, d, lambda b=body: rb.com(m, d, b))
            velocity = rb.com_velocity(m, d, body)
            case.close("dc/dt", velocity, rate, RATE)
            slope = by_position(m, d, lambda b=body: rb.com(m, d, b))
            J = rb.com_jacobian(m, d, m.body_names[body])
            case.close("dc/dq", J, slope, RATE)
            if m.ndrive == 0:
                case.close("J qvel", J @ d.qvel, velocity, EXACT)


def ancestors(m, i):
    while i > 0:
        yield i
        i = m.body_parentid[i]
    yield 0


def test_links_fixed_to_the_world_do_not_count():
    """A Model does not store the masses of links that are fixed to the world."""
    heavy, light = (rb.shapes.box((0.1, 0.1, 0.1), mass=mass) for mass in (5.0, 2.0))
    system = rb.SystemBuilder("arm").body("base", heavy).body("plate", heavy).body("arm", light)
    system.joint("bolt", "fixed", "base", "plate", xyz=(1.0, 0.0, 0.0))
    system.joint("j", "revolute", "plate", "arm", xyz=(1.0, 0.0, 0.0))
    for floating, place, mass in ((False, 2.0, 2.0), (True, 9.0 / 12.0, 12.0)):
        m = rb.build(system, floating_base=floating)
        d = rb.make_data(m)
        assert rb.com(m, d) == pytest.approx((place, 0.0, 0.0), abs=1e-15)
        assert m.body_subtreemass[0] == pytest.approx(mass)
        d.qpos[m.nq - 1] = 0.3
        assert rb.com(m, d) == pytest.approx((place, 0.0, 0.0), abs=1e-15)


def test_the_momentum_matrix_gives_the_momentum(any_system):
    m, d, where = any_system
    A, h = rb.centroidal_momentum_matrix(m, d), rb.centroidal_momentum(m, d)
    with Comparison("momentum", where) as case:
        still = d.copy()
        still.qvel = 0.0
        driven = rb.centroidal_momentum(m, still)
        case.close("A qvel", A @ d.qvel + driven, h, EXACT)
        velocity = m.body_mass.sum() * rb.com_velocity(m, d)
        case.close("mass com_velocity", h[3:], velocity, EXACT)
        rate = by_time(m, d, lambda: rb.centroidal_momentum(m, d))
        case.close("dh/dt", A @ d.qacc + rb.centroidal_momentum_bias(m, d), rate, RATE)


@pytest.mark.parametrize("name", CASES)
def test_only_external_forces_change_the_momentum(name):
    """Gravity and xfrc_applied change the momentum of a free tree; joint forces do not."""
    m, d = system(name, floating=True)
    free = m.jnt_dofadr[m.jnt_id("root_joint")]
    d.qfrc_applied[free : free + 6] = 0.0
    rb.forward_dynamics(m, d)
    rate = rb.centroidal_momentum_matrix(m, d) @ d.qacc + rb.centroidal_momentum_bias(m, d)
    c = rb.com(m, d)
    force, torque = d.xfrc_applied[1:, :3], d.xfrc_applied[1:, 3:]
    expected = np.zeros(6)
    expected[:3] = (torque + np.cross(d.xipos[1:] - c, force)).sum(0)
    expected[3:] = force.sum(0) + m.body_mass.sum() * m.opt.gravity
    with Comparison("momentum", name) as case:
        tolerance = with_inverse(EXACT, rb.mass_matrix(m, d), m.nv)
        # the tolerance is relative to the terms, which cancel each other
        scale = np.abs(rb.centroidal_momentum_bias(m, d)).max()
        tolerance *= max(1.0, scale / np.abs(expected).max())
        case.close("dh/dt", rate, expected, tolerance)


def test_the_inverse_mass_matrix_inverts_the_mass_matrix(free):
    m, d, where = free
    M = rb.mass_matrix(m, d).copy()
    X = rb.inverse_mass_matrix(m, d)
    tolerance = with_inverse(EXACT, M, m.nv)
    with Comparison("inverse mass", where) as case:
        case.equal("symmetric", X, X.T)
        case.close("M^-1", X, np.linalg.inv(M), tolerance)
        case.close("M^-1 M", X @ M, np.eye(m.nv), tolerance)
        felt = rb.reflected_inertia(m, d)
        case.close("reflected_inertia", felt, 1.0 / np.diag(X), tolerance)
        assert (felt <= np.diag(M) * (1.0 + tolerance)).all()


@pytest.mark.parametrize("ref", REFERENCES)
def test_apparent_mass_and_inertia_of_a_frame_follow_from_m(free, ref):
    m, d, where = free
    M = rb.mass_matrix(m, d).copy()
    name = m.frame_names[-1]
    J = rb.frame_jacobian(m, d, name, ref)
    mobility = J @ np.linalg.solve(M, J.T)
    tolerance = with_inverse(EXACT, M, m.nv)
    with Comparison("inverse mass", f"{where}, {ref}") as case:
        case.close("J M^-1 J^T", rb.frame_mobility(m, d, name, ref), mobility, tolerance)
        Lambda = rb.operational_inertia(m, d, name, ref)
        allowed = tolerance * np.linalg.cond(mobility)
        case.close("its inverse", Lambda, np.linalg.inv(mobility), allowed)
        case.close("symmetric", Lambda, Lambda.T, EXACT)
        if ref == "local_world_aligned":
            u = np.array([1.0, -2.0, 0.5])
            mass = (u @ u) / (u @ mobility[3:, 3:] @ u)
            case.close("reflected_mass", rb.reflected_mass(m, d, name, u), mass, tolerance)


def test_regressors_give_torques_and_energies(any_system):
    m, d, where = any_system
    pi = rb.inertial_parameters(m)
    Y = rb.joint_torque_regressor(m, d)
    rotors = 0.5 * m.dof_armature @ d.qvel**2
    kinetic = rb.kinetic_energy_regressor(m, d) @ pi
    potential = rb.potential_energy_regressor(m, d) @ pi
    expected = (rb.mass_matrix(m, d) - np.diag(m.dof_armature)) @ d.qacc + rb.bias_term(m, d)
    with Comparison("regressors", where) as case:
        case.close("Y pi = M qacc + bias", Y @ pi, expected, EXACT)
        if m.nefc == 0:
            rb.inverse(m, d)
            tau = d.qfrc_inverse + d.qfrc_passive - m.dof_armature * d.qacc
            case.close("Y pi = inverse", Y @ pi, tau, EXACT)
        case.close("kinetic", kinetic + rotors, rb.kinetic_energy(m, d), EXACT)
        m.opt.passive = False
        case.close("potential", potential, rb.potential_energy(m, d), EXACT)
        m.opt.passive = True


def test_a_column_of_the_regressor_is_the_derivative_by_its_parameter():
    """The change of the joint forces is the column times the change of the parameter."""
    description = forests.forest(KINDS, **CASES["coupled"])
    name = description.links[7].name
    heavier = replace(description, links=[_heavier(link, name) for link in description.links])
    m, more = rb.build(description), rb.build(heavier)
    d, twin = rb.make_data(m), rb.make_data(more)
    for model, data in ((m, d), (more, twin)):
        forests.randomise(model, data, 1)
        rb.inverse(model, data)
    change = rb.inertial_parameters(more) - rb.inertial_parameters(m)
    body = m.body_id(name)
    assert np.flatnonzero(change)[0] == 10 * (body - 1)
    assert change[10 * (body - 1)] == pytest.approx(0.3)
    with Comparison("regressors", "a heavier body") as case:
        difference = twin.qfrc_inverse - d.qfrc_inverse
        case.close("dtau", rb.joint_torque_regressor(m, d) @ change, difference, 1e-12)


def _heavier(link, name):
    if link.name != name:
        return link
    return replace(link, inertial=replace(link.inertial, mass=link.inertial.mass + 0.3))

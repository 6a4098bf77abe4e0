# SPDX-License-Identifier: Apache-2.0
"""A step satisfies its equations with the contact forces at its end, and adds no energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support import mechanisms, robots, states, touching

import rbdyn_ros as rb
from rbdyn_ros.model.declared.options import INTEGRATORS

#: Factor s by which each integrator includes derivatives of velocity-dependent forces.
SHARES = {"implicit": 1.0, "implicit_midpoint": 0.5}

each_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def leg(coupled=False, **skin):
    """Return a Model of a free trunk with one leg; `coupled` adds a toe that mimics the knee."""
    surface = rb.Surface(**skin)
    system = (
        rb.SystemBuilder("leg", base="world")
        .body("trunk", rb.shapes.box((0.3, 0.2, 0.1), mass=4.0))
        .body("thigh", rb.shapes.box((0.05, 0.05, 0.3), mass=0.6, at=rb.pose((0, 0, -0.15))))
        .body("shank", rb.shapes.box((0.04, 0.04, 0.3), mass=0.4, at=rb.pose((0, 0, -0.15))))
        .joint("free", "floating", "world", "trunk")
        .joint("hip", "revolute", "trunk", "thigh", axis=(0, 1, 0), damping=0.2)
        .joint("knee", "revolute", "thigh", "shank", axis=(0, 1, 0), xyz=(0, 0, -0.3))
        .geometry("trunk", "trunk", rb.Box((0.3, 0.2, 0.1)), surface=surface)
        .geometry("knee", "thigh", rb.Sphere(0.04), origin=rb.pose((0, 0, -0.3)), surface=surface)
        .geometry("foot", "shank", rb.Sphere(0.03), origin=rb.pose((0, 0, -0.3)), surface=surface)
        .floor()
    )
    if coupled:
        system.body("toe", rb.shapes.box((0.1, 0.02, 0.02), mass=0.1, at=rb.pose((0.05, 0, 0))))
        system.joint("toe", "revolute", "shank", "toe", axis=(0, 1, 0), xyz=(0, 0, -0.3))
        system.geometry(
            "tip", "toe", rb.Sphere(0.02), origin=rb.pose((0.1, 0, 0)), surface=surface
        )
        system.couple("toe", "knee", ratio=-0.7)
    return rb.build(system)


def dropped(m, seed=0, height=0.01):
    """Return Data of a robot above the floor, in a random pose with random velocities."""
    rng = np.random.default_rng(seed)
    d = rb.make_data(m)
    d.qpos[3:7] = touching.wxyz(Rotation.random(random_state=seed))
    d.qpos[7:] = rng.uniform(-0.8, 0.8, m.nq - 7)
    d.qvel = rng.uniform(-0.5, 0.5, m.nv)
    touching.lift(m, d, height)
    return d


def landed(m, seed=0, steps=40):
    """Return Data of a dropped robot whose next step has contact forces."""
    d = dropped(m, seed)
    rb.step(m, d, steps)
    for _ in range(500):
        start = d.copy()
        rb.step(m, d, 1)
        if abs(d.qfrc_contact).max() > 1.0:
            return start
    raise AssertionError("the robot has not touched the floor")


def acceleration_by(m, d, force):
    """Solve (M + h (B + s D)) a = tau + force - bias; return a and the condition of the matrix.

    B contains the viscosities, or zeros for euler and rk4. D is the derivative of Coriolis and
    centrifugal forces with respect to qvel; s is 1 for implicit, 1/2 for implicit_midpoint and 0
    for others. The call writes to d.
    """
    h = m.opt.timestep
    states.at_present(m, d)
    A = rb.mass_matrix(m, d.copy())
    if m.opt.integrator not in ("euler", "rk4"):
        A += h * np.diag(d.dof_viscosity)
    if m.opt.integrator in SHARES:
        A += h * SHARES[m.opt.integrator] * states.bias_slopes(m, d)
    tau = d.qfrc_applied + d.qfrc_passive + force - d.qfrc_bias
    return np.linalg.solve(A, tau), np.linalg.cond(A)


@each_integrator
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_contact_forces_of_a_step_give_its_acceleration(integrator, coupled, seed):
    """The engine uses articulated bodies (aba.py), and with mimic joints the mass matrix."""
    m = leg(coupled)
    m.opt.integrator = integrator
    d = landed(m, seed)
    assert (d.accelerate_stage != 0) == coupled
    start = d.copy()
    rb.step(m, d, 1)
    assert d.ncon > 0
    assert abs(d.qfrc_contact).max() > 1.0
    qacc, cond = acceleration_by(m, start, d.qfrc_contact)
    got = (d.qvel - start.qvel) / m.opt.timestep
    # rounding grows with the condition number, with contact stiffnesses of 3e4 m / h, and by the
    # division of velocities by h
    assert got == pytest.approx(qacc, abs=(1e-15 * cond + 1e-9) * abs(qacc).max())
    assert d.qacc == pytest.approx(got, abs=1e-12 * abs(qacc).max())


def copy_state(d, other):
    """Copy the state of d to `other`: positions, velocities and the memory of friction."""
    memory = ("nstick", "stick_key", "stick_normal", "stick_force", "stick_torque", "stick_qfrc")
    for name in ("qpos", "qvel", *memory):
        setattr(other, name, getattr(d, name))


@pytest.mark.parametrize("seed", range(6))
def test_steps_agree_with_and_without_the_mass_matrix(seed):
    """A Data that once had a drive mode is solved with the mass matrix until a reset."""
    plain, driven = leg(), leg()
    d, other = landed(plain, seed), rb.make_data(driven)
    rb.set_drive(driven, other, "knee", "velocity", 0.0)
    rb.set_drive(driven, other, "knee", "force")
    assert other.accelerate_stage != 0
    copy_state(d, other)
    for _ in range(10):
        rb.step(plain, d, 1)
        rb.step(driven, other, 1)
        # both methods err by 5e-7 of the largest force, which the light shank magnifies
        scale = max(1.0, abs(d.qacc_step).max())
        assert other.qacc_step == pytest.approx(d.qacc_step, abs=1e-5 * scale)
        assert other.qpos == pytest.approx(d.qpos, abs=3e-9)
        assert other.cfrc_contact == pytest.approx(d.cfrc_contact, abs=1e-5 * scale)


@robots.needs_robots
def test_steps_of_a_robot_agree_with_and_without_the_mass_matrix():
    plain = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False, contact=True)
    driven = plain.replaced()
    d = landed(plain, 1, steps=200)
    other = rb.make_data(driven)
    rb.set_drive(driven, other, "FL_calf_joint", "velocity", 0.0)
    rb.set_drive(driven, other, "FL_calf_joint", "force")
    copy_state(d, other)
    rb.step(plain, d, 1)
    rb.step(driven, other, 1)
    assert d.ncon > 0
    scale = abs(d.qacc_step).max()
    assert other.qacc_step == pytest.approx(d.qacc_step, abs=1e-9 * scale)


def explicit(m, d, seconds):
    """Return [qpos, qvel] after `seconds` of motion in continuous time, with an error of 1e-8.

    In a step of 1e-9 s the contact law is the law of continuous time.
    """
    m = m.replaced()
    m.opt.timestep = 1e-9
    work = rb.make_data(m)
    copy_state(d, work)

    def rates(_t, x):
        work.qpos, work.qvel = x[: m.nq], x[m.nq :]
        rb.forward_dynamics(m, work)
        return np.concatenate([rb.qpos_dot(m, work.qpos, work.qvel), work.qacc])

    start = np.concatenate([d.qpos, d.qvel])
    end = solve_ivp(rates, (0.0, seconds), start, "DOP853", rtol=1e-12, atol=1e-13)
    return end.y[:, -1]


@each_integrator
def test_the_error_of_steps_in_contact_is_of_first_order(integrator):
    """A box with viscous friction rocks and slides on all corners."""
    skin = rb.Surface(stiffness=2000.0, damping=20.0, viscosity=5.0)
    m = rb.build(touching.free(touching.CUBE, 1.0, skin))
    m.opt.integrator = integrator
    start = touching.placed(m, (0.0, 0.0, 0.097), linear=(0.1, 0, 0), angular=(0.1, -0.1, 0.5))
    end = explicit(m, start, 0.05)
    errors = []
    for h in (4e-4, 2e-4, 1e-4, 5e-5):
        m.opt.timestep = h
        d = start.copy()
        rb.step(m, d, round(0.05 / h))
        assert d.ncon == 4
        errors.append(abs(np.concatenate([d.qpos, d.qvel]) - end).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx(np.ones(3), abs=0.05)
    assert errors[-1] < 1e-3


def test_momentum_changes_by_the_contact_forces_of_the_step():
    m = rb.build(touching.free(touching.CUBE, 2.0))
    d = touching.placed(m, (0, 0, 0.101), linear=(0.4, 0.1, -1.0), angular=(0.3, -0.2, 0.5))
    pushed = 0.0
    for _ in range(100):
        v = d.qvel[:3].copy()
        rb.step(m, d, 1)
        change = 2.0 * ((d.qvel[:3] - v) / m.opt.timestep - m.opt.gravity)
        # forces are stiffnesses of 3e4 m / h times velocities, which are rounded to 1e-16
        assert change == pytest.approx(d.cfrc_contact[1, 3:], abs=1e-8)
        pushed = max(pushed, d.cfrc_contact[1, 5])
    assert pushed > 500.0


@each_integrator
def test_a_distant_floor_does_not_change_the_motion(integrator):
    """The motion has the same bits with and without the floor."""
    fall = [rb.build(touching.free(touching.CUBE, floor=floor)) for floor in (True, False)]
    ends = []
    for m in fall:
        m.opt.integrator = integrator
        d = touching.placed(m, (0, 0, 50.0), linear=(1, 2, 3), angular=(1, -2, 0.5))
        rb.step(m, d, 500)
        ends.append([*d.qpos, *d.qvel])
    assert ends[0] == ends[1]


@each_integrator
def test_n_steps_at_once_equal_n_single_steps_and_a_second_run_bit_by_bit(integrator):
    m = leg(coupled=integrator == "euler")
    m.opt.integrator = integrator
    runs = [dropped(m, 3, 0.05) for _ in range(3)]
    rb.step(m, runs[0], 700)
    rb.step(m, runs[1], 700)
    for _ in range(700):
        rb.step(m, runs[2], 1)
    assert runs[0].ncon > 0
    names = (
        "qpos",
        "qvel",
        "qacc",
        "qfrc_contact",
        "cfrc_contact",
        "contact_pos",
        "contact_force",
    )
    for name in names:
        assert np.array_equal(getattr(runs[0], name), getattr(runs[1], name)), name
        assert np.array_equal(getattr(runs[0], name), getattr(runs[2], name)), name


SURFACES = {
    "default": rb.Surface(),
    "stiff": rb.Surface(stiffness=1e9),
    "stiff, hardly damped": rb.Surface(stiffness=1e9, damping=1e-3),
    "rough": rb.Surface(friction=50.0),
    "viscous": rb.Surface(viscosity=1e6),
    "viscous as honey": rb.Surface(viscosity=1.0),
    "smooth": rb.Surface(friction=0.0),
    "slow": rb.Surface(time_constant=0.05),
}


@each_integrator
@pytest.mark.parametrize("surface", SURFACES)
def test_no_surface_is_too_stiff_for_a_step(integrator, surface):
    """Explicit steps are stable for h^2 k / m < 4 and h b / m < 2; here both exceed 4000.

    The energy must not grow: friction and dampers remove energy, and springs return at most what
    they have stored.
    """
    m = leg(**{name: getattr(SURFACES[surface], name) for name in rb.Surface.__slots__})
    m.opt.integrator = integrator
    for seed in range(4):
        d = dropped(m, seed, 0.2)
        start = states.energy(m, d)
        largest = -np.inf
        for _ in range(200):
            rb.step(m, d, 5)
            largest = max(largest, states.energy(m, d))
        assert d.nbad == 0
        fallen = 5.0 * touching.G * 0.5
        assert largest - start < 1e-3 * fallen
        assert states.energy(m, d) < start


@pytest.mark.parametrize("h", [0.001, 0.002, 0.005])
def test_a_body_at_rest_does_not_creep(h):
    """The position of the body changes by less than 1e-12 m in 5 s."""
    m = rb.build(touching.free(touching.CUBE))
    m.opt.timestep = h
    d = touching.placed(m, (0.0, 0.0, 0.1))
    rb.step(m, d, round(2.0 / h))
    there = d.qpos.copy()
    rb.step(m, d, round(5.0 / h))
    assert d.qpos == pytest.approx(there, abs=1e-12)
    assert abs(d.qvel).max() < 1e-12


def test_rk4_makes_an_euler_step_while_bodies_touch():
    """In the air the step is RK4's, which is exact for a thrown ball."""
    m = rb.build(touching.free(touching.BALL))
    m.opt.integrator = "rk4"
    d = touching.placed(m, (0, 0, 1.0), linear=(1, 0, 0))
    rb.step(m, d, 400)
    assert d.qpos[2] == pytest.approx(1.0 - 0.5 * touching.G * 0.16, rel=1e-14)
    m.opt.timestep = 0.02
    d = touching.placed(m, (0, 0, 0.099))
    before = d.copy()
    rb.step(m, d, 1)
    m.opt.integrator = "euler"
    rb.step(m, before, 1)
    assert np.array_equal(d.qpos, before.qpos)


def test_a_loop_stays_closed_while_the_mechanism_touches_the_floor():
    """A four-bar linkage falls on the floor."""
    system = mechanisms.grashof()
    for name, length in (("crank", 0.1), ("coupler", 0.25), ("rocker", 0.2)):
        shape, at = rb.Capsule(0.01, length), rb.pose((length / 2, 0, 0), rpy=(0, np.pi / 2, 0))
        system.geometry(f"{name} skin", name, shape, origin=at)
    m = rb.build(system.floor(-0.05))
    d = mechanisms.started(m, A=0.8)
    touched = 0
    for _ in range(200):
        rb.step(m, d, 10)
        mechanisms.see_constraints(m, d)
        assert abs(d.efc_pos).max() < 1e-6
        touched += d.ncon > 0
    assert touched > 100
    assert abs(d.qvel).max() < 1e-3
    rb.forward(m, d)
    assert abs(d.qacc).max() < 1e-2


@pytest.mark.parametrize(
    ("kind", "axis", "arm", "force"),
    [("prismatic", (0, 0, 1), 0.0, -1e4), ("revolute", (0, 1, 0), 0.5, 5e3)],
)
def test_a_force_does_not_push_a_resting_link_into_the_floor(kind, axis, arm, force):
    """Without the floor the force would move the link by ten times its gap of 1 mm in a step."""
    system = (
        rb.SystemBuilder("hammer", base="world")
        .body("trunk", rb.shapes.box((0.4, 0.4, 0.1), mass=100.0))
        .body("head", rb.shapes.sphere(0.05, mass=1.0, at=rb.pose((arm, 0, 0))))
        .joint("free", "floating", "world", "trunk", xyz=(0, 0, 0.05))
        .joint("joint", kind, "trunk", "head", axis=axis, xyz=(0.5, 0, 0.001))
        .geometry("trunk", "trunk", rb.Box((0.4, 0.4, 0.1)))
        .geometry("head", "head", rb.Sphere(0.05), origin=rb.pose((arm, 0, 0)))
        .floor()
    )
    m = rb.build(system)
    d = rb.make_data(m)
    d.qfrc_applied[6] = force
    rb.step(m, d)
    rb.kinematics(m, d)
    rotation = d.xmat[2].reshape(3, 3)
    lowest = d.xpos[2, 2] + arm * rotation[2, 0] - 0.05
    assert -1e-6 < lowest < 0.001

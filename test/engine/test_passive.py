# SPDX-License-Identifier: Apache-2.0
"""Damping, and dry friction and limits by the smooth law, agree with closed forms.

test_stops.py tests the exact law.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import states, trees
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Limit, Link
from rbdyn_ros.engine.step.passive import STICTION_SPEED

INERTIA = 0.7


def wheel(kind="continuous", inertia=INERTIA, limit=None, damping=0.0, friction=0.0):
    """Return a Model of a body with this inertia (mass for a slide) on a vertical axis."""
    inertial = Inertial(inertia, inertia=(inertia, inertia, inertia, 0.0, 0.0, 0.0))
    joint = Joint(
        "joint", kind, "base", "wheel", axis=(0.0, 0.0, 1.0), limit=limit,
        damping=damping, friction=friction,
    )  # fmt: skip
    m = rb.build(Description("wheel", (Link("base"), Link("wheel", inertial)), (joint,)))
    m.opt.gravity = (0.0, 0.0, 0.0)
    return smoothly(m)


def run(m, qpos=0.0, qvel=0.0, steps=1, force=0.0):
    d = rb.make_data(m)
    d.qpos, d.qvel, d.qfrc_applied = qpos, qvel, force
    speeds = []
    for _ in range(steps):
        rb.step(m, d)
        speeds.append(d.qvel[0])
    return d, np.array(speeds)


def test_implicit_damping_agrees_with_its_closed_form():
    m = wheel(damping=3.0)
    m.opt.timestep = 0.01
    _, speeds = run(m, qvel=2.0, steps=5)
    expected = 2.0 / (1.0 + 0.01 * 3.0 / INERTIA) ** np.arange(1, 6)
    assert np.abs(speeds - expected).max() < 1e-15


def test_explicit_damping_agrees_with_its_closed_form():
    m = wheel(damping=3.0)
    m.opt.timestep, m.opt.integrator = 0.01, "euler"
    _, speeds = run(m, qvel=2.0, steps=5)
    expected = 2.0 * (1.0 - 0.01 * 3.0 / INERTIA) ** np.arange(1, 6)
    assert np.abs(speeds - expected).max() < 1e-15


def test_implicit_damping_is_stable_for_any_damping():
    m = wheel(damping=1e6)
    _, speeds = run(m, qvel=2.0, steps=5)
    assert (np.diff(speeds) <= 0.0).all()
    assert 0.0 <= speeds[-1] < 1e-12


def test_implicit_damping_of_a_chain_matches_a_dense_solve():
    """The new velocity is v + h (M + h B)^-1 f, with the dense matrix."""
    m = trees.build(trees.auto_tree(7, 1.5, seed=2, damping=2.0))
    m.opt.timestep = 0.01
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    d.xfrc_applied = 0.0
    v, M = d.qvel.copy(), rb.mass_matrix(m, d)
    rb.forward(m, d)
    force = d.qfrc_applied - d.qfrc_bias - m.dof_damping * v
    expected = v + 0.01 * np.linalg.solve(M + 0.01 * np.diag(m.dof_damping), force)
    rb.step(m, d)
    assert np.abs(d.qvel - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
def test_friction_decelerates_a_joint_by_its_force_over_the_inertia(integrator):
    m = wheel(friction=0.35)
    m.opt.integrator = integrator
    _, speeds = run(m, qvel=2.0, steps=1000)
    # implicit steps with the viscosity F / max(v, v_s) have an error of h (F / I)^2 / v per second
    expected = 2.0 - 0.35 / INERTIA * 0.001 * np.arange(1, 1001)
    assert np.abs(speeds - expected).max() < 5e-4


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_friction_stops_a_joint_and_never_reverses_it(side):
    m = wheel(friction=0.35)
    d, speeds = run(m, qvel=0.5 * side, steps=2000)
    assert (side * speeds >= 0.0).all()
    assert abs(speeds[-1]) < 1e-6
    # the stopping distance is v^2 / 2a
    assert side * d.qpos[0] == pytest.approx(0.5**2 * INERTIA / (2 * 0.35), rel=0.01)


def test_smooth_friction_lets_a_held_load_creep_as_documented():
    m = wheel(friction=2.0)
    _, speeds = run(m, steps=3000, force=1.5)
    assert speeds[-1] == pytest.approx(STICTION_SPEED * 1.5 / 2.0, rel=1e-6)


def test_a_joint_slides_if_the_load_exceeds_its_friction():
    m = wheel(friction=2.0)
    _, speeds = run(m, steps=1000, force=2.7)
    gained = speeds[-1] - speeds[-501]  # in the last half second
    assert gained == pytest.approx(0.5 * 0.7 / INERTIA, rel=0.01)


def limited(solref, kind="revolute", inertia=INERTIA):
    m = wheel(kind, inertia, Limit(-0.5, 0.5, 100.0, 100.0))
    return m.replaced(jnt_solref=np.array([solref]))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("solref", [(0.02, 1.0), (0.05, 0.5), (0.1, 2.0)])
def test_a_limit_spring_satisfies_its_differential_equation(solref, side, kind):
    """At a depth r beyond the limit r'' = -2/t r' - r/(t z)^2; the joint starts at rest."""
    m = limited(solref, kind)
    m.opt.integrator = "rk4"
    m.opt.timestep = 1e-4
    t, z = solref
    depth, duration = 0.1, 0.5 * t
    d, _ = run(m, qpos=side * (0.5 + depth), steps=round(duration / 1e-4))
    truth = solve_ivp(
        lambda _, y: [y[1], -2.0 / t * y[1] - y[0] / (t * z) ** 2],
        (0.0, duration), [depth, 0.0], rtol=1e-11, atol=1e-13,
    ).y[:, -1]  # fmt: skip
    assert truth[0] > 0.0, "the joint is no longer beyond the limit"
    assert side * d.qpos[0] - 0.5 == pytest.approx(truth[0], rel=1e-6)
    assert side * d.qvel[0] == pytest.approx(truth[1], rel=1e-6)


def test_a_critically_damped_limit_agrees_with_its_closed_form():
    m = limited((0.02, 1.0))
    m.opt.integrator = "rk4"
    m.opt.timestep = 1e-4
    d, _ = run(m, qpos=0.6, steps=200)
    s = 0.02 / 0.02
    assert d.qpos[0] - 0.5 == pytest.approx(0.1 * (1.0 + s) * np.exp(-s), rel=1e-6)


def test_the_force_of_a_limit_scales_with_the_inertia():
    """With equal time constants a heavy and a light joint move equally."""
    light, _ = run(limited((0.02, 1.0), inertia=1e-3), qpos=0.6, steps=50)
    heavy, _ = run(limited((0.02, 1.0), inertia=1e3), qpos=0.6, steps=50)
    assert light.qpos[0] == pytest.approx(heavy.qpos[0], rel=1e-12)


def test_a_joint_pressed_against_its_limit_stays_near_the_limit():
    m = limited((0.02, 1.0))
    d, _ = run(m, steps=5000, force=INERTIA * 10.0)
    assert d.qpos[0] - 0.5 == pytest.approx(10.0 * 0.02**2, rel=1e-6)  # f / k
    assert abs(d.qvel[0]) < 1e-9


def test_limits_have_no_force_within_the_range():
    m = limited((0.02, 1.0))
    for q in (-0.5, -0.1, 0.0, 0.4999, 0.5):
        d = rb.make_data(m)
        d.qpos, d.qvel = q, 3.0
        rb.forward(m, d)
        assert d.qfrc_passive[0] == 0.0, q


def test_passive_forces_are_zero_without_opt_passive():
    m = trees.build(trees.auto_tree(5, damping=1.0, seed=1))
    m = m.replaced(
        dof_frictionloss=np.ones(m.nv), jnt_limited=np.ones(m.njnt),
        jnt_range=np.tile([-1e-3, 1e-3], (m.njnt, 1)),
    )  # fmt: skip
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    rb.forward(m, d)
    assert (d.qfrc_passive != 0.0).all()
    m.opt.passive = False
    rb.forward(m, d)
    assert (d.qfrc_passive == 0.0).all()
    assert (d.dof_viscosity == 0.0).all()


def test_viscosity_is_the_negative_derivative_of_the_passive_force():
    """This holds for damping, for smooth friction and at limits."""
    m = limited((0.02, 1.0)).replaced(dof_damping=[0.3], dof_frictionloss=[0.1])
    d = rb.make_data(m)
    forces = []
    for v in (1e-4, 2e-4):
        d.qpos, d.qvel = 0.6, v
        states.at_present(m, d)
        forces.append(d.qfrc_passive[0])
    assert (forces[0] - forces[1]) / 1e-4 == pytest.approx(d.dof_viscosity[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_damping_acts_on_every_dof_of_a_joint(kind):
    m = wheel(kind, damping=3.0)
    d = rb.make_data(m)
    d.qvel = 2.0
    states.at_present(m, d)
    assert (d.qfrc_passive == -6.0).all()


def test_armature_adds_to_the_diagonal_of_the_mass_matrix():
    m = trees.build(trees.auto_tree(6, 1.5, seed=3), floating_base=True)
    armature = np.random.default_rng(0).uniform(0.1, 2.0, m.nv)
    geared = m.replaced(dof_armature=armature)
    d, g = rb.make_data(m), rb.make_data(geared)
    states.randomise(m, d, 1)
    g.buffer[:] = d.buffer
    M = rb.mass_matrix(m, d) + np.diag(armature)
    assert np.abs(rb.mass_matrix(geared, g) - M).max() < 1e-15 * np.abs(M).max()
    rb.inverse(m, d)
    rb.inverse(geared, g)
    expected = d.qfrc_inverse + armature * d.qacc
    assert np.abs(g.qfrc_inverse - expected).max() < 1e-14 * np.abs(expected).max()
    g.xfrc_applied = 0.0
    g.qfrc_applied = g.qfrc_inverse
    rb.forward_dynamics(geared, g)
    assert np.abs(g.qacc - d.qacc).max() < 1e-12
    rb.energy(m, d)
    rb.energy(geared, g)
    extra = 0.5 * armature @ d.qvel**2
    assert g.energy[1] - d.energy[1] == pytest.approx(extra, rel=1e-12)

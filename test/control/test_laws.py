# SPDX-License-Identifier: Apache-2.0
"""Joint laws agree with Pinocchio's terms; simulated arms under them move as theory predicts."""

import tracemalloc

import numpy as np
import pytest
from closed_loop import FILES, model
from scipy.linalg import expm
from support.refusals import refused
from test_arm import Pin, each_arm, state

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws.joint_laws import (
    ComputedTorque,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from rbdyn_ros.errors import ParameterError

LAWS = (ComputedTorque, JointImpedance, PDGravity)
K, D = 300.0, 25.0


def wanted(nv, seed=5):
    target = Target(nv)
    target.rows[:] = np.random.default_rng(seed).normal(size=(3, nv)) * [[0.3], [1.0], [4.0]]
    return target


@each_arm
def test_each_law_matches_its_formula_computed_with_pinocchio(file):
    m = model(file)
    arm, theirs, (q, v, _a) = Arm(m), Pin(file, m), state(file)
    n, target = m.nv, wanted(m.nv)
    gains = np.linspace(1.0, 2.0, n)
    Kp, Kd = K * gains, D * gains[::-1]
    e, de = target.qpos - q, target.qvel - v
    M, g, zero = theirs.mass(q), theirs.gravity(q), np.zeros(n)
    expected = {
        ComputedTorque: theirs.rnea(q, v, target.qacc + Kd * de + Kp * e),
        JointImpedance: theirs.rnea(q, v, target.qacc) + Kp * e + Kd * de,
        PDGravity: g + Kp * e + Kd * de,
    }
    for law, effort in expected.items():
        found = law(arm, Kp, Kd)(q, v, target)
        np.testing.assert_allclose(found, effort, rtol=1e-10, atol=1e-10, err_msg=law.__name__)
    found = GravityCompensation(arm, 3.0)(q, v, target)
    np.testing.assert_allclose(found, g - 3.0 * M @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(GravityCompensation(arm)(q, zero, target), g, atol=1e-10)


@each_arm
def test_laws_include_friction_and_the_robots_gravity_compensation(file):
    m, (q, v, _a) = model(file), state(file)
    friction = Friction.of(m.nv, viscous=0.7, coulomb=0.3)
    plain, arm = Arm(m), Arm(m, friction=friction, robot_compensates_gravity=True)
    target = wanted(m.nv)
    more = friction.effort(target.qvel, np.empty(m.nv))  # at the desired velocity
    g = plain.gravity_effort(q, np.empty(m.nv)).copy()
    for law in LAWS:
        bare = law(plain, K, D)(q, v, target).copy()
        np.testing.assert_allclose(law(arm, K, D)(q, v, target), bare + more - g, atol=1e-9)


def test_a_law_after_a_change_of_payload_equals_a_new_law():
    m, (q, v, _a) = model(), state(FILES[0])
    light, heavy = Arm(m), Arm(m).with_payload("tool0", 4.0, (0.1, 0.0, 0.1))
    target = wanted(m.nv)
    for make in LAWS:
        law = make(light, K, D)
        law(q, v, target)
        law.use(heavy)
        np.testing.assert_array_equal(law(q, v, target), make(heavy, K, D)(q, v, target))


def rk4(m, law, q, v, h, steps, target):
    """Integrate an arm under a law in continuous time; return positions and velocities."""
    d = rb.make_data(m)

    def slope(q, v):
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = q, v, law(q, v, target)
        rb.forward_dynamics(m, d)
        return v.copy(), d.qacc.copy()

    rows = [(q, v)]
    for _ in range(steps):
        a1, b1 = slope(q, v)
        a2, b2 = slope(q + h / 2 * a1, v + h / 2 * b1)
        a3, b3 = slope(q + h / 2 * a2, v + h / 2 * b2)
        a4, b4 = slope(q + h * a3, v + h * b3)
        q, v = q + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        rows.append((q, v))
    return np.array(rows).swapaxes(0, 1)


@each_arm
def test_kinetic_energy_decays_at_the_given_rate(file):
    """For any motion of any arm dT/dt = -2 rate T, so T = T0 exp(-2 rate t)."""
    m, (q, v, _a) = model(file), state(file)
    rate, h, d = 4.0, 1e-3, rb.make_data(m)
    law = GravityCompensation(Arm(m), rate)
    places, speeds = rk4(m, law, q, v, h, 500, Target(m.nv))

    def energy(q, v):
        d.qpos[:] = q
        return 0.5 * v @ rb.mass_matrix(m, d) @ v

    for k in (100, 250, 500):
        expected = energy(q, v) * np.exp(-2.0 * rate * k * h)
        # the truncation error of the Runge-Kutta method is 1e-6 with this step
        assert energy(places[k], speeds[k]) == pytest.approx(expected, rel=1e-6)


@each_arm
def test_damped_motion_stays_on_the_path_of_free_motion(file):
    """M v' + C v = -rate M v is the free motion in a slowed time s that ends at 1 / rate.

    With q(t) = p(s(t)) and s = (1 - exp(-rate t)) / rate the equation is M p'' + C p' = 0.
    """
    m, (q, v, _a) = model(file), state(file)
    rate, t, n = 4.0, 0.8, 800
    s = (1.0 - np.exp(-rate * t)) / rate
    braked = rk4(m, GravityCompensation(Arm(m), rate), q, v, t / n, n, Target(m.nv))
    free = rk4(m, GravityCompensation(Arm(m)), q, v, s / n, n, Target(m.nv))
    np.testing.assert_allclose(braked[0][-1], free[0][-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(braked[1][-1], np.exp(-rate * t) * free[1][-1], atol=1e-7)


@each_arm
def test_the_error_of_computed_torque_follows_its_linear_equation(file):
    """Each joint follows e'' + Kd e' + Kp e = 0, although the inertia couples the joints."""
    m, (q, v, _a) = model(file), state(file)
    Kp, Kd = 80.0, 7.0  # underdamped
    target = Target(m.nv, q + 0.1)
    places, _ = rk4(m, ComputedTorque(Arm(m), Kp, Kd), q, v * 0.3, 1e-3, 600, target)
    start = np.stack([target.qpos - q, -v * 0.3])
    for k in (1, 100, 300, 600):
        e = (expm(np.array([[0.0, 1.0], [-Kp, -Kd]]) * k * 1e-3) @ start)[0]
        np.testing.assert_allclose(target.qpos - places[k], e, rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, (1.0, 2.0), "many", (1.0,) * 5 + (-0.1,)])
def test_invalid_gains_are_refused(law, bad):
    arm = Arm(model())
    with refused(ParameterError, "bad-argument", "stiffness"):
        law(arm, bad, 1.0)
    with refused(ParameterError, "bad-argument", "damping"):
        law(arm, 1.0, bad)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, (1.0,) * 6, None])
def test_one_rate_brakes_all_joints(bad):
    with refused(ParameterError, "bad-argument"):
        GravityCompensation(Arm(model()), bad)


def test_a_law_allocates_nothing_and_is_deterministic():
    m, (q, v, _a) = model("panda.urdf"), state("panda.urdf")
    friction = Friction.of(m.nv, 0.1, 0.1)
    arm, target = Arm(m, friction=friction, robot_compensates_gravity=True), wanted(m.nv)
    laws = [GravityCompensation(arm, 2.0), *(law(arm, K, D) for law in LAWS)]
    first = [law(q, v, target).copy() for law in laws]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        for law in laws:
            law(q, v, target)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4000  # tracemalloc and a free list allocate less than a byte per call
    for law, bits in zip(laws, first, strict=True):
        np.testing.assert_array_equal(law(q, v, target), bits)
        assert law(q, v, target) is law.effort

# SPDX-License-Identifier: Apache-2.0
"""The admittance law agrees with closed forms of a mass on a spring and a damper."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rbdyn_ros.control.laws.virtual_mass import VirtualMass, rotation_vector

DT, FORCE = 2e-3, np.array([0.3, 0.0, 0.0, 8.0, 0.0, 0.0])


def one(mass, damping, stiffness):
    return VirtualMass(*(np.full(6, x) for x in (mass, damping, stiffness)))


def run(body, duration, force=FORCE):
    found = []
    for _ in range(round(duration / DT)):
        body.advance(force, DT)
        found.append(np.concatenate([body.displacement, body.velocity]))
    return np.array(found)


def test_the_speed_of_a_mass_without_a_spring_rises_to_force_over_damping():
    m, d = 2.0, 10.0
    rows = run(one(m, d, 0.0), 2.0)
    t = DT * np.arange(1, len(rows) + 1)
    speed = FORCE[3] / d * -np.expm1(-d / m * t)
    # with the midpoint rule the exponent has a relative error of (d dt / m)^2 / 12
    np.testing.assert_allclose(rows[:, 9], speed, atol=1e-5 * FORCE[3] / d)
    way = FORCE[3] / d * (t + m / d * np.expm1(-d / m * t))
    np.testing.assert_allclose(rows[:, 3], way, atol=1e-5)
    turn = FORCE[0] / d * (t + m / d * np.expm1(-d / m * t))
    np.testing.assert_allclose(rows[:, 0], turn, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_a_virtual_mass_on_a_spring_rests_at_force_over_stiffness(ratio):
    m, k = 2.0, 200.0
    d, w = 2.0 * ratio * np.sqrt(k * m), np.sqrt(k / m)
    rows = run(one(m, d, k), 16.0)
    t = DT * np.arange(1, len(rows) + 1)
    roots = np.roots([m, d, k]).astype(complex)
    if ratio == 1.0:
        share = 1.0 - (1.0 + w * t) * np.exp(-w * t)
    else:
        a, b = roots
        share = 1.0 + ((b * np.exp(a * t) - a * np.exp(b * t)) / (a - b)).real
    np.testing.assert_allclose(rows[:, 3], FORCE[3] / k * share, atol=2e-4 * FORCE[3] / k * 4)
    np.testing.assert_allclose(rows[-1, :6], FORCE / k, atol=1e-9)
    np.testing.assert_allclose(rows[-1, 6:], 0.0, atol=1e-8)


def test_a_large_rotation_rests_where_the_spring_balances_the_torque():
    body = one(0.1, 2.0, 5.0)
    torque = np.array([2.0, -1.5, 6.0])
    run(body, 10.0, np.concatenate([torque, np.zeros(3)]))
    np.testing.assert_allclose(body.displacement[:3], torque / 5.0, atol=1e-9)
    expected = Rotation.from_rotvec(torque / 5.0).as_matrix()
    np.testing.assert_allclose(body.rotation, expected, atol=1e-9)


def test_a_virtual_mass_continues_with_its_speed_after_it_was_held():
    body = one(1.0, 0.0, 0.0)
    body.advance(FORCE, DT)
    way, turn = np.array([0.0, 0.001, 0.0]), Rotation.from_rotvec([0.0, 0.0, 0.002]).as_quat()
    body.place(way, turn[[3, 0, 1, 2]], DT)
    np.testing.assert_allclose(body.velocity, [0.0, 0.0, 1.0, 0.0, 0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(rotation_vector(body.turn), [0.0, 0.0, 0.002], atol=1e-12)

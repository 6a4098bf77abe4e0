# SPDX-License-Identifier: Apache-2.0
"""Elastic gears and backlash agree with closed forms."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.model.declared.actuators import TWIST, TWIST_RATE

H, INERTIA = 1e-3, 0.02

#: Inertia of the rotor as seen from the joint, behind a gear of ratio 10 [kg m^2].
ROTOR = 100 * 1e-4


def geared(one, **values):
    spec = rb.ActuatorSpec("j", gear=10.0, armature=1e-4, **values)
    m = rb.with_actuators(one, [spec])
    return m, rb.make_data(m)


def test_two_masses_swing_with_the_right_frequency_and_keep_their_energy(one):
    stiffness = 200.0
    m, d = geared(one, stiffness=stiffness)
    d.act[TWIST] = 0.01
    twists = []
    for _ in range(4000):
        rb.step(m, d)
        twists.append(d.act[TWIST])
    natural = np.sqrt(stiffness * (1.0 / ROTOR + 1.0 / INERTIA))
    # symplectic Euler swings at w > natural: sin(w h / 2) = natural h / 2
    turn = 2.0 * np.arcsin(0.5 * natural * H)
    n = np.arange(1, 4001)
    expected = 0.01 * np.cos((n + 0.5) * turn) / np.cos(0.5 * turn)
    assert np.abs(np.array(twists) - expected).max() < 1e-12
    assert turn / H == pytest.approx(natural, rel=(natural * H) ** 2 / 20)
    momentum = INERTIA * d.qvel[0] + ROTOR * (d.qvel[0] + d.act[TWIST_RATE])
    assert abs(momentum) < 1e-13


@pytest.mark.parametrize("stiffness", [1e4, 1e5, 1e7, 1e9])
def test_a_stiff_gear_is_stable_and_moves_like_a_rigid_gear(one, stiffness):
    m, d = geared(one, stiffness=stiffness)
    rigid, other = geared(one)
    for n in range(3000):
        d.qfrc_applied[0] = other.qfrc_applied[0] = 1.0 if n < 1500 else -1.0
        rb.step(m, d)
        rb.step(rigid, other)
    assert abs(d.act[TWIST]) < 2.0 / stiffness
    assert d.qvel[0] == pytest.approx(other.qvel[0], abs=1.5e-2)
    assert d.qpos[0] == pytest.approx(other.qpos[0], abs=2.0 * H)


def test_the_rotor_moves_freely_within_the_backlash(one):
    play, stiffness = 0.02, 2000.0
    m, d = geared(one, stiffness=stiffness, gear_damping=5.0, backlash=play)
    d.qfrc_applied[0] = 0.1
    while d.act[TWIST] < 0.5 * play:
        assert d.qpos[0] == 0.0  # the joint rests until the rotor has crossed the backlash
        rb.step(m, d)
    # n steps of symplectic Euler: acceleration h^2 n(n + 1) / 2
    n = round(d.time / H)
    assert d.act[TWIST] == pytest.approx(0.1 / ROTOR * H * H * n * (n + 1) / 2, rel=1e-12)
    rb.step(m, d, 3000)
    # rotor and joint accelerate together, and the gear carries the torque for the joint's inertia
    twist = 0.5 * play + 0.1 * INERTIA / (INERTIA + ROTOR) / stiffness
    assert d.act[TWIST] == pytest.approx(twist, rel=1e-4)


def test_a_servo_with_backlash_in_its_loop_has_a_limit_cycle(one):
    """The oscillation keeps a constant amplitude."""
    play = 0.02
    m, d = geared(one, stiffness=5000.0, gear_damping=1.0, backlash=play)
    d.qpos[0], path = 0.05, []
    for _ in range(20000):
        d.qfrc_applied[0] = -5.0 * d.qpos[0] - 0.2 * (d.qvel[0] + d.act[TWIST_RATE])
        rb.step(m, d)
        path.append(d.qpos[0])
    early, late = np.ptp(path[10000:15000]), np.ptp(path[15000:])
    assert late == pytest.approx(early, rel=0.05)
    assert 0.05 * play < late < 10.0 * play

# SPDX-License-Identifier: Apache-2.0
"""A payload is identified from the efforts it adds."""

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.identification.equations.payload import identify_payload

LOAD = 2.0, (0.02, -0.03, 0.08), (0.01, 0.012, 0.008, 0.001, 0.0, -0.0005)
HANDS = {"ur5_robot.urdf": "tool0", "panda.urdf": "panda_hand", "seven_dof_arm": "tool"}


def hand(m, name):
    return HANDS[name] if HANDS[name] in m.frame_names else m.frame_names[-1]


@pytest.mark.parametrize("name", HANDS)
@pytest.mark.parametrize("known", [True, False], ids=["friction known", "friction identified"])
def test_two_kilograms_are_found_exactly(name, known):
    m = load(name)
    friction, link = rubbing(m), hand(m, name)
    motion = recorded(rb.with_payload(m, link, *LOAD), friction, seed=3)
    found = identify_payload(m, motion, link, friction=friction if known else None)
    assert found.mass == pytest.approx(2.0, abs=1e-8)
    np.testing.assert_allclose(found.com, LOAD[1], atol=1e-8)
    np.testing.assert_allclose(found.inertia, LOAD[2], atol=1e-8)
    np.testing.assert_allclose(found.friction.viscous, friction.viscous, rtol=1e-6)


@pytest.mark.parametrize("name", HANDS)
def test_two_kilograms_are_found_in_noise(name, capsys):
    m = load(name)
    friction, link = rubbing(m), hand(m, name)
    motion = recorded(rb.with_payload(m, link, *LOAD), friction, seed=3, noise=0.05)
    found = identify_payload(m, motion, link)
    with capsys.disabled():
        print(f"\n{name}: {found.mass:.4f} +- {found.std[0]:.4f} kg of 2")
    assert abs(found.mass - 2.0) < 0.05
    assert np.abs(found.com - LOAD[1]).max() < 0.01
    # with_payload accepts only possible rigid bodies
    loaded = rb.with_payload(m, link, found.mass, found.com, found.inertia)
    assert loaded.body_mass.sum() == pytest.approx(m.body_mass.sum() + found.mass)
    assert (found.after.rms <= found.before.rms + 1e-9).all()


def test_rotor_inertia_of_the_arm_counts_once():
    m = load("ur5_robot.urdf").replaced(dof_armature=np.linspace(0.1, 0.6, 6))
    motion = recorded(rb.with_payload(m, "tool0", *LOAD), rubbing(m), seed=3)
    found = identify_payload(m, motion, "tool0", friction=rubbing(m))
    assert found.mass == pytest.approx(2.0, abs=1e-8)


def test_without_a_payload_its_mass_is_nearly_zero():
    m = load("ur5_robot.urdf")
    found = identify_payload(m, recorded(m, rubbing(m), seed=3), "tool0")
    assert 0.0 < found.mass < 1e-6


def test_a_link_that_does_not_move_is_refused():
    m = load("ur5_robot.urdf")
    motion = recorded(m, rubbing(m), seed=3, samples=20)
    with refused(rb.ParameterError, "payload", "base_link"):
        identify_payload(m, motion, "base_link")
    with refused(rb.ModelError, "unknown-frame"):
        identify_payload(m, motion, "tol0")

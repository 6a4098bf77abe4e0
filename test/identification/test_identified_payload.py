# SPDX-License-Identifier: Apache-2.0
"""A payload is identified from the efforts that it adds."""

from dataclasses import replace

import numpy as np
import pytest
from moved_arms import load, recorded, rubbing, wrong
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.equations.loaded_arm import identify_with_payload
from rbdyn_ros.identification.equations.payload import identify_payload

LOAD = 2.0, (0.02, -0.03, 0.08), (0.01, 0.012, 0.008, 0.001, 0.0, -0.0005)
HANDS = {"ur5_robot.urdf": "tool0", "panda.urdf": "panda_hand", "seven_dof_arm": "tool"}


def hand(m, name):
    return HANDS[name] if HANDS[name] in m.frame_names else m.frame_names[-1]


@pytest.mark.parametrize("name", HANDS)
@pytest.mark.parametrize("known", [True, False], ids=["friction known", "friction identified"])
def test_a_payload_of_2_kg_is_identified_exactly_without_noise(name, known):
    m = load(name)
    friction, link = rubbing(m), hand(m, name)
    motion = recorded(rb.with_payload(m, link, *LOAD), friction, seed=3)
    found = identify_payload(m, motion, link, friction=friction if known else None)
    assert found.mass == pytest.approx(2.0, abs=1e-8)
    np.testing.assert_allclose(found.com, LOAD[1], atol=1e-8)
    np.testing.assert_allclose(found.inertia, LOAD[2], atol=1e-8)
    np.testing.assert_allclose(found.friction.viscous, friction.viscous, rtol=1e-6)


@pytest.mark.parametrize("name", HANDS)
def test_a_payload_of_2_kg_is_identified_with_noise(name, capsys):
    m = load(name)
    friction, link = rubbing(m), hand(m, name)
    motion = recorded(rb.with_payload(m, link, *LOAD), friction, seed=3, noise=0.05)
    found = identify_payload(m, motion, link)
    with capsys.disabled():
        print(f"\n{name}: {found.mass:.4f} +- {found.std[0]:.4f} kg of 2")
    assert abs(found.mass - 2.0) < 0.05
    assert np.abs(found.com - LOAD[1]).max() < 0.01
    # with_payload accepts only physically possible bodies
    loaded = rb.with_payload(m, link, found.mass, found.com, found.inertia)
    assert loaded.body_mass.sum() == pytest.approx(m.body_mass.sum() + found.mass)
    assert (found.after.rms <= found.before.rms + 1e-9).all()


def test_the_rotor_inertia_of_the_arm_is_counted_once():
    m = load("ur5_robot.urdf").replaced(dof_armature=np.linspace(0.1, 0.6, 6))
    motion = recorded(rb.with_payload(m, "tool0", *LOAD), rubbing(m), seed=3)
    found = identify_payload(m, motion, "tool0", friction=rubbing(m))
    assert found.mass == pytest.approx(2.0, abs=1e-8)


def test_the_identified_mass_without_a_payload_is_nearly_zero():
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


@pytest.fixture(scope="module")
def pair():
    """Return a wrong Model, and motions without and with 2 kg; friction depends on the load."""
    truth = load("ur5_robot.urdf")
    loaded = rb.with_payload(truth, "tool0", *LOAD)
    rub = {"friction": rubbing(truth), "noise": 0.02, "by_load": np.linspace(0.05, 0.12, 6)}
    return wrong(truth), recorded(truth, seed=3, **rub), recorded(loaded, seed=4, **rub)


def test_an_arm_and_its_payload_are_identified_together(pair):
    described, motion, loaded = pair
    found = identify_with_payload(described, motion, loaded, "tool0")
    apart = identify_payload(described, loaded, "tool0")
    payload = found.payload
    assert payload.mass == pytest.approx(2.0, abs=3.0 * payload.std[0])
    assert payload.mass == pytest.approx(2.0, abs=0.05)
    # alone, the payload is less exact, because the Model's masses are wrong
    assert abs(apart.mass - 2.0) > 3.0 * abs(payload.mass - 2.0)
    np.testing.assert_allclose(payload.com, LOAD[1], atol=0.01)
    assert (payload.after.rms < 0.05 * loaded.effort.std(axis=0)).all()
    assert "load" in [term.kind for term in found.arm.terms if term.kept]
    assert np.nanmax(np.abs(found.by_joint - payload.mass)) < 0.1


def test_a_joint_with_another_drive_gain_estimates_another_mass(pair):
    described, motion, loaded = pair
    gain = np.array([1.0, 1.0, 1.3, 1.0, 1.0, 1.0])
    motion, loaded = (replace(one, effort=gain * one.effort) for one in (motion, loaded))
    masses = identify_with_payload(described, motion, loaded, "tool0").by_joint
    assert masses[2] > 1.15 * masses[1]


def test_both_recordings_must_move_the_same_joints(pair):
    described, motion, loaded = pair
    still = loaded.qvel.copy()
    still[:, 4] = 0.0
    with refused(ParameterError, "payload", "payload") as caught:
        identify_with_payload(described, motion, replace(loaded, qvel=still), "tool0")
    assert "must move the same joints" in str(caught.value)
    assert "wrist_2_joint" in str(caught.value)

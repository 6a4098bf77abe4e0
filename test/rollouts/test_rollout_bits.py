# SPDX-License-Identifier: Apache-2.0
"""Specialised steps and rollouts give the same bits, with and without symbolic parameters."""

import functools

import numpy as np
import pytest
from support import specialised, specialised_models

import rbdyn_ros as rb
from rbdyn_ros.rollouts import job as module
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.rollout import rollout
from rbdyn_ros.share import bundled_robot

ROBOTS, NSTEP = 19, 2  # not a multiple of any vector width

#: Models and integrators. Together they have all joint types, couplings, springs, limits and
#: friction.
CASES = {
    "floating arm": "implicit_damping",
    "library": "implicit_damping",
    "balls": "euler",
    "springs": "rk4",
    "yaw_pitch_roll": "implicit_damping",
    "coupled": "implicit_damping",
    "geared": "euler",
    "driven": "implicit_damping",
}
STATE = ("qpos", "qvel", "qfrc_applied")


@pytest.fixture(scope="module", autouse=True)
def registered():
    with specialised_models.registered():
        yield


@functools.cache
def loaded(name):
    if name == "floating arm":
        return rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=True)
    return specialised_models.model(name)


@pytest.fixture(params=CASES)
def robots(request):
    """Return a Model, and qpos, qvel and forces with a row for each of ROBOTS robots."""
    m = loaded(request.param).replaced()
    m.opt.integrator = CASES[request.param]
    rows = specialised.random_data(m, ROBOTS, seed=25)
    return m, *(np.array([getattr(d, name) for d in rows]) for name in STATE)


@pytest.fixture
def arm():
    """Return a floating arm, and qpos, qvel and forces with a row for each of ROBOTS robots."""
    m = loaded("floating arm").replaced()
    rows = specialised.random_data(m, ROBOTS, seed=26)
    return m, *(np.array([getattr(d, name) for d in rows]) for name in STATE)


def stepped(s, qpos, qvel, forces):
    """Step each robot by the one-robot code with forces (n, steps, nv); return qpos and qvel."""
    after = []
    for q, v, rows in zip(qpos, qvel, forces, strict=True):
        d = rb.make_data(s.model)
        d.qpos, d.qvel = q, v
        for row in rows:
            d.qfrc_applied = row
            s.step(d)
        after.append((d.qpos.copy(), d.qvel.copy()))
    return (np.array(each) for each in zip(*after, strict=True))


def assert_same_bits(found, s, qpos, qvel, forces):
    forces = np.broadcast_to(forces, (len(qpos), found.qpos.shape[1], s.model.nv))
    for name, expected in zip(STATE, stepped(s, qpos, qvel, forces), strict=False):
        left = getattr(found, name)[:, -1]
        np.testing.assert_array_equal(left, expected, name)
        assert left.tobytes() == expected.tobytes()


def test_a_rollout_has_the_bits_of_steps(robots):
    """Code for robots without forces leaves out operations, but gives the same bits."""
    m, qpos, qvel, forces = robots
    s = rb.specialize(m)
    free = rollout(m, qpos, qvel, nstep=NSTEP)
    assert_same_bits(free, s, qpos, qvel, 0.0)
    pushed = rollout(m, qpos, qvel, forces[:, None], nstep=NSTEP)
    assert_same_bits(pushed, s, qpos, qvel, forces[:, None])


def test_every_lane_of_a_rollout_has_the_bits_of_steps(arm, monkeypatch):
    m, qpos, qvel, _ = arm
    s = rb.specialize(m)
    for width in (1, 2, 4, 8):
        monkeypatch.setattr(module, "LaneStep", functools.partial(LaneStep, width=width))
        for count in (1, ROBOTS):
            found = rollout(m.replaced(), qpos[:count], qvel[:count], nstep=1)
            assert_same_bits(found, s, qpos[:count], qvel[:count], 0.0)


@pytest.mark.parametrize("law", [rb.PDPolicy, rb.ComputedTorquePolicy])
def test_a_law_changes_no_bit_of_the_step(arm, law):
    """Law and step share operations, which does not change the rounding of the step."""
    m, qpos, qvel, _ = arm
    reference = np.concatenate([qpos[::-1], qvel], axis=1)[:, None]
    found = rollout(m, qpos, qvel, reference, nstep=1, policy=law(5.0, 1.0),
                    outputs=STATE)  # fmt: skip
    assert np.abs(found.qfrc_applied).max() > 0.1
    assert_same_bits(found, rb.specialize(m), qpos, qvel, found.qfrc_applied)


def test_parameters_give_the_bits_of_a_model_with_these_numbers(arm):
    m, qpos, qvel, _ = arm
    damping, gravity = np.linspace(0.0, 2.0, m.nv), (0.5, 0.0, -3.0)
    params = {
        "dof_damping": damping, "gravity": gravity, "body_mass": m.body_mass,
        "body_ipos": m.body_ipos, "body_fullinertia": m.body_fullinertia,
    }  # fmt: skip
    found = rollout(m, qpos, qvel, nstep=NSTEP, params=params)
    same = m.replaced(dof_damping=damping)
    same.opt.gravity = gravity
    assert_same_bits(found, rb.specialize(same), qpos, qvel, 0.0)


def test_result_bits_do_not_depend_on_the_symbolic_parameters(arm):
    m, qpos, qvel, forces = arm
    expected = [*stepped(rb.specialize(m), qpos, qvel, forces[:, None])]
    s = rb.specialize(m, symbolic=("timestep", "body_mass", "body_ipos", "dof_frictionloss"))
    for found, other in zip(stepped(s, qpos, qvel, forces[:, None]), expected, strict=True):
        assert found.tobytes() == other.tobytes()


def test_outputs_have_the_bits_of_specialised_kinematics(arm):
    """The bits do not depend on additional outputs."""
    m, qpos, qvel, _ = arm
    s = rb.specialize(m)
    names = ("xpos", "xipos", "subtree_com", "cvel", "energy")
    every = rollout(m, qpos, qvel, nstep=1, outputs=("qpos", *names))
    for name in names:
        alone = getattr(rollout(m, qpos, qvel, nstep=1, outputs=(name,)), name)
        assert alone.tobytes() == getattr(every, name).tobytes(), name
    for k in range(ROBOTS):
        d = rb.make_data(m)
        d.qpos = every.qpos[k, 0]
        s.kinematics(d)
        for name in ("xpos", "xipos"):
            assert getattr(d, name).tobytes() == getattr(every, name)[k, 0].tobytes(), name

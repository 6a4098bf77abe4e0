# SPDX-License-Identifier: Apache-2.0
"""Straight-line code of all joint types, springs, limits and branches agrees with the engine."""

import numpy as np
import pytest
from support import specialised, specialised_models

import rbdyn_ros as rb

INTEGRATORS = ("implicit_damping", "euler", "rk4")
STATES = 4

pytestmark = pytest.mark.usefixtures("registered")


@pytest.mark.parametrize("name", specialised_models.MAKERS)
def test_traced_functions_equal_the_engine(name):
    m = specialised_models.model(name)
    names = [function for function in specialised.NAMES if function != "step"]
    specialised.compare_with_engine(m, specialised.random_data(m, STATES, seed=2), names, name)


@pytest.mark.parametrize("passive", [True, False], ids=["passive", "without"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", specialised_models.MAKERS)
def test_a_traced_step_equals_the_engine(name, integrator, passive):
    m = specialised_models.model(name)
    m.opt.integrator, m.opt.passive, m.opt.timestep = integrator, passive, 0.002
    rows = specialised.random_data(m, STATES, seed=3)
    specialised.compare_with_engine(m, rows, ("step",), f"{name}, {integrator}")


def near_singularity(integrator, distance):
    """Return a Model, and Data at `distance` on both sides of a singularity and far from it."""
    m = specialised_models.model("yaw_pitch_roll")
    m.opt.integrator = integrator
    rows = specialised.random_data(m, 3, seed=4)
    for sign, d in zip((1.0, -1.0), rows, strict=False):
        specialised_models.put_near_singularity(m, d, sign * distance)
    return m, rows


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("distance", [1e-4, 5e-3, 0.02, 0.3])
def test_steps_equal_the_engine_near_a_singularity(integrator, distance):
    """Near a singularity a Runge-Kutta step becomes an Euler step."""
    m, rows = near_singularity(integrator, distance)
    specialised.compare_with_engine(
        m, rows, ("step", "forward_dynamics", "inverse"), f"{integrator}, {distance}"
    )


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("distance", [0.0, 1e-9])
def test_traced_steps_are_finite_at_a_singularity(integrator, distance):
    """cond(M) is 1e10, so accelerations are only rounding errors, and nsingular grows."""
    m, rows = near_singularity(integrator, distance)
    ours = specialised.evaluate(specialised.program_of(m, "step"), specialised.given(m, rows))
    assert all(np.isfinite(values).all() for values in ours.values())
    for k, d in enumerate(rows):
        theirs = specialised.generic(m, d.copy(), "step")
        assert ours["nsingular"][k] == theirs["nsingular"] == d.nsingular + (k < 2)
        assert ours["nbad"][k] == theirs["nbad"]


def test_the_states_of_these_tests_reach_both_sides_of_branches():
    """The states above exceed limits, reach both sides of branches, and are far from rest."""
    library = specialised_models.model("library")
    for name, least in (("library", 1), ("balls", 1), ("coordinates", 2)):
        m = specialised_models.model(name)
        rows = specialised.random_data(m, STATES, seed=3)
        free = m.replaced(
            jnt_limited=np.zeros(m.njnt, int),
            limit_range=np.tile([-np.inf, np.inf], (m.nlimit, 1)),
        )
        beyond = 0
        for d in rows:
            rb.forward(m, d)
            twin = rb.make_data(free)
            twin.qpos, twin.qvel = d.qpos, d.qvel
            rb.forward(free, twin)
            beyond += np.abs(d.qfrc_passive - twin.qfrc_passive).max() > 1.0
        assert beyond >= least, name
    m = specialised_models.model("user_defined")
    own = [d.qpos[1] < 0.0 for d in specialised.random_data(m, STATES, seed=3)]
    assert {True, False} == set(map(bool, own))
    assert library.nstiff == np.count_nonzero(library.jnt_stiffness) > 10
    assert specialised_models.model("springs").nspring == 2
    assert specialised_models.model("coordinates").nlimit == 4
    assert specialised_models.model("coupled").nmimic == 4
    assert specialised_models.model("driven").ndrive == 1

# SPDX-License-Identifier: Apache-2.0
"""Least squares over possible bodies find the optimum, and refuse numbers that overflow."""

import numpy as np
import pytest
from moved_arms import ARM, recorded, rubbing, wrong
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.identification.data.motion import Motion
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.inertia import consistent_prior
from rbdyn_ros.identification.equations.solve import Prior, solve


@pytest.fixture(scope="module")
def prior():
    bodies, _ = consistent_prior(rb.load_urdf(ARM))
    return Prior(bodies[:2], np.array([0.5, 2.0]), np.array([3.0]))


def test_no_change_of_the_solution_decreases_the_cost(prior):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 23))
    b = A @ (prior.start * rng.uniform(0.8, 1.3, 23)) + rng.normal(size=30)
    strength = 0.1

    def total(x):
        # this is the cost in the docstring of solve.py, written with matrices
        value = 0.5 * np.sum((A @ x - b) ** 2)
        for k in range(2):
            J, P = (pseudo(y[10 * k : 10 * k + 10]) for y in (x, prior.start))
            ratio = np.linalg.solve(P, J)
            value += strength * (np.trace(ratio) - np.log(np.linalg.det(ratio)) - 4.0)
            mass = x[10 * k] / prior.start[10 * k]
            value += strength * 25.0 * (mass - np.log(mass) - 1.0)
        c = x[20:22] / prior.positive
        value += strength * np.sum(c - np.log(c) - 1.0)
        return value + strength * 0.5 * (x[22] / 3.0) ** 2

    x = solve(A, b, prior, strength)
    least, size = total(x), prior.metric()
    for _ in range(100):
        # the steps are scaled by the prior, so all bodies stay possible
        step = size @ rng.normal(size=23) * 1e-4
        assert total(x + step) > least - 1e-9 * abs(least)


def pseudo(x):
    m, h, (xx, xy, yy, xz, yz, zz) = x[0], x[1:4], x[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    S = 0.5 * np.trace(I) * np.eye(3) - I
    return np.block([[S, h[:, None]], [h[None], np.array([[m]])]])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, 1e308])
@pytest.mark.parametrize("place", ["A", "b"])
def test_numbers_that_overflow_are_refused(prior, place, value):
    A, b = np.ones((30, 23)), np.ones(30)
    (A if place == "A" else b)[3] = value
    with refused(rb.ParameterError, "bad-motion"):
        solve(A, b, prior, 0.01)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("field", ["qpos", "qvel", "qacc", "effort"])
@pytest.mark.parametrize("scale", [1e-300, 1e20, 1e150, 1e300])
def test_extreme_motions_are_refused_or_fitted(field, scale):
    m = rb.load_urdf(ARM)
    m = m.replaced(jnt_effort=np.full(m.njnt, np.inf))
    motion = recorded(m, rubbing(rb.load_urdf(ARM)), seed=1, samples=60)
    rows = {name: getattr(motion, name) for name in ("qpos", "qvel", "qacc", "effort")}
    rows[field] = scale * rows[field]
    try:
        found = identify(m, Motion(motion.names, motion.time, **rows))
    except rb.ParameterError:
        return
    assert np.isfinite(rb.inertial_parameters(found.m)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gravity", [1e20, 1e150, 1e300])
def test_extreme_gravity_is_refused_or_fitted(gravity):
    m = wrong(rb.load_urdf(ARM))
    motion = recorded(rb.load_urdf(ARM), rubbing(m), seed=1, samples=60)
    m.opt.gravity = (gravity, 0.0, 0.0)
    try:
        found = identify(m, motion)
    except rb.ParameterError:
        return
    assert found.grave


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("option", ["strength", "smoothing"])
@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_extreme_options_are_refused_or_used(option, value):
    m = rb.load_urdf(ARM)
    motion = recorded(m, rubbing(m), seed=1, samples=60)
    try:
        found = identify(wrong(m), motion, **{option: value})
    except rb.ParameterError:
        return
    assert np.isfinite(rb.inertial_parameters(found.m)).all()

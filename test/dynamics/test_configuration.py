# SPDX-License-Identifier: Apache-2.0
"""jcalc and the functions of a configuration refuse wrong arguments."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb

BODY = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


@pytest.fixture(scope="module")
def m():
    builder = rb.SystemBuilder("slide").body("a", BODY)
    return rb.build(builder.joint("j", "prismatic", "base", "a", limit=(-1e18, 1e18)))


@pytest.mark.parametrize("joint", [5, -1, 0.9, None, True])
def test_unknown_joints_are_refused(m, joint):
    with refused(rb.ModelError, "unknown-joint", repr(joint)):
        rb.jcalc(m, joint, [0.0])


def test_functions_need_a_model():
    x, rng = np.zeros(1), np.random.default_rng(0)
    for call in (
        lambda: rb.jcalc(None, 0, x),
        lambda: rb.integrate_pos(None, x, x, 0.1),
        lambda: rb.differentiate_pos(None, x, 0.1, x, x),
        lambda: rb.qpos_dot(None, x, x),
        lambda: rb.random_qpos(None, rng),
    ):
        with refused(rb.ModelError, "not-a-model"):
            call()


@pytest.mark.parametrize("dt", ["a", None, float("nan"), float("inf"), 10**400])
def test_dt_must_be_finite(m, dt):
    x = np.zeros(1)
    with refused(rb.ParameterError, "dt", "dt"):
        rb.integrate_pos(m, x, x, dt)
    with refused(rb.ParameterError, "dt", "dt"):
        rb.differentiate_pos(m, x, dt, x, x)


def test_random_positions_are_within_the_limits(m):
    rng = np.random.default_rng(0)
    assert np.isfinite(rb.random_qpos(m, rng)).all()
    assert abs(rb.random_qpos(m.replaced(jnt_limited=[0]), rng)[0]) <= 1.0
    with refused(rb.ParameterError, "rng", "rng"):
        rb.random_qpos(m, 5)

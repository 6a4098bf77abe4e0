"""What functions of a configuration, and jcalc, refuse to take."""

import numpy as np
import pytest

import rbdyn_ros as rb

BODY = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


@pytest.fixture(scope="module")
def m():
    builder = rb.SystemBuilder("slide").body("a", BODY)
    return rb.build(builder.joint("j", "prismatic", "base", "a", limit=(-1e308, 1e308)))


def refused(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("joint", [5, -1, 0.9, None, True])
def test_no_joint(m, joint):
    assert refused(rb.ModelError, lambda: rb.jcalc(m, joint, [0.0])) == (
        f"there is no joint {joint!r}; allowed are names, and numbers below 1"
    )


def test_no_model(m):
    x, rng = np.zeros(1), np.random.default_rng(0)
    assert refused(rb.ModelError, lambda: rb.jcalc(None, 0, x)) == "jcalc needs a Model, got None"
    for call in (
        lambda: rb.integrate_pos(None, x, x, 0.1),
        lambda: rb.differentiate_pos(None, x, 0.1, x, x),
        lambda: rb.qpos_dot(None, x, x),
        lambda: rb.random_qpos(None, rng),
    ):
        assert refused(rb.ModelError, call) == "a Model is needed, got None"


@pytest.mark.parametrize("dt", ["a", None, float("nan"), float("inf"), 10**400])
def test_no_time(m, dt):
    x = np.zeros(1)
    text = refused(rb.ParameterError, lambda: rb.integrate_pos(m, x, x, dt))
    assert text == f"dt is {dt}; allowed is a finite number of seconds"
    text = refused(rb.ParameterError, lambda: rb.differentiate_pos(m, x, dt, x, x))
    assert text == f"dt is {dt}; a velocity needs a time that is finite and not zero"


def test_random_positions(m):
    rng = np.random.default_rng(0)
    assert np.isfinite(rb.random_qpos(m, rng)).all()
    assert abs(rb.random_qpos(m.replaced(jnt_limited=[0]), rng)[0]) <= 1.0
    assert refused(rb.ParameterError, lambda: rb.random_qpos(m, 5)) == (
        "rng is 5; allowed is a generator such as numpy.random.default_rng(0)"
    )

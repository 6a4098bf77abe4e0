# SPDX-License-Identifier: Apache-2.0
"""Algorithms of linear cost handle a chain of 10,000 links; its mass matrix is refused."""

import numpy as np
import pytest
from support import trees
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link

LENGTH = 10_000


def chain(n):
    inertial = Inertial(1.0, Pose((0.05, 0.0, 0.0)), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    links = (Link("base"), *(Link(f"l{i}", inertial) for i in range(1, n + 1)))
    joints = tuple(
        Joint(
            f"j{i}", "continuous", links[i - 1].name, f"l{i}", Pose((0.1, 0.0, 0.0)), axes[i % 2]
        )
        for i in range(1, n + 1)
    )
    return Description("chain", links, joints)


@pytest.fixture(scope="module")
def model():
    return rb.build(chain(LENGTH))


def test_forward_and_inverse_dynamics_agree(model):
    d = rb.make_data(model)
    rng = np.random.default_rng(0)
    d.qpos = 0.01 * rng.normal(size=model.nv)
    d.qvel = 1e-4 * rng.normal(size=model.nv)
    d.qfrc_applied = rng.normal(size=model.nv)
    rb.forward_dynamics(model, d)
    assert np.isfinite(d.qacc).all()
    assert d.nbad == 0
    rb.inverse(model, d)
    # forces near the root are sums over 10,000 bodies, of about 1e7 N m
    assert np.abs(d.qfrc_inverse - d.qfrc_applied).max() < 1e-3
    rb.forward(model, d)
    rb.step(model, d)
    assert np.isfinite(d.qpos).all()


def test_the_mass_matrix_of_a_too_long_chain_is_refused(model):
    d = rb.make_data(model)
    assert model.nM == 0
    x = np.zeros(model.nv)
    for call in (
        lambda: rb.crb(model, d),
        lambda: rb.factor_m(model, d),
        lambda: rb.mass_matrix(model, d),
        lambda: rb.solve_m(model, d, x, x),
        lambda: rb.mul_m(model, d, x, x),
    ):
        with refused(rb.ModelError, "no-mass-matrix"):
            call()
    assert "no-mass-matrix" in {finding.code for finding in model.findings}


def test_a_long_chain_read_from_a_urdf_equals_the_built_chain(model):
    other = rb.load_urdf(trees.to_urdf(chain(LENGTH)))
    assert other.jnt_names == model.jnt_names
    assert np.allclose(other.body_pos, model.body_pos, rtol=0.0, atol=1e-15)
    assert np.array_equal(other.body_mass, model.body_mass)


def test_the_mass_matrix_is_available_just_below_the_size_limit():
    n = 1500  # 1500 * 1501 / 2 = 1,125,750 entries
    m = rb.build(chain(n))
    d = rb.make_data(m)
    rb.forward(m, d)
    rb.factor_m(m, d)
    assert m.nM == n * (n + 1) // 2
    assert (d.qLDiagInv > 0.0).all()

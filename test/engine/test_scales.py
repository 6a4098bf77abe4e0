# SPDX-License-Identifier: Apache-2.0
"""Robots of any mass and size: other units of mass or length only scale the results."""

import numpy as np
import pytest

import rbdyn_ros as rb

ACROSS = (0.0, -1.0, 0.0)


def chain(mass=1.0, size=1.0, links=6):
    """Return a chain of boxes on hinges with different axes, scaled in mass and size."""
    system, above = rb.SystemBuilder("chain"), "base"
    for k in range(links):
        link = rb.shapes.box((0.3 * size, 0.1 * size, 0.2 * size), mass=mass)
        system.body(f"b{k}", link)
        axis = tuple(np.roll((1.0, 0.2, 0.0), k))
        system.joint(
            f"j{k}", "revolute", above, f"b{k}", xyz=(0.2 * size, 0.1 * size, 0), axis=axis
        )
        above = f"b{k}"
    return rb.build(system)


@pytest.mark.parametrize("mass", [2e-16, 1e-25, 1e6])
def test_results_scale_with_the_unit_of_mass(mass):
    """Below 1e-15 kg the centres of mass of subtrees and gravity_term were once wrong."""
    usual, m = chain(), chain(mass)
    rng = np.random.default_rng(1)
    qpos, qvel = rng.normal(size=(2, m.nv))
    found = []
    for one in (usual, m):
        d = rb.make_data(one)
        d.qpos, d.qvel = qpos, qvel
        rb.forward(one, d)
        C, g, bias = rb.coriolis_matrix(one, d), rb.gravity_term(one, d), rb.bias_term(one, d)
        assert C @ qvel + g == pytest.approx(bias, rel=1e-12, abs=1e-12 * np.abs(bias).max())
        found.append([rb.com(one, d), d.qacc, g, bias, rb.mass_matrix(one, d)])
    for k, (theirs, ours) in enumerate(zip(*found, strict=True)):
        factor = 1.0 if k < 2 else mass
        np.testing.assert_allclose(
            ours, factor * theirs, atol=1e-11 * factor * np.abs(theirs).max()
        )


def test_subtrees_without_mass_have_a_finite_centre_of_mass():
    system = rb.SystemBuilder("light").body("a").body("b", rb.shapes.box((1, 1, 1), mass=1.0))
    system.body("c").joint("j", "revolute", "base", "b").joint("k", "fixed", "b", "c")
    m = rb.build(system.joint("i", "fixed", "base", "a"))
    d = rb.make_data(m)
    rb.forward(m, d)
    assert np.isfinite(d.subtree_com).all()


def mechanism(size, slider):
    """Return a four-bar, or a slider-crank if `slider`, scaled by `size`, open at qpos0."""
    system = rb.SystemBuilder("mechanism")
    for name, length in (("crank", 0.1), ("coupler", 0.25), ("rocker", 0.2)):
        middle = rb.pose((0.5 * length * size, 0.0, 0.0))
        box = (length * size, 0.02 * size, 0.02 * size)
        system.body(name, rb.shapes.box(box, mass=1.0, at=middle))
    hinge = {"axis": ACROSS}
    system.joint("A", "revolute", "base", "crank", **hinge)
    system.joint("B", "revolute", "crank", "coupler", xyz=(0.1 * size, 0, 0), **hinge)
    if slider:
        system.joint("D", "prismatic", "base", "rocker", xyz=(0.1 * size, 0, 0), axis=(1, 0, 0))
    else:
        system.joint("D", "revolute", "base", "rocker", xyz=(0.3 * size, 0, 0), **hinge)
    ends = {"X_P": rb.pose((0.25 * size, 0, 0)), "X_S": rb.pose((0.2 * size, 0, 0))}
    return rb.build(system.loop("C", "revolute", "coupler", "rocker", **ends, **hinge))


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("slider", [False, True])
def test_an_open_mechanism_of_any_size_is_assembled(size, slider):
    """A four-bar of micrometres, open by half a crank, once counted as closed."""
    m, usual = mechanism(size, slider), mechanism(1.0, slider)
    assert [finding.code for finding in m.findings if finding.code != "tiny-inertia"] == [
        "assembled"
    ]
    shifts = m.jnt_type[m.dof_jntid] == rb.JointType.SLIDE
    unit = np.where(shifts, size, 1.0)
    np.testing.assert_allclose(m.qpos0, usual.qpos0 * unit, rtol=1e-4, atol=1e-5 * unit.min())
    d = rb.make_data(m)
    rb.forward(m, d)
    assert np.abs(d.efc_pos).max() <= 1e-5 * size
    expected = usual.dof_inertia0 * np.where(shifts, 1.0, size**2)
    np.testing.assert_allclose(m.dof_inertia0, expected, rtol=1e-3)


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
def test_operational_inertia_scales_with_the_size(size):
    m = chain(size=size)
    d = rb.make_data(m)
    d.qpos = np.random.default_rng(2).normal(size=m.nv)
    inertia = rb.operational_inertia(m, d, "b5")
    unit = np.repeat([size, 1.0], 3)
    usual = chain()
    e = rb.make_data(usual)
    e.qpos = d.qpos
    expected = unit[:, None] * rb.operational_inertia(usual, e, "b5") * unit
    np.testing.assert_allclose(inertia, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).min())

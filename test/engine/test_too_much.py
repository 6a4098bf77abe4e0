# SPDX-License-Identifier: Apache-2.0
"""Motion that a timestep cannot resolve causes one warning, with a name and a number."""

import warnings

import numpy as np
import pytest
from support import touching

import rbdyn_ros as rb


def said(m, d, steps=1):
    """Make some steps; return the texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(steps):
            rb.step(m, d, 1)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_a_too_stiff_contact_spring_is_reported(times):
    """The stiffness is half or twice m / h^2, for a ball of 2 kg and steps of 1 ms."""
    k = times * 2.0 / 1e-3**2
    m = rb.build(touching.free(touching.BALL, 2.0, rb.Surface(stiffness=k)))
    d = touching.placed(m, (0.0, 0.0, 0.1 - 1e-6))
    texts = said(m, d, 3)
    assert len(texts) == (1 if times > 1.0 else 0)
    for text in texts:
        for part in ("'skin' and 'floor'", "4e+06 N/m", "2e+06 N/m", "0.00071 s"):
            assert part in text


def test_a_near_rigid_contact_is_not_reported_as_too_stiff():
    m = rb.build(touching.free(touching.BALL, 2.0))
    assert said(m, touching.placed(m, (0.0, 0.0, 0.1)), 3) == []


def hinged(**joint):
    rod = rb.SystemBuilder("rod").body("rod", rb.shapes.box((0.5, 0.02, 0.02), mass=1.0))
    return rb.build(rod.joint("hinge", "revolute", "base", "rod", axis=(0, 0, 1), **joint))


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_a_too_stiff_joint_spring_is_reported(times):
    inertia = hinged().dof_inertia0[0]
    m = hinged(stiffness=times * inertia / 1e-3**2)
    texts = said(m, rb.make_data(m), 3)
    assert len(texts) == (1 if times > 1.0 else 0)
    for text in texts:
        assert "'hinge'" in text
        assert "0.00071 s" in text


@pytest.mark.parametrize(("ratio", "number"), [(0.2, 0), (0.05, 1)])
def test_a_too_stiff_limit_is_reported(ratio, number):
    m = hinged(limit=(-1.0, 1.0)).replaced(jnt_solref=[[0.01, ratio]])
    texts = said(m, rb.make_data(m), 3)
    assert len(texts) == number
    for text in texts:
        assert "'hinge'" in text
        assert "0.0005 s" in text
    m.opt.passive = False
    assert said(m, rb.make_data(m)) == []


def test_a_box_crushed_by_a_driven_piston_is_reported():
    press = rb.SystemBuilder("press", base="world").floor()
    press.body("box", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    press.joint("free", "floating", "world", "box", xyz=(0, 0, 0.05))
    press.geometry("block", "box", rb.Box((0.1, 0.1, 0.1)))
    press.body("piston", rb.shapes.box((0.2, 0.2, 0.02), mass=1.0))
    press.joint("slide", "prismatic", "world", "piston", axis=(0, 0, 1), xyz=(0, 0, 0.1105))
    press.geometry("plate", "piston", rb.Box((0.2, 0.2, 0.02)))
    m = rb.build(press)
    d = rb.make_data(m)
    rb.set_drive(m, d, "slide", "velocity", -0.05)
    assert said(m, d, 40) == []
    texts = said(m, d, 60)
    assert len(texts) == 1
    assert "'block'" in texts[0]
    assert " mm into each other by " in texts[0]
    rb.set_drive(m, d, "slide", "velocity", 0.05)
    e = rb.make_data(m)  # a box that rises from the floor is not crushed
    e.qpos[m.jnt_qposadr[m.jnt_id("free")] + 2] = -0.01
    e.qpos[m.jnt_qposadr[m.jnt_id("slide")]] = 0.1
    rb.set_drive(m, e, "slide", "velocity", 0.0)
    assert said(m, e, 60) == []


@pytest.mark.parametrize("integrator", ["euler", "rk4", "implicit_damping"])
def test_energy_that_doubles_without_a_cause_is_reported(integrator):
    """Explicit damping of 3.5 inertia / h multiplies the velocity by -2.5."""
    m = hinged(damping=3.5 * hinged().dof_inertia0[0] / 1e-3)
    m.opt.integrator = integrator
    d = rb.make_data(m)
    d.qvel[0] = 1.0
    texts = said(m, d, 12)
    assert len(texts) == (0 if integrator == "implicit_damping" else 1)
    for text in texts:
        assert "body 'rod'" in text
        assert "implicit_damping for stiff damping" in text


def test_energy_that_doubles_with_a_cause_is_not_reported():
    """A force, a spring or a drive moves the joint by a large angle in a step."""
    inertia = hinged().dof_inertia0[0]
    pushed = hinged()
    d = rb.make_data(pushed)
    d.qfrc_applied[0] = 0.3 * inertia / 1e-3**2
    assert said(pushed, d, 3) == []
    sprung = hinged(stiffness=0.5 * inertia / 1e-3**2)
    d = rb.make_data(sprung)
    d.qpos[0] = 1.0
    assert said(sprung, d, 3) == []
    d = rb.make_data(pushed)
    rb.set_drive(pushed, d, "hinge", "acceleration", 0.3 / 1e-3**2)
    assert said(pushed, d, 3) == []


def two(first, second, masses=(1.0, 1.0)):
    system = rb.SystemBuilder("two", base="world").floor()
    for n, (shape, mass) in enumerate(zip((first, second), masses, strict=True)):
        system.body(f"body {n}", rb.shapes.box((0.1, 0.1, 0.1), mass=mass))
        system.joint(f"free {n}", "floating", "world", f"body {n}", xyz=(n, 0, 1))
        system.geometry(f"skin {n}", f"body {n}", shape)
    return {one.code: one for one in rb.build(system).findings}


def test_masses_that_are_too_unequal_for_contact_are_reported():
    found = two(touching.BALL, touching.BALL, (1.0, 2e4))["unequal-masses"]
    assert found.severity == "warning"
    for part in ("'skin 1' moves 2e+04 kg", "'skin 0' 1 kg", "10000"):
        assert part in found.message
    assert "unequal-masses" not in two(touching.BALL, touching.BALL, (1.0, 1e4))


def test_a_body_of_zero_extent_is_reported():
    found = two(touching.BALL, touching.POINT)
    assert found["no-extent"].severity == "warning"
    assert "'skin 1'" in found["no-extent"].message
    assert "no-extent" not in two(touching.BALL, touching.CUBE)
    assert np.isfinite(rb.build(touching.free(touching.POINT)).geom_mass0).all()

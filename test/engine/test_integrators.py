# SPDX-License-Identifier: Apache-2.0
"""When the timestep is halved, the error of each integrator falls by its order."""

import numpy as np
import pytest
from support import states, trees

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link

DURATION = 0.128
STEPS = (8, 16, 32)
ORDERS = {"euler": 1, "implicit_damping": 1, "rk4": 4}
KINDS = {
    "hinge": ("revolute",),
    "slide": ("prismatic", "revolute"),
    "planar": ("planar", "revolute"),
    "ball": ("spherical", "revolute"),
    "free": ("floating", "revolute"),
    **{kind: (kind, "revolute") for kind in trees.LIBRARY[len(trees.ALL) :]},
}


def start(kinds, seed):
    m = trees.build(trees.auto_tree(4, 1.3, kinds=kinds, seed=seed, damping=0.3, shuffle=False))
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    states.apply_reasonable_forces(m, d)
    return m, d


def state_after(m, d, integrator, count):
    m.opt.integrator = integrator
    m.opt.timestep = DURATION / count
    d = d.copy()
    rb.step(m, d, count)
    assert d.time == pytest.approx(DURATION, rel=1e-12)
    return np.concatenate([d.qpos, d.qvel])


def slopes(m, d, integrator, truth):
    errors = [np.abs(state_after(m, d, integrator, n) - truth).max() for n in STEPS]
    return np.log2(np.array(errors[:-1]) / errors[1:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("integrator", ORDERS)
def test_each_integrator_has_its_order(integrator, kind):
    for seed in (1, 4):
        m, d = start(KINDS[kind], seed)
        truth = state_after(m, d, "rk4", 4096)
        found = slopes(m, d, integrator, truth)
        assert np.abs(found - ORDERS[integrator]).max() < 0.35, f"seed {seed}: slopes {found}"


@pytest.mark.parametrize("kind", KINDS)
def test_all_integrators_converge_to_the_same_motion(kind):
    m, d = start(KINDS[kind], 3)
    truth = state_after(m, d, "rk4", 4096)
    for integrator in ("euler", "implicit_damping"):
        coarse = np.abs(state_after(m, d, integrator, 256) - truth).max()
        fine = np.abs(state_after(m, d, integrator, 4096) - truth).max()
        # the ratio approaches 16
        assert fine < coarse / 12.0, f"{integrator}: {coarse:.1e} -> {fine:.1e}"


def test_quaternions_keep_unit_length():
    m, d = start(("spherical", "floating"), 4)
    d.qfrc_applied = 0.0
    d.xfrc_applied = 0.0
    rb.step(m, d, 500)
    for quat in states.quaternions(m):
        assert np.linalg.norm(d.qpos[quat]) == pytest.approx(1.0, abs=1e-15)


def test_a_quaternion_of_another_length_is_normalised():
    m, d = start(("spherical",), 5)
    twin = d.copy()
    for quat in states.quaternions(m):
        twin.qpos[quat] *= 3.0
    rb.forward(m, d)
    rb.forward(m, twin)
    assert np.allclose(twin.xmat, d.xmat, rtol=0.0, atol=4e-15)
    assert np.allclose(twin.qacc, d.qacc, rtol=1e-12)


@pytest.mark.parametrize("integrator", ORDERS)
def test_small_rotations_of_a_ball_joint_are_exact(integrator):
    """At rates up to 1e-7 rad/s the engine uses a series of sin(x) / x."""
    m = trees.build(trees.auto_tree(1, kinds=("spherical",), seed=1))
    m.opt.gravity = (0.0, 0.0, 0.0)
    m.opt.integrator = integrator
    m.opt.timestep = 0.5
    for rate in (1e-3, 1e-7, 3e-8, 1e-8, 1e-12, 0.0):
        d = rb.make_data(m)
        d.qvel = [rate, 0.0, 0.0]
        rb.step(m, d)
        half = 0.25 * rate
        assert d.qpos[1] == pytest.approx(np.sin(half), rel=1e-3, abs=1e-300)
        assert d.qpos[0] == pytest.approx(np.cos(half), rel=1e-6)


def test_uniform_rotation_of_a_sphere_is_exact():
    """A body with equal moments of inertia rotates uniformly, so a step of any length is exact."""
    sphere = Link("sphere", Inertial(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    joint = Joint("joint", "spherical", "base", "sphere")
    m = trees.build(Description("ball", (Link("base"), sphere), (joint,)))
    m.opt.gravity = (0.0, 0.0, 0.0)
    w = np.array([3.0, -2.0, 1.0])
    for integrator in ORDERS:
        m.opt.integrator = integrator
        m.opt.timestep = 0.1
        d = rb.make_data(m)
        d.qvel = w
        rb.step(m, d, 10)
        angle = np.linalg.norm(w)
        expected = [np.cos(angle / 2), *(np.sin(angle / 2) * w / angle)]
        assert np.abs(d.qpos * np.sign(d.qpos @ expected) - expected).max() < 1e-14

# SPDX-License-Identifier: Apache-2.0
"""The memory of friction is part of the state; contacts find their memory by keys."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import contact_scenes, touching

import rbdyn_ros as rb

ANGLE = 0.3


def resting(seconds=0.5, surface=None):
    """Return the Model and Data of a box that friction has held on a slope for `seconds`."""
    turn = Rotation.from_euler("y", ANGLE)
    system = touching.free(touching.CUBE, 2.0, surface, floor=False)
    m = rb.build(system.obstacle("slope", rb.Plane(), origin=rb.pose(rpy=(0, ANGLE, 0))))
    d = touching.placed(m, turn.apply([0.0, 0.0, 0.1]), turn)
    rb.step(m, d, round(seconds / m.opt.timestep))
    return m, d


def test_the_memory_of_friction_carries_a_box_on_a_slope():
    _, d = resting()
    assert d.nstick == d.ncon == 4
    assert np.array_equal(d.stick_key[:4], d.contact_key[:4])
    load = 2.0 * touching.G * np.sin(ANGLE) * np.array([-np.cos(ANGLE), 0.0, np.sin(ANGLE)])
    assert d.stick_force[:4].sum(axis=0) == pytest.approx(load, rel=1e-9)


def test_a_box_would_slip_without_the_memory_of_friction():
    m, d = resting()
    forgetful = d.copy()
    forgetful.nstick = 0
    rb.step(m, d, 1)
    rb.step(m, forgetful, 1)
    assert abs(d.qvel).max() < 1e-13  # rounding of forces of 20 N on 2 kg
    assert abs(forgetful.qvel).max() > 1e-5


def test_lost_contacts_are_removed_from_memory():
    m, d = resting()
    d.qpos[2] += 1.0
    rb.step(m, d, 1)
    assert (d.ncon, d.nstick) == (0, 0)


@pytest.mark.parametrize("integrator", ["implicit_damping", "rk4", "implicit"])
def test_calls_of_other_functions_between_steps_do_not_change_the_motion(integrator):
    m, plain = contact_scenes.tumbling()
    m.opt.integrator = integrator
    rb.step(m, plain, 250)
    nosy = plain.copy()
    for _ in range(50):
        rb.step(m, plain)
        rb.step(m, nosy)
        rb.forward(m, nosy)
        rb.inverse(m, nosy)
        rb.energy(m, nosy)
        rb.mass_matrix(m, nosy)
    assert plain.ncon > 0
    for name in ("qpos", "qvel", "stick_key", "stick_normal", "stick_force", "stick_torque"):
        assert np.array_equal(getattr(plain, name), getattr(nosy, name)), name


OBSTACLES = {
    "plane": rb.Plane(),
    "ball": rb.Sphere(0.3),
    "block": rb.Box((0.5, 0.6, 0.4)),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("shape", touching.SHAPES)
def test_contacts_keep_their_keys_during_a_small_motion(shape, obstacle):
    """Contacts have different, ascending keys, which stay when the body moves by 1e-7 m."""
    system = touching.free(touching.SHAPES[shape], 1.0, floor=False)
    system.geometry("second", "body", touching.BALL)
    m = rb.build(system.obstacle("it", OBSTACLES[obstacle]).obstacle("ground", rb.Plane()))
    rng = np.random.default_rng(0)
    followed = 0
    for _ in range(60):
        turn = Rotation.random(random_state=rng)
        d = touching.placed(m, rng.uniform(-0.3, 0.3, 3), turn)
        rb.forward(m, d)
        keys, at = d.contact_key[: d.ncon].copy(), d.contact_pos[: d.ncon].copy()
        assert (np.diff(keys) > 0).all()
        d.qpos[:3] += 1e-7
        rb.forward(m, d)
        again = d.contact_key[: d.ncon]
        common, here, there = np.intersect1d(keys, again, return_indices=True)
        if len(again) == len(keys):
            followed += len(common) == len(keys) > 0
            far = abs(at[here] - d.contact_pos[there]).max(axis=1) > 1e-4
            # the engine may choose any of two equally deep faces or edges
            assert far.sum() <= 0.5 * len(far)
    assert followed > 10


def test_new_points_of_a_pair_inherit_the_friction_of_old_points():
    """A point gets another key; the friction of the pair stays the same."""
    m, d = resting()
    held = d.stick_force[:4].sum(axis=0)
    d.stick_key[3] += 100  # the last corner has a new key
    rb.forward(m, d)
    assert d.contact_memory[:4].sum(axis=0) == pytest.approx(held, rel=1e-12)
    assert d.contact_old[:4].tolist() == [0, 1, 2, -1]
    before = d.qpos.copy()
    rb.step(m, d, 100)
    assert d.qpos == pytest.approx(before, abs=1e-15)

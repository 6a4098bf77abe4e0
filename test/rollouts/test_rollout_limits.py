# SPDX-License-Identifier: Apache-2.0
"""Specialised code stops joints at limits nearly as the exact law does, or it warns."""

import warnings

import numpy as np
import pytest

import rbdyn_ros as rb

INERTIA, TORQUE, HIGH = 4e-4, 3.3, 1.0


def light(*limits):
    """Return the Model of light joints on one base, with these limits [rad]."""
    system = rb.SystemBuilder("light")
    link = rb.Inertial(1e-9, inertia=(INERTIA, INERTIA, INERTIA, 0.0, 0.0, 0.0))
    for k, limit in enumerate(limits or (rb.Limit(-1.0, HIGH),)):
        system.body(f"l{k}", link)
        system.joint(f"j{k}", "revolute", "base", f"l{k}", axis=(0, 0, 1), limit=limit)
    return rb.build(system)


def pressed(m, specialize=True, torque=TORQUE, nbatch=1):
    qpos = np.tile(m.qpos0, (nbatch, 1))
    ctrl = np.full((2000, m.nv), torque)
    return rb.rollout(m, qpos, 0.0 * qpos, ctrl, nstep=2000, specialize=specialize)


@pytest.mark.parametrize("timestep", [1e-3, 2e-4])
def test_a_joint_driven_into_its_limit_stays_near_it(timestep):
    """If the limit had a time constant of 20 ms, the joint would pass it by 3.3 rad."""
    m = light()
    m.opt.timestep = timestep
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pressed(m)
    sag = TORQUE * (2.0 * timestep) ** 2 / m.dof_inertia0[0]
    assert found.qpos[0, -1, 0] - HIGH == pytest.approx(sag, rel=1e-6)
    smooth = light()
    smooth.opt.timestep, smooth.opt.exact_stops = timestep, False
    d = rb.make_data(smooth)
    d.qfrc_applied = TORQUE
    rb.step(smooth, d, 2000)
    assert d.qpos[0] == pytest.approx(found.qpos[0, -1, 0], rel=1e-9)


@pytest.mark.parametrize("integrator", ["euler", "rk4", "implicit_damping"])
def test_a_warning_names_a_joint_far_beyond_its_limit(integrator):
    """Limits stay soft with explicit damping, so a tenth of the torque suffices."""
    m = light(rb.Limit(-1.0, 1.0), rb.Limit(-1.0, 100.0))
    m.opt.integrator = integrator
    torque = 10.0 * TORQUE if integrator == "implicit_damping" else TORQUE
    with pytest.warns(RuntimeWarning, match=r"'j0' of robot 0 .* 2 more robots.*specialize=False"):
        pressed(m, torque=torque, nbatch=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = pressed(m, specialize=False, torque=torque)
        assert exact.qpos[0, -1, 0] == pytest.approx(1.0, abs=1e-5)
        soft = m.replaced(jnt_solref=np.array([[0.02, 1.0]] * 2))
        soft.opt.integrator = integrator
        pressed(soft, torque=torque)  # this does not warn


def test_a_batch_warns_once_about_a_joint_beyond_its_limit():
    m = light()
    b = rb.Batch(m, 4)
    b.qfrc_applied[2] = 30.0 * TORQUE
    with pytest.warns(RuntimeWarning, match=r"'j0' of robot 2 .*Batch\(m, nsim, specialize=False"):
        b.step(nstep=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b.step()
        exact = rb.Batch(m, 4, specialize=False)
        exact.qfrc_applied[2] = 30.0 * TORQUE
        exact.step(nstep=2000)
    assert exact.qpos[2, 0] == pytest.approx(HIGH, abs=1e-5)


def test_robots_without_limits_and_diverged_robots_cause_no_warning():
    m = rb.build(rb.SystemBuilder("free").body("a", rb.shapes.box((1, 1, 1), mass=1.0)).joint(
        "j", "continuous", "base", "a"))  # fmt: skip
    bounded = light()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pressed(m)
        rb.rollout(bounded, [0.0], [np.finfo(float).max], nstep=3)
        rb.rollout(bounded, [1.5], [0.0], nstep=1)  # the joint returns to its limit


@pytest.mark.parametrize("kind", ["batch", "rollout"])
def test_motion_too_fast_for_the_timestep_is_reported(kind):
    """Too stiff joint springs and bodies that turn by 0.6 rad in a timestep are reported."""
    rod = rb.SystemBuilder("rod", base="world").body(
        "rod", rb.shapes.box((0.5, 0.02, 0.02), mass=1.0)
    )
    rod.joint("hinge", "revolute", "world", "rod", axis=(0, 0, 1), stiffness=1e6)
    rod.body("top", rb.shapes.sphere(0.1, mass=1.0))
    m = rb.build(rod.joint("fly", "floating", "world", "top"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if kind == "batch":
            b = rb.Batch(m, 3)
            for _ in range(130):
                b.qvel[1, m.jnt_dofadr[1] + 5] = 600.0
                b.step()
        else:
            qvel = np.zeros((2, m.nv))
            qvel[1, m.jnt_dofadr[1] + 5] = 600.0
            rb.rollout(m, np.tile(m.qpos0, (2, 1)), qvel, np.zeros((1, m.nv)), nstep=1)
    texts = [str(one.message) for one in caught]
    assert len(texts) == 2
    assert "'hinge'" in texts[0]
    assert "body 'top' turns at 600 rad/s" in texts[1]

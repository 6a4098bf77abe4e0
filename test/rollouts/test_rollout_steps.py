# SPDX-License-Identifier: Apache-2.0
"""A rollout equals a loop of rb.step for each robot."""

import numpy as np
import pytest
from support.documents import ROOT
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import OUTPUTS, ROBOTS, light_forces, looped, robot, starts

import rbdyn_ros as rb
from rbdyn_ros.rollouts.rollout import rollout

NBATCH, NSTEP, EVERY = 11, 12, 3

#: Tolerance as a share of the largest entry. A specialised step differs from the engine's by up to
#: 1e-12, and 12 steps of 1 ms add little to it.
TOLERANCE = 1e-11


@pytest.fixture(scope="module", params=ROBOTS)
def case(request):
    """Return a Model, its starts, its forces, and the results of a loop of rb.step."""
    m = robot(request.param)
    qpos, qvel = starts(m, NBATCH)
    ctrl = light_forces(m, (NBATCH, NSTEP))
    expected = looped([m] * NBATCH, qpos, qvel, NSTEP, lambda k, n, _: ctrl[k, n], EVERY)
    return m, qpos, qvel, ctrl, expected


@needs_robots
def test_the_generic_engine_gives_the_bits_of_step(case):
    m, qpos, qvel, ctrl, expected = case
    found = rollout(m, qpos, qvel, ctrl, nstep=NSTEP, every=EVERY, outputs=OUTPUTS,
                    specialize=False)  # fmt: skip
    for name in OUTPUTS:
        np.testing.assert_array_equal(getattr(found, name), expected[name], name)
    assert not found.diverged.any()


@needs_robots
def test_specialised_code_equals_step_to_rounding(case):
    m, qpos, qvel, ctrl, expected = case
    found = rollout(m, qpos, qvel, ctrl, nstep=NSTEP, every=EVERY, outputs=OUTPUTS)
    for name in OUTPUTS:
        array = getattr(found, name)
        assert array.shape == expected[name].shape
        within = TOLERANCE * max(1.0, np.abs(expected[name]).max())
        np.testing.assert_allclose(array, expected[name], rtol=0.0, atol=within, err_msg=name)
    assert not found.diverged.any()


@needs_robots
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("specialize", [True, False])
def test_options_of_the_model_apply_to_a_rollout(integrator, specialize):
    m = robot("arm")
    m.opt.integrator, m.opt.timestep, m.opt.gravity = integrator, 0.004, (0.5, 1.0, -3.0)
    qpos, qvel = starts(m, 3)
    expected = looped([m] * 3, qpos, qvel, 5, lambda *_: 0.0)
    found = rollout(m, qpos, qvel, nstep=5, specialize=specialize, outputs=("qpos", "time"))
    np.testing.assert_allclose(found.qpos, expected["qpos"], rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(found.time, expected["time"])


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
def test_options_may_change_between_two_calls(specialize):
    m = robot("arm")
    qpos, qvel = starts(m, 1)
    ends = []
    for gravity in ((0.0, 0.0, -9.81), (0.0, 0.0, 0.0)):
        m.opt.gravity = gravity
        expected = looped([m], qpos, qvel, 3, lambda *_: 0.0)["qvel"]
        ends.append(rollout(m, qpos, qvel, nstep=3, specialize=specialize).qvel)
        np.testing.assert_allclose(ends[-1], expected, rtol=0.0, atol=1e-11)
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
def test_ctrl_can_have_four_shapes(specialize):
    m = robot("arm")
    qpos, qvel = starts(m, 2)
    full = light_forces(m, (2, 4))
    shapes = {
        "(n,)": (full[0, 0], np.broadcast_to(full[:1, :1], full.shape)),
        "(nstep, n)": (full[1], np.broadcast_to(full[1:], full.shape)),
        "(nbatch, 1, n)": (full[:, :1], np.broadcast_to(full[:, :1], full.shape)),
        "(nbatch, nstep, n)": (full, full),
    }
    for shape, (given, meant) in shapes.items():
        found = rollout(m, qpos, qvel, given, nstep=4, specialize=specialize,
                        outputs=("qfrc_applied", "qvel"))  # fmt: skip
        np.testing.assert_array_equal(found.qfrc_applied, meant, shape)


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
def test_no_force_acts_without_ctrl(specialize):
    m = robot("arm")
    qpos, qvel = starts(m, 2)
    free = rollout(m, qpos, qvel, nstep=3, specialize=specialize,
                   outputs=("qvel", "qfrc_applied"))  # fmt: skip
    zero = rollout(m, qpos, qvel, np.zeros(m.nv), nstep=3, specialize=specialize)
    np.testing.assert_array_equal(free.qfrc_applied, 0.0)
    np.testing.assert_allclose(free.qvel, zero.qvel, rtol=0.0, atol=1e-13)


def test_contact_runs_on_the_generic_engine():
    system = (
        rb.SystemBuilder("ball", base="world")
        .body("body", rb.Inertial(1.0, rb.Pose(), (0.004, 0.004, 0.004, 0.0, 0.0, 0.0)))
        .joint("free", "floating", "world", "body")
        .geometry("skin", "body", rb.Sphere(0.1))
        .obstacle("floor", rb.Plane())
    )
    m = rb.build(system.description())
    qpos = np.array([[0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0] for height in (0.099, 0.5)])
    expected = looped([m] * 2, qpos, np.zeros((2, 6)), 40, lambda *_: 0.0)
    found = rollout(m, qpos, np.zeros(6), nstep=40, specialize=False)
    np.testing.assert_array_equal(found.qpos, expected["qpos"])
    with refused(rb.ModelError, "not-traceable", "ball"):
        rollout(m, qpos, np.zeros(6), nstep=1)


def test_a_closed_loop_runs_on_the_generic_engine():
    m = rb.load(ROOT / "examples" / "crank_slider.yaml")
    rng = np.random.default_rng(2)
    qvel = rng.uniform(-1.0, 1.0, (3, m.nv))
    expected = looped([m] * 3, np.tile(m.qpos0, (3, 1)), qvel, 30, lambda *_: 0.0)
    found = rollout(m, m.qpos0, qvel, nstep=30, specialize=False)
    np.testing.assert_array_equal(found.qpos, expected["qpos"])
    assert np.abs(found.qpos[:, -1] - m.qpos0).max() > 1e-3


@pytest.mark.parametrize("specialize", [True, False])
@pytest.mark.parametrize("policy", [None, rb.PDPolicy(1.0, 1.0), lambda *_: []])
def test_a_rollout_of_a_robot_without_dofs_is_empty(policy, specialize):
    box = rb.shapes.box((1, 1, 1), mass=1.0)
    m = rb.build(rb.SystemBuilder("post", base="post").body("post", box))
    assert m.nv == 0
    r = rollout(m, np.zeros(0), np.zeros(0), nstep=3, policy=policy, specialize=specialize)
    assert r.qpos.shape == (1, 3, 0)
    assert not r.diverged.any()

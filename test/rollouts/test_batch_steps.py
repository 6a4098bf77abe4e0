# SPDX-License-Identifier: Apache-2.0
"""rb.Batch gives the bits of specialised steps and of rb.step, for any robots and threads."""

import functools
import warnings

import numpy as np
import pytest
from support import touching
from support.documents import ROOT
from support.refusals import refused
from support.robots import find, needs_robots
from support.rollouts import light_forces, robot, starts
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.rollouts import job
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.share import bundled_robot

DERIVED = ("xpos", "xmat", "xipos", "subtree_com", "cvel", "energy")


@functools.cache
def arm(floating=False):
    return rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=floating)


@functools.cache
def boxes(count=3):
    """Return a Model of boxes that can fall onto each other and onto a floor."""
    system = rb.SystemBuilder("boxes", base="world").floor()
    for n in range(count):
        system.body(f"b{n}", rb.shapes.box((0.2, 0.2, 0.2), mass=1.0))
        system.joint(f"j{n}", "floating", "world", f"b{n}")
        system.geometry(f"g{n}", f"b{n}", rb.Box((0.2, 0.2, 0.2)))
    return rb.build(system)


@functools.cache
def quadruped():
    """Return a Model of a robot whose links can touch each other and a floor."""
    urdf, contact = find("solo12.urdf"), rb.Contact(self_collision=True)
    return rb.load_urdf(urdf, floating_base=True, strict=False, contact=contact)


def filled(m, nsim, **more):
    """Return a Batch of robots in random states with random forces."""
    b = rb.Batch(m, nsim, **more)
    b.qpos, b.qvel = starts(m, nsim)
    b.qfrc_applied = light_forces(m, (nsim,))
    return b


def datas(b):
    """Return a list with a Data of each robot."""
    return [b.get_data(k) for k in range(b.nsim)]


def assert_equal(b, expected, rows=slice(None)):
    for name in ("qpos", "qvel", "time"):
        wanted = np.array([getattr(d, name) for d in expected])[rows]
        assert getattr(b, name)[rows].tobytes() == wanted.tobytes(), name


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("nsim", [1, 8, 37])
@pytest.mark.parametrize("nthread", [1, 3])
def test_a_batch_has_the_bits_of_specialised_steps(floating, nsim, nthread):
    m = arm(floating)
    b, s = filled(m, nsim, nthread=nthread), rb.specialize(m)
    one_by_one = datas(b)
    for nstep in (1, 1, 5):
        b.step(nstep=nstep)
        for d in one_by_one:
            s.step(d, nstep)
        b.qfrc_applied[:, 0] += 0.5  # a write takes effect at the next step
        for d in one_by_one:
            d.qfrc_applied[0] += 0.5
    assert b.specialized
    assert_equal(b, one_by_one)
    assert not b.diverged.any()


@needs_robots
@pytest.mark.parametrize("name", ["arm", "coupled fingers", "floating base"])
def test_real_robots_have_the_bits_of_specialised_steps(name):
    m = robot(name)
    b, s = filled(m, 11), rb.specialize(m)
    one_by_one = datas(b)
    b.step(nstep=4)
    for d in one_by_one:
        s.step(d, 4)
    assert_equal(b, one_by_one)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_result_bits_do_not_depend_on_the_number_of_lanes(width, monkeypatch):
    monkeypatch.setattr(job, "LaneStep", functools.partial(LaneStep, width=width))
    m = arm(True).replaced()  # a new Model has no stored code
    b, s = filled(m, 13), rb.specialize(m)
    one_by_one = datas(b)
    b.step(nstep=3)
    for d in one_by_one:
        s.step(d, 3)
    assert_equal(b, one_by_one)


def test_forces_on_bodies_act_after_an_assignment_to_xfrc_applied():
    m = arm(True)
    b, s = filled(m, 9), rb.specialize(m)
    b.step()
    b.xfrc_applied = np.random.default_rng(4).normal(size=(9, m.nbody, 6))
    one_by_one = datas(b)
    b.step(nstep=2)
    for d in one_by_one:
        s.step(d, 2)
    assert_equal(b, one_by_one)


def test_contact_runs_on_the_engine_with_the_bits_of_step():
    """Each robot keeps its memory of friction, although robots share the memory of a thread."""
    m = boxes()
    b = rb.Batch(m, 5, nthread=2)
    assert not b.specialized
    assert "contact" in repr(b)
    for n in range(3):
        b.qpos[:, 7 * n : 7 * n + 3] = [0.01 * n, 0.0, 0.1 + 0.21 * n]
    b.qvel[:] = np.random.default_rng(5).uniform(-0.3, 0.3, (5, m.nv))
    one_by_one = datas(b)
    for nstep in (1, 150, 1, 49):
        b.step(nstep=nstep)
        for d in one_by_one:
            rb.step(m, d, nstep)
    assert all(d.nstick > 0 for d in one_by_one)
    assert_equal(b, one_by_one)
    goes_on = datas(b)  # each Data gets its robot's memory of friction
    rb.step(m, goes_on[2], 5)
    rb.step(m, one_by_one[2], 5)
    assert goes_on[2].qpos.tobytes() == one_by_one[2].qpos.tobytes()


@needs_robots
def test_hulls_that_touch_each_other_have_the_bits_of_step():
    """Each robot's search for contacts begins where its last search ended."""
    m = quadruped()
    b = filled(m, 3)
    b.qvel[:] *= 3.0
    b.qpos[:, :3] = [0.0, 0.0, 0.3]
    one_by_one, touched = datas(b), False
    for _ in range(60):
        b.step()
        for d in one_by_one:
            rb.step(m, d)
            touched = touched or d.nmutual > 0
    assert touched
    assert_equal(b, one_by_one)


def test_a_closed_loop_runs_on_the_engine():
    m = rb.load(ROOT / "examples" / "crank_slider.yaml")
    b = rb.Batch(m, 3)
    b.qvel[:] = np.random.default_rng(2).uniform(-1.0, 1.0, (3, m.nv))
    one_by_one = datas(b)
    for _ in range(20):
        b.step()
    for d in one_by_one:
        rb.step(m, d, 20)
    assert_equal(b, one_by_one)


def test_a_batch_without_specialisation_has_the_bits_of_step_with_exact_stops():
    m = arm().replaced()
    assert m.opt.exact_stops
    assert filled(m, 3).specialized
    b = filled(m, 3, specialize=False)
    one_by_one = datas(b)
    for _ in range(10):
        b.step()
    for d in one_by_one:
        rb.step(m, d, 10)
    assert_equal(b, one_by_one)


@pytest.mark.parametrize("specialize", [True, False])
def test_only_the_chosen_robots_move(specialize):
    m = arm()
    b, alone = filled(m, 20, specialize=specialize), filled(m, 20, specialize=specialize)
    before = b.qpos.copy()
    chosen = [17, 3, 4, 11, 0, 19, 8, 9, 2, 1, 5]
    b.step(chosen, nstep=3)
    alone.step(nstep=3)
    mask = np.isin(np.arange(20), chosen)
    np.testing.assert_array_equal(b.qpos[mask], alone.qpos[mask])
    np.testing.assert_array_equal(b.qpos[~mask], before[~mask])
    b.step(~mask, nstep=3)
    np.testing.assert_array_equal(b.qpos, alone.qpos)
    np.testing.assert_array_equal(b.time, alone.time)
    b.step([])
    b.step(np.zeros(20, bool))
    np.testing.assert_array_equal(b.qpos, alone.qpos)


@pytest.mark.parametrize("specialize", [True, False])
def test_bound_fields_belong_to_the_state_after_the_step(specialize):
    m = arm(True)
    b = filled(m, 10, specialize=specialize)
    for name in DERIVED:
        assert not b.bind(name).any()
    b.forward()
    for moved in (False, True):
        if moved:
            b.step(nstep=2)
        for k, d in enumerate(datas(b)):
            for stage in (rb.kinematics, rb.com_pos, rb.com_vel, rb.energy):
                stage(m, d)
            for name in DERIVED:
                found, expected = getattr(b, name)[k], getattr(d, name)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("specialize", [True, False])
def test_parameters_may_differ_between_robots_of_a_batch(specialize):
    """The bits are those of a rollout of robots with these parameters."""
    m, rng = smoothly(arm().replaced()), np.random.default_rng(6)
    b = filled(m, 9, specialize=specialize)
    mass, gravity = b.expand("body_mass"), b.expand("opt.gravity")
    np.testing.assert_array_equal(mass, np.tile(m.body_mass, (9, 1)))
    mass[:, 1:] *= rng.uniform(0.5, 2.0, (9, m.nbody - 1))
    b.expand("dof_damping")
    assert b.body_mass is mass
    for _ in range(2):
        b.dof_damping = rng.uniform(0.0, 2.0, (9, m.nv))
        gravity[:, 0] = rng.normal(size=9)
        params = {"body_mass": mass, "dof_damping": b.dof_damping, "gravity": gravity}
        expected = rb.rollout(
            m, b.qpos, b.qvel, b.qfrc_applied[:, None], nstep=3, params=params,
            specialize=specialize,
        )  # fmt: skip
        b.step(nstep=3)
        np.testing.assert_array_equal(b.qpos, expected.qpos[:, -1])
        np.testing.assert_array_equal(b.qvel, expected.qvel[:, -1])


@pytest.mark.parametrize("specialize", [True, False])
def test_springs_act_after_their_stiffness_is_expanded(specialize):
    m = smoothly(arm().replaced())
    b = filled(m, 3, specialize=specialize)
    b.expand("jnt_stiffness")[1] = 50.0
    states = datas(b)
    b.step(nstep=5)
    for k, d in enumerate(states):
        own = m.replaced(jnt_stiffness=b.jnt_stiffness[k])
        e = rb.make_data(own)
        e.qpos, e.qvel, e.qfrc_applied = d.qpos, d.qvel, d.qfrc_applied
        rb.step(own, e, 5)
        np.testing.assert_allclose(b.qpos[k], e.qpos, rtol=0, atol=1e-11)


@pytest.mark.parametrize("specialize", [True, False])
def test_reset_restores_the_start_of_the_chosen_robots(specialize):
    m = arm(True)
    b = filled(m, 12, specialize=specialize)
    b.bind("xpos")
    b.step(nstep=4)
    moved = b.qpos.copy()
    b.reset([2, 5])
    fresh = rb.make_data(m)
    rb.kinematics(m, fresh)
    for k in (2, 5):
        assert b.qpos[k].tobytes() == m.qpos0.tobytes()
        assert not b.qvel[k].any()
        assert not b.qfrc_applied[k].any()
        assert b.time[k] == 0.0
        np.testing.assert_allclose(b.xpos[k], fresh.xpos, rtol=0, atol=1e-14)
    rest = np.setdiff1d(np.arange(12), [2, 5])
    np.testing.assert_array_equal(b.qpos[rest], moved[rest])
    b.reset()
    again = filled(m, 12, specialize=specialize)
    b.qpos, b.qvel, b.qfrc_applied = again.qpos, again.qvel, again.qfrc_applied
    b.step(nstep=4)
    np.testing.assert_array_equal(b.qpos, moved)


def test_dropped_and_unsolved_contacts_are_counted():
    """A plate has more corners than a Data has room for contact points."""
    side = np.linspace(-1.0, 1.0, 40)
    plate = rb.Points(tuple((x, y, 0.0) for x in side for y in side))
    m = rb.build(touching.free(plate, 1.0))
    b = rb.Batch(m, 2)
    b.qpos[:, 2] = -0.01, 1.0
    one_by_one = datas(b)
    b.step(nstep=3)
    for d in one_by_one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rb.step(m, d, 3)
    assert b.ndropped.tolist() == [d.ndropped for d in one_by_one]
    assert b.nunsolved.tolist() == [d.nunsolved for d in one_by_one]
    assert b.ndropped[0] > 0 == b.ndropped[1]


def test_reset_clears_the_friction_memory():
    m = boxes(1)
    b = rb.Batch(m, 2)
    b.qpos[:, 2] = 0.1
    b.qvel[:, 0] = 0.2
    b.step(nstep=50)
    b.reset([0])
    d = b.get_data(0)
    assert d.nstick == 0 < b.get_data(1).nstick
    assert b.nunsolved.tolist() == b.ndropped.tolist() == [0, 0]
    assert d.buffer.tobytes() == rb.make_data(m).buffer.tobytes()


def test_options_of_the_model_apply_to_every_call():
    m = arm().replaced()
    b, s = filled(m, 3), rb.specialize(m)
    one_by_one = datas(b)
    for gravity, timestep in (((0.0, 0.0, 0.0), 0.001), ((1.0, 0.0, -3.0), 0.002)):
        m.opt.gravity, m.opt.timestep = gravity, timestep
        b.step()
        for d in one_by_one:
            s.step(d)
    assert_equal(b, one_by_one)
    m.opt.integrator = "implicit"  # only the engine has this integrator
    b.step()
    assert not b.specialized
    for d in one_by_one:
        rb.step(m, d)
    assert_equal(b, one_by_one)


@pytest.mark.parametrize("specialize", [True, False])
@pytest.mark.parametrize("array", ["qpos", "qvel", "qfrc_applied", "time"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_robots_whose_state_is_not_finite_are_marked_as_diverged(specialize, array, value):
    m = arm(True)
    b, well = filled(m, 10, specialize=specialize), filled(m, 10, specialize=specialize)
    getattr(b, array)[3] = value
    b.step()
    well.step()
    assert b.diverged.tolist() == [k == 3 and array != "time" for k in range(10)] or value == 1e300
    rest = np.delete(np.arange(10), 3)
    assert not b.diverged[rest].any()
    np.testing.assert_array_equal(b.qpos[rest], well.qpos[rest])
    b.reset([3])
    assert not b.diverged.any()


def test_a_robot_without_mass_is_counted_in_nbad():
    nothing = np.zeros(7)
    m = arm().replaced(dof_armature=nothing, dof_damping=nothing, dof_frictionloss=nothing)
    b = rb.Batch(m, 2)
    b.expand("body_mass")[1] = 0.0
    b.expand("body_fullinertia")[1] = 0.0
    b.step(nstep=2)
    assert b.nbad.tolist() == [0, 14]
    b.reset()
    assert b.nbad.tolist() == [0, 0]


@needs_robots
@pytest.mark.parametrize("make", [boxes, quadruped])
def test_robots_that_diverge_in_contact_do_not_disturb_the_others(make):
    """The robots are computed one after another in the same memory."""
    m = make()
    b = rb.Batch(m, 6, nthread=1)
    if make is quadruped:
        b.qpos[:] = starts(m, 6)[0]
        b.qpos[:, :3] = [0.0, 0.0, 0.3]
    else:
        for n in range(3):
            b.qpos[:, 7 * n : 7 * n + 3] = [0.01 * n, 0.0, 0.1 + 0.21 * n]
    b.qvel[:] = np.random.default_rng(8).uniform(-0.5, 0.5, (6, m.nv))
    b.qpos[1] = np.nan
    b.qvel[3] = 1e200
    one_by_one = datas(b)
    for nstep in (1, 1, 30, 1, 30):
        b.step(nstep=nstep)
        for d in one_by_one:
            rb.step(m, d, nstep)
    assert b.diverged.tolist() == [k in (1, 3) for k in range(6)]
    assert_equal(b, one_by_one, [0, 2, 4, 5])
    assert any(d.ncon > 0 for d in one_by_one)


def test_a_batch_of_robots_without_dofs_can_be_stepped():
    box = rb.shapes.box((1, 1, 1), mass=1.0)
    m = rb.build(rb.SystemBuilder("post", base="post").body("post", box))
    b = rb.Batch(m, 3)
    b.step(nstep=2)
    assert b.qpos.shape == (3, 0)
    assert not b.diverged.any()


def test_specialize_true_refuses_a_model_that_cannot_be_specialised():
    with refused(rb.ModelError, "not-traceable", "boxes"):
        rb.Batch(boxes(), 2, specialize=True)

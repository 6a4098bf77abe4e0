# SPDX-License-Identifier: Apache-2.0
"""Driven joints have a given function of time as their motion: v_J = S qd + sigma(t)."""

import numpy as np
import pytest
from support.compare import Comparison
from support.refusals import refused

import rbdyn_ros as rb

TIMES = (0.0, 0.4, 1.1, 1.5, 2.0)
SAMPLES = ((0.0, 0.3), (0.5, -0.2), (-0.3, 0.1), (0.2, 0.4), (0.1, 0.0))
TYPES = ("revolute", "prismatic", "helical", "rack_pinion", "cylindrical", "universal")
EXTRA = {"helical": {"pitch": 0.2}, "rack_pinion": {"radius": 0.3}}
BODY = rb.shapes.box((0.6, 0.2, 0.3), mass=1.5, at=rb.pose((0.2, 0.1, -0.1), (0.1, 0.2, 0.3)))
AXES = {"axis": (0.6, 0.0, 0.8), "axis2": (0.8, 0.0, -0.6)}


def coordinates(kind):
    return 2 if kind in ("cylindrical", "universal") else 1


def trajectory(kind, periodic=False):
    rows = tuple(row[: coordinates(kind)] for row in SAMPLES)
    return rb.Trajectory(TIMES, (*rows[:-1], rows[0]) if periodic else rows, periodic)


def system(kind, motion=None, reverse=False):
    """Return a chain of a hinge, a joint with a prescribed motion (or None), and a hinge."""
    axes = dict(AXES) if kind in ("universal", "rack_pinion") else {"axis": AXES["axis"]}
    ends = ("b", "a") if reverse else ("a", "b")
    builder = rb.SystemBuilder("driven").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0), damping=0.1)
    builder.joint("given", kind, *ends, xyz=(0.3, 0, 0.1), **axes, **EXTRA.get(kind, {}))
    builder.joint("last", "revolute", "b", "c", axis=(1, 0, 0), xyz=(0, 0.2, 0))
    ends = {"point1": (0.2, 0, 0.1), "point2": (0, 0.3, 0)}
    builder.spring("across", "base", "b", stiffness=40.0, damping=2.0, length=0.1, **ends)
    builder.spring("inside", "a", "c", stiffness=15.0, length=0.4, **ends)
    if motion is not None:
        builder.drive("given", motion)
    m = rb.build(builder)
    m.opt.integrator = "euler"  # with explicit damping
    return m


def at(m, time, push=0.0):
    """Return Data at a time [s], with a fixed state of the free joints; `push` acts on body b."""
    d = rb.make_data(m)
    d.xfrc_applied[2] = push
    d.time = time
    d.qpos = (0.3, -0.4)
    d.qvel = (0.7, -1.1)
    d.qfrc_applied = (0.5, 0.2)
    rb.forward(m, d)
    return d


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", TYPES)
def test_a_driven_joint_moves_like_a_free_joint_with_the_same_acceleration(kind, reverse):
    """The free joint gets the driven joint's q, qd, qdd; dense algebra gives the other qacc."""
    m, free = system(kind, trajectory(kind), reverse), system(kind, None, reverse)
    assert (m.nq, m.nv, m.njnt, m.nvall) == (2, 2, 3, 2 + coordinates(kind))
    d, e = at(m, 0.77), rb.make_data(free)
    given = slice(free.jnt_dofadr[1], free.jnt_dofadr[1] + coordinates(kind))
    others = [free.jnt_dofadr[0], free.jnt_dofadr[2]]
    for target, source in ((e.qpos, d.qpos_all), (e.qvel, d.qvel_all)):
        target[others], target[given] = source[:2], source[2:]
    e.qfrc_applied[others] = d.qfrc_applied
    rb.forward(free, e)
    M = rb.mass_matrix(free, e).copy()
    left = (e.qfrc_applied + e.qfrc_passive - e.qfrc_bias) - M[:, given] @ d.qacc_all[2:]
    e.qacc[others] = np.linalg.solve(M[np.ix_(others, others)], left[others])
    e.qacc[given] = d.qacc_all[2:]
    rb.inverse(free, e)
    with Comparison("driven", f"{kind}, reversed {reverse}") as case:
        case.close("xpos", d.xpos, e.xpos, 1e-14)
        case.close("cvel", d.cvel, e.cvel, 1e-14)
        case.close("qacc", d.qacc, e.qacc[others], 1e-12)
        rb.inverse(m, d)
        case.close("qfrc_inverse", d.qfrc_inverse, d.qfrc_applied, 1e-12)
        case.close("cacc", d.cacc, e.cacc, 1e-12)
        case.close("qfrc_driven", d.qfrc_driven, e.qfrc_inverse[given], 1e-12)
        rb.energy(m, d)
        rb.energy(free, e)
        case.close("energy", d.energy, e.energy, 1e-14)


@pytest.mark.parametrize("periodic", [False, True], ids=["once", "again-and-again"])
def test_a_trajectory_passes_through_its_samples(periodic):
    motion = trajectory("universal", periodic)
    m = system("universal", motion)
    for time, row in zip(motion.times, motion.positions, strict=True):
        assert at(m, time).qpos_all[2:] == pytest.approx(row, abs=1e-14)
    if periodic:
        assert at(m, 2.9).qpos_all[2:] == pytest.approx(at(m, 0.9).qpos_all[2:], abs=1e-14)
        return
    for time in (-1.0, 2.0, 7.0):
        d = at(m, time)
        assert d.qpos_all[2:] == pytest.approx(motion.positions[0 if time < 0 else -1], abs=1e-14)
        assert np.abs([d.qvel_all[2:], d.qacc_all[2:]]).max() < 1e-12


@pytest.mark.parametrize("periodic", [False, True], ids=["once", "again-and-again"])
def test_velocity_and_acceleration_of_a_trajectory_are_its_derivatives(periodic):
    """For differences over 2e-5 s, truncation h^2 and rounding eps / h are about 1e-9."""
    m = system("cylindrical", trajectory("cylindrical", periodic))
    h = 1e-5
    for time in (0.2, 0.5, 1.3, 1.9, 3.3):
        before, here, after = (at(m, t) for t in (time - h, time, time + h))
        for field, rate in (("qpos_all", "qvel_all"), ("qvel_all", "qacc_all")):
            slope = (getattr(after, field) - getattr(before, field))[2:] / (2.0 * h)
            assert slope == pytest.approx(getattr(here, rate)[2:], abs=3e-7)


def swing(t, q, qd, qdd):
    q[0] = 0.4 * np.sin(3.0 * t)
    qd[0] = 1.2 * np.cos(3.0 * t)
    qdd[0] = -3.6 * np.sin(3.0 * t)


@pytest.fixture(scope="session", autouse=True)
def compiled_motion():
    """Compile the motion only if tests run, not while they are collected."""
    rb.register_motion("test_swing")(swing)


def test_a_registered_function_can_drive_a_joint():
    d = at(system("revolute", "test_swing"), 0.7)
    expected = (0.4 * np.sin(2.1), 1.2 * np.cos(2.1), -3.6 * np.sin(2.1))
    given = (d.qpos_all[2], d.qvel_all[2], d.qacc_all[2])
    assert given == pytest.approx(expected, rel=1e-15)


def test_an_unknown_motion_and_a_wrong_number_of_coordinates_are_refused():
    with refused(rb.ModelError, "motion-size", "joint 'given'"):
        system("universal", "test_swing")
    with refused(rb.ModelError, "unknown-motion", "test_sving"):
        system("revolute", "test_sving")


def end_position(m, integrator, h):
    """Return qpos after 0.4 s with an integrator and a timestep h."""
    m = m.replaced()
    m.opt.integrator, m.opt.timestep = integrator, h
    d = rb.make_data(m)
    d.qpos = (0.3, -0.4)
    rb.step(m, d, round(0.4 / h))
    return d.qpos.copy()


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("rk4", 4)])
def test_integrators_keep_their_order_with_driven_joints(integrator, order):
    """Runge-Kutta must evaluate the motion at the times of its trial states."""
    m = system("revolute", "test_swing")
    exact = end_position(m, "rk4", 1e-4)
    errors = [np.abs(end_position(m, integrator, h) - exact).max() for h in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
def test_n_steps_at_once_and_n_single_steps_give_equal_bits(integrator):
    m = system("helical", trajectory("helical"))
    m.opt.integrator = integrator
    d, e = rb.make_data(m), rb.make_data(m)
    rb.step(m, d, 50)
    for _ in range(50):
        rb.step(m, e)
    assert np.array_equal(d.buffer, e.buffer)
    # after a step driven positions are new, but derived fields belong to the step's start
    moved = d.xpos.copy()
    rb.kinematics(m, d)
    assert np.array_equal(d.qpos_all, e.qpos_all)
    assert np.abs(d.xpos - moved).max() > 1e-6


def test_a_force_does_not_change_a_prescribed_motion():
    """A force on the driven body changes only the motion of other bodies."""
    m = system("prismatic", trajectory("prismatic"))
    free, pushed = at(m, 0.5), at(m, 0.5, push=50.0)
    assert np.array_equal(free.xpos, pushed.xpos)
    assert np.array_equal(free.qvel_all[2:], pushed.qvel_all[2:])
    assert np.abs(free.qacc - pushed.qacc).max() > 1.0
    rb.step(m, pushed, 100)
    rb.step(m, free, 100)
    assert np.array_equal(free.qpos_all[2:], pushed.qpos_all[2:])

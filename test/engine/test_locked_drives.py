# SPDX-License-Identifier: Apache-2.0
"""A drive stops where a closed loop cannot follow; the motion does not diverge."""

import numpy as np
import pytest
from support import mechanisms

import rbdyn_ros as rb

#: Lengths [m]: the crank is not the shortest bar, so it cannot turn beyond the angle LAST.
BARS = {"crank": 0.2, "coupler": 0.25, "rocker": 0.12, "ground": 0.3}
#: Angle at which coupler and rocker are in line, by the law of cosines [rad].
LAST = np.arccos((0.2**2 + 0.3**2 - (0.25 + 0.12) ** 2) / (2.0 * 0.2 * 0.3))
SPEED = 2.0  # speed of the crank [rad/s]
KINDS = ("declared", "velocity", "position", "acceleration")


def crank(t, q, qd, qdd):
    q[0] = 1.0 + 2.0 * t
    qd[0] = 2.0
    qdd[0] = 0.0


@pytest.fixture(scope="session", autouse=True)
def compiled_motion():
    """Compile the motion when a test runs, not in each process that collects the tests."""
    rb.register_motion("test_locked_crank")(crank)


def four_bar(kind):
    system = mechanisms.four_bar(**BARS)
    if kind == "declared":
        system.drive("A", rb.Trajectory((0.0, 10.0), ((1.0,), (21.0,))))
    elif kind == "function":
        system.drive("A", "test_locked_crank")
    return rb.build(system)


def started(m, kind):
    """Return Data with the crank at 1 rad, in which this kind of drive is active."""
    d = rb.make_data(m)
    driven = kind in ("declared", "function")
    start = m.qpos0 if driven else np.array([1.0, *m.qpos0[1:]])
    d.qpos = rb.assemble(m, start, fixed=() if driven else ("A",))
    if not driven:
        rb.set_drive(m, d, "A", kind, 1.0 if kind == "position" else SPEED)
    return d


def turn(m, d, kind, steps):
    """Make steps; in position mode move the target of the crank before each step."""
    if kind != "position":
        rb.step(m, d, steps)
        return
    for _ in range(steps):
        d.drive_target[m.jnt_dofadr[m.jnt_id("A")]] = 1.0 + SPEED * d.time
        rb.step(m, d)


def angle(m, d):
    return d.qpos_all[m.jnt_qposadr_all[m.jnt_id("A")]]


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
@pytest.mark.parametrize("kind", [*KINDS, "function"])
def test_a_crank_that_locks_its_loop_is_stopped(kind, integrator):
    m = four_bar(kind)
    m.opt.integrator = integrator
    d = started(m, kind)
    turn(m, d, kind, 150)
    assert d.nlocked == 0
    turn(m, d, kind, 2500)
    assert d.nlocked == 1
    assert d.drive_locked[m.jnt_id("A")] == 1
    assert abs(angle(m, d) - LAST) < 10.0 * SPEED * m.opt.timestep
    before = d.qpos_all.copy()
    turn(m, d, kind, 500)
    assert d.qpos_all == pytest.approx(before, abs=1e-6)
    rb.forward(m, d)
    assert np.abs(d.qvel_all).max() < 1e-6
    assert np.abs(d.efc_pos).max() < 1e-3
    force = d.qfrc_driven if m.ndrive else d.qfrc_drive[:1]
    assert np.isfinite(d.efc_force).all()
    assert 0.0 < abs(force[0]) < 1e3
    assert m.jnt_names[int(np.flatnonzero(d.drive_locked)[0])] == "A"


@pytest.mark.parametrize("kind", ["declared", "velocity"])
def test_a_reset_unlocks_a_locked_drive(kind):
    m = four_bar(kind)
    d = started(m, kind)
    fresh = d.copy()
    turn(m, d, kind, 2500)
    assert d.nlocked == 1
    rb.reset_data(m, d)
    assert (d.nlocked, d.time, d.drive_locked.any()) == (0, 0.0, False)
    d.qpos = fresh.qpos
    if kind == "velocity":
        rb.set_drive(m, d, "A", "velocity", SPEED)
    turn(m, d, kind, 150)
    turn(m, fresh, kind, 150)
    assert np.array_equal(d.qpos_all, fresh.qpos_all)


def test_set_drive_unlocks_a_locked_drive():
    m = four_bar("velocity")
    d = started(m, "velocity")
    turn(m, d, "velocity", 1500)
    assert d.nlocked == 1
    rb.set_drive(m, d, "A", "velocity", -SPEED)
    rb.step(m, d, 200)
    assert d.nlocked == 1  # the drive has not locked again
    assert d.qvel[0] == pytest.approx(-SPEED, rel=1e-9)
    assert angle(m, d) == pytest.approx(LAST - 200 * 0.001 * SPEED, abs=10 * 0.001 * SPEED)


def test_joints_outside_a_locked_loop_keep_moving():
    """A pendulum next to the loop swings like a pendulum without the loop."""
    system = mechanisms.four_bar(**BARS)
    system.body("bob", mechanisms.bar(0.3))
    system.joint("swing", "revolute", "ground", "bob", xyz=(1, 0, 0), **mechanisms.HINGE)
    m = rb.build(system)
    d = rb.make_data(m)
    lone = rb.SystemBuilder("lone", base="ground").body("bob", mechanisms.bar(0.3))
    lone = rb.build(lone.joint("swing", "revolute", "ground", "bob", **mechanisms.HINGE))
    e = rb.make_data(lone)
    start = m.qpos0.copy()
    start[0], start[m.jnt_qposadr[m.jnt_id("swing")]] = 1.0, 0.0
    d.qpos = rb.assemble(m, start, fixed=("A", "swing"))
    rb.set_drive(m, d, "A", "velocity", SPEED)
    rb.step(m, d, 1000)
    rb.step(lone, e, 1000)
    assert d.nlocked == 1
    assert d.qpos[m.jnt_qposadr[m.jnt_id("swing")]] == pytest.approx(e.qpos[0], rel=1e-9)


def test_a_long_timestep_does_not_lock_a_drive():
    """The crank of a Grashof four-bar keeps rotating, although its loop opens in each step."""
    m = rb.build(mechanisms.grashof())
    m.opt.timestep = 0.02
    d = rb.make_data(m)
    d.qpos = rb.assemble(m, np.array([1.0, *m.qpos0[1:]]), fixed=("A",))
    rb.set_drive(m, d, "A", "velocity", 10.0)
    gaps = []
    for _ in range(300):
        rb.step(m, d)
        gaps.append(np.abs(d.efc_pos).max())
    assert max(gaps) > 1e-3  # the loop opens so far that the engine checks for locks
    assert d.nlocked == 0
    assert angle(m, d) == pytest.approx(1.0 + 10.0 * 300 * 0.02, rel=1e-9)

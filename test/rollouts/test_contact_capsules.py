# SPDX-License-Identifier: Apache-2.0
"""Capsules on planes in vector lanes: a Batch moves robots as rb.step moves each of them."""

import numpy as np
import pytest
from rollouts.test_contact_fields import rough, terrain
from rollouts.test_contact_lanes import SAME, by_engine, one_step_errors

import rbdyn_ros as rb
from rbdyn_ros.rollouts.contact import capsules, places
from rbdyn_ros.rollouts.contact.points import MOST_POINTS, touching

SLANTED = rb.pose((0.0, 0.0, -0.02), rpy=(0.1, 0.15, 0.4))
LYING = (0.0, np.pi / 2, 0.0)


def rod(ground=None, pose=None, friction=0.8, inertia=0.02):
    """Return the Model of a capsule on three slides and three hinges, on a plane or `ground`."""
    system = rb.SystemBuilder("rod", base="world")
    system.obstacle("ground", ground or rb.Plane(), origin=pose or rb.pose(), friction=friction)
    parent = "world"
    for name in "xyz":
        axis = tuple(float(name == each) for each in "xyz")
        system.body(name, rb.shapes.sphere(0.02, mass=0.2))
        system.joint(f"slide_{name}", "prismatic", parent, name, axis=axis)
        parent = name
    for name, axis in (
        ("yaw", (0.0, 0.0, 1.0)),
        ("roll", (1.0, 0.0, 0.0)),
        ("pitch", (0.0, 1.0, 0.0)),
    ):
        system.body(name, rb.shapes.sphere(0.03, mass=0.3))
        system.joint(f"hinge_{name}", "revolute", parent, name, axis=axis, limit=(-50.0, 50.0))
        parent = name
    system.geometry("skin", parent, rb.Capsule(0.03, 0.2), origin=rb.pose(rpy=LYING))
    m = rb.build(system)
    # this makes spins last longer
    return m.replaced(dof_armature=np.where(np.arange(6) < 3, 0.0, inertia))


def thrown(m, number=32, seed=0, spin=3.0, threads=0):
    b, rng = rb.Batch(m, number, threads), np.random.default_rng(seed)
    b.qpos[:, 2] = rng.uniform(0.04, 0.1, number)
    b.qpos[:, 4:] = rng.normal(0.0, 0.2, (number, 2))
    b.qvel[:, :2] = rng.normal(0.0, 0.5, (number, 2))
    b.qvel[:, 3] = rng.normal(0.0, spin, number)
    return b


def compared(b, steps, every=4):
    """Return the largest error of a step, the shares (3,) of steps with 0, 1 and 2 contacts, and
    the share of steps that the engine computed.
    """
    worst, engine, ends = 0.0, 0.0, np.zeros(3)
    for n in range(steps):
        if n % every == 0:
            worst = max(worst, one_step_errors(b).max(initial=0.0))
            numbers = np.array([b.get_data(k).nstick for k in range(b.nsim)])
            ends += [(numbers == k).mean() * every / steps for k in range(3)]
        else:
            b.step()
        engine += by_engine(b).mean() / steps
    return worst, ends, engine


@pytest.mark.parametrize(
    ("pose", "friction", "most"),
    [(None, 0.8, 0.1), (SLANTED, 0.3, 0.6)],
    ids=["flat", "slanted"],
)
def test_rods_that_slide_and_spin_step_as_in_the_engine(pose, friction, most):
    """Some rods lie flat on two contacts, and others touch at one end."""
    b = thrown(rod(pose=pose, friction=friction))
    assert b.specialized
    worst, (_, one, two), engine = compared(b, 400)
    assert worst < SAME
    assert one > 0.02
    assert two > 0.3
    assert 0.0 < engine < most
    assert b.nunsolved.sum() == 0


def test_friction_of_a_line_slows_a_spin():
    """A spinning rod of length L is slowed by the torque mu m g L / 4."""
    m = rod()
    b = rb.Batch(m, 2)
    b.qpos[:, 2] = 0.03 - 1e-9
    b.step(nstep=20)
    b.qvel[:, 3] = 6.0
    b.step(nstep=20)
    start = b.qvel[:, 3].copy()
    b.step(nstep=100)
    inertia = rb.mass_matrix(m, b.get_data(0))[3, 3]
    torque = 0.8 * 9.81 * m.body_subtreemass[3] * 0.2 / 4.0
    np.testing.assert_allclose((start - b.qvel[:, 3]) / 0.1, torque / inertia, rtol=1e-6)
    assert not by_engine(b).any()


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (capsules, "_lever", lambda f: lambda ends, a, b: 0.9 * f(ends, a, b)),
        (capsules, "LEVEL", lambda _: 1.0),
        (places, "follow_arcs", lambda _: lambda m, d: None),  # noqa: ARG005
    ],
    ids=["lever", "tilted", "arcs"],
)
def test_an_error_in_the_code_of_capsules_is_detected(monkeypatch, module, name, wrong):
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    worst, _, _ = compared(thrown(rod(inertia=0.0)), 160)
    assert worst > 10.0 * SAME


def test_the_bits_of_a_rod_do_not_depend_on_other_rods_or_threads():
    m, found = rod(), []
    whole = thrown(m, 24)
    starts = whole.qpos.copy(), whole.qvel.copy()
    for number, threads, first in ((24, 1, 0), (24, 3, 0), (9, 2, 5)):
        b = rb.Batch(m, number, threads)
        b.qpos[:], b.qvel[:] = (each[first : first + number] for each in starts)
        b.step(nstep=300)
        d = b.get_data(12 - first)
        found.append((b.qpos[12 - first].tobytes(), bytes(d.stick_force), bytes(d.stick_torque)))
    assert len(set(found)) == 1


def test_a_data_has_the_memory_of_torsional_friction_of_a_rod():
    """rb.step of a robot's Data gives the same next step as the Batch."""
    m = rod()
    b = thrown(m, spin=6.0)
    b.step(nstep=150)
    spinning = np.array([abs(b.get_data(k).stick_torque[:2, 2]).min() > 0.0 for k in range(32)])
    assert spinning.sum() > 2
    assert one_step_errors(b).max() < SAME
    b.reset()
    b.step()
    assert all(not b.get_data(k).stick_torque.any() for k in range(32))


@pytest.mark.parametrize("forgets", [False, True])
def test_a_contact_that_moves_to_the_other_end_keeps_its_memory(monkeypatch, forgets):
    if forgets:
        monkeypatch.setattr(capsules, "_recall_other_end", lambda ends: None)  # noqa: ARG005
    b = rb.Batch(rod(), 2)
    b.qpos[:, 2] = 0.03 + 0.1 * np.sin(0.1) - 1e-9
    b.qpos[:, 5] = 0.1, -0.1
    b.qvel[:, 0] = 0.3
    b.step()
    b.qpos[:, 2], b.qpos[:, 5] = 0.03 + 0.1 * np.sin(0.1) - 1e-9, (-0.1, 0.1)
    b.qvel[:] = 0.0
    error = one_step_errors(b).max()
    assert not by_engine(b).any()
    assert (error > 10.0 * SAME) if forgets else (error < SAME)


def legged(feet, capsules_of_calves=False):
    system = rb.SystemBuilder("legs", base="world").floor()
    system.body("trunk", rb.shapes.box((0.4, 0.2, 0.1), mass=5.0))
    system.joint("lift", "prismatic", "world", "trunk", axis=(0.0, 0.0, 1.0))
    down = {"contype": 1, "conaffinity": 0}
    for n in range(feet):
        at = rb.pose((0.1 * n, 0.0, -0.01 * n))
        system.body(f"leg{n}", rb.shapes.capsule(0.02, 0.2, mass=0.3))
        system.joint(f"knee{n}", "revolute", "trunk", f"leg{n}", axis=(1.0, 0.0, 0.0), origin=at,
                     limit=(-1.0, 1.0))  # fmt: skip
        filters = {"filter": rb.Filter(**down)}
        system.geometry(f"rod{n}", f"leg{n}", rb.Capsule(0.02, 0.1), **filters)
        if capsules_of_calves:
            low = rb.pose((0.0, 0.0, -0.1))
            system.geometry(f"ball{n}", f"leg{n}", rb.Sphere(0.02), origin=low, **filters)
    return rb.build(system)


def test_only_capsules_at_the_ends_of_a_robot_have_contact_points_in_lanes():
    m = legged(6)
    found = touching(m)
    assert len(found.planes) == MOST_POINTS
    assert {m.geom_names[p.geom] for p in found.planes} == {f"rod{n}" for n in range(2, 6)}
    assert {m.geom_names[p.geom] for p in found.guarded} == {"rod0", "rod1"}
    balls = touching(legged(3, capsules_of_calves=True))
    assert len(balls.planes) == 3
    assert len(balls.guarded) == 3


def test_capsules_on_terrain_are_computed_by_the_engine():
    field = terrain(rough(0.02)).shape
    b = thrown(rod(field), number=2)
    assert not b.specialized
    assert "no sphere of it can touch a plane or a height field, and no capsule a plane" in repr(b)

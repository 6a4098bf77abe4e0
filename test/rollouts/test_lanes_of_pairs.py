# SPDX-License-Identifier: Apache-2.0
"""Contact of a robot's spheres and capsules in lanes: a Batch moves robots as rb.step does."""

import numpy as np
import pytest
from rollouts.test_contact_lanes import SAME, by_engine, one_step_errors

import rbdyn_ros as rb
from rbdyn_ros.rollouts import contact_programs
from rbdyn_ros.rollouts.contact import check, pairs, places
from rbdyn_ros.rollouts.contact.points import touching

TIPS = {"ball": rb.Sphere(0.03), "rod": rb.Capsule(0.02, 0.06), "box": rb.Box((0.03, 0.03, 0.06))}


def gripper(tips, floor=False):
    """Return two fingers with `tips` on a palm, which rotates, or with a floor hops on a ball."""
    system = rb.SystemBuilder("gripper", base="world")
    if floor:
        system.floor()
    system.body("palm", rb.shapes.box((0.2, 0.1, 0.05), mass=1.0))
    kind, axis = ("prismatic", (0.0, 0.0, 1.0)) if floor else ("revolute", (1.0, 0.3, 0.8))
    system.joint("turn", kind, "world", "palm", axis=axis, limit=(-9.0, 9.0), damping=0.05)
    if floor:
        system.geometry(
            "sole", "palm", rb.Sphere(0.05), filter=rb.Filter(contype=1, conaffinity=0)
        )
    for n, (x, tip) in enumerate(zip((-0.08, 0.08), tips, strict=True)):
        system.body(f"lower{n}", rb.shapes.sphere(0.02, mass=0.2))
        system.body(f"upper{n}", rb.shapes.sphere(0.02, mass=0.2))
        more = {"limit": (-2.0, 2.0), "damping": 0.01}
        at, above = rb.pose((x, 0.0, 0.0)), rb.pose((0.0, 0.0, 0.1))
        system.joint(
            f"bend{n}", "revolute", "palm", f"lower{n}", axis=(0.0, 1.0, 0.0), origin=at, **more
        )
        tilt = {"axis": (1.0, 0.0, 0.0), "origin": above}
        system.joint(f"tilt{n}", "revolute", f"lower{n}", f"upper{n}", **tilt, **more)
        system.geometry(f"tip{n}", f"upper{n}", TIPS[tip], origin=rb.pose((0.0, 0.0, 0.06)))
    m = rb.build(system)
    return m.replaced(dof_armature=np.full(m.nv, 1e-3))


def grasping(b, n, phase):
    """Return the forces (nsim, nv) in step n of springs that move the fingers and rub the tips."""
    q, found = b.qpos, np.zeros(b.qvel.shape)
    bend = 0.8 + 0.6 * np.sin(0.03 * n + phase)
    for k, wanted in ((1, bend), (3, -bend)):
        found[:, k] = 5.0 * (wanted - q[:, k])
    found[:, 2] = 2.0 * (0.3 * np.sin(0.02 * n + 2.0 * phase) - q[:, 2])
    found[:, 4] = 2.0 * (-0.2 - q[:, 4])
    found[:, 0] = 0.3 * np.sin(0.01 * n + phase)
    return found


def started(m, number=24, threads=0, seed=0):
    b, rng = rb.Batch(m, number, threads), np.random.default_rng(seed)
    b.qpos[:] = rng.normal(0.0, 0.1, b.qpos.shape)
    return b, rng.uniform(0.0, 6.0, number)


def compared(b, phase, steps, every=3):
    """Return the largest error of a step, the mean number of contacts, and the share of steps that
    the engine computed.
    """
    worst, contacts, engine = 0.0, 0.0, 0.0
    for n in range(steps):
        b.qfrc_applied[:] = grasping(b, n, phase)
        if n % every == 0:
            worst = max(worst, one_step_errors(b).max(initial=0.0))
            numbers = [b.get_data(k).nstick for k in range(b.nsim)]
            contacts += np.mean(numbers) * every / steps
        else:
            b.step()
        engine += by_engine(b).mean() / steps
    return worst, contacts, engine


@pytest.mark.parametrize("tips", [("ball", "ball"), ("ball", "rod"), ("rod", "rod")])
def test_touching_fingers_step_as_in_the_engine(tips):
    b, phase = started(gripper(tips))
    assert b.specialized
    worst, contacts, engine = compared(b, phase, 450)
    assert worst < SAME
    assert 0.2 < contacts < 0.8
    assert engine < 0.02
    assert b.nunsolved.sum() == 0


def test_a_robot_that_stands_and_grasps_steps_as_in_the_engine():
    m = gripper(("ball", "rod"), floor=True)
    assert [m.geom_names[p.geom] for p in touching(m).planes] == ["sole", "tip0"]
    assert len(touching(m).pairs) == 3
    b, phase = started(m)
    b.qpos[:, 0] = 0.06
    worst, contacts, engine = compared(b, phase, 450)
    assert worst < SAME
    assert contacts > 1.2
    assert engine < 0.1


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (contact_programs, "near_pairs", lambda *_: [0.0]),
        (pairs, "ARM", pairs.DIST - 4),
        (places, "follow_arcs", lambda m, d: None),  # noqa: ARG005
    ],
    ids=["near", "arm", "arcs"],
)
def test_errors_in_the_code_of_pairs_are_detected(monkeypatch, module, name, wrong):
    monkeypatch.setattr(module, name, wrong)
    b, phase = started(gripper(("ball", "rod")))
    worst, _, _ = compared(b, phase, 300, every=1)
    assert worst > 10.0 * SAME


def test_the_bits_of_a_gripper_do_not_depend_on_other_robots_or_threads():
    m, found = gripper(("rod", "rod")), []
    whole, phase = started(m)
    start = whole.qpos.copy()
    for number, threads, first in ((24, 1, 0), (24, 3, 0), (9, 2, 5)):
        b, part = rb.Batch(m, number, threads), slice(first, first + number)
        b.qpos[:] = start[part]
        for n in range(200):
            b.qfrc_applied[:] = grasping(b, n, phase[part])
            b.step()
        d = b.get_data(12 - first)
        found.append((b.qpos[12 - first].tobytes(), bytes(d.stick_force), d.nstick))
    assert len(set(found)) == 1


def test_robots_with_their_own_masses_grip_as_in_their_own_models():
    m = gripper(("ball", "rod"))
    b, phase = started(m, 4)
    start = b.qpos.copy()
    scale = np.linspace(0.8, 1.5, 4)
    b.expand("body_mass")[:] *= scale[:, None]
    for _ in range(150):
        b.qfrc_applied[:] = grasping(b, 0, phase)
        b.step()
    assert b.specialized
    other = m.replaced(body_mass=m.body_mass * scale[3])
    one = rb.Batch(other, 1, specialize=False)
    one.qpos[:] = start[3]
    for _ in range(150):
        one.qfrc_applied[:] = grasping(one, 0, phase[3:])
        one.step()
    np.testing.assert_allclose(b.qpos[3], one.qpos[0], rtol=0, atol=1e-6)


def test_pairs_without_room_in_the_lanes_are_computed_by_the_engine_when_they_touch(monkeypatch):
    from rbdyn_ros.rollouts.contact import points

    monkeypatch.setattr(points, "FEW_PAIRS", 0)
    m = gripper(("ball", "ball"), floor=True)
    assert len(touching(m).pairs) == 0
    b, phase = started(m)
    b.qpos[:, 0] = 0.06
    worst, contacts, engine = compared(b, phase, 300)
    assert worst < SAME
    assert contacts > 1.2
    assert engine > 0.1


def slabs():
    system = rb.SystemBuilder("slabs", base="world").floor()
    for name in ("left", "right"):
        system.body(name, rb.shapes.sphere(0.05, mass=1.0))
        at = rb.pose((0.3 * len(name), 0.0, 0.0))
        system.joint(f"{name}_slide", "prismatic", "world", name, axis=(0.0, 0.0, 1.0), origin=at)
        system.geometry(f"{name}_skin", name, rb.Sphere(0.05))
    return rb.build(system)


def rolled():
    system = rb.SystemBuilder("rolled", base="world").obstacle("step", rb.Box((1.0, 1.0, 1.0)))
    system.body("wheel", rb.shapes.sphere(0.05, mass=1.0))
    system.joint("slide", "prismatic", "world", "wheel", axis=(0.0, 0.0, 1.0))
    system.geometry("tyre", "wheel", rb.Cylinder(0.1, 0.05))
    return rb.build(system)


@pytest.mark.parametrize("overlooked", [False, True])
def test_a_contact_that_forces_cause_within_a_step_needs_the_engine(monkeypatch, overlooked):
    """The velocity closes 20 um of a gap of 25 um, and the acceleration closes the rest."""
    if overlooked:
        monkeypatch.setattr(check, "near_pairs", lambda *_: [0.0])
    m = gripper(("ball", "ball"), floor=True)
    b = rb.Batch(m, 2)
    angle, arm = np.arcsin((0.1 - 25e-6) / 0.32), 0.16
    b.qpos[:] = 0.05 - 1e-9, angle, 0.0, -angle, 0.0
    b.qvel[:, 1] = 0.01 / (arm * np.cos(angle))
    b.qvel[:, 3] = -b.qvel[:, 1]
    b.qfrc_applied[:, 1], b.qfrc_applied[:, 3] = 1.0, -1.0
    error = one_step_errors(b).max()
    assert b.get_data(0).nstick == (1 if overlooked else 2)
    assert (error > 10.0 * SAME) if overlooked else (error < SAME)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda: gripper(("box", "ball")),
            "the contact of 'tip0' with 'tip1', which are not spheres",
        ),
        (rolled, "the contact of 'tyre' with 'step', of which one is an obstacle, runs only"),
        (slabs, "the contact of 'left_skin' with 'right_skin', which are on two trees, runs only"),
    ],
)
def test_a_batch_names_the_pair_that_needs_the_engine(make, reason):
    b = rb.Batch(make(), 2)
    assert not b.specialized
    assert reason in repr(b)

# SPDX-License-Identifier: Apache-2.0
"""Spheres on height fields in vector lanes: a Batch moves robots as rb.step does."""

import numpy as np
import pytest
from rollouts.test_contact_lanes import SAME, batch, by_engine, go2, one_step_errors, trotting
from support.refusals import refused
from support.robots import needs_robots

import rbdyn_ros as rb
from rbdyn_ros.rollouts.contact import check, fields

SIZE, CELL = 4.0, 0.1


def rough(noise, hills=0.05, seed=0):
    rng, n = np.random.default_rng(seed), round(SIZE / CELL) + 1
    x = np.linspace(0.0, SIZE, n)
    waves = np.sin(2.0 * x) * np.cos(1.5 * x)[:, None]
    return hills * waves + rng.uniform(-noise, noise, (n, n))


def terrain(heights, pose=None):
    return rb.Obstacle("terrain", rb.HeightField(heights, (SIZE, SIZE)), pose or rb.pose())


def walker(ground, box=False):
    """Return the Model of a sphere on three slides and two hinges, inside a box if `box`."""
    system = rb.SystemBuilder("walker", base="world")
    system.obstacle(ground.name, ground.shape, origin=ground.origin, friction=0.8)
    parent = "world"
    for name in "xyz":
        axis = tuple(float(name == each) for each in "xyz")
        system.body(name, rb.shapes.sphere(0.02, mass=0.2))
        system.joint(f"slide_{name}", "prismatic", parent, name, axis=axis)
        parent = name
    for name, axis in (("roll", (1.0, 0.0, 0.0)), ("pitch", (0.0, 1.0, 0.0))):
        system.body(name, rb.shapes.sphere(0.03, mass=0.3))
        system.joint(f"hinge_{name}", "revolute", parent, name, axis=axis, limit=(-9.0, 9.0))
        parent = name
    system.geometry("ball", parent, rb.Sphere(0.03))
    if box:
        system.geometry("box", "z", rb.Box((0.3, 0.3, 0.02)), origin=rb.pose((0.0, 0.0, 0.03)))
    return rb.build(system)


def thrown(m, number=32, seed=0, speed=0.7):
    b, rng = rb.Batch(m, number), np.random.default_rng(seed)
    b.qpos[:, :2] = rng.uniform(-1.6, 1.6, (number, 2))
    b.qpos[:, 2] = rng.uniform(0.12, 0.2, number)
    b.qvel[:, :2] = rng.normal(0.0, speed, (number, 2))
    return b


def worst_error(b, steps, every=5):
    """Return the largest error of a step, and the share of steps that the engine computed."""
    worst, engine = 0.0, 0.0
    for n in range(steps):
        if n % every == 0:
            worst = max(worst, one_step_errors(b).max(initial=0.0))
        else:
            b.step()
        engine += by_engine(b).mean() / steps
    return worst, engine


@pytest.mark.parametrize(
    ("noise", "pose"),
    [(0.0, rb.pose()), (0.02, rb.pose((0.1, -0.2, 0.0), rpy=(0.1, -0.15, 0.7)))],
    ids=["hills", "slanted"],
)
def test_spheres_on_terrain_step_as_in_the_engine(noise, pose):
    b = thrown(walker(terrain(rough(noise), pose)))
    assert b.specialized
    worst, engine = worst_error(b, 400, every=8)
    assert worst < SAME
    assert 0.0 < engine < 0.15
    assert np.mean([b.get_data(k).nstick > 0 for k in range(32)]) > 0.3
    assert b.nunsolved.sum() == 0


@needs_robots
def test_a_trot_on_terrain_steps_as_in_the_engine():
    m = go2(obstacles=(terrain(rough(0.02)),))
    b, phase = batch(m, 32)
    assert b.specialized
    b.qpos[:, :2] = np.random.default_rng(1).uniform(-1.0, 1.0, (32, 2))
    b.qpos[:, 2] += 0.08
    errors, engine = [], 0
    for n in range(320):
        if n % 4 == 0:
            b.qfrc_applied[:] = trotting(m, b.qpos, 0.001 * n, phase)
        if n % 10 == 5:
            errors.append(one_step_errors(b))
        else:
            b.step()
        engine += by_engine(b).sum()
    found = np.concatenate(errors)
    assert found.max() < SAME
    assert np.median(found) < 1e-9
    assert 0 < engine < 0.1 * 320 * 32
    assert b.nunsolved.sum() == 0


def test_inner_edges_of_flat_terrain_have_no_effect():
    flat, plane = terrain(np.zeros((41, 41))), rb.Obstacle("terrain", rb.Plane())
    on_field, on_plane = thrown(walker(flat)), thrown(walker(plane))
    for _ in range(300):
        on_field.step()
        on_plane.step()
    np.testing.assert_allclose(on_field.qpos, on_plane.qpos, rtol=0, atol=1e-9)
    assert np.abs(on_field.qvel).max() > 0.1


def test_a_robot_whose_other_geometry_touches_terrain_runs_on_the_engine():
    """While the box touches hills, the robot has the bits of rb.step."""
    b, hits = thrown(walker(terrain(rough(0.0, hills=0.25)), box=True), number=32), 0
    assert b.specialized
    b.qpos[:, 2] += 0.2
    for _ in range(200):
        datas = [b.get_data(k) for k in range(b.nsim)]
        for d in datas:
            rb.step(b.model, d)
        b.step()
        box = b.model.geom_id("box")
        for k in np.flatnonzero([(d.contact_geom[: d.ncon] == box).any() for d in datas]):
            hits += 1
            assert by_engine(b)[k]
            assert datas[k].qvel.tobytes() == np.ascontiguousarray(b.qvel[k]).tobytes()
    assert hits > 10


def test_the_bits_on_terrain_do_not_depend_on_other_robots_or_threads():
    m, found = walker(terrain(rough(0.02))), []
    whole = thrown(m, 24)
    starts = whole.qpos.copy(), whole.qvel.copy()
    for number, threads, first in ((24, 1, 0), (24, 3, 0), (9, 2, 5)):
        b = rb.Batch(m, number, threads)
        b.qpos[:], b.qvel[:] = (each[first : first + number] for each in starts)
        b.qvel[2, 0] = np.nan  # a robot that diverges must not change others
        b.step(nstep=300)
        assert b.diverged.sum() == 1
        k = 12 - first
        found.append((b.qpos[k].tobytes(), bytes(b.get_data(k).stick_force)))
    assert len(set(found)) == 1


def test_a_robot_with_its_own_mass_moves_on_terrain_like_its_own_model():
    m = walker(terrain(rough(0.02)))
    b = thrown(m, 8)
    starts = b.qpos.copy(), b.qvel.copy()
    scale = np.linspace(0.5, 2.0, 8)
    b.expand("body_mass")[:] *= scale[:, None]
    b.step(nstep=120)
    assert b.specialized
    for k in (0, 7):
        other = m.replaced(body_mass=m.body_mass * scale[k])
        d = rb.make_data(other)
        d.qpos[:], d.qvel[:] = starts[0][k], starts[1][k]
        rb.step(other, d, 120)
        np.testing.assert_allclose(b.qpos[k], d.qpos, rtol=0, atol=1e-6)


def test_a_sphere_next_to_the_terrain_falls():
    b = rb.Batch(walker(terrain(rough(0.02))), 2)
    b.qpos[:, 0] = SIZE, 0.5 * SIZE
    worst, _engine = worst_error(b, 100)
    assert worst < SAME
    assert b.qpos[0, 2] < 0.12
    assert not b.diverged.any()


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (fields.Face, "_to_sides", lambda _: 1.0),  # as if triangles had no edges
        # as if no triangle rose above the plane
        (fields.Face, "_distances", lambda _: (0.0, 1.0)),
    ],
    ids=["edges", "valleys"],
)
def test_the_comparison_with_the_engine_finds_missing_features_of_terrain(
    monkeypatch, module, name, wrong
):
    monkeypatch.setattr(module, name, wrong)
    worst, _engine = worst_error(thrown(walker(terrain(rough(0.02)))), 300)
    assert worst > 10.0 * SAME


def no_suspects(m, shelf, graph, places, change):
    return np.full(len(places.fields), 0.0, object)


@pytest.mark.parametrize("overlooked", [False, True])
def test_a_robot_whose_contact_begins_at_an_edge_runs_on_the_engine(monkeypatch, overlooked):
    """A ball falls onto the ridge of a roof within the step, by gravity alone.

    A second ball rests on a side of the roof, and a third ball without contact is pushed.
    """
    if overlooked:
        monkeypatch.setattr(check, "may_touch_more", no_suspects)
    roof, slope = np.tile(-0.2 * np.abs(np.linspace(-2.0, 2.0, 41)), (41, 1)), np.sqrt(1.04)
    system = rb.SystemBuilder("slides", base="world").obstacle("roof", terrain(roof).shape)
    for name, x, touches in (("falls", 0.0, 1), ("rests", 0.55, 1), ("pushed", 1.0, 0)):
        system.body(name, rb.shapes.sphere(0.05, mass=1.0))
        up = {"axis": (0.0, 0.0, 1.0), "origin": rb.pose((x, 0.03, 0.0))}
        system.joint(f"{name}_slide", "prismatic", "world", name, **up)
        only_the_roof = rb.Filter(contype=touches, conaffinity=0)
        system.geometry(f"{name}_skin", name, rb.Sphere(0.05), filter=only_the_roof)
    b = rb.Batch(rb.build(system), 2)
    assert b.specialized
    b.qpos[:] = 0.05 + 25e-6, -0.11 + 0.05 * slope - 1e-9, 0.5
    b.qvel[:] = -0.02, 0.0, 0.0
    b.qfrc_applied[:, 2] = 100.0
    error = one_step_errors(b).max()
    assert b.get_data(0).nstick == (1 if overlooked else 2)
    assert (error > 10.0 * SAME) if overlooked else (error < SAME)


def test_a_model_with_contact_with_a_mesh_runs_on_the_engine():
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    mesh = rb.Obstacle("ramp", rb.TriangleMesh(corners, np.array([[0, 1, 2]])))
    b = rb.Batch(walker(mesh), 2)
    assert "contact with 'ramp', which is neither a plane nor a height field" in repr(b)
    with refused(rb.ModelError, "not-traceable"):
        rb.Batch(walker(mesh), 2, specialize=True)

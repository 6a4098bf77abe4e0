# SPDX-License-Identifier: Apache-2.0
"""Newton's method for velocities and contact forces together, island by island."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.solve import newton
from rbdyn_ros.engine.contact.solve.coupled_bodies import accelerate_coupled_bodies
from rbdyn_ros.engine.contact.solve.islands import GIVEN_UP, SEARCHED, WORKS, mark_islands
from rbdyn_ros.engine.contact.solve.tree_order import order_trees

H, MU = 0.001, 0.6


def heap(places, shape, names=""):
    """Return bodies of 1 kg at given positions and orientations, all with one shape."""
    skin = rb.Surface(friction=MU)
    return [
        rb.Object(f"{names}{n}", shape, mass=1.0, pose=rb.pose(place, rpy=turn), surface=skin)
        for n, (place, turn) in enumerate(places)
    ]


def thrown(objects):
    m = rb.scene(objects=objects)
    d = rb.make_data(m)
    d.qvel[:] = np.random.default_rng(8).uniform(-1.0, 1.0, m.nv)
    return m, d


def places(number, shift=0.0):
    turns = np.random.default_rng(7).uniform(-0.5, 0.5, (number, 3))
    at = [(0.3 * (n % 2) + shift, 0.3 * (n // 2 % 2), 0.2 + 0.3 * (n // 4)) for n in range(number)]
    return list(zip(at, turns, strict=True))


def test_tumbling_cubes_take_few_passes():
    """A solver with lagged forces needed 10 passes a step."""
    m, d = thrown(heap(places(10), rb.Box((0.2, 0.2, 0.2))))
    passes = []
    for _ in range(800):
        rb.step(m, d)
        passes.append(d.solver_niter)
    assert d.nunsolved == 0
    assert np.mean(passes) < 6.0


def test_light_balls_under_a_heavy_lid_take_few_passes():
    """With the same r = 10 m / h for all contacts, the solver needed 10 passes a step."""
    at = 0.205 * np.indices((3, 3, 3)).reshape(3, -1).T + (0.0, 0.0, 0.101)
    at += np.random.default_rng(3).uniform(0.0, 0.004, at.shape)
    balls = [
        rb.Object(f"{n}", rb.Sphere(0.1), mass=0.1, pose=rb.pose(place))
        for n, place in enumerate(at.tolist())
    ]
    lid = rb.Object("lid", rb.Box((0.7, 0.7, 0.05)), mass=3.0, pose=rb.pose((0.2, 0.2, 0.66)))
    m = rb.scene(objects=[*balls, lid])
    d, passes = rb.make_data(m), []
    for _ in range(400):
        rb.step(m, d)
        passes.append(d.solver_niter)
    assert d.nunsolved == 0
    assert np.mean(passes) < 7.0


def test_forces_of_a_falling_heap_satisfy_the_law():
    """A contact of balls has no patch, so each point satisfies Coulomb's law by itself."""
    m, d = thrown(heap(places(12), rb.Sphere(0.1)))
    slipping = sticking = mutual = 0
    for _ in range(700):
        rb.step(m, d)
        n = d.ncon
        force, normal = d.contact_force[:n], d.contact_normal[:n]
        pressing = np.einsum("ci,ci->c", force, normal)
        rubbing = force - pressing[:, None] * normal
        most = max(pressing.max(initial=0.0), 1e-9)
        assert (pressing >= -1e-6 * most).all()
        size = np.linalg.norm(rubbing, axis=1)
        assert (size <= MU * pressing + 1e-6 * most).all()
        if d.contact_time[:n].any():
            continue  # a contact that begins within the step
        u, away = velocities(m, d, normal)
        loaded = pressing > 1e-3 * most
        assert (away[loaded] < 0.31).all()  # overlapping bodies separate at 0.3 m/s at most
        speed = np.linalg.norm(u, axis=1)
        remembered = np.linalg.norm(d.contact_memory[:n], axis=1)
        yields = H / 10.0 * (MU * pressing + remembered)  # points that stick move by f / D
        slips = loaded & (speed > 0.02 + 2.0 * yields)
        slipping, sticking = slipping + slips.sum(), sticking + (loaded & ~slips).sum()
        mutual += (slips & (d.contact_geom[:n, 0] < m.ngeommoving)).sum()
        assert size[slips] == pytest.approx(MU * pressing[slips], rel=1e-6, abs=1e-6 * most)
        against = np.einsum("ci,ci->c", u[slips], rubbing[slips]) / (speed * size)[slips]
        # friction opposes the velocity u, which is that at mid-step
        assert against == pytest.approx(-1.0, abs=0.01)
    assert d.nunsolved == 0
    assert min(slipping, sticking, mutual) > 20


def velocities(m, d, normal):
    """Return the tangential (n, 3) and normal (n) velocities of geom2 relative to geom1."""
    n = d.ncon
    there = np.zeros((n, 3))
    for side, sign in ((1, 1.0), (0, -1.0)):
        bodies = m.geom_bodyid[d.contact_geom[:n, side]]
        for c, body in enumerate(bodies):
            if body > 0:
                k = m.body_dofadr[body]
                q, v = d.qpos[m.jnt_qposadr[body - 1] :], d.qvel[k : k + 6]
                R = Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
                arm = d.contact_pos[c] - d.xpos[body]
                there[c] += sign * (v[:3] + np.cross(R @ v[3:], arm))
    away = np.einsum("ci,ci->c", there, normal)
    return there - away[:, None] * normal, away


def test_each_island_is_solved_by_itself():
    """Two heaps far apart need about as many passes as the slower one, and end as each alone."""
    box = rb.Box((0.2, 0.2, 0.2))
    alone, passes = [], np.zeros((3, 300), int)
    for n, shift in enumerate((0.0, 100.0)):
        m, d = thrown(heap(places(6 + n, shift), box, f"{shift:g}-"))
        passes[n] = run(m, d)
        alone.append(d.qpos.copy())
    m = rb.scene(objects=[*heap(places(6), box, "a"), *heap(places(7, 100.0), box, "b")])
    d = rb.make_data(m)
    rng = np.random.default_rng(8).uniform(-1.0, 1.0, 42)
    d.qvel[:] = np.concatenate([rng[:36], rng])
    passes[2] = run(m, d)
    assert d.nunsolved == 0
    assert passes[2].sum() < 1.2 * passes[:2].max(axis=0).sum()
    together = np.split(d.qpos, [6 * 7])
    for end, both in zip(alone, together, strict=True):
        assert both[:3] == pytest.approx(end[:3], abs=1e-3)


def run(m, d):
    passes = []
    for _ in range(300):
        rb.step(m, d)
        passes.append(int(d.solver_niter))
    return passes


def test_an_island_whose_step_is_not_finite_stays_where_it_is():
    """The NaN of one island does not stop the other island; only the first island gives up."""
    objects = [*heap(places(2), rb.Sphere(0.1), "a"), *heap(places(2, 9.0), rb.Sphere(0.1), "b")]
    m, d = thrown(objects)
    d.qpos[2::7] = 0.0999  # all balls are in the floor
    rb.forward(m, d)
    assert d.newton_passes[0] > 0
    bad = m.body_rootid == 1
    d.island_works[:] = WORKS
    d.row_works[:] = 1
    d.iterate_a[:] = 1.0
    d.iterate_qacc[:] = 1.0
    d.iterate_a[bad] = d.iterate_qacc[:6] = np.nan
    before = d.qacc_step.copy()
    newton._search(m, d)
    newton._move(m, d)
    assert d.island_works[1] == GIVEN_UP
    assert d.island_works[2] == SEARCHED
    assert (d.qacc_step[:6] == before[:6]).all()
    assert (d.qacc_step[6:12] != before[6:12]).any()
    mine = d.contact_body[: d.ncon, 1] == 1
    assert np.isfinite(d.contact_change[: d.ncon][mine]).all()
    assert mark_islands(m, d, 0.0)[1] < 4
    assert d.island_works[1] == GIVEN_UP


def star():
    """Return four balls that touch a fifth ball between them, and no other ball."""
    sides = [(0.21, 0.0), (-0.21, 0.0), (0.0, 0.21), (0.0, -0.21), (0.0, 0.0)]
    m, d = thrown(heap([((x, y, 0.1), (0.0, 0.0, 0.0)) for x, y in sides], rb.Sphere(0.1)))
    d.qpos.reshape(5, 7)[:, :2] *= 0.1999 / 0.21  # they are 0.1 mm deep in the fifth ball
    rb.forward(m, d)
    return m, d


def test_trees_with_few_neighbours_are_eliminated_first():
    m, d = star()
    order_trees(m, d)
    rows = d.skyline_row.reshape(5, 6)
    assert (np.diff(rows, axis=1) == 1).all()
    assert sorted(rows[:, 0]) == list(range(0, 30, 6))
    assert rows[4, 0] == 6  # when three outer balls are eliminated, a pair is left


def test_the_order_of_trees_changes_no_solution():
    m, d = star()
    found = []
    for reorders in (0, 1):
        d.reorders[0] = reorders
        d.solver_niter = 0
        accelerate_coupled_bodies(m, d)
        found.append((d.qacc_step.copy(), d.skyline_row.copy()))
    (natural, rows), (ordered, others) = found
    assert (rows != others).any()
    assert ordered == pytest.approx(natural, abs=1e-9 * abs(natural).max())

# SPDX-License-Identifier: Apache-2.0
"""Newton's method solves for velocities and contact forces together, island by island."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.solve import newton
from rbdyn_ros.engine.contact.solve.augmented import grip_slopes, gripped, positive_part
from rbdyn_ros.engine.contact.solve.coupled_bodies import accelerate_coupled_bodies
from rbdyn_ros.engine.contact.solve.islands import GIVEN_UP, SEARCHED, WORKS, mark_islands
from rbdyn_ros.engine.contact.solve.tree_order import order_trees

H, MU = 0.001, 0.6


def heap(places, shape, names=""):
    """Return objects of 1 kg with one shape, at `places`, pairs of position and orientation."""
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


def test_tumbling_cubes_need_few_solver_iterations():
    """A solver with lagged forces needed 10 iterations per step."""
    m, d = thrown(heap(places(10), rb.Box((0.2, 0.2, 0.2))))
    passes = []
    for _ in range(800):
        rb.step(m, d)
        passes.append(d.solver_niter)
    assert d.nunsolved == 0
    assert np.mean(passes) < 6.0


def test_light_balls_under_a_heavy_lid_need_few_solver_iterations():
    """With one penalty r = 10 m / h for all contacts the solver needed 10 iterations per step."""
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


def test_forces_in_a_falling_heap_satisfy_the_contact_law():
    """Balls touch at single points, so each point satisfies Coulomb's law by itself."""
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
            continue  # contacts that begin within the step
        u, away = velocities(m, d, normal)
        loaded = pressing > 1e-3 * most
        assert (away[loaded] < 0.31).all()  # overlapping bodies separate at 0.3 m/s at most
        speed = np.linalg.norm(u, axis=1)
        remembered = np.linalg.norm(d.contact_memory[:n], axis=1)
        yields = H / 10.0 * (MU * pressing + remembered)  # sticking points move at f / D
        slips = loaded & (speed > 0.02 + 2.0 * yields)
        slipping, sticking = slipping + slips.sum(), sticking + (loaded & ~slips).sum()
        mutual += (slips & (d.contact_geom[:n, 0] < m.ngeommoving)).sum()
        assert size[slips] == pytest.approx(MU * pressing[slips], rel=1e-6, abs=1e-6 * most)
        against = np.einsum("ci,ci->c", u[slips], rubbing[slips]) / (speed * size)[slips]
        # friction opposes u, the velocity at mid-step
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


def test_each_island_is_solved_separately():
    """Two distant heaps need as many iterations as the slower heap, and move as if alone."""
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


def test_a_contact_that_begins_in_a_step_does_not_affect_other_islands():
    """Away from a heap, a ball hits a second ball, which then hits a third ball or misses it."""
    row = [((50.0 + x, 0.0, 0.1), (0.0, 0.0, 0.0)) for x in (0.0, 0.201, 0.4015)]
    box, ball = rb.Box((0.2, 0.2, 0.2)), rb.Sphere(0.1)
    m = rb.scene(objects=[*heap(places(10), box), *heap(row, ball, "ball")])
    d = rb.make_data(m)
    d.qvel[:60] = np.random.default_rng(8).uniform(-1.0, 1.0, 60)
    rb.step(m, d, 250)
    d.qvel[60] = 2.0
    ends = []
    for shift in (0.0, 1.0):
        end = d.copy()
        end.qpos[84] += shift
        rb.step(m, end)
        ends.append(end)
    assert ends[0].qvel[72] > 0.1 > abs(ends[1].qvel[72])
    assert ends[1].solver_niter > 1  # the heap needs Newton's method
    assert ends[0].qvel[:60].tobytes() == ends[1].qvel[:60].tobytes()


def test_a_contact_that_is_dropped_within_a_step_leaves_no_force():
    """A ball bounces off a cube, and then the cube meets another ball in the same step.

    The bouncing contact is left to the next step, so its impulse must be removed, too: each
    body's momentum changes by the reported contact force.
    """
    shapes = rb.Sphere(0.067), rb.Box((0.079, 0.079, 0.079)), rb.Sphere(0.068)
    masses = np.array([3.6, 0.56, 5.8])
    places = np.array([
        [0.04, 0.06, 0.357, 0.883, -0.115, 0.414, -0.191],
        [0.077, 0.209, 0.366, 0.818, -0.263, -0.448, 0.249],
        [0.061, 0.209, 0.517, 0.22, -0.695, 0.224, 0.647],
    ])  # fmt: skip
    objects = [
        rb.Object(
            name,
            shape,
            mass=mass,
            pose=rb.pose((k, 0.0, 5.0)),
            surface=rb.Surface(friction=1.0, restitution=0.5 if k == 0 else 0.0),
        )
        for k, (name, shape, mass) in enumerate(zip("abc", shapes, masses, strict=True))
    ]
    m = rb.scene(objects=objects, floor=False)
    m.opt.timestep, m.opt.gravity = 0.01, (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    places[:, 3:] /= np.linalg.norm(places[:, 3:], axis=1, keepdims=True)
    d.qpos[:] = places.ravel()
    v = d.qvel.reshape(3, 6)[:, :3]
    v[:] = [[-0.691, 2.084, 1.783], [2.642, -2.269, 1.884], [1.694, -1.43, -2.049]]
    before = v.copy()
    rb.step(m, d)
    assert d.nunsolved == 0
    impulses = masses[:, None] * (v - before)
    assert np.abs(impulses).max() > 1.0
    np.testing.assert_allclose(impulses, 0.01 * d.cfrc_contact[1:, 3:], rtol=0.0, atol=1e-9)


def run(m, d):
    passes = []
    for _ in range(300):
        rb.step(m, d)
        passes.append(int(d.solver_niter))
    return passes


def test_an_island_with_nan_is_given_up_and_keeps_its_accelerations():
    """The solver gives up only the island with NaN, and continues with the other one."""
    objects = [*heap(places(2), rb.Sphere(0.1), "a"), *heap(places(2, 9.0), rb.Sphere(0.1), "b")]
    m, d = thrown(objects)
    d.qpos[2::7] = 0.0999  # all balls are 0.1 mm deep in the floor
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
    """Return the Model and Data of four balls, each of which touches only a fifth ball."""
    sides = [(0.21, 0.0), (-0.21, 0.0), (0.0, 0.21), (0.0, -0.21), (0.0, 0.0)]
    m, d = thrown(heap([((x, y, 0.1), (0.0, 0.0, 0.0)) for x, y in sides], rb.Sphere(0.1)))
    d.qpos.reshape(5, 7)[:, :2] *= 0.1999 / 0.21  # all overlap the fifth ball by 0.1 mm
    rb.forward(m, d)
    return m, d


def test_trees_with_few_neighbours_are_eliminated_first():
    m, d = star()
    order_trees(m, d)
    rows = d.skyline_row.reshape(5, 6)
    assert (np.diff(rows, axis=1) == 1).all()
    assert sorted(rows[:, 0]) == list(range(0, 30, 6))
    assert rows[4, 0] == 6  # the fifth ball comes after three of the others


def test_the_order_of_elimination_does_not_change_the_solution():
    m, d = star()
    d.solver_niter = 0
    accelerate_coupled_bodies(m, d)
    ordered, rows = d.qacc_step.copy(), d.skyline_row.copy()
    assert d.ordered[0] == 1  # the trees were reordered
    d.skyline_row[:] = np.arange(30)
    assert (d.skyline_row != rows).any()
    d.solver_niter = 0
    accelerate_coupled_bodies(m, d)
    assert ordered == pytest.approx(d.qacc_step, abs=1e-9 * abs(ordered).max())


PENDULUM = """<robot name="far"><link name="world"/><link name="bob"><inertial>
<origin xyz="0 0 -0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="hinge" type="continuous"><parent link="world"/>
<child link="bob"/><origin xyz="50 0 5"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.mark.parametrize("damping", [0.0, 2.0])
@pytest.mark.parametrize("integrator", ["euler", "implicit_damping"])
def test_solving_by_blocks_and_by_dofs_gives_the_same_motion(damping, integrator):
    """A distant pendulum makes the solver use rows of dofs instead of blocks of free bodies."""
    rng = np.random.default_rng(11)
    at = [((0.05 * n, 0.03 * n, 0.2 + 0.3 * n), rng.uniform(-0.5, 0.5, 3)) for n in range(6)]
    objects = heap(at[::2], rb.Box((0.2, 0.15, 0.1)), "box") + heap(at[1::2], rb.Sphere(0.1))
    free, mixed = rb.scene(objects=objects), rb.scene(PENDULUM, objects=objects)
    same = np.array([mixed.jnt_dofadr[mixed.jnt_id(name)] for name in free.jnt_names])
    dofs = (same[:, None] + np.arange(6)).ravel()
    n = free.nv // 6
    passes = []
    for _ in range(8):
        found = []
        qpos, qvel = free.qpos0.copy(), rng.normal(size=free.nv)
        qpos.reshape(n, 7)[:, 2] = 0.5 * qpos.reshape(n, 7)[:, 2] + 0.02
        force = rng.normal(size=free.nv)
        for plain, k in ((free, np.arange(free.nv)), (mixed, dofs)):
            m = plain.replaced(dof_damping=np.full(plain.nv, damping))
            m.opt.integrator = integrator
            d = rb.make_data(m)
            q = np.concatenate([m.jnt_qposadr[j] + np.arange(7) for j in m.dof_jntid[k[::6]]])
            d.qpos[q], d.qvel[k], d.qfrc_applied[k] = qpos, qvel, force
            rb.forward(m, d)
            assert d.nmutual > 2
            passes.append(int(d.newton_passes[0]))
            found.append(d.qacc[k])
        by_blocks, by_rows = found
        # both solvers stop when forces meet the contact law to 5e-7 of the largest force
        assert by_blocks == pytest.approx(by_rows, abs=1e-7 * abs(by_rows).max())
    assert passes[::2] == passes[1::2]
    assert max(passes) > 1


def test_the_rounded_positive_part_approximates_the_exact_function():
    """The error of max(0, x) is e at 0, and e^2 / |x| far away; the derivative is exact."""
    for x in (-3.0, -0.2, 0.0, 0.2, 3.0):
        part, slope = positive_part(x, 0.1)
        more, less = positive_part(x + 1e-6, 0.1)[0], positive_part(x - 1e-6, 0.1)[0]
        assert part == pytest.approx(0.5 * (x + np.hypot(x, 0.2)), rel=1e-12)
        assert slope == pytest.approx((more - less) / 2e-6, rel=1e-8)
        assert positive_part(x, 0.0)[0] == max(x, 0.0)


@pytest.mark.parametrize("e", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("size", [0.5, 3.0])
def test_derivatives_of_friction_agree_with_finite_differences(e, size):
    """f = gripped(u, f) is solved before and after small changes of slip u and pressing force."""
    _m, d = star()
    c, pressing, step = d.ncon - 1, 10.0, 1e-6
    normal = d.contact_normal[c]
    across = np.linalg.svd(normal[None])[2][1:]  # two tangents of the contact
    penalty = d.contact_grip[c, 0]
    d.contact_memory[c] = 0.0

    def solved(u, pressing):
        f = np.zeros(3)
        for _ in range(3000):
            f = np.array(gripped(d, c, tuple(u), tuple(f), pressing, e))
        return f

    u = size * MU * pressing / penalty * across[0]
    f = solved(u, pressing)
    a, k, t, rate, force = grip_slopes(d, c, tuple(u), tuple(f), pressing, e)
    t = np.array(t)
    assert f @ t == pytest.approx(force, rel=1e-9)
    for du, dp in ((across[0], 0.0), (across[1], 0.0), (np.zeros(3), 1.0)):
        change = (solved(u + step * du / penalty, pressing + step * dp) - f) / step
        along = (rate * dp - k * (t @ du) / penalty) * t
        expected = along - a / penalty * (du - t * (t @ du))
        assert change == pytest.approx(expected, abs=2e-6)


def cup_of_balls(number):
    """Return the Model and Data of `number` balls above a cup, which can turn about its centre."""
    wall, side = 0.01, 0.12
    system = rb.SystemBuilder("cup", base="world")
    system.body("cup", rb.shapes.box((side, side, side), mass=2.0))
    system.joint("tilt", "continuous", "world", "cup", axis=(0.0, 1.0, 0.0), damping=1.0)
    for n, away in enumerate(np.vstack([np.eye(3)[:2], -np.eye(3)])):
        size = tuple(np.where(away != 0.0, wall, side + 2.0 * wall))
        place = rb.pose(tuple(0.5 * (side + wall) * away))
        system.geometry(f"wall{n}", "cup", rb.Box(size), origin=place)
    rng, qpos = np.random.default_rng(0), [0.0]
    for n in range(number):
        system.body(f"b{n}", rb.shapes.sphere(0.014, mass=0.02))
        system.joint(f"j{n}", "floating", "world", f"b{n}")
        system.geometry(f"g{n}", f"b{n}", rb.Sphere(0.014))
        place = np.array([n % 4 - 1.5, n // 4 % 4 - 1.5, n // 16 - 1.3])
        qpos += [*(0.03 * place + rng.uniform(-1e-3, 1e-3, 3)), 1.0, 0.0, 0.0, 0.0]
    m = rb.build(system)
    d = rb.make_data(m)
    d.qpos[:] = qpos
    return m, d


def test_balls_that_fall_into_a_cup_need_few_solver_iterations():
    """Without rounding off the contact law a step needed 25 iterations, and 4 steps failed."""
    m, d = cup_of_balls(36)
    passes = []
    for _ in range(400):
        rb.step(m, d)
        passes.append(d.solver_niter)
    assert d.nunsolved == 0
    assert np.mean(passes) < 18.0

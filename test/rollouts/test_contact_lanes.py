# SPDX-License-Identifier: Apache-2.0
"""Contact in vector lanes: a Batch moves robots with spherical feet as rb.step does."""

import functools
import re
import tracemalloc

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.rollouts.contact import check, newton, places

#: Allowed error of the forces in a step, as a share of the largest force. The engine's solver
#: stops at an error of 5e-7, and errors of contacts, dry friction and limits add up in a joint.
SAME = 2e-5

#: After this many iterations the engine softens contacts, so its step has another contact law.
SOFTER = 60

SIGNS = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
STAND = np.array([0.0, 0.8, -1.5])


def go2(obstacles=None, **more):
    """Return the Model of a Go2 with spheres as feet; `more` replaces fields."""
    path = find("go2.urdf")
    foot = r'<mesh filename="[^"]*foot_convex.stl" />'
    text, number = re.subn(foot, '<sphere radius="0.022"/>', path.read_text())
    assert number == 4
    around = {} if obstacles is None else {"obstacles": obstacles}
    contact = rb.Contact(self_collision=False, **around)
    folders = [path.parents[3]]
    m = rb.load_urdf(text, floating_base=True, strict=False, contact=contact, package_dirs=folders)
    damping = np.where(np.arange(m.nv) < 6, 0.0, 1.5)
    return m.replaced(dof_damping=damping, **more)


def legs(m):
    """Return the dofs (4, 3) of the legs."""
    names = ("{}_hip_joint", "{}_thigh_joint", "{}_calf_joint")
    return np.array([[m.jnt_dofadr[m.jnt_id(n.format(leg))] for n in names] for leg in SIGNS])


def standing(m, height=0.0):
    qpos = m.qpos0.copy()
    qpos[legs(m) + 1] = STAND
    qpos[2] = 0.33 + height
    return qpos


def trotting(m, qpos, t, phase):
    """Return the forces (n, nv) at time t of springs that swing diagonal legs in turn."""
    found = np.zeros((len(qpos), m.nv))
    for dofs, shift in zip(legs(m), SIGNS.values(), strict=True):
        turn = 2.0 * np.pi * (2.0 * t + phase + shift)
        swing = 0.6 * np.maximum(np.sin(turn), 0.0)
        wanted = STAND + np.stack([0.0 * turn, 0.15 * np.cos(turn), 0.0 * turn], axis=1)
        wanted += swing[:, None] * np.array([0.0, 0.5, -1.0])
        found[:, dofs] = 60.0 * (wanted - qpos[:, dofs + 1])
    return found


def finger(mass=1.0, plane=None, friction=0.8, **joints):
    """Return the Model of a sphere at the end of two links, above a plane."""
    system = rb.SystemBuilder("finger", base="world")
    system.obstacle("plane", rb.Plane(), origin=plane or rb.pose(), friction=friction)
    system.body("link", rb.shapes.capsule(0.02, 0.4, mass=mass))
    system.body("tip", rb.shapes.sphere(0.05, mass=mass))
    axis = {"axis": (0.0, 1.0, 0.0)}
    system.joint("lift", "prismatic", "world", "link", axis=(0.0, 0.0, 1.0), limit=(-1.0, 1.0))
    system.joint("swing", "revolute", "link", "tip", limit=(-1.0, 1.0), damping=0.01, **axis)
    system.geometry("ball", "tip", rb.Sphere(0.05), origin=rb.pose((0.1, 0.0, 0.0)))
    m = rb.build(system)
    return m.replaced(**joints) if joints else m


def one_step_errors(b):
    """Step a Batch, and each robot by rb.step; return the errors as shares of the largest force.

    Robots for which the engine softened contacts are left out.
    """
    datas = [b.get_data(k) for k in range(b.nsim)]
    for d in datas:
        rb.step(b.model, d)
    start = [b.get_data(k) for k in range(b.nsim)]
    b.step()
    found = []
    for k, (d, before) in enumerate(zip(datas, start, strict=True)):
        if d.solver_niter < SOFTER:
            change = rb.mass_matrix(b.model, before) @ (b.qvel[k] - d.qvel)
            largest = max(1.0, np.abs(d.contact_force).max(initial=0), np.abs(d.stick_qfrc).max())
            found.append(np.abs(change).max() / b.model.opt.timestep / largest)
    return np.array(found)


def by_engine(b):
    """Return, for each robot, whether the engine computed its last step."""
    return b._device.friction.grip[-1] != 0.0


@functools.cache
def shared():
    return go2()


def batch(m, nsim, seed=0, **more):
    b, rng = rb.Batch(m, nsim, **more), np.random.default_rng(seed)
    b.qpos[:] = standing(m)
    b.qpos[:, 2] += rng.uniform(0.0, 0.03, nsim)
    b.qvel[:] = rng.normal(0.0, 0.2, b.qvel.shape)
    return b, rng.uniform(0.0, 1.0, nsim)


@needs_robots
def test_a_hundred_trotting_robots_step_as_in_the_engine():
    m = shared()
    b, phase = batch(m, 100)
    assert b.specialized
    errors, engine = [], 0
    for n in range(400):
        if n % 4 == 0:
            b.qfrc_applied[:] = trotting(m, b.qpos, 0.001 * n, phase)
        if n % 80 == 50:
            errors.append(one_step_errors(b))
        else:
            b.step()
        engine += by_engine(b).sum()
    found = np.concatenate(errors)
    assert found.max() < SAME
    assert np.median(found) < 1e-9
    assert 0 < engine < 0.05 * 400 * 100
    assert not b.diverged.any()
    assert b.nunsolved.sum() < 3  # in 40,000 steps; the engine alone has about as many
    assert b.ndropped.sum() == 0
    assert (b.qpos[:, 2] > 0.2).all()


@needs_robots
def test_a_standing_robot_sways_as_in_the_engine():
    m = shared()
    b = rb.Batch(m, 3)
    b.qpos[:] = standing(m)
    d = b.get_data(0)
    for n in range(1500):
        if n % 4 == 0:
            hold = np.zeros((3, m.nv))
            hold[:, legs(m)] = 60.0 * (STAND - b.qpos[:, legs(m) + 1])
            b.qfrc_applied[:] = hold
            d.qfrc_applied[legs(m)] = 60.0 * (STAND - d.qpos[legs(m) + 1])
        b.step()
        rb.step(m, d)
    np.testing.assert_allclose(b.qpos[0], d.qpos, rtol=0, atol=1e-7)
    np.testing.assert_allclose(b.qvel[0], d.qvel, rtol=0, atol=1e-7)
    weight = 9.81 * m.body_mass.sum()
    assert abs(b.get_data(0).stick_normal[:4].sum() - weight) < 0.05 * weight


@needs_robots
@pytest.mark.parametrize("integrator", ["euler", "implicit_damping"])
def test_joints_with_friction_step_in_lanes_as_in_the_engine(integrator):
    m = go2(dof_frictionloss=np.where(np.arange(18) < 6, 0.0, 0.5))
    m.opt.integrator = integrator
    b, phase = batch(m, 32)
    still = 0
    for n in range(300):
        if n % 4 == 0:
            b.qfrc_applied[:] = trotting(m, b.qpos, 0.001 * n, phase)
        if n % 3 == 0:
            assert one_step_errors(b).max(initial=0.0) < SAME
        else:
            b.step()
        still += (b.qvel[:, 6:] == 0.0).sum()
    assert still > 100


@needs_robots
def test_a_foot_with_two_solutions_of_coulombs_law_has_the_solution_of_the_engine():
    """If the inverse inertia G has 0.8 |G_tn| > G_nn, the leg can stand, or it can lift off.

    In the engine the friction of the last step keeps a foot on the ground during the search for
    its normal force. Lanes without this friction lifted two of the feet.
    """
    path = find("anymal_c_simple_description/urdf/anymal.urdf")
    contact = rb.Contact(self_collision=False)
    more = {"strict": False, "package_dirs": [path.parents[3], path.parents[2]]}
    m = rb.load_urdf(path.read_text(), floating_base=True, contact=contact, **more)
    m = m.replaced(dof_damping=np.where(np.arange(m.nv) < 6, 0.0, 1.0))
    b, rng = rb.Batch(m, 16), np.random.default_rng(3)
    assert b.specialized
    for leg, sign in (("LF", 1.0), ("RF", 1.0), ("LH", -1.0), ("RH", -1.0)):
        for name, angle in (("HFE", 0.4), ("KFE", -0.8)):
            b.qpos[:, m.jnt_dofadr[m.jnt_id(f"{leg}_{name}")] + 1] = sign * angle
    stand = b.qpos[0, 7:].copy()
    b.qpos[:, 2] = 0.55813453 + rng.uniform(-0.001, 0.03, 16)
    b.qvel[:] = rng.normal(0.0, 0.6, b.qvel.shape)
    for n in range(60):
        turn = np.arange(16)[:, None]
        if n % 4 == 0:
            b.qfrc_applied[:, 6:] = 200.0 * (stand - b.qpos[:, 7:]) + 9.0 * np.sin(0.05 * n + turn)
            b.qfrc_applied[:, :3] = 90.0 * np.sin(0.02 * n + turn)
        assert one_step_errors(b).max() < SAME


def hopping(seed, number=8):
    """Return a Batch of one-legged robots, and a function that returns their forces in a step."""
    rng = np.random.default_rng(seed)
    system = rb.SystemBuilder("hopper", base="world").floor(friction=1.5)
    system.body("trunk", rb.shapes.box((0.3, 0.2, 0.1), mass=rng.uniform(1.0, 6.0)))
    system.joint("free", "floating", "world", "trunk")
    parts = rng.uniform(0.15, 0.4, 2)
    for name, part, most in (("thigh", parts[0], 1.0), ("shank", parts[1], 0.5)):
        mass = rng.uniform(0.1 * most, most)
        system.body(name, rb.shapes.capsule(0.02, part, mass=mass))
    hip, knee = rb.pose((rng.uniform(-0.1, 0.1), 0.0, -0.05)), rb.pose((0.0, 0.0, -parts[0]))
    more = {"axis": (0.0, 1.0, 0.0), "damping": 0.5}
    system.joint("hip", "revolute", "trunk", "thigh", limit=(-2.0, 2.0), origin=hip, **more)
    system.joint("knee", "revolute", "thigh", "shank", limit=(-2.5, 0.0), origin=knee, **more)
    system.geometry("foot", "shank", rb.Sphere(0.03), origin=rb.pose((0.0, 0.0, -parts[1])))
    m, rng = rb.build(system), np.random.default_rng(100 + seed)
    b = rb.Batch(m.replaced(geom_friction=np.full(m.ngeom, 1.5)), number)
    bent = np.stack([rng.uniform(0.2, 1.0, number), rng.uniform(-2.0, -0.3, number)], axis=1)
    b.qpos[:, 7:] = bent
    b.qpos[:, 2] = parts[0] * np.cos(bent[:, 0]) + parts[1] * np.cos(bent.sum(axis=1)) + 0.08
    b.qpos[:, 2] += rng.uniform(0.0, 0.05, number)
    b.qvel[:] = rng.normal(0.0, 0.3, b.qvel.shape)
    b.qvel[:, 0] += rng.normal(0.0, 2.0, number)
    b.qvel[:, 2] -= abs(rng.normal(0.0, 2.0, number))

    def forces(n):
        found = np.zeros(b.qvel.shape)
        found[:, 3:6] = -80.0 * b.qpos[:, 4:7] - 2.0 * b.qvel[:, 3:6]
        found[:, 6:] = 80.0 * (bent - b.qpos[:, 7:])
        found[:, 6] += 20.0 * np.sin(0.1 * n + np.arange(number))
        return found

    return b, forces


def hopped(seed, steps):
    """Return the largest error of a step, and the share of steps that the engine computed."""
    b, forces = hopping(seed)
    worst, engine = 0.0, 0.0
    for n in range(steps):
        b.qfrc_applied[:] = forces(n)
        worst = max(worst, one_step_errors(b).max(initial=0.0))
        engine += by_engine(b).mean() / steps
    return worst, engine


@pytest.mark.parametrize("seed", [4, 5])
def test_a_leg_that_can_jam_steps_as_in_the_engine(seed):
    """In some steps Coulomb's law has two solutions: the foot sticks, or it slips."""
    worst, engine = hopped(seed, 300)
    assert worst < SAME
    assert engine < 0.1


def test_jams_that_lanes_do_not_detect_fail_the_comparison(monkeypatch):
    monkeypatch.setattr(check, "_jams", lambda shelf, graph, pairs: graph.constant(0.0))  # noqa: ARG005
    assert hopped(4, 300)[0] > 0.1


@needs_robots
def test_a_falling_robot_uses_the_engine_when_its_body_touches_the_floor():
    m = shared()
    b, _ = batch(m, 8)
    taken = np.zeros(8, bool)
    for n in range(600):
        if n % 20 == 0:
            assert one_step_errors(b).max(initial=0.0) < SAME
        b.step()
        taken |= by_engine(b)
    assert taken.all()
    assert all(b.get_data(k).nstick > 0 for k in range(8))


@needs_robots
def test_the_bits_of_a_robot_do_not_depend_on_other_robots_or_threads():
    m, found = shared(), []
    for nsim, nthread, first in ((24, 1, 0), (24, 3, 0), (11, 1, 5), (1, 2, 7)):
        whole, phase = batch(m, 24)
        b = rb.Batch(m, nsim, nthread)
        part = slice(first, first + nsim)
        b.qpos[:], b.qvel[:] = whole.qpos[part], whole.qvel[part]
        for n in range(200):
            b.qfrc_applied[:] = trotting(m, b.qpos, 0.001 * n, phase[part])
            b.step()
        k = 7 - first
        found.append((b.qpos[k].tobytes(), b.qvel[k].tobytes(), bytes(b.get_data(k).stick_force)))
    assert len(set(found)) == 1


def no_numbers(A, right, order):
    """Return NaN for each unknown, as for a singular matrix."""
    zero = right[0] * 1e-300 * 1e-300
    return np.array([zero / zero for _ in right], object)


@pytest.mark.parametrize(
    ("name", "wrong"), [("TOLERANCE", np.nan), ("_solved", no_numbers)], ids=["slow", "singular"]
)
def test_lanes_that_do_not_converge_have_the_bits_of_the_engine(monkeypatch, name, wrong):
    monkeypatch.setattr(newton, name, wrong)
    m = finger()
    b = rb.Batch(m, 5)
    b.qpos[:, 0] = np.linspace(0.0, 0.06, 5)
    assert b.specialized
    datas = [b.get_data(k) for k in range(5)]
    for _ in range(300):
        b.step()
        assert by_engine(b).all()
        for d in datas:
            rb.step(m, d)
    for k, d in enumerate(datas):
        assert d.ncon == 1
        assert d.qpos.tobytes() == b.qpos[k].tobytes()
        assert d.qvel.tobytes() == b.qvel[k].tobytes()


def slanted():
    """Return the Model of the finger on a slope that is too smooth to jam it."""
    return finger(plane=rb.pose((0.0, 0.0, 0.0), rpy=(0.2, 0.3, 0.4)), friction=0.3)


@pytest.mark.parametrize("number", [6, pytest.param(16, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("make", [finger, slanted])
def test_a_fingertip_that_lifts_off_steps_as_in_the_engine(make, number):
    m = make()
    b = rb.Batch(m, number)
    b.qpos[:, 0] = np.linspace(0.02, 0.2, number)
    touched = np.zeros(number, int)
    for n in range(500):
        b.qfrc_applied[:, 0] = 40.0 * np.sin(0.02 * n + np.arange(number))
        b.qfrc_applied[:, 1] = 0.5 * np.sin(0.05 * n)
        assert one_step_errors(b).max() < SAME
        now = np.array([b.get_data(k).nstick for k in range(number)])
        touched += now > 0
    assert (touched > 30).all()
    assert (touched < 470).all()
    assert not by_engine(b).any()


def hopper(mass):
    """Return the Model of a ball on a vertical slide above a floor."""
    system = rb.SystemBuilder("hopper", base="world").floor()
    system.body("ball", rb.shapes.sphere(0.05, mass=mass))
    system.joint("slide", "prismatic", "world", "ball", axis=(0.0, 0.0, 1.0))
    system.geometry("skin", "ball", rb.Sphere(0.05))
    return rb.build(system)


def test_the_acceleration_of_any_geometry_starts_a_search_for_late_contacts():
    """If any geometry accelerates much, the engine searches for contacts that begin in the step.

    The second ball falls onto the floor within the step, by gravity alone.
    """
    system = rb.SystemBuilder("slides", base="world").floor()
    for name, touches in (("rests", 1), ("falls", 1), ("pushed", 0)):
        system.body(name, rb.shapes.sphere(0.05, mass=1.0))
        system.joint(f"{name}_slide", "prismatic", "world", name, axis=(0.0, 0.0, 1.0))
        only_the_floor = rb.Filter(contype=touches, conaffinity=0)
        system.geometry(f"{name}_skin", name, rb.Sphere(0.05), filter=only_the_floor)
    m = rb.build(system)
    b = rb.Batch(m, 2)
    assert b.specialized
    b.qpos[:] = 0.05 - 1e-9, 0.05 + 25e-6, 0.2
    b.qvel[:] = 0.0, -0.02, 0.0
    b.qfrc_applied[:, 2] = 100.0
    assert one_step_errors(b).max() < SAME
    assert b.get_data(0).nstick == 2


@pytest.mark.parametrize("mass", [1e-3, 2.0, 1e3])
def test_a_ball_at_rest_carries_its_weight(mass):
    """The ball rests at the depth 2 g h^2 / 3e4: each step removes half of the depth, and the
    contact exerts 3e4 m / h newtons per m/s.
    """
    m = hopper(mass)
    b = rb.Batch(m, 2)
    b.qpos[:, 0] = 0.06
    b.step(nstep=2000)
    assert (np.abs(b.qvel) < 1e-14).all()
    assert abs(b.get_data(1).stick_normal[0] - 9.81 * mass) < 1e-6 * mass
    depth = 2.0 * 9.81e-6 / 3e4 * mass / m.geom_mass0[0]
    assert abs(0.05 - b.qpos[1, 0] - depth) < 1e-14


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (newton, "_linear_force", lambda f: lambda line, way: [-x for x in f(line, way)]),
        (places, "follow_arcs", lambda _: lambda m, d: None),  # noqa: ARG005
        (check, "LATE_LISTS", lambda _: 0),
    ],
)
@needs_robots
def test_a_wrong_contact_law_fails_the_comparison(monkeypatch, module, name, wrong):
    """This shows that the tests above would detect a wrong law."""
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    m = go2()
    b, phase = batch(m, 16)
    worst = 0.0
    for n in range(200):
        b.qfrc_applied[:] = trotting(m, b.qpos, 0.001 * n, phase)
        worst = max(worst, one_step_errors(b).max(initial=0.0))
        if worst > 10.0 * SAME:
            break
    assert worst > 10.0 * SAME or by_engine(b).all()


def test_fields_that_are_bound_later_change_no_bits():
    m = finger()
    one, two = rb.Batch(m, 9), rb.Batch(m, 9)
    for b in (one, two):
        b.qpos[:, 0] = np.linspace(0.05, 0.1, 9)
        b.step(nstep=400)
    two.bind("xpos")
    for b in (one, two):
        b.qfrc_applied[:, 1] = 0.2
        b.step(nstep=50)
    assert one.qpos.tobytes() == two.qpos.tobytes()
    d = rb.make_data(m)
    d.qpos[:] = two.qpos[3]
    rb.kinematics(m, d)
    np.testing.assert_allclose(two.xpos[3], d.xpos, rtol=0, atol=1e-14)


def test_a_robot_with_its_own_mass_and_gravity_moves_like_its_own_model():
    m = finger()
    b = rb.Batch(m, 8)
    b.qpos[:, 0] = 0.06
    scale = np.linspace(0.8, 1.5, 8)
    b.expand("body_mass")[:] *= scale[:, None]
    b.expand("gravity")[:, 2] = -9.0
    b.step(nstep=500)
    assert b.specialized
    for k in (0, 7):
        other = m.replaced(body_mass=m.body_mass * scale[k])
        other.opt.gravity = (0.0, 0.0, -9.0)
        d = rb.make_data(other)
        d.qpos[0] = 0.06
        rb.step(other, d, 500)
        np.testing.assert_allclose(b.qpos[k], d.qpos, rtol=0, atol=1e-7)


def test_a_rollout_has_the_bits_of_a_batch():
    m = finger()
    qpos = np.tile(m.qpos0, (11, 1))
    qpos[:, 0] = np.linspace(0.04, 0.12, 11)
    force = np.array([0.0, 0.1])
    for _ in range(2):  # the second step uses the memory of the first
        r = rb.rollout(m, qpos, np.zeros(m.nv), force, nstep=300, every=300, threads=2)
        b = rb.Batch(m, 11)
        b.qpos[:], b.qfrc_applied[:] = qpos, force
        b.step(nstep=300)
        assert r.qpos[:, -1].tobytes() == np.ascontiguousarray(b.qpos).tobytes()
    policy = rb.PDPolicy(50.0, 1.0)
    held = rb.rollout(m, qpos, np.zeros(m.nv), m.qpos0, nstep=300, every=300, policy=policy)
    d = rb.make_data(m)
    d.qpos[:] = qpos[4]
    for _ in range(300):
        d.qfrc_applied[:] = 50.0 * (m.qpos0 - d.qpos) - d.qvel
        rb.step(m, d)
    np.testing.assert_allclose(held.qpos[4, -1], d.qpos, rtol=0, atol=1e-6)


def test_a_diverged_robot_does_not_disturb_the_others():
    m = finger()
    b, alone = rb.Batch(m, 8), rb.Batch(m, 8)
    for each in (b, alone):
        each.qpos[:, 0] = 0.06
    b.qvel[3, 0] = np.nan
    for each in (b, alone):
        each.step(nstep=200)
    assert b.diverged.tolist() == [k == 3 for k in range(8)]
    others = [k for k in range(8) if k != 3]
    assert b.qpos[others].tobytes() == alone.qpos[others].tobytes()
    b.reset([3])
    b.step(nstep=10)
    assert not b.diverged.any()


def test_a_step_allocates_nothing():
    m = finger()
    b = rb.Batch(m, 64, 1)
    b.qpos[:, 0] = 0.05
    b.step(nstep=10)
    tracemalloc.start()
    for _ in range(50):
        b.step()
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < 20_000  # bytes; Python itself allocates less in 50 calls


def boxed():
    system = rb.SystemBuilder("box", base="world").floor()
    system.body("box", rb.shapes.box((0.2, 0.2, 0.2), mass=1.0))
    system.joint("slide", "prismatic", "world", "box", axis=(0.0, 0.0, 1.0))
    system.geometry("skin", "box", rb.Box((0.2, 0.2, 0.2)))
    return rb.build(system)


def crowded():
    system = rb.SystemBuilder("crowd", base="world").floor()
    system.body("block", rb.shapes.box((0.2, 0.2, 0.2), mass=1.0))
    system.joint("slide", "prismatic", "world", "block", axis=(0.0, 0.0, 1.0))
    for k in range(9):
        at = rb.pose((0.1 * (k // 3), 0.1 * (k % 3), -0.1))
        system.geometry(f"foot{k}", "block", rb.Sphere(0.02), origin=at)
    return rb.build(system)


def springy():
    m = finger()
    return m.replaced(geom_restitution=np.where(np.arange(m.ngeom) == 0, 0.5, 0.0))


def soft():
    m = finger()
    return m.replaced(jnt_solref=np.tile((0.05, 1.0), (m.njnt, 1)))


def implicit():
    m = finger()
    m.opt.integrator = "rk4"
    return m


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (boxed, "no sphere of it can touch a plane"),
        (
            crowded,
            "9 pairs of a sphere and an obstacle can touch, and with more than 8 the engine is",
        ),
        (springy, "contact with 'ball' runs only in the engine: its surface has restitution"),
        (implicit, "the integrator 'rk4' runs only in the engine"),
        (soft, "a joint with a soft limit runs only in the engine"),
    ],
)
def test_a_batch_reports_why_its_contacts_run_on_the_engine(make, reason):
    m = make()
    b = rb.Batch(m, 3)
    assert not b.specialized
    assert reason in repr(b)
    with refused(rb.ModelError, "not-traceable"):
        rb.Batch(m, 3, specialize=True)

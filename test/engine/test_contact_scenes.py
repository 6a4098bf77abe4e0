# SPDX-License-Identifier: Apache-2.0
"""Scenes of examples/contact_scenes.py and further scenes move as expected."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from support import contact_referee, contact_scenes, states

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.solve.solve_step import STUBBORN

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "contact_scenes.py"))
SCENES = EXAMPLE["SCENES"]
G = 9.81


def heights(d):
    return d.qpos.reshape(-1, 7)[:, 2]


@pytest.mark.parametrize(("scene", "joints"), [("card_house", 14), ("arch", 10)])
def test_a_scene_stands_for_ten_seconds(scene, joints):
    """The scene settles in a second, then all bodies rest for nine more."""
    m, d = SCENES[scene][0]()
    built = heights(d).copy()
    rb.step(m, d, 1000)
    assert heights(d) == pytest.approx(built, abs=5e-6)
    settled = d.qpos.copy()
    rb.step(m, d, 9000)
    assert len({(point.geom1, point.geom2) for point in rb.contacts(m, d)}) == joints
    assert abs(d.qvel).max() < 1e-11
    assert abs(d.qpos - settled).max() < 1e-10
    assert d.nunsolved <= 1  # at most the first step, without initial forces


@pytest.mark.parametrize("scene", ["card_house", "arch"])
def test_a_scene_without_friction_falls(scene):
    m, d = SCENES[scene][0]()
    m = m.replaced(geom_friction=np.zeros(m.ngeom))
    d = rb.make_data(m)
    start = heights(d).copy()
    rb.step(m, d, 1000)
    assert (start - heights(d)).max() > 0.5 * start.max()


def test_a_quadruped_trots_over_hills_and_stands():
    """Slightly different starts lead to different paths over the hills."""
    make, trot, seconds, _ = SCENES["quadruped"]
    for shift in (0.0, 1e-9, 1e-3):
        m, d = make()
        d.qpos[1] += shift
        start, lowest = d.qpos[0], np.inf
        for k in range(round(seconds / m.opt.timestep)):
            trot(m, d, k * m.opt.timestep)
            lowest = min(lowest, d.qpos[2])
        assert d.qpos[0] - start > 0.8
        assert lowest > 0.3  # the robot has not fallen
        assert abs(d.qvel).max() < 0.02  # joints still oscillate a little
        assert d.nunsolved < 10


@pytest.mark.parametrize("seed", [None, 22, 31])
def test_dominoes_fall_one_after_the_other(seed):
    """Each domino falls after the previous one, and in the end all dominoes rest."""
    m, d = SCENES["dominoes"][0]()
    number, tall = EXAMPLE["DOMINOES"], EXAMPLE["DOMINO"][2]
    if seed is not None:
        rng = np.random.default_rng(seed)
        d.qpos.reshape(-1, 7)[:, 0] += 1e-4 * rng.uniform(-1.0, 1.0, number)
        d.qvel[:6] *= 1.0 + 0.1 * rng.uniform(-1.0, 1.0)
    fallen, lowest, start = np.full(number, np.inf), np.inf, states.energy(m, d.copy())
    passes = softer = stubborn = 0
    for _ in range(1200):
        energy = states.energy(m, d.copy())
        rb.step(m, d, 1)
        passes += d.solver_niter
        slope, spring = d.contact_spring[: d.ncon, 1], d.contact_spring[: d.ncon, 2:4]
        softer += (slope < 1e-2 * (spring @ [m.opt.timestep, 1.0])).any()
        stubborn += d.solver_niter > STUBBORN
        fallen = np.where((heights(d) < 0.4 * tall) & np.isinf(fallen), d.time, fallen)
        # A step moves a corner along a straight line instead of a curve, so the corner ends some
        # micrometres too deep and comes out in the next steps.
        assert energy < lowest + 2e-5 * start
        lowest = min(lowest, energy)
    assert np.diff(fallen).min() > 0.0
    assert fallen[-1] < 1.0
    rb.step(m, d, 600)  # let the last dominoes come to rest
    assert abs(d.qvel).max() < 1e-8
    assert d.nunsolved <= 1
    assert passes < 8500
    assert softer <= stubborn


def test_a_dropped_stack_stays_upright():
    m, d = SCENES["stack"][0]()
    rb.step(m, d, 4000)
    size = EXAMPLE["CUBE"]
    assert heights(d) == pytest.approx(size * (np.arange(EXAMPLE["CUBES"]) + 0.5), abs=3e-5)
    assert abs(d.qvel).max() < 1e-7


def test_the_scene_grasp_lifts_the_cube():
    make, step, seconds, _ = SCENES["grasp"]
    m, d = make()
    EXAMPLE["simulate"](m, d, step, seconds)
    assert d.qpos[m.jnt_qposadr[m.jnt_id("cube")] + 2] == pytest.approx(0.555, abs=1e-3)
    assert abs(d.qvel).max() < 1e-8


SLOPE, BLOCK = np.radians(30.0), 0.1


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_block_slides_down_a_wedge_that_slides_away(mu):
    """The floor has no friction, so closed forms give the force and both accelerations.

    The contacts yield by a micrometre, which tilts the wedge by 1e-6 rad.
    """
    sine, cosine, wide, mass, block = np.sin(SLOPE), np.cos(SLOPE), 0.5, 3.0, 2.0
    corners = [(x, y, z) for x, z in ((0, 0), (1, 0), (0, np.tan(SLOPE))) for y in (-wide, wide)]
    normal = np.array([sine, 0.0, cosine])
    at = np.array([0.5, 0.0, 0.5 * np.tan(SLOPE)]) + 0.5 * BLOCK * normal
    skin, floor = rb.Surface(friction=mu), rb.Obstacle("floor", rb.Plane(), friction=0.0)
    wedge = rb.Object("wedge", rb.Points(tuple(corners)), mass=mass, surface=skin)
    cube = rb.Object(
        "cube", rb.Box((BLOCK,) * 3), mass=block, surface=skin,
        pose=rb.pose(tuple(at), rpy=(0.0, SLOPE, 0.0)),
    )  # fmt: skip
    m = rb.scene(objects=[wedge, cube], obstacles=[floor])
    d = rb.make_data(m)
    rb.step(m, d, 100)
    start, begin = d.qvel.copy(), d.time
    rb.step(m, d, 200)
    (ax, _, _), (bx, _, bz) = ((d.qvel - start) / (d.time - begin)).reshape(2, 6)[:, :3]
    push = sine - mu * cosine  # horizontal force on the block divided by the normal force
    force = block * mass * G * cosine / (mass + block * sine * push)
    assert ax == pytest.approx(-force * push / mass, rel=1e-5)
    assert bx == pytest.approx(force * push / block, rel=1e-5)
    assert bz == pytest.approx(force * (cosine + mu * sine) / block - G, rel=1e-5)


def test_an_impact_travels_through_a_chain_of_twenty_balls():
    """Each ball has 0.8 of the previous ball's mass and hits the next ball once."""
    number, ratio, e = 20, 0.8, 0.9
    skin = rb.Surface(friction=0.0, restitution=e)
    system = rb.SystemBuilder("chain", base="world")
    for n in range(number):
        system.body(f"b{n}", rb.shapes.sphere(0.05, mass=ratio**n))
        system.joint(f"j{n}", "floating", "world", f"b{n}", xyz=(0.11 * n, 0, 0))
        system.geometry(f"g{n}", f"b{n}", rb.Sphere(0.05), surface=skin)
    m = rb.build(system)
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    d.qvel[0] = 1.0
    rb.step(m, d, 300)
    arriving = ((1.0 + e) / (1.0 + ratio)) ** np.arange(number)
    left = (1.0 - e * ratio) / (1.0 + ratio)  # part of its speed that a ball keeps
    speeds = d.qvel.reshape(-1, 6)[:, 0]
    assert speeds == pytest.approx([*(left * arriving[:-1]), arriving[-1]], rel=1e-9)
    assert speeds @ ratio ** np.arange(number) == pytest.approx(1.0, abs=1e-12)


def rattleback():
    """Return a boat-shaped stone, whose axes of inertia are oblique to its length, on a floor."""
    around, down = np.meshgrid(np.arange(60) * np.pi / 30, np.linspace(0, np.pi / 2, 24))
    keel = (
        0.1 * np.cos(around) * np.sin(down),
        0.03 * np.sin(around) * np.sin(down),
        -0.02 * np.cos(down),
    )
    masses = [
        rb.shapes.sphere(0.005, mass=0.02, at=rb.pose((side * 0.07, side * 0.02, -0.003)))
        for side in (1.0, -1.0)
    ]
    body = rb.shapes.box((0.18, 0.05, 0.01), mass=0.1, at=rb.pose((0, 0, -0.008)))
    system = rb.SystemBuilder("rattleback", base="world").floor()
    system.body("stone", rb.shapes.combine(body, *masses))
    system.joint("free", "floating", "world", "stone")
    points = tuple(map(tuple, np.reshape(keel, (3, -1)).T))
    m = rb.build(system.geometry("stone", "stone", rb.Points(points)))
    d = rb.make_data(m)
    d.qpos[2:4] = 0.02, 1.0
    return m, d


@pytest.mark.parametrize(("spin", "reverses"), [(8.0, False), (-8.0, True)])
def test_a_rattleback_reverses_its_spin_in_only_one_direction(spin, reverses):
    m, d = rattleback()
    d.qvel[4:6] = 0.1, spin
    energy = start = states.energy(m, d.copy())
    back = 0.0
    for _ in range(2000):
        rb.step(m, d, 1)
        before, energy = energy, states.energy(m, d.copy())
        assert energy < before + 1e-6 * start
        back = min(back, d.qvel[5] * np.sign(spin))
    assert (back < -1.0) == reverses
    assert d.nunsolved == 0


@pytest.mark.parametrize("scene", SCENES)
def test_forces_in_scenes_satisfy_the_contact_law(scene):
    make, step, _, _ = SCENES[scene]
    m, d = make()
    largest = 0.0
    for k in range(1000):
        start = d.copy()
        step(m, d, 1e-3 * k)
        if k % 40 == 0 and d.ncon > 0:
            start.qfrc_applied = d.qfrc_applied
            largest = max(largest, contact_referee.check_law(m, start, d))
    assert largest > 0.01


@pytest.mark.parametrize("seed", [0, 3, 5, 6])
def test_hulls_thrown_on_a_pile_come_to_rest(seed):
    """Bodies of 10 g to 100 kg overlap by up to 1 cm, with steps of 10 ms.

    They gain no energy except by the error of a step, as light hulls turn by 0.1 rad in a step.
    """
    m, d = contact_scenes.pile(seed)
    lowest = np.inf
    for k in range(400):
        last, energy = d.copy(), states.energy(m, d.copy())
        rb.step(m, d, 1)
        assert energy < 1.0005 * lowest
        lowest = min(lowest, energy)
        if k % 10 == 0 and d.ncon > 0 and d.nunsolved == last.nunsolved:
            contact_referee.check_law(m, last, d)
    assert d.nbad == 0
    assert d.nunsolved < 20
    assert abs(d.qvel).max() < 1e-9

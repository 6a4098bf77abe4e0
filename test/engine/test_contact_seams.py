# SPDX-License-Identifier: Apache-2.0
"""Bodies slide smoothly over seams, have no false contacts, and do not pass through walls."""

import itertools

import numpy as np
import pytest
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation
from support import touching

import rbdyn_ros as rb

LONG = 0.3  # length of a tile along x
MM = 1e-3

SIDEWAYS = Rotation.from_euler("x", 90, degrees=True)
ALONG = Rotation.from_euler("y", 90, degrees=True)
CUBE = tuple(itertools.product((-0.1, 0.1), repeat=3))

#: Shapes with orientations in which the shapes are 0.2 m high, so the centres are at 0.1 m.
SLIDING = {
    "ball": (rb.Sphere(0.1), Rotation.identity()),
    "box": (touching.CUBE, Rotation.identity()),
    "turned box": (touching.CUBE, Rotation.from_euler("z", 0.5)),
    "standing cylinder": (touching.CYLINDER, Rotation.identity()),
    "lying cylinder": (touching.CYLINDER, ALONG),
    "wheel": (touching.CYLINDER, SIDEWAYS),
    "capsule": (rb.Capsule(0.1, 0.2), ALONG * Rotation.from_euler("x", 0.6)),
    "hull": (rb.Points(CUBE), Rotation.identity()),
}


def block(size):
    """Return a box of this size as the hull of its corners."""
    return rb.Points(tuple(tuple(np.array(corner) * size / 0.2) for corner in CUBE))


def road(shape, ground, surface=None, speed=0.0):
    """Return a Model of a free body on tiles with seams at x = -0.3, 0, 0.3 and 0.6 m.

    ground: what the tiles are, a key such as "links"; speed: speed of tiles that are belts.
    """
    system = touching.free(shape, 1.0, surface or rb.Surface(friction=0.0), floor=False)
    if ground in ("triangles", "rounded triangles"):
        return rb.build(with_triangles(system, ground))
    if ground in ("field and plane", "field between blocks"):
        return rb.build(with_field(system, ground))
    tile = (LONG, 1.0, 0.1)
    solid = rb.Box(tile) if ground in ("obstacles", "belts", "links") else block(tile)
    if ground == "moving hulls":
        system.body("raft", rb.shapes.box((2.0, 1.0, 0.1), mass=1e4))
        system.joint("float", "floating", "world", "raft", xyz=(0.0, 0.0, -0.05))
        system.obstacle("floor", rb.Plane(), origin=rb.pose((0.0, 0.0, -0.1)))
    for k in range(5):
        name, x = f"tile {k}", LONG * (k - 1.5)
        if ground in ("obstacles", "belts"):
            place, belt = rb.pose((x, 0.0, -0.05)), (speed, 0.0, 0.0)
            system.obstacle(name, solid, origin=place, velocity=belt)
        elif ground == "moving hulls":
            system.geometry(name, "raft", solid, origin=rb.pose((x, 0.0, 0.0)))
        else:
            system.body(name, rb.shapes.box(tile, mass=1.0)).geometry(name, name, solid)
            system.joint(f"bolt {k}", "fixed", "world", name, xyz=(x, 0.0, -0.05))
    return rb.build(system)


def with_triangles(system, ground):
    """Add a flat triangle mesh with many random vertices to a system.

    Except for "triangles", vertices are float32 in an inclined frame, so not quite flat.
    """
    corners = list(itertools.product((-1.0, 1.0), repeat=2))
    points = np.concatenate([np.random.default_rng(4).uniform(-1.0, 1.0, (400, 2)), corners])
    faces = Delaunay(points).simplices  # anticlockwise
    vertices = np.column_stack([points * [1.0, 0.5], np.zeros(len(points))])
    if ground == "triangles":
        return system.obstacle("mesh", rb.TriangleMesh(vertices, faces))
    vertices = vertices @ Rotation.from_euler("y", 0.2).as_matrix().T
    mesh = rb.TriangleMesh(vertices.astype(np.float32), faces)
    return system.obstacle("mesh", mesh, origin=rb.pose((0.0, 0.0, 0.0), (0.0, -0.2, 0.0)))


def with_field(system, ground):
    """Add a flat height field from x = 0 to 0.3 m, with a plane or blocks next to it."""
    flat = rb.HeightField(np.zeros((3, 4)), (LONG, 1.0))
    system.obstacle("field", flat, origin=rb.pose((LONG / 2, 0.0, 0.0)))
    if ground == "field and plane":
        return system.floor()
    for k, x in enumerate((-1.5 * LONG, 2.5 * LONG)):
        side = rb.Box((3 * LONG, 1.0, 0.1))
        system.obstacle(f"side {k}", side, origin=rb.pose((x, 0.0, -0.05)))
    return system


def slide(m, turn, speed, h, way=0.25, start=-0.13):
    """Let a body slide by `way` [m]; return the Data and the largest deviation of its velocity.

    The deviation is relative to the speed. The body starts at its depth of rest.
    """
    m.opt.timestep = h
    d = touching.placed(m, (start, 0.0, 0.1), turn)
    rb.step(m, d, 50)
    d.qvel[:] = 0.0
    d.qvel[0] = speed
    worst, steps = 0.0, round(way / speed / h)
    each = max(1, steps // 100)
    for _ in range(0, steps, each):
        rb.step(m, d, each)
        change = d.qvel[:6] - [speed, 0.0, 0.0, 0.0, 0.0, 0.0]
        worst = max(worst, np.abs(change).max() / speed)
    return d, worst


def check_sliding(ground, speeds):
    for name, (shape, turn) in SLIDING.items():
        m = road(shape, ground)
        for speed, h in speeds:
            for start in (-0.1323, -0.13):  # from -0.13 m a step ends at the seam
                _, worst = slide(m, turn, speed, h, start=start)
                assert worst < 1e-3, (name, speed, h)


FAST_AND_SLOW = ((0.1, 1e-2), (1.0, 1e-3), (10.0, 1e-2), (10.0, 1e-4))


@pytest.mark.parametrize(
    "ground",
    [
        *("obstacles", "links", "hulls", "moving hulls", "field and plane"),
        *("triangles", "rounded triangles"),
    ],
)
def test_shapes_slide_smoothly_over_seams(ground):
    check_sliding(ground, FAST_AND_SLOW)


def test_shapes_slide_from_a_block_to_a_height_field_and_back():
    check_sliding("field between blocks", ((1.0, 1e-2),))


def test_a_row_of_belts_carries_a_box_evenly():
    grip = rb.Surface(friction=0.5)
    m = road(touching.CUBE, "belts", grip, speed=1.0)
    d, worst = slide(m, Rotation.identity(), 1.0, 1e-3)
    assert worst < 1e-3
    assert d.qpos[0] > 0.1


@pytest.mark.parametrize("surface", [{"time_constant": 0.01}, {"stiffness": 1e4, "damping": 1e2}])
def test_soft_bodies_slide_over_seams(surface):
    """Though up to a millimetre deep, the bodies do not touch the sides of the next tile."""
    soft = rb.Surface(friction=0.0, **surface)
    m = road(touching.CUBE, "obstacles", soft)
    for speed in (0.1, 1.0):
        d, _ = slide(m, Rotation.identity(), speed, 1e-3)
        assert d.qvel[0] == pytest.approx(speed, rel=1e-3)


@pytest.mark.parametrize("ground", ["obstacles", "hulls"])
@pytest.mark.parametrize("start", [-0.1, -0.1 - 1e-9, -0.1 + 1e-9])
def test_a_box_that_starts_with_its_face_at_a_seam_is_pushed_over_the_seam(ground, start):
    m = road(touching.CUBE, ground)
    d = touching.placed(m, (start, 0.0, 0.1))
    d.qfrc_applied[0] = 1.0
    rb.step(m, d, 200)
    assert d.qvel[0] == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize("name", SLIDING)
def test_a_sill_stops_a_sliding_body(name):
    """The sill is 5 mm high."""
    shape, turn = SLIDING[name]
    system = touching.free(shape, 1.0, rb.Surface(friction=0.0))
    m = rb.build(system.obstacle("sill", rb.Box((0.1, 1.0, 0.01)), origin=rb.pose((0.25, 0, 0))))
    for speed, h in ((1.0, 1e-3), (0.5, 1e-2)):
        m.opt.timestep = h
        d = touching.placed(m, (0.0, 0.0, 0.1), turn, linear=(speed, 0.0, 0.0))
        rb.step(m, d, round(0.2 / speed / h))
        lifted = name in ("ball", "capsule", "wheel")  # round shapes climb it
        assert d.qvel[0] < (0.95 if lifted else 0.1) * speed


SMALL = {
    "ball": rb.Sphere(0.05),
    "box": rb.Box((0.1, 0.08, 0.06)),
    "cylinder": rb.Cylinder(0.05, 0.1),
    "capsule": rb.Capsule(0.03, 0.1),
    "hull": rb.Points(tuple(np.random.default_rng(3).uniform(-0.05, 0.05, (20, 3)))),
}


def lowest(shape, turn):
    """Return the distance of a shape's lowest point below its origin, from its definition [m]."""
    up = np.abs(turn.as_matrix()[2])
    if isinstance(shape, rb.Sphere):
        return shape.radius
    if isinstance(shape, rb.Box):
        return up @ shape.size / 2
    if isinstance(shape, rb.Points):
        return -(np.array(shape.points) @ turn.as_matrix()[2]).min()
    round_part = shape.radius * (1.0 if isinstance(shape, rb.Capsule) else np.hypot(*up[:2]))
    return up[2] * shape.length / 2 + round_part


def target(shape, kind, size):
    """Return a Model of a free body and a block at the origin, without gravity and friction.

    kind: whether the block is an obstacle, a link, a hull or a free body.
    """
    system = touching.free(shape, 1.0, rb.Surface(friction=0.0), floor=False)
    if kind == "obstacle":
        system.obstacle("block", rb.Box(size))
    else:
        system.body("block", rb.shapes.box(size, mass=1e3))
        system.joint("base", "floating" if kind == "free" else "fixed", "world", "block")
        solid = block(size) if kind == "hull" else rb.Box(size)
        system.geometry("block", "block", solid)
    m = rb.build(system)
    m.opt.gravity[:] = 0.0
    return m


def test_shapes_that_pass_4_mm_above_a_block_keep_their_velocity():
    """The speed is 10 m/s, so a step of 10 ms moves a shape by 0.1 m."""
    rng = np.random.default_rng(1)
    for kind, shape in itertools.product(("obstacle", "hull", "free"), SMALL.values()):
        m = target(shape, kind, (0.4, 0.4, 0.4))
        m.opt.timestep = 0.01
        for _ in range(6):
            turn, aside = Rotation.random(random_state=rng), rng.uniform(-0.3, 0.3)
            way = np.array([1.0, aside, 0.0]) / np.hypot(1.0, aside)
            place = (0.0, 0.0, 0.204 + lowest(shape, turn)) - way * rng.uniform(0.3, 0.8)
            d = touching.placed(m, place, turn, linear=10.0 * way)
            start = d.qvel.copy()
            rb.step(m, d, 12)
            assert d.qvel == pytest.approx(start, abs=1e-12)


def test_balls_that_pass_each_other_are_not_deflected():
    system = touching.free(touching.BALL, floor=False).body("other", rb.shapes.sphere(0.1, mass=1))
    system.joint("fly", "floating", "world", "other").geometry("other", "other", touching.BALL)
    m = rb.build(system)
    m.opt.gravity[:], m.opt.timestep = 0.0, 0.01
    for aside, start in ((0.204, 0.33), (0.21, 0.37), (0.25, 0.31), (0.204, 0.40)):
        d = touching.placed(m, (-start, aside, 0.0), linear=(10.0, 0.0, 0.0))
        rb.step(m, d, 10)
        assert d.qvel == pytest.approx([10.0] + 11 * [0.0], abs=1e-12)


def test_a_ball_flies_over_a_crest_of_a_height_field():
    """If the engine extended the slope before the crest, the slope would block the ball."""
    heights = np.array([[0.0, 0.0, 0.3, 0.0, 0.0]] * 2)
    m = rb.build(
        touching.free(rb.Sphere(0.1), floor=False).obstacle(
            "hill", rb.HeightField(heights, (4, 2))
        )
    )
    m.opt.gravity[:], m.opt.timestep = 0.0, 0.01
    for start in (-0.155, -0.13, -0.1, -0.19):
        d = touching.placed(m, (start - 0.3, 0.2, 0.404), linear=(10.0, 0.0, 0.0))
        rb.step(m, d, 8)
        assert d.qvel == pytest.approx([10.0] + 5 * [0.0], abs=1e-12)


def test_a_cube_that_flies_onto_a_table_lands_on_it():
    """The cube passes the table's edge at 10 m/s, with steps of 10 ms."""
    for kind in ("obstacle", "link", "hull", "free"):
        m = target(rb.Box((0.1, 0.1, 0.1)), kind, (2.0, 2.0, 0.4))
        m.opt.timestep = 0.01
        d = touching.placed(m, (-1.08, 0.0, 0.254), linear=(10.0, 0.0, -0.5))
        rb.step(m, d, 5)
        assert d.qvel[0] == pytest.approx(10.0, rel=1e-3)
        assert abs(d.qvel[2]) < 0.05
        assert d.qpos[2] == pytest.approx(0.25, abs=1e-3)


def test_fast_bodies_do_not_pass_through_thin_walls():
    """320 shots at 10 to 1000 m/s hit a wall of 1 mm: an obstacle, link, hull or free body."""
    rng, turns = np.random.default_rng(0), Rotation.random(320, random_state=0)
    shots = itertools.product(("obstacle", "link", "hull", "free"), SMALL.values(), range(16))
    models = {}
    for n, (kind, shape, k) in enumerate(shots):
        if k == 0:
            models[0] = target(shape, kind, (MM, 4.0, 4.0))
        m, speed = models[0], 10.0 ** rng.uniform(1.0, 3.0)
        m.opt.timestep = 1e-4 if k % 2 else 1e-3
        way = np.array([1.0, *rng.uniform(-0.4, 0.4, 2)])
        way /= np.linalg.norm(way)
        far = rng.uniform(0.15, 2.0)
        place = np.array([0.0, *rng.uniform(-1.0, 1.0, 2)]) - far * way
        d = touching.placed(m, place, turns[n], speed * way, rng.uniform(-30.0, 30.0, 3))
        for _ in range(int(far / speed / m.opt.timestep) + 10):
            rb.step(m, d)
            there = d.qpos[:3] - (d.qpos[7:10] if kind == "free" else 0.0)
            turned = np.linalg.norm(d.qvel[3:6]) * m.opt.timestep
            if np.abs(there[1:]).max() > 1.9 or turned > 1.0:
                break  # near the wall's edge, or too fast a spin
            assert there[0] < 0.0, (n, kind, speed)


def test_a_spinning_blade_hits_every_body_in_its_path():
    """The blade is 2 mm thick and turns by up to 0.3 rad in a step."""
    rng = np.random.default_rng(2)
    size = (1.0, 0.05, 2.0 * MM)
    for blade, shape in itertools.product((rb.Box(size), block(size)), SMALL.values()):
        system = touching.free(shape, 0.1, floor=False)
        system.body("blade", rb.shapes.box(size, mass=10.0)).geometry("blade", "blade", blade)
        m = rb.build(system.joint("hinge", "revolute", "world", "blade", axis=(0, 1, 0)))
        m.opt.gravity[:] = 0.0
        for h in (1e-3, 1e-2):
            m.opt.timestep = h
            turn = Rotation.random(random_state=rng)
            d = touching.placed(m, (rng.uniform(0.2, 0.45), 0.0, 0.0), turn)
            d.qpos[7], d.qvel[6] = -rng.uniform(0.6, 1.0), rng.uniform(0.05, 0.3) / h
            rate = d.qvel[6]
            rb.step(m, d, int(1.6 / rate / h))
            assert np.linalg.norm(d.qvel[:3]) > 0.04 * rate

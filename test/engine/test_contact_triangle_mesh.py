# SPDX-License-Identifier: Apache-2.0
"""Contact with triangle meshes agrees with boxes, height fields and closed forms."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support import touching
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.model.geometry.height_fields import field_triangles

SHAPES = {
    "ball": rb.Sphere(0.05),
    "box": rb.Box((0.1, 0.08, 0.06)),
    "cylinder": rb.Cylinder(0.05, 0.1),
    "capsule": rb.Capsule(0.03, 0.1),
    "hull": rb.Points(tuple(np.random.default_rng(3).uniform(-0.05, 0.05, (20, 3)))),
}
#: A square of 4 m by 4 m whose front side faces -x.
SHEET = rb.TriangleMesh(
    [[0.0, -2.0, -2.0], [0.0, 2.0, -2.0], [0.0, 2.0, 2.0], [0.0, -2.0, 2.0]],
    [[0, 2, 1], [0, 3, 2]],
)


def box_mesh(size):
    """Return a box of this size as a mesh of 12 triangles."""
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size
    faces = ConvexHull(corners).simplices
    a, b, c = (corners[faces[:, k]] for k in range(3))
    inwards = (np.cross(b - a, c - a) * a).sum(axis=1) < 0.0
    return rb.TriangleMesh(corners, np.where(inwards[:, None], faces[:, ::-1], faces))


def of_field(field):
    """Return the triangle mesh of a height field."""
    return rb.TriangleMesh(*field_triangles(np.array(field.heights), np.array(field.size) / 2))


def grid(function, size=(3.0, 1.2), number=(25, 61)):
    y, x = (np.linspace(-0.5, 0.5, n) * edge for n, edge in zip(number, size[::-1], strict=True))
    return rb.HeightField(function(*np.meshgrid(x, y)), size)


def free_body(shape, ground, friction=0.8, gravity=True):
    surface = rb.Surface(friction=friction)
    m = rb.build(touching.free(shape, 1.0, surface, floor=False).obstacle("ground", ground))
    if not gravity:
        m.opt.gravity[:] = 0.0
    return m


@pytest.mark.parametrize("shape", SHAPES)
def test_a_height_field_and_its_triangle_mesh_give_the_same_motion(shape):
    field = grid(lambda x, _y: 0.0 * x)
    motions = []
    for ground in (field, of_field(field)):
        m = free_body(SHAPES[shape], ground)
        d = touching.placed(m, (-0.4, 0.03, 0.2), Rotation.from_euler("xyz", [0.4, 0.2, 0.1]))
        d.qvel[0] = 0.7
        rb.step(m, d, 1000)
        motions.append(np.concatenate([d.qpos, d.qvel]))
    np.testing.assert_allclose(*motions, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("radius", [5.0, -5.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_bodies_slide_over_a_curved_mesh_with_the_right_speed(shape, radius):
    """Without friction the speed follows from the height, to 0.2 % for angles of 10 mrad."""
    field = grid(lambda x, _y: x * x / (2.0 * radius))
    ends = []
    for ground in (field, of_field(field)):
        m = free_body(SHAPES[shape], ground, friction=0.0)
        m.opt.timestep = 1e-4
        d = touching.placed(m, (-0.3, 0.0, 0.1 + 0.045 / radius))
        rb.step(m, d, 5000)
        d.qvel[:] = 0.0
        start, way = d.qpos[:3].copy(), np.array([1.0, 0.0, d.qpos[0] / radius])
        d.qvel[:3] = 3.0 * way / np.linalg.norm(way)
        rb.step(m, d, 1500)
        energy = 0.5 * (d.qvel[:3] ** 2).sum() + 9.81 * (d.qpos[2] - start[2])
        ends.append(np.sqrt(2.0 * energy))
        assert d.qpos[0] - start[0] > 0.4
    assert ends == pytest.approx([3.0, 3.0], rel=2e-3)
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


@pytest.mark.parametrize("x", [0.0, 0.45, 0.49])
@pytest.mark.parametrize("shape", ["box", "cylinder", "capsule", "ball", "hull"])
def test_a_body_rests_on_the_edge_of_a_closed_mesh_as_on_a_box(shape, x):
    lies = Rotation.from_euler("y", 90, degrees=True) if shape == "capsule" else None
    shapes = {**SHAPES, "hull": rb.Points(tuple(itertools.product((-0.05, 0.05), repeat=3)))}
    ends = []
    for ground in (box_mesh((1.0, 1.0, 0.2)), rb.Box((1.0, 1.0, 0.2))):
        m = free_body(shapes[shape], ground)
        d = touching.placed(m, (x, 0.02, 0.151), lies or Rotation.identity())
        rb.step(m, d, 600)
        ends.append(d.qpos.copy())
    np.testing.assert_allclose(*ends, atol=2e-6)
    assert ends[0][2] > 0.12


@pytest.mark.parametrize("wall", ["closed", "sheet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_fast_ball_passes_through_a_wall_of_triangles(shape, wall):
    """24 shots at 3 to 1000 m/s hit a closed mesh of 1 mm thickness, or the front of a sheet."""
    rng, turns = np.random.default_rng(0), Rotation.random(24, random_state=0)
    m = free_body(SHAPES[shape], SHEET if wall == "sheet" else box_mesh((1e-3, 4.0, 4.0)))
    m.opt.gravity[:] = 0.0
    for n in range(24):
        speed = 10.0 ** rng.uniform(0.5, 3.0)
        m.opt.timestep = 1e-4 if n % 2 else 1e-3
        way = np.array([1.0, *rng.uniform(-0.4, 0.4, 2)])
        way, far = way / np.linalg.norm(way), rng.uniform(0.15, 2.0)
        place = np.array([0.0, *rng.uniform(-1.0, 1.0, 2)]) - far * way
        d = touching.placed(m, place, turns[n], speed * way, rng.uniform(-5.0, 5.0, 3))
        for _ in range(int(far / speed / m.opt.timestep) + 10):
            rb.step(m, d)
            turned = np.linalg.norm(d.qvel[3:6]) * m.opt.timestep
            if np.abs(d.qpos[1:3]).max() > 1.9 or turned > 0.5:
                break  # near the wall's edge, or too fast a spin
            assert d.qpos[0] < 0.0, (n, speed)


@pytest.mark.parametrize("speed", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_bodies_pass_through_a_sheet_from_its_back(shape, speed):
    m = free_body(SHAPES[shape], SHEET, gravity=False)
    turn = Rotation.random(random_state=3)
    d = touching.placed(m, (0.3, 0.1, 0.2), turn, (-speed, 0.0, 0.0))
    before = d.qvel.copy()
    rb.step(m, d, int(0.6 / speed / m.opt.timestep))
    np.testing.assert_allclose(d.qvel, before, atol=1e-12)


def test_a_ball_rests_in_the_hole_of_a_ring():
    """The mesh is not replaced by its convex hull, which has no hole."""
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(24, z)])
        for r, z in ((0.3, 0.0), (0.5, 0.0), (0.5, 0.2), (0.3, 0.2))
    ]
    faces = []
    for k, n in itertools.product(range(4), range(24)):
        a, b = 24 * k + n, 24 * k + (n + 1) % 24
        c, d = 24 * ((k + 1) % 4) + n, 24 * ((k + 1) % 4) + (n + 1) % 24
        faces += [[a, b, c], [b, d, c]]
    ring = rb.TriangleMesh(np.concatenate(rings), faces)
    system = touching.free(rb.Sphere(0.1), 1.0, rb.Surface(friction=0.0))
    m = rb.build(system.obstacle("ring", ring))
    d = touching.placed(m, (0.0, 0.0, 0.5), linear=(0.4, 0.1, 0.0))
    for _ in range(400):
        rb.step(m, d, 10)
        # the inner wall is a polygon, so its distance from the axis varies
        assert np.hypot(*d.qpos[:2]) < 0.2 + 1e-3
    assert d.qpos[2] == pytest.approx(0.1, abs=1e-4)


def test_invalid_triangle_meshes_are_refused():
    corners = np.eye(3)
    for vertices, faces, code in (
        (corners, [[0, 1, 3]], "bad-triangles"),
        (corners, np.zeros((0, 3), np.int64), "bad-triangles"),
        (corners, [[0.5, 1.0, 2.0]], "bad-triangles"),
        (corners[:, :2], [[0, 1, 2]], "bad-triangles"),
        (corners, [[0, 1, 1]], "bad-triangles"),
        (corners, np.zeros((1_000_001, 3), np.int64), "bad-triangles"),
        ([[np.nan, 0.0, 0.0], *corners], [[1, 2, 3]], "not-finite"),
    ):
        with refused(rb.DescriptionError, code):
            free_body(SHAPES["box"], rb.TriangleMesh(vertices, faces))


def test_triangles_without_area_are_ignored():
    corners = [*np.eye(3), [1.0, 0.0, 0.0]]
    m = free_body(SHAPES["box"], rb.TriangleMesh(corners, [[0, 1, 2], [0, 3, 1], [1, 1, 2]]))
    assert "triangles without an area: 2 of 3" in str([x.message for x in m.findings])
    assert (m.ntriangle, m.ntrivert) == (1, 3)

# SPDX-License-Identifier: Apache-2.0
"""Distances from triangle meshes agree with coal and trimesh, and rays hit their triangles."""

import coal
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from support import coal_twin, touching

import rbdyn_ros as rb

AT, TURN = np.array([0.3, -0.2, 0.1]), Rotation.from_euler("xyz", [0.3, -0.2, 0.5])
RING = trimesh.creation.annulus(r_min=0.3, r_max=0.5, height=0.2)
HILLS = trimesh.Trimesh(
    [(x, y, 0.1 * np.sin(5 * x) * np.cos(4 * y)) for x in np.linspace(-1, 1, 15) for y in
     np.linspace(-1, 1, 15)],
    [f for r in range(14) for c in range(14) for k in (15 * r + c,) for f in
     ((k, k + 15, k + 16), (k, k + 16, k + 1))],
)  # fmt: skip
MESHES = {"ring": RING, "hills": HILLS}
HULL = np.random.default_rng(3).uniform(-0.1, 0.1, (20, 3))
SHAPES = {
    "ball": (rb.Sphere(0.1), lambda: coal.Sphere(0.1)),
    "box": (rb.Box((0.2, 0.3, 0.1)), lambda: coal.Box(0.2, 0.3, 0.1)),
    "capsule": (rb.Capsule(0.05, 0.2), lambda: coal.Capsule(0.05, 0.2)),
    "cylinder": (rb.Cylinder(0.1, 0.2), lambda: coal.Cylinder(0.1, 0.2)),
    "hull": (rb.Points(tuple(map(tuple, HULL))), None),
}


def world_of(mesh, shape):
    """Return a Model with a free shape, and a triangle mesh as a rotated obstacle."""
    at = rb.Pose(tuple(AT), tuple(touching.wxyz(TURN)))
    ground = rb.TriangleMesh(mesh.vertices, mesh.faces)
    system = touching.free(shape, 1.0, floor=False)
    return rb.build(system.obstacle("ground", ground, origin=at))


def coal_mesh(mesh):
    found = coal.BVHModelOBBRSS()
    found.beginModel(len(mesh.faces), len(mesh.vertices))
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(mesh.vertices))
    triangles.extend([coal.Triangle(*face) for face in mesh.faces.tolist()])
    found.addSubModel(points, triangles)
    found.endModel()
    return found


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("shape", ["ball", "box", "capsule", "cylinder"])
def test_distances_equal_the_distances_of_coal(shape, name):
    """Shapes that overlap are skipped, because coal's depth is that of a single triangle."""
    own, of_coal = SHAPES[shape]
    m, mesh, other = world_of(MESHES[name], own), coal_mesh(MESHES[name]), of_coal()
    request, apart = coal_twin.request(), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        turn = Rotation.random(random_state=rng)
        d = touching.placed(m, AT + rng.uniform(-0.8, 0.8, 3), turn)
        found = rb.distance(m, d, 0, "ground")
        if found.distance <= 1e-6:
            continue
        apart += 1
        result = coal.DistanceResult()
        pose = coal.Transform3s(turn.as_matrix(), d.qpos[:3].copy())
        there = coal.Transform3s(TURN.as_matrix(), AT)
        coal.distance(other, pose, mesh, there, request, result)
        assert found.distance == pytest.approx(result.min_distance, abs=1e-6)
        gap = found.point2 - found.point1
        np.testing.assert_allclose(gap, found.distance * found.normal, atol=1e-9)
        near = rb.collisions(m, d, margin=found.distance + 1e-9)
        assert [one.distance for one in near] == pytest.approx([found.distance], abs=1e-12)
        assert rb.collisions(m, d, margin=found.distance - 1e-6) == []
    assert apart > 15


def test_a_ball_has_the_signed_distance_of_its_centre():
    """The distance is that of the nearest point of all triangles, and negative inside the mesh."""
    m = world_of(RING, rb.Sphere(0.02))
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        x = rng.uniform(-0.6, 0.6, 3) * [1.0, 1.0, 0.3]
        d = touching.placed(m, AT + TURN.apply(x))
        corners = RING.triangles
        nearest = trimesh.triangles.closest_point(corners, np.tile(x, (len(corners), 1)))
        gap = np.linalg.norm(nearest - x, axis=1).min()
        inner = np.cos(np.pi / 32) * 0.3 < np.hypot(*x[:2]) < 0.5 and abs(x[2]) < 0.1
        found = rb.distance(m, d, 0, "ground").distance
        if gap < 0.021 or abs(np.hypot(*x[:2]) - 0.3) < 0.01 or abs(np.hypot(*x[:2]) - 0.5) < 0.01:
            continue  # the ball overlaps a triangle, or is near the sides of the ring's polygon
        inside += inner
        assert found == pytest.approx(-(gap - 0.02) if inner else gap - 0.02, abs=1e-9)
    assert inside > 20


def prism(outline, cap):
    """Return a prism 2 m long along y; `cap` are triangles of its outline (n, 2) in x and z."""
    n = len(outline)
    ends = [[(x, y, z) for x, z in outline] for y in (-1.0, 1.0)]
    side = [
        t for a in range(n) for b in ((a + 1) % n,) for t in ((a, n + a, b), (b, n + a, n + b))
    ]
    far = [(n + c, n + b, n + a) for a, b, c in cap]
    mesh = trimesh.Trimesh(np.concatenate(ends), [*cap, *far, *side], process=False)
    assert mesh.is_volume
    return mesh


#: A block with a groove of 23 degrees in its top, and a wedge with an edge of 20 degrees.
GROOVE = [(-1, -1), (1, -1), (1, 0), (0.1, 0), (0, -0.5), (-0.1, 0), (-1, 0)]
GROOVED = prism(GROOVE, [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6)])
WEDGE = prism([(0, 0), (1, -np.tan(np.pi / 18)), (1, np.tan(np.pi / 18))], [(0, 1, 2)])
#: A spike with a sharp tip, and a cube with a hollow of this shape. One of the three sides at the
#: tip has four triangles, whose normals count by their angles.
ROW = [(0.02, 0, -0.4), (-0.01, 0.025, -0.4), (-0.04, 0.05, -0.4), (-0.07, 0.075, -0.4),
       (-0.1, 0.1, -0.4)]  # fmt: skip
SPIKE = trimesh.Trimesh(
    [(0, 0, 0.4), (-0.1, -0.1, -0.4), *ROW],
    [(0, 6, 1), (0, 1, 2), *((0, k, k + 1) for k in range(2, 6)),
     *((1, k + 1, k) for k in range(2, 6))],
)  # fmt: skip
HOLLOW = trimesh.util.concatenate([
    trimesh.creation.box((1.0, 1.0, 1.0)), trimesh.Trimesh(SPIKE.vertices, SPIKE.faces[:, ::-1])
])  # fmt: skip


def in_grooved(x):
    return np.abs(x).max() < 1.0 and x[2] < 0.0 and abs(x[0]) > 0.1 * (1.0 + x[2] / 0.5)


def in_wedge(x):
    return x[0] < 1.0 and abs(x[2]) < x[0] * np.tan(np.pi / 18)


def in_spike(x):
    return ((x - SPIKE.triangles[:, 0]) * SPIKE.face_normals).sum(axis=1).max() < 0.0


def in_hollow(x):
    return np.abs(x).max() < 0.5 and not in_spike(x)


#: Meshes, each with a point on its sharp edge or corner, a box size, and a test of the inside.
SHARP = {
    "groove": (GROOVED, (0, 0, -0.5), (0.3, 0.3, 0.3), in_grooved),
    "wedge": (WEDGE, (0, 0, 0), (0.3, 0.3, 0.1), in_wedge),
    "spike": (SPIKE, (0, 0, 0.4), (0.04, 0.04, 0.4), in_spike),
    "hollow": (HOLLOW, (0, 0, 0.4), (0.04, 0.04, 0.4), in_hollow),
}


@pytest.mark.parametrize("name", SHARP)
def test_the_inside_is_found_at_a_sharp_edge_or_corner(name):
    """There several triangles are equally near, and their pseudo-normal determines the side."""
    mesh, edge, size, is_inside = SHARP[name]
    m = world_of(mesh, rb.Sphere(0.0001))
    assert m.trimesh_closed.tolist() == [1]
    rng, inside, shared = np.random.default_rng(4), 0, 0
    for _ in range(200):
        x = edge + rng.uniform(-0.5, 0.5, 3) * size
        nearest = trimesh.triangles.closest_point(mesh.triangles, np.tile(x, (len(mesh.faces), 1)))
        gaps = np.linalg.norm(nearest - x, axis=1)
        if gaps.min() < 0.0002:
            continue  # the ball overlaps a triangle
        d = touching.placed(m, AT + TURN.apply(x))
        sign = -1.0 if is_inside(x) else 1.0
        found = rb.distance(m, d, 0, "ground").distance
        assert found == pytest.approx(sign * (gaps.min() - 0.0001), abs=1e-9)
        inside, shared = inside + (sign < 0.0), shared + ((gaps < gaps.min() + 1e-9).sum() > 1)
    assert inside > 5
    assert shared > 40


def test_a_ball_on_the_ground_overlaps_by_its_depth():
    plate = trimesh.Trimesh(
        [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)]
    )
    m = world_of(plate, rb.Sphere(0.1))
    for z in (0.0999, 0.05, 0.01):
        d = touching.placed(m, AT + TURN.apply([0.3, 0.1, z]))
        found = rb.distance(m, d, 0, "ground")
        assert found.distance == pytest.approx(z - 0.1, abs=1e-9)
        np.testing.assert_allclose(found.normal, -TURN.apply([0.0, 0.0, 1.0]), atol=1e-9)


def test_rays_hit_triangles():
    m = world_of(RING, rb.Sphere(0.1))
    d = touching.placed(m, (50.0, 0.0, 0.0))
    rng = np.random.default_rng(2)
    start = rng.uniform(-1.0, 1.0, (200, 3))
    way = rng.normal(size=(200, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    hits = rb.cast_rays(m, d, AT + TURN.apply(start), TURN.apply(way))
    corners, n = RING.triangles, RING.face_normals
    for k in range(200):
        along = n @ way[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = ((corners[:, 0] - start[k]) * n).sum(axis=1) / along
        x = start[k] + t[:, None] * way[k]
        ok = np.isfinite(t) & (t > 0.0)
        on = np.zeros(len(t), bool)
        inside = trimesh.triangles.points_to_barycentric(corners[ok], x[ok])
        on[ok] = (inside >= 0.0).all(axis=1)
        expected = t[on].min() if on.any() else np.inf
        assert hits.distance[k] == pytest.approx(expected, abs=1e-9)

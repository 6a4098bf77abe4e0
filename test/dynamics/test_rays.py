# SPDX-License-Identifier: Apache-2.0
"""Rays agree with MuJoCo, closed forms and a loop over all triangles."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.dynamics.ray_shapes import RayShape, RayShapes

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

WORLD = np.zeros(3), np.eye(3)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def cloud(seed, count=30):
    """Return the random corners (count, 3) of a convex body."""
    return unit(np.random.default_rng(seed).normal(size=(count, 3))) * (0.3, 0.2, 0.25)


SOLIDS = {
    "ball": (rb.Sphere(0.3), 'type="sphere" size="0.3"'),
    "capsule": (rb.Capsule(0.2, 0.7), 'type="capsule" size="0.2 0.35"'),
    "cylinder": (rb.Cylinder(0.25, 0.6), 'type="cylinder" size="0.25 0.3"'),
    "box": (rb.Box((0.3, 0.5, 0.8)), 'type="box" size="0.15 0.25 0.4"'),
    "mesh": (rb.Points(tuple(map(tuple, cloud(1)))), 'type="mesh" mesh="cloud"'),
}


def free_solids(shapes, fixed=()):
    """Return a Model with a free body for each shape, and fixed obstacles."""
    system = rb.SystemBuilder("solids", base="world")
    for name, shape in shapes.items():
        mass = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
        system = system.body(name, mass).joint(f"{name}_joint", "floating", "world", name)
        system = system.geometry(name, name, shape)
    for name, shape, origin in fixed:
        system = system.obstacle(name, shape, origin=origin)
    return rb.build(system)


def mujoco_solids():
    corners = cloud(1)
    hull = ConvexHull(corners)
    outward = np.einsum(
        "ij,ij->i",
        np.cross(
            corners[hull.simplices[:, 1]] - corners[hull.simplices[:, 0]],
            corners[hull.simplices[:, 2]] - corners[hull.simplices[:, 0]],
        ),
        hull.equations[:, :3],
    )
    faces = np.where(outward[:, None] < 0.0, hull.simplices[:, ::-1], hull.simplices)
    bodies = "".join(
        f'<body name="{name}"><freejoint/><geom name="{name}" {text}/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        for name, (_, text) in SOLIDS.items()
    )
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="cloud" inertia="convex"
        vertex="{" ".join(map(repr, corners.ravel().tolist()))}"
        face="{" ".join(map(str, faces.ravel().tolist()))}"/></asset>
        <worldbody>{bodies}</worldbody></mujoco>"""
    )


@pytest.fixture(scope="module")
def both():
    return free_solids({name: shape for name, (shape, _) in SOLIDS.items()}), mujoco_solids()


def placed(m, d, seed):
    rng = np.random.default_rng(seed)
    rows = d.qpos.reshape(-1, 7)
    rows[:, :3] = rng.uniform(-1.0, 1.0, (len(rows), 3))
    rows[:, 3:] = unit(rng.normal(size=(len(rows), 4)))
    return d


def mujoco_rays(mm, md, origins, directions):
    geom, normal, distance = np.zeros(1, np.int32), np.zeros(3), []
    numbers, normals = [], []
    for origin, along in zip(origins, directions, strict=True):
        distance.append(mujoco.mj_ray(mm, md, origin, along, None, 1, -1, geom, normal))
        numbers.append(int(geom[0]))
        normals.append(normal.copy())
    return np.array(distance), np.array(numbers), np.array(normals)


@pytest.mark.parametrize("seed", range(5))
def test_rays_hit_the_same_solids_as_in_mujoco(both, seed):
    m, mm = both
    d, md = placed(m, rb.make_data(m), seed), mujoco.MjData(mm)
    md.qpos[:] = d.qpos
    mujoco.mj_forward(mm, md)
    rng = np.random.default_rng(100 + seed)
    origins = rng.uniform(-2.0, 2.0, (2000, 3))
    targets = np.tile(d.qpos.reshape(-1, 7)[:, :3], (400, 1)) + 0.3 * rng.normal(size=(2000, 3))
    directions = unit(targets - origins)
    theirs, geoms, normals = mujoco_rays(mm, md, origins, directions)
    ours = rb.cast_rays(m, d, origins, directions)
    assert (ours.geom >= 0).sum() > 500
    met = geoms >= 0
    # a ray that grazes an edge may hit or miss
    same = ours.geom == geoms
    assert np.count_nonzero(~same) <= 1
    both_meet = same & met
    # MuJoCo stores corners of meshes in single precision
    mesh = geoms == list(SOLIDS).index("mesh")
    steep = np.abs((ours.normal * directions).sum(axis=1)) > 1e-3
    solid = both_meet & ~mesh & steep
    np.testing.assert_allclose(ours.distance[solid], theirs[solid], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(ours.normal[solid], normals[solid], rtol=0.0, atol=1e-9)
    meshed = both_meet & mesh & steep
    slant = np.abs((ours.normal * directions).sum(axis=1))
    assert (np.abs(ours.distance - theirs)[meshed] < 1e-7 / slant[meshed]).all()
    assert np.isinf(ours.distance[~met & same]).all()
    assert not ours.normal[~met & same].any()


def test_a_cutoff_just_before_a_hit_gives_no_hit(both):
    m, _ = both
    d = placed(m, rb.make_data(m), 7)
    rng = np.random.default_rng(8)
    origins, directions = rng.uniform(-2.0, 2.0, (500, 3)), unit(rng.normal(size=(500, 3)))
    hits = rb.cast_rays(m, d, origins, directions)
    for n in np.flatnonzero(hits.geom >= 0)[:60]:
        cut = rb.cast_rays(m, d, origins[n], directions[n], cutoff=hits.distance[n] - 1e-9)
        assert cut.geom[0] == -1
        again = rb.cast_rays(m, d, origins[n], directions[n], cutoff=hits.distance[n])
        assert again.distance[0] == hits.distance[n]


def test_a_ray_from_inside_hits_the_surface_where_it_leaves():
    m = free_solids({"ball": rb.Sphere(0.5), "box": rb.Box((0.2, 0.4, 0.6))})
    d = rb.make_data(m)
    d.qpos[7:10] = 3.0, 0.0, 0.0
    hits = rb.cast_rays(m, d, [[0.1, 0.0, 0.0], [3.05, 0.1, 0.0]], [[1, 0, 0], [0, 2, 0]])
    assert hits.distance == pytest.approx([0.4, 0.1], abs=1e-15)
    assert hits.normal.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_floor_is_hit_from_above_and_from_below():
    floor = "floor", rb.Plane(), rb.Pose((0.0, 0.0, -1.0))
    m = free_solids({"ball": rb.Sphere(0.1)}, [floor])
    d = rb.make_data(m)
    hits = rb.cast_rays(m, d, [[5, 0, 1], [5, 0, -3], [5, 0, 1], [5, 0, 1]],
                        [[0, 0, -1], [0, 0, 1], [1, 0, 0], [3, 0, -4]])  # fmt: skip
    assert hits.distance.tolist() == pytest.approx([2.0, 2.0, np.inf, 2.5])
    assert [m.geom_names[g] for g in hits.geom if g >= 0] == ["floor"] * 3
    assert hits.normal[1].tolist() == [0.0, 0.0, 1.0]


def test_rays_hit_the_triangles_of_terrain():
    heights = ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
    hill = "hill", rb.HeightField(heights, (2.0, 2.0)), rb.Pose((10.0, 0.0, 0.5))
    m = free_solids({"ball": rb.Sphere(0.1)}, [hill])
    d = rb.make_data(m)
    down = rb.cast_rays(m, d, [[10, 0, 5], [10.5, 0, 5], [10, -0.25, 5], [12, 0, 5]], [0, 0, -1])
    assert down.distance == pytest.approx([3.5, 4.0, 3.75, np.inf], abs=1e-14)


def bumpy_ball(seed, count=4000):
    """Return the triangles (k, 3, 3) of a closed, non-convex surface with `count` corners."""
    rng = np.random.default_rng(seed)
    corners = unit(rng.normal(size=(count, 3)))
    faces = ConvexHull(corners).simplices
    a, b, c = (corners[faces[:, k]] for k in range(3))
    turned = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0.0
    faces = np.where(turned[:, None], faces[:, ::-1], faces)
    radius = 1.0 + 0.2 * np.sin(7.0 * corners[:, :1]) * np.cos(5.0 * corners[:, 1:2])
    return (corners * radius)[faces]


def one_by_one(triangles, origin, along):
    """Return the distance to the nearest of all triangles, by Moeller and Trumbore's formulas."""
    a, b, c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    p = np.cross(along, c)
    volume = np.einsum("ij,ij->i", b, p)
    s = origin - a
    u = np.einsum("ij,ij->i", s, p) / volume
    q = np.cross(s, b)
    v = q @ along / volume
    t = np.einsum("ij,ij->i", c, q) / volume
    met = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0)
    return t[met].min(initial=np.inf)


def bare():
    m = free_solids({"ball": rb.Sphere(0.1)})
    return m, rb.make_data(m)


def test_the_tree_finds_the_nearest_of_all_triangles():
    triangles = bumpy_ball(3)
    m, d = bare()
    turn = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    shapes = RayShapes(
        [RayShape("bumpy", 0, np.array([1.0, 2.0, 3.0]), turn, triangles=triangles)]
    )
    rng = np.random.default_rng(4)
    origins, directions = rng.uniform(-2.0, 4.0, (300, 3)), unit(rng.normal(size=(300, 3)))
    directions[::2] = unit(np.array([1.0, 2.0, 3.0]) - origins[::2] + rng.normal(size=(150, 3)))
    hits = rb.cast_rays(m, d, origins, directions, shapes=shapes)
    world = triangles @ turn.T + (1.0, 2.0, 3.0)
    expected = [one_by_one(world, o, v) for o, v in zip(origins, directions, strict=True)]
    assert (hits.geom >= 0).sum() > 50
    assert hits.distance == pytest.approx(expected, abs=1e-12)


def test_no_ray_leaves_a_closed_surface_between_its_triangles():
    triangles = bumpy_ball(5, 300)
    m, d = bare()
    shapes = RayShapes([RayShape("bumpy", 0, *WORLD, triangles=triangles)])
    corners = triangles.reshape(-1, 3)
    edges = 0.5 * (triangles + np.roll(triangles, 1, axis=1)).reshape(-1, 3)
    for origin in ([0.0, 0.0, 0.0], [0.01, -0.2, 0.1]):
        targets = np.concatenate([corners, edges]) - origin
        assert (rb.cast_rays(m, d, origin, targets, shapes=shapes).geom == 0).all()


def test_many_rays_are_shared_by_threads_with_the_same_result(both):
    m, _ = both
    d = placed(m, rb.make_data(m), 11)
    rng = np.random.default_rng(12)
    directions = unit(rng.normal(size=(20000, 3)))
    together = rb.cast_rays(m, d, [0, 0, 0], directions)
    for part in (slice(0, 7), slice(9000, 9100)):
        alone = rb.cast_rays(m, d, [0, 0, 0], directions[part])
        for one, all_of_them in zip(alone, together, strict=True):
            assert np.array_equal(one, all_of_them[part])


def test_rays_of_a_frame_move_with_it_and_pass_through_excluded_bodies():
    m = free_solids({"ball": rb.Sphere(0.1), "wall": rb.Box((0.2, 5.0, 5.0))})
    d = rb.make_data(m)
    d.qpos[7:10] = 4.0, 0.0, 0.0
    d.qpos[:7] = (
        0.0,
        1.0,
        0.0,
        np.sqrt(0.5),
        0.0,
        0.0,
        -np.sqrt(0.5),
    )  # the obstacle's y axis is the world's x axis
    own = rb.cast_rays(m, d, [0, 0, 0], [0, 1, 0], frame="ball")
    assert own.distance == pytest.approx([0.1], abs=1e-15)
    past = rb.cast_rays(m, d, [0, 0, 0], [0, 1, 0], frame="ball", exclude=["ball"])
    assert past.distance == pytest.approx([3.9], abs=1e-14)
    assert past.normal[0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-14)
    assert m.geom_names[past.geom[0]] == "wall"


def test_the_length_of_a_direction_does_not_matter(both):
    m, _ = both
    d = placed(m, rb.make_data(m), 0)
    for factor in (1e-200, 1.0, 1e200):
        hits = rb.cast_rays(m, d, [0, 0, 5], factor * (d.qpos[:3] - (0, 0, 5)))
        assert hits.geom[0] >= 0
        assert hits.distance[0] < 6.0


def test_no_rays_give_no_hits_and_rays_along_the_axes_hit(both):
    m, _ = both
    d = rb.make_data(m)
    assert rb.cast_rays(m, d, np.zeros((0, 3)), [0, 0, 1]).distance.shape == (0,)
    along = np.concatenate([np.eye(3), -np.eye(3)])
    hits = rb.cast_rays(m, d, -3.0 * along, along)
    assert np.isfinite(hits.distance).all()


@pytest.mark.parametrize(
    ("change", "element"),
    [
        ({"origins": [0, 0]}, "origins"),
        ({"origins": [0, 0, np.nan]}, "origins"),
        ({"origins": "here"}, "origins"),
        ({"origins": np.zeros((2, 3)), "directions": np.ones((3, 3))}, "directions"),
        ({"directions": [[1, 0, 0], [0, 0, 0]]}, "directions"),
        ({"directions": [0, 0, np.inf]}, "directions"),
        ({"cutoff": 0.0}, "cutoff"),
        ({"cutoff": -1.0}, "cutoff"),
        ({"cutoff": np.nan}, "cutoff"),
        ({"exclude": "ball"}, "exclude"),
        ({"exclude": 3}, "exclude"),
    ],
)
def test_bad_arguments_are_refused(both, change, element):
    m, _ = both
    arguments = {"origins": [0, 0, 0], "directions": [0, 0, 1]} | change
    with refused(rb.ParameterError, "bad-argument", element):
        rb.cast_rays(m, rb.make_data(m), **arguments)


def test_unknown_names_and_models_without_geometries_are_refused(both):
    m, _ = both
    d = rb.make_data(m)
    with refused(rb.ModelError, "unknown-frame", "bal"):
        rb.cast_rays(m, d, [0, 0, 0], [0, 0, 1], frame="bal")
    with refused(rb.ModelError, "unknown-body", "bal"):
        rb.cast_rays(m, d, [0, 0, 0], [0, 0, 1], exclude=["bal"])
    empty = rb.build(
        rb.SystemBuilder("s", base="world")
        .body("b", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("j", "revolute", "world", "b")
    )
    with refused(rb.ModelError, "no-geometries", "cast_rays"):
        rb.cast_rays(empty, rb.make_data(empty), [0, 0, 0], [0, 0, 1])

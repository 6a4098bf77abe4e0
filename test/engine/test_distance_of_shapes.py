# SPDX-License-Identifier: Apache-2.0
"""Distances between two geometries agree with coal, closed forms and separating slabs."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.touching import wxyz

import rbdyn_ros as rb
from rbdyn_ros.model.geometry.geoms import MANY_CORNERS, GeomType

EACH = 3  # number of shapes of each kind
POSES = 40  # number of poses of each pair of kinds

#: Tolerance of the comparison with coal [m], with (True) and without cylinders. For cylinders
#: coal iterates to some 1e-9 m; for boxes and capsules its depths vary by 1e-11 m.
CLOSE = {True: 2e-9, False: 1e-10}


def round_points(rng, count):
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return rb.Points(tuple(map(tuple, points * rng.uniform(0.03, 0.1, 3))))


MAKERS = {
    "sphere": lambda rng: rb.Sphere(rng.uniform(0.02, 0.1)),
    "capsule": lambda rng: rb.Capsule(*rng.uniform(0.02, 0.15, 2)),
    "cylinder": lambda rng: rb.Cylinder(*rng.uniform(0.02, 0.15, 2)),
    "box": lambda rng: rb.Box(tuple(rng.uniform(0.04, 0.2, 3))),
    "mesh": lambda rng: round_points(rng, 12),
    "large mesh": lambda rng: round_points(rng, 90),
}
PAIRS = list(itertools.combinations_with_replacement(MAKERS, 2))
PAIRS += [(kind, "floor") for kind in MAKERS]


def system(shapes):
    """Return a Model of free bodies, one for each shape, and a floor."""
    built = rb.SystemBuilder("pairs", base="world").floor()
    for name, shape in shapes.items():
        built.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        built.joint(f"to {name}", "floating", "world", name).geometry(name, name, shape)
    return rb.build(built)


@pytest.fixture(scope="module")
def zoo():
    rng = np.random.default_rng(1)
    return system({f"{kind} {n}": make(rng) for kind, make in MAKERS.items() for n in range(EACH)})


@pytest.fixture(scope="module")
def twin(zoo):
    pytest.importorskip("coal", reason="coal comes with pin")
    from support.coal_twin import CoalTwin

    return CoalTwin(zoo)


def put(m, d, name, pos, turn=None):
    q = d.qpos[7 * m.body_id(name) - 7 :][:7]
    q[:3], q[3:] = pos, wxyz(turn or Rotation.identity())


def check_sound(found):
    """Assert that the normal is a unit vector, and that it points from point1 to point2."""
    assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-12)
    between = found.point2 - found.point1
    assert between == pytest.approx(found.distance * found.normal, abs=1e-12)


def measured(m, d, first, second):
    found = rb.distance(m, d, first, second)
    check_sound(found)
    assert (found.geom1, found.geom2) == (first, second)
    return found


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda kind: kind.replace(" ", "-"))
def test_distances_at_random_poses_agree_with_coal(zoo, twin, first, second):
    rng, d = np.random.default_rng(2), rb.make_data(zoo)
    smooth = "cylinder" in (first, second)
    for k in range(POSES):
        names = f"{first} {k % EACH}", f"{second} {(k + 1) % EACH}"
        names = names[0], "floor" if second == "floor" else names[1]
        for name in names:
            if name != "floor":
                put(zoo, d, name, rng.normal(size=3) * 0.08, Rotation.random(random_state=rng))
        found = measured(zoo, d, *names)
        dist, normal = twin.distance(d, *map(zoo.geom_numbers.get, names))
        # coal may not converge on cylinders, so for them only the slab proves the distance
        assert found.distance == pytest.approx(dist, abs=CLOSE[smooth]) or smooth
        if not smooth and abs(dist) > 1e-4:
            assert found.normal == pytest.approx(normal, abs=1e-6)
        width = pytest.approx(found.distance, abs=3e-8 if smooth else 1e-11)
        assert slab(zoo, d, found) == width


def highest(m, d, name, v):
    """Return the largest v . x of all points x of a geometry, from its definition."""
    g = m.geom_numbers[name]
    i, (r, half, _) = m.geom_bodyid[g], m.geom_size[g]
    R = d.xmat[i].reshape(3, 3)
    p, R = d.xpos[i] + R @ m.geom_pos[g], R @ m.geom_mat[g].reshape(3, 3)
    u = R.T @ v
    if m.geom_type[g] == GeomType.MESH:
        height = (m.vert_pos[m.geom_vertadr[g] :][: m.geom_vertnum[g]] @ u).max()
    else:
        height = {
            GeomType.PLANE: 0.0,
            GeomType.SPHERE: r,
            GeomType.CAPSULE: r + half * abs(u[2]),
            GeomType.CYLINDER: r * np.hypot(u[0], u[1]) + half * abs(u[2]),
            GeomType.BOX: np.abs(u) @ m.geom_size[g],
        }[m.geom_type[g]]
    return p @ v + height


def slab(m, d, found):
    """Return the width of the empty slab between two geometries along the normal.

    No points of the two geometries can be closer. So if two points are as close as this width,
    the width is the distance.
    """
    n = found.normal
    return -highest(m, d, found.geom2, -n) - highest(m, d, found.geom1, n)


HALF = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 100, endpoint=False)
DEGENERATE = {
    "box": rb.Box((0.2, 0.2, 0.2)),
    "hull": rb.Points(tuple(map(tuple, HALF))),
    "repeated": rb.Points(tuple(map(tuple, np.concatenate([HALF, HALF, 0.5 * HALF])))),
    "flat": rb.Points(tuple(map(tuple, HALF * (1.0, 1.0, 0.0)))),
    "disc": rb.Points(tuple((0.1 * np.cos(a), 0.1 * np.sin(a), 0.0) for a in CIRCLE)),
    "line": rb.Points(((-0.1, 0.0, 0.0), (0.1, 0.0, 0.0))),
    "point": rb.Points(((0.0, 0.0, 0.0),)),
    "ball": rb.Sphere(0.1),
    "capsule": rb.Capsule(0.05, 0.1),
    "cylinder": rb.Cylinder(0.1, 0.2),
    "huge": rb.Points(tuple(map(tuple, 1e4 * HALF))),
    "tiny": rb.Points(tuple(map(tuple, 1e-4 * HALF))),
    "needle": rb.Points(tuple(map(tuple, HALF * (10.0, 1e-6, 1e-6)))),
}
TURNED = Rotation.from_quat([0.3, 0.2, 0.1, 1.0])
PLACES = {
    "same": ((0.0, 0.0, 0.0), None),
    "touching": ((0.2, 0.0, 0.0), None),
    "almost": ((0.2 + 1e-11, 0.0, 0.0), None),
    "deep": ((0.05, 0.02, 0.01), None),
    "turned": ((0.0, 0.0, 0.0), TURNED),
    "far": ((3.0, 0.1, 0.2), TURNED),
}


@pytest.fixture(scope="module")
def odd():
    return system(
        {f"{side} {name}": shape for name, shape in DEGENERATE.items() for side in ("a", "b")}
    )


@pytest.mark.parametrize("place", PLACES)
def test_distances_of_points_lines_and_flat_hulls_are_finite_and_consistent(odd, place):
    """The shapes have equal poses, and sizes that differ by a factor of 1e8."""
    d = rb.make_data(odd)
    dist = {}
    for first, second in itertools.product(DEGENERATE, repeat=2):
        put(odd, d, f"a {first}", (0.0, 0.0, 0.0))
        put(odd, d, f"b {second}", *PLACES[place])
        found = rb.distance(odd, d, f"a {first}", f"b {second}")
        dist[first, second] = found.distance
        assert np.isfinite(found.distance)
        assert np.linalg.norm(found.normal) == pytest.approx(1.0, abs=1e-12)
        apart = found.point2 - found.point1 - found.distance * found.normal
        size = max(1.0, abs(found.distance))
        assert np.abs(apart).max() < 1e-12 * size
        back = rb.distance(odd, d, f"b {second}", f"a {first}")
        assert back.distance == pytest.approx(found.distance, abs=2e-9 * size)
    for other in DEGENERATE:  # "hull" and "repeated" have the same shape as "box"
        for same in ("hull", "repeated"):
            assert dist[other, same] == pytest.approx(dist[other, "box"], abs=1e-9, rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "place", "expected"),
    [
        ("box", "box", "same", -0.2),
        ("box", "hull", "touching", 0.0),
        ("box", "box", "deep", -0.15),
        ("ball", "ball", "same", -0.2),
        ("capsule", "capsule", "same", -0.1),
        ("capsule", "line", "same", -0.05),
        ("ball", "box", "touching", 0.0),
        ("cylinder", "cylinder", "same", -0.2),
        ("flat", "flat", "same", 0.0),
        ("flat", "disc", "deep", 0.01),
        ("flat", "box", "deep", -0.09),
        ("point", "point", "same", 0.0),
        ("point", "box", "deep", -0.05),
        ("line", "line", "touching", 0.0),
        ("needle", "box", "same", -0.1 - 1e-7),
    ],
)
def test_distances_of_degenerate_shapes_equal_closed_forms(odd, first, second, place, expected):
    d = rb.make_data(odd)
    put(odd, d, f"b {second}", *PLACES[place])
    found = measured(odd, d, f"a {first}", f"b {second}")
    assert found.distance == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("pos", "turn"),
    [
        ((-1.70, -1.86, -4.23), (0.23, 1.20, 0.29)),
        ((-1.19, 2.63, -4.76), (-1.47, 1.76, 0.42)),
    ],
)
def test_an_overlap_is_measured_at_the_face_of_least_depth(pos, turn):
    """Newton's method finds one face of A - B, but EPA finds another face with less depth."""
    radius, half, edges = 2.5147, 4.43585, np.array([0.0867, 0.43485, 0.4376])
    m = system({"tube": rb.Cylinder(radius, 2.0 * half), "box": rb.Box(tuple(2.0 * edges))})
    d, R = rb.make_data(m), Rotation.from_rotvec(turn)
    put(m, d, "box", pos, R)
    found = measured(m, d, "tube", "box")
    assert slab(m, d, found) == pytest.approx(found.distance, abs=1e-11)
    assert np.hypot(*found.point1[:2]) < radius + 1e-9
    assert abs(found.point1[2]) < half + 1e-9
    assert (np.abs(R.inv().apply(found.point2 - pos)) < edges + 1e-9).all()


def test_hill_climbing_finds_the_farthest_corner_of_a_large_hull():
    """The result equals a search over all points; interior points were dropped."""
    rng = np.random.default_rng(3)
    ball = rng.normal(size=(400, 3))
    ball[:200] /= np.linalg.norm(ball[:200], axis=1)[:, None]
    ball[200:] *= 0.1
    points = 0.1 * ball
    m = system({"large": rb.Points(tuple(map(tuple, points)))})
    assert MANY_CORNERS < m.nvert <= 200 + 200
    assert (m.vert_edgenum >= 3).all()
    d = rb.make_data(m)
    for turn in Rotation.random(50, random_state=rng):
        put(m, d, "large", (0.0, 0.0, 0.5), turn)
        lowest = 0.5 + turn.apply(points)[:, 2].min()
        assert measured(m, d, "large", "floor").distance == pytest.approx(lowest, abs=1e-15)

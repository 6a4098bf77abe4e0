# SPDX-License-Identifier: Apache-2.0
"""Signed distances of points to solids agree with samples of the surfaces and with gradients."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from rbdyn_ros.engine.collision.distances import distance
from rbdyn_ros.model.geometry.geoms import GeomType

SIZES = {
    "plane": (GeomType.PLANE, (0.0, 0.0, 0.0)),
    "sphere": (GeomType.SPHERE, (0.6, 0.0, 0.0)),
    "capsule": (GeomType.CAPSULE, (0.3, 0.5, 0.0)),
    "cylinder": (GeomType.CYLINDER, (0.4, 0.6, 0.0)),
    "flat cylinder": (GeomType.CYLINDER, (0.7, 0.2, 0.0)),
    "box": (GeomType.BOX, (0.3, 0.5, 0.7)),
}
STEP = 0.01  # largest distance between samples of a surface [m]

each_solid = pytest.mark.parametrize("name", SIZES)
each_closed_solid = pytest.mark.parametrize("name", [name for name in SIZES if name != "plane"])


def at(name, x):
    kind, size = SIZES[name]
    dist, away = distance(int(kind), size, tuple(float(c) for c in x))
    return dist, np.array(away)


def grid(low, high):
    return np.linspace(low, high, 1 + int(np.ceil((high - low) / STEP)))


def disc(radius):
    """Return points (n, 2) of a disc, at most STEP apart."""
    rings = [
        radius * share * np.column_stack([np.cos(turn), np.sin(turn)])
        for share in grid(0.0, 1.0)
        for turn in [grid(0.0, 2.0 * np.pi)]
    ]
    return np.concatenate(rings)


def tube(radius, half):
    turn, z = np.meshgrid(grid(0.0, 2.0 * np.pi), grid(-half, half))
    return np.column_stack(
        [radius * np.cos(turn.ravel()), radius * np.sin(turn.ravel()), z.ravel()]
    )


def ball(radius, centre=0.0):
    """Return points of a sphere's surface around (0, 0, centre)."""
    turn, tilt = np.meshgrid(grid(0.0, 2.0 * np.pi), grid(0.0, np.pi))
    across = radius * np.sin(tilt.ravel())
    x, y = across * np.cos(turn.ravel()), across * np.sin(turn.ravel())
    return np.column_stack([x, y, centre + radius * np.cos(tilt.ravel())])


def surface(name):
    """Return samples of a surface, within STEP of each of its points."""
    kind, (a, b, c) = SIZES[name]
    if kind == GeomType.SPHERE:
        return ball(a)
    if kind == GeomType.CAPSULE:
        ends = [ball(a, -b), ball(a, b)]
        ends = [end[abs(end[:, 2]) >= b] for end in ends]
        return np.concatenate([tube(a, b), *ends])
    if kind == GeomType.CYLINDER:
        ends = [np.column_stack([disc(a), np.full(len(disc(a)), z)]) for z in (-b, b)]
        return np.concatenate([tube(a, b), *ends])
    faces = []
    for axis in range(3):
        others = [half for n, half in enumerate((a, b, c)) if n != axis]
        u, v = np.meshgrid(*(grid(-half, half) for half in others))
        flat, half = np.column_stack([u.ravel(), v.ravel()]), (a, b, c)[axis]
        faces += [np.insert(flat, axis, place, 1) for place in (-half, half)]
    return np.concatenate(faces)


def inside(name, x):
    """Return whether each point is inside the solid, from the solid's definition."""
    kind, (a, b, c) = SIZES[name]
    across = np.hypot(x[:, 0], x[:, 1])
    if kind == GeomType.SPHERE:
        return np.linalg.norm(x, axis=1) < a
    if kind == GeomType.CYLINDER:
        return (across < a) & (abs(x[:, 2]) < b)
    if kind == GeomType.CAPSULE:
        caps = [np.linalg.norm(x - [0.0, 0.0, z], axis=1) < a for z in (-b, b)]
        return ((across < a) & (abs(x[:, 2]) < b)) | caps[0] | caps[1]
    return (abs(x) < [a, b, c]).all(axis=1)


def points(name, number=3000):
    rng = np.random.default_rng(len(name))
    return rng.uniform(-1.2, 1.2, (number, 3))


@each_closed_solid
def test_distances_agree_with_samples_of_the_surface(name):
    """No sample is nearer than the distance, and the nearest one is at most STEP farther."""
    x = points(name)
    nearest, _ = cKDTree(surface(name)).query(x)
    ours = np.array([at(name, point)[0] for point in x])
    assert np.array_equal(ours < 0.0, inside(name, x))
    assert (ours < 0.0).sum() > 50
    beyond = nearest - abs(ours)
    assert beyond.min() > -1e-12
    assert beyond.max() < STEP


@each_solid
def test_the_direction_is_the_gradient_and_a_unit_vector(name):
    """Points near ridges are left out, because the direction jumps there."""
    h = 1e-6
    smooth = 0
    for x in points(name, 1000):
        _, away = at(name, x)
        assert np.linalg.norm(away) == pytest.approx(1.0, abs=1e-14)
        sides = [[at(name, x + sign * h * e) for sign in (1, -1)] for e in np.eye(3)]
        if all(np.allclose(side[1], away, atol=1e-3) for pair in sides for side in pair):
            slope = [(plus[0] - minus[0]) / (2 * h) for plus, minus in sides]
            # the errors are h^2 / r^2 for radii of curvature r > 0.01, and rounding of 1e-16 / h
            assert slope == pytest.approx(away, abs=1e-7)
            smooth += 1
    assert smooth > 990


@each_solid
def test_the_direction_leads_to_the_surface(name):
    """Outside, a point at twice the distance has the same direction."""
    for x in points(name, 1000):
        dist, away = at(name, x)
        if dist > 0.0:
            assert at(name, x - dist * away)[0] == pytest.approx(0.0, abs=1e-14)
            farther, same = at(name, x + dist * away)
            assert farther == pytest.approx(2.0 * dist, rel=1e-13)
            assert same == pytest.approx(away, abs=1e-12)


@each_closed_solid
def test_mirrored_points_have_equal_distances_and_mirrored_directions(name):
    for x in points(name, 100):
        dist, away = at(name, x)
        for n in range(8):
            mirror = np.array([-1.0 if n >> bit & 1 else 1.0 for bit in range(3)])
            assert at(name, mirror * x)[0] == dist
            assert np.array_equal(at(name, mirror * x)[1], mirror * away)


@each_solid
def test_ridges_corners_and_the_centre_have_a_direction(name):
    """If the direction is not unique, the result is one valid direction, never NaN."""
    kind, (a, b, c) = SIZES[name]
    halves = (a, b, c) if kind == GeomType.BOX else (a, a, a if kind == GeomType.SPHERE else b)
    for x in np.array(np.meshgrid(*([-1.0, -0.0, 0.0, 1.0],) * 3)).reshape(3, -1).T:
        for place in (x * halves, 0.5 * x * halves, 2.0 * x * halves):
            dist, away = at(name, place)
            assert np.isfinite(dist)
            assert np.linalg.norm(away) == pytest.approx(1.0, abs=1e-14)
            # along the direction the distance grows by h, even from a ridge
            h = 1e-6
            assert at(name, place + h * away)[0] - dist == pytest.approx(h, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "x", "dist", "away"),
    [
        ("plane", (5.0, -3.0, -0.2), -0.2, (0, 0, 1)),
        ("sphere", (0.0, 0.0, 0.0), -0.6, (1, 0, 0)),
        ("sphere", (0.0, -1.0, 0.0), 0.4, (0, -1, 0)),
        ("capsule", (0.0, 0.0, 0.2), -0.3, (1, 0, 0)),
        ("capsule", (0.0, 0.0, 0.8), 0.0, (0, 0, 1)),
        ("capsule", (0.3, 0.4, 0.1), 0.2, (0.6, 0.8, 0)),
        ("capsule", (0.0, 0.4, -0.8), 0.2, (0, 0.8, -0.6)),
        ("cylinder", (0.0, 0.0, 0.0), -0.4, (1, 0, 0)),
        ("cylinder", (0.0, 0.0, 0.5), -0.1, (0, 0, 1)),
        ("cylinder", (0.0, 0.7, -1.0), 0.5, (0, 0.6, -0.8)),
        ("flat cylinder", (0.0, 0.0, 0.0), -0.2, (0, 0, 1)),
        ("box", (0.0, 0.0, 0.0), -0.3, (1, 0, 0)),
        ("box", (0.1, -0.45, 0.0), -0.05, (0, -1, 0)),
        ("box", (0.0, 0.9, 1.0), 0.5, (0, 0.8, 0.6)),
        ("box", (-0.5, -0.6, -0.9), 0.3, (-2 / 3, -1 / 3, -2 / 3)),
    ],
)
def test_distances_equal_results_computed_by_hand(name, x, dist, away):
    ours = at(name, x)
    assert ours[0] == pytest.approx(dist, abs=1e-15)
    assert ours[1] == pytest.approx(away, abs=1e-14)

# SPDX-License-Identifier: Apache-2.0
"""The overlaps of regions, which filter entities, with boxes agree with sampled points."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support.refusals import worded

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.description.parts.geometries import Box, Capsule, Sphere
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.simulator.services.regions import region_of
from rbdyn_ros.ros.simulator.world.places import PlacedShape

EMPTY, BOX, HULL, BALL = range(4)


def bounds(kind, *points):
    corners = [SimpleNamespace(x=x, y=y, z=z) for x, y, z in points]
    types = {"TYPE_EMPTY": EMPTY, "TYPE_BOX": BOX, "TYPE_CONVEX_HULL": HULL, "TYPE_SPHERE": BALL}
    return SimpleNamespace(type=kind, points=corners, **types)


def test_region_of_returns_none_for_empty_bounds():
    assert region_of(bounds(EMPTY)) is None


def test_a_region_overlaps_a_rotated_cube_only_if_they_share_a_point():
    """The cube has edges of 2 m, and extends to x = sqrt(2) after a rotation by 45 degrees."""
    turned = Rotation.from_euler("z", 45, degrees=True).as_quat()[[3, 0, 1, 2]]
    cube = PlacedShape(Box((2.0, 2.0, 2.0)), Pose((0.0, 0.0, 0.0), tuple(turned)))
    for way, overlaps in ((-1e-6, True), (1e-6, False)):
        x = np.sqrt(2.0) + way
        for region in (
            bounds(BOX, (x, -1.0, -1.0), (5.0, 1.0, 1.0)),
            bounds(BOX, (5.0, 1.0, 1.0), (x, -1.0, -1.0)),
            bounds(BALL, (x + 3.0, 0.0, 0.0), (3.0, 0.0, 0.0)),
            bounds(HULL, (x, 0.0, 0.0), (5.0, 1.0, 0.0), (5.0, -1.0, 0.0)),
        ):
            assert region_of(region).overlaps(cube) == overlaps
    # inside the bounding box of the cube, but outside the cube
    assert not region_of(bounds(BOX, (0.8, 0.8, -1.0), (2.0, 2.0, 1.0))).overlaps(cube)
    assert region_of(bounds(BOX, (0.7, 0.7, -1.0), (2.0, 2.0, 1.0))).overlaps(cube)


@pytest.mark.parametrize("shape", [Box((0.4, 0.6, 1.0)), Sphere(0.3), Capsule(0.2, 0.8)])
def test_overlaps_of_regions_agree_with_sampled_points(shape):
    rng, low_high = np.random.default_rng(3), PlacedShape(shape).corners
    verdicts = []
    for _ in range(60):
        R = Rotation.random(random_state=rng)
        at = rng.uniform(-1.2, 1.2, 3)
        part = PlacedShape(shape, Pose(tuple(at), tuple(R.as_quat()[[3, 0, 1, 2]])))
        inside = R.apply(rng.uniform(*low_high, (4000, 3))) + at
        corners = rng.uniform(-0.6, 0.6, (6, 3))
        hull = ConvexHull(corners).equations
        deep = (inside @ hull[:, :3].T + hull[:, 3]).max(axis=1).min()
        found = region_of(bounds(HULL, *corners)).overlaps(part)
        assert found or deep > 0.0
        assert not found or deep < 0.1  # a small overlap may lie between the samples
        ball = region_of(bounds(BALL, corners[0], (0.5, 0.0, 0.0))).overlaps(part)
        near = np.linalg.norm(inside - corners[0], axis=1).min()
        assert ball or near > 0.5
        assert not ball or near < 0.6
        verdicts.append(found)
    assert 5 < sum(verdicts) < 55


@pytest.mark.parametrize(
    "wrong",
    [
        bounds(4),
        bounds(BOX, (0, 0, 0)),
        bounds(BALL, (0, 0, 0), (0, 0, 0)),
        bounds(BALL, (0, 0, 0), (np.nan, 0, 0)),
        bounds(HULL, (0, 0, 0), (1, 0, 0)),
        bounds(HULL, *[(0, 0, 0)] * 1001),
        bounds(BOX, (0, 0, 0), (np.inf, 0, 0)),
    ],
)
def test_region_of_refuses_invalid_bounds(wrong):
    with pytest.raises(RbdynError) as caught:
        region_of(wrong)
    worded("request", caught.value)

# SPDX-License-Identifier: Apache-2.0
"""A live view shows measurements of lidars and cameras as points and pictures."""

import numpy as np
import pytest

from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.sensors import ColorSpec, DepthSpec, LidarSpec
from rbdyn_ros.sensors.scanning import Scan
from rbdyn_ros.sensors.sights import MOST_POINTS, Sight, sight

pytest.importorskip("viser", reason="viser is not installed")

from rbdyn_ros.view.live.sights import Sights
from rbdyn_ros.view.web.server import open_server
from rbdyn_ros.view.web.show import Show

COMMON = {"rate": 10.0, "near": 1.0, "far": 5.0}
PICTURE = {**COMMON, "width": 640, "height": 480}


def test_the_picture_of_a_depth_camera_is_bright_where_depths_are_small():
    depth = np.full((480, 640), 3.0)
    depth[:, :200], depth[:, 200:300], depth[:, 300:400] = 1.0, 5.0, np.inf
    scan = Scan(depth, np.zeros((480, 640, 3)), np.zeros((480, 640), np.int64), ("wall",))
    seen = sight(DepthSpec("eye", "hand", **PICTURE), scan)
    assert seen.picture.shape == (240, 320, 3)
    near, far, nothing, middle = (int(seen.picture[9, x, 1]) for x in (50, 125, 175, 300))
    assert near == 255 > middle > far > nothing == 0


def test_a_small_step_of_depth_is_visible_at_a_large_distance():
    """A cube on a table is visible to a camera whose range is much larger."""
    depth = np.full((4, 4), 0.5)
    depth[1:3, 1:3] = 0.45
    scan = Scan(depth, np.zeros((4, 4, 3)), np.zeros((4, 4), np.int64), ("table",))
    wide = {**PICTURE, "near": 0.02, "far": 9.0}
    picture = sight(DepthSpec("eye", "hand", **wide), scan).picture
    assert int(picture[1, 1, 0]) - int(picture[0, 0, 0]) > 200
    blind = Scan(np.full((4, 4), np.inf), scan.direction, scan.geom, ("table",))
    assert not sight(DepthSpec("eye", "hand", **wide), blind).picture.any()


def test_a_view_shows_smaller_pictures_with_the_same_colours():
    picture = np.random.default_rng(0).integers(0, 255, (480, 640, 3), np.uint8)
    seen = sight(ColorSpec("eye", "hand", **PICTURE), picture)
    np.testing.assert_array_equal(seen.picture, picture[::2, ::2])


def test_a_view_shows_a_limited_number_of_measured_points():
    rng = np.random.default_rng(0)
    along = rng.normal(size=(300, 100, 3))
    distance = rng.uniform(1.0, 5.0, (300, 100))
    distance[0, 0] = np.inf
    scan = Scan(distance, along, np.zeros((300, 100), np.int64), ("wall",))
    seen = sight(LidarSpec("front", "hand", **COMMON), scan)
    assert seen.picture is None
    assert 0.4 * MOST_POINTS < len(seen.points) <= MOST_POINTS
    np.testing.assert_allclose(seen.points[0], scan.points[0, 1], rtol=1e-6)


def test_a_view_shows_pictures_and_points_until_they_are_hidden(arm):
    server = open_server(0)
    try:
        show = Show(server, arm, Appearance())
        points = np.array([(1.0, 0.0, 0.0), (0.0, 2.0, 0.5)], np.float32)
        pictures = [np.full((3, 4, 3), shade, np.uint8) for shade in (10, 200)]
        seen = [
            Sight("eye", "hand", picture=pictures[0]),
            Sight("front", "tool_flange", points=points),
            Sight("gone", "no_link", points=points),
        ]
        sights = Sights(server, show, lambda: seen)
        sights.look()
        np.testing.assert_array_equal(sights._pictures["eye"].image, pictures[0])
        cloud, frame = sights._clouds["front"], arm.frame_id("tool_flange")
        body = arm.frame_bodyid[frame]
        assert cloud.name.startswith(f"{show.nodes.path(body)}/")
        expected = points @ quat_to_mat(arm.frame_quat[frame]).T + arm.frame_pos[frame]
        np.testing.assert_allclose(cloud.points, expected, atol=1e-6)
        assert sights._clouds.keys() == {"front"}
        seen[0] = Sight("eye", "hand", picture=pictures[1])
        sights._next = np.inf
        sights.look()
        # it is too early for a new picture
        np.testing.assert_array_equal(sights._pictures["eye"].image, pictures[0])
        sights._next = 0.0
        sights.look()
        np.testing.assert_array_equal(sights._pictures["eye"].image, pictures[1])
        sights._shown.value = False
        sights._next = 0.0
        sights.look()
        assert not sights._pictures
        assert not sights._clouds
    finally:
        server.stop()

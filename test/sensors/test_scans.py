# SPDX-License-Identifier: Apache-2.0
"""Scans of lidars and range sensors agree with MuJoCo and closed forms, also in a sweep."""

import math

import numpy as np
import pytest
from snapshot import snapshot
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.sensors import DepthSpec, Fan, LidarSpec, RangeNoise, RangeSpec, Suite
from rbdyn_ros.sensors.scanning import INSTANTS

WALL = 3.0  # distance of the wall from the start of the cart [m]


def builder():
    """Build a cart that slides along x and turns about z, near a wall and a ball."""
    return (
        rb.SystemBuilder("cart", base="world")
        .body("slide", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .body("chassis", rb.shapes.box((0.4, 0.3, 0.2), mass=5.0))
        .joint("along", "prismatic", "world", "slide", axis=(1, 0, 0))
        .joint("turn", "continuous", "slide", "chassis", axis=(0, 0, 1))
        .geometry("chassis", "chassis", rb.Box((0.4, 0.3, 0.2)))
        .obstacle("wall", rb.Box((0.2, 20.0, 20.0)), origin=rb.pose((WALL + 0.1, 0, 0)))
        .obstacle("ball", rb.Sphere(0.5), origin=rb.pose((0, 4.0, 0.3)))
    )


def cart():
    return rb.build(builder())


def lidar(**given):
    return LidarSpec("front", "chassis", **{"rate": 10.0, "near": 0.05, "far": 10.0, **given})


def test_a_wall_and_a_ball_have_the_distances_of_closed_forms():
    m = cart()
    d = rb.make_data(m)
    fan = Fan(-1.2, 1.2, 97)
    seen = rb.scan(m, d, lidar(horizontal=fan, vertical=Fan(-0.3, 0.3, 5)))
    azimuth = np.linspace(-1.2, 1.2, 97)
    elevation = np.linspace(-0.3, 0.3, 5)[:, None]
    across = WALL / (np.cos(azimuth) * np.cos(elevation))
    expected = np.where(across <= 10.0, across, np.inf)
    np.testing.assert_allclose(seen.distance, expected, rtol=1e-12)
    assert {seen.names[g] for g in seen.geom.ravel()} == {"wall"}
    np.testing.assert_allclose(seen.points[..., 0], WALL, rtol=1e-12)
    side = rb.scan(m, d, lidar(angles=((0.5 * math.pi, 0.0), (math.pi, 0.0))))
    assert side.distance[0, 0] == pytest.approx(4.0 - math.sqrt(0.25 - 0.09), rel=1e-12)
    assert side.distance[0, 1] == np.inf
    assert np.isnan(side.points[0, 1]).all()


def test_distances_from_a_rotated_and_moved_cart_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    m = cart()
    d = rb.make_data(m)
    d.qpos[:] = 0.4, 0.7
    seen = rb.scan(m, d, lidar(vertical=Fan(-0.4, 0.4, 4), horizontal=Fan(-math.pi, math.pi, 360)))
    text = (
        '<mujoco><worldbody><geom type="box" size="0.1 10 10" pos="3.1 0 0"/>'
        '<geom type="sphere" size="0.5" pos="0 4 0.3"/></worldbody></mujoco>'
    )
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    mujoco.mj_forward(other, data)
    origin, R = rb.frame_pose(m, d, "chassis")
    hit = np.zeros(1, np.int32)
    for ray, distance in zip(
        seen.direction.reshape(-1, 3), seen.distance.reshape(-1), strict=True
    ):
        expected = mujoco.mj_ray(other, data, origin, R @ ray, None, 1, -1, hit)
        far = expected < 0.0 or expected > 10.0
        assert distance == pytest.approx(np.inf if far else expected, abs=1e-9)


def test_a_full_turn_has_one_ray_for_both_ends():
    m = cart()
    seen = rb.scan(m, rb.make_data(m), lidar(horizontal=Fan(-math.pi, math.pi, 8)))
    azimuth = np.arctan2(seen.direction[0, :, 1], seen.direction[0, :, 0])
    np.testing.assert_allclose(np.unwrap(azimuth), np.arange(8) * math.pi / 4 - math.pi)


def test_hits_nearer_than_near_or_beyond_far_read_as_infinity():
    m = cart()
    d = rb.make_data(m)
    ahead = {"horizontal": Fan(0.0, 0.0, 1)}
    assert rb.scan(m, d, lidar(near=3.5, **ahead)).distance.item() == -np.inf
    assert rb.scan(m, d, lidar(far=2.5, **ahead)).distance.item() == np.inf


def test_rays_pass_through_excluded_links_and_meet_other_links():
    m = cart()
    d = rb.make_data(m)
    ahead = {"horizontal": Fan(0.0, 0.0, 1)}
    own = rb.scan(m, d, lidar(exclude=(), **ahead))
    assert own.distance.item() == pytest.approx(0.2)
    assert own.names[own.geom.item()] == "chassis"
    assert rb.scan(m, d, lidar(exclude=("slide", "chassis"), **ahead)).distance.item() == WALL


def test_early_columns_of_a_sweep_are_measured_from_earlier_positions():
    m = cart()
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = (1.0, 0.3), (2.0, -1.5)
    sweep, columns = 0.1, 640
    before = d.qpos.copy(), d.xpos.copy()
    fan = Fan(-0.6, 0.6, columns)
    seen = rb.scan(m, d, lidar(horizontal=fan, sweep=sweep))
    assert np.array_equal(d.qpos, before[0])
    assert np.array_equal(d.xpos, before[1])
    ago = sweep * (1.0 - np.arange(columns) / columns)
    x, turn = 1.0 - 2.0 * ago, 0.3 + 1.5 * ago
    expected = (WALL - x) / np.cos(np.linspace(-0.6, 0.6, columns) + turn)
    late = sweep / INSTANTS / 2.0  # largest error of a column's time [s]
    assert np.abs(seen.distance[0] - expected).max() < late * (2.0 / 0.3 + 1.5 * 3.0 * 4.0)
    # ten columns share an instant, which is halfway between columns 4 and 5
    middle = slice(4, None, 10)
    between = 0.5 * (seen.distance[0, middle] + seen.distance[0, 5::10])
    halfway = 0.5 * (expected[middle] + expected[5::10])
    np.testing.assert_allclose(between, halfway, atol=2e-6)
    still = rb.scan(m, d, lidar(horizontal=fan))
    assert np.abs(still.distance[0] - seen.distance[0]).max() > 0.1


def test_a_range_sensor_measures_the_nearest_distance_in_its_cone():
    m = cart()
    d = rb.make_data(m)
    d.qpos[1] = math.atan2(4.0, 0.0) - 0.15  # the ball is 0.15 rad beside the axis of the sensor
    sensor = {"rate": 20.0, "near": 0.1, "far": 8.0}
    narrow = rb.scan(m, d, RangeSpec("r", "chassis", **sensor))
    wide = rb.scan(m, d, RangeSpec("r", "chassis", field_of_view=0.5, rays=2000, **sensor))
    assert wide.names[wide.geom.item()] == "ball"
    centre = np.array([0.0, 4.0, 0.3])
    assert wide.distance.item() == pytest.approx(np.linalg.norm(centre) - 0.5, abs=2e-3)
    assert narrow.distance.shape == wide.distance.shape == (1, 1)
    assert narrow.direction.tolist() == [[[1.0, 0.0, 0.0]]]


def test_noise_has_the_given_statistics_and_depends_only_on_seed_and_tick():
    m = cart()
    d = rb.make_data(m)
    noisy = lidar(
        horizontal=Fan(-0.5, 0.5, 200), vertical=Fan(-0.5, 0.5, 100),
        noise=RangeNoise(stddev=0.02, bias=0.3), dropout=0.1,
    )  # fmt: skip
    true = rb.scan(m, d, noisy)
    first, again, other, later = (
        rb.scan(m, d, noisy, seed=seed, tick=tick).distance
        for seed, tick in ((5, 7), (5, 7), (6, 7), (5, 8))
    )
    assert first.tobytes() == again.tobytes()
    lost = np.isnan(first)
    assert 0.09 < lost.mean() < 0.11
    error = (first - true.distance)[~lost]
    assert error.mean() == pytest.approx(0.3, abs=0.02 / math.sqrt(error.size) * 4)
    assert error.std() == pytest.approx(0.02, rel=0.05)
    for changed in (other, later):
        assert (np.isnan(changed) != lost).any()
        assert np.nanmax(np.abs(changed - first)) > 0.01


def test_rounding_and_the_ends_of_the_range_are_applied_after_the_noise():
    m = cart()
    d = rb.make_data(m)
    ahead = {"horizontal": Fan(0.0, 0.0, 1)}
    for bias, expected in ((0.013, 3.0), (0.06, 3.1), (-2.0, -np.inf), (8.0, np.inf)):
        sensor = lidar(near=1.5, noise=RangeNoise(bias=bias, resolution=0.1), **ahead)
        assert rb.scan(m, d, sensor, seed=0).distance.item() == pytest.approx(expected)


def test_a_suite_gives_the_readings_of_scan_and_waits_for_a_whole_sweep():
    m = cart()
    specs = [lidar(noise=RangeNoise(0.01), sweep=0.1), lidar(rate=100.0)]
    suite = Suite(m, builder().description(), specs, 1_000_000, seed=3)
    assert suite.every == (100, 10)
    assert suite.due(snapshot(m, tick=0)) == [1]
    assert suite.due(snapshot(m, tick=99)) == [1]
    assert suite.due(snapshot(m, tick=100)) == [0, 1]
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = (0.5, 0.2), (1.0, 1.0)
    ((_, read),) = suite.measure([1], snapshot(m, d, tick=100))
    assert read.distance.tobytes() == rb.scan(m, d, specs[1]).distance.tobytes()
    ((_, read),) = suite.measure([0], snapshot(m, d, tick=100))
    assert read.distance.tobytes() == rb.scan(m, d, specs[0], seed=3, tick=100).distance.tobytes()
    suite.reseed(3, 40)
    ((_, later),) = suite.measure([0], snapshot(m, d, tick=140))
    assert later.distance.tobytes() == read.distance.tobytes()


def test_rays_need_geometries(robot):
    m, description = robot
    sensor = LidarSpec("a", "hand", rate=10.0, near=0.1, far=5.0)
    with refused(rb.ModelError, "no-geometries", "sensor 'a'"):
        rb.scan(m, rb.make_data(m), sensor)
    visible = LidarSpec("a", "hand", rate=10.0, near=0.1, far=5.0, sees="visual")
    with refused(rb.ModelError, "no-visuals"):
        Suite(m, description, [visible], 1_000_000)
    shapes = rb.visual_shapes(m, "config/robots/seven_dof_arm.urdf")
    suite = Suite(m, description, [visible], 1_000_000, visuals=lambda _: shapes)
    ((_, read),) = suite.measure([0], snapshot(m))
    assert np.isfinite(read.distance).any()


@pytest.mark.parametrize(
    ("given", "elements"),
    [
        ({"rate": 0.0}, ["rate"]),
        ({"rate": math.nan, "near": -1.0}, ["rate", "near"]),
        ({"near": 5.0, "far": 5.0}, ["far"]),
        ({"dropout": 1.5}, ["dropout"]),
        ({"latency": -0.1}, ["latency"]),
        ({"sees": "all"}, ["sees"]),
        ({"noise": RangeNoise(stddev=-1.0)}, ["noise"]),
        ({"sweep": 0.2}, ["sweep"]),
        ({"horizontal": Fan(0.0, 7.0, 10)}, ["horizontal"]),
        ({"horizontal": Fan(1.0, -1.0, 10)}, ["horizontal"]),
        ({"horizontal": Fan(1.0, 1.0, 2)}, ["horizontal"]),
        ({"horizontal": Fan(-1.0, 1.0, 0)}, ["horizontal"]),
        ({"horizontal": Fan(-1.0, 1.0, 10**6), "vertical": Fan(-1.0, 1.0, 2)}, ["horizontal"]),
        ({"vertical": Fan(-1.0, 1.7, 2)}, ["vertical"]),
        ({"angles": ()}, ["angles"]),
        ({"angles": ((0.0, math.nan),)}, ["angles"]),
        ({"angles": ((0.0, 1.6),)}, ["angles"]),
    ],
)
def test_all_values_that_are_not_allowed_are_reported_together(given, elements):
    with refused(rb.ParameterError, ["bad-argument"] * len(elements)) as caught:
        lidar(**given)
    assert [finding.element for finding in caught.value.findings] == elements


@pytest.mark.parametrize(
    "given", [{"field_of_view": math.pi}, {"radiation": "sonar"}, {"rays": 0}]
)
def test_a_range_sensor_with_bad_values_is_refused(given):
    with refused(rb.ParameterError, "bad-argument", next(iter(given))):
        RangeSpec("r", "chassis", rate=1.0, near=0.0, far=1.0, **given)


@pytest.mark.parametrize("given", [{"seed": 1.5}, {"seed": 1, "tick": -1}])
def test_a_scan_refuses_a_seed_or_tick_that_is_not_a_whole_number(given):
    m = cart()
    with refused(rb.ParameterError, "bad-argument"):
        rb.scan(m, rb.make_data(m), lidar(), **given)


def test_an_unknown_link_is_refused():
    m = cart()
    sensor = LidarSpec("a", "chasis", rate=10.0, near=0.1, far=5.0)
    with refused(rb.ModelError, "unknown-frame"):
        rb.scan(m, rb.make_data(m), sensor)


@pytest.mark.parametrize("kind", [LidarSpec, RangeSpec, DepthSpec])
def test_a_note_names_the_link_that_encloses_a_sensor(kind):
    system = builder()
    more = {"width": 5, "height": 4, "field_of_view": 1.0} if kind is DepthSpec else {}
    notes = []
    for changes in ({}, {"exclude": ("slide", "chassis")}, {"near": 0.05}):
        spec = kind(
            "front", "slide", **{"rate": 10.0, "near": 0.3, "far": 10.0, **more, **changes}
        )
        notes.append(Suite(rb.build(system), system.description(), [spec], 1_000_000).notes)
    assert notes[1:] == [[], []]
    (note,) = notes[0]
    assert "sensor 'front' end nearer than 0.3 m at link 'chassis'" in note
    assert "'exclude', which is now 'slide'" in note

# SPDX-License-Identifier: Apache-2.0
"""Depth cameras agree with rays, closed forms and OpenCV's lens; wrong settings are refused."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.sensors import ColorSpec, DepthSpec, RangeNoise, read_sensors_text
from rbdyn_ros.sensors.camera_specs import distorted, undistorted

#: Typical coefficients of two lens models, plumb_bob and the rational model.
LENSES = [
    (-0.28, 0.07, 0.0002, 0.00002, 0.0),
    (0.1, -0.2, 0.001, -0.002),
    (0.3, 0.05, 0.001, 0.0005, 0.01, 0.2, 0.1, 0.02),
]


def scene():
    """Return the Model of a turning head with a camera that sees a wall, a ball and a floor."""
    look_along_x = rb.pose((0.1, 0, 0), rpy=(-0.5 * math.pi, 0, -0.5 * math.pi))
    system = (
        rb.SystemBuilder("head", base="world")
        .body("head", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .body("camera", rb.shapes.box((0.01, 0.01, 0.01), mass=0.1))
        .joint("turn", "continuous", "world", "head", axis=(0, 0, 1))
        .joint("mount", "fixed", "head", "camera", origin=look_along_x)
        .geometry("head", "head", rb.Box((0.3, 0.1, 0.1)))
        .obstacle("wall", rb.Box((0.2, 40.0, 40.0)), origin=rb.pose((3.2, 0, 0)))
        .obstacle("ball", rb.Sphere(0.4), origin=rb.pose((2.0, 0.2, 0.1)))
        .obstacle("floor", rb.Plane(), origin=rb.pose((0, 0, -0.8)))
    )
    return rb.build(system)


def camera(**given):
    values = {
        "rate": 10.0,
        "near": 0.05,
        "far": 8.0,
        "width": 64,
        "height": 48,
        "exclude": ("head",),
    }
    return DepthSpec("eye", "camera", **{**values, **given})


def test_depth_of_a_wall_is_the_same_in_the_whole_picture():
    m = scene()
    seen = rb.scan(m, rb.make_data(m), camera(field_of_view=1.2))
    wall = seen.geom == seen.names.index("wall")
    np.testing.assert_allclose(seen.distance[wall], 3.0, rtol=1e-12)
    assert 0.2 < wall.mean() < 0.9
    assert {seen.names[g] for g in seen.geom.flat} == {"wall", "ball", "floor"}
    # the ball is left of the centre and above it, and the floor is below the centre
    rows, columns = np.nonzero(seen.geom == seen.names.index("ball"))
    assert columns.mean() < 31.5
    assert rows.mean() < 23.5
    assert np.nonzero(seen.geom == seen.names.index("floor"))[0].min() > 23.5
    floor = seen.points[seen.geom == seen.names.index("floor")]
    np.testing.assert_allclose(floor[:, 1], 0.8, rtol=1e-12)


@pytest.mark.parametrize("lens", [(), *LENSES])
def test_depth_agrees_with_rays(lens):
    m = scene()
    d = rb.make_data(m)
    d.qpos[0] = 0.15
    eye = camera(intrinsics=(60.0, 58.0, 30.3, 24.1), distortion=lens)
    seen = rb.scan(m, d, eye)
    pixels = np.stack(np.meshgrid(np.arange(64), np.arange(48)), axis=-1).reshape(-1, 2)
    shown = (pixels - (30.3, 24.1)) / (60.0, 58.0)
    plane = undistorted(shown, lens)
    rays = np.column_stack([plane, np.ones(len(plane))])
    hits = rb.cast_rays(m, d, [0, 0, 0], rays, frame="camera", exclude=["head"])
    depth = hits.distance / np.linalg.norm(rays, axis=1)
    expected = np.where(depth > 8.0, np.inf, depth)
    np.testing.assert_allclose(seen.distance.reshape(-1), expected, rtol=1e-12)
    np.testing.assert_allclose(distorted(plane, lens), shown, atol=1e-12)


@pytest.mark.parametrize("lens", LENSES)
def test_the_lens_matches_opencv(lens):
    cv2 = pytest.importorskip("cv2", reason="opencv-python is not installed")
    rng = np.random.default_rng(0)
    plane = rng.uniform(-0.5, 0.5, (500, 2))
    points = np.column_stack([plane, np.ones(500)])
    zero = np.zeros(3)
    theirs, _ = cv2.projectPoints(points, zero, zero, np.eye(3), np.array(lens))
    np.testing.assert_allclose(distorted(plane, lens), theirs[:, 0], atol=1e-14)


def test_the_field_of_view_spans_the_width_of_the_picture():
    fx, fy, cx, cy = camera(field_of_view=1.0, width=100, height=20).matrix
    assert 2.0 * math.atan(0.5 * 100 / fx) == pytest.approx(1.0)
    assert (fy, cx, cy) == (fx, 49.5, 9.5)


def test_near_far_and_noise_apply_to_the_depth_not_to_the_distance():
    m = scene()
    d = rb.make_data(m)
    seen = rb.scan(m, d, camera(near=1.8, far=2.9))
    ball = seen.distance[np.isfinite(seen.distance)]
    assert ball.min() >= 1.8
    assert (seen.distance == -np.inf).any()
    assert set(seen.geom[seen.distance == np.inf]) == {-1}
    biased = rb.scan(m, d, camera(noise=RangeNoise(bias=0.5, resolution=0.25)), seed=1)
    corner = biased.distance[0, 0]
    assert corner == 3.5


@pytest.mark.parametrize(
    ("given", "element"),
    [
        ({"width": 0}, "width"),
        ({"height": 10**6}, "width"),
        ({"field_of_view": math.pi}, "field_of_view"),
        ({"field_of_view": 0.0}, "field_of_view"),
        ({"field_of_view": 5e-324}, "field_of_view"),
        ({"intrinsics": (0.0, 1.0, 2.0, 3.0)}, "intrinsics"),
        ({"intrinsics": (math.nan, 1.0, 2.0, 3.0)}, "intrinsics"),
        ({"intrinsics": (1e-300, 1.0, 2.0, 3.0)}, "intrinsics"),
        ({"intrinsics": (60.0, 60.0, 1e300, 3.0)}, "intrinsics"),
        ({"distortion": (0.1, 0.2)}, "distortion"),
        ({"distortion": (0.1, math.inf, 0.0, 0.0)}, "distortion"),
        ({"distortion": (-2.0, 0.0, 0.0, 0.0), "field_of_view": 2.0}, "distortion"),
        ({"encoding": "mono8"}, "encoding"),
        ({"encoding": "16UC1", "far": 70.0}, "far"),
        ({"near": 9.0}, "far"),
    ],
)
def test_values_that_are_not_allowed_are_refused(given, element):
    with refused(rb.ParameterError, "bad-argument", element):
        camera(**given)


@pytest.mark.parametrize(
    "given",
    [{"distortion": None}, {"intrinsics": 5}, {"noise": None}, {"exclude": 5}, {"exclude": [5]}],
)
def test_values_of_other_types_are_refused(given):
    with refused(rb.ParameterError, "bad-argument", *given):
        camera(**given)


def test_lists_in_the_arguments_of_a_camera_become_tuples():
    given = {"distortion": np.zeros(4), "exclude": ["eye"]}
    assert hash(camera(**given)) == hash(camera(distortion=(0.0,) * 4, exclude=("eye",)))


def test_other_compressions_are_refused():
    with refused(rb.ParameterError, "bad-argument", "compressed"):
        ColorSpec("eye", "camera", rate=1.0, near=0.1, far=8.0, width=8, height=8,
                  compressed="webp")  # fmt: skip


FILE = """rbdyn_sensors: 1
sensors:
  eye:
    type: depth
    link: hand
    rate: 15
    near: 0.1
    far: 5
    width: 640
    height: 480
    intrinsics: [600, 601, 320, 240]
    distortion: [0.1, -0.2, 0, 0]
    encoding: 16UC1
    segmentation: true
    noise: {range: {stddev: 0.001}}
"""


def test_a_depth_camera_is_read_from_a_file(robot):
    (eye,) = read_sensors_text(FILE + "    method: rays\n", *robot)
    assert eye == DepthSpec(
        "eye",
        "hand",
        rate=15.0,
        near=0.1,
        far=5.0,
        noise=RangeNoise(0.001),
        width=640,
        height=480,
        intrinsics=(600.0, 601.0, 320.0, 240.0),
        distortion=(0.1, -0.2, 0.0, 0.0),
        encoding="16UC1",
        segmentation=True,
        method="rays",
    )


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("width: 640", "width: 0", "bad-value", 9),
        ("width: 640", "width: -3", "bad-value", 9),
        ("    width: 640\n", "", "missing-key", 5),
        ("intrinsics: [600, 601, 320, 240]", "field_of_view: 3.1416", "bad-value", 11),
        ("intrinsics: [600, 601, 320, 240]", "intrinsics: [600, 601]", "bad-value", 11),
        ("    intrinsics: [600, 601, 320, 240]\n", "", "missing-key", 4),
        ("distortion: [0.1, -0.2, 0, 0]", "distortion: [1]", "bad-value", 12),
        ("encoding: 16UC1", "encoding: rgb8", "bad-value", 13),
        ("encoding: 16UC1", "method: embree", "bad-value", 13),
        ("segmentation: true", "segmentation: 1", "bad-value", 14),
        ("rate: 15", "rate: 2000", "bad-value", 6),
        ("link: hand", "link: eye_optical_frame", "unknown-link", 5),
        ("link: hand", "link: base_link", "no-parent", 5),
    ],
)
def test_the_error_of_a_bad_value_in_a_file_names_its_line(robot, old, new, code, line):
    text = FILE.replace(old, new)
    with refused(DescriptionError, code, "sensor 'eye'") as caught:
        read_sensors_text(text, *robot, period_ns=1_000_000)
    if code != "missing-key":
        assert caught.value.line == line


COLOR = FILE.replace("type: depth", "type: color")


def test_a_colour_camera_is_read_from_a_file(robot):
    text = "".join(
        line
        for line in COLOR.splitlines(keepends=True)
        if line.split(":")[0].strip() not in ("encoding", "segmentation", "noise")
    )
    more = "    latency: 0.1\n    exclude: []\n    compressed: png\n"
    (eye,) = read_sensors_text(text + more, *robot)
    assert eye == ColorSpec(
        "eye",
        "hand",
        rate=15.0,
        near=0.1,
        far=5.0,
        latency=0.1,
        exclude=(),
        width=640,
        height=480,
        intrinsics=(600.0, 601.0, 320.0, 240.0),
        distortion=(0.1, -0.2, 0.0, 0.0),
        compressed="png",
    )


def test_a_colour_camera_has_no_encoding_noise_or_segmentation(robot):
    codes = ["unknown-key"] * 3
    with refused(DescriptionError, codes, "sensor 'eye'") as caught:
        read_sensors_text(COLOR, *robot)
    assert [finding.line for finding in caught.value.findings] == [13, 14, 15]

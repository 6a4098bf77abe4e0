# SPDX-License-Identifier: Apache-2.0
"""Pictures without a display show objects at the right places, with colours and shadows."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.drawing import needs_renderer
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.sensors import ColorSpec, DepthSpec
from rbdyn_ros.view.render import context
from rbdyn_ros.view.render.projection import looking
from rbdyn_ros.view.render.renderer import Renderer

CUBES = """<robot name="cubes">
  <link name="world"/>
  <joint name="slide" type="prismatic"><parent link="world"/><child link="red"/>
    <origin xyz="2 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="red"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><geometry><box size="0.4 0.4 0.4"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
    <collision><geometry><box size="0.4 0.4 0.4"/></geometry></collision></link>
  <joint name="mount" type="fixed"><parent link="world"/><child link="camera"/>
    <origin xyz="0 0 0.5" rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>
  <link name="camera"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
</robot>"""


def camera(**given):
    values = {"rate": 10.0, "near": 0.05, "far": 50.0, "width": 160, "height": 120}
    return ColorSpec("eye", "camera", **{**values, **given})


@pytest.fixture(scope="module")
def cubes():
    return rb.load_urdf(CUBES, contact=True)


def is_red(picture):
    red, green, blue = picture.astype(int).transpose(2, 0, 1)
    return (red > 2 * green) & (red > 2 * blue)


@needs_renderer
@pytest.mark.parametrize(
    "lens",
    [{}, {"distortion": (-0.25, 0.05, 0.002, -0.001)}, {"intrinsics": (90.0, 100.0, 70.5, 50.2)}],
)
@pytest.mark.parametrize("slide", [0.0, 0.4, -0.5])
def test_a_picture_shows_a_cube_where_rays_hit_the_cube(cubes, lens, slide):
    """Only pixels at the edge of the cube may differ, and at most half of these pixels do."""
    d = rb.make_data(cubes)
    d.qpos[0] = slide
    picture = rb.render(cubes, d, camera(**lens), CUBES)
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    depth = DepthSpec("d", "camera", rate=1.0, near=0.0, far=50.0, width=160, height=120, **lens)
    met = rb.scan(cubes, d, depth, shapes=rb.visual_shapes(cubes, CUBES))
    cube = met.geom == met.names.index("red")
    assert cube.sum() > 300
    wrong = is_red(picture) != cube
    edge = np.zeros_like(cube)
    for axis in (0, 1):
        for step in (-1, 1):
            edge |= np.roll(cube, step, axis) != cube
    assert not (wrong & ~edge).any()
    assert wrong.sum() < 0.5 * edge.sum()


@needs_renderer
def test_pictures_of_one_state_are_equal_and_another_state_has_another_picture(cubes):
    looks = read_appearance(CUBES)
    renderers = [Renderer(cubes, looks) for _ in range(2)]
    still = Instant.still(cubes, np.zeros(1))
    first, again = (renderer.draw(still, camera()) for renderer in renderers)
    assert first.tobytes() == again.tobytes()
    renderers[0].draw(Instant.still(cubes, np.ones(1)), camera(width=50))
    assert renderers[0].draw(still, camera()).tobytes() == first.tobytes()
    moved = renderers[0].draw(Instant.still(cubes, np.ones(1)), camera())
    assert moved.tobytes() != first.tobytes()


@needs_renderer
def test_the_sun_casts_a_shadow_on_the_floor(cubes):
    d = rb.make_data(cubes)
    above = {"eye": (2.0, 0.0, 4.0), "target": (2.0, 0.0, 0.0)}
    lit = rb.render(cubes, d, camera(), CUBES, **above).astype(int).sum(axis=2)
    d.qpos[0] = 2.0
    moved = rb.render(cubes, d, camera(), CUBES, **above).astype(int).sum(axis=2)
    darker = (lit < moved - 60) & ~is_red(
        rb.render(cubes, rb.make_data(cubes), camera(), CUBES, **above)
    )
    assert darker.sum() > 100
    # the sun is in the south-east, so the shadow is to the north-west of the cube
    rows, columns = np.nonzero(darker)
    assert rows.mean() < 59.5
    assert columns.mean() < 79.5


@needs_renderer
def test_a_picture_with_eye_and_target_has_the_target_in_its_middle(cubes):
    d = rb.make_data(cubes)
    picture = rb.render(cubes, d, camera(), CUBES, eye=(0.0, -3.0, 0.5), target=(2.0, 0.0, 0.5))
    rows, columns = np.nonzero(is_red(picture))
    assert rows.mean() == pytest.approx(59.5, abs=1.0)
    assert columns.mean() == pytest.approx(79.5, abs=1.5)
    sky = picture[0, 0]
    assert sky[2] > sky[0]


@needs_renderer
def test_a_picture_shows_the_body_of_the_camera_unless_exclude_names_the_body(cubes):
    d = rb.make_data(cubes)
    assert is_red(rb.render(cubes, d, camera(), CUBES)).any()
    assert not is_red(rb.render(cubes, d, camera(exclude=("red",)), CUBES)).any()


@needs_renderer
def test_a_picture_without_an_appearance_shows_boxes_of_inertia(cubes):
    d = rb.make_data(cubes)
    empty = rb.render(cubes, d, camera(exclude=("red",)))
    boxes = rb.render(cubes, d, camera())
    assert (empty == boxes).all(), "`exclude` with the name of a link has hidden the box of a body"
    away = rb.make_data(cubes)
    away.qpos[0] = 1.9
    assert (rb.render(cubes, away, camera()) != boxes).any()


@pytest.mark.nightly  # test_a_picture_shows_a_cube_where_rays_hit_the_cube has the same lens
@needs_renderer
def test_a_calibration_by_opencv_finds_the_intrinsics_of_the_camera():
    """OpenCV finds the focal lengths, the centre and the distortion from pictures of a board."""
    cv2 = pytest.importorskip("cv2", reason="opencv-python is not installed")
    squares = [
        f'<visual><origin xyz="{0.1 * x:.2f} {0.1 * y:.2f} 0"/><geometry>'
        f'<box size="0.1 0.1 0.001"/></geometry>'
        f'<material name="{c}"><color rgba="{v} {v} {v} 1"/></material></visual>'
        for x in range(-5, 6)
        for y in range(-4, 5)
        for c, v in [("black", 0.02) if (x + y) % 2 == 0 else ("white", 0.95)]
    ]
    text = f'<robot name="board"><link name="board">{"".join(squares)}</link></robot>'
    m = rb.load_urdf(text)
    looks = read_appearance(text)
    lens = (-0.2, 0.05, 0.001, -0.001, 0.0)
    eye = ColorSpec(
        "eye", "board", rate=1.0, near=0.05, far=10.0, width=1280, height=960,
        intrinsics=(1000.0, 1010.0, 645.0, 472.0), distortion=lens,
    )  # fmt: skip
    renderer = Renderer(m, looks)
    board = np.array([(0.1 * x, 0.1 * y, 0.0) for y in range(8) for x in range(10)], np.float32)
    found = []
    rng = np.random.default_rng(1)
    for _ in range(30):
        away = np.array([rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0), 1.0])
        start, R = looking(rng.uniform(1.0, 1.5) * away, rng.uniform(-0.15, 0.15, 3) * (1, 1, 0))
        roll = Rotation.from_euler("z", rng.uniform(-3.0, 3.0)).as_matrix()
        picture = renderer.draw(Instant.still(m, m.qpos0), eye, (start, R @ roll))
        gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        ok, corners = cv2.findChessboardCornersSB(gray, (10, 8))
        if ok:
            found.append(corners)
    assert len(found) >= 20
    error, matrix, coefficients, _, _ = cv2.calibrateCamera(
        [board] * len(found), found, (1280, 960), None, None, flags=cv2.CALIB_FIX_K3
    )
    assert error < 0.15  # mean error [pixels]
    fx, fy, cx, cy = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
    assert (fx, fy) == pytest.approx((1000.0, 1010.0), rel=1e-3)
    assert (cx, cy) == pytest.approx((645.0, 472.0), abs=1.0)
    assert coefficients.ravel()[:4] == pytest.approx(lens[:4], abs=0.01)


def test_a_picture_on_a_machine_without_a_renderer_is_refused(cubes, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(context.importlib, "import_module", missing)
    with refused(rb.ParameterError, "no-renderer"):
        rb.render(cubes, rb.make_data(cubes), camera(), CUBES)


@pytest.mark.parametrize(
    ("given", "element"),
    [
        ({"eye": (0, 0, 1)}, "eye"),
        ({"eye": (0, 0, 1), "target": (0, 0, 1)}, "target"),
        ({"eye": (0, 0, math.nan), "target": (0, 0, 1)}, "eye"),
    ],
)
def test_invalid_points_of_a_picture_are_refused(cubes, given, element):
    with refused(rb.ParameterError, "bad-argument", element):
        rb.render(cubes, rb.make_data(cubes), camera(), CUBES, **given)


def test_a_picture_with_an_invalid_camera_is_refused(cubes):
    with refused(rb.ParameterError, "bad-argument", "camera"):
        rb.render(cubes, rb.make_data(cubes), "camera", Appearance())
    with refused(rb.ParameterError, "bad-argument", "near"):
        camera(near=0.0)


@needs_renderer
def test_a_distant_far_plane_does_not_hide_near_objects(cubes):
    d = rb.make_data(cubes)
    pictures = [rb.render(cubes, d, camera(near=0.01, far=far), CUBES) for far in (10.0, 1e6)]
    assert is_red(pictures[0]).sum() == is_red(pictures[1]).sum() > 0


@needs_renderer
def test_a_picture_larger_than_opengl_draws_is_refused(cubes):
    with refused(rb.ParameterError, "bad-argument", "width"):
        rb.render(cubes, rb.make_data(cubes), camera(width=1_000_000, height=1), CUBES)

# SPDX-License-Identifier: Apache-2.0
"""Films show the requested motion with the requested frames, from one point of view."""

import itertools
import shutil
import sys

import numpy as np
import pytest
from support.drawing import needs_renderer
from support.refusals import refused
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.pictures import animation
from rbdyn_ros.view.pictures.animation import animate
from rbdyn_ros.view.render.renderer import Renderer
from rbdyn_ros.view.scene.parts import equivalent_box
from rbdyn_ros.view.scene.plain import plain_looks
from rbdyn_ros.view.scene.scene import VISUALS, Scene

pytestmark = needs_renderer
Image = pytest.importorskip("PIL.Image")

SIZE = (200, 150)


@pytest.fixture
def m():
    return rb.load_urdf(bundled_robot("pendulum"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "film.gif"


def frames(path):
    """Return all frames (frames, height, width, 3) and the duration [ms] of each frame."""
    with Image.open(path) as film:
        pictures, times = [], []
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB"), float))
            times.append(film.info["duration"])
    return np.array(pictures), times


def test_a_film_has_one_frame_for_each_given_configuration(m, path):
    qpos = np.linspace(0.0, 1.0, 4)[:, None] * np.ones(m.nq)
    animate(m, qpos, path, fps=20, size=SIZE)
    pictures, times = frames(path)
    assert pictures.shape == (4, 150, 200, 3)
    assert times == [50] * 4
    for one, other in itertools.pairwise(pictures):
        assert np.abs(one - other).max() > 50  # the robot has moved


def test_a_film_of_a_simulation_starts_at_the_state_of_the_data(m, path):
    d, e = rb.make_data(m), rb.make_data(m)
    d.qpos = e.qpos = 0.5
    animate(m, d, path, duration=0.4, fps=25, size=SIZE)
    assert len(frames(path)[1]) == 11
    rb.step(m, e, 400)
    assert d.time == pytest.approx(0.4)
    assert d.qpos.tobytes() == e.qpos.tobytes()


def test_a_film_of_a_simulation_has_frames_at_equal_intervals(m, path):
    """The timestep of this simulation does not divide the interval of the frames."""
    m.opt.timestep = 0.003
    d = rb.make_data(m)
    d.qvel = 1.0
    times = [one.time for one in animation._simulated(m, d.copy(), 1.0, 100.0 / 3.0)]
    assert np.abs(np.array(times) - 0.03 * np.arange(len(times))).max() <= 0.5 * 0.003 + 1e-9
    animate(m, d, path, duration=0.2, fps=30, size=SIZE)
    _, shown = frames(path)
    assert shown == [30] * len(shown)  # a .gif gives times in hundredths of a second


def test_a_film_of_positions_moves_driven_joints_over_time():
    register()
    m = rb.build(everything())
    instants = animation._given(m, np.tile(m.qpos0, (30, 1)), None, None, 25.0)
    scene, k, body = Scene(m, plain_looks(m)), 25, m.jnt_bodyid[m.jnt_id("sway")]
    first, later = (quat_to_mat(scene.place(instants[n]).xquat[body]) for n in (0, k))
    assert np.trace(first.T @ later) == pytest.approx(1.0 + 2.0 * np.cos(np.sin(k / 25.0)))


def test_the_box_drawn_for_a_body_has_the_inertia_of_the_body():
    inertial = shapes.box((0.3, 0.5, 0.7), mass=2.0)
    edges = equivalent_box(np.array([2.0]), np.array([inertial.inertia[:3]]))
    assert np.allclose(edges, [[0.3, 0.5, 0.7]], rtol=1e-12)
    # no real body has this inertia
    flat = equivalent_box(np.array([1.0]), np.array([[1.0, 1.0, 3.0]]))
    assert np.isfinite(flat).all()


LOOKS = """<robot name="r">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><origin xyz="0 0 0.5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1"/><geometry><cylinder radius="0.1" length="0.4"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material></visual>
  </link>
  <link name="tip">
    <inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="a" type="continuous"><parent link="base"/><child link="arm"/></joint>
  <joint name="b" type="continuous"><parent link="arm"/><child link="tip"/>
    <origin xyz="0 0 2"/></joint>
</robot>"""


def test_a_film_shows_the_colour_of_a_visual(path):
    m = rb.load_urdf(LOOKS)
    shown = []
    for looks in (None, LOOKS):
        animate(m, [m.qpos0], path, looks=looks, size=SIZE)
        shown.append(frames(path)[0][0])
    red = [(picture[..., 0] > picture[..., 1] + 100).mean() for picture in shown]
    assert red[0] == 0.0 < red[1]


def test_a_film_reports_a_visual_whose_mesh_file_is_missing(path):
    mesh = LOOKS.replace('<cylinder radius="0.1" length="0.4"/>', '<mesh filename="gone.stl"/>')
    (finding,) = animate(rb.load_urdf(LOOKS), [[0.0, 0.0]], path, looks=mesh, size=SIZE).findings
    assert "gone.stl" in finding.message


def test_a_body_without_visuals_is_drawn_by_its_contact_geometries():
    """A single contact point has no volume, so it is not drawn."""
    s = rb.SystemBuilder("top", base="world").body("top", shapes.top(0.2, 0.05, 0.2))
    s.joint("free", "floating", "world", "top").floor()
    s.geometry("foot", "top", rb.Points(((0, 0, 0),)))
    s.geometry("disk", "top", rb.Cylinder(0.2, 0.05), origin=rb.pose((0, 0, 0.2)))
    (disk,) = plain_looks(rb.build(s)).visuals
    assert (disk.link, disk.shape, disk.origin.pos) == ("top", rb.Cylinder(0.2, 0.05), (0, 0, 0.2))


def test_a_body_without_geometries_is_drawn_as_a_box_of_its_inertia():
    box = shapes.box((0.2, 0.4, 0.6), mass=1.0, at=rb.pose((0.0, 0.0, 1.0)))
    joint = Joint("j", "continuous", "base", "arm", axis=(1.0, 0.0, 0.0))
    m = rb.build(Description("r", (Link("base"), Link("arm", box)), (joint,)))
    scene = Scene(m, plain_looks(m))
    for qpos, low, high in (
        (0.0, [-0.1, -0.2, 0.7], [0.1, 0.2, 1.3]),
        (np.pi / 2, [-0.1, -1.3, -0.2], [0.1, -0.7, 0.2]),
    ):
        (box,), at = scene.parts(VISUALS), scene.place(Instant.still(m, np.array([qpos])))
        corners = box.corners() @ quat_to_mat(at.xquat[1]).T + at.xpos[1]
        assert np.allclose(corners.min(axis=0), low)
        assert np.allclose(corners.max(axis=0), high)


def test_each_object_of_a_scene_has_its_own_colour():
    cube = rb.Box((0.1, 0.1, 0.1))
    objects = [rb.Object(f"{k}", cube, mass=1.0, pose=rb.pose((k, 0, 0))) for k in range(3)]
    looks = plain_looks(rb.scene(objects=objects))
    assert len({look.color for look in looks.visuals}) == 3


@pytest.mark.parametrize("size", [(300, 100), (100, 300)])
def test_the_robot_is_in_the_picture_during_the_whole_motion(m, size):
    """The robot's corners at all instants are in the picture, and cover over half of one side."""
    qpos = np.linspace(0.0, 6.0, 20)[:, None] * np.ones(m.nq)
    instants = animation._given(m, qpos, None, None, 25.0)
    with Renderer(m, plain_looks(m)) as renderer:
        camera, (eye, axes) = renderer.framing(instants, size, np.array([1.0, -2.0, 0.5]))
        points = renderer._scene.points(instants)
    x, y, z = ((points - eye) @ axes).T
    fx, fy, cx, cy = camera.matrix
    places = np.stack([fx * x / z + cx, fy * y / z + cy])
    assert (places > 0.0).all()
    edges = np.array(size)
    assert (edges > places.T).all()
    assert (np.ptp(places, axis=1) / edges).max() > 0.5


def boxed():
    """Return the Model and Data of a box of 1 kg that rests on a floor."""
    s = rb.SystemBuilder("r", base="world").body("box", shapes.box((0.2, 0.2, 0.2), mass=1.0))
    s.joint("free", "floating", "world", "box").floor().geometry("box", "box", rb.Box((0.2,) * 3))
    m = rb.build(s)
    d = rb.make_data(m)
    d.qpos[2] = 0.1
    rb.step(m, d, 100)
    return m, d


def test_a_film_shows_the_floor_of_the_world(path):
    m, d = boxed()
    animate(m, [d.qpos], path, size=SIZE)
    (corner,) = frames(path)[0][:, -1, 0]
    assert np.ptp(corner) < 30.0  # the corner is grey, and not blue as the sky


def test_a_film_shows_contact_points_and_forces(path):
    """A simulation and given contacts have equal arrows; without contacts there are no arrows."""
    m, d = boxed()
    points = np.concatenate([d.contact_pos[:4], d.contact_force[:4]], axis=1)
    animate(m, [d.qpos] * 2, path, contacts=[points, points[:0]], size=SIZE)
    given, _ = frames(path)
    animate(m, d, path, duration=0.04, size=SIZE)
    simulated, _ = frames(path)
    green = [(one[..., 1] > one[..., 0] + 80).mean() for one in (*given, simulated[0])]
    assert green[0] > 0.001
    assert green[1] == 0.0
    assert np.mean(np.abs(given[0] - simulated[0]).max(axis=2) > 40) < 0.01


def test_a_film_without_a_renderer_is_refused_before_the_simulation(m, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "moderngl", None)
    d = rb.make_data(m)
    with refused(rb.ParameterError, "no-renderer", "renderer"):
        animate(m, d, path, duration=1.0)
    assert d.time == 0.0  # nothing was simulated
    assert not path.exists()


def test_a_robot_without_joints_and_mass_has_a_film(path):
    stone = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    animate(stone, np.zeros((2, 0)), path, size=SIZE)
    assert len(frames(path)[1]) >= 1


@pytest.mark.parametrize("motion", [np.zeros((3, 5)), np.zeros((0, 1)), "swing", None])
def test_a_motion_that_is_no_data_or_array_of_positions_is_refused(m, path, motion):
    with refused(rb.ParameterError, "bad-motion", "motion"):
        animate(m, motion, path)


@pytest.mark.parametrize(
    ("motion", "more", "code", "element"),
    [
        ([[0.0], [np.nan]], {}, "bad-motion", "motion"),
        ([[0.0]], {"duration": 1.0}, "bad-duration", "duration"),
        ([[0.0]], {"contacts": []}, "bad-contacts", "contacts"),
        ([[0.0]], {"contacts": [np.zeros((2, 3))]}, "bad-contacts", "contacts"),
        ([[0.0]], {"contacts": [np.full((1, 6), np.nan)]}, "bad-contacts", "contacts"),
        ([[0.0]], {"contacts": 3}, "bad-contacts", "contacts"),
        ([[0.0]], {"fps": 0}, "bad-fps", "fps"),
        ([[0.0]], {"fps": np.nan}, "bad-fps", "fps"),
        ([[0.0]], {"size": (0, 100)}, "bad-size", "size"),
        ([[0.0]], {"size": (3.0, 2.0)}, "bad-size", "size"),
    ],
)
def test_invalid_arguments_of_a_film_are_refused(m, path, motion, more, code, element):
    with refused(rb.ParameterError, code, element):
        animate(m, motion, path, **more)
    assert not path.exists()


@pytest.mark.parametrize(
    "duration",
    [None, -1.0, 1e4],
)
def test_an_invalid_duration_of_a_film_is_refused(m, path, duration):
    d = rb.make_data(m)
    with refused(rb.ParameterError, "bad-duration", "duration"):
        animate(m, d, path, duration=duration)
    with refused(rb.ParameterError, "bad-contacts", "contacts"):
        animate(m, d, path, duration=1.0, contacts=[])
    assert d.time == 0.0


def test_a_simulation_that_diverges_writes_no_film(m, path):
    d = rb.make_data(m)
    d.qvel = np.nan
    with refused(rb.ModelError, "diverged", m.name):
        animate(m, d, path, duration=1.0)
    assert not path.exists()


def test_a_data_of_another_model_is_refused(m, path):
    other = m.replaced()
    with refused(rb.ModelError, "data-of-other-model"):
        animate(m, rb.make_data(other), path, duration=1.0)
    with refused(rb.ModelError, "not-a-model"):
        animate(3, [[0.0]], path)


def test_a_film_with_an_unknown_suffix_is_refused(m, tmp_path):
    with refused(rb.ParameterError, "unknown-suffix", "path"):
        animate(m, [[0.0]], tmp_path / "film.avi")


def test_an_mp4_film_without_ffmpeg_is_refused_before_the_simulation(m, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    d = rb.make_data(m)
    with refused(rb.ParameterError, "no-ffmpeg", "path"):
        animate(m, d, tmp_path / "film.mp4", duration=1.0)
    assert d.time == 0.0  # nothing was simulated


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_animate_writes_an_mp4_film(m, tmp_path):
    animate(m, [[0.0], [0.5], [1.0]], tmp_path / "film.mp4", size=SIZE)
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"

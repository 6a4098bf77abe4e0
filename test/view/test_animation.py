# SPDX-License-Identifier: Apache-2.0
"""Films: as many frames as asked, of the right motion, in a view that stays the same."""

import itertools
import shutil

import numpy as np
import pytest
from support import trees
from support.refusals import refused
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.pictures import animation
from rbdyn_ros.view.pictures.animation import animate
from rbdyn_ros.view.pictures.scene import PictureScene
from rbdyn_ros.view.pictures.solids import simplified, solids_of
from rbdyn_ros.view.scene.parts import equivalent_box

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

SIZE = (2.0, 1.5)


@pytest.fixture
def m():
    return rb.load_urdf(bundled_robot("pendulum"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "film.gif"


def frames(path):
    """Return all frames (frames, height, width, 3) and the time each is shown [ms]."""
    with Image.open(path) as film:
        pictures, times = [], []
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB"), float))
            times.append(film.info["duration"])
    return np.array(pictures), times


def test_a_motion_given_by_positions(m, path):
    qpos = np.linspace(0.0, 1.0, 4)[:, None] * np.ones(m.nq)
    animate(m, qpos, path, fps=20, size=SIZE)
    pictures, times = frames(path)
    assert pictures.shape == (4, 150, 200, 3)
    assert times == [50] * 4
    for one, other in itertools.pairwise(pictures):
        assert np.abs(one - other).max() > 50  # it moves


def test_a_simulation_starts_from_the_data(m, path):
    d, e = rb.make_data(m), rb.make_data(m)
    d.qpos = e.qpos = 0.5
    animate(m, d, path, duration=0.4, fps=25, size=SIZE)
    assert len(frames(path)[1]) == 11
    rb.step(m, e, 400)
    assert d.time == pytest.approx(0.4)
    assert d.qpos.tobytes() == e.qpos.tobytes()


def test_frames_of_a_simulation_are_one_frame_time_apart(m, monkeypatch, path):
    """Also where the timestep does not divide the time of a frame."""
    m.opt.timestep = 0.003
    d, seen = rb.make_data(m), []
    d.qvel = 1.0
    real = animation.kinematics
    monkeypatch.setattr(animation, "kinematics", lambda m, d: (seen.append(d.time), real(m, d)))
    animate(m, d, path, duration=1.0, fps=30, size=SIZE)
    _, times = frames(path)
    assert times == [30] * len(times)  # a .gif counts hundredths of a second
    assert np.abs(np.array(seen) - 0.03 * np.arange(len(seen))).max() <= 0.5 * 0.003 + 1e-9


def test_driven_joints_move_with_the_time(path):
    register()
    m = rb.build(everything())
    poses = animation._given(m, np.tile(m.qpos0, (30, 1)), None, 25.0)
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    k, body = 25, m.jnt_bodyid[m.jnt_id("sway")]
    angle = np.sin(k / 25.0)
    turned = poses.xmat[0, body].T @ poses.xmat[k, body]
    assert np.trace(turned) == pytest.approx(1.0 + 2.0 * np.cos(angle))
    animate(m, np.tile(m.qpos0, (2, 1)), path, size=SIZE)


def test_the_box_has_the_inertia_of_the_body():
    inertial = shapes.box((0.3, 0.5, 0.7), mass=2.0)
    edges = equivalent_box(np.array([2.0]), np.array([inertial.inertia[:3]]))
    assert np.allclose(edges, [[0.3, 0.5, 0.7]], rtol=1e-12)
    flat = equivalent_box(np.array([1.0]), np.array([[1.0, 1.0, 3.0]]))  # no matter is like this
    assert np.isfinite(flat).all()


def test_boxes_are_where_the_bodies_are():
    box = shapes.box((0.2, 0.4, 0.6), mass=1.0, at=rb.pose((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)))
    joint = Joint("j", "continuous", "base", "arm", axis=(1.0, 0.0, 0.0))
    m = rb.build(Description("r", (Link("base"), Link("arm", box)), (joint,)))
    scene = PictureScene(m, animation._given(m, [[0.0], [np.pi / 2]], None, 25.0))
    corners = np.array([scene.triangles(k).reshape(-1, 3) for k in range(2)])
    assert np.allclose(corners.min(axis=1), [[-0.1, -0.2, 0.7], [-0.1, -1.3, -0.2]])
    assert np.allclose(corners.max(axis=1), [[0.1, 0.2, 1.3], [0.1, -0.7, 0.2]])


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


def test_bodies_are_drawn_by_their_visuals():
    """A body without visuals is a box with its inertia."""
    m = rb.load_urdf(LOOKS)
    (arm, tip), findings = solids_of(m, read_appearance(LOOKS))
    assert findings == []
    assert (arm.body, arm.color) == (m.body_id("arm"), (1.0, 0.0, 0.0, 1.0))
    corners = arm.triangles.reshape(-1, 3)
    assert np.allclose(np.abs(corners).max(axis=0), [0.1, 0.1, 1.2])
    assert np.allclose(np.linalg.norm(corners[:, :2], axis=1).max(), 0.1)
    assert tip.body == m.body_id("tip")
    assert len(tip.triangles) == 12


def test_a_film_shows_the_color_of_a_visual(path):
    m = rb.load_urdf(LOOKS)
    shown = []
    for looks in (None, LOOKS):
        animate(m, [m.qpos0], path, looks=looks, size=SIZE)
        shown.append(frames(path)[0][0])
    red = [(picture[..., 0] > picture[..., 2] + 80).mean() for picture in shown]
    assert red[0] == 0.0 < red[1]


def test_a_film_reports_visuals_that_it_replaces(path):
    mesh = LOOKS.replace('<cylinder radius="0.1" length="0.4"/>', '<mesh filename="gone.stl"/>')
    (finding,) = animate(rb.load_urdf(LOOKS), [[0.0, 0.0]], path, looks=mesh, size=SIZE).findings
    assert "gone.stl" in finding.message


def test_a_body_without_visuals_is_drawn_by_its_contact_geometries():
    """A single contact point has no volume, and is not drawn."""
    s = rb.SystemBuilder("top", base="world").body("top", shapes.top(0.2, 0.05, 0.2))
    s.joint("free", "floating", "world", "top").floor()
    s.geometry("foot", "top", rb.Points(((0, 0, 0),)))
    s.geometry("disk", "top", rb.Cylinder(0.2, 0.05), origin=rb.pose((0, 0, 0.2)))
    (disk,), _ = solids_of(rb.build(s), Appearance())
    corners = disk.triangles.reshape(-1, 3)
    assert np.allclose(np.linalg.norm(corners[:, :2], axis=1).max(), 0.2)  # no square plate
    assert np.allclose([corners[:, 2].min(), corners[:, 2].max()], [0.175, 0.225])


def test_a_large_mesh_keeps_its_shape_with_fewer_triangles():
    angle, height = np.meshgrid(np.linspace(0.0, 2 * np.pi, 200), np.linspace(-1.0, 1.0, 100))
    angle, height = angle.ravel(), height.ravel()
    vertices = np.column_stack([np.cos(angle), np.sin(angle), height])
    k = np.arange(199 * 99) // 199 * 200 + np.arange(199 * 99) % 199
    faces = np.concatenate([np.column_stack([k, k + 1, k + 200])] * 2).astype(np.int32)
    corners, few = simplified(vertices, faces, 300)
    assert 50 < len(few) <= 300
    used = corners[few].reshape(-1, 3)
    assert np.allclose(np.linalg.norm(used[:, :2], axis=1), 1.0, atol=0.2)
    assert np.ptp(used[:, 2]) > 1.6
    same, all_faces = simplified(vertices, faces[:300], 300)
    assert same is vertices
    assert len(all_faces) == 300


def test_lines_run_between_joints():
    m = trees.build(trees.auto_tree(3, kinds=trees.HINGES, seed=1))
    poses = animation._given(m, [m.qpos0], None, 25.0)
    ends = PictureScene(m, poses).links[0].reshape(-1, 3)
    for body in range(1, m.nbody):
        assert np.linalg.norm(ends - poses.xpos[0, body], axis=1).min() < 1e-12
    register()
    m = rb.build(everything())
    others = PictureScene(m, animation._given(m, [m.qpos0], None, 25.0)).others
    # two arms and what is between them: of a loop joint, and of a spring
    assert others.shape == (1, 3 * (m.nloop + m.nspring), 2, 3)


def test_the_view_encloses_all_frames(m):
    qpos = np.linspace(0.0, 6.0, 20)[:, None] * np.ones(m.nq)
    scene = PictureScene(m, animation._given(m, qpos, None, 25.0))
    low, high = scene.extent()
    solids = [scene.triangles(k).reshape(-1, 3) for k in range(len(qpos))]
    points = np.concatenate([*solids, scene.links.reshape(-1, 3)])
    assert (points > low).all()
    assert (points < high).all()


def test_a_free_body_shows_its_frame():
    box = shapes.box((0.2, 0.4, 0.6), mass=1.0, at=rb.pose((0.0, 0.0, 1.0)))
    s = rb.SystemBuilder("r", base="world").body("box", box)
    m = rb.build(s.joint("free", "floating", "world", "box"))
    qpos = [1.0, 2.0, 3.0, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]  # z of the body is -y
    scene = PictureScene(m, animation._given(m, [qpos], None, 25.0))
    assert np.allclose(scene.links[0], [[[1.0, 2.0, 3.0], [1.0, 1.0, 3.0]]])


def on_planes(**obstacles):
    """Return the scene of a box of 2 m at (0, 0, 5) among obstacles."""
    s = rb.SystemBuilder("r", base="world").body("box", shapes.box((2.0, 2.0, 2.0), mass=1.0))
    s.joint("free", "floating", "world", "box", xyz=(0.0, 0.0, 5.0))
    s.geometry("box", "box", rb.Box((2.0, 2.0, 2.0)))
    for name, (shape, origin) in obstacles.items():
        s.obstacle(name, shape, origin=origin)
    m = rb.build(s)
    return PictureScene(m, animation._given(m, [m.qpos0], None, 25.0))


def test_a_floor_is_as_large_as_the_view():
    scene = on_planes(floor=(rb.Plane(), rb.pose((9.0, 9.0, 0.5))))
    low, high = scene.extent()
    assert low[2] < 0.5
    assert high[2] > 6.0
    (floor,) = scene.floors()
    assert np.allclose(floor[:, 2], 0.5, atol=1e-12)
    assert np.allclose(floor.min(axis=0)[:2], low[:2])
    assert np.allclose(floor.max(axis=0)[:2], high[:2])


def test_a_slope_lies_under_its_load():
    """z of the plane is (0, -1, 1) / sqrt(2); of (0, 0, 3), the middle, the foot is next."""
    slope = rb.pose((0.0, 0.0, 0.0), (np.pi / 4, 0.0, 0.0))
    ball = (rb.Sphere(0.5), rb.pose((0.0, 0.0, 1.0)))
    scene = on_planes(slope=(rb.Plane(), slope), ball=ball)
    (floor,) = scene.floors()
    assert np.allclose(floor[:, 2], floor[:, 1], atol=1e-12)
    middle = 0.5 * sum(scene.extent())
    assert np.allclose(floor.mean(axis=0), [0.0, *[0.5 * (middle[1] + middle[2])] * 2])


def test_a_film_with_a_floor(path, monkeypatch):
    s = rb.SystemBuilder("r", base="world").body("ball", shapes.sphere(0.1, mass=1.0)).floor()
    s.joint("free", "floating", "world", "ball", xyz=(0.0, 0.0, 0.3))
    m = rb.build(s.geometry("ball", "ball", rb.Sphere(0.1)))
    animate(m, [m.qpos0], path, size=SIZE)
    shown, _ = frames(path)
    monkeypatch.setattr(PictureScene, "floors", lambda _: np.zeros((0, 4, 3)))
    animate(m, [m.qpos0], path, size=SIZE)
    hidden, _ = frames(path)
    assert np.mean(np.abs(shown - hidden).max(axis=3) > 15) > 0.02  # of the picture is floor


def test_a_film_shows_contact_points_and_forces(path, monkeypatch):
    s = rb.SystemBuilder("r", base="world").body("box", shapes.box((0.2, 0.2, 0.2), mass=1.0))
    s.joint("free", "floating", "world", "box").floor().geometry("box", "box", rb.Box((0.2,) * 3))
    m, scenes = rb.build(s), []
    d = rb.make_data(m)
    d.qpos[2] = 0.1
    rb.step(m, d, 100)

    class Seen(PictureScene):
        def __init__(self, *given):
            super().__init__(*given)
            scenes.append(self)

    monkeypatch.setattr(animation, "PictureScene", Seen)
    animate(m, d, path, duration=0.04, size=SIZE)
    points = np.concatenate([d.contact_pos[:4], d.contact_force[:4]], axis=1)
    shown, _ = frames(path)
    animate(m, [d.qpos] * 2, path, contacts=[points, points[:0]], size=SIZE)
    hidden, _ = frames(path)
    simulated, given = scenes
    length = simulated.forces[1][:, 1, 2] - simulated.forces[1][:, 0, 2]
    assert length.sum() == pytest.approx(0.5 * simulated.size)  # they carry the weight
    assert np.allclose(np.sort(simulated.touches[1][:, 2]), 0.0, atol=1e-5)
    assert np.allclose(given.forces[0], simulated.forces[1])
    assert len(given.touches[1]) == 0
    assert np.mean(np.abs(shown[1] - hidden[1]).max(axis=2) > 15) > 0.002  # of the picture


def test_robots_of_no_joint_and_of_no_mass(path):
    stone = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    animate(stone, np.zeros((2, 0)), path, size=SIZE)
    assert len(frames(path)[1]) >= 1


@pytest.mark.parametrize("motion", [np.zeros((3, 5)), np.zeros((0, 1)), "swing", None])
def test_a_motion_is_a_data_or_an_array_of_positions(m, path, motion):
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
        ([[0.0]], {"size": (0.0, 1.0)}, "bad-size", "size"),
    ],
)
def test_arguments_out_of_range_are_refused(m, path, motion, more, code, element):
    with refused(rb.ParameterError, code, element):
        animate(m, motion, path, **more)
    assert not path.exists()


@pytest.mark.parametrize(
    "duration",
    [None, -1.0, 1e4],
)
def test_durations_out_of_range_are_refused(m, path, duration):
    d = rb.make_data(m)
    with refused(rb.ParameterError, "bad-duration", "duration"):
        animate(m, d, path, duration=duration)
    with refused(rb.ParameterError, "bad-contacts", "contacts"):
        animate(m, d, path, duration=1.0, contacts=[])
    assert d.time == 0.0


def test_a_diverging_simulation_makes_no_film(m, path):
    d = rb.make_data(m)
    d.qvel = np.nan
    with refused(rb.ModelError, "diverged", m.name):
        animate(m, d, path, duration=1.0)
    assert not path.exists()


def test_a_data_of_another_model(m, path):
    other = m.replaced()
    with refused(rb.ModelError, "data-of-other-model"):
        animate(m, rb.make_data(other), path, duration=1.0)
    with refused(rb.ModelError, "not-a-model"):
        animate(3, [[0.0]], path)


def test_another_suffix(m, tmp_path):
    with refused(rb.ParameterError, "unknown-suffix", "path"):
        animate(m, [[0.0]], tmp_path / "film.avi")


def test_mp4_without_ffmpeg_is_refused_at_once(m, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    d = rb.make_data(m)
    with refused(rb.ParameterError, "no-ffmpeg", "path"):
        animate(m, d, tmp_path / "film.mp4", duration=1.0)
    assert d.time == 0.0  # nothing was simulated


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_mp4(m, tmp_path):
    animate(m, [[0.0], [0.5], [1.0]], tmp_path / "film.mp4", size=SIZE)
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_scene_has_a_colour_for_each_object_and_its_table():
    cube = rb.Box((0.1, 0.1, 0.1))
    table = rb.Obstacle("table", rb.Box((0.4, 0.4, 0.1)), rb.pose((0.0, 0.0, 0.05)))
    earth = rb.Obstacle("earth", rb.Sphere(1000.0), rb.pose((0.0, 0.0, -1000.0)))
    objects = [
        rb.Object(name, cube, mass=1.0, pose=rb.pose((x, 0, 0.15)))
        for name, x in (("one", -0.1), ("two", 0.1))
    ]
    m = rb.scene(objects=objects, obstacles=[table, earth])
    scene = PictureScene(m, animation._given(m, [m.qpos0], None, 25.0))
    assert len({one.color for one in scene.solids}) == 2
    (shown,) = scene.obstacles
    assert shown.triangles.reshape(-1, 3).max(axis=0) == pytest.approx([0.2, 0.2, 0.1])
    low, high = scene.extent()
    assert high[0] - low[0] < 1.0

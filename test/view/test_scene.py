# SPDX-License-Identifier: Apache-2.0
"""The shown parts of a robot and their poses agree with other computations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import mechanisms, robots, touching
from support.refusals import refused
from support.systems import everything, register
from view_arm import ARM

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import (
    Appearance,
    LinkShape,
    Placeholder,
    read_appearance,
)
from rbdyn_ros.dynamics.instant import Instant, contact_on_bodies
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.scene.lines import lines_of
from rbdyn_ros.view.scene.parts import obstacle_parts
from rbdyn_ros.view.scene.scene import BOXES, COLLISIONS, ELLIPSOIDS, MASSES, VISUALS, Scene
from rbdyn_ros.view.scene.wrench_lines import couple_arrows, weight_of, wrench_arrows

NONE = Appearance()


def at(m, qpos):
    return Instant.still(m, qpos)


def world(placement, body, points):
    """Return the positions of points of a body in world axes."""
    return points @ quat_to_mat(placement.xquat[body]).T + placement.xpos[body]


def random_state(m, seed=0):
    return rb.random_qpos(m, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["panda.urdf", "talos_reduced.urdf"])
def test_visuals_have_the_poses_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    path = robots.find(name)
    model = pin.buildModelFromUrdf(str(path))
    folder = str(robots.FOLDER.parent.parent)
    theirs = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL, None, [folder])
    m, looks = robots.load(path), read_appearance(path)
    scene = Scene(m, looks)
    q = pin.neutral(model)
    rng = np.random.default_rng(3)
    qpos = np.zeros(m.nq)
    for j in range(m.njnt):  # joints have one coordinate, and the same names in Pinocchio
        if m.jnt_dofnum[j] == 1:
            qpos[m.jnt_qposadr[j]] = rng.uniform(-1.0, 1.0)
            q[model.joints[model.getJointId(m.jnt_names[j])].idx_q] = qpos[m.jnt_qposadr[j]]
    data, geoms = model.createData(), theirs.createData()
    pin.updateGeometryPlacements(model, data, theirs, geoms, q)
    placed = scene.place(at(m, qpos))
    ours = []
    for look in looks.visuals:
        (part,) = {
            p.pos.tobytes(): p for p in Scene(m, Appearance((look,))).parts(VISUALS)
        }.values()
        pos = world(placed, part.body, part.pos)
        R = quat_to_mat(placed.xquat[part.body]) @ quat_to_mat(part.quat)
        ours.append((look.link, pos, R))
    assert len(ours) == len(theirs.geometryObjects)
    for thing, oMg in zip(theirs.geometryObjects, geoms.oMg, strict=True):
        link = thing.name.rsplit("_", 1)[0]
        error = min(
            np.abs(pos - oMg.translation).max() + np.abs(R - oMg.rotation).max()
            for name, pos, R in ours
            if name == link
        )
        assert error < 1e-12, link


def test_shapes_of_links_have_the_poses_of_frame_pose():
    register()
    m = rb.build(everything())
    looks = tuple(
        LinkShape(
            name, rb.Box((1.0, 2.0, 3.0)), rb.pose(xyz=(0.1, -0.2, 0.3), rpy=(0.1, 0.2, 0.3))
        )
        for name in m.frame_names
    )
    scene, d = Scene(m, Appearance(looks)), rb.make_data(m)
    d.qpos[:] = random_state(m)
    d.time = 0.3  # driven joints depend on this time
    placed = scene.place(Instant.of(m, d))
    inside = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
    assert len(scene.parts(VISUALS)) == m.nframe
    for name, part in zip(m.frame_names, scene.parts(VISUALS), strict=True):
        pos, R = rb.frame_pose(m, d, name)
        there = world(placed, part.body, part.pos)
        assert np.allclose(there, pos + R @ (0.1, -0.2, 0.3), rtol=0.0, atol=1e-12)
        turned = quat_to_mat(placed.xquat[part.body]) @ quat_to_mat(part.quat)
        assert np.allclose(turned, R @ inside, rtol=0.0, atol=1e-12)


def test_the_shown_centre_of_mass_equals_com():
    m = robots.load(robots.find("talos_reduced.urdf"), floating_base=True)
    d = rb.make_data(m)
    d.qpos[:] = random_state(m)
    assert np.allclose(Scene(m, NONE).place(Instant.of(m, d)).com, rb.com(m, d), atol=1e-12)


@pytest.mark.parametrize(("layer", "share"), [(BOXES, 12.0), (ELLIPSOIDS, 5.0)])
def test_boxes_and_ellipsoids_of_inertia_have_the_inertia_of_their_bodies(layer, share):
    m = rb.load_urdf(ARM)
    for part in Scene(m, NONE).parts(layer):
        # I_x = m (b^2 + c^2) / share, for edges of a box or semi-axes of an ellipsoid
        squares = np.array(part.scale) ** 2
        moments = m.body_mass[part.body] * (squares.sum() - squares) / share
        R = quat_to_mat(part.quat)
        xx, yy, zz, xy, xz, yz = m.body_fullinertia[part.body]
        expected = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert np.allclose(R @ np.diag(moments) @ R.T, expected, rtol=0.0, atol=1e-12)
        assert np.array_equal(part.pos, m.body_ipos[part.body])
        extent = part.surface.vertices.max(axis=0)
        assert extent == pytest.approx([0.5] * 3 if layer == BOXES else [1.0] * 3, abs=1e-3)


def test_the_volume_of_a_ball_at_a_centre_of_mass_is_proportional_to_the_mass():
    m = rb.load_urdf(ARM)
    heavy, light = (part.scale[0] for part in Scene(m, NONE).parts(MASSES))
    assert (heavy / light) ** 3 == pytest.approx(2.0)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_pointer_of_a_joint_reaches_the_end_of_its_arc_at_its_limit(reverse):
    ends = ("base", "arm")
    m = rb.build(_one_joint(*reversed(ends)) if reverse else _one_joint(*ends))
    assert m.jnt_reversed.any() == reverse
    scene, j = Scene(m, NONE), m.jnt_id("turn")
    mark = scene.marks[j]
    assert mark.joint == j
    hit = set()
    for limit in m.jnt_range[j]:
        qpos = m.qpos0.copy()
        qpos[m.jnt_qposadr[j]] = limit
        placed = scene.place(at(m, qpos))
        tip = world(placed, mark.body, mark.hand)[1]
        rim = world(placed, mark.parent, mark.limits[1:-1, 0])
        distances = np.linalg.norm(rim - tip, axis=1)
        near = int(distances.argmin())
        last = np.linalg.norm(world(placed, mark.parent, mark.limits[-1:, 0])[0] - tip)
        hit.add("last" if last < 1e-9 else near)
        assert min(distances[near], last) < 1e-9
    assert hit == {"last", 0}  # each limit is at another end of the arc


def _one_joint(parent, child):
    place = rb.pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1))
    return (
        rb.SystemBuilder("one")
        .body("arm", rb.shapes.box((0.1, 0.2, 0.3), mass=1.0))
        .joint("turn", "revolute", parent, child, origin=place, child_origin=place,
               axis=(0.0, 0.6, 0.8), limit=(-0.5, 1.2))
    )  # fmt: skip


def test_the_bar_of_a_sliding_joint_ends_at_the_limits_of_the_joint():
    m = rb.load_urdf(ARM)
    scene, j = Scene(m, NONE), m.jnt_id("slide")
    mark = scene.marks[j]
    (bar,) = mark.limits
    for end, limit in zip(bar, m.jnt_range[j], strict=True):
        placed = scene.place(at(m, [0.4, limit]))
        assert np.allclose(world(placed, mark.parent, end), placed.xpos[mark.body], atol=1e-12)


def test_arrows_of_joints_point_along_the_axes_of_the_joints():
    m, d = rb.load_urdf(ARM), None
    d = rb.make_data(m)
    d.qpos[:] = 0.7, 0.2
    rb.fwd_position(m, d)
    placed = Scene(m, NONE).place(Instant.of(m, d))
    for mark, part in zip(Scene(m, NONE).marks, (slice(0, 3), slice(3, 6)), strict=True):
        tail, tip = world(placed, mark.body, mark.arrow)
        axis = d.cdof[m.jnt_dofadr[mark.joint], part]
        assert np.allclose((tip - tail) / np.linalg.norm(tip - tail), axis, atol=1e-12)


def test_joints_without_limits_have_no_arc_and_joints_of_full_turns_have_a_circle():
    m = rb.load_urdf(ARM)
    free = m.replaced(jnt_limited=[0, 0])
    assert all(len(mark.limits) == 0 for mark in Scene(free, NONE).marks)
    wound = m.replaced(jnt_range=[[-9.0, 9.0], [0.0, 0.1]])
    rim = Scene(wound, NONE).marks[0].limits
    assert np.allclose(rim[0, 0], rim[-1, 1], atol=1e-9)


def test_the_arrow_of_a_force_equal_to_the_weight_is_half_as_long_as_the_robot():
    wrench = np.array([[0.0, 0.0, 20.0, 0.0, 0.0, 0.0]])
    (arrow,) = wrench_arrows(wrench, np.array([[1.0, 2.0, 3.0]]), weight=20.0, size=0.8)
    assert np.allclose(arrow, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.4]])


def test_an_arrow_lies_on_the_central_axis_of_its_wrench():
    rng = np.random.default_rng(1)
    wrench, places = rng.normal(size=(20, 6)), rng.normal(size=(20, 3))
    arrows = wrench_arrows(wrench, places, weight=100.0, size=1e3)
    assert len(arrows) == 20
    for (start, tip), (force, torque), place in zip(
        arrows, wrench.reshape(-1, 2, 3), places, strict=True
    ):
        about = torque - np.cross(start - place, force)  # torque about the arrow's start
        assert np.allclose(np.cross(about, force), 0.0, atol=1e-12)
        assert np.dot(start - place, force) == pytest.approx(0.0, abs=1e-12)  # nearest point
        assert np.dot(tip - start, force) == pytest.approx(5.0 * np.dot(force, force))


def test_arrows_of_forces_are_finite_and_have_a_largest_length():
    far = [0.1, 0.0, 0.0, 0.0, 1e3, 0.0]  # the central axis is kilometres away
    wrench = np.array([[1e9, 0, 0, 0, 0, 0], [np.nan] * 6, [0.0] * 6, [np.inf] * 6, far])
    arrows = wrench_arrows(wrench, np.zeros((5, 3)), weight=1.0, size=2.0)
    assert arrows.shape == (2, 2, 3)
    assert np.linalg.norm(arrows[0, 1] - arrows[0, 0]) == pytest.approx(3.0)
    assert np.array_equal(arrows[1, 0], np.zeros(3))


def test_torques_without_a_force_have_their_own_arrows():
    wrench = np.array([[0, 0, 0, 0, 4.0, 0], [1.0, 0, 0, 0, 4.0, 0], [0] * 6], float)
    arrows = couple_arrows(wrench, np.ones((3, 3)), weight=4.0, size=2.0)
    # a force of the torque divided by the robot's size has an arrow of the same length
    assert np.allclose(arrows, [[[1.0, 1.0, 1.0], [1.0, 1.5, 1.0]]])


def test_the_weight_that_scales_forces_does_not_depend_on_gravity():
    m = rb.load_urdf(ARM)
    assert weight_of(m) == pytest.approx(9.81 * 3.0)
    m.opt.gravity = (0.0, 0.0, 0.0)
    assert weight_of(m) == pytest.approx(9.81 * 3.0)


def test_contact_forces_of_an_instant_have_arrows_at_their_points():
    text = ARM.replace(
        '<link name="tool">',
        '<link name="tool"><collision><origin xyz="0.1 0 0"/><geometry>'
        '<box size="0.2 0.3 0.1"/></geometry></collision>',
    )
    m = rb.load_urdf(text, floating_base=True, contact=True)
    d, body = rb.make_data(m), m.body_id("tool")
    d.qpos[3:7] = Rotation.from_euler("x", 2.8).as_quat()[[3, 0, 1, 2]]
    d.qpos[7:] = 0.3, 0.1
    d.qpos[2] = 2.0
    rb.forward(m, d)
    lowest = touching.corners(m, d, 0)[:, 2].min()
    d.qpos[2] -= lowest + 0.02
    d.qvel[:3] = 0.1, 0.2, 0.0
    rb.forward(m, d)
    found, force = contact_on_bodies(m, d), d.contact_force[: d.ncon]
    torque = np.cross(d.contact_pos[: d.ncon] - d.xipos[body], force).sum(axis=0)
    torque += d.contact_torque[: d.ncon].sum(axis=0)  # torque of friction in the patch
    expected = [*force.sum(axis=0), *torque]
    assert d.ncon > 0
    assert np.allclose(found[body], expected, rtol=0.0, atol=1e-9 * np.abs(force).max())
    assert not np.delete(found, body, axis=0).any()
    # Data has the moment about another point, so a wrong sign would cause a large error
    assert np.linalg.norm(d.subtree_com[1] - d.xipos[body]) > 0.1
    # each force has an arrow at its point, but without points a body has one arrow
    scene, instant = Scene(m, NONE), Instant.of(m, d)
    at, pressing = scene.place(instant), force.any(axis=1)
    assert np.array_equal(at.touches, d.contact_pos[: d.ncon][pressing])
    assert np.array_equal(at.contacts[:, 0], at.touches)
    arrows, scale = np.diff(at.contacts, axis=1)[:, 0], 0.5 * scene.size / weight_of(m)
    lengths = np.linalg.norm(arrows, axis=1)
    assert np.allclose(arrows, lengths[:, None] * unit(force[pressing]))
    full = lengths < 1.49 * scene.size
    assert np.allclose(arrows[full], scale * force[pressing][full])
    whole = scene.place(replace(instant, points=None))
    assert (len(whole.contacts), len(whole.touches)) == (1, 0)

    broken = np.full((1, 6), np.nan)
    assert len(scene.place(replace(instant, points=broken)).touches) == 0


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_an_instant_of_a_data_is_a_copy():
    m = rb.build(touching.free(rb.Sphere(0.1)))
    d = rb.make_data(m)
    rb.step(m, d, 10)
    before = d.buffer.copy()
    instant = Instant.of(m, d)
    Scene(m, NONE).place(instant)
    assert np.array_equal(d.buffer, before)
    d.qpos[:] = 0.0
    assert instant.qpos[3] != 0.0
    with refused(rb.ModelError, "data-of-other-model"):
        Instant.of(rb.load_urdf(ARM), d)


def test_lines_of_springs_join_the_ends_of_the_springs():
    register()
    m = rb.build(everything())
    qpos = random_state(m)
    lines, d = lines_of(m, skeleton=False), rb.make_data(m)
    d.qpos[:] = qpos
    rb.kinematics(m, d)
    placed = Scene(m, NONE).place(Instant.of(m, d))
    springs = placed.lines[: m.nspring]
    for k, line in enumerate(springs):
        for end in (0, 1):
            body = m.spring_bodyid[k, end]
            expected = d.xpos[body] + d.xmat[body].reshape(3, 3) @ m.spring_pos[k, end]
            assert np.allclose(line[end], expected, atol=1e-12)
    assert len(lines.bodies) > m.nspring > 0


def test_lines_of_closed_loop_joints_have_no_gap():
    m = rb.build(mechanisms.delta(passive=True))
    scene = Scene(m, NONE)
    placed = scene.place(at(m, m.qpos0))
    gaps = placed.lines[2 * m.nloop : 3 * m.nloop]
    assert np.abs(gaps[:, 0] - gaps[:, 1]).max() < 1e-5  # qpos0 closes loops up to CLOSED
    first = placed.lines[0]
    assert np.array_equal(first[0], placed.xpos[m.loop_bodyid[0, 0]])


def test_a_scene_has_lines_for_springs_bands_and_loop_joints():
    register()
    m = rb.build(everything())
    closed = m.length_closed.tolist()
    legs = sum(n if c else n - 1 for n, c in zip(m.length_pointnum.tolist(), closed, strict=True))
    lines = lines_of(m, skeleton=False)
    assert len(lines.bodies) == m.nspring + legs + 3 * m.nloop


def test_the_layers_that_a_scene_first_shows_depend_on_its_shapes():
    m = rb.load_urdf(ARM)
    box = rb.Box((0.1, 0.1, 0.1))
    seen, lost = LinkShape("upper", box), LinkShape("upper", Placeholder("gone.stl"))
    assert Scene(m, NONE).shown == (BOXES,)
    assert Scene(m, Appearance((seen,), (seen,))).shown == (VISUALS,)
    assert Scene(m, Appearance((), (seen,))).shown == (COLLISIONS,)
    assert Scene(m, Appearance((lost,), (seen,))).shown == (VISUALS, COLLISIONS)
    assert Scene(m, Appearance((lost, lost), (lost,))).shown == (VISUALS, BOXES)


def test_the_bounding_ball_of_a_scene_contains_its_visible_parts():
    m = rb.load_urdf(ARM)
    look = LinkShape("base", rb.Box((2.0, 4.0, 8.0)), rb.pose(xyz=(10.0, 0.0, 0.0)))
    scene = Scene(m, Appearance((look,)))
    corners = np.array([[x, y, z] for x in (9.0, 11.0) for y in (-2.0, 2.0) for z in (-4.0, 4.0)])
    assert 11.0 < scene.size < 16.0  # from the arm's base at the origin to the box
    assert np.linalg.norm(corners - scene.middle, axis=1).max() <= scene.radius


@robots.needs_robots
@pytest.mark.parametrize(("name", "farthest"), [("panda.urdf", 1.3), ("ur5_robot.urdf", 1.2)])
def test_the_bounding_ball_of_a_scene_has_the_reach_of_an_arm(name, farthest):
    path = robots.find(name)
    m = rb.load_urdf(path)
    scene = Scene(m, read_appearance(path))
    for seed in range(20):
        bodies = scene.place(at(m, random_state(m, seed))).xpos[1:]
        assert np.linalg.norm(bodies - scene.middle, axis=1).max() < 1.1 * scene.radius
    assert 0.7 * farthest < scene.radius < farthest


@pytest.mark.parametrize("base", ["floating", "sixdof_fp", "sixdof_fs"])
def test_the_bounding_ball_of_a_scene_ignores_the_range_of_a_floating_base(base):
    m = rb.load_urdf(ARM, floating_base=base)
    assert Scene(m, NONE).radius < 1.0  # a random base would be up to 1 m away along each axis


def test_the_bounding_ball_of_a_closed_loop_is_not_larger_than_its_size():
    scene = Scene(rb.load(Path(__file__).parents[2] / "examples/crank_slider.yaml"), NONE)
    assert scene.radius <= scene.size


def test_the_grid_is_at_the_floor_or_below_the_robot():
    m = rb.load_urdf(ARM)
    high = LinkShape("base", rb.Box((1.0, 1.0, 1.0)), rb.pose(xyz=(0.0, 0.0, 2.0)))
    low = LinkShape("base", rb.Box((1.0, 1.0, 1.0)), rb.pose(xyz=(0.0, 0.0, -2.0)))
    assert Scene(m, Appearance((high,))).floor == 0.0
    assert Scene(m, Appearance((low,))).floor == pytest.approx(-2.5)
    plane = rb.Obstacle("floor", rb.Plane(), rb.pose(xyz=(0.0, 0.0, -7.0)))
    on_floor = rb.load_urdf(ARM, contact=rb.Contact((plane,)))
    assert Scene(on_floor, Appearance((high,))).floor == -7.0


def test_obstacles_of_a_scene_have_their_poses():
    box = rb.Obstacle("box", rb.Box((1.0, 2.0, 3.0)), rb.pose(xyz=(1.0, 2.0, 3.0)))
    ball = rb.Obstacle("ball", rb.Sphere(0.5), rb.pose(xyz=(-1.0, 0.0, 0.0)))
    m = rb.load_urdf(ARM, contact=rb.Contact((box, ball, rb.Obstacle("floor", rb.Plane()))))
    first, second = Scene(m, NONE).obstacles
    assert np.allclose(first.corners().max(axis=0), [1.5, 3.0, 4.5])
    assert np.allclose(second.corners().min(axis=0), [-1.5, -0.5, -0.5], atol=1e-2)


@pytest.mark.parametrize("qpos", [[np.nan, 0.0], [0.0], [np.inf, 0.0], [[0.0, 0.0]]])
def test_a_scene_refuses_an_instant_with_invalid_positions(qpos):
    m = rb.load_urdf(ARM)
    with refused(rb.ModelError, "bad-instant", "qpos"):
        Scene(m, NONE).place(Instant(0.0, np.array(qpos), np.zeros(2), np.zeros(2)))


def test_a_scene_refuses_the_appearance_of_another_robot():
    with refused(rb.ModelError, "unknown-frame", found="uper"):
        Scene(rb.load_urdf(ARM), Appearance((LinkShape("uper", rb.Sphere(1.0)),)))


def test_a_broken_mesh_file_gives_a_marker_and_one_warning(tmp_path):
    path = tmp_path / "broken.stl"
    path.write_text("no mesh")
    text = ARM.replace(
        '<link name="tool">',
        '<link name="tool">'
        + 2 * '<visual><geometry><mesh filename="broken.stl"/></geometry></visual>',
    )
    scene = Scene(rb.load_urdf(ARM), read_appearance(text, folder=tmp_path))
    assert len(scene.parts(VISUALS)) == 2
    (finding,) = scene.findings
    assert "a marker is shown" in finding.message
    assert finding.severity == "warning"


def test_a_robot_without_geometry_has_a_scene():
    scene = Scene(rb.load_urdf('<robot name="n"><link name="a"/></robot>'), NONE)
    placed = scene.place(Instant.still(scene.m, np.zeros(0)))
    assert scene.size > 0.0
    assert np.isfinite(placed.com).all()


def test_a_scene_has_shapes_for_objects_besides_a_robot_with_visuals():
    """The source of a recording is the robot's URDF alone, but the Model has shapes of objects."""
    m = rb.load("config/scenes/gripper.yaml")
    for source in ("config/scenes/gripper.urdf", "config/scenes/gripper.yaml"):
        scene = Scene(m, read_appearance(source))
        cube, ball = (m.body_names.index(name) for name in ("cube", "ball"))
        parts = {part.body: part for part in scene.parts(VISUALS)}
        assert set(parts) == set(range(m.nbody))
        np.testing.assert_allclose(np.ptp(parts[cube].corners(), axis=0), 0.04)
        np.testing.assert_allclose(np.ptp(parts[ball].corners(), axis=0), 0.06, atol=1e-6)
        assert len(scene.parts(COLLISIONS)) == m.ngeomlink


def test_a_height_field_has_the_surface_that_bodies_touch():
    heights = np.array([[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]])
    hills = rb.Obstacle("hills", rb.HeightField(heights, (4.0, 2.0)), rb.pose((0.0, 0.0, 1.0)))
    ball = rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.pose((0.0, 0.0, 3.0)))
    (part,) = obstacle_parts(rb.scene(objects=[ball], obstacles=[hills], floor=False))
    assert part.pos.tolist() == [0.0, 0.0, 1.0]
    corners = {tuple(np.round(x, 6)) for x in np.asarray(part.surface.vertices, float)}
    there = zip([-2.0, 0.0, 2.0] * 2, [-1.0] * 3 + [1.0] * 3, heights.ravel(), strict=True)
    assert corners == {tuple(np.round(x, 6)) for x in there}
    a, b, c = (
        np.asarray(part.surface.vertices, float)[part.surface.faces[:, k]] for k in range(3)
    )
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all(), "a triangle does not face upward"

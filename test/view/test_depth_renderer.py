# SPDX-License-Identifier: Apache-2.0
"""Drawn depths of all kinds of shapes and of robots agree with the distances along rays."""

import math

import numpy as np
import pytest
from support.drawing import needs_renderer
from support.refusals import refused
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.sensors import DepthSpec
from rbdyn_ros.view.render.depth_lens import DepthLens
from rbdyn_ros.view.render.process import RenderProcess

pytestmark = needs_renderer

#: Pose of a camera that looks along x at a solid of each kind, with a floor and hills behind.
LOOK_ALONG_X = rb.pose((0.0, 0.0, 0.6), rpy=(-0.5 * math.pi, 0.0, -0.5 * math.pi))
TETRAHEDRON = rb.Points(((0.3, 0, 0), (-0.2, 0.3, 0), (-0.2, -0.3, 0), (0, 0, 0.4)))


def scene():
    return rb.build(system())


def system():
    system = (
        rb.SystemBuilder("stand", base="world")
        .body("camera", rb.shapes.box((0.01, 0.01, 0.01), mass=0.1))
        .joint("mount", "continuous", "world", "camera", origin=LOOK_ALONG_X, axis=(1, 0, 0))
        .geometry("lens", "camera", rb.Box((0.05, 0.05, 0.05)))
        .obstacle("wall", rb.Box((0.2, 40.0, 0.8)), origin=rb.pose((4.6, 0, 0), rpy=(0, 0.3, 0.2)))
        .obstacle("ball", rb.Sphere(0.3), origin=rb.pose((2.0, 0.9, 0.6)))
        .obstacle("small", rb.Sphere(0.01), origin=rb.pose((1.0, 0.05, 0.6)))
        .obstacle("floor", rb.Plane(), origin=rb.pose((0, 0, -0.1)))
    )  # fmt: skip
    solids = {
        "can": (rb.Cylinder(0.25, 0.5), (2.0, 0.2, 0.3), (0.4, 0.9, 0.0)),
        "pill": (rb.Capsule(0.15, 0.4), (2.2, -0.4, 0.5), (1.2, 0.3, 0.0)),
        "crate": (rb.Box((0.3, 0.4, 0.2)), (1.9, -1.0, 0.6), (0.2, 0.5, 0.7)),
        "stone": (TETRAHEDRON, (2.0, -0.2, 1.0), (0.3, 0.1, 0.2)),
    }
    for name, (shape, pos, rpy) in solids.items():
        system = (
            system.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=0.1))
            .joint(f"{name}_slide", "prismatic", "world", name, origin=rb.pose(pos, rpy=rpy))
            .geometry(name, name, shape)
        )
    return system


def camera(**given):
    values = {"rate": 30.0, "near": 0.1, "far": 8.0, "width": 320, "height": 240}
    return DepthSpec("eye", "camera", **{"field_of_view": 1.2, **values, **given})


def check_against_rays(m, d, eye, shapes=None):
    """Compare all pixels with rays; return the share of pixels that show another geometry."""
    rays = rb.scan(m, d, eye, shapes=shapes)
    drawn = rb.DepthRenderer(m, shapes).scan(d, eye)
    assert drawn.names == rays.names
    same = drawn.geom == rays.geom
    np.testing.assert_allclose(drawn.distance[same], rays.distance[same], rtol=0.0, atol=1e-4)
    assert np.isfinite(rays.distance).mean() > 0.05
    return 1.0 - same.mean()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"intrinsics": (200.0, 220.0, 140.3, 100.9)},
        {"near": 1.9, "far": 2.3},
        {"exclude": ("camera", "can", "pill")},
        {"width": 33, "height": 17},
    ],
    ids=["plain", "intrinsics", "near-and-far", "exclude", "odd-size"],
)
def test_rendered_depths_of_every_kind_of_shape_agree_with_rays(given):
    m = scene()
    d = rb.make_data(m)
    d.qpos[:] = (0.2, 0.05, -0.03, 0.02, 0.1)
    assert check_against_rays(m, d, camera(**given)) < 1e-3


@pytest.mark.parametrize("sees_inside", ["ball", "can", "pill", "crate"])
def test_a_depth_camera_within_a_solid_measures_its_inside(sees_inside):
    shape = {
        "ball": rb.Sphere(0.5),
        "can": rb.Cylinder(0.5, 1.0),
        "pill": rb.Capsule(0.5, 1.0),
        "crate": rb.Box((1.0, 1.1, 1.2)),
    }[sees_inside]
    system = (
        rb.SystemBuilder("room", base="world")
        .body("room", rb.shapes.box((1.0, 1.0, 1.0), mass=1.0))
        .joint("turn", "continuous", "world", "room", axis=(0.6, 0.8, 0))
        .geometry("room", "room", shape)
        .body("camera", rb.shapes.box((0.01, 0.01, 0.01), mass=0.1))
        .joint("tilt", "continuous", "world", "camera", axis=(0, 1, 0))
    )
    m = rb.build(system)
    d = rb.make_data(m)
    d.qpos[:] = 0.3, 0.4
    assert check_against_rays(m, d, camera()) == 0.0


@needs_robots
@pytest.mark.parametrize(
    ("name", "link", "visual"),
    [
        ("panda.urdf", "panda_hand", True),
        ("talos_reduced.urdf", "arm_left_3_link", False),
    ],
)
def test_rendered_depths_of_robots_agree_with_rays(name, link, visual):
    path = find(name)
    m = rb.load_urdf(path, contact=True, strict=False)
    d = rb.make_data(m)
    d.qpos[:] = np.clip(0.4, *m.jnt_range[: m.nq].T)
    eye = DepthSpec("eye", link, rate=30.0, near=0.02, far=5.0, width=320, height=240,
                    field_of_view=1.8, exclude=())  # fmt: skip
    shapes = rb.visual_shapes(m, path) if visual else None
    assert check_against_rays(m, d, eye, shapes) < 1e-3


def test_another_process_draws_the_same_depths_even_after_a_change_of_model():
    m = scene()
    d = rb.make_data(m)
    d.qpos[:] = 0.1
    eye = camera(segmentation=True)
    own = rb.DepthRenderer(m).draw(0.0, d.qpos, eye)
    drawing = RenderProcess(m, None, [], {eye: None})
    theirs = drawing.draw_depth(0.0, d.qpos.copy(), eye)
    again = drawing.draw_depth(0.0, d.qpos.copy(), eye)
    assert own.tobytes() == theirs.tobytes() == again.tobytes()
    other = rb.build(system().obstacle("post", rb.Box((0.1, 0.1, 2.0)), origin=rb.pose((1, 0, 0))))
    drawing.use(other, None, {eye: None})
    post = drawing.draw_depth(0.0, d.qpos.copy(), eye)
    drawing.close()
    assert post.tobytes() == rb.DepthRenderer(other).draw(0.0, d.qpos, eye).tobytes()
    assert post.tobytes() != own.tobytes()


@pytest.mark.parametrize("given", [{}, {"near": 1.9, "far": 2.3}, {"width": 33, "height": 17}])
@pytest.mark.parametrize(
    "lens", [(-0.25, 0.05, 0.002, -0.001), (0.2, 0.1, -0.003, 0.001, 0.02)], ids=str
)
def test_rendered_depths_through_a_lens_agree_with_rays_for_every_kind_of_shape(lens, given):
    m = scene()
    d = rb.make_data(m)
    d.qpos[:] = (0.2, 0.05, -0.03, 0.02, 0.1)
    eye = camera(distortion=lens, **given)
    assert check_against_rays(m, d, eye) < 1e-4
    _, unclear = DepthLens(eye).seen(rb.DepthRenderer(m).draw(0.0, d.qpos, DepthLens(eye).wide))
    assert given or unclear.mean() < 0.25  # few pixels need rays


@needs_robots
def test_rendered_depths_of_a_robot_through_a_lens_agree_with_rays():
    path = find("panda.urdf")
    m = rb.load_urdf(path, strict=False)
    d = rb.make_data(m)
    d.qpos[:] = np.clip(0.4, *m.jnt_range[: m.nq].T)
    eye = DepthSpec("eye", "panda_hand", rate=30.0, near=0.02, far=5.0, width=320, height=240,
                    field_of_view=1.4, exclude=(), distortion=(-0.2, 0.04, 0.0, 0.0))  # fmt: skip
    assert check_against_rays(m, d, eye, rb.visual_shapes(m, path)) < 1e-3


def test_a_depth_renderer_refuses_an_argument_that_is_not_a_depth_camera():
    m = scene()
    with refused(rb.ParameterError, "bad-argument", "camera"):
        rb.DepthRenderer(m).scan(rb.make_data(m), "eye")

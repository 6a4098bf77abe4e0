# SPDX-License-Identifier: Apache-2.0
"""Rays can meet the visuals of robots."""

import numpy as np
import pytest
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.scene.parts import parts_of_looks

LINK = """<robot name="r"><link name="base"><visual><origin xyz="1 0 0"/><geometry>{}</geometry>
</visual></link></robot>"""


def nearest(triangles, origin, along):
    """Return the distance to the nearest triangle (Moeller and Trumbore), or inf without a hit."""
    a, b, c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.cross(along, c)
        volume = np.einsum("ij,ij->i", b, p)
        s = origin - a
        u = np.einsum("ij,ij->i", s, p) / volume
        q = np.cross(s, b)
        v, t = q @ along / volume, np.einsum("ij,ij->i", c, q) / volume
    return t[(u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0)].min(initial=np.inf)


def test_rays_meet_the_visual_meshes_of_a_panda_where_they_are_drawn():
    path = robots.find("panda.urdf")
    m = robots.load(path)
    d = rb.make_data(m)
    d.qpos[:7] = 0.3, 0.5, -0.2, -1.7, 0.4, 1.9, 0.6
    shapes = rb.visual_shapes(m, path)
    assert not shapes.findings
    rng = np.random.default_rng(1)
    origins = rng.uniform((-1.5, -1.5, -1.0), (1.5, 1.5, 2.0), (150, 3))
    targets = rng.uniform((-0.1, -0.3, 0.2), (0.5, 0.3, 0.8), (150, 3))
    directions = (targets - origins) / np.linalg.norm(targets - origins, axis=1, keepdims=True)
    hits = rb.cast_rays(m, d, origins, directions, shapes=shapes)
    parts, _ = parts_of_looks(m, read_appearance(path).visuals)
    world = []
    for part in parts:
        R = d.xmat[part.body].reshape(3, 3)
        corners = part.surface.vertices.astype(float) @ quat_to_mat(part.quat).T + part.pos
        world.append((corners @ R.T + d.xpos[part.body])[part.surface.faces])
    triangles = np.concatenate(world)
    expected = [nearest(triangles, o, v) for o, v in zip(origins, directions, strict=True)]
    assert 20 < np.isfinite(hits.distance).sum() < 150
    assert hits.distance == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "distance"),
    [
        ('<sphere radius="0.25"/>', 0.75),
        ('<box size="0.4 1 1"/>', 0.8),
        ('<cylinder radius="0.3" length="1"/>', 0.7),
    ],
)
def test_rays_meet_simple_visuals_at_the_exact_distance(shape, distance):
    text = LINK.format(shape)
    m = rb.load_urdf(text, strict=False)
    hits = rb.cast_rays(m, rb.make_data(m), [0, 0, 0], [1, 0, 0], shapes=rb.visual_shapes(m, text))
    assert hits.distance[0] == pytest.approx(distance, abs=1e-15)


def test_missing_meshes_cause_a_finding_and_rays_pass_through_them():
    text = LINK.format('<mesh filename="package://nowhere/a.stl"/>')
    m = rb.load_urdf(text, strict=False)
    shapes = rb.visual_shapes(m, text)
    assert [finding.code for finding in shapes.findings] == ["missing-meshes"]
    assert shapes.names == ()
    assert np.isinf(rb.cast_rays(m, rb.make_data(m), [0, 0, 0], [1, 0, 0], shapes=shapes).distance)


def test_rays_meet_obstacles_as_well_as_visuals():
    path = robots.find("panda.urdf")
    m = rb.load_urdf(path, contact=True, floating_base=False)
    shapes = rb.visual_shapes(m, path)
    assert shapes.names[-1] == "floor"
    down = rb.cast_rays(m, rb.make_data(m), [2, 2, 1], [0, 0, -1], shapes=shapes)
    assert down.distance[0] == pytest.approx(1.0, abs=1e-12)


def test_visual_shapes_of_another_robot_are_refused():
    m = robots.load(robots.find("panda.urdf"))
    with refused(rb.ModelError, "unknown-frame"):
        rb.visual_shapes(m, LINK.format('<sphere radius="1"/>').replace("base", "other"))

# SPDX-License-Identifier: Apache-2.0
"""Two boxes have the right contact points for overlapping faces, crossing edges and gaps."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.points.boxes import box_gap


def pair(size, block, mass=1.0, turn=(1.0, 0.0, 0.0, 0.0)):
    """Return a Model of a free box, and of a fixed box of size `block` with its top at z = 0."""
    system = rb.SystemBuilder("pair", base="ground").body("box", rb.shapes.box(size, mass=mass))
    system.joint("free", "floating", "ground", "box").geometry("skin", "box", rb.Box(size))
    origin = rb.Pose((0.0, 0.0, -block[2] / 2), turn)
    return rb.build(system.obstacle("block", rb.Box(block), origin=origin))


def placed(m, position, rotation):
    d = rb.make_data(m)
    d.qpos[:3] = position
    d.qpos[3:] = np.roll(rotation.as_quat(), 1)
    return d


@pytest.mark.parametrize(
    ("size", "block", "x", "y", "yaw", "points"),
    [
        ((0.2, 0.2, 0.2), (0.2, 0.2, 0.2), 0.0, 0.0, 0.0, 4),  # equal boxes, aligned
        ((0.2, 0.2, 0.2), (0.2, 0.2, 0.2), 0.0, 0.0, np.pi / 4, 8),
        ((0.2, 0.2, 0.2), (0.2, 0.2, 0.2), 0.03, 0.02, 0.0, 4),
        ((0.6, 0.05, 0.05), (0.05, 0.6, 0.05), 0.0, 0.0, 0.0, 4),  # a plank across a beam
        ((0.6, 0.6, 0.1), (0.1, 0.1, 0.1), 0.0, 0.0, 0.3, 4),  # a box with all corners in the air
        ((0.2, 0.2, 0.1), (0.6, 0.6, 0.1), 0.25, 0.1, 0.3, 4),  # a foot on the edge of a stair
    ],
)
def test_a_box_rests_on_a_box(size, block, x, y, yaw, points):
    m = pair(size, block)
    height = size[2] / 2
    d = placed(m, (x, y, height + 0.02), Rotation.from_euler("z", yaw))
    rb.step(m, d, 3000)
    assert np.abs(d.qvel).max() < 1e-6
    # the box lands flat, and moves far less than a millimetre sideways
    assert d.qpos[:3] == pytest.approx([x, y, height], abs=5e-4)
    assert d.ncon == points
    assert d.cfrc_contact[1, 5] == pytest.approx(9.81, rel=1e-9)


def test_a_box_beyond_the_edge_falls():
    m = pair((0.2, 0.2, 0.1), (0.6, 0.6, 0.1))
    d = placed(m, (0.35, 0.0, 0.06), Rotation.identity())
    rb.step(m, d, 2000)
    assert d.qpos[2] < -1.0


def test_crossing_edges_have_one_contact():
    """Two boxes touch with edges at right angles; the point is midway between the edges."""
    on_edge = Rotation.from_euler("y", 45, degrees=True)
    m = pair((0.3, 0.1, 0.1), (0.1, 0.5, 0.1), turn=tuple(np.roll(on_edge.as_quat(), 1)))
    ridge = -0.05 + 0.1 / np.sqrt(2.0)
    turn = Rotation.from_euler("x", 45, degrees=True)
    d = placed(m, (0.02, 0.03, ridge + 0.1 / np.sqrt(2.0) - 0.001), turn)
    rb.forward(m, d)
    assert d.ncon == 1
    assert d.contact_normal[0] == pytest.approx([0.0, 0.0, 1.0], abs=1e-14)
    assert d.contact_dist[0] == pytest.approx(-0.001, abs=1e-14)
    assert d.contact_pos[0] == pytest.approx([0.0, 0.03, ridge - 0.001], abs=1e-14)


def overlap(m, p, R):
    """Return the overlap of the boxes by linear programming; negative if they are apart.

    This is the largest depth [m] of a point below the faces of both boxes. Unlike the engine, this
    does not use the fifteen directions that can separate two boxes.
    """
    faces = np.vstack([np.eye(3), -np.eye(3)])
    half, other = m.geom_size
    A = np.vstack([faces @ R.T, faces])
    b = np.concatenate([faces @ R.T @ p + np.tile(half, 2), faces @ m.geom_pos[1]])
    b[6:] += np.tile(other, 2)
    found = linprog([0.0, 0.0, 0.0, -1.0], np.c_[A, np.ones(12)], b, bounds=[(None, None)] * 4)
    return -found.fun


def test_the_engine_finds_exactly_the_overlaps_of_the_linear_program():
    m = pair((0.3, 0.2, 0.15), (0.25, 0.3, 0.2))
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(400):
        turn = Rotation.random(random_state=int(rng.integers(1 << 30)))
        p = rng.uniform(-0.3, 0.3, 3) + m.geom_pos[1]
        room = overlap(m, p, turn.as_matrix())
        if abs(room) < 1e-4:
            continue
        d = placed(m, p, turn)
        rb.forward(m, d)
        assert (d.ncon > 0) == (room > 0.0)
        seen[room > 0.0] += 1
        if d.ncon:
            leads_out(m, d, p, turn)
    assert min(seen.values()) > 100


def leads_out(m, d, p, turn):
    """Assert that a shift by the depth along the normal separates the boxes, half of it not."""
    n = d.contact_normal[0]
    assert np.abs(d.contact_normal[: d.ncon] - n).max() < 1e-14  # the points share a normal
    depth = -d.contact_dist[: d.ncon].min()
    R = turn.as_matrix()
    assert overlap(m, p + (depth + 1e-6) * n, R) < 0.0
    # the depth is not too large: after half of it the boxes still overlap
    assert overlap(m, p + 0.5 * depth * n, R) > 0.0


def separation(p, R, half, q, T, block):
    """Return the largest gap of two boxes along the normals of faces and of pairs of edges.

    The second value tells whether the normal belongs to a pair of edges.
    """
    across = np.cross(R.T[:, None], T.T[None]).reshape(9, 3)
    directions = np.vstack([R.T, T.T, across / np.linalg.norm(across, axis=1)[:, None]])
    found = abs(directions @ (p - q)) - abs(directions @ R) @ half - abs(directions @ T) @ block
    return found.max(), bool(found.argmax() >= 6)


def test_the_gap_of_two_boxes_is_the_largest_gap_along_all_normals():
    rng = np.random.default_rng(4)
    edges = 0
    for _ in range(400):
        R, T = Rotation.random(2, random_state=rng).as_matrix()
        p, q, half, block = *rng.normal(size=(2, 3)), *rng.uniform(0.1, 1.0, (2, 3))
        poses = [tuple(x.ravel().tolist()) for x in (p, R, half, q, T, block)]
        gap, axis = box_gap(*poses, 9.0)
        most, by_edges = separation(p, R, half, q, T, block)
        assert gap == pytest.approx(most, abs=1e-3 * min(*half, *block) if by_edges else 1e-13)
        assert np.dot(axis, p - q) > 0.0
        edges += by_edges and gap == pytest.approx(most, abs=1e-13)
    assert edges > 80

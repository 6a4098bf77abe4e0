# SPDX-License-Identifier: Apache-2.0
"""Robots made from published Denavit-Hartenberg tables have the published kinematics."""

import numpy as np
import pytest
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.description.build.dh import DHRow

LUMP = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
RIGHT = np.pi / 2


def row(a, alpha, d):
    return DHRow(a, alpha, d, 0.0, inertial=LUMP)


def puma560():
    """Return the Puma 560 of Craig, Introduction to Robotics, fig. 3.21 (modified convention)."""
    a2, a3, d3, d4 = 0.4318, 0.0203, 0.15005, 0.4318
    rows = [row(0, 0, 0), row(0, -RIGHT, 0), row(a2, 0, d3), row(a3, -RIGHT, d4),
            row(0, RIGHT, 0), row(0, -RIGHT, 0)]  # fmt: skip
    return rb.build(rb.dh.proximal(rows, name="puma560")), (a2, a3, d3, d4)


def craig_3_14(q, a2, a3, d3, d4):
    """Return position and rotation of the last link by Craig's equation 3.14."""
    (c1, c2, _, c4, c5, c6), (s1, s2, _, s4, s5, s6) = np.cos(q), np.sin(q)
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    x, y = c23 * (c4 * c5 * c6 - s4 * s6) - s23 * s5 * c6, s4 * c5 * c6 + c4 * s6
    u, v = c23 * (-c4 * c5 * s6 - s4 * c6) + s23 * s5 * s6, c4 * c6 - s4 * c5 * s6
    w = c23 * c4 * s5 + s23 * c5
    R = np.array([
        [c1 * x + s1 * y, c1 * u + s1 * v, -c1 * w - s1 * s4 * s5],
        [s1 * x - c1 * y, s1 * u - c1 * v, -s1 * w + c1 * s4 * s5],
        [-s23 * (c4 * c5 * c6 - s4 * s6) - c23 * s5 * c6,
         -s23 * (-c4 * c5 * s6 - s4 * c6) + c23 * s5 * s6, s23 * c4 * s5 - c23 * c5],
    ])  # fmt: skip
    reach = a2 * c2 + a3 * c23 - d4 * s23
    p = [c1 * reach - d3 * s1, s1 * reach + d3 * c1, -a3 * s23 - a2 * s2 - d4 * c23]
    return np.array(p), R


def test_puma_560_has_the_published_kinematics():
    m, lengths = puma560()
    d = rb.make_data(m)
    for q in np.random.default_rng(1).uniform(-3.0, 3.0, (20, 6)):
        d.qpos = q
        rb.kinematics(m, d)
        p, R = rb.frame_pose(m, d, "link6")
        expected_p, expected_R = craig_3_14(q, *lengths)
        assert p == pytest.approx(expected_p, abs=2e-14)
        assert pytest.approx(expected_R, abs=2e-14) == R


def test_ur5_has_the_kinematics_of_its_urdf():
    """The manufacturer's table (classic convention) agrees with the URDF, which has 12 digits."""
    m = robots.load(robots.find("ur5_robot.urdf"))
    rows = [row(0, RIGHT, 0.089159), row(-0.425, 0, 0), row(-0.39225, 0, 0),
            row(0, RIGHT, 0.10915), row(0, -RIGHT, 0.09465), row(0, 0, 0.0823)]  # fmt: skip
    table = rb.build(rb.dh.distal(rows, name="ur5"))
    d, e = rb.make_data(m), rb.make_data(table)
    for q in np.random.default_rng(2).uniform(-3.0, 3.0, (20, 6)):
        d.qpos, e.qpos = q, q
        rb.kinematics(m, d)
        rb.kinematics(table, e)
        base_p, base_R = rb.frame_pose(m, d, "base")
        tool_p, tool_R = rb.frame_pose(m, d, "tool0")
        p, R = rb.frame_pose(table, e, "link6")
        assert base_R.T @ (tool_p - base_p) == pytest.approx(p, abs=1e-10)
        assert pytest.approx(R, abs=1e-10) == base_R.T @ tool_R

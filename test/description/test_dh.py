# SPDX-License-Identifier: Apache-2.0
"""Chains made from Denavit-Hartenberg tables agree with products of 4x4 matrices."""

import math
from functools import reduce

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.poses import matrix
from support.refusals import refused

from rbdyn_ros.description.build.dh import DHRow, distal, proximal
from rbdyn_ros.description.build.shapes import sphere
from rbdyn_ros.description.parts.poses import Pose, pose
from rbdyn_ros.description.parts.types import Limit
from rbdyn_ros.errors import DescriptionError, ParameterError

TYPES = ("revolute", "prismatic", "continuous")


def turn(axis, angle):
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler(axis, angle).as_matrix()
    return T


def shift(x=0.0, y=0.0, z=0.0):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def frames(description, q):
    """Return the pose (4, 4) of every link at q, by products of X_P, joint motion and X_S^-1."""
    placed = {"base": np.eye(4)}
    q = [*q, 0.0]  # the fixed joint of the tool, if there is one, takes the last entry
    for joint, value in zip(description.joints, q, strict=False):
        moved = shift(z=value) if joint.type == "prismatic" else turn("z", value)
        motion = np.eye(4) if joint.type == "fixed" else moved
        own = np.linalg.inv(matrix(joint.child_origin))
        placed[joint.child] = placed[joint.parent] @ matrix(joint.origin) @ motion @ own
    return placed


def expected(rows, q, order):
    steps = []
    for row, value in zip(rows, q, strict=True):
        slides = row.type == "prismatic"
        theta, d = row.theta + value * (not slides), row.d + value * slides
        along_z = turn("z", theta) @ shift(z=d)
        if order is proximal:
            steps.append(turn("x", row.alpha) @ shift(x=row.a) @ along_z)
        else:
            steps.append(along_z @ shift(x=row.a) @ turn("x", row.alpha))
    return [reduce(np.matmul, steps[: i + 1]) for i in range(len(steps))]


@pytest.mark.parametrize("order", [proximal, distal])
@pytest.mark.parametrize("seed", range(10))
def test_links_have_the_frames_of_the_table(order, seed):
    rng = np.random.default_rng(seed)
    rows = [DHRow(*rng.uniform(-2, 2, 4), type=TYPES[rng.integers(3)]) for _ in range(6)]
    for q in (np.zeros(6), rng.uniform(-2, 2, 6)):
        placed = frames(order(rows), q)
        for i, T in enumerate(expected(rows, q, order), start=1):
            # the tolerance allows for rounding in six products of matrices with entries below 20
            assert np.allclose(placed[f"link{i}"], T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("order", [proximal, distal])
def test_base_and_tool_are_added_to_the_chain(order):
    rows = [DHRow(0.1, 0.2, 0.3, 0.4), DHRow(0.5, 0.6, 0.7, 0.8, "prismatic")]
    base, tool = pose((1, 2, 3), (0.1, 0, 0)), pose((0, 0, 0.1), (0, 0.2, 0))
    placed = frames(order(rows, base=base, tool=tool), (1.0, 2.0))
    last = matrix(base) @ expected(rows, (1.0, 2.0), order)[-1]
    assert np.allclose(placed["link2"], last, rtol=0, atol=1e-14)
    assert np.allclose(placed["tool"], last @ matrix(tool), rtol=0, atol=1e-14)


def test_a_row_sets_names_axes_and_properties():
    ball, limit = sphere(0.1, mass=1.0), Limit(-1, 1)
    arm = distal(
        [DHRow(1, 0, 0, 0, inertial=ball, limit=limit, name="shoulder"), DHRow(1, 0, 0, 0)],
        name="arm",
        tool=Pose(),
    )
    assert (arm.name, arm.base) == ("arm", "base")
    assert [link.name for link in arm.links] == ["base", "link1", "link2", "tool"]
    assert [joint.name for joint in arm.joints] == ["shoulder", "joint2", "tool_joint"]
    assert arm.joints[0].axis == (0.0, 0.0, 1.0)
    assert arm.links[1].inertial is ball
    assert arm.joints[0].limit == limit
    assert arm.joints[1].limit is None
    assert arm.findings == ()


def test_all_bad_rows_are_reported():
    rows = [
        DHRow(0, 0, 0, 0),
        DHRow(math.nan, 0, "one", 0),
        (0, 0, 0, 0),
        DHRow(0, 0, 0, 0, type="spherical"),
    ]
    codes = ["not-finite", "not-finite", "not-a-row", "dh-type"]
    with refused(DescriptionError, codes) as caught:
        proximal(rows, name="arm")
    elements = [finding.element for finding in caught.value.findings]
    assert elements == ["row 2", "row 2", "row 3", "row 4"]


@pytest.mark.parametrize(
    ("call", "error", "refusal"),
    [
        (
            lambda: proximal([]),
            DescriptionError,
            ("no-rows", ""),
        ),
        (
            lambda: distal([DHRow(0, 0, 0, 0)], base=(0, 0, 0)),
            ParameterError,
            ("bad-argument", ""),
        ),
        (
            lambda: distal([DHRow(0, 0, 0, 0, limit=Limit(1, -1))]),
            DescriptionError,
            ("limit-order", "joint 'joint1'"),
        ),
        (
            lambda: distal([DHRow(0, 0, 0, 0, name="j"), DHRow(0, 0, 0, 0, name="j")]),
            DescriptionError,
            ("duplicate-name", "joint 'j'"),
        ),
    ],
)
def test_bad_tables_are_refused(call, error, refusal):
    with refused(error, *refusal):
        call()

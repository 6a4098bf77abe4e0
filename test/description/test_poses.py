# SPDX-License-Identifier: Apache-2.0
"""Poses as tuples agree with 4x4 matrices."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.poses import matrix
from support.refusals import refused

from rbdyn_ros.description.parts.poses import Pose, compose, inverse, pose, quat_mul, rotate
from rbdyn_ros.errors import ParameterError


def random_pose(rng):
    x, y, z, w = Rotation.random(random_state=rng).as_quat()
    return Pose(tuple(rng.normal(size=3)), (w, x, y, z))


@pytest.mark.parametrize("seed", range(20))
def test_products_and_inverses_of_poses_agree_with_matrices(seed):
    rng = np.random.default_rng(seed)
    a, b = random_pose(rng), random_pose(rng)
    # the tolerance is a few rounding errors of numbers of size one
    assert np.allclose(matrix(compose(a, b)), matrix(a) @ matrix(b), rtol=0, atol=1e-14)
    assert np.allclose(matrix(inverse(a)), np.linalg.inv(matrix(a)), rtol=0, atol=1e-14)
    v = tuple(rng.normal(size=3))
    assert np.allclose(rotate(a.quat, v), matrix(a)[:3, :3] @ v, rtol=0, atol=1e-14)
    ab = matrix(Pose(quat=quat_mul(a.quat, b.quat)))
    assert np.allclose(ab, matrix(Pose(quat=a.quat)) @ matrix(Pose(quat=b.quat)), atol=1e-14)


def test_roll_pitch_yaw_are_about_fixed_axes():
    rpy = (0.3, -0.7, 2.0)
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    assert np.allclose(matrix(pose((1, 2, 3), rpy))[:3, :3], expected, rtol=0, atol=1e-15)
    assert pose((1, 2, 3), rpy).pos == (1.0, 2.0, 3.0)
    assert pose() == Pose()


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (((1, 2),), ("bad-argument", "")),
        (("abc",), ("bad-argument", "")),
        ((7,), ("bad-argument", "")),
        (((0, 0, 0), (0, math.nan, 0)), ("bad-argument", "")),
        (((0, 0, True),), ("bad-argument", "")),
        (((0, 0, 10**400),), ("bad-argument", "")),
    ],
)
def test_bad_arguments_are_refused(arguments, refusal):
    with refused(ParameterError, *refusal):
        pose(*arguments)

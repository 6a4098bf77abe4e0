# SPDX-License-Identifier: Apache-2.0
"""A rotation that was rounded to a few decimals is read as an exact rotation."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.checks.rotations import nearest_rotation, unit_quaternion
from rbdyn_ros.dynamics.toolbox.ik_targets import targets_of
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.parsing.magnitudes import check_pose

HALF = math.sqrt(0.5)
ROUNDED = (0.7071, 0.0, 0.7071, 0.0)
EXACT = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
#: An eighth of a turn about z, rounded to four decimals.
EIGHTH = np.array([[0.7071, -0.7071, 0.0], [0.7071, 0.7071, 0.0], [0.0, 0.0, 1.0]])


def test_slightly_wrong_quaternions_and_rotation_matrices_are_corrected():
    assert unit_quaternion(ROUNDED) == pytest.approx((HALF, 0.0, HALF, 0.0), abs=1e-15)
    assert unit_quaternion((1.0009, 0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)
    for wrong in ((1.0011, 0.0, 0.0, 0.0), (0.0,) * 4, (math.nan, 0.0, 0.0, 0.0)):
        assert unit_quaternion(wrong) is None
    turned = nearest_rotation(EIGHTH)
    assert turned.T @ turned == pytest.approx(np.eye(3), abs=1e-15)
    assert turned == pytest.approx(EIGHTH, abs=1e-4)
    for wrong in (1.001 * np.eye(3), -np.eye(3), np.zeros((3, 3))):
        assert nearest_rotation(wrong) is None


@pytest.mark.parametrize("rotation", [ROUNDED, np.tile(ROUNDED, (2, 1)), EXACT + 1e-4, EIGHTH])
def test_targets_of_inverse_kinematics_are_normalised(rotation):
    """A quaternion or matrix with four decimals is accepted."""
    targets, _ = targets_of(None, rotation)
    R = targets[:, 3:].reshape(-1, 3, 3)
    assert R @ R.transpose(0, 2, 1) == pytest.approx(np.tile(np.eye(3), (len(R), 1, 1)), abs=1e-14)
    if np.shape(rotation)[-1] == 4:
        assert pytest.approx(np.tile(EXACT, (len(R), 1, 1)), abs=1e-15) == R
    for scale in (0.998, 1.002):
        with refused(rb.ParameterError, "not-a-rotation", "rotation"):
            targets_of(None, scale * np.array(rotation))


def test_a_pose_of_the_builder_is_normalised():
    for quat in (ROUNDED, [0.7071, 0, 0.7071, 0], (HALF, 0.0, HALF, 0.0)):
        system = rb.SystemBuilder("arm").body("link", rb.shapes.box((1.0, 1.0, 1.0), mass=1.0))
        m = rb.build(system.joint("j", "revolute", "base", "link", origin=rb.Pose(quat=quat)))
        assert m.body_mat[1] == pytest.approx(EXACT.ravel(), abs=1e-15)
    # a length of 0.99 is no rounding error: the Pose keeps it, and later checks refuse it
    assert rb.Pose(quat=(0.7, 0.0, 0.7, 0.0)).quat == (0.7, 0.0, 0.7, 0.0)
    assert rb.Pose(quat=(HALF, 0.0, HALF, 0.0)).quat == (HALF, 0.0, HALF, 0.0)


def test_a_rounded_pose_in_a_message_is_accepted():
    check_pose((0.0, 0.0, 0.0), ROUNDED)
    with pytest.raises(RbdynError):
        check_pose((0.0, 0.0, 0.0), (0.7, 0.0, 0.7, 0.0))

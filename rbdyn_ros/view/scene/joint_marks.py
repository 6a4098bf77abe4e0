# SPDX-License-Identifier: Apache-2.0
"""Marks of joints: an arrow along the axis, an arc or bar for the limits, and a pointer."""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

#: Length of the arrow and radius of the arc, relative to the size of the robot.
ARROW, ARC = 0.14, 0.06

#: Angle of one straight piece of an arc [rad].
PIECE = math.pi / 24

_TURNING = (JointType.HINGE, JointType.HELICAL)


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """The mark of a joint.

    Attributes:
        joint: number of the joint.
        body, parent: numbers of the connected bodies.
        arrow: (2, 3) start and end of the arrow along the axis, in `body` [m].
        hand: (2, 3) ends of the pointer, which shows the position, in `body` [m]: from the axis to
            the arc, or across the bar.
        limits: (n, 2, 3) pieces of the arc or the bar, in `parent` [m]; empty: no limits.
    """

    joint: int
    body: int
    parent: int
    arrow: Array
    hand: Array
    limits: Array


def joint_marks(m: Model, size: float) -> list[Mark]:
    """Return the marks of all joints that have one axis.

    Args:
        m: the robot.
        size: size of the robot [m].
    """
    kinds = (*_TURNING, JointType.SLIDE)
    return [_mark(m, j, size) for j in np.flatnonzero(np.isin(m.jnt_type, kinds)).tolist()]


def _mark(m: Model, j: int, size: float) -> Mark:
    body = int(m.jnt_bodyid[j])
    x, y, axis = m.jnt_basis[j].reshape(3, 3)
    turns = m.jnt_type[j] in _TURNING
    hand = ARC * size * x if turns else 0.4 * ARC * size * np.array([-x, x])
    low, high = limits_of(m, j)
    pieces = np.empty((0, 2, 3))
    if math.isfinite(low) and math.isfinite(high):
        sign = -1.0 if m.jnt_reversed[j] else 1.0  # the parent moves in the opposite direction
        first, last = sorted((sign * low, sign * high))
        points = arc(x, y, first, last, ARC * size) if turns else np.outer([first, last], axis)
        R = quat_to_mat(m.body_quat[body])
        points = points @ R.T + m.body_pos[body]
        pieces = np.stack([points[:-1], points[1:]], axis=1)
    return Mark(
        j,
        body,
        int(m.body_parentid[body]),
        ARROW * size * np.array([-0.35 * axis, 0.65 * axis]),
        np.array([np.zeros(3), hand]) if turns else hand,
        pieces,
    )


def limits_of(m: Model, j: int) -> tuple[float, float]:
    """Return the limits of joint j, which has one coordinate [rad or m]; infinite: no limits."""
    if not m.jnt_limited[j]:
        return -math.inf, math.inf
    low, high = m.jnt_range[j].tolist()
    return low, high


def arc(x: Array, y: Array, low: float, high: float, radius: float) -> Array:
    """Return points (n, 3) of an arc, with the radii to its ends.

    Angles from `low` to `high` [rad] are measured from x towards y. An arc of more than a turn
    becomes a circle.
    """
    span = min(high - low, 2.0 * math.pi)
    angles = low + np.linspace(0.0, span, 2 + int(span / PIECE))
    rim = radius * (np.outer(np.cos(angles), x) + np.outer(np.sin(angles), y))
    middle = np.zeros((1, 3))
    return rim if span == 2.0 * math.pi else np.concatenate([middle, rim, middle])

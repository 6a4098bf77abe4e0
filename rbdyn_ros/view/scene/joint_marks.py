"""Marks of joints: an arrow along each axis, an arc or a bar for its limits, and a hand on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat

#: Lengths as shares of the robot's size: of the arrow, and radius of the arc.
ARROW, ARC = 0.14, 0.06

#: An arc has a piece for each of these [rad]; one of several turns is drawn as one.
PIECE = math.pi / 24

_TURNING = (JointType.HINGE, JointType.HELICAL)


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """What shows a joint.

    Attributes:
        joint: its number.
        body, parent: the bodies that it connects.
        arrow: along the axis, start and end (2, 3) in `body` [m].
        hand: from the axis to the arc, or across the bar (2, 3) in `body` [m]; it shows the
            position.
        limits: pieces (n, 2, 3) of the arc or the bar in `parent` [m]; empty without limits.
    """

    joint: int
    body: int
    parent: int
    arrow: Array
    hand: Array
    limits: Array


def joint_marks(m: Model, size: float) -> list[Mark]:
    """Return the marks of all joints that turn about or slide along one axis.

    Args:
        m: the robot.
        size: of it [m].
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
        sign = -1.0 if m.jnt_reversed[j] else 1.0  # the parent moves the other way
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
    """Return the limits of a joint of one coordinate, infinite where it has none."""
    if not m.jnt_limited[j]:
        return -math.inf, math.inf
    low, high = m.jnt_range[j].tolist()
    return low, high


def arc(x: Array, y: Array, low: float, high: float, radius: float) -> Array:
    """Return points (n, 3) of an arc, and the way to it from the middle, from x towards y.

    One of more than a turn is a circle.
    """
    span = min(high - low, 2.0 * math.pi)
    angles = low + np.linspace(0.0, span, 2 + int(span / PIECE))
    rim = radius * (np.outer(np.cos(angles), x) + np.outer(np.sin(angles), y))
    middle = np.zeros((1, 3))
    return rim if span == 2.0 * math.pi else np.concatenate([middle, rim, middle])

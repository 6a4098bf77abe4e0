# SPDX-License-Identifier: Apache-2.0
"""Convert wrenches to arrows along their central axes, with lengths proportional to the forces."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model

Rgb = tuple[int, int, int]

#: Lengths relative to the size of the robot: of the arrow of its weight, and of the longest arrow.
WEIGHT_LENGTH, LONGEST = 0.5, 1.5

#: Forces below this share of the weight are not shown; nor torques below this share of the weight
#: times the size.
FAINT = 1e-3

#: Colours of the arrows of contact forces, other external forces, and torques without a force.
CONTACT: Rgb = (0, 158, 115)
PUSH: Rgb = (213, 94, 0)
COUPLE: Rgb = (150, 90, 190)

#: Radii of the shaft and the head of an arrow, and diameter of a contact point, relative to the
#: size of the robot; a head is twice as long as its radius.
SHAFT, HEAD, TOUCH = 0.003, 0.015, 0.015

#: Gravity on earth [m/s^2], which scales arrows if the robot has no gravity.
USUAL_GRAVITY = 9.81


def weight_of(m: Model) -> float:
    """Return the weight of a robot [N]; without gravity: its weight on earth; without mass: 1."""
    g = float(np.linalg.norm(m.opt.gravity))
    weight = float(m.body_mass.sum()) * (g if g > 0.01 * USUAL_GRAVITY else USUAL_GRAVITY)
    return weight if weight > 0.0 else 1.0


def wrench_arrows(wrench: Array, at: Array, weight: float, size: float) -> Array:
    """Return arrows (k, 2, 3) of the forces among wrenches.

    Each arrow starts at the point of the central axis that is closest to `at`, or at `at` itself
    if that point is farther away than the size of the robot.

    Args:
        wrench: (n, 6) force, then torque about `at`, in world axes [N, N m].
        at: (n, 3) points in the world [m].
        weight: weight of the robot [N].
        size: size of the robot [m].
    """
    force, torque = wrench[:, :3], wrench[:, 3:]
    square = np.sum(force * force, axis=1)
    shown = np.isfinite(wrench).all(axis=1) & (np.sqrt(square) > FAINT * weight)
    force, torque, square, at = force[shown], torque[shown], square[shown], at[shown]
    # f x t / f^2 leads from the reference point of the torque to the closest point of the axis
    arm = np.cross(force, torque) / square[:, None]
    arm[np.linalg.norm(arm, axis=1) > size] = 0.0
    return _arrows(at + arm, force, weight, size)


def point_arrows(points: Array, weight: float, size: float) -> tuple[Array, Array]:
    """Return arrows (k, 2, 3) of the forces that are shown, and all finite points.

    Args:
        points: (n, 6) point, then force there, in world axes [m, N].
        weight: weight of the robot [N].
        size: size of the robot [m].
    """
    finite = points[np.isfinite(points).all(axis=1)]
    at, force = finite[:, :3], finite[:, 3:]
    shown = np.linalg.norm(force, axis=1) > FAINT * weight
    return _arrows(at[shown], force[shown], weight, size), at


def couple_arrows(wrench: Array, at: Array, weight: float, size: float) -> Array:
    """Return arrows (k, 2, 3) of the torques of wrenches with almost no force.

    The torque along the central axis of a wrench with a force is not shown. Arguments as for
    wrench_arrows.
    """
    force, torque = np.linalg.norm(wrench[:, :3], axis=1), wrench[:, 3:]
    strength = np.linalg.norm(torque, axis=1)
    shown = np.isfinite(wrench).all(axis=1) & (force <= FAINT * weight)
    shown &= strength > FAINT * weight * size
    return _arrows(at[shown], torque[shown] / size, weight, size)


def _arrows(start: Array, force: Array, weight: float, size: float) -> Array:
    length = WEIGHT_LENGTH * size / weight * np.linalg.norm(force, axis=1, keepdims=True)
    shortened = np.minimum(length, LONGEST * size) / np.maximum(length, 1e-300)
    arrow = WEIGHT_LENGTH * size / weight * shortened * force
    return np.stack([start, start + arrow], axis=1)

# SPDX-License-Identifier: Apache-2.0
"""Sums and shares of mass distributions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.poses import Pose, Vec3, compose, rotate
from rbdyn_ros.description.parts.types import Inertial


def total(inertials: Sequence[Inertial]) -> Inertial:
    """Return the sum of some inertials in one frame, in the axes of that frame."""
    if len(inertials) == 1:
        return inertials[0]
    mass = sum(part.mass for part in inertials)
    centres = np.array([part.origin.pos for part in inertials])
    shares = np.array([part.mass for part in inertials])
    com = shares @ centres / mass if mass > 0.0 else np.zeros(3)
    moment = np.zeros((3, 3))
    for part, arm in zip(inertials, centres - com, strict=True):
        # Steiner: I + m (r^2 1 - r r^T)
        moment += about_com(part) + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moment.tolist()
    return Inertial(mass, Pose(tuple(com.tolist())), (xx, yy, zz, xy, xz, yz))


def half(part: Inertial) -> Inertial:
    """Return half of a mass distribution, at the same place."""
    xx, yy, zz, xy, xz, yz = (0.5 * number for number in part.inertia)
    return replace(part, mass=0.5 * part.mass, inertia=(xx, yy, zz, xy, xz, yz))


def moved(part: Inertial, frame: Pose) -> Inertial:
    """Return an inertial, given in `frame`, in the parent frame of `frame`."""
    return replace(part, origin=compose(frame, part.origin))


def about_com(part: Inertial) -> Array:
    """Return the 3x3 inertia about the centre of mass, in the axes of the link."""
    xx, yy, zz, xy, xz, yz = part.inertia
    units: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    R = np.array([rotate(part.origin.quat, unit) for unit in units]).T
    rotated: Array = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return rotated

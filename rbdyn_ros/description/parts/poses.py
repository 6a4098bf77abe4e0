# SPDX-License-Identifier: Apache-2.0
"""Poses and rotations as plain tuples, for readers and builders."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.checks.rotations import NEARLY
from rbdyn_ros.description.parts.bounds import BOUNDS

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]

LARGEST_ANGLE = BOUNDS["angle"].high
ZERO: Vec3 = (0.0, 0.0, 0.0)
#: A quaternion whose length differs from 1 by less than this keeps its bits.
UNIT = 1e-12


def keep_floats(owner: object, name: str, always: bool = False) -> None:
    """Convert the field `name` of a frozen dataclass to a tuple of floats, if it holds numbers.

    Lists and arrays become tuples. For speed a tuple is converted only with `always`. Anything
    else stays as it is, and the checks refuse it with a message.
    """
    value = getattr(owner, name)
    if always or type(value) is not tuple:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            object.__setattr__(owner, name, tuple(float(number) for number in value))


def keep_points(owner: Any) -> None:
    """Convert the field `points` to a tuple of tuples of floats, if it holds numbers."""
    keep_rows(owner, "points")


def keep_rows(owner: Any, name: str) -> None:
    """Convert the field `name` to a tuple of tuples of floats, if it holds numbers."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        rows = tuple(tuple(float(x) for x in row) for row in getattr(owner, name))
        object.__setattr__(owner, name, rows)


def keep_table(owner: Any, name: str, kind: type[np.generic]) -> None:
    """Convert the field `name` to a read-only array with two axes, if it holds such numbers."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        given = np.asarray(getattr(owner, name))
        if given.ndim != 2 or not np.can_cast(given.dtype, kind, "same_kind"):
            return
        table = np.array(given, kind)
        table.flags.writeable = False
        object.__setattr__(owner, name, table)


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame in its parent frame.

    Attributes:
        pos: origin [m].
        quat: rotation as unit quaternion (w, x, y, z); a quaternion of nearly unit length, as from
            rounded numbers, is divided by its length.
    """

    pos: Vec3 = ZERO
    quat: Quat = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        keep_floats(self, "pos")
        keep_floats(self, "quat")
        with contextlib.suppress(TypeError, ValueError):  # the checks refuse a wrong quaternion
            length = math.hypot(*self.quat)
            if len(self.quat) == 4 and UNIT < abs(length - 1.0) <= NEARLY:
                object.__setattr__(self, "quat", tuple(x / length for x in self.quat))


#: The pose of a frame that coincides with its parent frame.
IN_PLACE = Pose()


def pose(xyz: Vec3 = ZERO, rpy: Vec3 = ZERO) -> Pose:
    """Return the pose with an origin [m] and the roll, pitch and yaw of URDF [rad].

    Raises:
        ParameterError: xyz is not three finite numbers, or rpy not three angles in range.
    """
    x, y, z = finite("xyz", xyz, (3,), element="").tolist()
    roll, pitch, yaw = finite("rpy", rpy, (3,), -LARGEST_ANGLE, LARGEST_ANGLE, element="").tolist()
    return Pose((x, y, z), quat_from_rpy(roll, pitch, yaw))


def compose(a: Pose, b: Pose) -> Pose:
    """Return the pose ``b``, given in the frame ``a``, in the parent frame of ``a``."""
    x, y, z = rotate(a.quat, b.pos)
    pos = (a.pos[0] + x, a.pos[1] + y, a.pos[2] + z)
    return Pose(pos, quat_mul(a.quat, b.quat))


def inverse(a: Pose) -> Pose:
    """Return the pose of the parent frame in the frame ``a``."""
    w, x, y, z = a.quat
    back = (w, -x, -y, -z)
    px, py, pz = rotate(back, a.pos)
    return Pose((-px, -py, -pz), back)


def quat_mul(a: Quat, b: Quat) -> Quat:
    """Return the product of two quaternions (w, x, y, z): rotate by ``b``, then by ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(quat: Quat, v: Vec3) -> Vec3:
    """Return a vector rotated by a unit quaternion: v + 2 u x (u x v + w v), u its vector part."""
    w, ux, uy, uz = quat
    vx, vy, vz = v
    tx, ty, tz = uy * vz - uz * vy + w * vx, uz * vx - ux * vz + w * vy, ux * vy - uy * vx + w * vz
    return (
        vx + 2.0 * (uy * tz - uz * ty),
        vy + 2.0 * (uz * tx - ux * tz),
        vz + 2.0 * (ux * ty - uy * tx),
    )


def turn_of_z(direction: Sequence[float]) -> Quat:
    """Return the shortest rotation of the z axis into a direction of any length."""
    x, y, z = direction
    sine = math.hypot(x, y)
    if sine <= 1e-10 * math.hypot(x, y, z):
        return (1.0, 0.0, 0.0, 0.0) if z > 0.0 else (0.0, 1.0, 0.0, 0.0)
    half = math.atan2(sine, z) / 2.0
    return (math.cos(half), -y / sine * math.sin(half), x / sine * math.sin(half), 0.0)


def quat_from_rpy(roll: float, pitch: float, yaw: float) -> Quat:
    """Return the quaternion (w, x, y, z) of Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    if roll == pitch == yaw == 0.0:
        return (1.0, 0.0, 0.0, 0.0)
    cr, sr = math.cos(roll / 2), math.sin(roll / 2)
    cp, sp = math.cos(pitch / 2), math.sin(pitch / 2)
    cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
    return (
        cy * cp * cr + sy * sp * sr,
        cy * cp * sr - sy * sp * cr,
        cy * sp * cr + sy * cp * sr,
        sy * cp * cr - cy * sp * sr,
    )


def rpy_from_quat(quat: Quat) -> Vec3:
    """Return the roll, pitch and yaw of a unit quaternion (w, x, y, z) [rad].

    The angles give the rotation of the quaternion even near a pitch of pi/2, where roll and yaw
    have the same axis: the roll is the rest of the rotation after the returned yaw and pitch.
    """
    xx, xy, xz = rotate(quat, (1.0, 0.0, 0.0))
    yx, yy, _ = rotate(quat, (0.0, 1.0, 0.0))
    yaw = math.atan2(xy, xx)
    pitch = math.atan2(-xz, math.hypot(xx, xy))
    zx, zy, _ = rotate(quat, (0.0, 0.0, 1.0))
    sine, cosine = math.sin(yaw), math.cos(yaw)
    return math.atan2(sine * zx - cosine * zy, cosine * yy - sine * yx), pitch, yaw

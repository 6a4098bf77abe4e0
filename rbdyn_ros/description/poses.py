"""Poses and rotations as plain tuples, for readers and builders."""

from __future__ import annotations

import math

from rbdyn_ros.description.arguments import vector
from rbdyn_ros.description.types import Pose, Quat, Vec3

ZERO: Vec3 = (0.0, 0.0, 0.0)


def pose(xyz: Vec3 = ZERO, rpy: Vec3 = ZERO) -> Pose:
    """Return the pose with an origin [m] and with URDF's roll, pitch and yaw [rad].

    Raises:
        ParameterError: one of them is not three finite numbers.
    """
    return Pose(vector("xyz", xyz), quat_from_rpy(*vector("rpy", rpy)))


def compose(a: Pose, b: Pose) -> Pose:
    """Return the pose, in the parent frame of ``a``, of what has pose ``b`` in the frame ``a``."""
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
    """Return the product of two quaternions (w, x, y, z): first turn by ``b``, then by ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(quat: Quat, v: Vec3) -> Vec3:
    """Turn a vector by a unit quaternion: v + 2 u x (u x v + w v), with u its vector part."""
    w, ux, uy, uz = quat
    vx, vy, vz = v
    tx, ty, tz = uy * vz - uz * vy + w * vx, uz * vx - ux * vz + w * vy, ux * vy - uy * vx + w * vz
    return (
        vx + 2.0 * (uy * tz - uz * ty),
        vy + 2.0 * (uz * tx - ux * tz),
        vz + 2.0 * (ux * ty - uy * tx),
    )


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

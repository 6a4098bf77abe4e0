# SPDX-License-Identifier: Apache-2.0
"""Derivatives of position variables: qdot = Q(q) alpha, RBDA eq 3.7; the book calls it qdfn.

For most joints qdot = alpha. Other joints have quaternions, or positions in one frame and
velocities in another.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.spatial import quat_turn


def qdfn(kind: JointType, q: Array, alpha: Array) -> Array:
    """Return qdot, (nq,), of one joint; the polarity of the joint does not matter."""
    if kind == JointType.BALL:
        return euler_parameter_rates(q, alpha)
    if kind == JointType.FREE:
        return np.concatenate([alpha[:3], euler_parameter_rates(q[3:], alpha[3:])])
    if kind in (JointType.SIXDOF_FP, JointType.SIXDOF_FS):
        w, v = alpha[:3], alpha[3:]
        rate = quat_turn(q[:4]).T @ v if kind == JointType.SIXDOF_FP else v - np.cross(w, q[4:])
        return np.concatenate([euler_parameter_rates(q[:4], w), rate])
    if kind == JointType.PLANAR_FP:
        w, x_rate, y_rate = alpha
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([w, c * x_rate - s * y_rate, s * x_rate + c * y_rate])
    if kind == JointType.PLANAR_FS:
        w, x_rate, y_rate = alpha
        return np.array([w, x_rate + w * q[2], y_rate - w * q[1]])
    return np.array(alpha)


def euler_parameter_rates(p: Array, w: Array) -> Array:
    """Return dp/dt of p0 .. p3 for an angular velocity in F_s axes (RBDA eq 4.13)."""
    p0, p1, p2, p3 = p
    Q = np.array([[-p1, -p2, -p3], [p0, -p3, p2], [p3, p0, -p1], [-p2, p1, p0]])
    return 0.5 * Q @ w

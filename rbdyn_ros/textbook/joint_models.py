# SPDX-License-Identifier: Apache-2.0
"""The joint models of RBDA table 4.1 and sections 4.4 and 4.5, and of a few more joints.

A joint model gives the pose of the successor's frame F_s in the predecessor's frame F_p, and the
directions in which F_s can move. Axes are as in the book: joints with one axis rotate about z or
slide along z. Vectors are in F_s coordinates, [angular; linear]; only r is in F_p.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.spatial import cross, quat_turn, rx, ry, rz


@dataclass(frozen=True)
class JointModel:
    """A joint in one state.

    Attributes:
        E: (3, 3), transforms coordinates from F_p to F_s.
        r: (3,), origin of F_s in F_p [m].
        S: (6, nv), motion subspace: v_J = S alpha.
        T: (6, 6 - nv), constraint-force subspace: T^T S = 0.
        S_ring: (6, nv), apparent derivative of S, as an observer in F_s sees it (eq 3.41).
    """

    E: Array
    r: Array
    S: Array
    T: Array
    S_ring: Array


def e(*numbers: int) -> Array:
    """Return unit 6-vectors, numbered from 1 as in the book, as columns."""
    return np.eye(6)[:, [number - 1 for number in numbers]]


def constant(E: Array, r: Array, S: Array, T: Array) -> JointModel:
    """Return a model whose S does not depend on q."""
    return JointModel(E, r, S, T, np.zeros_like(S))


def weld(_q: Array, _alpha: Array, _parameter: float) -> JointModel:
    return constant(np.eye(3), np.zeros(3), e(), e(1, 2, 3, 4, 5, 6))


def revolute(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    return constant(rz(q[0]), np.zeros(3), e(3), e(1, 2, 4, 5, 6))


def prismatic(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    return constant(np.eye(3), np.array([0.0, 0.0, q[0]]), e(6), e(1, 2, 3, 4, 5))


def helical(q: Array, _alpha: Array, pitch: float) -> JointModel:
    r = np.array([0.0, 0.0, pitch * q[0]])
    T = np.hstack([e(1, 2, 4, 5), e(6) - pitch * e(3)])
    return constant(rz(q[0]), r, e(3) + pitch * e(6), T)


def cylindrical(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    return constant(rz(q[0]), np.array([0.0, 0.0, q[1]]), e(3, 6), e(1, 2, 4, 5))


def planar_fs(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    """Planar joint (table 4.1); q: the angle, then the position in F_s axes."""
    c, s = np.cos(q[0]), np.sin(q[0])
    r = np.array([c * q[1] - s * q[2], s * q[1] + c * q[2], 0.0])
    return constant(rz(q[0]), r, e(3, 4, 5), e(1, 2, 6))


def planar_fp(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    """Planar joint (example 4.5); q: angle, then position in F_p axes; alpha as in planar_fs."""
    return constant(rz(q[0]), np.array([q[1], q[2], 0.0]), e(3, 4, 5), e(1, 2, 6))


def planar_rates(q: Array, alpha: Array, _parameter: float) -> JointModel:
    """URDF's planar joint; q: position in F_p axes, then the angle; alpha: the rates of q."""
    c, s = np.cos(q[2]), np.sin(q[2])
    S = np.hstack([c * e(4) - s * e(5), s * e(4) + c * e(5), e(3)])
    S_ring = alpha[2] * np.hstack([-s * e(4) - c * e(5), c * e(4) - s * e(5), 0.0 * e(3)])
    return JointModel(rz(q[2]), np.array([q[0], q[1], 0.0]), S, e(1, 2, 6), S_ring)


def spherical(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    """Spherical joint; q: Euler parameters (eq 4.12)."""
    return constant(quat_turn(q), np.zeros(3), e(1, 2, 3), e(4, 5, 6))


def spherical_ypr(q: Array, alpha: Array, _parameter: float) -> JointModel:
    """Spherical joint; q: yaw, pitch, roll (eq 4.7 to 4.9); at a pitch of pi / 2 S has rank 2."""
    _, pitch_rate, roll_rate = alpha
    c2, s2, c3, s3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2]), np.sin(q[2])
    S = e(1, 2, 3) @ np.array([[-s2, 0.0, 1.0], [c2 * s3, c3, 0.0], [c2 * c3, -s3, 0.0]])
    yaw_ring = [
        -c2 * pitch_rate,
        -s2 * s3 * pitch_rate + c2 * c3 * roll_rate,
        -s2 * c3 * pitch_rate - c2 * s3 * roll_rate,
    ]
    pitch_ring = [0.0, -s3 * roll_rate, -c3 * roll_rate]
    S_ring = e(1, 2, 3) @ np.column_stack([yaw_ring, pitch_ring, np.zeros(3)])
    E: Array = rx(q[2]) @ ry(q[1]) @ rz(q[0])
    return JointModel(E, np.zeros(3), S, e(4, 5, 6), S_ring)


def universal(q: Array, alpha: Array, _parameter: float) -> JointModel:
    """A rotation about F_p's x axis, then a rotation about F_s's y axis."""
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    S = np.hstack([c2 * e(1) + s2 * e(3), e(2)])
    S_ring = alpha[1] * np.hstack([c2 * e(3) - s2 * e(1), 0.0 * e(2)])
    T = np.hstack([c2 * e(3) - s2 * e(1), e(4, 5, 6)])
    E: Array = ry(q[1]) @ rx(q[0])
    return JointModel(E, np.zeros(3), S, T, S_ring)


def rack_pinion(q: Array, alpha: Array, radius: float) -> JointModel:
    """Example 4.6: the rack is along F_p's x axis, the pinion rotates about F_s's z axis."""
    c, s = np.cos(q[0]), np.sin(q[0])
    S = e(3) + radius * (c * e(4) - s * e(5))
    S_ring = -alpha[0] * radius * (s * e(4) + c * e(5))
    T = np.hstack([e(1, 2, 6), s * e(4) + c * e(5), c * e(4) - s * e(5) - radius * e(3)])
    return JointModel(rz(q[0]), np.array([radius * q[0], 0.0, 0.0]), S, T, S_ring)


def sixdof_fs(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    """Six-dof joint (table 4.1); q: Euler parameters, then the position in F_s axes."""
    E = quat_turn(q[:4])
    return constant(E, E.T @ q[4:], np.eye(6), e())


def sixdof_fp(q: Array, _alpha: Array, _parameter: float) -> JointModel:
    """Six-dof joint; q: Euler parameters, then position in F_p axes; alpha as in sixdof_fs."""
    return constant(quat_turn(q[:4]), q[4:].copy(), np.eye(6), e())


def free(q: Array, alpha: Array, _parameter: float) -> JointModel:
    """MuJoCo's free joint; q: r in F_p, Euler parameters; alpha: dr/dt, then w in F_s axes."""
    E = quat_turn(q[3:])
    S = np.hstack([e(4, 5, 6) @ E, e(1, 2, 3)])
    E_dot = -cross(alpha[3:]) @ E
    S_ring = np.hstack([e(4, 5, 6) @ E_dot, 0.0 * e(1, 2, 3)])
    return JointModel(E, q[:3].copy(), S, e(), S_ring)


#: The model of every joint type in the library; user-defined joints are not supported.
JOINT_MODELS = {
    JointType.WELD: weld,
    JointType.HINGE: revolute,
    JointType.SLIDE: prismatic,
    JointType.HELICAL: helical,
    JointType.CYLINDRICAL: cylindrical,
    JointType.UNIVERSAL: universal,
    JointType.RACK_PINION: rack_pinion,
    JointType.PLANAR: planar_rates,
    JointType.PLANAR_FP: planar_fp,
    JointType.PLANAR_FS: planar_fs,
    JointType.BALL: spherical,
    JointType.YPR: spherical_ypr,
    JointType.FREE: free,
    JointType.SIXDOF_FP: sixdof_fp,
    JointType.SIXDOF_FS: sixdof_fs,
}

#: Joints without a given axis: they move along the axes of their frames.
WITHOUT_AXES = (
    JointType.WELD,
    JointType.BALL,
    JointType.YPR,
    JointType.FREE,
    JointType.SIXDOF_FP,
    JointType.SIXDOF_FS,
)

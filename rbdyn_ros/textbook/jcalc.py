"""Joint calculation, RBDA table 4.1, with the joint types and joint variables of a Model.

Free and planar joints have velocities along axes of the predecessor, so their S turns with q
and c_J = (dS/dt) qd is not zero (RBDA eq 3.41, 4.4).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.model.joints import JointType
from rbdyn_ros.textbook.spatial import Array, cross, motion_transform, quat_turn, turn


def jcalc(kind: int, q: Array, qd: Array, basis: Array) -> tuple[Array, Array, Array, Array]:
    """Return X_J, S, v_J and c_J of one joint.

    Args:
        kind: a JointType.
        q: its positions.
        qd: its velocities.
        basis: rows x, y, z: the joint's axes in the body; z is the axis of motion.
    """
    x, y, z = basis
    E, r = np.eye(3), np.zeros(3)
    S, Sdot = np.zeros((6, len(qd))), np.zeros((6, len(qd)))
    if kind == JointType.HINGE:
        E = turn(z, q[0])
        S[:3, 0] = z
    elif kind == JointType.SLIDE:
        r = z * q[0]
        S[3:, 0] = z
    elif kind == JointType.BALL:
        E = quat_turn(q)
        S[:3] = np.eye(3)
    elif kind == JointType.FREE:
        E, r = quat_turn(q[3:]), q[:3]
        S[3:, :3], S[:3, 3:] = E, np.eye(3)
        Sdot[3:, :3] = -cross(qd[3:]) @ E
    elif kind == JointType.PLANAR:
        E, r = turn(z, q[2]), x * q[0] + y * q[1]
        plane = E @ np.column_stack([x, y])
        S[3:, :2], S[:3, 2] = plane, z
        Sdot[3:, :2] = -cross(z * qd[2]) @ plane
    else:
        raise NotImplementedError(f"joint type {kind}")
    return motion_transform(E, r), S, S @ qd, Sdot @ qd

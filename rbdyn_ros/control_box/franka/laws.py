# SPDX-License-Identifier: Apache-2.0
"""The torques of the box's own controllers, without gravity, which the box always adds."""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.laws import RATIO, At
from rbdyn_ros.control_box.paths import gap_between, turn_between

#: Stiffness at the start [N m/rad; N/m and N m/rad], and the vendor's largest values.
JOINT_STIFFNESS = np.array([3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0])
CARTESIAN_STIFFNESS = np.array([3000.0, 3000.0, 3000.0, 300.0, 300.0, 300.0])
MOST_JOINT_STIFFNESS = 14250.0
#: Stiffness in the null space of a Cartesian task [N m/rad].
POSTURE = 20.0


def cartesian_impedance(s: At, K: Array, T: Array, q: Array, dq: Array, ddq: Array) -> Array:
    """Return J^T (K e + D (v_d - v)) + M ddq_d + C dq, plus a weak null-space spring to q_d.

    K and D act in the axes of the stiffness frame; D is critical for the inertia there.

    Source: Ott, Cartesian impedance control of redundant and flexible-joint robots, 2008.

    Args:
        s: the state.
        K: (6,) stiffness, linear first [N/m, N m/rad].
        T: (4, 4) desired pose of the stiffness frame in O.
        q: (7,) desired positions [rad].
        dq: (7,) desired velocities [rad/s].
        ddq: (7,) desired accelerations [rad/s^2].
    """
    R = s.T[:3, :3]
    J = np.concatenate([R.T @ s.J[:3], R.T @ s.J[3:]])
    gap = np.concatenate([R.T @ (T[:3, 3] - s.T[:3, 3]), R.T @ turn_between(R, T[:3, :3])])
    inverse = np.linalg.inv(s.M)
    mobility = J @ inverse @ J.T
    D = 2.0 * RATIO * np.sqrt(K / np.maximum(np.diag(mobility), 1e-3))
    force = K * gap + D * (J @ (dq - s.dq))
    beside = POSTURE * (q - s.q) + 2.0 * RATIO * np.sqrt(POSTURE * np.diag(s.M)) * (dq - s.dq)
    # the projection is dynamically consistent: it does not accelerate the stiffness frame
    task = np.linalg.solve(mobility + 1e-6 * np.eye(6), J @ inverse @ beside)
    torque: Array = J.T @ (force - task) + beside + s.M @ ddq + s.coriolis
    return torque


def guiding(s: At, free: Array, elbow_free: bool, T: Array, q: Array) -> Array:
    """Return torques (7,) of springs along the directions in which a hand must not move the arm.

    Args:
        s: the state.
        free: (6,) whether a hand may move the stiffness frame along x y z, about x y z of O.
        elbow_free: whether a hand may move joint 3.
        T: (4, 4) pose of the stiffness frame where guiding began.
        q: (7,) positions where guiding began [rad].
    """
    gap = gap_between(s.T, T)
    K = np.where(free, 0.0, CARTESIAN_STIFFNESS)
    torque: Array = s.J.T @ (K * gap - 0.05 * K * (s.J @ s.dq)) + s.coriolis
    if not elbow_free:
        torque[2] += 100.0 * (q[2] - s.q[2]) - 5.0 * s.dq[2]
    return torque

# SPDX-License-Identifier: Apache-2.0
"""Joints that close loops, as constraints on the spanning tree. Source: RBDA section 3.5.

A loop joint has no coordinates in q: its position is computed from the poses of its two bodies.
All vectors are in the coordinates of F_s, the joint's frame on its successor.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JOINT_KINDS, JointKind
from rbdyn_ros.textbook.jcalc import JointDescriptor, JointMotion, jcalc
from rbdyn_ros.textbook.kinematics import jacobians, kinematics, velocity_products
from rbdyn_ros.textbook.qdfn import qdfn
from rbdyn_ros.textbook.spatial import cross_motion, frame, inverse_transform
from rbdyn_ros.textbook.system import LoopJoint, System

CLOSED = 1e-9
MAX_ITERATIONS = 50


@dataclass(frozen=True)
class LoopMotion:
    """A loop joint in one state of its bodies.

    Attributes:
        q: position of the joint that is nearest to the poses of the bodies.
        X_p, X_s: (6, 6), from the frames of the bodies p and s to F_s.
        T: (6, n_c), constraint-force subspace.
        v_J: (6,), v_s - v_p.
        a_J: (6,), c_J + v_s x v_J: T^T (a_s - a_p) = T^T a_J (eq 3.44).
        error: (6,), rotation and translation from the pose of the joint at q to the pose of F_s.
    """

    q: Array
    X_p: Array
    X_s: Array
    T: Array
    v_J: Array
    a_J: Array
    error: Array


@dataclass(frozen=True)
class Constraints:
    """The equations K qdd = k of all loop joints, stacked.

    Attributes:
        K: (n_c, nv).
        k: (n_c,), equal to -dK/dt qd if K qd = 0; otherwise v_J is not a possible joint velocity.
        error: (n_c,), T^T times the position error; if it is zero, its derivative is K.
    """

    K: Array
    k: Array
    error: Array


def loop_constraints(s: System, q: Array, qd: Array) -> Constraints:
    """Return the constraints of the loop joints on the spanning tree.

    With a = J qdd + b for every body, T^T (a_s - a_p) = T^T (c_J + v_s x v_J) becomes
    K = T^T (J_s - J_p), k = T^T (c_J + v_s x v_J - (b_s - b_p)).
    """
    J, b = jacobians(s, q), velocity_products(s, q, qd)
    K, k, error = [np.zeros((0, s.nv))], [np.zeros(0)], [np.zeros(0)]
    for joint, loop in zip(s.loops, loop_motions(s, q, qd), strict=True):
        K.append(loop.T.T @ (loop.X_s @ J[joint.s] - loop.X_p @ J[joint.p]))
        k.append(loop.T.T @ (loop.a_J - (loop.X_s @ b[joint.s] - loop.X_p @ b[joint.p])))
        error.append(loop.T.T @ loop.error)
    return Constraints(np.vstack(K), np.concatenate(k), np.concatenate(error))


def loop_motions(s: System, q: Array, qd: Array) -> list[LoopMotion]:
    """Return the position and motion of every loop joint."""
    iX_0, v = kinematics(s, q, qd)
    return [_loop_motion(joint, iX_0, v) for joint in s.loops]


def _loop_motion(joint: LoopJoint, iX_0: list[Array], v: list[Array]) -> LoopMotion:
    sX_p = joint.X_S @ iX_0[joint.s] @ inverse_transform(iX_0[joint.p])
    q, error = loop_position(joint.jtype, sX_p @ inverse_transform(joint.X_P))
    v_s = joint.X_S @ v[joint.s]
    v_J = v_s - sX_p @ v[joint.p]
    here = motion_at(joint.jtype, q)
    alpha = np.linalg.pinv(here.S) @ v_J
    a_J = jcalc(joint.jtype, q, alpha).c_J + cross_motion(v_s) @ v_J
    return LoopMotion(q, sX_p, joint.X_S, here.T, v_J, a_J, error)


def loop_position(jtype: JointDescriptor, X: Array) -> tuple[Array, Array]:
    """Return the joint position whose pose is nearest to X, from F_p to F_s, and the error.

    Newton's method starts from several positions, until it converges to X from one of them.
    """
    candidates = []
    for start in _starts(JOINT_KINDS[jtype.kind]):
        candidates.append(_newton(jtype, X, start))
        if np.abs(candidates[-1][1]).max() < CLOSED:
            break
    return min(candidates, key=lambda candidate: float(np.linalg.norm(candidate[1])))


def _newton(jtype: JointDescriptor, X: Array, q: Array) -> tuple[Array, Array]:
    for _ in range(MAX_ITERATIONS):
        joint = motion_at(jtype, q)
        alpha = np.linalg.pinv(joint.S) @ displacement(X @ inverse_transform(joint.X_J))
        q = _normalised(JOINT_KINDS[jtype.kind], q + qdfn(jtype.kind, q, alpha))
        # the next error would be the square of this error
        if np.abs(alpha).max(initial=0.0) < CLOSED:
            break
    return q, displacement(X @ inverse_transform(motion_at(jtype, q).X_J))


def motion_at(jtype: JointDescriptor, q: Array) -> JointMotion:
    """Return the motion of a joint at rest."""
    return jcalc(jtype, q, np.zeros(JOINT_KINDS[jtype.kind].nv))


def displacement(X: Array) -> Array:
    """Return rotation and translation from frame A to B, in B's coordinates; X is from A to B."""
    E, r = frame(X)
    return np.concatenate([Rotation.from_matrix(E.T).as_rotvec(), E @ r])


def _starts(kind: JointKind) -> Iterator[Array]:
    """Yield the neutral position, then other starts, in case Newton's method does not reach X."""
    steps = np.pi * np.array([0.0, 0.5, -0.5, 1.0, -1.0])
    if (
        kind.nq == 1
    ):  # if a rotation also translates, positions that differ by full rotations are different
        steps = np.pi * np.array([0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6])
    free = kind.nq if kind.quat < 0 else 0
    for offsets in itertools.product(steps, repeat=min(free, 2)):
        q = np.array(kind.qpos0)
        q[: len(offsets)] += offsets
        yield q


def _normalised(kind: JointKind, q: Array) -> Array:
    if kind.quat >= 0:
        q[kind.quat : kind.quat + 4] /= np.linalg.norm(q[kind.quat : kind.quat + 4])
    return q

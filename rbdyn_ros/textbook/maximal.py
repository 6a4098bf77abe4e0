# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics in maximal coordinates, with sparse matrices. Source: RBDA section 3.7.

The unknowns are the accelerations of all bodies and the constraint forces of all joints. Joints of
the spanning tree and joints that close loops are treated equally.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.constraints import implicit
from rbdyn_ros.textbook.kinematics import kinematics
from rbdyn_ros.textbook.loops import loop_motions
from rbdyn_ros.textbook.spatial import cross_force, cross_motion, force_transform
from rbdyn_ros.textbook.system import System

#: Compliance that keeps the matrix regular if constraints are redundant, relative to the inverse
#: inertia at the constraints. A smaller compliance needs fewer iterations, but each is less exact.
COMPLIANCE = 1e-4
MAX_ITERATIONS = 50
#: Allowed residual of the equations, relative to their terms.
SOLVED = 1e-13


@dataclass(frozen=True)
class Joint:
    """A joint of the system in one state, in the coordinates of F_s.

    Attributes:
        p, s: predecessor and successor.
        X_p, X_s: (6, 6), from the frames of the bodies p and s to F_s.
        T: (6, n_c), constraint-force subspace.
        a_J: (6,), required relative acceleration: T^T (a_s - a_p) = T^T a_J (eq 3.44).
        active: (6,), the active force T_a tau.
    """

    p: int
    s: int
    X_p: Array
    X_s: Array
    T: Array
    a_J: Array
    active: Array


@dataclass(frozen=True)
class Motion:
    """Solution of the equations of motion.

    Attributes:
        a: (N_B + 1, 6), acceleration of every body in body coordinates, zero for the base. Gravity
            is a force here.
        lam: lambda of the joints 1 .. N_J, the smallest if it is not unique; entry 0 is empty.
        f_J: (N_J + 1, 6), force that each joint transmits from its predecessor to its successor,
            in the coordinates of F_s. Joints 1 .. N_B carry the bodies of these numbers: the
            predecessor is the parent for either polarity, and F_s is the body's frame. Joints
            after N_B close loops.
        qdd: (nv,), the accelerations of the tree's joints.
    """

    a: Array
    lam: list[Array]
    f_J: Array
    qdd: Array


def maximal(
    s: System,
    q: Array,
    qd: Array,
    tau: Array,
    f_ext: Sequence[Array] | None = None,
    T_a: Mapping[int, Array] | None = None,
) -> Motion:
    """Return the accelerations and joint forces that tau causes; loops must be closed.

    Args:
        s: the system model.
        q: positions of the tree's joints.
        qd: velocities of these joints, which must satisfy the loops.
        tau: forces of these joints.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.
        T_a: active-force subspace (6, n_f) of each tree joint, by joint number, with T_a^T S = 1;
            None: S (S^T S)^-1.
    """
    joints = [*_tree_joints(s, q, qd, tau, T_a or {}), *_loop_joints(s, q, qd)]
    I = scipy.sparse.block_diag(s.I[1:], "csc")
    T = scipy.sparse.block_diag([joint.T for joint in joints], "csc")
    P = _connections(len(s.I) - 1, joints)
    # f = P f_J, f_J = T_a tau + T lambda   (eq 3.70, 3.73)
    force = P @ np.concatenate([joint.active for joint in joints]) - _bias_forces(s, q, qd, f_ext)
    # T^T P^T a = T^T a_J   (eq 3.72)
    a_J = T.T @ np.concatenate([joint.a_J for joint in joints])
    a, lam = solve(I, (P @ T).T, force, a_J)
    ends = np.cumsum([joint.T.shape[1] for joint in joints])[:-1]
    parts = np.split(lam, ends)
    f_J = [joint.active + joint.T @ part for joint, part in zip(joints, parts, strict=True)]
    bodies = np.vstack([np.zeros(6), a.reshape(-1, 6)])
    qdd = _joint_accelerations(s, q, qd, bodies, joints)
    return Motion(bodies, [np.zeros(0), *parts], np.vstack([np.zeros(6), *f_J]), qdd)


def solve(
    I: scipy.sparse.csc_matrix, K: scipy.sparse.csc_matrix, f: Array, k: Array
) -> tuple[Array, Array]:
    """Return a and the smallest lambda of eq 3.74, I a - K^T lambda = f and K a = k.

    The matrix is singular if constraints are redundant. A compliance c in its corner, K a + c
    lambda = k, makes it regular. The residual of the true equations is the right-hand side of the
    next iteration (the method of multipliers). Corrections of lambda lie in the range of K, so
    lambda is the smallest. Near a singular configuration this takes too long; then the singular
    values of the dense matrix K decide the rank.
    """
    if K.shape[0] == 0:
        return scipy.sparse.linalg.spsolve(I, f), np.zeros(0)
    n = len(f)
    c = COMPLIANCE * abs(K).max() ** 2 / abs(I).max()
    A = scipy.sparse.bmat([[I, K.T], [K, None]], "csc")
    corner = scipy.sparse.diags(np.repeat([0.0, -c], [n, len(k)]), format="csc")
    solver = scipy.sparse.linalg.splu(A + corner)
    b = np.concatenate([f, k])
    x, missing, last = np.zeros(len(b)), b, np.inf
    for _ in range(MAX_ITERATIONS):
        x = x + solver.solve(missing)
        missing = b - A @ x
        left, last = last, float(np.linalg.norm(missing))
        if last > 0.5 * left or last == 0.0:
            break
    if last > SOLVED * (np.linalg.norm(b) + np.linalg.norm(x)):
        found = implicit(I.toarray(), np.zeros(n), f, K.toarray(), k)
        return found.qdd, found.lam
    return x[:n], -x[n:]


def _tree_joints(
    s: System, q: Array, qd: Array, tau: Array, T_a: Mapping[int, Array]
) -> Iterator[Joint]:
    _, v = kinematics(s, q, qd)
    for i in s.bodies:
        X, S, v_J, c_J = s.joint(i, q, qd)
        T = s.constraint_subspace(i, q)
        active = T_a.get(i, np.linalg.pinv(S).T) @ tau[s.vs[i]]
        a_J = c_J + cross_motion(v[i]) @ v_J
        yield Joint(s.parent[i], i, X, np.eye(6), T, a_J, active)


def _loop_joints(s: System, q: Array, qd: Array) -> Iterator[Joint]:
    for joint, loop in zip(s.loops, loop_motions(s, q, qd), strict=True):
        yield Joint(joint.p, joint.s, loop.X_p, loop.X_s, loop.T, loop.a_J, np.zeros(6))


def _connections(bodies: int, joints: Sequence[Joint]) -> scipy.sparse.csc_matrix:
    """Return P (eq 3.69), with transforms from F_s to the bodies in place of unit matrices."""
    P: list[list[scipy.sparse.csc_matrix | None]] = [[None] * len(joints) for _ in range(bodies)]
    for j, joint in enumerate(joints):
        if joint.s > 0:
            P[joint.s - 1][j] = scipy.sparse.csc_matrix(joint.X_s.T)
        if joint.p > 0:
            P[joint.p - 1][j] = scipy.sparse.csc_matrix(-joint.X_p.T)
    return scipy.sparse.bmat(P, "csc")


def _bias_forces(s: System, q: Array, qd: Array, f_ext: Sequence[Array] | None) -> Array:
    """Return p = v x* I v - f_g - f_ext of the bodies 1 .. NB, stacked (eq 3.65)."""
    iX_0, v = kinematics(s, q, qd)
    p = []
    for i in s.bodies:
        p_i = cross_force(v[i]) @ s.I[i] @ v[i] - s.I[i] @ iX_0[i] @ s.a_g
        p.append(p_i if f_ext is None else p_i - force_transform(iX_0[i]) @ f_ext[i])
    return np.concatenate(p)


def _joint_accelerations(
    s: System, q: Array, qd: Array, a: Array, joints: Sequence[Joint]
) -> Array:
    """Return qdd of a_s - a_p = S qdd + c_J + v_s x v_J (eq 3.40) for the joints of the tree."""
    qdd = np.zeros(s.nv)
    for i in s.bodies:
        _, S, _, _ = s.joint(i, q, qd)
        joint = joints[i - 1]
        a_J = a[i] - joint.X_p @ a[joint.p]
        qdd[s.vs[i]] = np.linalg.pinv(S) @ (a_J - joint.a_J)
    return qdd

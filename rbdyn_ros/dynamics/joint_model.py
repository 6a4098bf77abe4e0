# SPDX-License-Identifier: Apache-2.0
"""The model of one joint in a given state, in the notation of RBDA table 4.1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.quantities.constants import isolated_joint
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.model.tree.rotation import cross_matrix

_isolated_joint = public(isolated_joint)


@dataclass(frozen=True, slots=True)
class JointModel:
    """Result of jcalc; vectors are [angular; linear] in the joint frame on the carried body.

    Attributes:
        E: (3, 3) coordinate transform from the joint frame on the parent's side to the joint frame
            on the body's side.
        r: (3,) origin of the body-side frame in the parent-side frame [m].
        S: (6, nv) motion subspace.
        T: (6, 6 - nv) constraint-force subspace: T^T S = 0.
        S_dot: (6, nv) apparent derivative of S.
        v_J: (6,) velocity across the joint, S qd.
        c_J: (6,) velocity-product acceleration, S_dot qd.
    """

    E: Array
    r: Array
    S: Array
    T: Array
    S_dot: Array
    v_J: Array
    c_J: Array

    @property
    def X(self) -> Array:
        """The (6, 6) transform of motion vectors from the parent's side: rot(E) xlt(r)."""
        lower = -self.E @ cross_matrix(self.r)
        return np.vstack([np.hstack([self.E, np.zeros((3, 3))]), np.hstack([lower, self.E])])


def jcalc(m: Model, joint: int | str, q: ArrayLike, qd: ArrayLike | None = None) -> JointModel:
    """Return the model of a joint at positions q and velocities qd.

    The engine's kernels compute the result. For a reversed joint, E and r lead to the body that
    the joint carries (RBDA table 4.2). Source: RBDA tables 4.1, 4.2.

    Args:
        m: the Model.
        joint: number or name of the joint.
        q: positions of this joint alone.
        qd: velocities of this joint alone; None: zeros.

    Raises:
        ModelError: m is not a Model, or the joint is unknown.
        ParameterError: q or qd has the wrong length or is not finite.
    """
    check_model(m, "jcalc")
    j = m.jnt_id(joint)
    d = make_data(m)
    nv = int(m.jnt_dofnum[j])
    start, dof = int(m.jnt_qposadr_all[j]), int(m.jnt_dofadr_all[j])
    nq = m.jnt_kind(j).nq
    d.qpos_all[start : start + nq] = _vector(m, j, "q", q, nq)
    dofs = slice(dof, dof + nv)
    d.qvel_all[dofs] = _vector(m, j, "qd", np.zeros(nv) if qd is None else qd, nv)
    _isolated_joint(m, d, j)
    i = j + 1
    R = d.xmat[i].reshape(3, 3)
    S = _seen_from(R, d.cdof_all[dofs])
    S_dot = _apparent(m, d, j, _seen_from(R, d.cdof_dot_all[dofs]), S)
    rate = d.qvel_all[dofs]
    r = d.xpos[i].copy()
    return JointModel(R.T.copy(), r, S, complement(S), S_dot, S @ rate, S_dot @ rate)


def complement(S: Array) -> Array:
    """Return T (6, 6 - n), the complement of range(S): T^T S = 0, with independent columns.

    The columns are unit vectors minus their projections onto range(S), and the longest independent
    columns are chosen. If S consists of unit vectors, T is the matrix in RBDA table 4.1. Source:
    RBDA eq 3.36.
    """
    Q = np.linalg.qr(S)[0] if S.shape[1] else S
    rest = np.eye(6) - Q @ Q.T
    kept: list[int] = []
    left = rest.copy()
    for _ in range(6 - S.shape[1]):  # pivoted Gram-Schmidt
        length = np.linalg.norm(left, axis=0)
        kept.append(int(np.argmax(length > 0.9 * length.max())))
        unit = left[:, kept[-1]] / length[kept[-1]]
        left -= np.outer(unit, unit @ left)
    T: Array = rest[:, sorted(kept)]
    return T


def _seen_from(R: Array, rows: Array) -> Array:
    """Return rows of world vectors as columns in the axes R."""
    return np.vstack([R.T @ rows[:, :3].T, R.T @ rows[:, 3:].T])


def _apparent(m: Model, d: Data, j: int, change: Array, S: Array) -> Array:
    """Return S_dot from the change of S in the parent's frame.

    This change is v x S + S_dot, where v is the velocity of the body. For dofs that rotate
    together the engine uses another velocity, which gives the same c_J but different columns. The
    axes of these dofs are fixed in the successor, or change as a user-defined jcalc computes.
    """
    R, v = d.xmat[j + 1].reshape(3, 3), d.cvel[j + 1]
    v = np.concatenate([R.T @ v[:3], R.T @ v[3:]])
    reverse = bool(m.jnt_reversed[j])
    S_dot: Array = change - _cross(v) @ S
    first = m.jnt_kind(j).carried
    S_dot[:, first:] = -_cross(v) @ S[:, first:] if reverse else 0.0
    if m.jnt_type[j] == JointType.USER:
        # the engine has added cross(carrier, S), where the carrier is at rest, or has v if
        # reversed
        S_dot += change - (_cross(v) @ S if reverse else 0.0)
    return S_dot


def _cross(v: Array) -> Array:
    """Return the (6, 6) matrix of v x (RBDA eq 2.31)."""
    w = cross_matrix(v[:3])
    return np.block([[w, np.zeros((3, 3))], [cross_matrix(v[3:]), w]])


def _vector(m: Model, j: int, name: str, value: ArrayLike, length: int) -> Array:
    what = f"joint '{m.jnt_names[j]}': {name}"
    return finite(what, value, (length,), code="joint-vector", element=name, fill=length == 1)

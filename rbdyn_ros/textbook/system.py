"""The system model of RBDA table 4.3, made from a Model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.model.joints import JointType
from rbdyn_ros.textbook.jcalc import jcalc
from rbdyn_ros.textbook.spatial import Array, motion_transform, rigid_inertia

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model


@dataclass(frozen=True)
class System:
    """Bodies 1 .. NB; entry 0 of every list is the fixed base.

    Attributes:
        parent: lambda(i).
        jtype: type of the joint that carries body i.
        basis: its axes in the body, rows x, y, z.
        X_T: from the parent's frame to the joint's, at zero position.
        I: 6x6 inertia about the body's origin.
        qs, vs: the joint's part of qpos and qvel.
        a_g: gravitational acceleration of the base frame, [0; g].
    """

    parent: list[int]
    jtype: list[int]
    basis: list[Array]
    X_T: list[Array]
    I: list[Array]
    qs: list[slice]
    vs: list[slice]
    a_g: Array

    @classmethod
    def of(cls, m: Model) -> System:
        """Return the system model of a Model; gravity is m.opt.gravity now."""
        none = slice(0, 0)
        system = cls([0], [-1], [np.eye(3)], [np.eye(6)], [np.zeros((6, 6))], [none], [none],
                     np.concatenate([np.zeros(3), m.opt.gravity]))  # fmt: skip
        for i in range(1, m.nbody):
            j = i - 1
            E = m.body_mat[i].reshape(3, 3).T
            axes = m.body_imat[i].reshape(3, 3)
            about_com = axes @ np.diag(m.body_inertia[i]) @ axes.T
            q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
            nv = m.body_dofnum[i]
            nq = {JointType.FREE: 7, JointType.BALL: 4}.get(m.jnt_type[j], nv)
            system.parent.append(int(m.body_parentid[i]))
            system.jtype.append(int(m.jnt_type[j]))
            system.basis.append(m.jnt_basis[j].reshape(3, 3))
            system.X_T.append(motion_transform(E, m.body_pos[i]))
            system.I.append(rigid_inertia(m.body_mass[i], m.body_ipos[i], about_com))
            system.qs.append(slice(q, q + nq))
            system.vs.append(slice(v, v + nv))
        return system

    @property
    def bodies(self) -> range:
        """The numbers 1 .. NB."""
        return range(1, len(self.parent))

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return int(self.vs[-1].stop)

    def joint(self, i: int, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        """Return iX_lambda, S_i, v_J and c_J for body i."""
        X_J, S, v_J, c_J = jcalc(self.jtype[i], q[self.qs[i]], qd[self.vs[i]], self.basis[i])
        return X_J @ self.X_T[i], S, v_J, c_J

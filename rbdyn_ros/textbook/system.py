# SPDX-License-Identifier: Apache-2.0
"""The system model of RBDA table 4.3, made from a Model."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JOINT_KINDS, JointType
from rbdyn_ros.textbook.jcalc import JointDescriptor, jcalc
from rbdyn_ros.textbook.spatial import motion_transform, quat_turn, rigid_inertia

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model


@dataclass(frozen=True)
class LoopJoint:
    """A joint that closes a loop.

    Attributes:
        p, s: the bodies that the joint connects, predecessor and successor.
        jtype: descriptor of the joint.
        X_P, X_S: transforms from the frames of the bodies to the joint's frames on them, F_p and
            F_s.
    """

    p: int
    s: int
    jtype: JointDescriptor
    X_P: Array
    X_S: Array


@dataclass(frozen=True)
class System:
    """Bodies 1 .. NB; entry 0 of every list but `loops` is the fixed base.

    Attributes:
        parent: lambda(i).
        jtype: descriptor of the joint that carries body i.
        X_T: transform from the parent's frame to the joint's frame on the parent.
        I: 6x6 inertia of body i about its origin.
        qs, vs: slices of the positions and velocities that belong to the joint.
        a_g: gravitational acceleration of the base frame, [0; g].
        loops: the N_L joints that close loops.
    """

    parent: list[int]
    jtype: list[JointDescriptor]
    X_T: list[Array]
    I: list[Array]
    qs: list[slice]
    vs: list[slice]
    a_g: Array
    loops: list[LoopJoint] = field(default_factory=list)

    @classmethod
    def of(cls, m: "Model") -> "System":
        """Return the system model of a Model, with the current m.opt.gravity.

        Mimic joints and joints with a prescribed motion count as free: vectors of positions and
        velocities have the length of qpos_all and qvel_all.

        Raises:
            NotImplementedError: a joint is user-defined.
        """
        none, base = slice(0, 0), JointDescriptor(JointType.WELD, np.eye(3))
        system = cls([0], [base], [np.eye(6)], [np.zeros((6, 6))], [none], [none],
                     np.concatenate([np.zeros(3), m.opt.gravity]))  # fmt: skip
        for i in range(1, m.nbody):
            j = i - 1
            E = m.body_mat[i].reshape(3, 3).T
            axes = m.body_imat[i].reshape(3, 3)
            about_com = axes @ np.diag(m.body_inertia[i]) @ axes.T
            kind = _known(m.jnt_type[j], m.jnt_names[j])
            q, v = m.jnt_qposadr_all[j], m.jnt_dofadr_all[j]
            system.parent.append(int(m.body_parentid[i]))
            system.jtype.append(
                JointDescriptor(
                    kind,
                    m.jnt_basis[j].reshape(3, 3),
                    float(m.jnt_param[j, 0]),
                    bool(m.jnt_reversed[j]),
                )
            )
            system.X_T.append(motion_transform(E, m.body_pos[i]))
            system.I.append(rigid_inertia(m.body_mass[i], m.body_ipos[i], about_com))
            system.qs.append(slice(q, q + JOINT_KINDS[kind].nq))
            system.vs.append(slice(v, v + JOINT_KINDS[kind].nv))
        system.loops.extend(_loop_joint(m, loop) for loop in range(m.nloop))
        return system

    @property
    def bodies(self) -> range:
        """The numbers 1 .. NB."""
        return range(1, len(self.parent))

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return max(int(part.stop) for part in self.vs)

    def joint(self, i: int, q: Array, qd: Array) -> tuple[Array, Array, Array, Array]:
        """Return iX_lambda, S_i, v_J and c_J for body i."""
        joint = jcalc(self.jtype[i], q[self.qs[i]], qd[self.vs[i]])
        return joint.X_J @ self.X_T[i], joint.S, joint.v_J, joint.c_J

    def constraint_subspace(self, i: int, q: Array) -> Array:
        """Return T, the constraint-force subspace of the joint that carries body i."""
        return jcalc(self.jtype[i], q[self.qs[i]], np.zeros(self.nv)[self.vs[i]]).T


def _loop_joint(m: "Model", loop: int) -> LoopJoint:
    """Return a loop joint; a yaw-pitch-roll joint has the constraints of a spherical joint."""
    kind = _known(m.loop_type[loop], m.loop_names[loop])
    kind = JointType.BALL if kind == JointType.YPR else kind
    basis = m.loop_basis[loop].reshape(3, 3)
    X_P, X_S = (
        motion_transform(quat_turn(quat), pos)
        for quat, pos in zip(m.loop_quat[loop], m.loop_pos[loop], strict=True)
    )
    p, s = map(int, m.loop_bodyid[loop])
    return LoopJoint(p, s, JointDescriptor(kind, basis, float(m.loop_param[loop, 0])), X_P, X_S)


def _known(kind: int, name: str) -> JointType:
    if kind == JointType.USER:
        raise NotImplementedError(f"joint '{name}': user-defined joints are not in the textbook")
    return JointType(kind)

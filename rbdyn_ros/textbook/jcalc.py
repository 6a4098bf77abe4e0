# SPDX-License-Identifier: Apache-2.0
"""Joint calculation: apply a joint model of the library, with a joint's axes and polarity.

Source: RBDA section 4.4 and table 4.2.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.joint_models import JOINT_MODELS, WITHOUT_AXES, JointModel
from rbdyn_ros.textbook.spatial import (
    cross_motion,
    force_transform,
    inverse_transform,
    motion_transform,
)


@dataclass(frozen=True)
class JointDescriptor:
    """jtype(i): the type of a joint, and its parameters.

    Attributes:
        kind: a JointType of the library.
        basis: (3, 3), rows x, y, z: the model's axes in the joint's frames.
        parameter: pitch [m/rad] or radius [m].
        reversed: whether the joint carries its predecessor.
    """

    kind: JointType
    basis: Array
    parameter: float = 0.0
    reversed: bool = False


@dataclass(frozen=True)
class JointMotion:
    """Result of jcalc, in the coordinates of the body that the joint carries.

    Attributes:
        X_J: (6, 6), transform from the joint's frame on the parent to the body's frame.
        S, T, S_ring: as in JointModel.
        v_J: (6,), velocity of the body relative to its parent. c_J: (6,), S_ring alpha.
    """

    X_J: Array
    S: Array
    T: Array
    S_ring: Array
    v_J: Array
    c_J: Array


def jcalc(joint: JointDescriptor, q: Array, alpha: Array) -> JointMotion:
    """Return the position and motion of a joint.

    Args:
        joint: descriptor of the joint.
        q: (nq,) positions of the joint.
        alpha: (nv,) velocities of the joint.
    """
    model = JOINT_MODELS[joint.kind](q, alpha, joint.parameter)
    if joint.kind not in WITHOUT_AXES:
        model = in_frame(model, joint.basis)
    X_J = motion_transform(model.E, model.r)
    motion = JointMotion(
        X_J, model.S, model.T, model.S_ring, model.S @ alpha, model.S_ring @ alpha
    )
    return opposite(motion) if joint.reversed else motion


def in_frame(model: JointModel, basis: Array) -> JointModel:
    """Return the model as seen from frames in which its axes are the rows of `basis`."""
    R = basis.T
    R6 = motion_transform(R, np.zeros(3))
    return JointModel(
        R @ model.E @ R.T, R @ model.r, R6 @ model.S, R6 @ model.T, R6 @ model.S_ring
    )


def opposite(joint: JointMotion) -> JointMotion:
    """Return the motion of the predecessor relative to the successor, in F_p (RBDA table 4.2).

    Table 4.2 has no row for S_ring. With S_p = -pXs S and d(pXs)/dt = pXs [v_J x], the derivative
    of S_p in F_p is -pXs (S_ring + v_J x S). Multiplied by alpha, the second term is zero, and the
    first is the table's -pXs c_J.
    """
    to_p = inverse_transform(joint.X_J)
    return JointMotion(
        X_J=to_p,
        S=-to_p @ joint.S,
        T=force_transform(to_p) @ joint.T,
        S_ring=-to_p @ (joint.S_ring + cross_motion(joint.v_J) @ joint.S),
        v_J=-to_p @ joint.v_J,
        c_J=-to_p @ joint.c_J,
    )

# SPDX-License-Identifier: Apache-2.0
"""The joint library as a table: sizes and neutral position of each joint type.

engine/joints/jcalc.py computes how a joint moves, and engine/joints/manifold.py how its
coordinates are integrated. Both use JointType. description/parts/joint_types.py lists the types of
robot files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

from rbdyn_ros.model.declared.callbacks import registered_joint


class JointClass(IntEnum):
    """What moves a joint. Coordinates in qpos_all and qvel_all are ordered by this class.

    FREE: forces move the joint. DRIVEN: the motion of the joint, or of its leader, is prescribed.
    MIMIC: the joint follows a leader that forces move.
    """

    FREE = 0
    DRIVEN = 1
    MIMIC = 2


class JointType(IntEnum):
    """Type of a joint; the first four have MuJoCo's numbers.

    Kernels compare the numbers: types up to PLANAR are common in robots (jnt_common), and types
    from PLANAR_FP to SIXDOF_FS have velocities in F_s. FP and FS denote the frame of the position
    coordinates: the predecessor's or the successor's. The velocity of these types is always in the
    successor's frame (RBDA example 4.5).
    """

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3
    PLANAR = 4
    HELICAL = 5
    CYLINDRICAL = 6
    UNIVERSAL = 7
    YPR = 8
    RACK_PINION = 9
    PLANAR_FP = 10
    PLANAR_FS = 11
    SIXDOF_FP = 12
    SIXDOF_FS = 13
    USER = 14
    WELD = 15


@dataclass(frozen=True, slots=True)
class JointKind:
    """Sizes, neutral position and properties of one joint type.

    Attributes:
        qpos0: neutral position; its length is the joint's share of qpos.
        newframe: for each dof, 1 if its cdof_dot uses the velocity that all dofs before it give
            the body, 0 if it uses the same velocity as the dof before it. So a 1 followed by zeros
            is a set of axes that rotate together, such as the three axes of a ball.
        quat: index of a quaternion in the joint's share of qpos, or -1.
        flat: whether the velocities are the derivatives of the positions.
        carried: index of the dof from which all axes, its own and later ones, are fixed in the
            successor.
    """

    qpos0: tuple[float, ...]
    newframe: tuple[int, ...]
    quat: int = -1
    flat: bool = True
    carried: int = 6

    @property
    def nq(self) -> int:
        return len(self.qpos0)

    @property
    def nv(self) -> int:
        return len(self.newframe)


JOINT_KINDS = {
    JointType.FREE: JointKind(
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (1, 0, 0, 1, 0, 0), 3, False, 3
    ),
    JointType.BALL: JointKind((1.0, 0.0, 0.0, 0.0), (1, 0, 0), 0, False, 0),
    JointType.SLIDE: JointKind((0.0,), (1,)),
    JointType.HINGE: JointKind((0.0,), (1,)),
    JointType.PLANAR: JointKind((0.0, 0.0, 0.0), (1, 0, 1)),
    JointType.HELICAL: JointKind((0.0,), (1,)),
    JointType.CYLINDRICAL: JointKind((0.0, 0.0), (1, 1)),
    JointType.UNIVERSAL: JointKind((0.0, 0.0), (1, 1)),
    JointType.YPR: JointKind((0.0, 0.0, 0.0), (1, 1, 1)),
    JointType.RACK_PINION: JointKind((0.0,), (1,)),
    JointType.PLANAR_FP: JointKind((0.0, 0.0, 0.0), (1, 0, 0), -1, False, 0),
    JointType.PLANAR_FS: JointKind((0.0, 0.0, 0.0), (1, 0, 0), -1, False, 0),
    JointType.SIXDOF_FP: JointKind((1.0, *[0.0] * 6), (1, 0, 0, 0, 0, 0), 0, False, 0),
    JointType.SIXDOF_FS: JointKind((1.0, *[0.0] * 6), (1, 0, 0, 0, 0, 0), 0, False, 0),
    JointType.WELD: JointKind((), ()),
}


def user_kind(nv: int) -> JointKind:
    """Return the row of a user-defined joint with nv degrees of freedom."""
    return JointKind((0.0,) * nv, (1,) + (0,) * (nv - 1), carried=0)


def joint_kinds(types: NDArray[Any], user_types: Sequence[str]) -> list[JointKind]:
    """Return the row of the joint library of each joint.

    Args:
        types: (n,) JointType numbers.
        user_types: (n,) registered names of user-defined types; empty for all other types.

    Raises:
        ModelError: a user-defined type is not registered.
    """
    return [
        user_kind(registered_joint(name).nv) if name else JOINT_KINDS[JointType(number)]
        for number, name in zip(types.tolist(), user_types, strict=True)
    ]


#: The JointType of each name in joint_types.JOINT_SPECS; other names are user-defined types.
TYPE_OF_NAME = {
    "revolute": JointType.HINGE,
    "continuous": JointType.HINGE,
    "prismatic": JointType.SLIDE,
    "fixed": JointType.WELD,
    "floating": JointType.FREE,
    "planar": JointType.PLANAR,
    "helical": JointType.HELICAL,
    "cylindrical": JointType.CYLINDRICAL,
    "universal": JointType.UNIVERSAL,
    "spherical": JointType.BALL,
    "spherical_ypr": JointType.YPR,
    "rack_pinion": JointType.RACK_PINION,
    "planar_fp": JointType.PLANAR_FP,
    "planar_fs": JointType.PLANAR_FS,
    "sixdof_fp": JointType.SIXDOF_FP,
    "sixdof_fs": JointType.SIXDOF_FS,
}

"""The joint library as a table: what each joint type needs, in numbers.

How a joint moves is jcalc.py in engine/joints, how its coordinates add up manifold.py there; all
are keyed by JointType. What an author may write of it is description/joint_types.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class JointType(IntEnum):
    """The first four have MuJoCo's numbers.

    Kernels compare numbers: those up to PLANAR are what robots are made of (jnt_common), those
    from PLANAR_FP to SIXDOF_FS have velocities in F_s.
    FP and FS tell where the coordinates of the position are: in the frame of the predecessor or
    of the successor; the velocity of these types is in the successor's (RBDA example 4.5).
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
    """Sizes and neutral position of one joint type.

    Attributes:
        qpos0: neutral position; its length is the joint's share of qpos.
        newframe: per dof, 1 where cdof_dot is taken with the velocity reached just before it,
            0 where with that of the dof before (a ball's three axes turn as one).
        quat: first entry of a quaternion in its share of qpos, -1 if there is none.
        flat: whether its velocities are the derivatives of its positions.
        carried: first of its dofs whose axes, and those after it, stand still in the successor.
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


#: The types of joint_types.JOINT_SPECS; a name that is not here is a user-defined joint's.
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

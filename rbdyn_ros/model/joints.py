"""The joint library as a table: what each joint type needs, in numbers.

How a joint moves is engine/jcalc.py; both are keyed by JointType.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class JointType(IntEnum):
    """The first four have MuJoCo's numbers."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3
    PLANAR = 4


@dataclass(frozen=True, slots=True)
class JointKind:
    """Sizes and neutral position of one joint type.

    Attributes:
        qpos0: neutral position; its length is the joint's share of qpos.
        newframe: per dof, 1 where cdof_dot is taken with the velocity reached just before it,
            0 where with that of the dof before (a ball's three axes turn as one).
    """

    qpos0: tuple[float, ...]
    newframe: tuple[int, ...]

    @property
    def nq(self) -> int:
        return len(self.qpos0)

    @property
    def nv(self) -> int:
        return len(self.newframe)


JOINT_KINDS = {
    JointType.FREE: JointKind((0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (1, 0, 0, 1, 0, 0)),
    JointType.BALL: JointKind((1.0, 0.0, 0.0, 0.0), (1, 0, 0)),
    JointType.SLIDE: JointKind((0.0,), (1,)),
    JointType.HINGE: JointKind((0.0,), (1,)),
    JointType.PLANAR: JointKind((0.0, 0.0, 0.0), (1, 0, 1)),
}

#: The types that joint_states and effort commands are about.
SINGLE_DOF = tuple(kind for kind, row in JOINT_KINDS.items() if row.nv == 1)

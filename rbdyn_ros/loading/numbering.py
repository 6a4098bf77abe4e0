"""What the numbering of bodies and the types of joints decide, computed again.

Every field of indices that is not in arrays.py's tables is here. Needed are fields that arrays.py
has passed: what is computed is no larger than what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.callbacks import registered_joint
from rbdyn_ros.model.constraints import equations
from rbdyn_ros.model.couplings import DRIVEN, FOLLOWING, FREE, inertia_pattern, joint_addresses
from rbdyn_ros.model.joints import JOINT_KINDS, JointKind, JointType, user_kind
from rbdyn_ros.model.loops import loop_kinds

Arrays = Mapping[str, NDArray[Any]]
Ints = NDArray[np.int64]


def joint_kinds(arrays: Arrays, user_types: Sequence[str]) -> list[JointKind]:
    """Return, by joint, its row in the joint library.

    Raises:
        ModelError: if a type of the user is not registered.
    """
    return [
        user_kind(registered_joint(name).nv) if name else JOINT_KINDS[JointType(number)]
        for number, name in zip(arrays["jnt_type"].tolist(), user_types, strict=True)
    ]


def numbering(
    arrays: Arrays, kinds: Sequence[JointKind], classes: Ints, loop_types: Sequence[str]
) -> Arrays:
    """Return every field of indices that follows from others, and the weights that go with them.

    Args:
        arrays: all of MODEL_FIELDS.
        kinds: of the joints.
        classes: FREE, DRIVEN or FOLLOWING by joint.
        loop_types: names of the types of the user, by loop joint.
    """
    freedoms = [kind.nv for kind in loop_kinds(arrays, loop_types)]
    starts = {
        "drive_knotadr": _starts(arrays["drive_knotnum"]),
        "length_pointadr": _starts(arrays["length_pointnum"]),
        "gear_termadr": _starts(arrays["gear_termnum"]),
        "geom_vertadr": _starts(arrays["geom_vertnum"]),
    }
    found = {
        **starts,
        **_bodies(arrays["body_parentid"], kinds, classes),
        **_joints(arrays, kinds, classes),
        **_dofs(arrays["body_parentid"], kinds, classes),
        **equations({**arrays, **starts}, freedoms),
    }
    return {**found, **inertia_pattern({**arrays, **found})}


def pair_number(arrays: Arrays, kinds: Sequence[JointKind], classes: Ints) -> int:
    """Return how many pairs of coordinates meet in M: there may be far more than bodies."""
    if not (classes == FOLLOWING).any():
        return 0
    above, total = [0] * len(arrays["body_parentid"]), 0
    for i, (kind, moves) in enumerate(zip(kinds, classes != DRIVEN, strict=True), start=1):
        own = kind.nv if moves else 0
        before = above[arrays["body_parentid"][i]]
        above[i] = before + own
        total += own * before + own * (own + 1) // 2
    return total


def _starts(lengths: Ints) -> Ints:
    starts: Ints = np.cumsum(lengths) - lengths
    return starts


def _bodies(parent: Ints, kinds: Sequence[JointKind], classes: Ints) -> Arrays:
    bodies = np.arange(len(parent))
    root = bodies.copy()
    for i, p in enumerate(parent):
        if p > 0:
            root[i] = root[p]
    last_child = np.zeros(len(parent), np.int64)
    last_child[parent] = bodies
    number = np.array(
        [0, *(_own(kind, where) for kind, where in zip(kinds, classes, strict=True))]
    )
    return {
        "body_rootid": root,
        "body_haschild": np.isin(bodies, parent[1:]),
        "body_lastchild": last_child[parent] == bodies,
        "body_dofnum": number,
        "body_dofadr": np.where(number > 0, _starts(number), -1),
    }


def _own(kind: JointKind, where: int) -> int:
    """Return the degrees of freedom of a joint."""
    return kind.nv if where == FREE else 0


def _joints(arrays: Arrays, kinds: Sequence[JointKind], classes: Ints) -> Arrays:
    types = arrays["jnt_type"]
    user = types == JointType.USER
    nq = np.array([kind.nq for kind in kinds], np.int64)
    nv = np.array([kind.nv for kind in kinds], np.int64)
    return {
        "jnt_common": (arrays["jnt_reversed"] == 0) & (types <= JointType.PLANAR),
        "jnt_dofnum": nv,
        "jnt_bodyid": np.arange(1, len(kinds) + 1),
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        **joint_addresses(nq, nv, arrays["jnt_mimic"], classes),
    }


def _dofs(parent: Ints, kinds: Sequence[JointKind], classes: Ints) -> Arrays:
    last = [-1] * len(parent)
    body, above = list[int](), list[int]()
    newframe: dict[int, list[int]] = {FREE: [], DRIVEN: [], FOLLOWING: []}
    for i, (kind, where) in enumerate(zip(kinds, classes.tolist(), strict=True), start=1):
        last[i] = last[parent[i]]
        newframe[where] += kind.newframe
        for _ in range(_own(kind, where)):
            body.append(i)
            above.append(last[i])
            last[i] = len(body) - 1
    dof_bodyid = np.array(body, np.int64)
    return {
        "body_lastdof": np.array(last),
        "dof_bodyid": dof_bodyid,
        "dof_jntid": dof_bodyid - 1,
        "dof_parentid": np.array(above, np.int64),
        "dof_newframe": np.array([flag for row in newframe.values() for flag in row], np.int64),
    }

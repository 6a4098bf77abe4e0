"""A Model of the joints that close loops, so that the joint library serves them as it is.

Each hangs alone on a world that stands still: its predecessor's frame is the world, its
successor's the body it carries. Where the mechanism has moved the two frames, the engine finds the
position of the joint (constraints/loops.py), and takes its motion axes there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.callbacks import registered_joint
from rbdyn_ros.model.joints import JOINT_KINDS, JointKind, JointType, user_kind
from rbdyn_ros.model.model_fields import MODEL_FIELDS, NAMES, SIZES
from rbdyn_ros.model.rotation import turn_base

Arrays = dict[str, NDArray[Any]]


def loop_kinds(arrays: Mapping[str, NDArray[Any]], user_types: Sequence[str]) -> list[JointKind]:
    """Return, by loop joint, its row in the joint library.

    A yaw-pitch-roll joint is a spherical one here: it allows the same motions, and its angles,
    which nobody asks for, would be singular.
    """
    kinds = []
    for number, name in zip(_types(arrays).tolist(), user_types, strict=True):
        kind = JointType(number)
        kinds.append(user_kind(registered_joint(name).nv) if name else JOINT_KINDS[kind])
    return kinds


def _types(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    types: NDArray[np.int64] = np.asarray(arrays["loop_type"]).copy()
    types[types == JointType.YPR] = JointType.BALL
    return types


def joints_alone(
    arrays: Mapping[str, NDArray[Any]], names: Mapping[str, Sequence[str]]
) -> tuple[Arrays, dict[str, Sequence[str]]]:
    """Return arrays and names of the Model of the loop joints; it has no inertia."""
    types, user_types = _types(arrays), names["loop_usertype"]
    kinds, n = loop_kinds(arrays, user_types), len(types)
    nq, nv = np.array([kind.nq for kind in kinds]), np.array([kind.nv for kind in kinds])
    bodies, frame = np.arange(n + 1), np.eye(3).reshape(9)
    user = types == JointType.USER
    dof_body = np.repeat(bodies[1:], nv)
    filled: dict[str, Any] = {
        "body_rootid": bodies,
        "body_lastchild": bodies == n,
        "body_mat": np.tile(frame, (n + 1, 1)),
        "body_quat": np.tile([1.0, 0.0, 0.0, 0.0], (n + 1, 1)),
        "jnt_type": types,
        "jnt_common": types <= JointType.PLANAR,
        "jnt_qposadr": np.cumsum(nq) - nq,
        "jnt_qposadr_all": np.cumsum(nq) - nq,
        "jnt_dofadr": np.cumsum(nv) - nv,
        "jnt_dofadr_all": np.cumsum(nv) - nv,
        "jnt_dofnum": nv,
        "jnt_bodyid": bodies[1:],
        "jnt_mimic": np.full(n, -1),
        "jnt_mimic_ratio": np.ones(n),
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        "jnt_axis": arrays["loop_axis"],
        "jnt_param": arrays["loop_param"],
        "jnt_basis": arrays["loop_basis"],
        "jnt_rotbase": np.array([turn_base(np.eye(3), axis) for axis in arrays["loop_axis"]]),
        "dof_bodyid": dof_body,
        "dof_jntid": dof_body - 1,
        "dof_newframe": np.array([flag for kind in kinds for flag in kind.newframe]),
        "qpos0": np.array([q for kind in kinds for q in kind.qpos0]),
    }
    sizes = dict.fromkeys(SIZES, 0)
    sizes.update(nbody=n + 1, njnt=n, nq=int(nq.sum()), nv=int(nv.sum()))
    sizes.update(nqall=sizes["nq"], nvall=sizes["nv"])
    alone = {field.name: np.zeros(field.shape(sizes)) for field in MODEL_FIELDS} | filled
    blank = dict.fromkeys(("body_names", "jnt_names", "frame_names", *NAMES), ())
    return alone, {
        **blank,
        "body_names": ["world", *names["loop_names"]],
        "jnt_names": names["loop_names"],
        "jnt_usertype": user_types,
        "jnt_motion_name": [""] * n,
    }

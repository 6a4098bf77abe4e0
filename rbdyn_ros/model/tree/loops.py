# SPDX-License-Identifier: Apache-2.0
"""A Model of the loop joints, so that the joint library applies to them unchanged.

In this Model each loop joint connects a separate body to the world: the joint's predecessor frame
is the world, and its successor frame is the body. engine/constraints/loops.py finds the position
of the joint from the poses of the two frames in the mechanism, and computes its motion axes at
this position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import NamedArrays
from rbdyn_ros.model.declared.joints import JointType, joint_kinds
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAMES, PRIMARY, SIZES
from rbdyn_ros.model.tree.rotation import turn_base

Names = Mapping[str, Sequence[str]]


def loop_joints_alone(arrays: NamedArrays, names: Names) -> tuple[NamedArrays, Names]:
    """Return the primary arrays and the names of the Model of the loop joints.

    Its bodies have no inertia. A yaw-pitch-roll joint becomes a spherical joint, which allows the
    same motions: no result depends on the angles, and they could be singular.
    """
    types = np.asarray(arrays["loop_type"]).copy()
    types[types == JointType.YPR] = JointType.BALL
    kinds, n = joint_kinds(types, names["loop_usertype"]), len(types)
    filled: dict[str, Any] = {
        "body_mat": np.tile(np.eye(3).reshape(9), (n + 1, 1)),
        "body_quat": np.tile([1.0, 0.0, 0.0, 0.0], (n + 1, 1)),
        "jnt_type": types,
        "jnt_mimic": np.full(n, -1),
        "jnt_mimic_ratio": np.ones(n),
        "jnt_axis": arrays["loop_axis"],
        "jnt_param": arrays["loop_param"],
        "jnt_basis": arrays["loop_basis"],
        "jnt_rotbase": np.array([turn_base(np.eye(3), axis) for axis in arrays["loop_axis"]]),
        "qpos0": np.array([q for kind in kinds for q in kind.qpos0]),
    }
    sizes = dict.fromkeys(SIZES, 0)
    sizes.update(nbody=n + 1, njnt=n, nq=sum(kind.nq for kind in kinds))
    sizes["nv"] = sizes["nvall"] = sum(kind.nv for kind in kinds)
    zeros = {
        field.name: np.zeros(field.shape(sizes), np.int64 if field.kind == "int" else np.float64)
        for field in MODEL_FIELDS
        if field.name in PRIMARY
    }
    return {**zeros, **filled}, {
        **dict.fromkeys(NAMES, ()),
        "body_names": ["world", *names["loop_names"]],
        "jnt_names": names["loop_names"],
        "jnt_usertype": names["loop_usertype"],
        "jnt_motion_name": [""] * n,
    }

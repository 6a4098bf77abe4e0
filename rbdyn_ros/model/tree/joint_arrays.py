# SPDX-License-Identifier: Apache-2.0
"""Primary fields of joints, degrees of freedom and loop joints, from the lumped tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Arrays, Ints
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Joint, Limit
from rbdyn_ros.model.declared.callbacks import MAX_PARAMETERS, registered_joint
from rbdyn_ros.model.declared.joints import (
    JOINT_KINDS,
    TYPE_OF_NAME,
    JointClass,
    JointKind,
    JointType,
    user_kind,
)
from rbdyn_ros.model.tree.bodies import pairs
from rbdyn_ros.model.tree.couplings import couplings, joint_classes, reflected
from rbdyn_ros.model.tree.lumping import Body, Tree
from rbdyn_ros.model.tree.motion import driven_coordinates
from rbdyn_ros.model.tree.rotation import mat_to_quat, plane_basis, turn_base

#: The default solref: limits are as stiff as a timestep can resolve.
DEFAULT_SOLREF = (1e-6, 1.0)
NO_LIMIT = Limit()


def type_of(joint: Joint) -> JointType:
    """Return the joint type; USER for the name of a user-defined type."""
    return TYPE_OF_NAME.get(joint.type, JointType.USER)


def kind_of(joint: Joint) -> JointKind:
    """Return the row of the joint library; raise ModelError for an unregistered user type."""
    kind = type_of(joint)
    if kind != JointType.USER:
        return JOINT_KINDS[kind]
    return user_kind(registered_joint(joint.type).nv)


def joint_arrays(tree: Tree) -> Arrays:
    """Return the primary fields of joints, of their dofs and of driven motions."""
    mimic = couplings(tree.joints)
    driven = np.array([joint.motion is not None for joint in tree.joints], bool)
    classes = joint_classes(mimic["jnt_mimic"], driven)
    joints = reflected(tree.joints, mimic, classes)
    moved = [tree.joints[j] for j in np.flatnonzero(classes == JointClass.DRIVEN).tolist()]
    return {
        **mimic,
        "jnt_class": classes,
        **_joints(tree.bodies[1:], joints),
        **_limits(joints, classes),
        **_springs(joints, classes),
        **_dofs(joints, classes),
        **driven_coordinates(moved),
    }


def _joints(bodies: Sequence[Body], joints: Sequence[Joint]) -> Arrays:
    return {
        "jnt_type": np.array([type_of(joint) for joint in joints], np.int64),
        "jnt_reversed": np.array([not body.forward for body in bodies], np.int64),
        "jnt_actuated": np.array([joint.actuated for joint in joints], np.int64),
        "jnt_axis": np.array([joint.axis for joint in joints]).reshape(-1, 3),
        "jnt_param": np.array([_parameters(joint) for joint in joints]),
        "jnt_rotbase": np.array(
            [_rotation_base(body, joint) for body, joint in zip(bodies, joints, strict=True)]
        ),
        "jnt_basis": np.array([joint_basis(joint) for joint in joints]),
    }


def _limits(joints: Sequence[Joint], classes: Ints) -> Arrays:
    """Return the fields of limits.

    Driven joints have none, and those of mimic joints do not act.
    """
    limits = [
        (joint.limit if kind != JointClass.DRIVEN else None) or NO_LIMIT
        for joint, kind in zip(joints, classes, strict=True)
    ]
    ranges = np.array([(limit.lower, limit.upper) for limit in limits]).reshape(-1, 2)
    return {
        "jnt_limited": np.isfinite(ranges).any(axis=1) & (classes == JointClass.FREE),
        "jnt_range": ranges,
        "jnt_effort": np.array([limit.effort for limit in limits]),
        "jnt_velocity": np.array([limit.velocity for limit in limits]),
        "jnt_acceleration": np.array([limit.acceleration for limit in limits]),
        "jnt_deceleration": np.array([limit.deceleration for limit in limits]),
        "jnt_jerk": np.array([limit.jerk for limit in limits]),
        "jnt_solref": np.tile(DEFAULT_SOLREF, (len(joints), 1)),
    }


def _springs(joints: Sequence[Joint], classes: Ints) -> Arrays:
    """Return neutral positions, and stiffness and rest positions of the joint springs."""
    free = [joints[j] for j in np.flatnonzero(classes == JointClass.FREE).tolist()]
    stiffness = np.array([joint.stiffness for joint in joints])
    return {
        "jnt_stiffness": np.where(classes == JointClass.FREE, stiffness, 0.0),
        "qpos0": np.array([q for joint in free for q in _start(joint)]),
        "qpos_spring": np.array([q for joint in free for q in joint.rest or kind_of(joint).qpos0]),
    }


def _start(joint: Joint) -> tuple[float, ...]:
    """Return the coordinates of a joint at qpos0."""
    return joint.start or kind_of(joint).qpos0


def _dofs(joints: Sequence[Joint], classes: Ints) -> Arrays:
    rows: dict[str, list[Any]] = {key: [] for key in _DOF_KEYS}
    transmission: dict[int, list[Any]] = {where: [] for where in JointClass}
    for joint, where in zip(joints, classes, strict=True):
        kind = kind_of(joint)
        transmission[where] += joint.transmission or [(0.0,) * 6] * kind.nv
        if where != JointClass.FREE:
            continue
        for k, limit in enumerate(joint.limits):
            if math.isfinite(limit.lower) or math.isfinite(limit.upper):
                rows["limit_dofid"].append(len(rows["dof_armature"]) + k)
                rows["limit_range"].append((limit.lower, limit.upper))
        rows["dof_armature"] += [joint.armature] * kind.nv
        rows["dof_damping"] += [joint.damping] * kind.nv
        rows["dof_frictionloss"] += [joint.friction] * kind.nv
    return {
        **{key: np.array(row) for key, row in rows.items()},
        "dof_transmission": np.array([x for row in transmission.values() for x in row]),
        "dof_inertia0": np.zeros(len(rows["dof_armature"])),
    }


_DOF_KEYS = ("dof_armature", "dof_damping", "dof_frictionloss", "limit_dofid", "limit_range")


def _parameters(joint: Joint) -> list[float]:
    values = [joint.parameters[name] for name in JOINT_SPECS[joint.type].parameters]
    return values + [0.0] * (MAX_PARAMETERS - len(values))


def joint_basis(joint: Joint) -> Array:
    """Return rows x, y, z with z along the axis; for a universal joint, x and y along its axes."""
    if JOINT_SPECS[joint.type].axes == 0:
        return np.eye(3)
    axis = np.array(joint.axis)
    if joint.axis2 is None:
        return plane_basis(axis)
    other = np.array(joint.axis2)
    if type_of(joint) == JointType.UNIVERSAL:
        return np.array([axis, other, np.cross(axis, other)])
    return np.array([other, np.cross(axis, other), axis])


def _rotation_base(body: Body, joint: Joint) -> Array:
    """Return turn_base for E0 = body_mat, or for the identity if the joint is reversed."""
    return turn_base(body.place.mat if body.forward else np.eye(3), joint.axis)


def loop_arrays(tree: Tree) -> Arrays:
    """Return the primary fields loop_*."""
    ends = [(loop.predecessor, loop.successor) for loop in tree.loops]
    joints = [loop.joint for loop in tree.loops]
    return {
        "loop_type": np.array([type_of(joint) for joint in joints], np.int64),
        "loop_bodyid": pairs(ends, lambda place: place.body, np.int64),
        "loop_pos": pairs(ends, lambda place: place.pos),
        "loop_quat": pairs(ends, lambda place: mat_to_quat(place.mat)),
        "loop_axis": np.array([joint.axis for joint in joints]),
        "loop_basis": np.array([joint_basis(joint) for joint in joints]),
        "loop_param": np.array([_parameters(joint) for joint in joints]),
    }

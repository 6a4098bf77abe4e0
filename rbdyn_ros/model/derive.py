# SPDX-License-Identifier: Apache-2.0
"""Compute the derived fields of a Model from its stored fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Ints, NamedArrays
from rbdyn_ros.model.declared.actuators import state_lengths
from rbdyn_ros.model.declared.joints import JointClass, JointKind, JointType, joint_kinds
from rbdyn_ros.model.declared.model_fields import DERIVED
from rbdyn_ros.model.geometry.geom_pairs import (
    bounding_boxes,
    by_geometry,
    corner_radius,
    distance_pairs,
    far_corners,
    obstacle_filter,
)
from rbdyn_ros.model.geometry.height_fields import field_indices
from rbdyn_ros.model.geometry.triangle_meshes import triangle_indices
from rbdyn_ros.model.tree.constraints import equations
from rbdyn_ros.model.tree.couplings import joint_addresses, leaders
from rbdyn_ros.model.tree.inertia_pattern import inertia_pattern


def derive(primary: NamedArrays, names: Mapping[str, Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Return the fields DERIVED of a Model.

    Args:
        primary: the fields PRIMARY.
        names: the lists NAMES.

    Raises:
        ModelError: a user-defined joint type is not registered.
    """
    kinds = joint_kinds(primary["jnt_type"], names["jnt_usertype"])
    loop_kinds = joint_kinds(primary["loop_type"], names["loop_usertype"])
    known = {
        **primary,
        "drive_knotadr": starts(primary["drive_knotnum"]),
        "length_pointadr": starts(primary["length_pointnum"]),
        "gear_termadr": starts(primary["gear_termnum"]),
        "actuator_actadr": starts(state_lengths(primary["actuator_delay"])),
        "geom_vertadr": starts(primary["geom_vertnum"]),
        "vert_edgeadr": starts(primary["vert_edgenum"]),
        "geom_faceadr": starts(primary["geom_facenum"]),
        "face_vertadr": starts(primary["face_vertnum"]),
        **_bodies(primary, kinds),
        **_joints(primary, kinds),
        **_dofs(primary, kinds),
    }
    known |= equations(known, [kind.nv for kind in loop_kinds])
    known |= inertia_pattern(known)
    known |= _in_flight(known)
    known |= corner_radius(known)
    known |= bounding_boxes(known)
    known |= far_corners(known)
    known |= distance_pairs(known)
    known |= obstacle_filter(known)
    known |= field_indices(known)
    known |= triangle_indices(known)
    known |= by_geometry("push", primary["push_geom"], len(primary["geom_bodyid"]))
    return {name: known[name] for name in DERIVED}


def starts(lengths: Any) -> Ints:
    """Return the first index of each part of an array, given the lengths of the parts."""
    sizes = np.asarray(lengths, np.int64)
    begins: Ints = np.cumsum(sizes) - sizes
    return begins


def _free_dofs(primary: NamedArrays, kinds: Sequence[JointKind]) -> list[int]:
    """Return the degrees of freedom of each joint: 0 for a driven joint or a mimic joint."""
    classes = primary["jnt_class"]
    return [
        kind.nv if where == JointClass.FREE else 0
        for kind, where in zip(kinds, classes, strict=True)
    ]


def _bodies(primary: NamedArrays, kinds: Sequence[JointKind]) -> dict[str, NDArray[Any]]:
    parent = primary["body_parentid"]
    bodies = np.arange(len(parent))
    root = bodies.copy()
    for i, p in enumerate(parent):
        if p > 0:
            root[i] = root[p]
    last_child = np.zeros(len(parent), np.int64)
    last_child[parent] = bodies
    number = np.array([0, *_free_dofs(primary, kinds)], np.int64)
    return {
        "body_rootid": root,
        "body_haschild": np.isin(bodies, parent[1:]),
        "body_lastchild": last_child[parent] == bodies,
        "body_dofnum": number,
        "body_dofadr": np.where(number > 0, starts(number), -1),
    }


def _in_flight(known: NamedArrays) -> dict[str, Ints]:
    """Return the single bodies and the roots of the trees that can be in flight (flight.py).

    Bodies in loops, lines and gears are left out, because these constraints need an Euler step.
    Also left out are bodies with rotors on a free joint, and bodies with impossible moments of
    inertia.
    """
    bodies, root = np.arange(len(known["body_parentid"])), known["body_rootid"]
    free = (known["jnt_type"] == JointType.FREE) & (known["jnt_reversed"] == 0)
    free &= (known["jnt_class"] == JointClass.FREE) & (known["body_parentid"][1:] == 0)
    rotors = np.bincount(known["dof_bodyid"], known["dof_armature"], len(bodies))
    moments = np.sort(known["body_inertia"], axis=1)
    possible = (moments[:, 0] > 0.0) & (moments[:, 2] <= moments[:, :2].sum(axis=1) * (1.0 + 1e-6))
    usual = np.array([True, *(known["jnt_common"] & (known["jnt_class"] == JointClass.FREE))])
    bound = np.isin(root, [*root[known["wrench_bodyid"]], *root[~usual]])
    loose = np.array([False, *free]) & ~bound & (rotors == 0.0)
    tree = known["body_haschild"] == 1
    return {
        "flight_bodyid": bodies[loose & ~tree & possible],
        "flight_rootid": bodies[loose & tree & (known["body_subtreemass"] > 0.0)],
    }


def _joints(primary: NamedArrays, kinds: Sequence[JointKind]) -> dict[str, NDArray[Any]]:
    types, classes = primary["jnt_type"], primary["jnt_class"]
    user = types == JointType.USER
    nv = np.array([kind.nv for kind in kinds], np.int64)
    return {
        "jnt_common": (primary["jnt_reversed"] == 0) & (types <= JointType.PLANAR),
        "jnt_dofnum": nv,
        "jnt_bodyid": np.arange(1, len(kinds) + 1),
        "jnt_userid": np.where(user, np.cumsum(user) - 1, -1),
        "mimic_jntid": np.flatnonzero(classes == JointClass.MIMIC),
        **joint_addresses([kind.nq for kind in kinds], nv, leaders(primary["jnt_mimic"]), classes),
    }


def _dofs(primary: NamedArrays, kinds: Sequence[JointKind]) -> dict[str, NDArray[Any]]:
    parent = primary["body_parentid"]
    last = [-1] * len(parent)
    body, above = list[int](), list[int]()
    newframe: dict[int, list[int]] = {where: [] for where in JointClass}
    for i, number in enumerate(_free_dofs(primary, kinds), start=1):
        last[i] = last[parent[i]]
        newframe[primary["jnt_class"][i - 1]] += kinds[i - 1].newframe
        for _ in range(number):
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

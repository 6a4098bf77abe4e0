# SPDX-License-Identifier: Apache-2.0
"""Mimic joints: their leaders, their coordinates, and their load on the leader.

A mimic joint has no degree of freedom: q = ratio q_leader + offset is the explicit constraint of
RBDA eq 3.11 with a constant G. In qvel_all its coordinate comes after the free coordinates. A
force along the mimic joint acts on the leader's dof, multiplied by the ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Arrays, Ints
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.model.declared.joints import JointClass


def couplings(joints: Sequence[Joint]) -> Arrays:
    """Return jnt_mimic, jnt_mimic_ratio and jnt_mimic_offset; chains are resolved.

    Args:
        joints: joints in the order of the Model, checked by description/checks/mimics.py.
    """
    number = {joint.name: j for j, joint in enumerate(joints)}
    leader = np.full(len(joints), -1)
    ratio, offset = np.ones(len(joints)), np.zeros(len(joints))
    mimics = {j: joint.mimic for j, joint in enumerate(joints) if joint.mimic}
    for first in mimics:
        chain = []  # joints whose leader is not known yet
        j = first
        while j in mimics and leader[j] < 0:
            chain.append(j)
            j = number[mimics[j].joint]
        for follower in reversed(chain):
            mimic = mimics[follower]
            target = number[mimic.joint]
            # q = r (r' q' + o') + o
            leader[follower] = leader[target] if target in mimics else target
            ratio[follower] = mimic.ratio * ratio[target]
            offset[follower] = mimic.ratio * offset[target] + mimic.offset
    return {"jnt_mimic": leader, "jnt_mimic_ratio": ratio, "jnt_mimic_offset": offset}


def leaders(mimic: Ints) -> Ints:
    """Return the leader of each joint, from jnt_mimic; a joint without a leader leads itself."""
    return np.where(mimic >= 0, mimic, np.arange(len(mimic)))


def joint_classes(mimic: Ints, driven: NDArray[np.bool_]) -> Ints:
    """Return jnt_class; a mimic joint of a driven joint is DRIVEN."""
    classes = np.where(mimic >= 0, int(JointClass.MIMIC), int(JointClass.FREE))
    classes[driven[leaders(mimic)]] = JointClass.DRIVEN
    return classes


def starts_by_class(lengths: ArrayLike, classes: Ints) -> Ints:
    """Return first coordinates of joints with `lengths` coordinates each, ordered by class."""
    shares = np.asarray(lengths, np.int64)
    order = np.argsort(classes, kind="stable")
    starts = np.zeros_like(shares)
    starts[order] = np.cumsum(shares[order]) - shares[order]
    return starts


def joint_addresses(nq: ArrayLike, nv: ArrayLike, leader: Ints, classes: Ints) -> Arrays:
    """Return the first coordinates of each joint and of its leader."""
    own_q, own_v = starts_by_class(nq, classes), starts_by_class(nv, classes)
    return {
        "jnt_qposadr": own_q[leader],
        "jnt_dofadr": own_v[leader],
        "jnt_qposadr_all": own_q,
        "jnt_dofadr_all": own_v,
    }


def reflected(joints: Sequence[Joint], mimic: Arrays, classes: Ints) -> list[Joint]:
    """Return the joints, with the loads of mimic joints added to their leaders.

    Armature, damping, friction and spring are reflected to the leader.

    Args:
        joints: the joints of the description.
        mimic: the result of `couplings`.
        classes: jnt_class of the joints.
    """
    loaded = list(joints)
    for j in np.flatnonzero(classes == JointClass.MIMIC).tolist():
        k, ratio = int(mimic["jnt_mimic"][j]), mimic["jnt_mimic_ratio"][j]
        joint, leader = joints[j], loaded[k]
        loaded[k] = replace(
            leader,
            armature=leader.armature + ratio * ratio * joint.armature,
            damping=leader.damping + ratio * ratio * joint.damping,
            friction=leader.friction + abs(ratio) * joint.friction,
        )
        if joint.stiffness > 0.0 and ratio != 0.0:
            loaded[k] = _with_spring(loaded[k], joint, ratio, mimic["jnt_mimic_offset"][j])
    return loaded


def _with_spring(leader: Joint, joint: Joint, ratio: float, offset: float) -> Joint:
    """Return the leader with one spring, which replaces its own spring and the mimic joint's."""
    seen = ratio * ratio * joint.stiffness
    rest = ((joint.rest or (0.0,))[0] - offset) / ratio
    stiffness = leader.stiffness + seen
    balance = leader.stiffness * (leader.rest or (0.0,))[0] + seen * rest
    return replace(leader, stiffness=stiffness, rest=(balance / stiffness,))

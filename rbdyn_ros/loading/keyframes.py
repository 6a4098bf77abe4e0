# SPDX-License-Identifier: Apache-2.0
"""Keyframes of a Model, from the named states of its robots."""

from collections.abc import Iterable

import numpy as np

from rbdyn_ros.description.parts.geometries import GroupState
from rbdyn_ros.errors import Finding, quote
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import PRIMARY
from rbdyn_ros.model.model import Model, unchecked_model


def with_keys(m: Model, states: Iterable[GroupState]) -> Model:
    """Return the Model with a keyframe for each state name.

    Joints that a state leaves out are at qpos0. States of the same name, for several groups of
    joints, make one keyframe, in which later states overwrite earlier states. A state without a
    coordinate of m is left out, with a note.
    """
    keys: dict[str, dict[int, float]] = {}
    notes: list[Finding] = []
    for state in states:
        if given := given_by(m, state):
            keys.setdefault(state.name, {}).update(given)
        else:
            element = f"state {quote(state.name)}"
            text = f"{element}: it gives no position of the robot, so it is not a keyframe"
            notes.append(Finding("empty-state", text, "note", element, state.line))
    if not keys and not notes:
        return m
    key_qpos = np.tile(m.qpos0, (len(keys), 1))
    for row, given in zip(key_qpos, keys.values(), strict=True):
        row[list(given)] = list(given.values())
    arrays = {name: getattr(m, name) for name in PRIMARY} | {"key_qpos": key_qpos}
    names = {**m.names, "key_names": tuple(keys)}
    return unchecked_model(m.name, arrays, names, m.opt, (*m.findings, *notes), m)


def given_by(m: Model, state: GroupState) -> dict[int, float]:
    """Return the values that a state gives, by index into qpos.

    Joints that the Model lacks, or that have another number of coordinates, are left out.
    """
    found: dict[int, float] = {}
    for name, given in state.positions.items():
        if name not in m.jnt_numbers:
            continue
        j, numbers = m.jnt_numbers[name], np.atleast_1d(np.asarray(given, float)).tolist()
        if m.jnt_class[j] == JointClass.FREE and m.jnt_kind(j).nq == len(numbers):
            found |= dict(enumerate(numbers, start=int(m.jnt_qposadr[j])))
    return found

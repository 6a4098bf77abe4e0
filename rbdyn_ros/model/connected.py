# SPDX-License-Identifier: Apache-2.0
"""Trees of bodies that equations connect. Other trees can affect each other only by contact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model


def connected_trees(m: Model) -> Ints:
    """Return for each body (nbody,) the first root of the trees connected with its tree.

    Loop joints, lengths, rolling, gears and mimic joints connect trees. The world (0) connects
    nothing.
    """
    group: Ints = m.body_rootid.copy()
    for bodies in [*_equations(m), *_mimics(m)]:
        joined = sorted({int(group[body]) for body in bodies} - {0})
        for other in joined[1:]:
            group[group == other] = joined[0]
    return group


def connected_mass(m: Model, body: int) -> float:
    """Return the total mass [kg] of a body's tree and of all trees connected with it."""
    tree = connected_trees(m)
    return float(m.body_mass[tree == tree[body]].sum())


def bodies_of_equations(m: Model) -> Ints:
    """Return the bodies that equations act on; a body can occur several times."""
    found: Ints = np.array([body for row in _equations(m) for body in row], np.int64)
    return found


def coordinate_joints(m: Model) -> Ints:
    """Return the joint of each coordinate (nq,)."""
    free = np.flatnonzero(m.jnt_class == JointClass.FREE)
    found: Ints = free[np.searchsorted(m.jnt_qposadr[free], np.arange(m.nq), "right") - 1]
    return found


def _equations(m: Model) -> Iterator[list[int]]:
    """Yield, for each equation, the bodies on which it acts."""
    for first, count in zip(m.efc_wrenchadr.tolist(), m.efc_wrenchnum.tolist(), strict=True):
        yield m.wrench_bodyid[first : first + count].tolist()
    for first, count in zip(m.gear_termadr.tolist(), m.gear_termnum.tolist(), strict=True):
        yield (m.term_jntid[first : first + count] + 1).tolist()


def _mimics(m: Model) -> Iterator[list[int]]:
    for joint in m.mimic_jntid.tolist():
        yield [joint + 1, int(m.jnt_mimic[joint]) + 1]

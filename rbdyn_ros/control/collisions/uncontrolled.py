# SPDX-License-Identifier: Apache-2.0
"""Joints that are not controlled, but decide where the arm can touch itself or its world."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.arrays import Bools, Ints
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model


class Uncontrolled(NamedTuple):
    """Degrees of freedom that are not controlled, and change the distance of a checked pair.

    Attributes:
        needed: degrees of freedom whose position must be known, such as the degrees of freedom of
            a rail, a torso, a head or another arm.
        assumed: degrees of freedom beyond the last controlled joint of a chain, as in a gripper,
            and wheels: joints that turn without limits and carry only joints of this kind.
    """

    needed: tuple[int, ...]
    assumed: tuple[int, ...]


def uncontrolled(m: Model, dofs: Ints, pairs: Ints) -> Uncontrolled:
    """Return the uncontrolled degrees of freedom that change the distance of a checked pair.

    Args:
        m: the arm with its geometries.
        dofs: degrees of freedom of the controlled joints.
        pairs: (n, 2) geometries whose distances are checked.
    """
    controlled = np.zeros(m.nv, bool)
    controlled[dofs] = True
    above = _above(m)
    moved_by = _moved_by(m)
    bodies = np.unique(m.geom_bodyid[pairs].reshape(-1, 2), axis=0)
    between = (above[bodies[:, 0]] ^ above[bodies[:, 1]]) @ moved_by  # shape (n, nv)
    changing = between[between[:, controlled].any(axis=1)].any(axis=0) & ~controlled
    ends = _ends(m, controlled, above, moved_by) | _wheels(m, controlled, above, moved_by)
    found = np.flatnonzero(changing).tolist()
    return Uncontrolled(
        tuple(dof for dof in found if not ends[dof]), tuple(dof for dof in found if ends[dof])
    )


def _above(m: Model) -> Bools:
    """Return a mask (nbody, nbody): whether body i is body j or is carried by body j."""
    above = np.eye(m.nbody, dtype=bool)
    for i in range(1, m.nbody):
        above[i] |= above[m.body_parentid[i]]
    return above


def _moved_by(m: Model) -> Bools:
    """Return a mask (nbody, nv): whether a dof moves a body relative to its parent."""
    moved = np.zeros((m.nbody, m.nv), bool)
    # this includes mimic joints, which have the address of their leader
    joints = np.flatnonzero(m.jnt_dofadr < m.nv)
    moved[joints + 1, m.jnt_dofadr[joints]] = True
    return moved


def _ends(m: Model, controlled: Bools, above: Bools, moved_by: Bools) -> Bools:
    """Return a mask (nv,): whether a last controlled joint of a chain carries the dof's bodies.

    `above` and `moved_by` are the masks of _above and _moved_by.
    """
    driven = moved_by[:, controlled].any(axis=1)
    # whether a body carries driven bodies other than itself
    carries_driven = (above[driven].sum(axis=0) - driven) > 0
    ends = np.ones(m.nv, bool)
    for body, dof in np.argwhere(moved_by).tolist():
        carriers = np.flatnonzero(above[body] & driven)
        ends[dof] &= len(carriers) > 0 and not carries_driven[carriers[-1]]
    return ends


def _wheels(m: Model, controlled: Bools, above: Bools, moved_by: Bools) -> Bools:
    """Return a mask (nv,): whether a dof, and each dof that it carries, turns without limits.

    `above` and `moved_by` are the masks of _above and _moved_by.
    """
    turning = np.zeros(m.nv, bool)
    kinds = (m.jnt_type == JointType.HINGE) & (m.jnt_limited == 0)
    joints = np.flatnonzero(kinds & (m.jnt_dofadr < m.nv))
    turning[m.jnt_dofadr[joints]] = True
    turning &= ~controlled
    wheels: Bools = turning.copy()
    for body, dof in np.argwhere(moved_by).tolist():
        beyond = moved_by[above[:, body]].any(axis=0)
        wheels[dof] &= bool(turning[beyond].all())
    return wheels

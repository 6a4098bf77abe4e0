"""The dof that a coordinate acts on: its own, or its leader's for a mimic joint.

Coordinates are entries of qvel_all. A driven coordinate acts on no dof: its motion is given.
"""

from __future__ import annotations

from rbdyn_ros.engine.follow import is_driven
from rbdyn_ros.engine.jit import inline


@inline
def acts_on(m, j, c):
    """Return the dof that coordinate c of joint j acts on, -1 if none, and the ratio."""
    if c < m.nv:
        return c, 1.0
    if is_driven(m, c):
        return -1, 0.0
    return m.jnt_dofadr[j], m.jnt_mimic_ratio[j]


@inline
def clear(A):
    """Make a matrix zero before coordinates add to it."""
    for r in range(A.shape[0]):
        for c in range(A.shape[1]):
            A[r, c] = 0.0

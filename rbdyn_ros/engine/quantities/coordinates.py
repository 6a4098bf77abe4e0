"""Where a coordinate acts: its own degree of freedom, or that of the joint it follows.

Coordinates are entries of qvel_all. What is driven over time acts nowhere: its motion is given.
"""

from __future__ import annotations

from rbdyn_ros.engine.follow import is_driven
from rbdyn_ros.engine.jit import inline


@inline
def acts_on(m, j, c):
    """Return the dof that coordinate c of joint j acts on, -1 if none, and how many times."""
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

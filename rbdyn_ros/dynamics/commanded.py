# SPDX-License-Identifier: Apache-2.0
"""The joints that can be commanded, and Models in which some joints are blocked."""

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Bools
from rbdyn_ros.errors import quote
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: Rotor inertia of a blocked dof [kg m^2 or kg], so large that no force moves the dof.
BLOCKED = 1e9


def with_blocked(m: Model, blocked: Bools) -> Model:
    """Return the Model whose blocked dofs (nv,) do not move; m itself without blocked dofs."""
    if not blocked.any():
        return m
    held = np.where(blocked, BLOCKED, m.dof_armature)
    kept = {name: getattr(m, name) for name in ("dof_inertia0", "geom_mass0")}
    return m.replaced(dof_armature=held, **kept)


def reason_passive(m: Model, j: int) -> str:
    """Return the reason why joint j cannot be commanded, or "" if it can.

    The text continues a sentence of which the joint's name is the subject. A joint with an effort
    limit of 0 is passive, such as a caster or the pole of a cart. A mimic joint acts on its
    leader, so the effort limit of the leader counts.
    """
    leader = m.jnt_mimic[j]
    if m.jnt_class[j] == JointClass.DRIVEN:
        own = leader < 0
        return f"{'' if own else _mimics(m, j)}has a prescribed motion{'' if own else ','}"
    if not m.jnt_actuated[j]:
        return "has no actuator"
    if m.jnt_effort[j] == 0.0:
        return "has an effort limit of 0"
    if leader >= 0 and m.jnt_effort[leader] == 0.0:
        return f"{_mimics(m, j)}has an effort limit of 0,"
    if leader >= 0 and m.jnt_mimic_ratio[j] == 0.0:
        return "is a mimic joint with the ratio 0"
    return ""


def _mimics(m: Model, j: int) -> str:
    return f"mimics joint {quote(m.jnt_names[m.jnt_mimic[j]])}, which "


def commandable(m: Model) -> NDArray[np.bool_]:
    """Return a mask (njnt,) of the joints that can be commanded, including mimic joints."""
    return np.array([not reason_passive(m, j) for j in range(m.njnt)], np.bool_)


def commanded_joints(m: Model) -> NDArray[np.int64]:
    """Return the numbers of commandable joints that have one dof and are not mimic joints."""
    free = (m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE)
    return np.flatnonzero(free & commandable(m))

# SPDX-License-Identifier: Apache-2.0
"""Views of the arrays of a Batch that belong to one joint or one body."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: Fields of a Batch with a row for each body.
OF_BODY = ("xpos", "xmat", "xipos", "subtree_com", "cvel", "xfrc_applied")


class NamedView:
    """Live arrays (nsim, ...) of one joint or body of a Batch, by the names of the Batch's fields.

    Args:
        bind: the method `bind` of the Batch.
        places: for each field, the entries of the joint or body.
    """

    def __init__(self, bind: Callable[[str], Array], places: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_bind", bind)
        object.__setattr__(self, "_places", dict(places))

    def __getattr__(self, name: str) -> Array:
        places = vars(self)["_places"]
        if name not in places:
            hint = did_you_mean(name, places)
            raise AttributeError(f"there is no '{name}'{hint}; there are {', '.join(places)}")
        found: Array = vars(self)["_bind"](name)[:, places[name]]
        return found

    def __setattr__(self, name: str, value: object) -> None:
        getattr(self, name)[...] = value

    def __dir__(self) -> list[str]:
        return sorted(self._places)


def joint_places(m: Model, name: str) -> dict[str, slice]:
    """Return the entries of a joint in qpos, qvel and qfrc_applied, and of its actuator.

    Raises:
        ModelError: the joint is unknown, or has no degree of freedom.
    """
    j = m.jnt_id(name)
    if m.jnt_class[j] != JointClass.FREE or m.jnt_dofnum[j] == 0:
        text = f"joint '{name}' has no degree of freedom of its own"
        raise ModelError(Finding("no-dof", text, "error", name))
    later = m.jnt_qposadr[(m.jnt_class == JointClass.FREE) & (m.jnt_qposadr > m.jnt_qposadr[j])]
    begin, end = int(m.jnt_qposadr[j]), int(np.append(later, m.nq).min())
    dofs = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j] + m.jnt_dofnum[j]))
    found = {"qpos": slice(begin, end), "qvel": dofs, "qfrc_applied": dofs}
    for a in np.flatnonzero(m.dof_jntid[m.actuator_dofid] == j).tolist():
        states = np.append(m.actuator_actadr, m.na)[a : a + 2].tolist()
        found |= {"ctrl": slice(a, a + 1), "act": slice(*states)}
    return found


def body_places(m: Model, name: str) -> dict[str, int]:
    """Return the row of a body in the fields of bodies.

    Raises:
        ModelError: the body is unknown.
    """
    return dict.fromkeys(OF_BODY, m.body_id(name))

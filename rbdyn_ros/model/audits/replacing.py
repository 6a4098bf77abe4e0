# SPDX-License-Identifier: Apache-2.0
"""Check arrays that replace arrays of a Model, see Model.replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.checks.inertials import (
    INERTIA_ALLOWED,
    as_matrix,
    as_six,
    inertia_faults,
)
from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.audits.number_rules import (
    descending,
    endless_friction,
    limit_ranges,
    wrong_numbers,
)
from rbdyn_ros.model.declared.joints import JointClass, JointType
from rbdyn_ros.model.declared.model_fields import DERIVED, INERTIAS, REPLACEABLE
from rbdyn_ros.model.tree.bodies import inertia_arrays, subtree_masses
from rbdyn_ros.model.tree.rotation import quat_to_mat

#: The attributes of a Model by name.
Current = Mapping[str, Any]

#: Fields that the engine computes when a Model is loaded, from the fields WEIGHED.
CONSTANTS = ("dof_inertia0", "geom_mass0")
WEIGHED = ("dof_armature", "qpos0", "body_mass", "body_ipos", "body_fullinertia")

#: Largest deviation of a quaternion's norm from 1.
_UNIT = 1e-6

#: Fields of zeros and ones.
_FLAGS = ("jnt_limited", "jnt_actuated")


def check_replacements(current: Current, arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the checked arrays, and the inertias that follow from them; raises ModelError."""
    checked = {name: _checked(current, name, values) for name, values in arrays.items()}
    if not set(INERTIAS).isdisjoint(checked):
        checked |= _inertias(current, checked)
    free = current["jnt_class"] == JointClass.FREE
    with_limit = (current["jnt_dofnum"] == 1) | (current["jnt_type"] == JointType.BALL)
    for name, possible in (("jnt_limited", free & with_limit), ("jnt_stiffness", free)):
        if name in checked:
            _check_only_where(current["jnt_names"], name, checked[name], possible)
    if checked:
        new = {**current, **checked}
        for name, ranges in limit_ranges(new):
            if why := descending(ranges):
                raise _refused(name, why)
        if why := endless_friction(new):
            raise _refused("geom_friction", why)
    return checked


def _inertias(current: Current, given: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of rigid bodies that follow from the given arrays.

    Raises:
        ModelError: a rigid body cannot have these numbers, the world gets a mass, or an inertia is
            given both by its matrix and by its principal moments.
    """
    new, by_matrix = {**current, **given}, "body_fullinertia" in given
    if by_matrix and not {"body_inertia", "body_iquat"}.isdisjoint(given):
        raise _refused(
            "body_fullinertia", "is given together with body_inertia or body_iquat; give one"
        )
    if new["body_mass"][0] != 0.0:
        raise _refused("body_mass", "must be 0 for body 0, the world")
    norm = np.linalg.norm(new["body_iquat"], axis=1)
    if (np.abs(norm - 1.0) > _UNIT).any():
        raise _refused("body_iquat", f"has norms from {norm.min():.6g} to {norm.max():.6g}, not 1")
    masses = {"body_subtreemass": subtree_masses(new["body_mass"], current["body_parentid"])}
    if not by_matrix and {"body_inertia", "body_iquat"}.isdisjoint(given):
        return masses
    matrix = as_matrix(np.asarray(new["body_fullinertia"], float))
    if not by_matrix:
        axes = np.array([quat_to_mat(quat) for quat in new["body_iquat"]])
        matrix = np.einsum("nij,nj,nkj->nik", axes, new["body_inertia"], axes)
    for fault in inertia_faults(as_six(matrix)):
        name = "body_fullinertia" if by_matrix else "body_inertia"
        body = current["body_names"][fault.row]
        text = f"gives body '{body}' the principal moments {fault.moments}; allowed are "
        raise _refused(name, text + INERTIA_ALLOWED)
    return masses | inertia_arrays(matrix)


def followed(fields: Mapping[str, Any], changed: Collection[str]) -> dict[str, Any]:
    """Return the fields; drop the derived fields if masses or inertias have changed."""
    if set(INERTIAS).isdisjoint(changed):
        return dict(fields)
    return {name: array for name, array in fields.items() if name not in DERIVED}


def stale(current: Current, arrays: Mapping[str, Any]) -> list[str]:
    """Return the names of the CONSTANTS that changed arrays make invalid.

    Constants that the caller has changed are left out. The list is empty while a Model is loaded.
    """
    if not current["dof_inertia0"].any() or _same(current, arrays, WEIGHED):
        return []
    return [name for name in CONSTANTS if _same(current, arrays, (name,))]


def _same(current: Current, arrays: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(
        arrays[name] is current[name] or np.array_equal(arrays[name], current[name])
        for name in names
    )


def _checked(current: Current, name: str, values: Any) -> NDArray[Any]:
    """Return values as an array.

    Raise ModelError if the field cannot have its shape or numbers.
    """
    if name not in REPLACEABLE and name not in INERTIAS:
        allowed = (*INERTIAS, *REPLACEABLE)
        hint = did_you_mean(name, allowed)
        raise _refused(name, f"cannot be replaced{hint}; allowed are {', '.join(allowed)}")
    array, shape = _numbers(values), current[name].shape
    if array is None:
        raise _refused(name, "must hold numbers")
    if array.shape != shape:
        raise _refused(name, f"has shape {shape}, got an array of shape {array.shape}")
    if why := wrong_numbers(name, array):
        raise _refused(name, why)
    if name in _FLAGS and not np.isin(array, (0, 1)).all():
        raise _refused(name, f"must hold 0 and 1 only, got {array.tolist()}")
    return array


def _numbers(values: Any) -> NDArray[Any] | None:
    """Return an array of real numbers, or None for other values (a ragged list, strings)."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _check_only_where(
    joints: Sequence[str], name: str, array: NDArray[Any], possible: NDArray[np.bool_]
) -> None:
    """Raise ModelError for a limit or spring of a joint that cannot have it."""
    for j in np.flatnonzero((array != 0) & ~possible).tolist():
        part = "limit" if name == "jnt_limited" else "spring"
        raise _refused(name, f"must be 0 for joint '{joints[j]}', which can have no {part}")


def _refused(name: str, why: str) -> ModelError:
    return ModelError(Finding("model-array", f"Model.{name} {why}", "error", name))

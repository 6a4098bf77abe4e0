# SPDX-License-Identifier: Apache-2.0
"""Checks of the arrays that replace some of a Model's, see Model.replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.joints import JointClass, JointType
from rbdyn_ros.model.model_fields import REPLACEABLE
from rbdyn_ros.model.number_rules import descending, endless_friction, limit_ranges, wrong_numbers

#: The attributes of a Model by name.
Current = Mapping[str, Any]

#: Fields that the engine computes from those of WEIGHED when a Model is loaded.
CONSTANTS = ("dof_inertia0", "geom_mass0")
WEIGHED = ("dof_armature", "qpos0", "body_mass", "body_ipos", "body_fullinertia")

#: Fields of zeros and ones.
_FLAGS = ("jnt_limited", "jnt_actuated")


def check_replacements(current: Current, arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays; raises ModelError if one cannot replace the current one."""
    checked = {name: _checked(current, name, values) for name, values in arrays.items()}
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


def stale(current: Current, arrays: Mapping[str, Any]) -> list[str]:
    """Return the CONSTANTS that no longer belong to the arrays of a new Model.

    A constant that the caller has changed stays. A Model that is still being loaded has none.
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
    """Return the array; raises ModelError unless its field may have its shape and numbers."""
    if name not in REPLACEABLE:
        hint = did_you_mean(name, REPLACEABLE)
        raise _refused(name, f"cannot be replaced{hint}; allowed are {', '.join(REPLACEABLE)}")
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
    """Raise ModelError if a joint of this type can have no such limit or spring."""
    for j in np.flatnonzero((array != 0) & ~possible).tolist():
        part = "limit" if name == "jnt_limited" else "spring"
        raise _refused(name, f"must be 0 for joint '{joints[j]}', which can have no {part}")


def _refused(name: str, why: str) -> ModelError:
    return ModelError(Finding("model-array", f"Model.{name} {why}", "error", name))

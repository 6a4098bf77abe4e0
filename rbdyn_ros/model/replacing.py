"""Checks of the arrays that replace some of a Model's, see Model.replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.joints import JointClass, JointType
from rbdyn_ros.model.model_fields import NOT_NEGATIVE, POSITIVE, REPLACEABLE, UNLIMITED

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

#: Fields of zeros and ones.
_FLAGS = ("jnt_limited", "jnt_actuated")


def check_replacements(m: Model, arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays; raises ModelError if one cannot replace the Model's."""
    checked = {name: _checked(m, name, values) for name, values in arrays.items()}
    free = m.jnt_class == JointClass.FREE
    with_limit = (m.jnt_dofnum == 1) | (m.jnt_type == JointType.BALL)
    for name, possible in (("jnt_limited", free & with_limit), ("jnt_stiffness", free)):
        if name in checked:
            _check_only_where(m, name, checked[name], possible)
    if checked:
        limited = checked.get("jnt_limited", m.jnt_limited) == 1
        _check_ascending("jnt_range", checked.get("jnt_range", m.jnt_range)[limited])
        _check_ascending("limit_range", checked.get("limit_range", m.limit_range))
    return checked


def _checked(m: Model, name: str, values: Any) -> NDArray[Any]:
    """Return the array; raises ModelError unless its field may have its shape and numbers."""
    if name not in REPLACEABLE:
        hint = did_you_mean(name, REPLACEABLE)
        raise _refused(name, f"cannot be replaced{hint}; allowed are {', '.join(REPLACEABLE)}")
    array, shape = _numbers(values), getattr(m, name).shape
    if array is None or np.isnan(array).any():
        raise _refused(name, "must hold numbers, not NaN and not text")
    if array.shape != shape:
        raise _refused(name, f"has shape {shape}, got an array of shape {array.shape}")
    if name not in UNLIMITED and not np.isfinite(array).all():
        raise _refused(name, "must hold finite numbers")
    if name in NOT_NEGATIVE and (array < 0.0).any():
        raise _refused(name, f"must not be negative, got {array.min():.6g}")
    if name in POSITIVE and not (array > 0.0).all():
        raise _refused(name, f"must be above 0, got {array.min():.6g}")
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
    m: Model, name: str, array: NDArray[Any], possible: NDArray[np.bool_]
) -> None:
    """Raise ModelError if a joint gets a limit or a spring that it cannot have."""
    for j in np.flatnonzero((array != 0) & ~possible):
        part = "limit" if name == "jnt_limited" else "spring"
        raise _refused(name, f"must be 0 for joint '{m.jnt_names[j]}', which can have no {part}")


def _check_ascending(name: str, ranges: NDArray[np.float64]) -> None:
    for lower, upper in ranges.tolist():
        if lower > upper:
            raise _refused(
                name, f"has a lower limit {lower:.6g} above its upper limit {upper:.6g}"
            )


def _refused(name: str, why: str) -> ModelError:
    return ModelError(Finding("model-array", f"Model.{name} {why}", "error", name))

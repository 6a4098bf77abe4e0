# SPDX-License-Identifier: Apache-2.0
"""The allowed numbers in the arrays of a Model from any source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import NamedArrays
from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.errors import apart, exactly
from rbdyn_ros.model.declared.model_fields import AT_MOST_ONE, NOT_NEGATIVE, POSITIVE, UNLIMITED

#: Bound of all numbers; products of larger numbers could overflow.
LARGEST = BOUNDS["stored"]


def wrong_numbers(name: str, array: NDArray[Any]) -> str:
    """Return the reason why a field cannot hold some numbers, or an empty string.

    Args:
        name: name of the field.
        array: array of real numbers.
    """
    if np.isnan(array).any():
        return "contains NaN"
    if name not in UNLIMITED and not np.isfinite(array).all():
        return "contains an infinite number"
    if (np.abs(array[np.isfinite(array)]) > LARGEST.high).any():
        return f"contains a number out of range; allowed are {LARGEST.allowed}"
    if name in NOT_NEGATIVE and (array < 0.0).any():
        return f"contains {array.min():.6g}; allowed is 0 or more"
    if name in AT_MOST_ONE and (array > 1.0).any():
        return f"contains {exactly(array.max())}; allowed is 0 to 1"
    if name in POSITIVE and not (array > 0.0).all():
        return f"contains {array.min():.6g}; allowed is a number above 0"
    return ""


def endless_friction(fields: NamedArrays) -> str:
    """Return the reason why the friction of a link cannot be infinite, or an empty string.

    Infinite friction means that the friction of the other geometry acts. Only geometries of the
    world can have it.
    """
    endless = ~np.isfinite(fields["geom_friction"]) & (fields["geom_frameid"] >= 0)
    return (
        "is infinite for a geometry of a link; only obstacles may have infinite friction"
        if endless.any()
        else ""
    )


def limit_ranges(fields: NamedArrays) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the names of the fields that hold ranges, each with its ranges in use (n, 2)."""
    limited = fields["jnt_range"][fields["jnt_limited"] == 1]
    return [("jnt_range", limited), ("limit_range", fields["limit_range"])]


def descending(ranges: NDArray[np.float64]) -> str:
    """Return a text about the first range (n, 2) with its lower limit above the upper, or ""."""
    for lower, upper in ranges[ranges[:, 0] > ranges[:, 1]].tolist():
        return "has a lower limit {} above its upper limit {}".format(*apart(lower, upper))
    return ""

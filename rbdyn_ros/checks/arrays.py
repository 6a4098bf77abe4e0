"""Judges the arrays that a caller hands over: numbers, and all of them finite."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.checks.arguments import number, wrong
from rbdyn_ros.errors import Finding, ParameterError

Array = NDArray[np.float64]


def finite(name: str, value: ArrayLike) -> Array:
    """Return a contiguous copy of finite numbers, in which nobody writes.

    Raises:
        ParameterError: a value is none (strings, truth values and masked ones are not), or is
            not finite.
    """
    try:
        found = np.asarray(value)
        # a list of integers beyond 64 bits is of objects, although they are numbers
        numeric = found.dtype.kind in "fiu" and found.dtype.itemsize <= 8
        numeric &= not np.ma.is_masked(value)
        values = np.array(found if numeric else np.nan, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if not np.isfinite(values).all():
        raise refused(name, f"{name} is {_told(value)}; allowed are finite numbers")
    values.flags.writeable = False
    return values


def shaped(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy of finite numbers of a shape; one number stands for all of them.

    Raises:
        ParameterError: as finite, or for another shape.
    """
    values = finite(name, value)
    if values.shape not in ((), shape):
        text = f"{name} has the shape {values.shape}; allowed is {shape} or one number"
        raise refused(name, text)
    if values.shape != shape:
        values = np.full(shape, values)
        values.flags.writeable = False
    return values


def not_negative(name: str, value: object) -> float:
    """Return one number; raises ParameterError unless it is finite and 0 or more."""
    allowed = "a finite number, 0 or more"
    result = number(name, value, allowed)
    return result if result >= 0.0 else wrong(name, value, allowed)


def refused(name: str, text: str) -> ParameterError:
    """Return the error of an argument."""
    return ParameterError(Finding("bad-argument", text, "error", name))


def _told(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."

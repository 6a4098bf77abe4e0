"""Judges what a caller in Python hands to a builder, before anything is built of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import NoReturn

import numpy as np

from rbdyn_ros.description.types import Pose
from rbdyn_ros.errors import Finding, ParameterError


def wrong(what: str, value: object, allowed: str) -> NoReturn:
    """Raise a ParameterError: ``what`` is ``value``; allowed is ``allowed``."""
    found = repr(value)
    found = found if len(found) <= 80 else f"{found[:80]}..."
    message = f"{what} is {found}; allowed is {allowed}"
    raise ParameterError(Finding("bad-argument", message, found=found, allowed=allowed))


def number(what: str, value: object, allowed: str = "a finite number") -> float:
    """Return a finite number as a float; strings and booleans are none."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:  # an integer beyond the largest float
            pass
    wrong(what, value, allowed)


def positive(what: str, value: object) -> float:
    """Return a finite number above 0."""
    allowed = "a finite number above 0"
    result = number(what, value, allowed)
    return result if result > 0.0 else wrong(what, value, allowed)


def numbers(what: str, value: object, count: int | None = None) -> tuple[float, ...]:
    """Return a sequence of finite numbers, of a given length if there is one."""
    allowed = f"{count} finite numbers" if count is not None else "a sequence of finite numbers"
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        wrong(what, value, allowed)
    if np.ndim(value) == 0 or (count is not None and len(value) != count):
        wrong(what, value, allowed)
    if not all(isinstance(part, Real) and not isinstance(part, bool) for part in value):
        wrong(what, value, allowed)
    return tuple(number(f"a number of {what}", part) for part in value)


def vector(what: str, value: object) -> tuple[float, float, float]:
    """Return three finite numbers."""
    x, y, z = numbers(what, value, 3)
    return (x, y, z)


def name(what: str, value: object) -> str:
    """Return a string that is not empty."""
    if not isinstance(value, str) or not value.strip():
        wrong(what, value, "a name")
    return value


def frame(what: str, value: object) -> Pose:
    """Return a Pose."""
    return value if isinstance(value, Pose) else wrong(what, value, "a Pose")

# SPDX-License-Identifier: Apache-2.0
"""Audit single values of a Description: numbers and poses."""

import math

import numpy as np

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.parts.bounds import audit_range, within
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.errors import shown

_FLOAT = frozenset((float,))
_REAL = (float, int, np.floating, np.integer)


def are_numbers(values: tuple[object, ...]) -> bool:
    """Return whether all values are real numbers in the range of a float, or infinite; not NaN."""
    if not all(isinstance(value, _REAL) for value in values):
        return False
    try:
        return not any(map(math.isnan, values))  # type: ignore[arg-type]
    except OverflowError:  # an integer can exceed the largest float
        return False


def are_finite(values: object, count: int) -> bool:
    """Return whether `values` is a tuple of `count` finite numbers."""
    if not isinstance(values, tuple) or len(values) != count:
        return False
    if _FLOAT.issuperset(map(type, values)):  # shortcut for the usual case
        return all(map(math.isfinite, values))
    return are_numbers(values) and all(map(math.isfinite, values))


def audit_finite(what: str, values: object, count: int, quantity: str, at: Subject) -> bool:
    """Return whether these are `count` finite numbers in range; if not, add an error.

    Args:
        what: name of the numbers in messages.
        values: a tuple, or anything else.
        count: how many numbers are needed.
        quantity: a key of bounds.BOUNDS.
        at: the element of the error.
    """
    if are_finite(values, count):
        return audit_range(what, values, quantity, at)  # type: ignore[arg-type]
    single = values[0] if count == 1 and isinstance(values, tuple) and values else values
    found = shown(single)
    allowed = "a finite number" if count == 1 else f"{count} finite numbers"
    at.error("not-finite", f"the {what} is {found}, not {allowed}", found=found, allowed=allowed)
    return False


def audit_sign(what: str, value: float, at: Subject) -> None:
    """Add an error if the number `value`, called `what`, is negative."""
    if value < 0.0:
        found = f"{value:g}"
        message = f"the {what} is {found}; it must not be negative"
        at.error(_code("negative", what), message, found=found, allowed=">= 0")


def audit_not_negative(what: str, value: float, quantity: str, at: Subject) -> bool:
    """Return whether `value` is a number in range; if not, or if it is negative, add an error."""
    finite = audit_finite(what, (value,), 1, quantity, at)
    if finite:
        audit_sign(what, value, at)
    return finite


def audit_positive(what: str, value: float, quantity: str, at: Subject) -> bool:
    """Return whether `value` is a number in range and above 0; if not, add an error."""
    if not audit_finite(what, (value,), 1, quantity, at):
        return False
    if value > 0.0:
        return True
    found = f"{value:g}"
    message = f"the {what} is {found}; it must be above 0"
    at.error(_code("non-positive", what), message, found=found, allowed="> 0")
    return False


def audit_pose(what: str, pose: object, at: Subject, quantity: str = "position") -> bool:
    """Return whether a pose has a position in range and a unit quaternion; if not, add errors."""
    if not isinstance(pose, Pose):
        at.error("not-a-pose", f"the {what} is {shown(pose)}, not a Pose")
        return False
    if not (are_finite(pose.pos, 3) and are_finite(pose.quat, 4) and within(quantity, pose.pos)):
        audit_finite(f"position of the {what}", pose.pos, 3, quantity, at)
        audit_finite(f"quaternion of the {what}", pose.quat, 4, "direction", at)
        return False
    length = math.hypot(*pose.quat)
    if abs(length - 1.0) <= 1e-6:
        return True
    message = f"the quaternion of the {what} has length {length:g}; it must be 1"
    at.error("bad-quaternion", message, found=str(pose.quat), allowed="length 1")
    return False


def _code(wrong: str, what: str) -> str:
    return f"{wrong}-{what}".replace(" ", "-")

# SPDX-License-Identifier: Apache-2.0
"""Audit the limits of a joint: one limit, limits by coordinate, or the angle of a ball joint."""

import math
import operator
from dataclasses import replace

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.checks.values import are_numbers
from rbdyn_ros.description.parts.bounds import BOUNDS, within_or_unlimited
from rbdyn_ros.description.parts.joint_types import JointSpec
from rbdyn_ros.description.parts.types import Joint, Limit
from rbdyn_ros.errors import apart, counted, exactly, shown

LIMITED_TYPES = ("revolute", "prismatic")  # URDF requires a limit
LIMIT = BOUNDS["limit"].high
#: The numbers of a Limit, and their names in messages.
_LIMITS = {
    "lower": "lower limit",
    "upper": "upper limit",
    "effort": "effort limit",
    "velocity": "velocity limit",
    "acceleration": "acceleration limit",
    "deceleration": "deceleration limit",
    "jerk": "jerk limit",
}
#: The limits that are magnitudes and must not be negative.
_SIZES = tuple(_LIMITS)[2:]
UNLIMITED_TYPES = ("floating", "planar")  # URDF allows a limit, which has no effect


def limits_are_numbers(joint: Joint, at: Subject) -> bool:
    """Return whether every limit is a Limit without NaN; if not, add an error."""
    several: object = joint.limits
    if not isinstance(several, tuple | list):
        message = f"the limits are {shown(several)}, not a tuple of one Limit for each coordinate"
        at.error("not-a-limit", message)
        return False
    given = several if joint.limit is None else (joint.limit, *several)
    return all(_is_number(limit, at) for limit in given)


def _is_number(limit: object, at: Subject) -> bool:
    if not isinstance(limit, Limit):
        at.error("not-a-limit", f"the limit is {shown(limit)}, not a Limit")
        return False
    values = tuple(getattr(limit, what) for what in _LIMITS)
    if are_numbers(values):
        return True
    found = shown(values)
    message = f"the limits are {found}; a limit must be a number"
    at.error("not-finite", message, found=found, allowed="numbers")
    return False


def audit_limits(
    joint: Joint, spec: JointSpec, bounded: bool, at: Subject
) -> tuple[Limit | None, tuple[Limit, ...]]:
    """Return `limit` (or None) and `limits` in normal form; add errors and notes.

    Args:
        joint: not fixed.
        spec: JointSpec of its type.
        bounded: whether limits are required, as in URDF.
        at: the element of the findings.
    """
    joint = _bounded(joint, at)
    count = len(spec.coordinates)
    if joint.limits and (count < 2 or len(joint.limits) != count):
        given = f"a list of {counted(len(joint.limits), 'limit')}"
        _wrong_limits(given, joint, spec, at)
        return joint.limit, joint.limits
    for limit in joint.limits:
        _audit_strength(limit, at)
        _audit_range(limit, at)
    if joint.limit is None:
        return _missing(joint, bounded, at), joint.limits
    if count != 1 and not spec.radial and joint.type not in UNLIMITED_TYPES:
        _wrong_limits("one limit", joint, spec, at)
        return joint.limit, joint.limits
    return _audit_limit(joint.limit, joint, spec, at), joint.limits


def _bounded(joint: Joint, at: Subject) -> Joint:
    """Return the joint with limits in range; larger limits become infinite."""

    def bounded(limit: Limit) -> Limit:
        values = [getattr(limit, what) for what in _LIMITS]
        if all(abs(value) <= LIMIT or math.isinf(value) for value in values):
            return limit  # this is the usual case
        return Limit(
            *[
                within_or_unlimited(called, value, at)
                for called, value in zip(_LIMITS.values(), values, strict=True)
            ]
        )

    limit = joint.limit and bounded(joint.limit)
    limits = tuple(map(bounded, joint.limits))
    if limit is joint.limit and all(map(operator.is_, limits, joint.limits)):
        return joint
    return replace(joint, limit=limit, limits=limits)


def _wrong_limits(given: str, joint: Joint, spec: JointSpec, at: Subject) -> None:
    count = len(spec.coordinates)
    takes = f"{count} limits (a list, one per coordinate)" if count > 1 else "no limit"
    if count == 1 or spec.radial:
        takes = "one limit, not a list"
    message = f"it has {given}, but a {joint.type} joint takes {takes}"
    at.error("wrong-limits", message, found=given, allowed=takes)


def _missing(joint: Joint, bounded: bool, at: Subject) -> Limit | None:
    if not bounded or joint.type not in LIMITED_TYPES:
        return None
    message = f"a {joint.type} joint must have a <limit>"
    if joint.type == "revolute":
        message += "; a joint without limits is 'continuous'"
    allowed = "<limit lower=... upper=... effort=... velocity=.../>"
    repaired = "taken as unlimited"
    at.repair("missing-limit", message, repaired, allowed=allowed)
    return Limit()


def _audit_limit(limit: Limit, joint: Joint, spec: JointSpec, at: Subject) -> Limit | None:
    _audit_strength(limit, at)
    if joint.type in UNLIMITED_TYPES:
        message = f"the limits are ignored: a {joint.type} joint does not use them"
        at.note("limit-ignored", message)
        return None
    if spec.radial:
        return _audit_angle(limit, joint, at)
    if joint.type != "continuous":
        _audit_range(limit, at)
        return limit
    if limit.lower == -math.inf and limit.upper == math.inf:
        return limit
    bounds = f"{limit.lower:g} to {limit.upper:g}"
    message = f"the position limits {bounds} are ignored: a continuous joint has none"
    at.note("limit-ignored", message, found=bounds)
    return replace(limit, lower=-math.inf, upper=math.inf)


def _audit_strength(limit: Limit, at: Subject) -> None:
    for what in _SIZES:
        value = getattr(limit, what)
        if value > 0.0:
            continue  # this is the usual case
        found = f"{value:g}"
        if value < 0.0:
            message = f"the {what} limit is {found}; it must not be negative"
            at.error(f"negative-{what}", message, found=found, allowed=">= 0")
        else:
            message = f"the {what} limit is 0, so a controller cannot move this joint"
            at.warn(f"zero-{what}", message, found=found)


def _audit_range(limit: Limit, at: Subject) -> None:
    lower, upper = limit.lower, limit.upper
    low, high = apart(lower, upper)
    found = f"{low} to {high}"
    if lower > upper or lower == math.inf or upper == -math.inf:
        message = f"the lower limit {low} is above the upper limit {high}"
        at.error("limit-order", message, found=found, allowed="lower <= upper")
    elif lower == upper:
        at.warn("locked-joint", f"the limits {found} leave no room to move", found=found)


def _audit_angle(limit: Limit, joint: Joint, at: Subject) -> Limit:
    """Return the limit of a joint's angle from its zero position; the lower bound is 0."""
    upper = limit.upper
    if limit.lower not in (0.0, -math.inf):
        message = (
            f"the lower limit {limit.lower:g} is ignored: a {joint.type} joint is limited in the "
            "angle from its zero position"
        )
        at.note("limit-ignored", message, found=f"{limit.lower:g}")
    if upper != math.inf and not 0.0 <= upper <= math.pi:
        found = exactly(upper)
        message = (
            f"the upper limit is {found}; a {joint.type} joint is limited in the angle from its "
            "zero position, from 0 to pi"
        )
        at.error("limit-angle", message, found=found, allowed="0 to pi")
    elif upper == 0.0:
        at.warn("locked-joint", "the limit 0 leaves no room to move", found="0")
    return replace(limit, lower=0.0)

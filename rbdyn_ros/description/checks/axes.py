# SPDX-License-Identifier: Apache-2.0
"""Audit axes, the directions of joints and constraints, and normalise them."""

import math

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.description.parts.joint_types import JointSpec
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.description.parts.types import Joint

DEFAULT_AXIS = (1.0, 0.0, 0.0)
ZERO_AXIS = 1e-6  # a shorter axis is a mistake, not a direction
UNIT_AXIS = 1e-9  # a larger deviation from unit length gets a note
SQUARE_AXES = 1e-6  # a larger cosine between two axes is more than a rounding error
ROUNDING = 1e-15  # two axes with a smaller cosine count as perpendicular


def unit_vector(what: str, axis: Vec3, needing: str, at: Subject) -> Vec3 | None:
    """Return a unit vector, or None if the axis has no direction, which is an error.

    Args:
        what: name of the axis in findings.
        axis: three finite numbers.
        needing: the thing that needs a direction, for messages.
        at: the element of the findings.
    """
    length = math.hypot(*axis)
    if length < ZERO_AXIS:
        message = f"the {what} is zero; {needing} needs a direction"
        at.error("zero-axis", message, found=str(axis), allowed="a direction")
        return None
    if abs(length - 1.0) > UNIT_AXIS:
        message = f"the {what} has length {length:.9g} and was normalised"
        at.note("axis-normalised", message, found=f"{length:.9g}")
    return axis if length == 1.0 else _scaled(axis, length)


def audit_axes(joint: Joint, spec: JointSpec, at: Subject) -> tuple[Vec3, Vec3 | None]:
    """Return the axes of a joint as perpendicular unit vectors.

    A first axis that is unused or wrong becomes DEFAULT_AXIS. The second axis is None if it is
    unused, missing or wrong.
    """
    first, second = joint.axis, joint.axis2
    needless = [("axis", first)] if spec.axes == 0 and first != DEFAULT_AXIS else []
    needless += [("second axis", second)] if spec.axes < 2 and second is not None else []
    for what, axis in needless:
        message = f"the {what} is ignored: a {joint.type} joint does not use it"
        at.note("axis-ignored", message, found=str(axis))
    if spec.axes == 0:
        return DEFAULT_AXIS, None
    needing = f"a {joint.type} joint"
    unit = unit_vector("axis", first, needing, at) or DEFAULT_AXIS
    if spec.axes == 1:
        return unit, None
    if second is None:
        if not spec.optional_axis2:
            message = f"it has no second axis (axis2); {needing} needs two"
            at.error("missing-axis2", message, allowed="axis2")
        return unit, None
    unit2 = unit_vector("second axis", second, needing, at)
    return unit, None if unit2 is None else _squared(unit, unit2, at)


def _scaled(axis: Vec3, divisor: float) -> Vec3:
    return (axis[0] / divisor, axis[1] / divisor, axis[2] / divisor)


def _squared(axis: Vec3, axis2: Vec3, at: Subject) -> Vec3:
    """Return the second axis without its component along the first axis.

    If this component is large, add an error and return the axis unchanged.
    """
    cosine = sum(a * b for a, b in zip(axis, axis2, strict=True))
    if abs(cosine) > SQUARE_AXES:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
        message = f"the axes must be perpendicular; they are {angle:.6g} degrees apart"
        at.error("axes-not-perpendicular", message, found=f"{angle:.6g}", allowed="90 degrees")
        return axis2
    if abs(cosine) <= ROUNDING:
        return axis2
    x, y, z = (b - cosine * a for a, b in zip(axis, axis2, strict=True))
    return _scaled((x, y, z), math.hypot(x, y, z))

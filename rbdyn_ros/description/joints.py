"""Judges joints one by one: type, numbers, axes, parameters, springs.

What a joint of one type takes is its JointSpec; limits.py and motions.py judge those two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from rbdyn_ros.description.audit import Audit, quote, told
from rbdyn_ros.description.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.limits import judge_limits, limits_are_numbers
from rbdyn_ros.description.motions import judge_motion
from rbdyn_ros.description.passive import judge_loop_joint
from rbdyn_ros.description.types import IN_PLACE, Joint, Vec3
from rbdyn_ros.description.values import are_finite, judge_finite, judge_pose, judge_sign

DEFAULT_AXIS = (1.0, 0.0, 0.0)
ZERO_AXIS = 1e-6  # a shorter axis is a slip of the author, not a direction
UNIT_AXIS = 1e-9  # a larger deviation from unit length is worth a note
SQUARE_AXES = 1e-6  # a larger cosine between two axes is more than a rounding error
ROUNDING = 1e-15  # what is within it is in normal form already
_FORCES = ("damping", "friction", "stiffness", "armature")
_JOINT_FIELDS = tuple(field.name for field in fields(Joint))


def judge_type(
    joint_type: str, owner: str, line: int | None, audit: Audit, types: Collection[str]
) -> bool:
    """Return whether a joint type is one of ``types``; if not, add an error."""
    if isinstance(joint_type, str) and joint_type in types:
        return True
    shown = str(joint_type)
    allowed = ", ".join(types)
    hint = audit.hint(shown, types)
    message = f"the type {quote(shown)} is unknown{hint}; allowed are {allowed}"
    audit.error("unknown-joint-type", owner, line, message, found=shown, allowed=allowed)
    return False


def judge_numbers(joint: Joint, types: Collection[str], audit: Audit) -> bool:
    """Return whether the joint's type and numbers are usable at all."""
    owner, line = f"joint {quote(joint.name)}", joint.line
    sound = judge_type(joint.type, owner, line, audit, types)
    sound &= judge_pose("origin", joint.origin, owner, line, audit)
    sound &= judge_finite("axis", joint.axis, 3, owner, line, audit)
    forces = (joint.damping, joint.friction, joint.stiffness, joint.armature)
    if not are_finite(forces, 4):
        sound = False
        for what, value in zip(_FORCES, forces, strict=True):
            judge_finite(what, (value,), 1, owner, line, audit)
    if joint.child_origin is not IN_PLACE:
        sound &= judge_pose("child origin", joint.child_origin, owner, line, audit)
    if joint.axis2 is not None:
        sound &= judge_finite("second axis", joint.axis2, 3, owner, line, audit)
    if joint.rest:
        sound &= judge_finite("rest position", joint.rest, len(joint.rest), owner, line, audit)
    if joint.mimic is not None:
        factors = (joint.mimic.ratio, joint.mimic.offset)
        sound &= judge_finite("mimic ratio and offset", factors, 2, owner, line, audit)
    parameters: object = joint.parameters
    if not isinstance(parameters, Mapping):
        message = f"the parameters are {told(parameters)}, not a mapping of names to numbers"
        audit.error("bad-parameters", owner, line, message)
        sound = False
    return sound & limits_are_numbers(joint, owner, audit)


def judge_joint(joint: Joint, bounded: bool, audit: Audit) -> Joint:
    """Judge a joint whose type and numbers are usable; return it in normal form.

    Args:
        joint: passed by judge_numbers.
        bounded: whether joints that URDF wants to have limits must have them.
        audit: receives the findings.
    """
    spec = JOINT_SPECS[joint.type]
    owner = f"joint {quote(joint.name)}"
    if joint.parameters or spec.parameters:
        _judge_parameters(joint, spec, owner, audit)
    if joint.closes_loop:
        joint = judge_loop_joint(joint, audit)
    if joint.motion is not None:
        joint = judge_motion(joint, spec, owner, audit)
    if joint.type == "fixed":
        return _judge_fixed(joint, owner, audit)
    for what in _FORCES:
        judge_sign(what, getattr(joint, what), owner, joint.line, audit)
    _judge_rest(joint, spec, owner, audit)
    axis, axis2 = _judge_axes(joint, spec, owner, audit)
    bounded = bounded and joint.motion is None and not joint.closes_loop
    limit, limits = judge_limits(joint, spec, bounded, owner, audit)
    return _changed(joint, axis=axis, axis2=axis2, limit=limit, limits=limits)


def _changed(joint: Joint, **judged: Any) -> Joint:
    """A copy costs time, so it is only made of a joint that did not come in normal form."""
    changes = {name: new for name, new in judged.items() if new is not getattr(joint, name)}
    return replace(joint, **changes) if changes else joint


def _judge_fixed(joint: Joint, owner: str, audit: Audit) -> Joint:
    passive = ("limits", "stiffness", "rest", "armature")
    ignored = [what for what in passive if getattr(joint, what)]
    if joint.axis2 is not None:
        ignored.insert(0, "axis2")
    if ignored:
        found = ", ".join(ignored)
        message = f"a fixed joint does not move, so these mean nothing and are ignored: {found}"
        audit.add("note", "fixed-joint", owner, joint.line, message, found=found)
    if not ignored and joint.limit is None and joint.axis == DEFAULT_AXIS:
        return joint
    return replace(
        joint,
        axis=DEFAULT_AXIS,
        axis2=None,
        limit=None,
        limits=(),
        stiffness=0.0,
        rest=(),
        armature=0.0,
    )


def _judge_parameters(joint: Joint, spec: JointSpec, owner: str, audit: Audit) -> None:
    takes = f"a {joint.type} joint takes {' and '.join(spec.parameters) or 'none'}"
    unknown = [str(name) for name in joint.parameters if name not in spec.parameters]
    for name in unknown:
        # in Python a misspelt field arrives here as well
        hint = audit.hint(name, (*spec.parameters, *_JOINT_FIELDS))
        message = f"the parameter {quote(name)} is unknown{hint}; {takes}"
        audit.error("unknown-parameter", owner, joint.line, message, found=name)
    for name in spec.parameters:
        if name in joint.parameters:
            value = joint.parameters[name]
            finite = judge_finite(name, (value,), 1, owner, joint.line, audit)
            if finite and value == 0.0 and name in spec.nonzero:
                message = f"the {name} is 0; it must not be zero"
                audit.error("zero-parameter", owner, joint.line, message, found="0")
        elif not unknown:
            message = f"has no {name}; {takes}"
            audit.error("missing-parameter", owner, joint.line, message, allowed=name)


def _judge_rest(joint: Joint, spec: JointSpec, owner: str, audit: Audit) -> None:
    if not joint.rest:
        return
    given, count = len(joint.rest), len(spec.coordinates)
    if count == 0:
        message = (
            f"the spring of a {joint.type} joint is at rest at the zero position; "
            "no other rest position can be given"
        )
        audit.error("bad-rest", owner, joint.line, message, found=str(joint.rest))
    elif given != count:
        message = f"the rest position has {given} numbers; a {joint.type} joint takes {count}"
        audit.error("bad-rest", owner, joint.line, message, found=str(joint.rest))
    elif joint.stiffness == 0.0:
        message = "the rest position means nothing, for the stiffness is 0"
        audit.add("note", "rest-ignored", owner, joint.line, message, found=str(joint.rest))


def _judge_axes(
    joint: Joint, spec: JointSpec, owner: str, audit: Audit
) -> tuple[Vec3, Vec3 | None]:
    """Return the axes that the type has, as unit vectors that are perpendicular."""
    first, second = joint.axis, joint.axis2
    needless = [("axis", first)] if spec.axes == 0 and first != DEFAULT_AXIS else []
    needless += [("second axis", second)] if spec.axes < 2 and second is not None else []
    for what, axis in needless:
        message = f"the {what} means nothing for a {joint.type} joint and is ignored"
        audit.add("note", "axis-ignored", owner, joint.line, message, found=str(axis))
    if spec.axes == 0:
        return DEFAULT_AXIS, None
    unit = _judge_axis(first, "axis", joint, owner, audit) or DEFAULT_AXIS
    if spec.axes == 1:
        return unit, None
    if second is None:
        if not spec.optional_axis2:
            message = f"has no second axis (axis2); a {joint.type} joint needs two"
            audit.error("missing-axis2", owner, joint.line, message, allowed="axis2")
        return unit, None
    unit2 = _judge_axis(second, "second axis", joint, owner, audit)
    return unit, None if unit2 is None else _squared(unit, unit2, joint, owner, audit)


def _judge_axis(axis: Vec3, what: str, joint: Joint, owner: str, audit: Audit) -> Vec3 | None:
    """Return a unit vector; None if the axis has no direction, which is an error."""
    line = joint.line
    length = math.hypot(*axis)
    if length < ZERO_AXIS:
        message = f"the {what} is zero; a {joint.type} joint needs a direction"
        audit.error("zero-axis", owner, line, message, found=str(axis), allowed="a direction")
        return None
    if math.isinf(length):  # beyond the largest number, though none of its entries is
        axis = _scaled(axis, 4.0)
        length = math.hypot(*axis)
    if abs(length - 1.0) > UNIT_AXIS:
        message = f"the {what} has length {length:.9g} and was normalised"
        audit.add("note", "axis-normalised", owner, line, message, found=f"{length:.9g}")
    return axis if length == 1.0 else _scaled(axis, length)


def _scaled(axis: Vec3, divisor: float) -> Vec3:
    return (axis[0] / divisor, axis[1] / divisor, axis[2] / divisor)


def _squared(axis: Vec3, axis2: Vec3, joint: Joint, owner: str, audit: Audit) -> Vec3:
    """Return the second axis without what it has of the first."""
    cosine = sum(a * b for a, b in zip(axis, axis2, strict=True))
    if abs(cosine) > SQUARE_AXES:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
        message = f"the axes must be perpendicular; they are {angle:.6g} degrees apart"
        audit.error(
            "axes-not-perpendicular",
            owner,
            joint.line,
            message,
            found=f"{angle:.6g}",
            allowed="90 degrees",
        )
        return axis2
    if abs(cosine) <= ROUNDING:
        return axis2
    x, y, z = (b - cosine * a for a, b in zip(axis, axis2, strict=True))
    return _scaled((x, y, z), math.hypot(x, y, z))

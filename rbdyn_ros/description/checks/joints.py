# SPDX-License-Identifier: Apache-2.0
"""Audit joints one by one: type, numbers, parameters, springs, actuators.

The JointSpec of a type lists the arguments of its joints. axes.py, limits.py and motions.py audit
these.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.checks.axes import DEFAULT_AXIS, audit_axes
from rbdyn_ros.description.checks.limits import audit_limits, limits_are_numbers
from rbdyn_ros.description.checks.motions import audit_motion
from rbdyn_ros.description.checks.values import audit_finite, audit_pose, audit_sign
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.errors import apart, counted, quote, shown

#: Scalar coefficients of a joint, and their quantities.
_FORCES = {
    **dict.fromkeys(("damping", "friction", "stiffness"), "force coefficient"),
    "armature": "armature",
}
_JOINT_FIELDS = tuple(field.name for field in fields(Joint))


def audit_type(joint_type: str, at: Subject, types: Collection[str]) -> bool:
    """Return whether a joint type is one of ``types``; if not, add an error."""
    if isinstance(joint_type, str) and joint_type in types:
        return True
    found = str(joint_type)
    allowed = ", ".join(types)
    hint = at.audit.hint(found, types)
    message = f"the type {quote(found)} is unknown{hint}; allowed are {allowed}"
    at.error("unknown-joint-type", message, found=found, allowed=allowed)
    return False


def audit_joint_numbers(joint: Joint, types: Collection[str], audit: Audit) -> bool:
    """Return whether a joint has a known type and finite numbers; if not, add errors."""
    at = audit.about("joint", joint)
    sound = audit_type(joint.type, at, types)
    sound &= audit_pose("origin", joint.origin, at)
    sound &= audit_finite("axis", joint.axis, 3, "direction", at)
    for what, quantity in _FORCES.items():
        sound &= audit_finite(what, (getattr(joint, what),), 1, quantity, at)
    if joint.child_origin is not IN_PLACE:
        sound &= audit_pose("child origin", joint.child_origin, at)
    if joint.start:
        sound &= _audit_start(joint, at)
    if joint.axis2 is not None:
        sound &= audit_finite("second axis", joint.axis2, 3, "direction", at)
    if joint.rest:
        count = len(joint.rest)
        sound &= audit_finite("rest position", joint.rest, count, "coordinate", at)
    if joint.mimic is not None:
        ratio, offset = joint.mimic.ratio, joint.mimic.offset
        sound &= audit_finite("mimic ratio", (ratio,), 1, "ratio", at)
        sound &= audit_finite("mimic offset", (offset,), 1, "coordinate", at)
    parameters: object = joint.parameters
    if not isinstance(parameters, Mapping):
        message = f"the parameters are {shown(parameters)}, not a mapping of names to numbers"
        at.error("bad-parameters", message)
        sound = False
    sound &= _audit_transmission(joint, at)
    return sound & limits_are_numbers(joint, at)


def _audit_start(joint: Joint, at: Subject) -> bool:
    """Return whether a joint can be at its start position; if not, add an error."""
    given = joint.start
    if joint.type == "floating" and len(given) == 7:
        place = Pose(given[:3], given[3:])
        return audit_pose("start", place, at)
    spec = JOINT_SPECS.get(joint.type)
    count = 7 if joint.type == "floating" else len(spec.coordinates) if spec else 0
    if len(given) != count:
        takes = f"needs {count}" if count else "has no start"
        message = f"the start has {counted(len(given), 'number')}; a {joint.type} joint {takes}"
        at.error("bad-start", message, found=str(given), allowed=str(count))
        return False
    if not audit_finite("start", given, count, "coordinate", at):
        return False
    limits = joint.limits or ((joint.limit,) if joint.limit else ())
    for value, limit in zip(given, limits, strict=False):
        if limit is not None and not limit.lower <= value <= limit.upper:
            found, low, high = apart(value, limit.lower, limit.upper)
            allowed = f"{low} to {high}"
            message = f"the start {found} is outside the limits; allowed is {allowed}"
            at.error("bad-start", message, found=found, allowed=allowed)
            return False
    return True


def audit_joint(joint: Joint, bounded: bool, audit: Audit) -> Joint:
    """Return a joint in normal form; add its errors and notes.

    Args:
        joint: passed by audit_joint_numbers.
        bounded: whether limits are required, as in URDF.
        audit: receives the findings.
    """
    spec = JOINT_SPECS[joint.type]
    at = audit.about("joint", joint)
    if joint.parameters or spec.parameters:
        _audit_parameters(joint, spec, at)
    if joint.motion is not None:
        joint = audit_motion(joint, spec, at)
    if joint.type == "fixed":
        return _audit_fixed(joint, at)
    for what in _FORCES:
        audit_sign(what, getattr(joint, what), at)
    _audit_rest(joint, spec, at)
    _audit_actuator(joint, spec, at)
    axis, axis2 = audit_axes(joint, spec, at)
    bounded = bounded and joint.motion is None and not joint.closes_loop
    limit, limits = audit_limits(joint, spec, bounded, at)
    return _changed(joint, axis=axis, axis2=axis2, limit=limit, limits=limits)


def _changed(joint: Joint, **fields: Any) -> Joint:
    """Return the joint with changes; a joint without changes is not copied, to save time."""
    changes = {name: new for name, new in fields.items() if new is not getattr(joint, name)}
    return replace(joint, **changes) if changes else joint


def _audit_fixed(joint: Joint, at: Subject) -> Joint:
    passive = ("limits", "stiffness", "rest", "armature", "transmission")
    ignored = [what for what in passive if getattr(joint, what)]
    if joint.axis2 is not None:
        ignored.insert(0, "axis2")
    if ignored:
        found = ", ".join(ignored)
        message = f"a fixed joint does not move, so these have no effect: {found}"
        at.note("fixed-joint", message, found=found)
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
        transmission=(),
    )


def _audit_parameters(joint: Joint, spec: JointSpec, at: Subject) -> None:
    takes = f"a {joint.type} joint needs a {' and a '.join(spec.parameters)}"
    takes = takes if spec.parameters else f"a {joint.type} joint has no parameters"
    unknown = [str(name) for name in joint.parameters if name not in spec.parameters]
    for name in unknown:
        # a misspelt field in Python becomes a parameter
        hint = at.audit.hint(name, (*spec.parameters, *_JOINT_FIELDS))
        message = f"the parameter {quote(name)} is unknown{hint}; {takes}"
        at.error("unknown-parameter", message, found=name)
    for name in spec.parameters:
        if name in joint.parameters:
            value = joint.parameters[name]
            finite = audit_finite(name, (value,), 1, "parameter", at)
            if finite and value == 0.0 and name in spec.nonzero:
                message = f"the {name} is 0; it must not be zero"
                at.error("zero-parameter", message, found="0")
        elif not unknown:
            message = f"it has no {name}; {takes}"
            at.error("missing-parameter", message, allowed=name)


def _audit_rest(joint: Joint, spec: JointSpec, at: Subject) -> None:
    if not joint.rest:
        return
    given, count = len(joint.rest), len(spec.coordinates)
    if count == 0:
        message = (
            f"the spring of a {joint.type} joint is always at rest at the zero position; "
            "delete the rest position"
        )
        at.error("bad-rest", message, found=str(joint.rest))
    elif given != count:
        message = (
            f"the rest position has {counted(given, 'number')}; a {joint.type} joint needs {count}"
        )
        at.error("bad-rest", message, found=str(joint.rest))
    elif joint.stiffness == 0.0:
        message = "the rest position has no effect: the stiffness is 0"
        at.note("rest-ignored", message, found=str(joint.rest))


def _audit_transmission(joint: Joint, at: Subject) -> bool:
    """Return whether a transmission consists of spatial forces; if not, add errors."""
    forces: tuple[object, ...] = joint.transmission
    if not all(isinstance(force, tuple) for force in forces):
        allowed = "a spatial force of 6 numbers for each degree of freedom"
        message = f"the transmission is {shown(forces)}, not {allowed}"
        at.error("bad-transmission", message, allowed=allowed)
        return False
    sound = True
    for number, force in enumerate(forces, start=1):
        what = f"force {number} of the transmission"
        sound &= audit_finite(what, force, 6, "direction", at)
    return sound


def _audit_actuator(joint: Joint, spec: JointSpec, at: Subject) -> None:
    """Add an error unless a transmission has one direction for each degree of freedom.

    Args:
        joint: not fixed, its numbers passed by _audit_transmission.
        spec: JointSpec of its type.
        at: the element of the errors.
    """
    forces = joint.transmission
    if not forces:
        return
    if len(forces) != spec.dofs:
        count = counted(len(forces), "force")
        takes = f"{spec.dofs}, one for each degree of freedom"
        message = f"the transmission has {count}; a {joint.type} joint needs {takes}"
        at.error("bad-transmission", message, found=count, allowed=takes)
    for number, force in enumerate(forces, start=1):
        if not any(force):
            message = f"force {number} of the transmission is zero; it must have a direction"
            at.error("bad-transmission", message, found=str(force))

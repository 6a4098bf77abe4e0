"""Judges joints one by one: type, numbers, parameters, springs.

What a joint of one type takes is its JointSpec; axes.py, limits.py, motions.py and actuators.py
judge those four.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.actuators import forces_are_numbers, judge_actuator
from rbdyn_ros.description.checks.axes import DEFAULT_AXIS, judge_axes
from rbdyn_ros.description.checks.limits import judge_limits, limits_are_numbers
from rbdyn_ros.description.checks.motions import judge_motion
from rbdyn_ros.description.checks.passive import judge_loop_joint
from rbdyn_ros.description.checks.values import are_finite, judge_finite, judge_pose, judge_sign
from rbdyn_ros.description.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.types import IN_PLACE, Joint
from rbdyn_ros.errors import quote, shown

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
        message = f"the parameters are {shown(parameters)}, not a mapping of names to numbers"
        audit.error("bad-parameters", owner, line, message)
        sound = False
    sound &= forces_are_numbers(joint, owner, audit)
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
    judge_actuator(joint, spec, owner, audit)
    axis, axis2 = judge_axes(joint, spec, owner, audit)
    bounded = bounded and joint.motion is None and not joint.closes_loop
    limit, limits = judge_limits(joint, spec, bounded, owner, audit)
    return _changed(joint, axis=axis, axis2=axis2, limit=limit, limits=limits)


def _changed(joint: Joint, **judged: Any) -> Joint:
    """A copy costs time, so it is only made of a joint that did not come in normal form."""
    changes = {name: new for name, new in judged.items() if new is not getattr(joint, name)}
    return replace(joint, **changes) if changes else joint


def _judge_fixed(joint: Joint, owner: str, audit: Audit) -> Joint:
    passive = ("limits", "stiffness", "rest", "armature", "transmission")
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
        transmission=(),
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

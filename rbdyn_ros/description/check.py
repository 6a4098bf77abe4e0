"""Judges a Description, wherever it came from: values, names, limits, mimics, topology."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rbdyn_ros.description.audit import Audit, quote, robot_element
from rbdyn_ros.description.mimics import judge_mimics
from rbdyn_ros.description.topology import judge_references, judge_tree
from rbdyn_ros.description.types import (
    AXIS_TYPES,
    JOINT_TYPES,
    Description,
    Joint,
    Limit,
    Link,
    Pose,
)

DEFAULT_AXIS = (1.0, 0.0, 0.0)
LIMITED_TYPES = ("revolute", "prismatic")
ZERO_AXIS = 1e-6  # a shorter axis is a slip of the author, not a direction
UNIT_AXIS = 1e-9  # a larger deviation from unit length is worth a note
INERTIA_ROUNDING = 1e-6  # of the largest principal moment, for values printed with few digits


def check(description: Description, *, strict: bool = True) -> Description:
    """Check a Description and return it in normal form.

    Axes become unit vectors; limits and mimics that mean nothing are left out, each with a
    note in ``findings``.

    Args:
        description: from a reader or built in Python.
        strict: refuse what could be repaired; otherwise repair it and add a warning.

    Returns:
        The normalised Description; its ``findings`` hold warnings and notes.

    Raises:
        DescriptionError: holds every error that was found.
    """
    audit = Audit(strict=strict)
    if not description.name.strip():
        audit.error("missing-name", robot_element(""), None, "has no name", allowed="a name")
    checked = judge(description, audit)
    audit.raise_errors(description.source)
    # what a reader has said already is not said again
    new = [finding for finding in audit.findings if finding not in description.findings]
    audit.findings[:] = [*description.findings, *new]
    return replace(checked, findings=audit.sorted())


def judge(description: Description, audit: Audit) -> Description:
    """Add to ``audit`` what is wrong with a Description; return it in normal form."""
    if not description.links and not audit.partial:
        message = "has no links; the smallest robot is one <link name=.../>"
        audit.error("no-links", robot_element(description.name), None, message)
    _judge_names("link", description.links, audit)
    _judge_names("joint", description.joints, audit)
    _judge_inertias([link for link in description.links if _judge_inertial(link, audit)], audit)
    sound = [joint for joint in description.joints if _judge_numbers(joint, audit)]
    audit.partial |= len(sound) < len(description.joints)
    joints = judge_mimics([_judge_joint(joint, audit) for joint in sound], audit)
    judge_references(description.links, joints, audit)
    judge_tree(description, joints, audit)
    return replace(description, joints=tuple(joints))


def judge_type(joint_type: str, owner: str, line: int | None, audit: Audit) -> bool:
    """Return whether URDF has this joint type; if not, add an error."""
    if joint_type in JOINT_TYPES:
        return True
    hint = audit.hint(joint_type, JOINT_TYPES)
    allowed = ", ".join(JOINT_TYPES)
    message = f"the type {quote(joint_type)} is unknown{hint}; allowed are {allowed}"
    audit.error("unknown-joint-type", owner, line, message, found=joint_type, allowed=allowed)
    return False


def _judge_names(kind: str, parts: Sequence[Link] | Sequence[Joint], audit: Audit) -> None:
    first: dict[str, Link | Joint] = {}
    for part in parts:
        name, line = part.name, part.line
        if not name.strip() or "\0" in name:
            message = f"the name {quote(name)} is empty or holds a NUL character"
            audit.error("missing-name", f"{kind} {quote(name)}", line, message, found=name)
        elif name in first:
            lines = f", on lines {first[name].line} and {line}" if line is not None else ""
            message = f"the name is given to more than one {kind}{lines}; names must be unique"
            audit.error("duplicate-name", f"{kind} {quote(name)}", line, message, found=name)
        else:
            first[name] = part


def _judge_inertial(link: Link, audit: Audit) -> bool:
    """Return whether the link has an inertial whose numbers are usable."""
    inertial = link.inertial
    if inertial is None:
        return False
    owner = f"link {quote(link.name)}"
    finite = _judge_finite("mass", (inertial.mass,), 1, owner, link.line, audit)
    finite &= _judge_finite("inertia", inertial.inertia, 6, owner, link.line, audit)
    finite &= _judge_pose("inertial origin", inertial.origin, owner, link.line, audit)
    if finite and inertial.mass < 0.0:
        message = f"the mass is {inertial.mass:g} kg; it must not be negative"
        audit.error(
            "negative-mass", owner, link.line, message, found=f"{inertial.mass:g}", allowed=">= 0"
        )
    return finite


def _judge_inertias(bodies: Sequence[Link], audit: Audit) -> None:
    """Warn of inertias that no distribution of mass can have."""
    rows = [link.inertial.inertia for link in bodies if link.inertial is not None]
    if not rows:
        return
    ixx, iyy, izz, ixy, ixz, iyz = np.array(rows, dtype=float).T
    matrices = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]).transpose(2, 0, 1)
    scale = np.abs(matrices).max(axis=(1, 2))
    usable = scale > 0.0
    moments = np.zeros((len(rows), 3))
    moments[usable] = np.linalg.eigvalsh(matrices[usable] / scale[usable, None, None])
    slack = INERTIA_ROUNDING * np.abs(moments).max(axis=1)
    negative = moments[:, 0] < -slack
    triangle = moments[:, 0] + moments[:, 1] < moments[:, 2] - slack
    for index in np.flatnonzero(negative | triangle).tolist():
        link = bodies[index]
        values = ", ".join(f"{moment:.3g}" for moment in moments[index] * scale[index])
        why = (
            "one is negative"
            if negative[index]
            else "the largest is more than the sum of the other two"
        )
        message = (
            f"no rigid body has this inertia: its principal moments are {values} kg m^2, and {why}"
        )
        owner = f"link {quote(link.name)}"
        audit.add("warning", "non-physical-inertia", owner, link.line, message, found=values)


def _judge_numbers(joint: Joint, audit: Audit) -> bool:
    """Return whether the joint's type and numbers are usable at all."""
    owner, line = f"joint {quote(joint.name)}", joint.line
    sound = judge_type(joint.type, owner, line, audit)
    sound &= _judge_pose("origin", joint.origin, owner, line, audit)
    sound &= _judge_finite("axis", joint.axis, 3, owner, line, audit)
    sound &= _judge_finite("damping", (joint.damping,), 1, owner, line, audit)
    sound &= _judge_finite("friction", (joint.friction,), 1, owner, line, audit)
    if joint.mimic is not None:
        factors = (joint.mimic.ratio, joint.mimic.offset)
        sound &= _judge_finite("mimic ratio and offset", factors, 2, owner, line, audit)
    if joint.limit is not None:
        limit = joint.limit
        values = (limit.lower, limit.upper, limit.effort, limit.velocity)
        if any(math.isnan(value) for value in values):
            message = f"the limits are {values}; a limit must be a number"
            audit.error("not-finite", owner, line, message, found=str(values), allowed="numbers")
            sound = False
    return sound


def _judge_pose(what: str, pose: Pose, owner: str, line: int | None, audit: Audit) -> bool:
    if not _judge_finite(what, (*pose.pos, *pose.quat), 7, owner, line, audit):
        return False
    length = math.hypot(*pose.quat)
    if abs(length - 1.0) <= 1e-6:
        return True
    message = f"the quaternion of the {what} has length {length:g}; it must be 1"
    audit.error("bad-quaternion", owner, line, message, found=str(pose.quat), allowed="length 1")
    return False


def _judge_finite(
    what: str,
    values: Iterable[float],
    count: int,
    owner: str,
    line: int | None,
    audit: Audit,
) -> bool:
    numbers = tuple(values)
    try:
        if len(numbers) == count and all(map(math.isfinite, numbers)):
            return True
    except (TypeError, OverflowError):  # no numbers, or integers beyond the largest float
        pass
    shown = str(numbers[0] if count == 1 and numbers else numbers)
    allowed = "a finite number" if count == 1 else f"{count} finite numbers"
    message = f"the {what} is {shown}, not {allowed}"
    audit.error("not-finite", owner, line, message, found=shown, allowed=allowed)
    return False


def _judge_joint(joint: Joint, audit: Audit) -> Joint:
    if joint.type == "fixed":
        if joint.limit is None and joint.axis == DEFAULT_AXIS:
            return joint
        return replace(joint, limit=None, axis=DEFAULT_AXIS)
    owner = f"joint {quote(joint.name)}"
    for what, value in (("damping", joint.damping), ("friction", joint.friction)):
        if value < 0.0:
            message = f"the {what} is {value:g}; it must not be negative"
            audit.error(
                f"negative-{what}", owner, joint.line, message, found=f"{value:g}", allowed=">= 0"
            )
    axis = _judge_axis(joint, owner, audit)
    limit = _judge_limit(joint, owner, audit)
    if axis is joint.axis and limit is joint.limit:
        return joint
    return replace(joint, axis=axis, limit=limit)


def _judge_axis(joint: Joint, owner: str, audit: Audit) -> tuple[float, float, float]:
    axis = joint.axis
    if joint.type not in AXIS_TYPES:
        if axis != DEFAULT_AXIS:
            message = f"the axis means nothing for a {joint.type} joint and is ignored"
            audit.add("note", "axis-ignored", owner, joint.line, message, found=str(axis))
        return DEFAULT_AXIS
    length = math.hypot(*axis)
    if length < ZERO_AXIS:
        message = f"the axis is zero; a {joint.type} joint needs a direction"
        audit.error(
            "zero-axis", owner, joint.line, message, found=str(axis), allowed="a direction"
        )
        return DEFAULT_AXIS
    if abs(length - 1.0) > UNIT_AXIS:
        message = f"the axis has length {length:.9g} and was normalised"
        audit.add("note", "axis-normalised", owner, joint.line, message, found=f"{length:.9g}")
    if length == 1.0:
        return axis
    return (axis[0] / length, axis[1] / length, axis[2] / length)


def _judge_limit(joint: Joint, owner: str, audit: Audit) -> Limit | None:
    limit = joint.limit
    if limit is None:
        if joint.type not in LIMITED_TYPES:
            return None
        repaired = "taken as unlimited"
        message = f"a {joint.type} joint must have a <limit>"
        if joint.type == "revolute":
            message += "; one that turns without end is 'continuous'"
        allowed = "<limit lower=... upper=... effort=... velocity=.../>"
        audit.repair("missing-limit", owner, joint.line, message, repaired, allowed=allowed)
        return Limit()
    _judge_strength(limit, joint, owner, audit)
    if joint.type in LIMITED_TYPES:
        _judge_range(limit, joint, owner, audit)
        return limit
    if joint.type in ("floating", "planar"):
        message = f"the limits mean nothing for a {joint.type} joint and are ignored"
        audit.add("note", "limit-ignored", owner, joint.line, message)
        return None
    if limit.lower == -math.inf and limit.upper == math.inf:
        return limit
    bounds = f"{limit.lower:g} to {limit.upper:g}"
    message = f"the position limits {bounds} are ignored: a continuous joint turns without end"
    audit.add("note", "limit-ignored", owner, joint.line, message, found=bounds)
    return replace(limit, lower=-math.inf, upper=math.inf)


def _judge_strength(limit: Limit, joint: Joint, owner: str, audit: Audit) -> None:
    for what, value in (("effort", limit.effort), ("velocity", limit.velocity)):
        found = f"{value:g}"
        if value < 0.0:
            message = f"the {what} limit is {found}; it must not be negative"
            audit.error(
                f"negative-{what}", owner, joint.line, message, found=found, allowed=">= 0"
            )
        elif value == 0.0:
            message = f"the {what} limit is 0, so a controller cannot move this joint"
            audit.add("warning", f"zero-{what}", owner, joint.line, message, found=found)


def _judge_range(limit: Limit, joint: Joint, owner: str, audit: Audit) -> None:
    lower, upper = limit.lower, limit.upper
    found = f"{lower:g} to {upper:g}"
    if lower > upper or lower == math.inf or upper == -math.inf:
        message = f"the lower limit {lower:g} is above the upper limit {upper:g}"
        audit.error(
            "limit-order", owner, joint.line, message, found=found, allowed="lower <= upper"
        )
    elif lower == upper:
        message = f"the limits {found} leave no room to move"
        audit.add("warning", "locked-joint", owner, joint.line, message, found=found)

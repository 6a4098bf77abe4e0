# SPDX-License-Identifier: Apache-2.0
"""Audit springs and constraints between bodies: lengths, gears, rolling."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.checks.axes import unit_vector
from rbdyn_ros.description.checks.connectivity import audit_links
from rbdyn_ros.description.checks.values import audit_finite, audit_not_negative, audit_positive
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import (
    Constraint,
    Description,
    Gear,
    GearTerm,
    Joint,
    Length,
    Roll,
    Spring,
)
from rbdyn_ros.errors import counted, listing, quote, shown

#: Numbers of a spring, and their quantities.
_NUMBERS = {"stiffness": "force coefficient", "damping": "force coefficient", "length": "position"}


def audit_springs(description: Description, bodies: Mapping[str, str], audit: Audit) -> None:
    """Add an error for every spring with invalid numbers or ends.

    Args:
        description: for its springs.
        bodies: the rigid body of each link, from audit_topology.
        audit: receives the errors.
    """
    for spring in description.springs:
        at = audit.about("spring", spring)
        _audit_spring(spring, at)
        links = (spring.link1, spring.link2)
        if not audit_links(links, bodies, at):
            continue
        if bodies[spring.link1] == bodies[spring.link2]:
            ends = f"the links {quote(spring.link1)} and {quote(spring.link2)}"
            message = f"{ends} are one rigid body, so the spring has no effect"
            if spring.link1 == spring.link2:
                message = f"both its ends are on the link {quote(spring.link1)}"
            at.error("spring-ends", message)


def _audit_spring(spring: Spring, at: Subject) -> None:
    for number, point in enumerate((spring.point1, spring.point2), start=1):
        audit_finite(f"point {number}", point, 3, "position", at)
    for what, quantity in _NUMBERS.items():
        audit_not_negative(what, getattr(spring, what), quantity, at)


def audit_constraints(
    description: Description, joints: Sequence[Joint], bodies: Mapping[str, str], audit: Audit
) -> tuple[Constraint, ...]:
    """Return the constraints between bodies in normal form; add errors.

    Args:
        description: for its constraints.
        joints: the joints without errors.
        bodies: the rigid body of each link, from audit_topology.
        audit: receives the findings.
    """
    for constraint in description.constraints:
        if isinstance(constraint, Length):
            _audit_length(constraint, bodies, audit)
    # the first of duplicate joints is used
    by_name = {joint.name: joint for joint in reversed(joints)}
    for gear in (one for one in description.constraints if isinstance(one, Gear)):
        _audit_gear(gear, by_name, audit)
    return tuple(
        _audit_roll(constraint, bodies, audit) if isinstance(constraint, Roll) else constraint
        for constraint in description.constraints
    )


def audit_loop_names(description: Description, audit: Audit) -> None:
    """Add an error for every constraint with the name of a joint that closes a loop."""
    loops = {joint.name for joint in description.joints if joint.closes_loop}
    for constraint in description.constraints:
        if constraint.name in loops:
            message = "a joint that closes a loop has the same name; names must be unique"
            audit.about("constraint", constraint).error(
                "duplicate-name", message, found=constraint.name
            )


def _audit_length(line: Length, bodies: Mapping[str, str], audit: Audit) -> None:
    at, count = audit.about("constraint", line), len(line.links)
    sound = audit_links(line.links, bodies, at)
    for number, point in enumerate(line.points, start=1):
        audit_finite(f"point {number}", point, 3, "position", at)
    audit_positive("length", line.length, "size", at)
    least, kind = (3, "closed") if line.closed else (2, "open")
    if len(line.points) != count:
        message = (
            f"it has {counted(count, 'link')} and {counted(len(line.points), 'point')}; it "
            "needs one point per link"
        )
        at.error("bad-points", message, allowed="one point per link")
    elif count < least:
        points = counted(count, "point")
        message = f"it has {points}; a line that is {kind} needs at least {least}"
        at.error("bad-points", message, allowed=f"{least} points or more")
    elif sound:
        _audit_corners(line, bodies, at)


def _audit_corners(line: Length, bodies: Mapping[str, str], at: Subject) -> None:
    """Add an error for neighbouring points on one rigid body."""
    count = len(line.links)
    for k in range(count if line.closed else count - 1):
        number, other = k, (k + 1) % count
        one, two = line.links[number], line.links[other]
        if bodies[one] == bodies[two]:
            where = f"both on the link {quote(one)}"
            if one != two:
                where = f"on the links {quote(one)} and {quote(two)}, which are one rigid body"
            points = f"points {number + 1} and {other + 1}"
            message = f"{points} are {where}; their distance cannot change"
            at.error("one-body", message, found=points)


def _audit_gear(gear: Gear, joints: Mapping[str, Joint], audit: Audit) -> None:
    at, count = audit.about("constraint", gear), len(gear.terms)
    audit_finite("offset", (gear.offset,), 1, "coordinate", at)
    if count < 2:
        terms = counted(count, "term")
        message = f"it has {terms}; a gear needs at least 2"
        at.error("bad-terms", message, found=terms, allowed="2 or more")
    seen: set[tuple[str, int]] = set()
    for term in gear.terms:
        _audit_term(term, joints, at)
        place = (term.joint, int(term.coordinate))
        if place in seen:
            coordinate = f"coordinate {shown(place[1])} of the joint {quote(place[0])}"
            message = f"{coordinate} is in more than one term; add up their factors"
            at.error("bad-terms", message, found=place[0])
        seen.add(place)


def _audit_term(term: GearTerm, joints: Mapping[str, Joint], at: Subject) -> None:
    named = quote(term.joint)
    finite = audit_finite(f"factor of {named}", (term.factor,), 1, "factor", at)
    if finite and term.factor == 0.0:
        message = f"the factor of {named} is 0; it must not be zero"
        at.error("zero-factor", message, found="0")
    joint = joints.get(term.joint)
    if joint is None:
        if not at.audit.partial:  # a missing name may belong to a joint that could not be read
            names = sorted(joints)
            message = f"there is no joint {named}{at.audit.hint(term.joint, names)}"
            known = listing(names)
            at.error("unknown-joint", message, found=term.joint, allowed=known)
        return
    count = len(JOINT_SPECS[joint.type].coordinates)
    if joint.type == "fixed":
        message = f"the joint {named} is fixed and does not move"
    elif count == 0:
        message = f"the joint {named} is {joint.type} and has coordinates that cannot be added"
    elif not 0 <= term.coordinate < count:
        has = f"{count}, numbered 0 to {count - 1}" if count > 1 else "one, number 0"
        message = f"the joint {named} has no coordinate {shown(term.coordinate)}; it has {has}"
    else:
        return
    at.error("bad-terms", message, found=term.joint)


def _audit_roll(roll: Roll, bodies: Mapping[str, str], audit: Audit) -> Roll:
    at = audit.about("constraint", roll)
    known = audit_links((roll.link, roll.on), bodies, at)
    if known and bodies[roll.link] == bodies[roll.on]:
        ends = f"the links {quote(roll.link)} and {quote(roll.on)}"
        message = f"{ends} are one rigid body, so neither can roll on the other"
        if roll.link == roll.on:
            message = f"the link {quote(roll.link)} cannot roll on itself"
        at.error("one-body", message, found=roll.link)
    audit_positive("radius", roll.radius, "size", at)
    audit_finite("centre", roll.centre, 3, "position", at)
    audit_finite("point", roll.point, 3, "position", at)
    axis, normal = roll.axis, roll.normal
    if axis is not None and audit_finite("axis", axis, 3, "direction", at):
        axis = unit_vector("axis", axis, "a disk", at)
    if audit_finite("normal", normal, 3, "direction", at):
        normal = unit_vector("normal", normal, "a plane", at) or normal
    if axis is roll.axis and normal is roll.normal:
        return roll
    return replace(roll, axis=axis, normal=normal)

# SPDX-License-Identifier: Apache-2.0
"""Check a Description from any reader or builder; audit_description lists all audits."""

from collections.abc import Collection
from dataclasses import replace

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.description.checks.constraints import (
    audit_constraints,
    audit_loop_names,
    audit_springs,
)
from rbdyn_ros.description.checks.geometries import audit_geometries
from rbdyn_ros.description.checks.inertials import audit_inertials
from rbdyn_ros.description.checks.joints import audit_joint, audit_joint_numbers
from rbdyn_ros.description.checks.kinds import audit_kinds
from rbdyn_ros.description.checks.loops import cut_loops
from rbdyn_ros.description.checks.mimics import audit_mimic_limits, audit_mimics
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.checks.topology import audit_references, audit_topology
from rbdyn_ros.description.checks.values import audit_finite
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import quote


def check(description: Description, *, strict: bool = True) -> Description:
    """Check a Description and return it in normal form.

    Axes become unit vectors, two of them exactly perpendicular. Properties that a joint cannot
    use, such as the limits of a fixed joint, are left out, each with a note in ``findings``.
    Loops are cut where no joint loses a property; a note says where.

    Args:
        description: from a reader or built in Python.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.

    Returns:
        The normalised Description; its ``findings`` hold warnings and notes.

    Raises:
        DescriptionError: with all errors.
    """
    audit = Audit(strict=strict)
    checked = audit_built(description, audit)
    source: object = description.source
    audit.raise_errors(source if isinstance(source, str) else "")
    # do not repeat the findings of the reader
    new = [finding for finding in audit.findings if finding not in description.findings]
    audit.findings[:] = [*description.findings, *new]
    return replace(checked, findings=audit.sorted())


def audit_built(description: Description, audit: Audit) -> Description:
    """Audit a Description built in Python: the types of its fields first, then the values.

    Args:
        description: not checked yet.
        audit: receives the findings.

    Returns:
        The description in normal form; unchanged if a field has the wrong type.
    """
    if not audit_kinds(description, audit):
        return description
    if not description.name.strip():
        audit.error("missing-name", robot_element(""), None, "it has no name", allowed="a name")
    return audit_description(description, audit)


def _audit_roots(description: Description, audit: Audit) -> None:
    """Add an error for every object and robot of a scene without a valid root link."""
    floating = {joint.child for joint in description.joints if joint.type == "floating"}
    links = {link.name for link in description.links}
    objects = ("bad-object", "object", "is not the child link of a floating joint")
    robots = ("bad-robot", "robot", "of the scene is not a link")
    for names, allowed, (code, kind, fault) in (
        (description.objects, floating, objects),
        (description.robots, links, robots),
    ):
        for name in names if not audit.partial else ():
            if name not in allowed:
                where = f"{kind} {quote(name)}"
                audit.error(code, where, None, f"the {where} {fault}", found=name)


def audit_description(
    description: Description, audit: Audit, types: Collection[str] = JOINT_SPECS
) -> Description:
    """Return a Description in normal form; add its errors to the audit.

    Args:
        description: from a reader; elements with errors may be missing.
        audit: receives the findings.
        types: joint types of the file format.
    """
    robot = Subject(audit, robot_element(description.name))
    if not description.links and not audit.partial:
        robot.error("no-links", "it has no links; the smallest robot is one <link name=.../>")
    if description.gravity is not None:
        audit_finite("gravity", description.gravity, 3, "gravity", robot)
    audit_names("link", description.links, audit)
    audit_names("joint", description.joints, audit)
    audit_names("spring", description.springs, audit)
    audit_names("constraint", description.constraints, audit)
    audit_names("geometry", description.geometries, audit)
    audit_names("obstacle", description.obstacles, audit)
    audit_inertials(description.links, audit)
    sound = [joint for joint in description.joints if audit_joint_numbers(joint, types, audit)]
    audit.partial |= len(sound) < len(description.joints)
    # a description without a base is from a URDF, which requires limits
    bounded = not description.base
    joints = [audit_joint(joint, bounded, audit) for joint in sound]
    joints = audit_mimics(joints, types, audit)
    audit_mimic_limits(joints, audit)
    audit_references(description.links, joints, audit)
    bodies = audit_topology(description, joints, audit)
    _audit_roots(description, audit)
    audit_springs(description, bodies, audit)
    audit_geometries(description, bodies, audit)
    constraints = audit_constraints(description, joints, bodies, audit)
    checked = replace(description, joints=tuple(joints), constraints=constraints)
    if not audit.partial and not audit.errors:
        checked = cut_loops(checked, audit)
    audit_loop_names(checked, audit)
    return checked

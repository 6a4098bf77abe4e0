"""Judges a Description, wherever it came from; what is judged where is listed in `judge`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rbdyn_ros.checks.audit import Audit, robot_element
from rbdyn_ros.description.checks.constraints import audit_constraints, audit_springs
from rbdyn_ros.description.checks.geometries import audit_geometries
from rbdyn_ros.description.checks.inertials import audit_inertials
from rbdyn_ros.description.checks.joints import audit_joint, audit_joint_numbers
from rbdyn_ros.description.checks.kinds import audit_kinds
from rbdyn_ros.description.checks.mimics import audit_mimic_limits, audit_mimics
from rbdyn_ros.description.checks.names import audit_names
from rbdyn_ros.description.checks.topology import audit_references, audit_topology
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.types import Description


def check(description: Description, *, strict: bool = True) -> Description:
    """Check a Description and return it in normal form.

    Axes become unit vectors, two of them exactly perpendicular; limits, mimics and whatever else
    means nothing for a joint are left out, each with a note in ``findings``.

    Args:
        description: from a reader or built in Python.
        strict: refuse what could be repaired; otherwise repair it and add a warning.

    Returns:
        The normalised Description; its ``findings`` hold warnings and notes.

    Raises:
        DescriptionError: holds every error that was found.
    """
    audit = Audit(strict=strict)
    checked = audit_built(description, audit)
    source: object = description.source
    audit.raise_errors(source if isinstance(source, str) else "")
    # what a reader has said already is not said again
    new = [finding for finding in audit.findings if finding not in description.findings]
    audit.findings[:] = [*description.findings, *new]
    return replace(checked, findings=audit.sorted())


def audit_built(description: Description, audit: Audit) -> Description:
    """Judge what was built in Python: kinds first, for nothing else can be said of a wrong one.

    Args:
        description: of which nothing is known.
        audit: receives the findings.

    Returns:
        The description in normal form; as it was given if its kinds are wrong.
    """
    if not audit_kinds(description, audit):
        return description
    if not description.name.strip():
        audit.error("missing-name", robot_element(""), None, "has no name", allowed="a name")
    return audit_description(description, audit)


def audit_description(
    description: Description, audit: Audit, types: Collection[str] = JOINT_SPECS
) -> Description:
    """Add to ``audit`` what is wrong with a Description; return it in normal form.

    Args:
        description: from a reader, maybe without what the reader had to leave out.
        audit: receives the findings.
        types: the joint types that the format of the description knows.
    """
    if not description.links and not audit.partial:
        message = "has no links; the smallest robot is one <link name=.../>"
        audit.error("no-links", robot_element(description.name), None, message)
    audit_names("link", description.links, audit)
    audit_names("joint", description.joints, audit)
    audit_names("spring", description.springs, audit)
    audit_names("constraint", description.constraints, audit)
    audit_names("geometry", description.geometries, audit)
    audit_names("obstacle", description.obstacles, audit)
    audit_inertials(description.links, audit)
    sound = [joint for joint in description.joints if audit_joint_numbers(joint, types, audit)]
    audit.partial |= len(sound) < len(description.joints)
    bounded = not description.base  # URDF demands limits, a mechanism may turn without end
    joints = [audit_joint(joint, bounded, audit) for joint in sound]
    joints = audit_mimics(joints, types, audit)
    audit_mimic_limits(joints, audit)
    audit_references(description.links, joints, audit)
    bodies = audit_topology(description, joints, audit)
    audit_springs(description, bodies, audit)
    audit_geometries(description, bodies, audit)
    constraints = audit_constraints(description, joints, bodies, audit)
    return replace(description, joints=tuple(joints), constraints=constraints)

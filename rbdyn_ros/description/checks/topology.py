# SPDX-License-Identifier: Apache-2.0
"""Audit how joints connect links: one tree, or a graph if the description names a base."""

from collections.abc import Mapping, Sequence

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.description.checks.connectivity import RigidBodies, audit_base, audit_rigid
from rbdyn_ros.description.checks.mimics import chain
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.errors import listing, quote


def audit_references(links: Sequence[Link], joints: Sequence[Joint], audit: Audit) -> None:
    """Add an error for every joint whose parent or child link does not exist."""
    known = {link.name for link in links}
    if all(joint.parent in known and joint.child in known for joint in joints):
        return
    names = sorted(known)
    for joint in joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                audit.partial = True
                hint = audit.hint(name, names)
                message = f"its {role} link {quote(name)} does not exist{hint}"
                at = audit.about("joint", joint)
                at.error("unknown-link", message, found=name, allowed=listing(names))


def audit_topology(
    description: Description, joints: Sequence[Joint], audit: Audit
) -> Mapping[str, str]:
    """Add an error unless links and joints form a tree, or a graph connected to a base.

    Args:
        description: for its links, its name and its base.
        joints: the joints without errors.
        audit: receives the errors.

    Returns:
        The link that represents the rigid body of each link.
    """
    _audit_self_loops(joints, audit)
    carrying = [joint for joint in joints if not joint.closes_loop]
    moving: list[Joint] = [joint for joint in joints if joint.closes_loop]
    doubled: list[Joint] = []
    bodies = RigidBodies(link.name for link in description.links)
    for joint in carrying:
        if joint.type != "fixed":
            moving.append(joint)
        elif not bodies.merge(joint):
            doubled.append(joint)
    if description.base:
        audit_base(description, joints, audit)
        audit_rigid([*doubled, *moving], bodies, audit)
    else:
        audit_tree(description, carrying, audit)
        audit_rigid([joint for joint in joints if joint.closes_loop], bodies, audit)
    return {link.name: bodies.find(link.name) for link in description.links}


def _audit_self_loops(joints: Sequence[Joint], audit: Audit) -> None:
    for joint in joints:
        if joint.parent == joint.child:
            message = f"it connects the link {quote(joint.child)} to itself"
            at = audit.about("joint", joint)
            at.error("self-loop", message, found=joint.child)


def audit_tree(description: Description, joints: Sequence[Joint], audit: Audit) -> None:
    """Add an error for every link with two parents, every cycle, and several roots.

    Args:
        description: for its links and its name.
        joints: the joints without errors.
        audit: receives the errors; several roots are reported only if no joint is missing.
    """
    parent_joint: dict[str, Joint] = {}
    for joint in joints:
        if joint.parent == joint.child:
            continue
        if joint.child in parent_joint:
            _two_parents(parent_joint[joint.child], joint, audit)
        else:
            parent_joint[joint.child] = joint
    links = list(dict.fromkeys(link.name for link in description.links))
    _audit_cycles(links, parent_joint, audit)
    hung = {joint.child for joint in joints}
    roots = [name for name in links if name not in hung]
    if len(roots) > 1 and not audit.partial:
        _several_roots(description, roots, audit)


def _two_parents(first: Joint, second: Joint, audit: Audit) -> None:
    def described(joint: Joint) -> str:
        place = f", line {joint.line}" if joint.line is not None else ""
        return f"{quote(joint.parent)} (joint {quote(joint.name)}{place})"

    message = (
        f"it has two parents, {described(first)} and {described(second)}; URDF robots are trees; "
        "describe a closed loop by a <loop_joint> or in a mechanism file"
    )
    at = Subject(audit, f"link {quote(second.child)}", second.line)
    at.error("two-parents", message, found=second.parent)


def _audit_cycles(links: Sequence[str], parent_joint: dict[str, Joint], audit: Audit) -> None:
    done: set[str] = set()
    for start in links:
        path: dict[str, int] = {}
        name = start
        while name in parent_joint and name not in done and name not in path:
            path[name] = len(path)
            name = parent_joint[name].parent
        if name in path:
            upwards = list(path)[path[name] :]
            around = [name, *reversed(upwards)]  # in the order from parent to child
            joint = parent_joint[name]
            message = f"it is on a cycle: {chain(around)}; delete one of its joints"
            at = Subject(audit, f"link {quote(name)}", joint.line)
            at.error("cycle", message, found=chain(around))
        done.update(path)


def _several_roots(description: Description, roots: Sequence[str], audit: Audit) -> None:
    lines = {link.name: link.line for link in description.links}
    message = (
        f"the links {listing(roots)} have no parent; a robot has exactly one such root: "
        "connect the others to it"
    )
    at = Subject(audit, robot_element(description.name), lines[roots[1]])
    at.error("several-roots", message, found=listing(roots))

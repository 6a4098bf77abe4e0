"""Judges which joint follows which, and whether it keeps its limits in doing so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.types import Joint, Limit, Mimic
from rbdyn_ros.errors import quote

REACH = 1e-6  # of a radian or metre: what rounded numbers in a file leave between two limits


def audit_mimics(joints: Sequence[Joint], types: Collection[str], audit: Audit) -> list[Joint]:
    """Return the joints without the mimics that mean nothing; add an error for broken ones.

    Chains are legal: a joint may follow one that follows another.

    Args:
        joints: of types that are known.
        types: the joint types that the format of the description knows; those of one
            coordinate can follow and be followed.
        audit: receives the findings.
    """
    if all(joint.mimic is None for joint in joints):
        return list(joints)
    by_name = {joint.name: joint for joint in reversed(joints)}  # of duplicates the first
    names = [joint.name for joint in joints]
    single = [name for name in types if len(JOINT_SPECS[name].coordinates) == 1]
    judged = [
        joint if joint.mimic is None else _judge(joint, joint.mimic, by_name, names, single, audit)
        for joint in joints
    ]
    _audit_loops(judged, audit)
    return judged


def _judge(
    joint: Joint,
    mimic: Mimic,
    by_name: dict[str, Joint],
    names: Sequence[str],
    single: Sequence[str],
    audit: Audit,
) -> Joint:
    allowed = ", ".join(single)
    owner, line, target = f"joint {quote(joint.name)}", joint.line, mimic.joint
    without = replace(joint, mimic=None)
    if joint.type == "fixed":
        message = f"a fixed joint cannot follow {quote(target)}; its <mimic> is ignored"
        audit.add("note", "mimic-ignored", owner, line, message, found=target)
        return without
    if joint.type not in single:
        message = f"a {joint.type} joint cannot follow another"
        audit.error("mimic-type", owner, line, message, found=joint.type, allowed=allowed)
        return without
    if joint.closes_loop:
        message = "a loop joint has no coordinate of its own and cannot follow another"
        audit.error("mimic-loop-joint", owner, line, message, found=target)
        return without
    if target == joint.name:
        audit.error("mimic-self", owner, line, "follows itself", found=target)
        return without
    if target not in by_name:
        if not audit.partial:
            hint = audit.hint(target, names)
            message = f"follows the joint {quote(target)}, which does not exist{hint}"
            repaired = "taken as an ordinary joint"
            audit.repair("mimic-unknown", owner, line, message, repaired, found=target)
        return without
    followed = by_name[target]
    if followed.type not in single:
        code = "mimic-fixed" if followed.type == "fixed" else "mimic-type"
        what = f"follows the joint {quote(target)}, which is {followed.type}"
        message = f"{what}; it must be one of {allowed}"
        audit.error(code, owner, line, message, found=target, allowed=allowed)
        return without
    if followed.closes_loop:
        message = f"follows the joint {quote(target)}, which closes a loop and has no coordinate"
        audit.error("mimic-loop-joint", owner, line, message, found=target)
        return without
    return joint


def _audit_loops(joints: Sequence[Joint], audit: Audit) -> None:
    follows = {joint.name: joint.mimic.joint for joint in joints if joint.mimic is not None}
    lines = {joint.name: joint.line for joint in joints}
    done: set[str] = set()
    for start in follows:
        path: dict[str, int] = {}
        name = start
        while name in follows and name not in done and name not in path:
            path[name] = len(path)
            name = follows[name]
        if name in path:
            loop = [*list(path)[path[name] :], name]
            message = f"follows itself by way of others: {chain(loop)}"
            owner = f"joint {quote(name)}"
            audit.error("mimic-loop", owner, lines[name], message, found=chain(loop))
        done.update(path)


def chain(names: Sequence[str], most: int = 8) -> str:
    """Write a path as ``'a' -> 'b' -> 'a'``; a long one is cut in the middle."""
    if len(names) <= most:
        return " -> ".join(quote(name) for name in names)
    half = most // 2
    head, tail = names[:half], names[-half:]
    return f"{chain(head)} -> ... -> {chain(tail)} ({len(names) - 1} steps)"


def audit_mimic_limits(joints: Sequence[Joint], audit: Audit) -> None:
    """Add a warning for every joint that follows another out of its own limits.

    A joint that follows has no freedom that a limit could act on; only the limits of the joint at
    the end of the chain are there to hold both.

    Args:
        joints: passed by audit_mimics.
        audit: receives notes and warnings; with errors in it a chain may have no end.
    """
    if audit.errors or all(joint.mimic is None for joint in joints):
        return
    by_name = {joint.name: joint for joint in joints}
    leads: dict[str, _Lead] = {}
    for joint in joints:
        lead = _lead(joint, by_name, leads)
        if joint.mimic is None:
            continue
        if joint.mimic.ratio == 0.0:
            message = f"the ratio is 0, so it stands still at its offset {joint.mimic.offset:g}"
            owner = f"joint {quote(joint.name)}"
            audit.add("note", "mimic-still", owner, joint.line, message, found="0")
        if lead.joint.motion is None:  # else it is not for a limit to say where it goes
            _audit_reach(joint, lead, audit)


class _Lead(NamedTuple):
    """A joint moves as q = ratio * q_joint + offset, and that one follows no other."""

    joint: Joint
    ratio: float
    offset: float


def _lead(joint: Joint, by_name: Mapping[str, Joint], leads: dict[str, _Lead]) -> _Lead:
    """Return what leads a joint; `leads` keeps what was found, for chains may be long."""
    followers: list[Joint] = []
    while joint.mimic is not None and joint.name not in leads:
        followers.append(joint)
        joint = by_name[joint.mimic.joint]
    lead = leads.setdefault(joint.name, _Lead(joint, 1.0, 0.0))
    for follower in reversed(followers):
        if (mimic := follower.mimic) is not None:
            ratio, offset = mimic.ratio * lead.ratio, mimic.ratio * lead.offset + mimic.offset
            lead = leads[follower.name] = _Lead(lead.joint, ratio, offset)
    return lead


def _audit_reach(joint: Joint, lead: _Lead, audit: Audit) -> None:
    own, others = joint.limit or Limit(), lead.joint.limit or Limit()
    owner, bounds = f"joint {quote(joint.name)}", f"{own.lower:g} to {own.upper:g}"
    if lead.ratio == 0.0:
        if not own.lower - REACH <= lead.offset <= own.upper + REACH:
            message = f"it stands still at {lead.offset:g}, outside its limits {bounds}"
            audit.add("warning", "mimic-limits", owner, joint.line, message, found=bounds)
        return
    low, high = sorted(lead.ratio * x + lead.offset for x in (others.lower, others.upper))
    if own.lower - REACH <= low and high <= own.upper + REACH:
        return
    low, high = sorted((x - lead.offset) / lead.ratio for x in (own.lower, own.upper))
    low, high = max(low, others.lower), min(high, others.upper)
    named = quote(lead.joint.name)
    both = f"both keep theirs while {named} is from {low:g} to {high:g}"
    if abs(high - low) <= REACH:
        both = f"both keep theirs only while {named} is at {low:g}"
    elif low > high:
        both = f"no position of {named} keeps the limits of both"
    message = f"follows {named} out of its own limits {bounds}, which are not enforced; {both}"
    audit.add("warning", "mimic-limits", owner, joint.line, message, found=bounds)

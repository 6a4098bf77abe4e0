# SPDX-License-Identifier: Apache-2.0
"""Audit mimic joints: their leaders, and whether they keep their own limits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.values import audit_finite
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Joint, Limit, Mimic
from rbdyn_ros.errors import apart, quote

REACH = 1e-6  # [rad or m] tolerance for limits that were rounded in a file


def audit_mimics(joints: Sequence[Joint], types: Collection[str], audit: Audit) -> list[Joint]:
    """Drop mimics without effect, add errors for invalid mimics, and return the joints.

    Chains are legal: the leader of a mimic joint may be a mimic joint.

    Args:
        joints: joints of known types.
        types: joint types of the file format; mimic joints and leaders have one coordinate.
        audit: receives the findings.
    """
    if all(joint.mimic is None for joint in joints):
        return list(joints)
    # the first of duplicate joints is used
    by_name = {joint.name: joint for joint in reversed(joints)}
    names = [joint.name for joint in joints]
    single = [name for name in types if len(JOINT_SPECS[name].coordinates) == 1]
    audited = [
        joint
        if joint.mimic is None
        else _audit_mimic(joint, joint.mimic, by_name, names, single, audit)
        for joint in joints
    ]
    _audit_loops(audited, audit)
    return audited


def _audit_mimic(
    joint: Joint,
    mimic: Mimic,
    by_name: dict[str, Joint],
    names: Sequence[str],
    single: Sequence[str],
    audit: Audit,
) -> Joint:
    allowed = ", ".join(single)
    at, target = audit.about("joint", joint), mimic.joint
    without = replace(joint, mimic=None)
    if joint.type == "fixed":
        message = f"a fixed joint cannot mimic {quote(target)}; its mimic is ignored"
        at.note("mimic-ignored", message, found=target)
        return without
    if joint.type not in single:
        message = f"a {joint.type} joint cannot mimic another"
        at.error("mimic-type", message, found=joint.type, allowed=allowed)
        return without
    if target == joint.name:
        at.error("mimic-self", "it mimics itself", found=target)
        return without
    if target not in by_name:
        if not audit.partial:
            hint = audit.hint(target, names)
            message = f"it mimics the joint {quote(target)}, which does not exist{hint}"
            repaired = "taken as an ordinary joint"
            at.repair("mimic-unknown", message, repaired, found=target)
        return without
    leader = by_name[target]
    if leader.type not in single:
        code = "mimic-fixed" if leader.type == "fixed" else "mimic-type"
        what = f"it mimics the joint {quote(target)}, which is {leader.type}"
        at.error(code, f"{what}; a leader must be one of {allowed}", found=target, allowed=allowed)
        return without
    return joint


def _audit_loops(joints: Sequence[Joint], audit: Audit) -> None:
    leaders = {joint.name: joint.mimic.joint for joint in joints if joint.mimic is not None}
    by_name = {joint.name: joint for joint in joints}
    done: set[str] = set()
    for start in leaders:
        path: dict[str, int] = {}
        name = start
        while name in leaders and name not in done and name not in path:
            path[name] = len(path)
            name = leaders[name]
        if name in path:
            loop = [*list(path)[path[name] :], name]
            message = f"it mimics itself through other joints: {chain(loop)}"
            audit.about("joint", by_name[name]).error("mimic-loop", message, found=chain(loop))
        done.update(path)


def chain(names: Sequence[str], most: int = 8) -> str:
    """Return a path as ``'a' -> 'b' -> 'a'``; a long path is cut in the middle."""
    if len(names) <= most:
        return " -> ".join(quote(name) for name in names)
    half = most // 2
    head, tail = names[:half], names[-half:]
    return f"{chain(head)} -> ... -> {chain(tail)} ({len(names) - 1} steps)"


def audit_mimic_limits(joints: Sequence[Joint], audit: Audit) -> None:
    """Add a warning for every mimic joint that can leave its own limits.

    A mimic joint has no degree of freedom that a limit could act on; only the limits of its
    leader, at the end of the chain, are enforced.

    Args:
        joints: passed by audit_mimics.
        audit: receives notes and warnings; if it has errors, nothing is added, because a chain may
            be endless.
    """
    if audit.errors or all(joint.mimic is None for joint in joints):
        return
    by_name = {joint.name: joint for joint in joints}
    leads: dict[str, _Lead] = {}
    for joint in joints:
        lead = _lead(joint, by_name, leads)
        if joint.mimic is None or not _audit_product(joint, lead, audit):
            continue
        if joint.mimic.ratio == 0.0:
            message = f"the ratio is 0, so it stays at its offset {joint.mimic.offset:g}"
            at = audit.about("joint", joint)
            at.note("mimic-still", message, found="0")
        if lead.joint.motion is None:  # a prescribed motion has no limits
            _audit_reach(joint, lead, audit)


def _audit_product(joint: Joint, lead: "_Lead", audit: Audit) -> bool:
    """Return whether the ratio and offset of a chain of mimic joints are in range."""
    at = audit.about("joint", joint)
    to = f"to {quote(lead.joint.name)}"
    return audit_finite(f"ratio {to}", (lead.ratio,), 1, "ratio", at) and (
        audit_finite(f"offset {to}", (lead.offset,), 1, "coordinate", at)
    )


class _Lead(NamedTuple):
    """The leader of a joint, not a mimic joint itself: q = ratio * q_leader + offset."""

    joint: Joint
    ratio: float
    offset: float


def _lead(joint: Joint, by_name: Mapping[str, Joint], leads: dict[str, _Lead]) -> _Lead:
    """Return the leader of a joint; `leads` caches the leaders, because chains can be long."""
    mimics: list[Joint] = []
    while joint.mimic is not None and joint.name not in leads:
        mimics.append(joint)
        joint = by_name[joint.mimic.joint]
    lead = leads.setdefault(joint.name, _Lead(joint, 1.0, 0.0))
    for joint_ in reversed(mimics):
        if (mimic := joint_.mimic) is not None:
            ratio, offset = mimic.ratio * lead.ratio, mimic.ratio * lead.offset + mimic.offset
            lead = leads[joint_.name] = _Lead(lead.joint, ratio, offset)
    return lead


def _audit_reach(joint: Joint, lead: _Lead, audit: Audit) -> None:
    own, others = joint.limit or Limit(), lead.joint.limit or Limit()
    at, bounds = audit.about("joint", joint), f"{own.lower:g} to {own.upper:g}"
    if lead.ratio == 0.0:
        if not own.lower - REACH <= lead.offset <= own.upper + REACH:
            place, low_text, high_text = apart(lead.offset, own.lower, own.upper)
            bounds = f"{low_text} to {high_text}"
            message = f"it stays at {place}, outside its limits {bounds}"
            at.warn("mimic-limits", message, found=bounds)
        return
    low, high = sorted(lead.ratio * x + lead.offset for x in (others.lower, others.upper))
    if own.lower - REACH <= low and high <= own.upper + REACH:
        return
    low, high = sorted((x - lead.offset) / lead.ratio for x in (own.lower, own.upper))
    low, high = max(low, others.lower), min(high, others.upper)
    named = quote(lead.joint.name)
    both = f"both joints are within their limits while {named} is from {low:g} to {high:g}"
    if abs(high - low) <= REACH:
        both = f"both joints are within their limits only while {named} is at {low:g}"
    elif low > high:
        both = f"no position of {named} is within the limits of both"
    message = f"it mimics {named} beyond its own limits {bounds}, which are not enforced; {both}"
    at.warn("mimic-limits", message, found=bounds)

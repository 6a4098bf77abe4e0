# SPDX-License-Identifier: Apache-2.0
"""Audit whether links and joints form one connected graph, and find its rigid bodies."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from rbdyn_ros.checks.audit import Audit, Subject, robot_element
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.errors import listing, quote


class RigidBodies:
    """Sets of links that fixed joints connect rigidly: a union-find forest over link names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def find(self, name: str) -> str:
        """Return the link that represents the rigid body of a link."""
        above = self._above
        while (parent := above.setdefault(name, name)) != name:
            above[name] = name = above[parent]
        return name

    def merge(self, joint: Joint) -> bool:
        """Merge the bodies at the ends of a fixed joint; return False if they were one body."""
        one, other = self.find(joint.parent), self.find(joint.child)
        self._above[other] = one
        return one != other

    def join_one(self, joint: Joint) -> bool:
        """Return whether both ends of a joint are on one rigid body."""
        return self.find(joint.parent) == self.find(joint.child)


def audit_links(names: Iterable[str], known: Collection[str], at: Subject) -> bool:
    """Return whether all links of these names are known; if not, add errors."""
    unknown = [name for name in names if name not in known]
    for name in unknown:
        allowed = sorted(known)
        message = f"the link {quote(name)} does not exist{at.audit.hint(name, allowed)}"
        at.error("unknown-link", message, found=name, allowed=listing(allowed))
    return not unknown


def audit_rigid(joints: Sequence[Joint], bodies: RigidBodies, audit: Audit) -> None:
    """Add an error for every joint whose ends are two links of one rigid body."""
    for joint in joints:
        if joint.parent != joint.child and bodies.join_one(joint):
            cure = "delete one of these joints" if joint.type == "fixed" else "it could not move"
            message = (
                f"it connects the links {quote(joint.parent)} and {quote(joint.child)}, which "
                f"fixed joints already connect rigidly; {cure}"
            )
            at = audit.about("joint", joint)
            at.error("one-body", message, found=bodies.find(joint.child))


def audit_base(description: Description, joints: Sequence[Joint], audit: Audit) -> None:
    """Add an error for an unknown base, and for links that no joints connect to it.

    Args:
        description: for its links, its name and its base.
        joints: the joints without errors.
        audit: receives the errors; unconnected links are reported only if no joint is missing.
    """
    at, base = Subject(audit, robot_element(description.name)), str(description.base)
    names = list(dict.fromkeys(link.name for link in description.links))
    if base not in names:
        if audit.partial:  # the base may be a link that could not be read
            return
        hint = audit.hint(base, names)
        message = f"its base link {quote(base)} does not exist{hint}"
        at.error("unknown-base", message, found=base, allowed=listing(names))
        return
    reached = _reached(base, joints)
    missed = [name for name in names if name not in reached]
    if not missed or audit.partial:
        return
    links = "the links {} are" if len(missed) > 1 else "the link {} is"
    message = f"{links.format(listing(missed))} not connected to the base {quote(base)} by joints"
    loop = next((j for j in joints if (j.parent in reached) != (j.child in reached)), None)
    if loop is not None:
        message += f"; the joint {quote(loop.name)} reaches it, but it only closes a loop"
    line = next(link.line for link in description.links if link.name == missed[0])
    Subject(audit, at.owner, line).error("disconnected", message, found=listing(missed))


def links_on_base(description: Description) -> set[str]:
    """Return the base and the links that fixed joints connect to it, even in a broken graph."""
    children = {joint.child for joint in description.joints}
    roots = (link.name for link in description.links if link.name not in children)
    base = description.base or next(roots, "")
    return _reached(base, [joint for joint in description.joints if joint.type == "fixed"])


def _reached(base: str, joints: Sequence[Joint]) -> set[str]:
    """Return the links connected to the base by joints of the tree, in either direction."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for joint in joints:
        if not joint.closes_loop:
            neighbours[joint.parent].append(joint.child)
            neighbours[joint.child].append(joint.parent)
    reached, waiting = {base}, [base]
    while waiting:
        fresh = [name for name in neighbours[waiting.pop()] if name not in reached]
        reached.update(fresh)
        waiting.extend(fresh)
    return reached

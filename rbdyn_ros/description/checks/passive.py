"""Leaves out of a joint what means something only where it has a freedom of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.types import Joint
from rbdyn_ros.errors import quote

#: Fields of Joint, and what stands in them where they say nothing.
_UNSAID: dict[str, Any] = {
    "limit": None,
    "limits": (),
    "damping": 0.0,
    "friction": 0.0,
    "stiffness": 0.0,
    "rest": (),
    "armature": 0.0,
    "actuated": True,
    "transmission": (),
}
_PASSIVE = tuple(_UNSAID)[:-2]


def audit_loop_joint(joint: Joint, audit: Audit) -> Joint:
    """Return a joint that closes a loop without what the Model has no place for.

    Its mimic is left to mimics.py; that it is not actuated goes without saying.
    """
    owner, why = f"joint {quote(joint.name)}", "closes a loop and has no coordinate of its own"
    if joint.motion is not None:
        message = f"{why} that could be driven over time; let another joint close the loop"
        audit.error("motion-loop-joint", owner, joint.line, message)
        joint = replace(joint, motion=None)
    return _without((*_PASSIVE, "transmission"), joint, "loop-joint", why, owner, audit)


def without_forces(joint: Joint, owner: str, audit: Audit) -> Joint:
    """Return a joint that is driven over time without what would act on a freedom of its own.

    It keeps its transmission: a force is needed to drive it.
    """
    why = "is driven over time"
    return _without((*_PASSIVE, "actuated"), joint, "driven", why, owner, audit)


def _without(
    names: Sequence[str], joint: Joint, code: str, why: str, owner: str, audit: Audit
) -> Joint:
    """Return a joint without the fields of these names; a note tells those that said something."""
    ignored = [name for name in names if bool(getattr(joint, name)) != bool(_UNSAID[name])]
    if not ignored:
        return joint
    found = ", ".join(ignored)
    message = f"{why}, so these mean nothing and are ignored: {found}"
    audit.add("note", code, owner, joint.line, message, found=found)
    return replace(joint, **{name: _UNSAID[name] for name in ignored})

"""Leaves out of a joint what means something only where it has a freedom of its own."""

from __future__ import annotations

from dataclasses import replace

from rbdyn_ros.description.audit import Audit, quote
from rbdyn_ros.description.types import Joint

_PASSIVE = ("limit", "limits", "damping", "friction", "stiffness", "rest", "armature")


def judge_loop_joint(joint: Joint, audit: Audit) -> Joint:
    """Return a joint that closes a loop without what the Model has no place for.

    Its mimic is left to mimics.py.
    """
    owner, why = f"joint {quote(joint.name)}", "closes a loop and has no coordinate of its own"
    if joint.motion is not None:
        message = f"{why} that could be driven over time; let another joint close the loop"
        audit.error("motion-loop-joint", owner, joint.line, message)
        joint = replace(joint, motion=None)
    return without_passive(joint, "loop-joint", why, owner, audit)


def without_passive(joint: Joint, code: str, why: str, owner: str, audit: Audit) -> Joint:
    """Return a joint without its limits and passive forces; a note tells those that it had.

    Args:
        joint: passed by judge_numbers.
        code: of the note.
        why: they mean nothing for it.
        owner: how findings call the joint.
        audit: receives the note.
    """
    ignored = [name for name in _PASSIVE if getattr(joint, name)]
    if not ignored:
        return joint
    found = ", ".join(ignored)
    message = f"{why}, so these mean nothing and are ignored: {found}"
    audit.add("note", code, owner, joint.line, message, found=found)
    return replace(
        joint,
        limit=None,
        limits=(),
        damping=0.0,
        friction=0.0,
        stiffness=0.0,
        rest=(),
        armature=0.0,
    )

# SPDX-License-Identifier: Apache-2.0
"""Remove joint properties that have no effect without a degree of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.errors import listing, quote

#: Fields of Joint and their default values.
_DEFAULTS: dict[str, Any] = {
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
_PASSIVE = tuple(_DEFAULTS)[:-2]


def audit_loop_joint(joint: Joint, audit: Audit) -> Joint:
    """Return a joint that closes a loop, without the properties that have no effect.

    mimics.py audits its mimic.
    """
    owner, why = f"joint {quote(joint.name)}", "closes a loop and has no coordinate of its own"
    if joint.motion is not None:
        message = f"{why} that could be prescribed; let another joint close the loop"
        audit.error("motion-loop-joint", owner, joint.line, message)
        joint = replace(joint, motion=None)
    return _without((*_PASSIVE, "transmission"), joint, "loop-joint", why, owner, audit)


def audit_chord(joint: Joint, loop: Sequence[str], audit: Audit) -> Joint:
    """Return a joint that the spanning tree left out, without properties that have no effect.

    Which joint is left out follows from the order of the joints, so the author may not know: a
    property that is lost is an error, repaired to a warning.

    Args:
        joint: it closes a loop, but the description does not say so.
        loop: names of the other joints of that loop.
        audit: receives the findings.
    """
    owner, ignored = f"joint {quote(joint.name)}", _set(_PASSIVE, joint)
    if ignored:
        found, others = ", ".join(ignored), listing(loop)
        message = (
            f"closes a loop with {others}, so its {found} would have no effect; declare the joint "
            "of this loop that has no such property with `loop` (section `loops` of a file)"
        )
        repaired = f"ignored: {found}"
        audit.repair("lost-properties", owner, joint.line, message, repaired, found=found)
        joint = replace(joint, **{name: _DEFAULTS[name] for name in ignored})
    return audit_loop_joint(joint, audit)


def without_forces(joint: Joint, owner: str, audit: Audit) -> Joint:
    """Return a joint with a prescribed motion, without the properties that have no effect.

    It keeps its transmission: the motion needs a force.
    """
    why = "has a prescribed motion"
    return _without((*_PASSIVE, "actuated"), joint, "driven", why, owner, audit)


def _without(
    names: Sequence[str], joint: Joint, code: str, why: str, owner: str, audit: Audit
) -> Joint:
    """Return a joint with default values in these fields; a note lists the ones that changed."""
    ignored = _set(names, joint)
    if not ignored:
        return joint
    found = ", ".join(ignored)
    message = f"{why}; ignored: {found}"
    audit.add("note", code, owner, joint.line, message, found=found)
    return replace(joint, **{name: _DEFAULTS[name] for name in ignored})


def _set(names: Sequence[str], joint: Joint) -> list[str]:
    """Return the fields that have another value than their default."""
    return [name for name in names if bool(getattr(joint, name)) != bool(_DEFAULTS[name])]

"""Why the simulation of a robot stopped, in words."""

from __future__ import annotations

from rbdyn_ros.errors import quote
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model


def has_locked_drive(m: Model, joint: int) -> bool:
    """Return whether a joint with a fault is one whose drive locked.

    The position of such a joint is a function of time, so its state cannot diverge.
    """
    return joint >= 0 and bool(m.jnt_class[joint] == JointClass.DRIVEN)


def stop_reason(name: str, locked: bool) -> str:
    """Return the reason of a fault at a joint."""
    if locked:
        return f"the drive of joint {quote(name)} is locked: its closed loop cannot follow it"
    return f"the state of joint {quote(name)} diverged"

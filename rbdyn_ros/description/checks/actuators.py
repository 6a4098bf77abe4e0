"""Judges where the force of a joint's actuator acts."""

from __future__ import annotations

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.values import judge_finite
from rbdyn_ros.description.joint_types import JointSpec
from rbdyn_ros.description.types import Joint
from rbdyn_ros.errors import shown


def forces_are_numbers(joint: Joint, owner: str, audit: Audit) -> bool:
    """Return whether a transmission holds spatial forces; if not, add errors."""
    forces: tuple[object, ...] = joint.transmission
    if not all(isinstance(force, tuple) for force in forces):
        allowed = "a spatial force of 6 numbers for each degree of freedom"
        message = f"the transmission is {shown(forces)}, not {allowed}"
        audit.error("bad-transmission", owner, joint.line, message, allowed=allowed)
        return False
    sound = True
    for number, force in enumerate(forces, start=1):
        what = f"force {number} of the transmission"
        sound &= judge_finite(what, force, 6, owner, joint.line, audit)
    return sound


def judge_actuator(joint: Joint, spec: JointSpec, owner: str, audit: Audit) -> None:
    """Add an error if a transmission has not one direction for each degree of freedom.

    Args:
        joint: a joint that moves, its numbers passed by forces_are_numbers.
        spec: of its type.
        owner: how findings call the joint.
        audit: receives the errors.
    """
    forces = joint.transmission
    if not forces:
        return
    if len(forces) != spec.dofs:
        count = f"{len(forces)} force{'s' if len(forces) != 1 else ''}"
        takes = f"{spec.dofs}, one for each degree of freedom"
        message = f"the transmission has {count}; a {joint.type} joint takes {takes}"
        audit.error("bad-transmission", owner, joint.line, message, found=count, allowed=takes)
    for number, force in enumerate(forces, start=1):
        if not any(force):
            message = f"force {number} of the transmission is zero; it must have a direction"
            audit.error("bad-transmission", owner, joint.line, message, found=str(force))

# SPDX-License-Identifier: Apache-2.0
"""The joint table of `rbdyn check`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.description.parts.types import Joint, Limit
from rbdyn_ros.report.words import aligned, finite_or_none


@dataclass(frozen=True, slots=True)
class JointRow:
    """One line of the joint table; infinite limits are None.

    Attributes:
        lower, upper, effort, velocity: limits of a joint with one coordinate.
        acceleration, deceleration, jerk: limits of its planned motions.
        parameters: parameters such as pitch and radius, by name.
        limits: lower and upper limit of each coordinate, if the joint has several coordinates;
            otherwise empty.
        motion: prescribed motion: `sampled`, or the name of a function.
        closes_loop: whether the joint closes a loop, so it is not in the spanning tree.
        not_actuated: whether the joint has no actuator.
    """

    name: str
    type: str
    parent: str
    child: str
    lower: float | None
    upper: float | None
    effort: float | None
    velocity: float | None
    damping: float
    friction: float
    mimic: str
    parameters: dict[str, float]
    limits: tuple[tuple[float | None, float | None], ...]
    stiffness: float
    armature: float
    acceleration: float | None
    deceleration: float | None
    jerk: float | None
    motion: str
    closes_loop: bool
    not_actuated: bool


_ALWAYS = ("name", "type", "parent", "child", "lower", "upper", "effort", "velocity", "damping",
           "friction", "mimic")  # fmt: skip
_WHERE_USED = ("parameters", "limits", "stiffness", "armature", "acceleration",
               "deceleration", "jerk", "motion", "closes_loop", "not_actuated")  # fmt: skip


def joint_row(joint: Joint) -> JointRow:
    """Return the row of a joint."""
    limit, mimic, motion = joint.limit or Limit(), joint.mimic, joint.motion
    return JointRow(
        name=joint.name,
        type=joint.type,
        parent=joint.parent,
        child=joint.child,
        lower=finite_or_none(limit.lower),
        upper=finite_or_none(limit.upper),
        effort=finite_or_none(limit.effort),
        velocity=finite_or_none(limit.velocity),
        damping=joint.damping,
        friction=joint.friction,
        mimic=f"{mimic.ratio:g} {mimic.joint} + {mimic.offset:g}" if mimic else "",
        parameters=dict(joint.parameters),
        limits=tuple(
            (finite_or_none(bound.lower), finite_or_none(bound.upper)) for bound in joint.limits
        ),
        stiffness=joint.stiffness,
        armature=joint.armature,
        acceleration=finite_or_none(limit.acceleration),
        deceleration=finite_or_none(limit.deceleration),
        jerk=finite_or_none(limit.jerk),
        motion=motion if isinstance(motion, str) else "sampled" if motion else "",
        closes_loop=joint.closes_loop,
        not_actuated=not joint.actuated,
    )


def joint_table(rows: Sequence[JointRow]) -> list[str]:
    """Return the table as text; rare properties have a column only if a joint has them."""
    columns = [*_ALWAYS, *(c for c in _WHERE_USED if any(getattr(row, c) for row in rows))]
    cells = [tuple(_cell(getattr(row, column)) for column in columns) for row in rows]
    return aligned([[column.replace("_", " ") for column in columns], *cells])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.5g}" for name, number in value.items())
    if isinstance(value, tuple):
        return ", ".join(f"{_cell(lower)} to {_cell(upper)}" for lower, upper in value)
    return f"{value:.5g}" if isinstance(value, float) else str(value)

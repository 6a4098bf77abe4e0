"""Judges the springs between points of a Description."""

from __future__ import annotations

from collections.abc import Mapping

from rbdyn_ros.description.audit import Audit, listing, quote
from rbdyn_ros.description.types import Description, Spring
from rbdyn_ros.description.values import judge_finite, judge_sign

_NUMBERS = ("stiffness", "damping", "length")


def judge_springs(description: Description, bodies: Mapping[str, str], audit: Audit) -> None:
    """Add an error for every spring with broken numbers or ends.

    Args:
        description: for its springs.
        bodies: for each link the name of the rigid body it belongs to, as judge_topology says.
        audit: receives the errors.
    """
    for spring in description.springs:
        owner = f"spring {quote(spring.name)}"
        _judge_numbers(spring, owner, audit)
        if _judge_ends(spring, bodies, owner, audit):
            ends = f"the links {quote(spring.link1)} and {quote(spring.link2)}"
            message = f"{ends} are one rigid body, so it could not move anything"
            if spring.link1 == spring.link2:
                message = f"both its ends are on the link {quote(spring.link1)}"
            audit.error("spring-ends", owner, spring.line, message)


def _judge_numbers(spring: Spring, owner: str, audit: Audit) -> None:
    for number, point in enumerate((spring.point1, spring.point2), start=1):
        judge_finite(f"point {number}", point, 3, owner, spring.line, audit)
    for what in _NUMBERS:
        value = getattr(spring, what)
        if judge_finite(what, (value,), 1, owner, spring.line, audit):
            judge_sign(what, value, owner, spring.line, audit)


def _judge_ends(spring: Spring, bodies: Mapping[str, str], owner: str, audit: Audit) -> bool:
    """Return whether both ends are on one rigid body; add an error for unknown links."""
    unknown = [name for name in (spring.link1, spring.link2) if name not in bodies]
    for name in unknown:
        names = sorted(bodies)
        message = f"the link {quote(name)} does not exist{audit.hint(name, names)}"
        audit.error(
            "unknown-link", owner, spring.line, message, found=name, allowed=listing(names)
        )
    return not unknown and bodies[spring.link1] == bodies[spring.link2]

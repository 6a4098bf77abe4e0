"""Judges the springs between points of a Description."""

from __future__ import annotations

from collections.abc import Mapping

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.connectivity import judge_links
from rbdyn_ros.description.checks.values import judge_finite, judge_sign
from rbdyn_ros.description.types import Description, Spring
from rbdyn_ros.errors import quote

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
        links = (spring.link1, spring.link2)
        if not judge_links(links, bodies, owner, spring.line, audit):
            continue
        if bodies[spring.link1] == bodies[spring.link2]:
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

# SPDX-License-Identifier: Apache-2.0
"""Change all parts of a Description: rename them, drop their lines, add another Description."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rbdyn_ros.description.parts.sensors import SensorEntry
from rbdyn_ros.description.parts.types import Constraint, Description, Gear, Joint, Length


def root_of(description: Description) -> str:
    """Return the base, or the link without a parent."""
    if description.base:
        return description.base
    children = {joint.child for joint in description.joints}
    return next(link.name for link in description.links if link.name not in children)


def renamed(description: Description, rename: Callable[[str], str]) -> Description:
    """Return a description with other names of links, joints and all other parts.

    Args:
        description: checked.
        rename: returns the new name of an old name.
    """
    return replace(
        description,
        links=tuple(_named(link, rename) for link in description.links),
        joints=tuple(_joint(joint, rename) for joint in description.joints),
        base=rename(description.base) if description.base else "",
        springs=tuple(_named(x, rename, "link1", "link2") for x in description.springs),
        constraints=tuple(_constraint(x, rename) for x in description.constraints),
        geometries=tuple(_named(x, rename, "link") for x in description.geometries),
        obstacles=tuple(_named(x, rename) for x in description.obstacles),
        exclusions=tuple(
            replace(x, first=rename(x.first), second=rename(x.second))
            for x in description.exclusions
        ),
        states=tuple(
            replace(_named(x, rename), positions={rename(j): q for j, q in x.positions.items()})
            for x in description.states
        ),
        objects=tuple(map(rename, description.objects)),
        robots=tuple(map(rename, description.robots)),
        servos=tuple(
            replace(
                _named(x, rename),
                terms=tuple(replace(term, joint=rename(term.joint)) for term in x.terms),
            )
            for x in description.servos
        ),
        sensors=tuple(_sensor(x, rename) for x in description.sensors),
    )


#: The fields of a Description that are parts with a line.
_PARTS = ("links", "joints", "springs", "constraints", "geometries", "obstacles", "exclusions",
          "states", "servos", "sensors")  # fmt: skip


def without_lines(robot: Description) -> Description:
    """Return a description without the line numbers of its own file."""
    plain: dict[str, Any] = {
        name: tuple(replace(part, line=None) for part in getattr(robot, name))
        for name in (*_PARTS, "findings")
    }
    return replace(robot, **plain)


def with_all_of(scene: Description, more: Description) -> Description:
    """Return a scene with all parts of another description."""
    both: dict[str, Any] = {
        name: (*getattr(scene, name), *getattr(more, name)) for name in (*_PARTS, "findings")
    }
    pushes = scene.self_collision and more.self_collision
    return replace(scene, self_collision=pushes, **both)


def _named(part: Any, rename: Callable[[str], str], *more: str) -> Any:
    return replace(part, **{field: rename(getattr(part, field)) for field in ("name", *more)})


def _joint(joint: Joint, rename: Callable[[str], str]) -> Joint:
    other: Joint = _named(joint, rename, "parent", "child")
    if joint.mimic is None:
        return other
    return replace(other, mimic=replace(joint.mimic, joint=rename(joint.mimic.joint)))


def _sensor(sensor: SensorEntry, rename: Callable[[str], str]) -> SensorEntry:
    ends = ("link", "joint", "frame")
    named: dict[str, Any] = {end: rename(name) for end in ends if (name := getattr(sensor, end))}
    excluded = sensor.values.get("exclude", ())
    values = dict(sensor.values)
    if isinstance(excluded, list):
        values["exclude"] = [rename(link) for link in excluded]
    return replace(sensor, name=rename(sensor.name), values=values, **named)


def _constraint(constraint: Constraint, rename: Callable[[str], str]) -> Constraint:
    other: Constraint
    if isinstance(constraint, Length):
        links = tuple(map(rename, constraint.links))
        other = replace(constraint, name=rename(constraint.name), links=links)
    elif isinstance(constraint, Gear):
        terms = tuple(replace(term, joint=rename(term.joint)) for term in constraint.terms)
        other = replace(constraint, name=rename(constraint.name), terms=terms)
    else:
        other = _named(constraint, rename, "link", "on")
    return other

# SPDX-License-Identifier: Apache-2.0
"""Read the properties of a joint for a SystemBuilder."""

from collections.abc import Iterable, Sequence
from typing import Any

from rbdyn_ros.description.build.arguments import number, numbers, vector
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Limit
from rbdyn_ros.errors import not_allowed

Forces = tuple[tuple[float, ...], ...]


def _limit(what: str, value: object) -> Limit | None:
    if value is None or isinstance(value, Limit):
        return value
    allowed = "a Limit or a pair (lower, upper)"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise not_allowed(what, value, allowed)
    if not all(isinstance(bound, int | float) for bound in value):
        raise not_allowed(what, value, allowed)
    return Limit(float(value[0]), float(value[1]))


def _limits(what: str, value: object) -> tuple[Limit, ...]:
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise not_allowed(what, value, "a Limit or a pair (lower, upper) for each coordinate")
    limits = (_limit(what, bounds) for bounds in value)
    return tuple(Limit() if limit is None else limit for limit in limits)


def _rest(what: str, value: object) -> tuple[float, ...]:
    return numbers(what, (value,) if isinstance(value, int | float) else value)


def _start(what: str, value: object) -> tuple[float, ...]:
    if isinstance(value, Pose):
        return (*value.pos, *value.quat)
    return _rest(what, value)


def _transmission(what: str, value: object) -> Forces:
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise not_allowed(what, value, "a spatial force of 6 numbers for each degree of freedom")
    return tuple(numbers(f"a force of {what}", force, 6) for force in value)


def _unchanged(_what: str, value: Any) -> Any:
    return value


#: The reader of each property; other keywords are parameters of the joint type.
FIELDS: dict[str, Any] = {
    "axis": vector,
    "axis2": vector,
    "limit": _limit,
    "limits": _limits,
    "damping": number,
    "friction": number,
    "armature": number,
    "stiffness": number,
    "rest": _rest,
    "motion": _unchanged,
    "closes_loop": _unchanged,
    "actuated": _unchanged,
    "transmission": _transmission,
    "start": _start,
}

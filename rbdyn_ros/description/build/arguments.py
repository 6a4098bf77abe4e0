# SPDX-License-Identifier: Apache-2.0
"""Check arguments of a builder before anything is built; `what` names one in messages."""

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.errors import not_allowed


def number(what: str, value: object) -> float:
    """Return a finite number; raise ParameterError for any other value."""
    return finite(what, value, element="")


def positive(what: str, value: object, quantity: str) -> float:
    """Return a number above 0 in the range of a quantity of BOUNDS, or raise ParameterError."""
    bound = BOUNDS[quantity]
    above = None if bound.low > 0.0 else 0.0
    return finite(what, value, low=bound.low, high=bound.high, above=above, element="")


def numbers(what: str, value: object, count: int | None = None) -> tuple[float, ...]:
    """Return a tuple of finite numbers, `count` of them if given, or raise ParameterError."""
    return tuple(finite(what, value, (count,), element="").tolist())


def vector(what: str, value: object) -> tuple[float, float, float]:
    """Return three finite numbers; raise ParameterError for any other value."""
    x, y, z = numbers(what, value, 3)
    return (x, y, z)


def name(what: str, value: object) -> str:
    """Return a string that is not blank; raise ParameterError for any other value."""
    if not isinstance(value, str) or not value.strip():
        raise not_allowed(what, value, "a string that is not blank")
    return value


def frame(what: str, value: object) -> Pose:
    """Return a Pose; raise ParameterError for any other value."""
    if not isinstance(value, Pose):
        raise not_allowed(what, value, "a Pose")
    return value

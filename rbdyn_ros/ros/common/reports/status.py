# SPDX-License-Identifier: Apache-2.0
"""The status of a part, for /diagnostics; this module does not need ROS."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """Level of a diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a part of a node, published on /diagnostics.

    Attributes:
        name: name of the part, such as loop or arm.
        message: the problem, or the state if there is no problem.
        values: measured values as text, by name.
    """

    name: str
    level: Level
    message: str
    values: dict[str, str]


def texts(values: Mapping[str, object]) -> dict[str, str]:
    """Return values as text; floats have six digits."""
    return {k: f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in values.items()}

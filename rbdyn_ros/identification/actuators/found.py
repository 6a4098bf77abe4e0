# SPDX-License-Identifier: Apache-2.0
"""The identified numbers of one actuator, and messages about missing numbers."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

from rbdyn_ros.actuators.specs import BEND, ActuatorSpec
from rbdyn_ros.errors import quote
from rbdyn_ros.identification.actuators.estimate import Estimate

#: Digits of a number in the actuators file.
DIGITS = 6


@dataclass(slots=True)
class Findings:
    """Knowledge about the actuator of a joint, while it is identified.

    Attributes:
        spec: the actuator; first as known before, then with the numbers that were found.
        found: the identified numbers by the key of the actuators file, such as "lugre.coulomb".
        messages: a sentence for everything that the recording does not show.
        unexplained: RMS of the efforts that the result does not explain, as a part of the RMS of
            all efforts; NaN if nothing was found.
    """

    spec: ActuatorSpec
    found: dict[str, Estimate] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    unexplained: float = math.nan

    def take(self, key: str, estimate: Estimate) -> None:
        """Record a number under its key and put it into the actuator."""
        self.found[key] = estimate
        self.spec = _with_number(self.spec, key, float(f"{estimate.value:.{DIGITS}g}"))

    def lack(self, what: str, reason: str) -> None:
        """Add the message that a quantity is not identifiable."""
        self.say(f"{what} is not identifiable: {reason}")

    def say(self, text: str) -> None:
        """Add a message about the joint."""
        self.messages.append(f"joint {quote(self.spec.joint)}: {text}")


def _with_number(spec: ActuatorSpec, key: str, value: float) -> ActuatorSpec:
    """Return the actuator with a new value of the number that has this key."""
    if key == "motorconst":
        return replace(spec, motorconst=(value, value), motorconst_error=0.0)
    if key.startswith("lugre."):
        return replace(spec, lugre=_lugre(spec, key.removeprefix("lugre."), value))
    changed: dict[str, Any] = {key.removeprefix("elastic."): value}
    return replace(spec, **changed)


def _lugre(spec: ActuatorSpec, key: str, value: float) -> tuple[float, float, float, float, float]:
    """Return the LuGre friction of an actuator, with `value` as its number `key`.

    Set coulomb first, because it resets stiffness, static and stribeck.
    """
    stiffness, damping, coulomb, static, stribeck = spec.lugre
    if key == "coulomb":
        return (value / BEND, damping, value, value, 1.0)
    if key == "static":
        return (value / BEND, damping, coulomb, value, stribeck)
    return (stiffness, damping, coulomb, static, value)

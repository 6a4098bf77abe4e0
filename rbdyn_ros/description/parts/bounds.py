# SPDX-License-Identifier: Apache-2.0
"""The allowed range of every number of a robot file, with its reason.

A product of such numbers must stay far from the largest float, 1.8e308: the inertia of a heaviest
link at the end of a longest arm is 1e30 kg m^2, a determinant of six such inertias 1e180. All real
machines fit, from parts of micrometres to ships and to tethers in space.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rbdyn_ros.checks.audit import Subject
from rbdyn_ros.errors import exactly

#: The code of every finding of a number outside its range.
OUT_OF_RANGE = "out-of-range"


class Bound(NamedTuple):
    """The allowed absolute values of a number; its sign is audited elsewhere.

    Attributes:
        high: the largest absolute value.
        unit: unit of the number; may be empty.
        reason: why no robot needs more.
        low: the smallest absolute value of a number that is not 0.
    """

    high: float
    unit: str
    reason: str
    low: float = 0.0

    @property
    def allowed(self) -> str:
        """The range in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.low > 0.0:
            return f"absolute values from {self.low:g} to {self.high:g}{unit}"
        return f"numbers from {-self.high:g} to {self.high:g}{unit}"


BOUNDS = {
    "mass": Bound(1e12, "kg", "a thousand of the heaviest ships; below a dust grain", 1e-30),
    "inertia": Bound(1e24, "kg m^2", "inertia of the heaviest ship about a point 1e7 m away"),
    "density": Bound(1e9, "kg/m^3", "osmium has 2.3e4; the best vacuum 1e-18", 1e-18),
    "position": Bound(1e9, "m", "beyond the moon; a float still resolves 1e-7 m there"),
    "size": Bound(1e9, "m", "beyond the moon; the parts of MEMS have 1e-7 m", 1e-12),
    "contact length": Bound(1e5, "m", "a float resolves the depth of a contact, 1e-11 m"),
    "contact size": Bound(1e5, "m", "a float resolves the depth of a contact", 1e-12),
    "scale": Bound(1e9, "", "converts nanometres to metres or metres to nanometres", 1e-9),
    "surface velocity": Bound(1e6, "m/s", "no belt is faster than a rocket"),
    "angle": Bound(1e6, "rad", "a float still resolves 1e-10 rad there"),
    "coordinate": Bound(1e9, "rad or m", "the range of a position"),
    "gravity": Bound(1e6, "m/s^2", "the sun has 274; a centrifuge 1e5"),
    "direction": Bound(1e6, "", "only the direction of a vector matters"),
    "force coefficient": Bound(1e12, "in SI units", "a steel beam has 1e9 N/m"),
    "armature": Bound(1e12, "kg m^2 or kg", "the range of a mass; a rotor has 1e-9 kg m^2", 1e-30),
    "actuator": Bound(
        1e9, "in SI units", "a large generator has 1e7 N m; a small winding 1e-7 H", 1e-12
    ),
    "ratio": Bound(1e6, "", "gear trains have 1e4; chains of mimic joints multiply"),
    "factor": Bound(1e6, "", "gear trains have 1e4", 1e-6),
    "parameter": Bound(1e9, "", "a pitch or radius is a length"),
    "limit": Bound(1e18, "(inf: no limit)", "SDF writes 1e16 for no limit"),
    "time": Bound(1e12, "s", "the time of day is 2e9 s"),
    "time step": Bound(1e12, "s", "the fifth power of its inverse must be a float", 1e-9),
    "contact time": Bound(1e6, "s", "its inverse square is a stiffness", 1e-6),
    "friction": Bound(1e6, "", "rubber has 2"),
    "damping ratio": Bound(1e6, "", "critical damping is 1", 1e-9),
    "trial": Bound(1e12, "in SI units", "a large actuator has 1e7; noises are squared", 1e-30),
    "stored": Bound(1e60, "", "sums and products of the numbers of a robot file"),
}


def within(quantity: str, values: Iterable[float]) -> bool:
    """Return whether all numbers are in the range of a quantity."""
    bound = BOUNDS[quantity]
    for value in values:
        size = abs(value)
        if size > bound.high or 0.0 < size < bound.low:
            return False
    return True


def audit_range(what: str, values: Sequence[float], quantity: str, at: Subject) -> bool:
    """Return whether finite numbers are in the range of their quantity; if not, add an error."""
    if within(quantity, values):
        return True
    found, message = _outside(what, values, quantity)
    allowed = BOUNDS[quantity].allowed
    at.error(OUT_OF_RANGE, message, found=found, allowed=allowed)
    return False


def within_or_unlimited(what: str, value: float, at: Subject) -> float:
    """Return a limit; if it is out of range, add an error and return infinity with its sign."""
    if math.isinf(value) or within("limit", (value,)):
        return value
    found, message = _outside(what, (value,), "limit")
    allowed = BOUNDS["limit"].allowed
    at.repair(OUT_OF_RANGE, message, "taken as unlimited", found=found, allowed=allowed)
    return math.copysign(math.inf, value)


def _outside(what: str, values: Sequence[float], quantity: str) -> tuple[str, str]:
    """Return the first number outside the range of a quantity, as text, and the message."""
    found = exactly(next(value for value in values if not within(quantity, (value,))))
    noun = what.partition(" of ")[0]
    is_plural = noun.endswith("s") and not noun.endswith("axis")
    number = "is" if len(values) == 1 else "contain" if is_plural else "contains"
    return found, f"the {what} {number} {found}; allowed are {BOUNDS[quantity].allowed}"

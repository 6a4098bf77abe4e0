"""What a message wants of joints: its numbers are judged, then become a goal for each joint."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rbdyn_ros.errors import quote
from rbdyn_ros.runtime.orders import EFFORT, IMPEDANCE, POSITION, VELOCITY

#: Modes of a joint in words, by their number.
MODES = ("effort", "position", "velocity", "impedance")
#: What a mode cannot do without.
NEEDED = {
    EFFORT: ("effort",),
    POSITION: ("position",),
    VELOCITY: ("velocity",),
    IMPEDANCE: ("stiffness", "damping"),
}
PLURALS = {
    "position": "positions",
    "velocity": "velocities",
    "effort": "efforts",
    "stiffness": "values of stiffness",
    "damping": "values of damping",
}
#: Larger numbers might overflow in the products of a servo. Efforts are only clamped.
LARGEST = 1e100

#: The numbers of a message by their kind, a key of PLURALS.
Arrays = Mapping[str, Sequence[float]]


class Goal(NamedTuple):
    """What a message wants of one joint; units as in runtime.orders.Command."""

    mode: int
    position: float = 0.0
    velocity: float = 0.0
    effort: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0


def goals_of(names: Sequence[str], modes: Iterable[int], arrays: Arrays) -> dict[str, Goal]:
    """Return the goal of each joint; the numbers of an empty array are zero."""
    given = {kind: values for kind, values in arrays.items() if len(values)}
    rows = zip(*given.values(), strict=True)
    return {
        name: Goal(mode, **dict(zip(given, row, strict=True)))
        for name, mode, row in zip(names, modes, rows, strict=True)
    }


def finite(arrays: Arrays, names: Sequence[str]) -> str:
    """Return which number is not finite or absurdly large, or nothing."""
    for kind, values in arrays.items():
        largest = math.inf if kind == "effort" else LARGEST
        for k, value in enumerate(values):
            if math.isfinite(value) and abs(value) <= largest:
                continue
            owner = f"joint {quote(names[k])}" if k < len(names) else f"value {k}"
            if not math.isfinite(value):
                return f"the {kind} of {owner} is {value}; a finite number is needed"
            return f"the {kind} of {owner} is {value:g}; at most {largest:g} is possible"
    return ""


def lengths(arrays: Arrays, names: Sequence[str]) -> str:
    """Return which array is neither empty nor as long as the names, or nothing."""
    for kind, values in arrays.items():
        if len(values) not in (0, len(names)):
            return f"there are {len(values)} {PLURALS[kind]} for {len(names)} names"
    return ""


def judge_modes(names: Sequence[str], modes: Sequence[int], arrays: Arrays) -> str:
    """Return which joint lacks what its mode needs, or nothing."""
    for k, (name, mode) in enumerate(zip(names, modes, strict=True)):
        if mode not in NEEDED:
            known = ", ".join(f"{number} {word}" for number, word in enumerate(MODES))
            return f"joint '{name}' has mode {mode}; the modes are {known}"
        for kind in ("stiffness", "damping"):
            if len(arrays[kind]) and arrays[kind][k] < 0.0:
                return f"the {kind} of joint '{name}' is {arrays[kind][k]:g}; it is not negative"
        needed = NEEDED[mode]
        if mode == IMPEDANCE and len(arrays["stiffness"]) and arrays["stiffness"][k] > 0.0:
            needed += ("position",)
        for kind in needed:
            if not len(arrays[kind]):
                return f"joint '{name}' is in mode {MODES[mode]}, which needs its {kind}"
    return ""

# SPDX-License-Identifier: Apache-2.0
"""The goals of joints in a message: check its numbers, then collect the goal of each joint."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rbdyn_ros.errors import RbdynError, counted, exactly, quote, refusal
from rbdyn_ros.runtime.types import EFFORT, IMPEDANCE, POSITION, VELOCITY

#: Names of the modes of a joint, by number.
MODES = ("effort", "position", "velocity", "impedance")
#: Kinds of numbers that a joint needs in each mode.
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
#: Larger numbers could overflow in the joint's control. Efforts may be larger: they are clamped.
LARGEST = 1e100

#: The numbers of a message by kind; the kinds are the keys of PLURALS.
Arrays = Mapping[str, Sequence[float]]


class Goal(NamedTuple):
    """The goal of one joint in a message; units as in runtime.types.Command."""

    mode: int
    position: float = 0.0
    velocity: float = 0.0
    effort: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0


def goals_of(names: Sequence[str], modes: Iterable[int], arrays: Arrays) -> dict[str, Goal]:
    """Return the goal of each joint by name; an empty array stands for zeros."""
    given = {kind: values for kind, values in arrays.items() if len(values)}
    rows = zip(*given.values(), strict=True)
    return {
        name: Goal(mode, **dict(zip(given, row, strict=True)))
        for name, mode, row in zip(names, modes, rows, strict=True)
    }


def check_numbers(arrays: Arrays, names: Sequence[str], largest: float = LARGEST) -> None:
    """Raise RbdynError if a number is not finite or exceeds `largest`; efforts may exceed it."""
    for kind, values in arrays.items():
        most = math.inf if kind == "effort" else largest
        for k, value in enumerate(values):
            if math.isfinite(value) and abs(value) <= most:
                continue
            raise wrong_number(kind, owner(names, k), value, most)


def owner(names: Sequence[str], k: int) -> str:
    """Return the joint of the k-th number for a message, or "value k" if there are fewer names."""
    return f"joint {quote(names[k])}" if k < len(names) else f"value {k}"


def wrong_number(kind: str, whose: str, value: float, largest: float) -> RbdynError:
    """Return the error about a number that is not finite or exceeds `largest`."""
    allowed = f"at most {exactly(largest)}" if math.isfinite(value) else "a finite number"
    return refusal(f"the {kind} of {whose} is {exactly(value)}; allowed is {allowed}")


def check_lengths(arrays: Arrays, names: Sequence[str]) -> None:
    """Raise RbdynError if an array is neither empty nor as long as the names."""
    for kind, values in arrays.items():
        if len(values) not in (0, len(names)):
            found = counted(len(values), kind, PLURALS[kind])
            raise refusal(f"the message has {found} for {counted(len(names), 'name')}")


def check_modes(names: Sequence[str], modes: Sequence[int], arrays: Arrays) -> None:
    """Raise RbdynError for an unknown mode, a negative gain, or a missing number of a mode."""
    for k, (name, mode) in enumerate(zip(names, modes, strict=True)):
        if mode not in NEEDED:
            known = ", ".join(f"{number} ({word})" for number, word in enumerate(MODES))
            raise refusal(f"joint '{name}' has mode {mode}; allowed is one of {known}")
        for kind in ("stiffness", "damping"):
            if len(arrays[kind]) and arrays[kind][k] < 0.0:
                found = f"the {kind} of joint '{name}' is {arrays[kind][k]:g}"
                raise refusal(f"{found}; allowed is 0 or more")
        needed = NEEDED[mode]
        if mode == IMPEDANCE and len(arrays["stiffness"]) and arrays["stiffness"][k] > 0.0:
            needed += ("position",)
        for kind in needed:
            if not len(arrays[kind]):
                raise refusal(f"joint '{name}' is in mode {MODES[mode]}, which needs its {kind}")

# SPDX-License-Identifier: Apache-2.0
"""Numbers of parts (bodies, joints, frames) by their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.errors import Finding, ModelError, did_you_mean

#: The number of each part of one kind, by its name and by its number. It is a plain dict, because
#: a look-up in a subclass of dict takes twice the time.
PartNumbers = dict[str | int, int]


def part_numbers(names: Sequence[str]) -> PartNumbers:
    """Return the dict of the numbers of parts, given their names in order."""
    numbers: PartNumbers = {name: i for i, name in enumerate(names)}
    return numbers | {i: i for i in range(len(names))}


def number_of(kind: str, numbers: PartNumbers, names: Sequence[str], part: object) -> int:
    """Return the number of a part.

    Unlike a look-up in the dict, this refuses True and 1.0, which equal a number.

    Args:
        kind: kind of the parts, for messages.
        numbers: the numbers of all parts.
        names: the names of all parts.
        part: a name or a number.

    Raises:
        ModelError: the part is unknown; the message contains the nearest name.
    """
    if isinstance(part, str | int | np.integer) and not isinstance(part, bool):
        number = numbers.get(part)  # type: ignore[arg-type]
        if number is not None:
            return number
    hint = f"; allowed is a name, or a number from 0 to {len(names) - 1}"
    if isinstance(part, str):
        hint = did_you_mean(part, names)
    text = f"there is no {kind} {part!r}{hint}"
    raise ModelError(Finding(f"unknown-{kind}", text, "error", str(part), None, str(part)))

# SPDX-License-Identifier: Apache-2.0
"""Format names, numbers and directions for tables, and align the rows of a table."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Row = tuple[str, ...]

LONGEST_NAME = 24


def cut(name: str) -> str:
    """Return a name, cut if it is long."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def numbers(values: Iterable[float]) -> str:
    """Return lengths or angles as text, rounded to 1e-9 of a unit."""
    return " ".join(f"{round(float(value), 9) + 0.0:.4g}" for value in values)


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def direction(axis: NDArray[np.float64]) -> str:
    """Return a unit vector as text: x, y, z, -x, -y or -z if it is along an axis of its frame."""
    for letter, entry in zip("xyz", axis, strict=True):
        if abs(entry) == 1.0:
            return letter if entry > 0.0 else f"-{letter}"
    return " ".join(f"{entry:.3g}" for entry in axis)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return an indented line per row, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]

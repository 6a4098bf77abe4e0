# SPDX-License-Identifier: Apache-2.0
"""Table rows of the benchmarks; rbdyn_ros.measuring.turns does the timing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rbdyn_ros.measuring.turns import median_ratio


def row(label: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return a row of a Markdown table: a label, both medians, and the ratio theirs / ours."""
    a, b = statistics.median(ours), statistics.median(theirs)
    return f"| {label} | {a:.2f} | {b:.2f} | {median_ratio(theirs, ours):.2f} |"

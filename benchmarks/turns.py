"""Timing in turns: A B A B ..., so that a machine that drifts drifts for both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

Job = Callable[[int], None]  # run so many times


def in_turns(jobs: Sequence[Job], seconds: float = 0.02, rounds: int = 15) -> list[list[float]]:
    """Return, per job, the time of one run in each round [us]."""
    counts = [_count_for(job, seconds) for job in jobs]
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, count, row in zip(jobs, counts, times, strict=True):
            start = time.perf_counter()
            job(count)
            row.append((time.perf_counter() - start) / count * 1e6)
    return times


def _count_for(job: Job, seconds: float) -> int:
    job(1)  # compiles, fills caches
    count = 1
    while True:
        start = time.perf_counter()
        job(count)
        spent = time.perf_counter() - start
        if spent > seconds / 2:
            return max(1, int(count * seconds / spent))
        count *= 2


def median_ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median over rounds of theirs / ours: above 1 we are faster."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))


def row(label: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return a line of a Markdown table."""
    a, b = statistics.median(ours), statistics.median(theirs)
    return f"| {label} | {a:.2f} | {b:.2f} | {median_ratio(theirs, ours):.2f} |"

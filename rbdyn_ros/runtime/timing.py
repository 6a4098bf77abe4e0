# SPDX-License-Identifier: Apache-2.0
"""Compute the timing of a loop from its counters: percentiles, real-time factor, overruns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.errors import counted


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """The timing of a loop since its start, or since an earlier Timing.

    Percentiles come from histograms with bins of 1 us, so they are rounded down.

    Attributes:
        ticks: number of control ticks.
        overruns: ticks that ended after their deadline; each restarted the schedule.
        real_time_factor: simulated time divided by wall time without pauses; 0 before the first
            tick.
        p50, p99, worst: median, 99th percentile and maximum of the lateness of wake-ups [us].
        step_p50, step_p99, step_worst: the same for the duration of the work of a tick [us].
        histogram: number of wake-ups by lateness, one entry per microsecond; the last entry has
            all later wake-ups.
        step_histogram: number of ticks by duration of their work, in the same form.
        simulated_ns: simulated time [ns].
        active_ns: wall time without pauses [ns].
    """

    ticks: int
    overruns: int
    real_time_factor: float
    p50: float
    p99: float
    worst: float
    step_p50: float
    step_p99: float
    step_worst: float
    histogram: Ints
    step_histogram: Ints
    simulated_ns: int
    active_ns: int

    @classmethod
    def of(
        cls,
        ticks: int,
        overruns: int,
        period_ns: int,
        active_ns: int,
        lateness: Ints,
        worst_lateness_ns: int,
        work: Ints,
        worst_work_ns: int,
    ) -> Timing:
        """Return the Timing of a loop since its start.

        Args:
            ticks: as in Timing.
            overruns: as in Timing.
            period_ns: simulated time of a tick [ns].
            active_ns: as in Timing.
            lateness: number of wake-ups by lateness [us]; it is copied.
            worst_lateness_ns: largest lateness [ns].
            work: number of ticks by duration of their work [us]; it is copied.
            worst_work_ns: longest duration of the work [ns].
        """
        simulated = int(ticks) * int(period_ns)
        factor = _ratio(simulated, int(active_ns))
        return cls._from(
            int(ticks),
            int(overruns),
            factor,
            np.array(lateness, np.int64),
            np.array(work, np.int64),
            (float(worst_lateness_ns) / 1e3, float(worst_work_ns) / 1e3),
            (simulated, int(active_ns)),
        )

    @classmethod
    def _from(
        cls,
        ticks: int,
        overruns: int,
        factor: float,
        lateness: Ints,
        work: Ints,
        worst: tuple[float, float],
        times: tuple[int, int],
    ) -> Timing:
        return cls(
            ticks,
            overruns,
            factor,
            percentile(lateness, 50),
            percentile(lateness, 99),
            worst[0],
            percentile(work, 50),
            percentile(work, 99),
            worst[1],
            lateness,
            work,
            *times,
        )

    def since(self, before: Timing | None) -> Timing:
        """Return the Timing since an earlier Timing of the same loop.

        Args:
            before: the earlier Timing. If it is None or from before a restart of the loop, return
                the Timing since the start.
        """
        if before is None or self.ticks < before.ticks or self.active_ns < before.active_ns:
            return self
        lateness = self.histogram - before.histogram
        work = self.step_histogram - before.step_histogram
        simulated = self.simulated_ns - before.simulated_ns
        active = self.active_ns - before.active_ns
        factor = _ratio(simulated, active)
        worst = (
            _worst_after(lateness, self.worst, before.worst),
            _worst_after(work, self.step_worst, before.step_worst),
        )
        ticks, overruns = self.ticks - before.ticks, self.overruns - before.overruns
        return self._from(ticks, overruns, factor, lateness, work, worst, (simulated, active))

    def __str__(self) -> str:
        return (
            f"{self.ticks} ticks, real-time factor {self.real_time_factor:.4f}, wake-up "
            f"lateness p50 {self.p50:.0f} us, p99 {self.p99:.0f} us, worst {self.worst:.0f} us, "
            f"step time p50 {self.step_p50:.0f} us, p99 {self.step_p99:.0f} us, worst "
            f"{self.step_worst:.0f} us, {counted(self.overruns, 'overrun')}"
        )


class Window:
    """Computes the Timing since the last report from the Timing since the start."""

    def __init__(self) -> None:
        self._before: Timing | None = None

    def next(self, timing: Timing) -> Timing:
        """Return the Timing since the last call; at the first call: since the start."""
        window = timing.since(self._before)
        self._before = timing
        return window


def percentile(counts: Ints, percent: int) -> float:
    """Return a percentile of a histogram: the first bin whose cumulative share reaches `percent`.

    Args:
        counts: number of values in each bin.
        percent: share of the values [%], 1 to 100.
    """
    total = int(counts.sum())
    rank = -(-total * percent // 100)
    return float(np.searchsorted(np.cumsum(counts), rank)) if total else 0.0


def mean(counts: Ints) -> float:
    """Return the mean of a histogram, in bins, with values at the centres of bins; empty: 0."""
    filled, weights = _filled(counts)
    return float(((filled + 0.5) * weights).sum() / weights.sum()) if len(filled) else 0.0


def deviation(counts: Ints) -> float:
    """Return the standard deviation of a histogram, in bins; 0 if it is empty."""
    filled, weights = _filled(counts)
    squares = (filled + 0.5 - mean(counts)) ** 2 * weights
    return math.sqrt(squares.sum() / weights.sum()) if len(filled) else 0.0


def _filled(counts: Ints) -> tuple[Ints, Ints]:
    """Return the indices of the nonempty bins of a histogram, and their counts."""
    filled: Ints = np.flatnonzero(counts)
    return filled, counts[filled]


def coarse(counts: Ints) -> dict[int, int]:
    """Return a histogram with wider bins, ten per decade, without the empty bins.

    Args:
        counts: number of values in each bin of width 1; the last bin has all larger values.

    Returns:
        The count of each bin by the bin's exclusive upper bound; the bound of the last bin is
        len(counts).
    """
    bounds = sorted(
        {round(10 ** (k / 10)) for k in range(1 + math.ceil(10 * math.log10(len(counts))))}
    )
    bounds = [bound for bound in bounds if bound < len(counts)] + [len(counts)]
    starts = [0, *bounds[:-1]]
    sums = np.add.reduceat(counts, starts).tolist()
    return {bound: count for bound, count in zip(bounds, sums, strict=True) if count}


def _worst_after(counts: Ints, worst: float, before: float) -> float:
    """Return the largest value in a window with the histogram `counts`.

    This is `worst`, the maximum since the start, if it exceeds `before`, the maximum before the
    window; otherwise it is the index of the last bin that is not empty.
    """
    if worst > before:
        return worst
    filled, _ = _filled(counts)
    if len(filled) == 0:
        return 0.0
    last = int(filled[-1])
    return worst if last == len(counts) - 1 else float(last)


def _ratio(simulated_ns: int, active_ns: int) -> float:
    return simulated_ns / active_ns if active_ns > 0 else 0.0

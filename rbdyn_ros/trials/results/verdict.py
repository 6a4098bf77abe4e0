# SPDX-License-Identifier: Apache-2.0
"""The verdict on the runs of a trial: passed, failed or undecided, with confidence intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.trials.simulation.measures import known
from rbdyn_ros.trials.simulation.runs import FINISHED, Run
from rbdyn_ros.trials.trial import Trial

#: Number of resamples of a bootstrap. The mean of more than MOST runs is treated as normally
#: distributed.
RESAMPLES, MOST = 2000, 2000

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"


@dataclass(frozen=True)
class Spread:
    """The values of a measure over all finished runs.

    Attributes:
        mean, low, high: mean and its confidence interval, by bootstrap, or from the normal
            distribution for more than MOST runs. They and the quantiles are None if no run has a
            finite value.
        median, p95: quantiles.
        worst: value farthest beyond the limit, or nearest to it; without a limit, the largest
            value.
        seed: seed of the run with the worst value.
        broken: number of runs beyond the limit.
    """

    mean: float | None
    low: float | None
    high: float | None
    median: float | None
    p95: float | None
    worst: float | None
    seed: int | None
    broken: int


@dataclass(frozen=True, repr=False)
class Verdict:
    """The outcome of a trial.

    Attributes:
        decision: passed, failed or undecided (more runs are needed).
        runs: number of runs with results.
        wanted: number of runs of the trial.
        passes: number of runs within all limits.
        rate: share of runs within all limits.
        low, high: confidence interval of the rate, by Clopper and Pearson.
        statuses: number of runs by status.
        measures: the measures by name.
        failures: for each failed run its seed and the reasons, the worst run first.
    """

    decision: str
    runs: int
    wanted: int
    passes: int
    rate: float
    low: float
    high: float
    statuses: Mapping[str, int]
    measures: Mapping[str, Spread]
    failures: Mapping[int, tuple[str, ...]]

    @property
    def passed(self) -> bool:
        """Return whether the trial has passed and no run is missing."""
        return self.decision == PASSED

    @property
    def partial(self) -> bool:
        """Return whether runs are missing."""
        return self.runs < self.wanted

    def __repr__(self) -> str:
        return f"<Verdict {self}>"

    def __str__(self) -> str:
        """Return the outcome as one sentence."""
        part = f" ({self.runs} of {self.wanted} runs: partial)" if self.partial else ""
        interval = f"{100 * self.low:.4g} to {100 * self.high:.4g} %"
        counted = f"{self.passes} of {self.runs} runs within all limits"
        return f"{self.decision}{part}: {counted}, confidence interval {interval}"


def reasons(trial: Trial, run: Run) -> tuple[str, ...]:
    """Return the reasons why a run failed, or an empty tuple if the run passed."""
    if run.status != FINISHED:
        return (f"{run.status}: {run.why}",)
    found = []
    for name, limit in trial.limits.items():
        value = run.measures.get(name)
        if not limit.holds(value):
            shown = "not finite" if value is None else f"{value:.6g}"
            found.append(f"{name} is {shown}, allowed is {limit}")
    return tuple(found)


def judge(trial: Trial, runs: Sequence[Run]) -> Verdict:
    """Return the verdict of runs, which must be in the order of the trial's seeds."""
    from scipy.stats import binomtest  # imported here, because this import is slow

    broken = {run.seed: reasons(trial, run) for run in runs}
    passes = sum(not why for why in broken.values())
    low, high = 0.0, 1.0
    if runs:
        low, high = binomtest(passes, len(runs)).proportion_ci(trial.rule.confidence, "exact")
    statuses: dict[str, int] = {}
    for run in runs:
        statuses[run.status] = statuses.get(run.status, 0) + 1
    finished = [run for run in runs if run.status == FINISHED]
    names = dict.fromkeys(name for run in finished for name in run.measures)
    spreads = {name: _spread(trial, name, finished) for name in names}
    ordered = sorted(runs, key=lambda run: -_excess(trial, run))
    failures = {run.seed: broken[run.seed] for run in ordered if broken[run.seed]}
    rate = passes / len(runs) if runs else 0.0
    decision = _decision(trial, len(runs), passes, float(low), float(high))
    return Verdict(
        decision, len(runs), trial.runs, passes, rate, float(low), float(high), statuses, spreads,
        failures,
    )  # fmt: skip


def _decision(trial: Trial, count: int, passes: int, low: float, high: float) -> str:
    wanted = trial.rule.pass_rate
    if wanted is None:
        if passes < count:
            return FAILED
        return PASSED if count == trial.runs else UNDECIDED
    if high < wanted:
        return FAILED
    return PASSED if low >= wanted and count == trial.runs else UNDECIDED


def _excess(trial: Trial, run: Run) -> float:
    """Return a run's largest relative distance beyond a limit; infinity if it did not finish."""
    if run.status != FINISHED:
        return np.inf
    return max(
        (_beyond(trial, name, run.measures.get(name)) for name in trial.limits), default=0.0
    )


def _beyond(trial: Trial, name: str, value: float | None) -> float:
    """Return the relative distance of a value beyond a measure's limit, negative within it.

    If there is no limit, return the value itself. If there is no value, return infinity.
    """
    if value is None:
        return np.inf
    limit = trial.limits.get(name)
    if limit is None:
        return value
    sides = [value - limit.high, limit.low - value]
    scales = [abs(limit.high), abs(limit.low)]
    finite = [side / (scale or 1.0) for side, scale in zip(sides, scales, strict=True)
              if np.isfinite(side)]  # fmt: skip
    return max(finite, default=0.0)


def _spread(trial: Trial, name: str, runs: Sequence[Run]) -> Spread:
    own = [run for run in runs if name in run.measures]
    worst = max(own, key=lambda run: _beyond(trial, name, run.measures[name]))
    limit = trial.limits.get(name)
    broken = sum(not limit.holds(run.measures[name]) for run in own) if limit else 0
    values = np.array([x for run in own if (x := run.measures[name]) is not None])
    at_worst = worst.measures[name]
    if not values.size:
        return Spread(None, None, None, None, None, at_worst, worst.seed, broken)
    # measures near the largest float may overflow
    with np.errstate(over="ignore", invalid="ignore"):
        mean, (low, high) = values.mean(), _mean_interval(values, trial.rule.confidence)
        median, p95 = np.quantile(values, (0.5, 0.95))
    return Spread(
        known(mean), known(low), known(high), known(median), known(p95), at_worst, worst.seed,
        broken,
    )  # fmt: skip


def _mean_interval(values: Array, confidence: float) -> tuple[float, float]:
    """Return the confidence interval of the mean; the resamples have a fixed seed."""
    from scipy.stats import bootstrap, norm

    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) == 0.0:
        return mean, mean
    if len(values) > MOST:
        error = float(values.std(ddof=1)) / len(values) ** 0.5
        low, high = norm.interval(confidence, mean, error)
        return float(low), float(high)
    found = bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, batch=100, confidence_level=confidence,
        method="percentile", random_state=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)

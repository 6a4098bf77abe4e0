# SPDX-License-Identifier: Apache-2.0
"""Simulate runs in shards, and return the result of each run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.trials.python_code import blamed
from rbdyn_ros.trials.simulation.measures import Values, known, measures
from rbdyn_ros.trials.simulation.sampling import sample
from rbdyn_ros.trials.simulation.simulated import History, HistoryWatcher, Shard, Watcher
from rbdyn_ros.trials.trial import Trial

#: Number of runs that advance together: they fill vector registers and fit in the cache.
SHARD = 256
#: Largest memory for the states of a shard if user-defined measures need the states [bytes].
HISTORY = 1 << 28

#: Possible outcomes of a run.
FINISHED, DIVERGED, CRASHED, NOT_FINITE = "finished", "diverged", "crashed", "not finite"
TIMEOUT, MEMORY, LOST, MEASURE_FAILED = "timeout", "out of memory", "lost", "measure failed"


@dataclass(frozen=True)
class Run:
    """The result of one run.

    Attributes:
        seed: seed of the run.
        status: how the run ended: finished, diverged, not finite (a command), crashed, timeout,
            out of memory, lost (its process ended), or measure failed.
        why: the reason for a status other than finished.
        values: the sampled numbers by name.
        measures: values by name; None: no finite value.
        state: hash of the last state, which is equal for equal runs; "" for a run without a state.
    """

    seed: int
    status: str
    why: str
    values: Mapping[str, float]
    measures: Mapping[str, float | None]
    state: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""
        return asdict(self)


def shards(trial: Trial, seeds: Sequence[int], most: int | None = None) -> Iterator[list[int]]:
    """Yield groups of at most `most` seeds (None: SHARD) that are simulated side by side."""
    size = 1 if trial.controller.isolated else min(SHARD, most or SHARD)
    if trial.functions:
        row = 8 * trial.nstep * (trial.m.nq + 2 * trial.m.nv)
        size = max(1, min(size, HISTORY // row))
    for first in range(0, len(seeds), size):
        yield list(seeds[first : first + size])


def run_shard(trial: Trial, seeds: Sequence[int], watch: Watcher | None = None) -> list[Run]:
    """Simulate runs side by side and return their results.

    Args:
        trial: the trial of the runs.
        seeds: seeds of the runs; only one seed if the controller is a function in Python.
        watch: function that is called with the batch after every timestep; None: no calls.

    Raises:
        ParameterError: the controller of the trial cannot be loaded or traced.
        ModelError: the controller does not support the robot.
    """
    history = HistoryWatcher(trial, len(seeds)) if trial.functions else None
    watchers = [each for each in (history, watch) if each is not None]

    def watching(batch: Any) -> None:
        for each in watchers:
            each(batch)

    shard = Shard(trial, seeds, watching if watchers else None)
    if trial.controller.isolated:
        try:
            shard.run()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a crash of the controller is a result
            path = trial.controller.code.path if trial.controller.code else ""
            return [failed(trial, seeds[0], CRASHED, blamed(error, path))]
    else:
        shard.run()
    return [_facts(shard, i, history) for i in range(len(seeds))]


def failed(trial: Trial, seed: int, status: str, why: str) -> Run:
    """Return the result of a run that has no measures."""
    row = sample(trial, [seed])[0].tolist()
    values = dict(zip((varied.name for varied in trial.varied), row, strict=True))
    return Run(seed, status, why, values, {})


def _facts(shard: Shard, i: int, history: HistoryWatcher | None) -> Run:
    seed, values = shard.seeds[i], shard.values(i)
    found = measures(shard.trial, shard.score, i)
    if shard.bad[i]:
        why = "the controller commanded an effort that is not finite"
        return Run(seed, NOT_FINITE, why, values, found, shard.ends(i))
    if shard.batch.diverged[i]:
        why = "the state is not finite"
        return Run(seed, DIVERGED, why, values, dict.fromkeys(found), shard.ends(i))
    if history is not None:
        try:
            found |= own_measures(shard.trial, history.history(i, seed, values))
        except MeasureError as error:
            return Run(seed, MEASURE_FAILED, str(error), values, found, shard.ends(i))
    return Run(seed, FINISHED, "", values, found, shard.ends(i))


class MeasureError(Exception):
    """A user-defined measure raised an error or returned no number."""


def own_measures(trial: Trial, history: History) -> Values:
    """Return the values of the user-defined measures of a run.

    Raises:
        MeasureError: a measure fails.
    """
    found: Values = {}
    for name, code in trial.functions.items():
        try:
            value = float(code.load()(history))
        except RbdynError:
            raise
        except Exception as error:
            raise MeasureError(f"measure {name}: {blamed(error, code.path)}") from error
        found[name] = known(value) if not math.isnan(value) else None
    return found

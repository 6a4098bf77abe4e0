# SPDX-License-Identifier: Apache-2.0
"""Run a trial on a Ray cluster. A run depends only on its seed, so the results are the same."""

from collections.abc import Iterator, Sequence

from rbdyn_ros.cluster import PER_CORE, LostError, connected
from rbdyn_ros.trials.processes.workers import run_in_workers
from rbdyn_ros.trials.simulation.runs import LOST, Run, failed, run_shard, shards
from rbdyn_ros.trials.trial import Trial

#: Largest number of runs in a shard if the controller is in Python, and smallest number if it is
#: compiled.
ISOLATED_MOST, COMPILED_LEAST = 16, 16


def run_on_ray(trial: Trial, seeds: Sequence[int], address: str | bool) -> Iterator[list[Run]]:
    """Yield the results of runs, shard by shard, as they become ready.

    Args:
        trial: the trial; every machine needs the same version of rbdyn_ros.
        seeds: seeds of the runs.
        address: address of the cluster, see cluster.connected.

    Raises:
        ParameterError: Ray is not installed or does not answer, a machine has another version of
            rbdyn_ros, or the controller cannot be loaded or traced.
        ModelError: the controller does not support the robot.
    """

    def lost(shard: list[int], error: LostError) -> list[Run]:
        return [failed(trial, seed, LOST, f"{error}") for seed in shard]

    with connected(address) as cluster:
        divided = _shards(trial, seeds, cluster.cores)
        for _, runs in cluster.run(runs_of_task, trial, divided, lost):
            yield runs


def runs_of_task(trial: Trial, seeds: list[int]) -> list[Run]:
    """Return the results of runs; Ray calls this in one of its processes.

    Ray's process has other threads and cannot be forked, so runs of a Python controller are
    simulated in children of another process.
    """
    if trial.controller.isolated:
        return [run for runs in run_in_workers(trial, seeds, 1) for run in runs]
    return run_shard(trial, seeds)


def _shards(trial: Trial, seeds: Sequence[int], cores: int) -> Iterator[list[int]]:
    """Divide seeds into tasks; the results do not depend on the division."""
    fair = -(-len(seeds) // (PER_CORE * cores))
    if not trial.controller.isolated:
        yield from shards(trial, seeds, max(fair, COMPILED_LEAST))
        return
    size = max(1, min(fair, ISOLATED_MOST))
    for first in range(0, len(seeds), size):
        yield list(seeds[first : first + size])

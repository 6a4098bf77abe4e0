# SPDX-License-Identifier: Apache-2.0
"""Run a trial: find the missing runs, simulate them, and judge all runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.checks.numbers import count
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.machine import cores
from rbdyn_ros.trials.processes.workers import run_in_worker, run_in_workers
from rbdyn_ros.trials.results.results_file import ResultsFile
from rbdyn_ros.trials.results.verdict import Verdict, judge
from rbdyn_ros.trials.simulation.runs import LOST, MEMORY, TIMEOUT, Run, run_shard, shards
from rbdyn_ros.trials.simulation.simulated import Watcher
from rbdyn_ros.trials.trial import Trial

#: Name of the file of runs in the folder of results.
RUNS_NAME = "runs.jsonl"
#: Outcomes that depend on the machine, so a later call repeats these runs.
RETRIED = (TIMEOUT, MEMORY, LOST)
MAX_WORKERS, MAX_SEED = 1024, 2**62


@dataclass(frozen=True)
class Results:
    """The runs of a trial and their verdict.

    Attributes:
        trial: the trial that was run.
        runs: the runs in the order of their seeds.
        verdict: the verdict on these runs.
        interrupted: whether Ctrl-C ended the trial; the missing runs can still be added.
    """

    trial: Trial
    runs: tuple[Run, ...]
    verdict: Verdict
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Return whether the trial has passed and no run is missing."""
        return self.verdict.passed


def run(
    trial: Trial,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    ray: str | bool | None = None,
    fresh: bool = False,
    progress: Callable[[Sequence[Run]], None] | None = None,
) -> Results:
    """Simulate the missing runs of a trial, judge all runs, and return the results.

    A run does not depend on the number of processes or on other runs. After Ctrl-C the results
    contain the runs that were ready.

    Args:
        trial: the trial to run.
        out: folder of the results; a later call with the same trial and folder adds the missing
            runs. None: nothing is written.
        workers: number of processes; None: one for each core.
        ray: address of a Ray cluster that simulates the runs: 'auto' or True for the cluster of
            this machine, HOST:PORT of `ray start`, or ray://HOST:PORT. The cluster must be on a
            trusted network. None: this machine simulates the runs, without Ray.
        fresh: whether to delete earlier results in the folder.
        progress: function that is called with runs that have become ready; None: no calls.

    Raises:
        ParameterError: an argument is not allowed, the folder holds the results of another trial,
            a file cannot be written, the controller cannot be loaded or traced,
            or nothing accepts connections at the address of Ray.
        ModelError: the controller does not support the robot.
    """
    processes = cores() if workers is None else count("workers", workers, 1, MAX_WORKERS)
    if out is None:
        done: dict[int, Run] = {}
        simulated = _simulator(trial, processes, ray)
        stopped = _fill(trial, done, simulated, done_adder(done), progress)
        return results(trial, done, stopped)
    with ResultsFile(Path(out) / RUNS_NAME, trial, fresh) as file:
        stopped = _fill(trial, file.runs, _simulator(trial, processes, ray), file.add, progress)
    return results(trial, file.runs, stopped)


def repeat(trial: Trial, seed: int, watch: Watcher | None = None) -> Run:
    """Simulate one run of a trial again, bit for bit as in the whole trial.

    The output of a Python controller or of the user's program goes to stderr.

    Args:
        trial: the trial of the run.
        seed: seed of the run: any whole number, even one that the trial does not have.
        watch: called after every timestep with the `rb.Batch` of the run. If it is given, a
            controller in Python runs in this process, without limits of time and memory.

    Raises:
        ParameterError: the seed is not allowed, or the controller cannot be loaded or traced.
        ModelError: the controller does not support the robot.
    """
    number = count("seed", seed, 0, MAX_SEED)
    if trial.controller.program is not None and watch is not None:
        raise bad_argument(
            "watch", "a run of a program has no rb.Batch to watch; record it instead"
        )
    if trial.controller.isolated and watch is None:
        return run_in_worker(trial, number, quiet=False)
    return run_shard(trial, [number], watch)[0]


def results(trial: Trial, runs: dict[int, Run], interrupted: bool = False) -> Results:
    """Judge the runs, given by seed, that belong to the trial, and return the results."""
    found = tuple(runs[seed] for seed in trial.seeds if seed in runs)
    return Results(trial, found, judge(trial, found), interrupted)


def done_adder(done: dict[int, Run]) -> Callable[[Sequence[Run]], None]:
    """Return a function that adds runs to a dictionary."""
    return lambda runs: done.update({run.seed: run for run in runs})


def _fill(
    trial: Trial,
    done: dict[int, Run],
    simulated: Callable[[Sequence[int]], Iterator[list[Run]]],
    add: Callable[[Sequence[Run]], None],
    progress: Callable[[Sequence[Run]], None] | None,
) -> bool:
    """Simulate the missing runs; return whether Ctrl-C ended the simulation.

    Runs whose outcome depended on the machine are repeated after all others.
    """
    missing = [seed for seed in trial.seeds if seed not in done]
    missing += [seed for seed in trial.seeds if seed in done and done[seed].status in RETRIED]
    try:
        for runs in simulated(missing):
            add(runs)
            if progress is not None:
                progress(runs)
    except KeyboardInterrupt:
        return True
    return False


def _simulator(
    trial: Trial, processes: int, ray: str | bool | None
) -> Callable[[Sequence[int]], Iterator[list[Run]]]:
    """Return the function that simulates seeds: in this process, in workers, or on a cluster."""
    if ray is not None and ray is not False:
        from rbdyn_ros.trials.processes.ray_cluster import run_on_ray

        return lambda seeds: run_on_ray(trial, seeds, ray)
    if processes == 1 and not trial.controller.isolated:
        return lambda seeds: (run_shard(trial, shard) for shard in shards(trial, seeds))
    return lambda seeds: run_in_workers(trial, seeds, processes)

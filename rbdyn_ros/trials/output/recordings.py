# SPDX-License-Identifier: Apache-2.0
"""Record runs of a trial as MCAP files, which `rbdyn replay` and ROS 2 tools show."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from rbdyn_ros.actuators.attach import act_places
from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.loading.output import output_path, unwritable
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.recorder import Recorder
from rbdyn_ros.recording.writer import check_recordable
from rbdyn_ros.rollouts.batch import Batch
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.trials.processes.workers import run_in_worker
from rbdyn_ros.trials.running import MAX_SEED, Results
from rbdyn_ros.trials.simulation.runs import Run, run_shard
from rbdyn_ros.trials.simulation.sampling import run_model
from rbdyn_ros.trials.simulation.simulated import NO_ACTUATORS
from rbdyn_ros.trials.trial import Trial

#: Function that records time, qpos, qvel, efforts and act.
Write = Callable[[float, Array, Array, Array, Array], None]
#: Folder of the recorded failures in the folder of results.
FAILURES = "failures"


def record(trial: Trial, seed: int, path: str | Path) -> Run:
    """Simulate one run of a trial again and record it; needs rbdyn_ros[record].

    The file holds every state, the Model with the payload and the parameters of the run, and the
    URDF of the robot. A run that ends early is recorded until its end.

    Args:
        trial: the trial of the run.
        seed: seed of the run.
        path: path of the .mcap file, which is replaced.

    Raises:
        ParameterError: an argument is not allowed, the file cannot be written, or mcap or rosbags
            is not installed.
        ModelError: the controller does not support the robot.
    """
    number, target = count("seed", seed, 0, MAX_SEED), output_path(path, "a run", (".mcap",))
    program = trial.controller.program
    if program is not None and not program.box:
        return _record_node(trial, number, target)
    if trial.controller.isolated:
        with _recording(trial, number, target):
            pass  # to report an unwritable file here instead of in the process of the run
        here = _record_here if program is None else _record_box_here
        return run_in_worker(trial, number, work=partial(here, path=target))
    return _record_here(trial, number, target)


def _record_here(trial: Trial, seed: int, path: Path) -> Run:
    """Simulate a run in this process and record it; return the run."""
    with _recording(trial, seed, path) as (m, write):
        states = act_places(trial.plant, m)

        def watch(b: Batch) -> None:
            act = b.act[0, states] if m.nu > 0 else NO_ACTUATORS
            write(b.time[0], b.qpos[0], b.qvel[0], b.qfrc_applied[0], act)

        return run_shard(trial, [seed], watch)[0]


def _record_box_here(trial: Trial, seed: int, path: Path) -> Run:
    """Simulate a run behind a control box in this process and record it; return the run."""
    from rbdyn_ros.trials.processes.box_run import run_boxed

    @contextmanager
    def watching() -> Iterator[Callable[[LoopState], None]]:
        with _recording(trial, seed, path) as (_, write):
            yield lambda at: write(at.time, at.qpos, at.qvel, at.effort, at.act)

    return run_boxed(trial, seed, watching=watching)


def _record_node_here(trial: Trial, seed: int, path: Path) -> Run:
    """Simulate a run with the simulator node in this process, which records it; return the run."""
    from rbdyn_ros.trials.processes.node_run import run_node

    return run_node(trial, seed, True, path)


def _record_node(trial: Trial, seed: int, target: Path) -> Run:
    """Record a run with the simulator node, replace the file `target`, and return the run."""
    beside = target.with_name(f".{secrets.token_hex(4)}{target.suffix}")
    check_recordable(beside)
    try:
        run = run_in_worker(trial, seed, work=partial(_record_node_here, path=beside))
        if beside.exists():
            beside.replace(target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return run


def record_failures(results: Results, out: str | Path) -> list[Path]:
    """Record the worst failed runs of a trial, at most `trial.recordings`; return the files.

    Raises:
        ParameterError: a file cannot be written, or mcap or rosbags is not installed.
    """
    seeds = list(results.verdict.failures)[: results.trial.recordings]
    folder = Path(out) / FAILURES
    try:
        for old in folder.glob("seed_*.mcap"):
            old.unlink()
        if seeds:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "folder") from error
    files = [folder / f"seed_{seed}.mcap" for seed in seeds]
    for seed, file in zip(seeds, files, strict=True):
        record(results.trial, seed, file)
    return files


@contextmanager
def _recording(trial: Trial, seed: int, path: Path) -> Iterator[tuple[Model, Write]]:
    """Open a recording; yield the Model of a run, and the function that records its states."""
    m = run_model(trial, seed, trial.m)
    d = make_data(m)
    with Recorder(m, path, trial.urdf, overwrite=True) as recorder:

        def write(time: float, qpos: Array, qvel: Array, efforts: Array, act: Array) -> None:
            d.time, d.qpos, d.qvel, d.qfrc_applied = time, qpos, qvel, efforts
            if m.nu > 0:
                d.act = act
            if np.isfinite(d.qpos).all() and np.isfinite(d.qvel).all():
                recorder.write(d)

        yield m, write

# SPDX-License-Identifier: Apache-2.0
"""A process that simulates runs: python -m rbdyn_ros.trials.processes.worker DESCRIPTOR.

The process receives the trial and then jobs through a socket, and answers each job with the
results of its runs. It ends when the socket is closed.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.trials.processes.isolated import ShardJob, run_isolated
from rbdyn_ros.trials.simulation.runs import Run, run_shard
from rbdyn_ros.trials.simulation.simulated import Shard
from rbdyn_ros.trials.trial import Trial


def serve(channel: Connection[Any, Any]) -> None:
    """Answer jobs until the other end is closed."""
    trial: Trial = channel.recv()
    try:
        prepare(trial)
    except RbdynError as error:
        channel.send(error)
        return
    if trial.controller.isolated:
        signal.signal(signal.SIGTERM, _end)
    channel.send([])  # report that the process is ready for the first runs
    while True:
        job = channel.recv()
        try:
            channel.send(runs_of(trial, job))
        except RbdynError as error:
            channel.send(error)


def _end(_signal: int, _frame: object) -> None:
    """End this process by an exception, so that the run in its child also ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the ending
    sys.exit(0)


def prepare(trial: Trial) -> None:
    """Load the user's code and the simulation, so that runs start in prepared processes."""
    if trial.controller.code is not None:
        trial.controller.code.load()
    for code in trial.functions.values():
        code.load()
    program = trial.controller.program
    if program is not None and program.box:
        from rbdyn_ros.trials.processes.box_run import prepare_boxes

        prepare_boxes(trial)
    elif program is not None:
        from rbdyn_ros.trials.processes.node_run import prepare_nodes

        prepare_nodes(trial)
    elif trial.controller.isolated:
        short = replace(trial, nstep=1, reference=trial.reference[:2])
        Shard(short, [trial.first_seed], None, _no_commands).run()


def _no_commands(time: float, seen: Array, reference: Array, commands: Array) -> None:
    """Do nothing: the commands stay zero."""


def runs_of(trial: Trial, job: ShardJob) -> list[Run]:
    """Return the results of a job's runs; child processes simulate runs of a Python controller."""
    if trial.controller.isolated:
        return [run_isolated(trial, seed, job.quiet, job.work) for seed in job.seeds]
    return run_shard(trial, job.seeds)


def main() -> None:
    """Serve the socket whose descriptor is the argument."""
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(0)  # the other end has closed the socket: the trial has ended


if __name__ == "__main__":
    main()

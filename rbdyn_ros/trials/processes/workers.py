# SPDX-License-Identifier: Apache-2.0
"""The processes of a trial; an idle process simulates the next shard."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.machine import wait_or_kill
from rbdyn_ros.trials.processes.isolated import ShardJob, Work
from rbdyn_ros.trials.simulation.runs import LOST, Run, failed, shards
from rbdyn_ros.trials.trial import Trial

#: Environment of workers, each of which has one thread, because there is a worker for each core.
SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Number of further tries for a shard whose process has ended unexpectedly.
RETRIES = 2
#: Time that a process may take to start, without the time for the user's code [s].
STARTING = 60.0
#: Time that a process may take to end before it is killed [s].
ENDING = 5.0


@dataclass
class _TriedJob:
    """A job, and the number of processes that have ended while they did it."""

    job: ShardJob
    tried: int = 0


class Worker:
    """A process of a trial, and the channel to it.

    Attributes:
        given: the present job; None while the process starts or is idle.
        idle: whether no job is left.
    """

    def __init__(self, trial: Trial) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [
                sys.executable,
                "-m",
                "rbdyn_ros.trials.processes.worker",
                str(theirs.fileno()),
            ]
            self.process = subprocess.Popen(  # noqa: S603 - our own Python and module
                command,
                pass_fds=(theirs.fileno(),),
                env=os.environ | SINGLE | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                # the output of the user's files goes to stderr, because stdout is for results
                stdout=2,
                # Ctrl-C must reach only the trial, which then ends its processes
                start_new_session=True,
            )
        self.channel: Connection[Any, Any] = Connection(ours.detach())
        self.given: _TriedJob | None = None
        self.idle = False
        self.deadline = time.monotonic() + STARTING + trial.allowance.time
        self._send(trial)

    def give(self, given: _TriedJob | None) -> None:
        """Give the process this job; None means that no job is left."""
        self.given, self.idle = given, given is None
        if given is not None:
            self._send(given.job)

    def end(self) -> None:
        """Tell the process to end, which also ends its run of a Python controller."""
        self.channel.close()
        self.process.terminate()

    def _send(self, message: object) -> None:
        # if the process has ended, the next receive reports this
        with contextlib.suppress(OSError):
            self.channel.send(message)


def run_in_workers(trial: Trial, seeds: Sequence[int], count: int) -> Iterator[list[Run]]:
    """Yield the results of runs, shard by shard, as they become ready.

    Raises:
        RbdynError: the user's code cannot be loaded or compiled, or takes too long to load.
    """
    yield from _done(
        trial, deque(_TriedJob(ShardJob(shard)) for shard in shards(trial, seeds)), count
    )


def run_in_worker(trial: Trial, seed: int, *, quiet: bool = True, work: Work | None = None) -> Run:
    """Return one run of a Python controller or of the user's program.

    A new process simulates the run, because this process cannot fork: it may have threads, and may
    have used ROS.

    Args:
        trial: the trial of the run.
        seed: seed of the run.
        quiet: whether to discard the output of the controller; False: it goes to stderr.
        work: simulates the run; None: the usual simulation of the trial.

    Raises:
        RbdynError: as for run_in_workers.
    """
    jobs = deque([_TriedJob(ShardJob([seed], quiet, work))])
    (run,) = [run for runs in _done(trial, jobs, 1) for run in runs]
    return run


def _done(trial: Trial, left: deque[_TriedJob], count: int) -> Iterator[list[Run]]:
    """Do the jobs `left` in `count` processes; yield the results of their runs."""
    workers = [Worker(trial) for _ in range(min(count, len(left)))]
    try:
        while busy := [worker for worker in workers if not worker.idle]:
            ready = wait([worker.channel for worker in busy], timeout=1.0)
            _check_started(trial, busy)
            for worker in busy:
                if worker.channel not in ready:
                    continue
                answer = _answer(worker)
                if answer is None:
                    found = _given_up(trial, worker, left)
                    workers.remove(worker)
                    if left:
                        workers.append(Worker(trial))
                else:
                    found = answer
                    worker.give(left.popleft() if left else None)
                if found:
                    yield found
    finally:
        for worker in workers:
            worker.end()
        deadline = time.monotonic() + ENDING
        for worker in workers:
            wait_or_kill(worker.process, deadline - time.monotonic())


def _answer(worker: Worker) -> list[Run] | None:
    """Return a process's runs, [] if it is ready, None if it has ended; raise its RbdynError."""
    try:
        answer: list[Run] | RbdynError = worker.channel.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, RbdynError):
        raise answer
    return answer


def _check_started(trial: Trial, workers: Sequence[Worker]) -> None:
    """Raise RbdynError if a process has not loaded the user's code in time."""
    now = time.monotonic()
    if any(worker.given is None and now > worker.deadline for worker in workers):
        code = trial.controller.code
        what = code.path if code is not None else "the trial"
        raise refusal(f"{what} was not loaded within {STARTING + trial.allowance.time:g} s",
                      "slow-start")  # fmt: skip


def _given_up(trial: Trial, worker: Worker, left: deque[_TriedJob]) -> list[Run]:
    """Queue the runs of an ended process again; after the last try, return lost runs."""
    worker.channel.close()
    status, given = wait_or_kill(worker.process, ENDING), worker.given
    if given is None:
        text = f"a process of the trial ended with status {status} while it loaded the trial"
        raise refusal(text, "worker-ended")
    if given.tried < RETRIES:
        left.appendleft(_TriedJob(given.job, given.tried + 1))
        return []
    reason = f"the process of the run ended {given.tried + 1} times, last with status {status}"
    return [failed(trial, seed, LOST, reason) for seed in given.job.seeds]

# SPDX-License-Identifier: Apache-2.0
"""Simulate a run of a Python controller in a separate process, with limits of time and memory."""

import contextlib
import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.trials.processes import ending
from rbdyn_ros.trials.simulation.runs import CRASHED, MEMORY, TIMEOUT, Run, failed, run_shard
from rbdyn_ros.trials.trial import Trial

_MIB = 1 << 20
#: An answer begins with its length, in this number of bytes.
HEAD = 8
#: The run of a program must end itself within this time after its time limit [s].
ENDING = 20.0


#: Function that simulates the run of a seed. It must be picklable: a module's function or a
#: partial.
Work = Callable[[Trial, int], Run]


@dataclass(frozen=True)
class ShardJob:
    """Runs that a process simulates.

    Attributes:
        seeds: seeds of the runs.
        quiet: whether to discard the output of Python controllers and of programs.
        work: function that simulates a run; None: the usual simulation of the trial.
    """

    seeds: list[int]
    quiet: bool = True
    work: Work | None = None


def run_isolated(trial: Trial, seed: int, quiet: bool = True, work: Work | None = None) -> Run:
    """Simulate a run in a child process; whatever the child does, a Run is returned.

    The calling process must have no other threads, and must not have used ROS.

    Args:
        trial: the trial of the run.
        seed: seed of the run.
        quiet: whether to discard the output of the controller.
        work: simulates the run; None: the usual simulation of the trial.
    """
    ending.adopt()
    before = ending.children()
    reader, writer = os.pipe()
    with _sigterm(signal.SIG_BLOCK):  # SIGTERM is deferred until the child has ended
        parent, child = os.getpid(), _fork(trial)
        if child == 0:
            os.close(reader)
            _be_child(trial, lambda: _simulate(trial, seed, quiet, work), writer, quiet, parent)
        os.close(writer)
        try:
            with _sigterm(signal.SIG_UNBLOCK):
                answer = _read(reader, time.monotonic() + _patience(trial))
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # this also ends programs that the controller has started
                os.killpg(child, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            ending.end_children(before)  # this also ends daemons, which have their own sessions
    if answer is None:
        return failed(trial, seed, TIMEOUT, f"the run took longer than {trial.allowance.time:g} s")
    if answer:
        found = _result(answer)
        return found if isinstance(found, Run) else failed(trial, seed, *found)
    if os.WIFSIGNALED(status):
        name = ending.signal_name(os.WTERMSIG(status))
        return failed(trial, seed, CRASHED, f"the process of the run was ended by {name}")
    code = os.waitstatus_to_exitcode(status)
    return failed(trial, seed, CRASHED, f"the process of the run ended with status {code}")


@contextlib.contextmanager
def _sigterm(how: signal.Sigmasks) -> Iterator[None]:
    """Block or unblock SIGTERM in this thread; restore the signal mask at the end of the block."""
    before = signal.pthread_sigmask(how, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(trial: Trial) -> int:
    program = trial.controller.program
    if program is None or program.box:
        return os.fork()
    return ending.fork_with_ros()


def _simulate(trial: Trial, seed: int, quiet: bool, work: Work | None) -> Run:
    """Simulate a run in this process and return it."""
    if work is not None:
        return work(trial, seed)
    program = trial.controller.program
    if program is None:
        return run_shard(trial, [seed])[0]
    if program.box:
        from rbdyn_ros.trials.processes.box_run import run_boxed

        return run_boxed(trial, seed, quiet)
    from rbdyn_ros.trials.processes.node_run import run_node

    return run_node(trial, seed, quiet)


def _patience(trial: Trial) -> float:
    """Return the time after which a run is ended [s]; the run of a program first ends itself."""
    return trial.allowance.time + (ENDING if trial.controller.program is not None else 0.0)


def _be_child(
    trial: Trial, work: Callable[[], Run], writer: int, quiet: bool, parent: int
) -> None:
    """Do the work, send its result, and end the process."""
    status = 1
    try:
        ending.end_with(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.setpgid(0, 0)
        if quiet:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
        memory = trial.allowance.memory
        # the limit for a program applies to the process of the program
        if trial.controller.program is None:
            limit = _address_space() + int(memory * _MIB)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        found: Any
        try:
            found = work()
        except MemoryError:
            found = MEMORY, f"the run needed more than {memory:g} MiB of memory"
        except BaseException as error:  # noqa: BLE001 - sys.exit() of a controller too
            found = CRASHED, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        data = pickle.dumps(found)
        _write(writer, len(data).to_bytes(HEAD, "little") + data)
        status = 0
    finally:
        os._exit(status)


def _result(answer: bytes) -> Run | tuple[str, str]:
    """Return the run that a child has sent, or the status and the reason of a failure."""
    try:
        found = pickle.loads(answer)  # noqa: S301 - from our own child
    except Exception:  # noqa: BLE001 - bytes that are cut off raise many types
        found = None
    if isinstance(found, Run):
        return found
    match found:
        case (str(status), str(reason)):
            return status, reason
    return CRASHED, "the process of the run sent no complete result"


def _address_space() -> int:
    """Return the size of the address space of this process [bytes]."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - short of memory
        return int(file.read().split()[0]) * resource.getpagesize()


def _write(writer: int, data: bytes) -> None:
    while data:
        data = data[os.write(writer, data) :]


def _read(reader: int, deadline: float) -> bytes | None:
    """Return the child's message, a part of it if the child ends early, or None on timeout.

    The end of the pipe does not suffice: a daemon that the controller started may keep it open.
    """
    answer = bytearray()
    while len(answer) < HEAD + int.from_bytes(answer[:HEAD], "little"):
        left = deadline - time.monotonic()
        if left <= 0.0 or not select.select([reader], [], [], left)[0]:
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            break
        answer += part
    return bytes(answer[HEAD:])

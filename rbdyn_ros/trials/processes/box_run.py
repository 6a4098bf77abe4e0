# SPDX-License-Identifier: Apache-2.0
"""Simulate a run behind a control box in this process; the user's program is another process.

The simulation waits in lock-step for the commands of the program. When the program has ended, the
simulation continues to the end of the run.
"""

import contextlib
import functools
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.boxes import BoxedLoop, BoxName, behind_boxes
from rbdyn_ros.control_box.sockets import PortTakenError
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.loading.load import load
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import Faults
from rbdyn_ros.trials.processes.user_process import UserProcess, check_program
from rbdyn_ros.trials.processes.watched_run import RunEndedError, WatchedRun, checked, warm_score
from rbdyn_ros.trials.simulation.runs import CRASHED, TIMEOUT, Run, failed
from rbdyn_ros.trials.simulation.sampling import faults, run_model, sample
from rbdyn_ros.trials.trial import Trial, with_address

#: Period at which a run checks its program [s].
POLL = 0.02
#: Number of addresses that a run tries; each process has its own addresses.
ADDRESSES = 2
NEVER = "; it never connected to its control box"


def prepare_boxes(trial: Trial) -> None:
    """Load and compile the code that every run needs, so that runs start in a prepared process.

    Raises:
        ParameterError: the program does not exist.
        RbdynError: the program's files have changed since the trial was read, or the robot has no
            such box.
    """
    program = trial.controller.program
    assert program is not None
    check_program(program)
    file = trial.robot_file
    m = load(file.file, strict=file.strict, contact=file.contact)
    checked(trial, behind_boxes(m, file.description, [program.box]))
    _simulation(trial, trial.m, 0, trial.m.qpos0, lambda _: None)[0].close()
    warm_score(trial)


@contextlib.contextmanager
def _unwatched() -> Iterator[Callable[[LoopState], object]]:
    yield lambda _: None


def run_boxed(
    trial: Trial,
    seed: int,
    quiet: bool = True,
    watching: Callable[[], AbstractContextManager[Callable[[LoopState], object]]] = _unwatched,
) -> Run:
    """Simulate a run; whatever the program does, a Run is returned.

    Args:
        trial: a trial with a program and its box.
        seed: seed of the run.
        quiet: whether to discard the output of the program and the log of the box.
        watching: context manager that is entered when the program has started; it yields a
            function, which is called with every state of the run.
    """
    program = trial.controller.program
    assert program is not None
    deadline = time.monotonic() + trial.allowance.time
    watched = WatchedRun(trial, seed)
    m, log = run_model(trial, seed, trial.m), functools.partial(_log, quiet)
    try:
        simulation, address = _simulation(trial, m, seed, watched.start[0], log)
    except RbdynError as error:
        return failed(trial, seed, CRASHED, str(error))
    loop, boxes = simulation.loop, simulation.boxes
    loop.plant.set_faults(boxes.take_faults(_faults(trial, seed, m), 0.0))
    loop.plant.begin_with(watched.start[1])
    usual = BoxName.parsed(program.box).address
    own = replace(program, command=with_address(program.command, usual, address))
    with (
        tempfile.TemporaryDirectory(prefix="rbdyn_trial_") as folder,
        UserProcess(own, Path(folder), trial.allowance.memory) as user,
        watching() as watch,
    ):
        supervised = _Supervised(trial, simulation, user, deadline)
        supervised.box.watch = lambda state: watched.take(state) and watch(state)
        try:
            with simulation:
                while not watched.done.wait(POLL):
                    supervised.check(watched.time)
                supervised.finish()
            return watched.run()
        except RunEndedError as ended:
            return failed(trial, seed, ended.status, str(ended))
        finally:
            user.end(quiet)


class _Supervised:
    """A program and its box during a run.

    Args:
        trial: the trial with the program.
        simulation: the simulation of the run.
        user: process of the program.
        deadline: latest end of the run, by time.monotonic() [s].
    """

    def __init__(
        self, trial: Trial, simulation: BoxedLoop, user: UserProcess, deadline: float
    ) -> None:
        self._trial, self._boxes, self._user = trial, simulation.boxes, user
        (self.box,) = simulation.boxes.all
        self._deadline = deadline
        self._served = -1  # number of socket polls before the program ended; -1: it has not ended

    @property
    def _was_connected(self) -> bool:
        return any(end.clients for end in self.box.ends)

    def check(self, simulated: float) -> None:
        """Check the program and its box.

        If the program has ended without an error, the run continues.

        Args:
            simulated: simulated time of the last state [s].

        Raises:
            RunEndedError: the program has failed or takes too long.
            RbdynError: the box has failed.
        """
        self._boxes.check()
        self._user.trim()
        self._check_status()
        if self._user.status is not None and not self.box.runs_on:
            if self._served < 0:
                self._served = self.box.served
            # the present poll may have begun before the program ended, but the next poll receives
            # everything that the program sent
            if self.box.served >= self._served + 2:
                if not self._was_connected:
                    raise RunEndedError(CRASHED, self._user.ended() + NEVER)
                self.box.runs_on = True
        if time.monotonic() > self._deadline:
            text = f"after {self._trial.allowance.time:g} s {self._late(simulated)}"
            raise RunEndedError(TIMEOUT, text)

    def finish(self) -> None:
        """Wait for the exit status of the program, unless it still controls its arm.

        A program that fails releases the arm shortly before its status is known. A program that
        still runs at the deadline counts as finished.

        Raises:
            RunEndedError: the program has failed.
            RbdynError: the box has failed.
        """
        while self._user.status is None and time.monotonic() < self._deadline:
            robot = self.box.robot
            connected = any(end.connected for end in self.box.ends)
            if not self._was_connected or (connected and not (robot.rests or robot.settles)):
                break
            self._boxes.check()
            self._user.trim()
            time.sleep(POLL)
        self._check_status()

    def _check_status(self) -> None:
        if self._user.status:
            never = "" if self._was_connected else NEVER
            raise RunEndedError(CRASHED, self._user.ended() + never)

    def _late(self, simulated: float) -> str:
        if not self._was_connected:
            return "the program has not connected to its control box"
        where = f"the run is at {simulated:g} s"
        if self._user.status is not None:
            return f"the program has ended, and {where}"
        waits = self.box.idle or self.box.robot.awaits
        return f"{where}, and the box waits for the program" if waits else where


def _simulation(
    trial: Trial, m: Model, seed: int, start: Array, log: Callable[[str], object]
) -> tuple[BoxedLoop, str]:
    """Return a simulation behind its box, whose sockets are open, and the box's address.

    Raises:
        RbdynError: the box cannot be made, or all tried addresses are in use.
    """
    program, every = trial.controller.program, trial.controller.every
    assert program is not None
    name, description = BoxName.parsed(program.box), trial.robot_file.description
    settings = LoopSettings(
        time_mode="lockstep", realtime="off", seed=seed, control_decimation=every
    )
    for k in range(ADDRESSES):
        address = _address(k)
        try:
            boxes = [name.at(address)]
            return BoxedLoop(m, description, boxes, settings, start, math.inf, log), address
        except PortTakenError as error:
            port = error.port
    raise refusal(
        f"another program listens on port {port} of all addresses (0.0.0.0): end this program, "
        "because each run needs the port at an address of its own",
        "port-taken",
    )


def _faults(trial: Trial, seed: int, m: Model) -> Faults:
    """Return the sampled noise, delays and losses of a run as Faults."""
    at = {name: float(x[0]) for name, x in faults(trial, sample(trial, [seed])).items()}
    return replace(
        Faults.none(m.nv),
        encoder_noise=np.full(m.nv, at["position_noise"]),
        velocity_noise=np.full(m.nv, at["velocity_noise"]),
        command_delay=at["command_delay"],
        command_drop=at["command_drop"],
        state_delay=at["state_delay"],
    )


def _address(k: int) -> str:
    """Return a loopback address that only this process uses; k, 0 or 1, selects one of two."""
    number = os.getpid()  # a process number is below 2^22
    return f"127.{128 + 64 * k + number // 65536}.{number // 256 % 256}.{number % 256}"


def _log(quiet: bool, text: str) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)

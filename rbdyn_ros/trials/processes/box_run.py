# SPDX-License-Identifier: Apache-2.0
"""One run of a client of a control box: the box in this process, the user's program in another.

The simulation waits in lock-step for the commands of the program. When the program has ended, time
goes on to the end of the run.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.box import ControlBox
from rbdyn_ros.control_box.boxes import BoxedLoop, BoxName, behind_boxes
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.loading.load import load
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import Faults
from rbdyn_ros.trials.processes.user_process import UserProcess, words_of
from rbdyn_ros.trials.processes.watched_run import RunEndedError, WatchedRun, checked
from rbdyn_ros.trials.simulation.runs import CRASHED, TIMEOUT, Run, failed
from rbdyn_ros.trials.simulation.sampling import faults, run_model, sample
from rbdyn_ros.trials.simulation.score import Score
from rbdyn_ros.trials.trial import Trial

#: The run looks after the program this often [s].
POLL = 0.02


def prepare_boxes(trial: Trial) -> None:
    """Load and compile what every run needs, so that runs start from a warm process.

    Raises:
        ParameterError: there is no such program.
        RbdynError: its files have changed or are others on this machine, or the robot has no such
            box.
    """
    program = trial.controller.program
    assert program is not None
    if reason := program.why_not_here:
        raise refusal(reason, "changed-file")
    words_of(program)
    file = trial.robot_file
    m = load(file.file, strict=file.strict, contact=file.contact)
    checked(trial, behind_boxes(m, file.description, [program.box]))
    _simulation(trial, trial.first_seed, trial.m.qpos0, lambda _: None).close()
    m, score = trial.m, Score(trial, trial.m.qpos0[None])
    score.add(0, m.qpos0[:, None], np.zeros((m.nv, 1)), np.zeros((m.nv, 1)))


def run_boxed(
    trial: Trial,
    seed: int,
    quiet: bool = True,
    watch: Callable[[LoopState], object] = lambda _: None,
) -> Run:
    """Simulate a run; whatever the program does, the result is a Run.

    Args:
        trial: with a program and its box.
        seed: of the run.
        quiet: whether the output of the program, and the log of the box, is discarded.
        watch: called with every state.
    """
    program = trial.controller.program
    assert program is not None
    deadline = time.monotonic() + trial.allowance.time
    watched = WatchedRun(trial, seed)
    log = functools.partial(_log, quiet)
    try:
        simulation = _simulation(trial, seed, watched.start[0], log)
    except RbdynError as error:
        return failed(trial, seed, CRASHED, str(error))
    (box,) = simulation.boxes.all
    simulation.loop.plant.begin_with(watched.start[1])

    def take(state: LoopState) -> None:
        watch(state)
        watched.take(state)

    box.watch = take
    usual, address = BoxName.parsed(program.box).address, _address()
    words = tuple(word.replace(usual, address) for word in program.command)
    with tempfile.TemporaryDirectory(prefix="rbdyn_trial_") as folder:
        own, memory = replace(program, command=words), trial.allowance.memory
        with UserProcess(own, Path(folder), memory) as user:
            try:
                with simulation:
                    while not watched.done.wait(POLL):
                        simulation.boxes.check()
                        _check(trial, box, user, watched.time, deadline)
                return watched.run()
            except RunEndedError as ended:
                return failed(trial, seed, ended.status, str(ended))
            finally:
                user.end(quiet)


def _check(
    trial: Trial, box: ControlBox, user: UserProcess, simulated: float, deadline: float
) -> None:
    """Let time go on to its end after a program that has ended well; raise RunEndedError else."""
    connected = any(end.clients for end in box.ends)
    if user.status is not None:
        if user.status != 0 or not connected:
            never = "" if connected else "; it never connected to its control box"
            raise RunEndedError(CRASHED, user.ended() + never)
        box.runs_on = True
    if time.monotonic() > deadline:
        text = f"the box waits for the program at the state of {simulated:g} s"
        if not connected:
            text = "the program has not connected to its control box"
        elif box.runs_on:
            text = f"the program has ended, and the run is at {simulated:g} s"
        raise RunEndedError(TIMEOUT, f"after {trial.allowance.time:g} s {text}")


def _simulation(trial: Trial, seed: int, start: Array, log: Callable[[str], object]) -> BoxedLoop:
    """Return the simulation of a run behind its box, whose sockets are open."""
    program, every = trial.controller.program, trial.controller.every
    assert program is not None
    m = run_model(trial, seed, trial.m)
    name = BoxName.parsed(program.box)
    settings = LoopSettings(
        time_mode="lockstep", realtime="off", seed=seed, control_decimation=every
    )
    description, boxes = trial.robot_file.description, [name.at(_address())]
    found = BoxedLoop(m, description, boxes, settings, start, math.inf, log)
    found.loop.plant.set_faults(found.boxes.take_faults(_faults(trial, seed, m), 0.0))
    return found


def _faults(trial: Trial, seed: int, m: Model) -> Faults:
    """Return the faults of a run."""
    at = {name: float(x[0]) for name, x in faults(trial, sample(trial, [seed])).items()}
    return replace(
        Faults.none(m.nv),
        encoder_noise=np.full(m.nv, at["position_noise"]),
        velocity_noise=np.full(m.nv, at["velocity_noise"]),
        command_delay=at["command_delay"],
        command_drop=at["command_drop"],
        state_delay=at["state_delay"],
    )


def _address() -> str:
    """Return a loopback address that belongs to this process."""
    number = os.getpid()  # below 2^22
    return f"127.{128 + number // 65536}.{number // 256 % 256}.{number % 256}"


def _log(quiet: bool, text: str) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)

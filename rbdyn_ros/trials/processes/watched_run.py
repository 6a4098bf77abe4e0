# SPDX-License-Identifier: Apache-2.0
"""Measure the states of a run with the user's program, and return the result of the run."""

import threading
from typing import Any

import numpy as np

from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.trials.simulation import runs
from rbdyn_ros.trials.simulation.kernels import EFFORT_SQUARES, ERROR_SQUARES, WORK
from rbdyn_ros.trials.simulation.measures import measures
from rbdyn_ros.trials.simulation.sampling import sample, starts
from rbdyn_ros.trials.simulation.score import Score
from rbdyn_ros.trials.simulation.simulated import NO_ACTUATORS, hashed, history
from rbdyn_ros.trials.trial import Trial

#: Accumulators that are sums over timesteps.
SUMS = (ERROR_SQUARES, EFFORT_SQUARES, WORK)


class RunEndedError(Exception):
    """The run ended early."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class WatchedRun:
    """Measures the states of one run.

    Attributes:
        start: positions (nq,) and velocities (nv,) at the start.
        done: an event that is set after the last state.
    """

    def __init__(self, trial: Trial, seed: int) -> None:
        self._trial, self._seed = trial, seed
        self._samples = sample(trial, [seed])
        qpos, qvel = starts(trial, self._samples)
        self.start = qpos[0], qvel[0]
        self._score, self._every = Score(trial, qpos), trial.controller.every
        self._rows: list[np.ndarray[Any, Any]] = []
        self._ticks, self._tick = max(1, trial.nstep // self._every), -1
        self._last, self._diverged = (*self.start, NO_ACTUATORS), False
        self.done = threading.Event()

    def take(self, state: LoopState) -> bool:
        """Add a state to the measures; return whether the state is new and belongs to the run."""
        if self.done.is_set():
            return False
        if state.fault >= 0:
            self._diverged = True
            self.done.set()
            return False
        if state.tick <= self._tick:
            return False
        self._tick = state.tick
        if state.tick == 0:
            return True
        parts = state.qpos, state.qvel, state.effort
        self._score.add(state.tick * self._every - 1, *(x[:, None] for x in parts))
        self._last = (*parts[:2], state.act)
        if self._trial.functions:
            self._rows.append(np.concatenate(parts))
        if state.tick >= self._ticks:
            self.done.set()
        return True

    @property
    def time(self) -> float:
        """Simulated time of the last state [s]; negative before the first state."""
        return self._tick * self._every * float(self._trial.m.opt.timestep)

    def run(self) -> runs.Run:
        """Return the result of the run."""
        trial = self._trial
        names = (varied.name for varied in trial.varied)
        values = dict(zip(names, self._samples[0].tolist(), strict=True))
        state = hashed(*self._last)
        self._score.total[list(SUMS)] *= self._every  # sums over ticks become sums over timesteps
        found = measures(trial, self._score, 0)
        if self._diverged:
            reason = "the state is not finite"
            return runs.Run(self._seed, runs.DIVERGED, reason, values, dict.fromkeys(found), state)
        if trial.functions:
            rows = np.array(self._rows)
            try:
                seen = history(trial, rows, self._every, self._seed, values)
                found |= runs.own_measures(trial, seen)
            except runs.MeasureError as error:
                return runs.Run(self._seed, runs.MEASURE_FAILED, str(error), values, found, state)
        return runs.Run(self._seed, runs.FINISHED, "", values, found, state)


def warm_score(trial: Trial) -> None:
    """Compile the kernel that judges the states of a run."""
    m, score = trial.m, Score(trial, trial.m.qpos0[None])
    score.add(0, m.qpos0[:, None], np.zeros((m.nv, 1)), np.zeros((m.nv, 1)))


def checked(trial: Trial, m: Model) -> Model:
    """Return the Model of the simulator `m`; raise RbdynError if it is not the trial's Model."""
    if m.sha256() != trial.m.sha256():
        text = f"the robot of {quote(trial.robot_file.path, 200)} has changed since the trial"
        raise refusal(f"{text} was read, or this machine has another file", "changed-file")
    return m

# SPDX-License-Identifier: Apache-2.0
"""One run of a ROS node: the simulator node in this process, the node of the user in another.

The simulator waits in lock-step for the answer of the node to every state, so that a run does not
depend on the load of the machine.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.errors import listing, quote, refusal
from rbdyn_ros.loading.load import load
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.domains import own_domain
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.trials.processes.node_process import NodeProcess, words_of
from rbdyn_ros.trials.simulation.kernels import EFFORT_SQUARES, ERROR_SQUARES, WORK
from rbdyn_ros.trials.simulation.measures import measures
from rbdyn_ros.trials.simulation.runs import (
    CRASHED,
    DIVERGED,
    FINISHED,
    MEASURE_FAILED,
    TIMEOUT,
    MeasureError,
    Run,
    failed,
    own_measures,
)
from rbdyn_ros.trials.simulation.sampling import faults, run_model, sample, starts
from rbdyn_ros.trials.simulation.score import Score
from rbdyn_ros.trials.simulation.simulated import NO_ACTUATORS, hashed, history
from rbdyn_ros.trials.trial import Trial

#: The program looks after the node this often [s].
POLL = 0.02
#: Accumulators that are sums over timesteps.
SUMS = (ERROR_SQUARES, EFFORT_SQUARES, WORK)


def prepare_nodes(trial: Trial) -> None:
    """Import and load what every run needs, so that runs start from a warm process.

    Raises:
        ParameterError: there is no such program.
        RbdynError: its files have changed or are others on this machine, all ROS domains are
            used, or this Python has no ROS 2.
    """
    node = trial.controller.node
    assert node is not None
    if why := node.why_not_here:
        raise refusal(why, "changed-file")
    words_of(node)
    file = trial.robot_file
    _checked(trial, load(file.path, floating_base=file.floating_base, contact=file.contact))
    try:
        from rbdyn_ros.ros.common import dynamics_query, ik_query
        from rbdyn_ros.ros.simulator import embedded
        from rbdyn_ros.runtime.loop import warm
    except ImportError as error:
        from rbdyn_ros.ros import why_no_ros

        raise refusal(why_no_ros(error), "no-ros") from error
    own_domain()
    warm(trial.plant)
    dynamics_query.warm(trial.m)
    ik_query.warm(trial.m)
    m, score = trial.m, Score(trial, trial.m.qpos0[None])
    score.add(0, m.qpos0[:, None], np.zeros((m.nv, 1)), np.zeros((m.nv, 1)))
    assert embedded


def run_node(trial: Trial, seed: int, quiet: bool = True, recorded: Path | None = None) -> Run:
    """Simulate a run; whatever the node does, the result is a Run.

    Args:
        trial: with a node.
        seed: of the run.
        quiet: whether the output of the node is discarded.
        recorded: path of a new .mcap file, which gets all topics; or None.
    """
    from rbdyn_ros.ros.simulator.embedded import embedded, wait_for_commander
    from rbdyn_ros.ros.simulator.setup import Setup

    assert trial.controller.node is not None
    deadline = time.monotonic() + trial.allowance.time
    watched = _WatchedRun(trial, seed)
    qpos, qvel = watched.start
    os.environ.update(own_domain().environment)
    with tempfile.TemporaryDirectory(prefix="rbdyn_trial_") as folder:
        os.environ["ROS_LOG_DIR"] = folder
        with NodeProcess(trial.controller.node, Path(folder), trial.allowance.memory) as user:

            def check(unanswered: Sequence[str] = ()) -> None:
                if why := user.ended():
                    raise _RunEndedError(CRASHED, why)
                if time.monotonic() > deadline:
                    raise _RunEndedError(TIMEOUT, watched.waits(trial.allowance.time, unanswered))

            setup = Setup(
                _parameters(trial, seed, recorded),
                lambda m: run_model(trial, seed, _checked(trial, m)),
                qpos,
                qvel,
                lambda node: wait_for_commander(node, check),
                watched.take,
            )
            try:
                with embedded(setup) as node:
                    while not watched.done.wait(POLL):
                        check(node.unanswered)
                        node.poll()
                return watched.run()
            except _RunEndedError as ended:
                return failed(trial, seed, ended.status, str(ended))
            finally:
                user.end(quiet)


class _RunEndedError(Exception):
    """A run has ended early."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class _WatchedRun:
    """Measures the states of one run.

    Attributes:
        start: (nq,) and (nv,), state at the start.
        done: set after the last state.
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

    def take(self, state: LoopState) -> None:
        """Add a state to the measures."""
        if self.done.is_set():
            return
        if state.fault >= 0:
            self._diverged = True
            self.done.set()
            return
        if state.tick <= self._tick:
            return
        self._tick = state.tick
        if state.tick == 0:
            return
        parts = state.qpos, state.qvel, state.effort
        self._score.add(state.tick * self._every - 1, *(x[:, None] for x in parts))
        self._last = (*parts[:2], state.act)
        if self._trial.functions:
            self._rows.append(np.concatenate(parts))
        if state.tick >= self._ticks:
            self.done.set()

    def waits(self, limit: float, unanswered: Sequence[str]) -> str:
        """Return what the run waited for when its time was over, such as commands for joints."""
        if self._tick < 0:
            return (
                f"after {limit:g} s the node has not subscribed to joint_states and published "
                "joint_commands or joint_commands_by_mode"
            )
        t = self._tick * self._every * float(self._trial.m.opt.timestep)
        text = f"after {limit:g} s the node has not answered the state of {t:g} s"
        return f"{text} for {listing(unanswered)}"

    def run(self) -> Run:
        """Return the facts of the run."""
        trial = self._trial
        names = (varied.name for varied in trial.varied)
        values = dict(zip(names, self._samples[0].tolist(), strict=True))
        state = hashed(*self._last)
        self._score.total[list(SUMS)] *= self._every  # a tick is so many timesteps
        found = measures(trial, self._score, 0)
        if self._diverged:
            why = "the state is not finite"
            return Run(self._seed, DIVERGED, why, values, dict.fromkeys(found), state)
        if trial.functions:
            rows = np.array(self._rows)
            try:
                seen = history(trial, rows, self._every, self._seed, values)
                found |= own_measures(trial, seen)
            except MeasureError as error:
                return Run(self._seed, MEASURE_FAILED, str(error), values, found, state)
        return Run(self._seed, FINISHED, "", values, found, state)


def _checked(trial: Trial, m: Model) -> Model:
    """Return the Model of the simulator, which must be the trial's."""
    if m.sha256() != trial.m.sha256():
        text = f"the robot of {quote(trial.robot_file.path, 200)} has changed since the trial"
        raise refusal(f"{text} was read, or this machine has another one", "changed-file")
    return m


def _parameters(trial: Trial, seed: int, recorded: Path | None) -> dict[str, Any]:
    """Return the parameters of the simulator node for a run."""
    file, node = trial.robot_file, trial.controller.node
    assert node is not None
    at = {name: float(x[0]) for name, x in faults(trial, sample(trial, [seed])).items()}
    found: dict[str, Any] = {
        "scene" if file.is_scene else "urdf": file.path,
        "floating_base": file.floating_base and not file.is_scene,
        "contact": file.contact and not file.is_scene,
        "strict": file.strict,
        "xacro_args": [f"{name}:={value}" for name, value in file.file.xacro_args.items()],
        "package_dirs": [str(folder) for folder in file.file.package_dirs],
        "timestep": float(trial.m.opt.timestep),
        "exact_stops": trial.m.opt.exact_stops,
        "control_decimation": trial.controller.every,
        "time_mode": "lockstep",
        "lockstep_timeout": 0.0,
        "realtime": "off",
        "seed": seed,
        "faults.command_delay": at["command_delay"],
        "faults.command_drop": at["command_drop"],
        "faults.state_delay": at["state_delay"],
        "faults.encoder_noise": [at["position_noise"]],
        "faults.velocity_noise": [at["velocity_noise"]],
    }
    if node.joints:
        found["lockstep_joints"] = list(node.joints)
    if recorded is not None:
        found["record"] = str(recorded)
    return found

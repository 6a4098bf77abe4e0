# SPDX-License-Identifier: Apache-2.0
"""Simulate some runs of a trial side by side. A run does not depend on other runs."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.dynamics.commanded import commandable
from rbdyn_ros.rollouts.batch import Batch
from rbdyn_ros.rollouts.params import FIELDS, columns, model_array
from rbdyn_ros.trials.simulation import kernels
from rbdyn_ros.trials.simulation.laws import CommandLaw, law
from rbdyn_ros.trials.simulation.sampling import faults, params, run_model, sample, starts
from rbdyn_ros.trials.simulation.score import Score
from rbdyn_ros.trials.trial import Trial

#: The states of the actuators of a robot without actuators.
NO_ACTUATORS: Array = np.zeros(0)

#: Function that is called with the batch after every timestep.
Watcher = Callable[[Batch], None]


@dataclass(frozen=True)
class History:
    """A run in the form that user-defined measures receive.

    Attributes:
        seed: seed of the run.
        values: the sampled numbers by name.
        time: (nstep,), times at the ends of the timesteps [s].
        qpos: (nstep, nq), positions at these times.
        qvel: (nstep, nv), velocities at these times.
        effort: (nstep, nv), efforts of the joints during the timesteps [N m or N].
        reference: (nstep, nq + 2 nv), targets of qpos, qvel and qacc at these times.
    """

    seed: int
    values: dict[str, float]
    time: Array
    qpos: Array
    qvel: Array
    effort: Array
    reference: Array


class Shard:
    """Runs that advance together.

    Args:
        trial: the trial; a controller in Python allows only one run at a time.
        seeds: seeds of the runs.
        watch: called after every timestep, or None.
        controller: object that computes the commands; None: the controller of the trial.

    Attributes:
        samples: (n, len(trial.varied)), the sampled numbers.
        score: the measures.
        bad: (n,), 1 where the controller commanded a number that is not finite.
        batch: the robots.

    Raises:
        ParameterError: a robot cannot have a sampled number, or the controller cannot be loaded.
        DescriptionError: an actuator cannot have a sampled number.
    """

    def __init__(
        self, trial: Trial, seeds: Sequence[int], watch: Watcher | None = None,
        controller: CommandLaw | None = None,
    ) -> None:  # fmt: skip
        m, n, joints = trial.m, len(seeds), trial.joints
        self.trial, self.seeds, self._watch = trial, list(seeds), watch
        self.samples = sample(trial, seeds)
        # make actuators as the simulator does, even if their numbers are the same in all runs
        engine = m.opt.exact_stops or trial.actuators is not None
        self.batch = b = Batch(trial.plant, n, nthread=1, specialize=False if engine else None)
        start = starts(trial, self.samples)
        b.qpos, b.qvel = start
        self._give_params()
        self._law, found = controller or law(trial), faults(trial, self.samples)
        self._seeds = np.array(seeds, np.int64)
        self._faults = found
        command, state = (_ticks(found[name], trial) for name in ("command_delay", "state_delay"))
        self._command_delay, self._state_delay = command, state
        self._states = np.zeros((1 + int(state.max()), m.nq + m.nv, n))
        self._commands = np.zeros((1 + int(command.max()), m.nv, n))
        self._seen, self._wanted = np.zeros((m.nq + m.nv, n)), np.zeros((m.nv, n))
        self._held, self.bad = np.zeros((m.nv, n)), np.zeros(n, np.int64)
        self._largest = np.zeros(m.nv)
        for joint, (acts, count) in enumerate(zip(commandable(m), m.jnt_dofnum, strict=True)):
            dofs = slice(m.jnt_dofadr_all[joint], m.jnt_dofadr_all[joint] + count)
            self._largest[dofs] = m.jnt_effort[joint] if acts else 0.0
        self._joints = np.stack([joints.qposadr, joints.dofadr])
        self.score = Score(trial, start[0])

    def run(self) -> None:
        """Advance the runs to their end; errors that the controller raises are not caught."""
        trial, b, m = self.trial, self.batch, self.trial.m
        qpos, qvel, qfrc = b.qpos.T, b.qvel.T, b.qfrc_applied.T
        faults, every, step = self._faults, trial.controller.every, float(m.opt.timestep)
        noise = faults["position_noise"], faults["velocity_noise"]
        channel = self._command_delay, faults["command_drop"], faults["effort_scale"]
        seeds = self._seeds
        for k in range(trial.nstep):
            looks = k % every == 0
            kernels.observe(
                k, looks, seeds, self._state_delay, *noise, qpos, qvel, self._states,
                self._joints, self._seen,
            )  # fmt: skip
            if looks:
                self._law(k * step, self._seen, trial.reference[k], self._wanted)
            kernels.act(
                k, every, seeds, *channel, self._largest, self._wanted, self._commands,
                self._held, self.bad, qfrc,
            )  # fmt: skip
            b.step()
            self.score.add(k, qpos, qvel, qfrc)
            if self._watch is not None:
                self._watch(b)

    def values(self, i: int) -> dict[str, float]:
        """Return the sampled numbers of a run by name."""
        names = (varied.name for varied in self.trial.varied)
        return dict(zip(names, self.samples[i].tolist(), strict=True))

    def ends(self, i: int) -> str:
        """Return a hash of the last state of a run; equal runs have equal hashes."""
        b = self.batch
        return hashed(b.qpos[i], b.qvel[i], b.act[i] if self.trial.actuators else NO_ACTUATORS)

    def _give_params(self) -> None:
        """Write the parameters that differ between the robots to the batch."""
        m = self.trial.m
        if self.trial.actuators is not None:
            self._give_models()
            return
        for i, row in enumerate(self.samples):
            for given in columns(m, params(self.trial, row)):
                array = self.batch.expand(given.array)
                array[i].reshape(-1)[:] = _changed(array[i], given.places, given.values[0])

    def _give_models(self) -> None:
        """Write all numbers that differ between the Models of the runs to the batch."""
        trial, b = self.trial, self.batch
        models = [run_model(trial, seed, trial.m) for seed in self.seeds]
        for name in FIELDS:
            arrays = np.array([model_array(m, name) for m in models])
            if (arrays != model_array(trial.plant, name)).any():
                b.expand(name)[:] = arrays


class HistoryWatcher:
    """A watcher that stores all states of some runs."""

    def __init__(self, trial: Trial, runs: int) -> None:
        m = trial.m
        self._trial, self._row = trial, 0
        self.rows = np.zeros((trial.nstep, runs, m.nq + 2 * m.nv))

    def __call__(self, batch: Batch) -> None:
        """Store the present state of the batch."""
        parts = batch.qpos, batch.qvel, batch.qfrc_applied
        self.rows[self._row] = np.concatenate(parts, axis=1)
        self._row += 1

    def history(self, i: int, seed: int, values: dict[str, float]) -> History:
        """Return the history of run i, given its seed and sampled values."""
        return history(self._trial, self.rows[:, i], 1, seed, values)


def history(trial: Trial, rows: Array, every: int, seed: int, values: dict[str, float]) -> History:
    """Return the history of a run.

    Args:
        trial: the trial of the run.
        rows: (n, nq + 2 nv), qpos, qvel and efforts after each `every` timesteps.
        every: number of timesteps from one row to the next.
        seed: seed of the run.
        values: the sampled numbers of the run.
    """
    m, steps = trial.m, every * np.arange(1, len(rows) + 1)
    qpos, qvel, effort = np.split(rows, [m.nq, m.nq + m.nv], axis=1)
    time: Array = steps * np.float64(m.opt.timestep)
    return History(seed, values, time, qpos, qvel, effort, trial.reference[steps])


def hashed(qpos: Array, qvel: Array, act: Array = NO_ACTUATORS) -> str:
    """Return 16 hexadecimal digits of the SHA-256 hash of a state."""
    return hashlib.sha256(np.concatenate([qpos, qvel, act]).tobytes()).hexdigest()[:16]


def _ticks(seconds: Array, trial: Trial) -> Ints:
    return np.rint(seconds / float(trial.m.opt.timestep)).astype(np.int64)


def _changed(array: Array, places: Ints, values: Array) -> Array:
    flat: Array = array.reshape(-1).copy()
    flat[places] = values
    return flat

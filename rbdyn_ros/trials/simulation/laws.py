# SPDX-License-Identifier: Apache-2.0
"""The controller for a shard of runs: compiled for several runs at once, or called in Python."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.rollouts.law import APPLIED, REFERENCE, law_of
from rbdyn_ros.rollouts.policies import Policy
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.trials.simulation.kernels import call_law
from rbdyn_ros.trials.trial import Trial


class CommandLaw(Protocol):
    """The interface of a controller: computes the commands of all runs."""

    def __call__(self, time: float, seen: Array, reference: Array, commands: Array) -> None:
        """Write commands (nv, n) for measured states (nq + nv, n) and a row of the reference."""


def law(trial: Trial) -> CommandLaw:
    """Return the controller of a trial, for a shard of its runs."""
    return PythonLaw(trial) if trial.controller.isolated else CompiledLaw(trial)


class CompiledLaw:
    """A law that is traced and compiled; the commands for a run do not depend on other runs.

    Raises:
        ParameterError: the user's function cannot be traced.
        ModelError: the law does not support the Model.
    """

    def __init__(self, trial: Trial) -> None:
        m, controller = trial.m, trial.controller
        code = controller.code
        policy = controller.policy if code is None else code.load()
        self._width = m.nq + 2 * m.nv
        if isinstance(policy, Policy):
            self._width = policy.widths(m)[-1]
        made = law_of(m, policy, self._width)
        made.check_repeatable()
        lanes = compile_lanes({"law": made.program()})
        self._address, unused = lanes.address("law"), lanes.size
        # the last slot receives the inputs that the law does not read
        self._at, self._memory = replace(lanes, size=unused + 1).memory()
        for name, gain in made.gains.items():
            first, length = lanes.slots.get(name, (0, 0))
            self._memory[first : first + length] = np.broadcast_to(gain, m.nv)[:length, None]

        def slots(name: str, count: int) -> Any:
            first, length = lanes.slots.get(name, (0, 0))
            known = first + np.arange(count)
            return np.where(np.arange(count) < length, known, unused)

        sizes = {"qpos": m.nq, "qvel": m.nv, REFERENCE: self._width, APPLIED: m.nv, "time": 1}
        self._slots = np.concatenate([slots(*each) for each in sizes.items()])

    def __call__(self, time: float, seen: Array, reference: Array, commands: Array) -> None:
        """Write the commands of all runs."""
        row = reference[: self._width]
        call_law(self._address, self._at, self._memory, time, seen, row, self._slots, commands)


class PythonLaw:
    """A Python controller of one run: a function of (t, qpos, qvel, reference), or a class.

    A class is called with m, and its object is then used as the function.

    Raises:
        ParameterError: the file cannot be run, or lacks the function.
    """

    def __init__(self, trial: Trial) -> None:
        code = trial.controller.code
        assert code is not None
        found = code.load()
        self._function = found(trial.m) if isinstance(found, type) else found
        self._nq, self._name = trial.m.nq, code.name

    def __call__(self, time: float, seen: Array, reference: Array, commands: Array) -> None:
        """Write the commands of the run; raise ParameterError for an array of another shape."""
        state = seen[:, 0].copy()  # a copy, because the function may keep the array
        row = reference.copy()
        given = self._function(time, state[: self._nq], state[self._nq :], row)
        found = np.asarray(given, dtype=np.float64)
        if found.shape != commands[:, 0].shape:
            text = f"{self._name} returned an array of shape {found.shape}"
            raise bad_argument("policy", f"{text}; allowed is one force per degree of freedom, "
                               f"({len(commands)},)")  # fmt: skip
        commands[:, 0] = found

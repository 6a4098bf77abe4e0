# SPDX-License-Identifier: Apache-2.0
"""Change the simulated robot of a loop between two ticks: its Model, faults and state."""

import threading

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.dynamics.carrying import carry_data
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import ModelError, refusal
from rbdyn_ros.model.connected import coordinate_joints
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.carrying import carried_faults, measure_new
from rbdyn_ros.runtime.kernels import edits
from rbdyn_ros.runtime.preparation import delays_in_ticks, models_with
from rbdyn_ros.runtime.requests import Requests
from rbdyn_ros.runtime.settings import STANDS
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.step_code import StepCode
from rbdyn_ros.runtime.types import PER_DOF, Faults


class Plant:
    """The simulated robot of a loop. Any thread may use it.

    All changes raise RbdynError if the loop does not answer.

    Args:
        s: memory shared with the loop.
        requests: sends requests to the loop.
        m: the robot.
        start: (nq,) position at the start.
        faults: faults from the first tick on.
        specialize: whether to compile the timestep for this robot.

    Attributes:
        m: the simulated Model, with exchanged parameters, stuck joints and specialised timesteps.
        faults: the present faults.

    Raises:
        ModelError: the robot cannot be specialised.
        ParameterError: a delay among the faults exceeds the memory of the channel.
    """

    def __init__(
        self,
        s: Shared,
        requests: Requests,
        m: Model,
        start: Array,
        faults: Faults,
        specialize: bool = False,
    ) -> None:
        self._shared, self._requests = s, requests
        # hold the lock from reading Model and faults until the new Model and faults are stored
        self._lock = threading.Lock()
        self._step_code = StepCode(m) if specialize else None
        self._without_faults = m
        s.start_qpos[:] = start
        self._d = make_data(m)
        self._d.qpos = start
        if self._step_code is not None:
            self._step_code.install(self._d)
        self.set_faults(faults)
        self._still = make_data(self._models[1])
        s.row_address[()], s.still_address[()] = self._d.address, self._still.address

    @property
    def d(self) -> Data:
        """The simulated Data; read it only while the loop does not run."""
        return self._d

    def begin_with(self, qvel: Array | None) -> None:
        """Set the velocity (nv,) at the start, before the loop runs; None: zero."""
        self._d.qvel = 0.0 if qvel is None else qvel

    @property
    def rows(self) -> tuple[Array, Array]:
        """The arrays of all numbers of the simulated Data, and of the Data for efforts."""
        return self._d.buffer, self._still.buffer

    def set_faults(self, faults: Faults) -> None:
        """Change the faults from the next tick on.

        Raises:
            ParameterError: a delay exceeds the memory of the channel.
        """
        with self._lock:
            self._set_faults(faults)

    def _set_faults(self, faults: Faults) -> None:
        s = self._shared
        ticks = delays_in_ticks(s, faults)
        arrays = [getattr(faults, name) for name in PER_DOF]
        floats = [[faults.command_drop, faults.state_drop], *arrays, faults.stuck]
        models = self._models_with(self._without_faults, faults)

        def fill(s: Shared) -> None:
            s.edit_fault_words[:] = [*ticks, faults.link_loss]
            s.edit_fault_floats[:] = np.concatenate(floats)
            _write_models(s, models)

        if self._requests.running:
            self._requests.edit(edits.FAULTS, fill, models)
        else:  # no loop runs: change the state as the loop would
            fill(s)
            s.fault_words[:], s.fault_floats[:] = s.edit_fault_words, s.edit_fault_floats
            s.models[:] = s.edit_models
        self.faults, self._models, self.m = faults, models, models[0]

    def _models_with(self, m: Model, faults: Faults) -> tuple[Model, Model, Model]:
        """Return the Models of models_with; raise ModelError if the compiled step does not fit."""
        braked = self._shared.dof_held == STANDS
        if self._step_code is None:
            return models_with(m, faults, braked)
        models = models_with(m.replaced(), faults, braked)  # a copy, as options may change
        self._step_code.check(models[0])
        return models

    def exchange(self, m: Model) -> None:
        """Replace the simulated Model by a Model with the same layout, between two ticks.

        Raises:
            ModelError: the timestep is specialised and m differs in more than inertia and gravity.
        """
        assert m.data_slots == self.m.data_slots
        with self._lock:
            models = self._models_with(m, self.faults)

            def fill(s: Shared) -> None:
                _write_models(s, models)

            self._requests.edit(edits.MODELS, fill, models)
            self._without_faults, self._models, self.m = m, models, models[0]

    def check_move(self, m: Model) -> None:
        """Raise RbdynError if the specialised timestep does not fit a Model with other objects."""
        try:
            if self._step_code is not None:
                self._step_code.check(m)
        except ModelError as error:
            raise refusal(
                "the timestep is compiled for this robot alone, so nothing can be attached or "
                "spawned; start the simulator without specialize",
                "specialized",
            ) from error

    def move(
        self,
        s: Shared,
        base: Model,
        m: Model,
        start: Array,
        match: Match,
        of_new: Faults | None = None,
    ) -> None:
        """Continue with a Model that has other objects. Call it only while no loop runs.

        Args:
            s: memory in which the loop continues; this method fills it.
            base: the Model without payloads; new parts start at its qpos0.
            m: the Model to simulate; check_move has accepted it.
            start: (nq,) position after a reset.
            match: match of the present Model with base.
            of_new: faults of the new joints; None: they have no faults.
        """
        with self._lock:
            self._without_faults, self.faults = m, carried_faults(self.faults, match, of_new)
            self._models = models_with(m, self.faults, s.dof_held == STANDS)
            self.m = self._models[0]
            row, still = make_data(self.m), make_data(self._models[1])
            row.qpos = still.qpos = base.qpos0
            carry_data(self._d, row, match)
            carry_data(self._still, still, match)
            self._d, self._still = row, still
            if self._step_code is not None:
                self._step_code.install(row)
        s.models[:] = [model.address for model in self._models]
        s.row_address[()], s.still_address[()] = row.address, still.address
        for name in (*PER_DOF, "stuck"):
            getattr(s, name)[:] = getattr(self.faults, name)
        s.start_qpos[:] = start
        measure_new(s, row, match)

    def set_state(self, qpos: Array, qvel: Array, qpos_given: Bools, qvel_given: Bools) -> None:
        """Set some coordinates between two ticks.

        A robot or object continues unchanged if no coordinate of it or of a connected part is
        given, unless the state has diverged. While time is paused or in lock-step, the new state
        has a tick of its own.

        Args:
            qpos: (nq,) positions, all finite.
            qvel: (nv,) velocities, all finite.
            qpos_given: (nq,) mask of the entries of qpos to set.
            qvel_given: (nv,) mask of the entries of qvel to set.
        """
        m = self.m
        joints, dofs = coordinate_joints(m)[qpos_given], m.dof_bodyid[qvel_given]

        def fill(s: Shared) -> None:
            s.edit_qpos[:], s.edit_qvel[:] = qpos, qvel
            s.edit_qpos_given[:], s.edit_qvel_given[:] = qpos_given, qvel_given
            moved = s.body_group[np.append(joints + 1, dofs)]
            s.edit_moved[:] = np.isin(s.body_group, moved)

        self._requests.edit(edits.SET_STATE, fill)

    def reset(self, time: bool = False, state: bool = True, seed: int | None = None) -> None:
        """Reset state, time or both, and restart the random numbers; this counts as a tick.

        Faults and an exchanged Model stay as they are.

        Args:
            time: whether to set time to 0; otherwise it continues.
            state: whether to return the robot to the start position at rest, and end commands,
                wrenches and divergence.
            seed: seed of all random numbers; None: the present seed.
        """
        words = time * edits.TIME + state * edits.STATE, seed is not None, seed or 0

        def fill(s: Shared) -> None:
            s.edit[1:] = words

        self._requests.edit(edits.RESET, fill)


def _write_models(s: Shared, models: tuple[Model, Model, Model]) -> None:
    s.edit_models[:] = [m.address for m in models]

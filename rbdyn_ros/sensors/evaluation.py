# SPDX-License-Identifier: Apache-2.0
"""Evaluate a state by rb.forward, with the efforts and external forces that acted in it.

All readings of a state use the acceleration and forces of this evaluation, as MuJoCo's sensordata
use the results of mj_forward.
"""

from typing import Protocol

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.dynamics.commanded import with_blocked
from rbdyn_ros.dynamics.instant import contact_on_bodies, remember_friction
from rbdyn_ros.dynamics.stages import aba, forward, make_data
from rbdyn_ros.model.model import Model


class StateLike(Protocol):
    """The attributes of a simulated state that sensors read; see LoopState."""

    @property
    def tick(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def qpos(self) -> Array: ...
    @property
    def qvel(self) -> Array: ...
    @property
    def effort(self) -> Array: ...
    @property
    def act(self) -> Array: ...
    @property
    def xfrc(self) -> Array: ...
    @property
    def stick(self) -> Array: ...
    @property
    def stick_qfrc(self) -> Array: ...
    @property
    def blocked(self) -> Bools: ...


class Evaluation:
    """Evaluates states of a robot in a Data of its own.

    Args:
        plant: the simulated Model.

    Attributes:
        plant: the simulated Model.
        m: the plant with the blocked dofs of the last state.
        d: the Data of m, in the last state.
        contact: (nbody, 6) contact wrenches on the bodies, in the form of Data.xfrc_applied.
    """

    def __init__(self, plant: Model) -> None:
        self.plant, self._made_for = plant, (bytes(plant.nv), repr(plant.opt))
        self.m, self.d = plant, make_data(plant)
        forward(self.m, self.d)  # compile the kernels before the simulation starts
        aba(self.m, self.d)
        self.contact = np.zeros((plant.nbody, 6))

    def enter(self, state: StateLike) -> None:
        """Compute the acceleration and the forces of a state."""
        wanted = state.blocked.tobytes(), repr(self.plant.opt)
        if wanted != self._made_for:
            self._made_for, self.m = wanted, with_blocked(self.plant, state.blocked)
            self.d = make_data(self.m)
        m, d = self.m, self.d
        d.time = state.time
        d.qpos[:], d.qvel[:] = state.qpos[: m.nq], state.qvel[: m.nv]
        d.qfrc_applied[:], d.xfrc_applied[:] = state.effort[: m.nv], state.xfrc
        d.act[:], d.stick_qfrc[:] = state.act, state.stick_qfrc
        remember_friction(d, state.stick)
        forward(m, d)
        # qacc at this state, without the change of velocity in a free body's drift (flight.py)
        aba(m, d)
        if m.ncontact > 0:
            self.contact[:] = contact_on_bodies(m, d)

# SPDX-License-Identifier: Apache-2.0
"""The controller inside a simulated arm, which adds terms to efforts and hides them in readings.

Real arms do this behind their drivers, see config/arms. The terms are computed from the robot
file, without payloads, at the state in which a command arrives or an effort is measured.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.terms import coriolis_term, gravity_term
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import EFFORT, Command

#: Below this speed dry friction decreases linearly to 0 [rad/s or m/s], as in the engine.
SLIDING = 1e-3


def policy_of(values: SimpleNamespace) -> str:
    """Return the policy for expired commands; an arm may compensate gravity at zero effort."""
    if values.on_timeout == "zero" and values.robot_compensates_gravity:
        return "gravity"
    policy: str = values.on_timeout
    return policy


class SimulatedDriver:
    """Adds and hides the terms that the parameters name; only one thread at a time may use it.

    Args:
        loop: loop of the robot.
        values: values of the parameters robot_compensates_* and effort_includes_gravity.

    Attributes:
        hides: whether measured efforts do not include gravity.
    """

    def __init__(self, loop: Loop, values: SimpleNamespace) -> None:
        self._loop = loop
        self._gravity: bool = values.robot_compensates_gravity
        self._coriolis: bool = values.robot_compensates_coriolis
        self._friction: bool = values.robot_compensates_friction
        self.hides: bool = not values.effort_includes_gravity
        self._m, self._d = loop.m, make_data(loop.m)

    @staticmethod
    def of(loop: Loop, values: SimpleNamespace) -> "SimulatedDriver | None":
        """Return the driver, or None if the arm adds no efforts of its own.

        Raises:
            ParameterError: measured efforts leave out gravity, but the arm does not add it.
        """
        adds = (
            values.robot_compensates_gravity,
            values.robot_compensates_coriolis,
            values.robot_compensates_friction,
        )
        if not values.effort_includes_gravity and not values.robot_compensates_gravity:
            text = (
                "effort_includes_gravity and robot_compensates_gravity are both false; measured "
                "efforts leave out gravity only if the robot itself compensates it"
            )
            raise ParameterError(Finding("driver", text, "error", "effort_includes_gravity"))
        return SimulatedDriver(loop, values) if any(adds) else None

    def added(self, command: Command) -> Command:
        """Return a command whose efforts include the terms that the arm adds."""
        efforts = command.mode == EFFORT
        if not efforts.any():
            return command
        own = self._own(self._loop.readout.latest())[command.dofs]
        return replace(command, effort=command.effort + np.where(efforts, own, 0.0))

    def reported(self, state: LoopState) -> Array:
        """Return the measured numbers of a state, without gravity if `hides`."""
        measured = state.measured
        if self.hides:
            self._place(state)
            n = self._m.nvall
            measured = measured.copy()
            measured[2 * n : 2 * n + self._m.nv] -= gravity_term(self._m, self._d)
        return measured

    def _own(self, state: LoopState) -> Array:
        """Return the terms that the arm adds (nv,) [N m or N]."""
        self._place(state)
        m, d, total = self._m, self._d, np.zeros(self._m.nv)
        if self._gravity:
            total += gravity_term(m, d)
        if self._coriolis:
            total += coriolis_term(m, d)
        if self._friction:
            total += friction(m, d.qvel)
        return total

    def _place(self, state: LoopState) -> None:
        if self._loop.m is not self._m:  # the loop has another Model, with other objects
            self._m, self._d = self._loop.m, make_data(self._loop.m)
        self._d.qpos, self._d.qvel = state.qpos, state.qvel


def friction(m: Model, qvel: Array) -> Array:
    """Return the friction of the robot file at the velocity qvel (nv,) [N m or N]."""
    slides = np.clip(qvel / SLIDING, -1.0, 1.0)
    total: Array = m.dof_damping * qvel + m.dof_frictionloss * slides
    return total

# SPDX-License-Identifier: Apache-2.0
"""Checks before an arm is armed: the measured efforts must agree with the model."""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.kernels import entry
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.laws.joint_laws import checked_gains
from rbdyn_ros.control.states.measured import Measured
from rbdyn_ros.engine.compiler.jit import Matrix
from rbdyn_ros.errors import RbdynError, apart, refusal

#: Time constant of the average of measured efforts [s].
AVERAGED = 0.1
#: Above this speed measured efforts are not comparable with g [rad/s or m/s].
FASTEST = 0.05
#: Default tolerance, as a fraction of a joint's effort limit.
TOLERATED = 0.1


class EffortCheck:
    """Compares measured joint efforts with g(qpos).

    Args:
        arm: the robot.
        limits: limits of the controlled joints.
        settings: arm_tolerance, arm_without_effort and effort_includes_gravity.

    Raises:
        ParameterError: a tolerance is negative, or the number of tolerances is wrong.
    """

    def __init__(self, arm: Arm, limits: Limits, settings: ControlSettings) -> None:
        self._arm, self._names = arm, limits.names
        self._dofs = np.array(limits.dofs, np.int64)
        self._unmeasured = settings.arm_without_effort
        # subtract the robot's own gravity compensation if the measurement contains it
        self._own_measured = arm.robot_compensates_gravity and settings.effort_includes_gravity
        given = checked_gains("arm_tolerance", settings.arm_tolerance, len(limits.names))
        self._tolerance = np.where(given > 0.0, given, TOLERATED * limits.effort)
        n = arm.m.nv
        self._memory, self._speed = np.full((2, n), np.nan), 0.0
        self._qpos, self._mean = self._memory
        self._qpos[:] = 0.0

    def use(self, arm: Arm) -> None:
        """Continue with another arm with the same joints."""
        self._arm = arm

    def add(self, seen: Measured, dt: float) -> None:
        """Average the efforts of a valid state, `dt` [s] after the previous state."""
        share = -math.expm1(-dt / AVERAGED)
        self._speed = _average.call(seen.state, self._dofs, share, self._memory)

    def holding(self, arm: Arm | None = None) -> Array:
        """Return the commands (nv,) that hold an arm where it is; None: the present arm."""
        arm = arm or self._arm
        return arm.without_own(arm.gravity_effort(self._qpos, np.empty(arm.m.nv)), self._qpos)

    def _measured(self) -> Array:
        """Return the mean measured efforts as commands (nv,)."""
        measured: Array = self._mean.copy()
        if self._own_measured:
            self._arm.without_own(measured, self._qpos)
        return measured

    def check(self, arm: Arm | None = None) -> None:
        """Raise RbdynError if the arm moves, or if efforts are missing or disagree with the model.

        Args:
            arm: the model, for example with another payload; None: the present model.
        """
        holding = self.holding(arm)
        if not self._speed <= FASTEST:
            what = "so that its efforts can be compared with the model"
            raise refusal(f"{moving(self._speed)} {what}", "moving")
        k, measured = self._dofs, self._measured()
        off = (measured - holding)[k]
        unknown = np.isnan(off)
        if unknown.any() and not self._unmeasured:
            name = self._names[int(unknown.argmax())]
            message = (
                f"joint '{name}' reports no effort, so the model cannot be compared with the "
                "arm; set parameter arm_without_effort to arm without this check"
            )
            raise refusal(message, "no-effort", name)
        off[unknown] = 0.0
        worst = int((np.abs(off) / self._tolerance).argmax())
        if abs(off[worst]) > self._tolerance[worst]:
            found, most = apart(abs(off[worst]), self._tolerance[worst], digits=3)
            message = (
                f"joint '{self._names[worst]}' measures {measured[k][worst]:.4g} where the model "
                f"needs {holding[k][worst]:.4g} to hold the arm: {found} apart; at most {most} "
                "is allowed. Check the model, the mounting and the payload"
            )
            raise refusal(message, "effort-mismatch", self._names[worst])

    def check_payload(self, arm: Arm) -> None:
        """Raise RbdynError unless an arm with another payload agrees with the measured efforts.

        They must agree better with the other payload than with the present payload, because a
        small missing payload is within the tolerance.
        """
        self.check(arm)
        k, before = self._dofs, self.holding()
        change = (self.holding(arm) - before)[k] / self._tolerance
        seen = (self._measured() - before)[k] / self._tolerance
        known = ~np.isnan(seen)
        if not float(change[known] @ (seen - 0.5 * change)[known]) < 0.0:
            return
        worst = int(np.where(known, np.abs(change), 0.0).argmax())
        name, unit = self._names[worst], self._tolerance[worst]
        message = (
            f"the measured efforts do not show this payload: joint '{name}' would need "
            f"{change[worst] * unit:.4g} more and measures {seen[worst] * unit:.4g} more. Declare "
            "a payload while the arm carries it, or while it is disarmed"
        )
        raise refusal(message, "payload-mismatch", name)


def moving(speed: float) -> str:
    """Return the message about an arm whose speed is above FASTEST."""
    found, most = apart(speed, FASTEST, digits=3)
    return f"the arm moves at {found} rad/s; it must rest (below {most} rad/s)"


def holdable(arm: Arm, limits: Limits, qpos: Array) -> bool:
    """Return whether efforts within the limits can hold the arm at qpos (nv,)."""
    try:
        check_holdable(arm, limits, qpos)
    except RbdynError:
        return False
    return True


def check_holdable(arm: Arm, limits: Limits, qpos: Array) -> None:
    """Raise RbdynError unless efforts within the limits can hold the arm at qpos (nv,).

    Efforts for gravity that the robot compensates itself count, too.
    """
    needed = arm.gravity_effort(qpos, np.empty(arm.m.nv))[limits.dofs]
    for k in np.flatnonzero(~(np.abs(needed) <= limits.effort))[:1]:
        effort, most, _ = apart(needed[k], limits.effort[k], -limits.effort[k], digits=4)
        unit = "N" if limits.units[k] == "m" else "N m"
        message = (
            f"joint '{limits.names[k]}' would need {effort} {unit} to hold the arm where it is; "
            f"its effort limit is {most} {unit}"
        )
        raise refusal(message, "too-heavy", limits.names[k])


@entry
def _average(state: Matrix, dofs: Ints, share: float, memory: Matrix) -> float:
    """Store the position and update the mean efforts. Return the largest speed of the dofs.

    `state` (3, nv) are positions, velocities and efforts. The mean efforts approach the efforts by
    the fraction `share`. `memory` (2, nv) receives the positions and the mean efforts.
    """
    for k in range(state.shape[1]):
        effort, mean = state[2, k], memory[1, k]
        memory[0, k] = state[0, k]
        memory[1, k] = effort if np.isnan(mean) else mean + share * (effort - mean)
    fastest = 0.0
    for k in dofs:
        fastest = max(fastest, abs(state[1, k]))
    return fastest

"""The look at measured efforts before an arm is armed: does the model carry this arm?"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.laws import checked_gains
from rbdyn_ros.control.limits import Limits
from rbdyn_ros.control.measured import Measured
from rbdyn_ros.control.settings import Settings

#: Efforts are averaged over about this time [s].
AVERAGED = 0.1
#: Of an arm that moves faster, g says little about its efforts [rad/s or m/s].
FASTEST = 0.05
#: Share of the limit of its effort by which a joint may differ from g if nothing else is said.
TOLERATED = 0.1


class EffortCheck:
    """Compares g(qpos) with what the joints measure.

    Args:
        arm: the robot.
        limits: of the controlled joints.
        settings: arm_tolerance and what efforts are measured with.

    Raises:
        ParameterError: a tolerance is negative, or there is another number of them.
    """

    def __init__(self, arm: Arm, limits: Limits, settings: Settings) -> None:
        self._arm, self._names, self._dofs = arm, limits.names, limits.dofs
        self._unmeasured = settings.arm_without_effort
        # what the robot compensates itself is in the measurement, so it must be taken out of it
        self._own_measured = arm.robot_compensates_gravity and settings.effort_includes_gravity
        given = checked_gains("arm_tolerance", settings.arm_tolerance, len(limits.names))
        self._tolerance = np.where(given > 0.0, given, TOLERATED * limits.effort)
        n = arm.m.nv
        self._qpos, self._mean, self._speed = np.zeros(n), np.full(n, np.nan), 0.0
        self._last, self._row = np.full(n, np.nan), np.zeros(n)

    def use(self, arm: Arm) -> None:
        """Compare with an arm of the same joints from now on."""
        self._arm = arm

    def add(self, seen: Measured, dt: float) -> None:
        """Look at a good state, `dt` after the one before [s]."""
        self._qpos[:], self._last[:] = seen.qpos, seen.effort
        self._speed = float(np.abs(seen.qvel[self._dofs]).max())
        share = -math.expm1(-dt / AVERAGED)
        unknown = np.isnan(self._mean)
        self._mean += share * (seen.effort - self._mean)
        self._mean[unknown] = seen.effort[unknown]

    def _holding(self) -> Array:
        """Return the commands that hold the arm (nv,)."""
        return self._arm.without_own(self._arm.gravity_effort(self._qpos, self._row), self._qpos)

    def command(self) -> Array:
        """Return (nv,) the command that the efforts measured last amount to.

        It is no farther from what holds the arm than is tolerated: one measurement may be wrong.
        """
        measured = self._last.copy()
        if self._own_measured:
            self._arm.without_own(measured, self._qpos)
        holding, k = self._holding(), self._dofs
        off = np.where(np.isnan(measured), 0.0, measured - holding)[k]
        command: Array = holding.copy()
        command[k] += np.clip(off, -self._tolerance, self._tolerance)
        return command

    def why_not(self) -> str:
        """Return why the arm must not be armed, or nothing."""
        if not self._speed <= FASTEST:
            return (
                f"the arm moves, at {self._speed:.3g}; it must rest (below {FASTEST:g} rad/s) to "
                "compare its efforts with g"
            )
        k = self._dofs
        measured = self._mean.copy()
        if self._own_measured:
            self._arm.without_own(measured, self._qpos)
        off = (measured - self._holding())[k]
        unknown = np.isnan(off)
        if unknown.any() and not self._unmeasured:
            name = self._names[int(unknown.argmax())]
            return (
                f"joint '{name}' measures no effort, so the model cannot be compared with the "
                "arm; parameter arm_without_effort arms all the same"
            )
        off[unknown] = 0.0
        worst = int((np.abs(off) / self._tolerance).argmax())
        if abs(off[worst]) > self._tolerance[worst]:
            expected = self._holding()[k][worst]
            return (
                f"joint '{self._names[worst]}' measures {measured[k][worst]:.4g} where the model "
                f"needs {expected:.4g} to hold the arm; the difference may be "
                f"{self._tolerance[worst]:.3g}. Is it the right model, mounting and payload?"
            )
        return ""


def too_heavy(arm: Arm, limits: Limits, qpos: Array) -> str:
    """Return why no efforts within limits hold the arm at qpos (nv,), or nothing.

    Whatever its robot compensates, it is the joints that have to carry it.
    """
    needed = arm.gravity_effort(qpos, np.empty(arm.m.nv))[limits.dofs]
    for k in np.flatnonzero(~(np.abs(needed) <= limits.effort))[:1]:
        return (
            f"joint '{limits.names[k]}' would need {needed[k]:.4g} to hold the arm where it is; "
            f"the limit of its effort is {limits.effort[k]:.4g}"
        )
    return ""

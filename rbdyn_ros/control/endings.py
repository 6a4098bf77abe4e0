"""Stop an armed arm after a fault: brake and hold it, or hold it blindly and then stay silent.

With valid states the arm is braked by gravity compensation with damping until it rests, and then
held. Without states it gets g at the last valid position, for blind_time in total. Then nothing
is published any more, so that the arm's own watchdog takes over.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.laws import ComputedTorque, GravityCompensation
from rbdyn_ros.control.settings import ControlSettings
from rbdyn_ros.control.target import Target

#: Rate at which motion decays while the arm is braked [1/s].
BRAKING = 10.0
#: The arm rests if it stays below this speed [rad/s or m/s] for this time [s].
REST, RESTING = 0.01, 0.1
#: After this time it is held anyway, as with a wrong model it may never rest [s].
LONGEST_BRAKING = 1.0


class Ending:
    """Computes the efforts after a fault.

    Args:
        arm: the robot.
        settings: gains of holding, and blind_time.
        others: dofs that are not controlled; they are not held.

    Attributes:
        state: braking, holding, blind or silent.
    """

    def __init__(self, arm: Arm, settings: ControlSettings, others: Ints) -> None:
        self._arm, self._blind_time = arm, settings.blind_time
        self._brake = GravityCompensation(arm, BRAKING)
        self._hold = ComputedTorque(arm, settings.stiffness, settings.damping)
        self._target, self._row = Target(arm.m.nv), np.zeros(arm.m.nv)
        self._others = others
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm = arm
        self._brake.use(arm)
        self._hold.use(arm)

    def begin(self) -> None:
        """Start after a fault."""
        self._blind = 0.0
        self._start_braking()

    def _start_braking(self) -> None:
        self.state = "braking"
        self._braking = self._resting = 0.0

    def seeing(self, qpos: Array, qvel: Array, dt: float) -> Array | None:
        """Return the efforts (nv,) for a valid state; None: stay silent."""
        if self.state == "silent":
            return None
        if self.state == "blind":
            self._start_braking()
        if self.state == "braking":
            self._braking += dt
            self._resting = self._resting + dt if np.abs(qvel).max() < REST else 0.0
            if self._resting > RESTING or self._braking > LONGEST_BRAKING:
                self.state = "holding"
                self._target.rest_at(qpos)
        self._target.let_go(self._others, qpos, qvel)
        law = self._brake if self.state == "braking" else self._hold
        return law(qpos, qvel, self._target)

    def blind(self, qpos: Array, dt: float) -> Array | None:
        """Return the efforts (nv,) at the last known position; None: stay silent."""
        if self.state == "silent":
            return None
        self._blind += dt if self.state == "blind" else 0.0
        self.state = "blind" if self._blind <= self._blind_time else "silent"
        if self.state == "silent":
            return None
        return self._arm.without_own(self._arm.gravity_effort(qpos, self._row), qpos)

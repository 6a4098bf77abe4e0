# SPDX-License-Identifier: Apache-2.0
"""Compliant motions: force mode, freedrive, and torques of the client."""

from dataclasses import dataclass, field

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.control_box.laws import At
from rbdyn_ros.control_box.paths import gap_between
from rbdyn_ros.control_box.ur.moves import DAMPING, Course, Move, Streamed
from rbdyn_ros.control_box.ur.sensing import ToolSensing

#: Speed of a compliant axis for a missing force or torque [m/s for N, rad/s for N m], and the
#: time constant in which it is reached [s]. The vendor's values are not public.
MOBILITY, LAG = np.array([1e-3] * 3 + [5e-2] * 3), 0.03
#: Largest speeds of a compliant axis [m/s, rad/s].
FASTEST = np.array([0.2] * 3 + [0.5] * 3)
#: Springs of the axes that freedrive holds [N/m, N m/rad], and their damping as a time [s].
HOLD, HOLD_DAMPING = np.array([3000.0] * 3 + [300.0] * 3), 0.05
#: Damping of freedrive, divided by a joint's inertia [1/s].
DRAG = 0.5


@dataclass(slots=True, eq=False)
class ForceMode:
    """force_mode: the selected axes of a task frame move until they meet a wrench.

    Attributes:
        frame: axes of the task in O (3, 3).
        selected: (6,) whether each axis is compliant.
        wanted: (6,) wrench of the robot on its surroundings, axes of the task [N, N m].
        most: (6,) largest speeds of the selected axes [m/s, rad/s].
        damping: 0 to 1; 1 stops the selected axes.
        gain: factor of the speed per missing force or torque.
    """

    frame: Array
    selected: Bools
    wanted: Array
    most: Array
    damping: float = 0.025
    gain: float = 0.5
    _speed: Array = field(default_factory=lambda: np.zeros(6))

    def apply(self, c: Course, before: Array, sensing: ToolSensing, rests: bool = False) -> None:
        """Replace the motion of a cycle along the selected axes.

        Args:
            c: the desired joints after the cycle.
            before: joints at the beginning of the cycle (6,).
            sensing: the measured forces.
            rests: whether the selected axes come to rest, as in a pause.
        """
        R = np.kron(np.eye(2), self.frame)
        # +, because the measured wrench acts on the robot
        missing = self.wanted + R.T @ sensing.wrench
        goal = 2.0 * self.gain * MOBILITY * missing * (1.0 - self.damping)
        goal = 0.0 * goal if rests else np.clip(goal, -self.most, self.most)
        self._speed += np.where(self.selected, goal - self._speed, 0.0) * (c.dt / LAG)
        J = c.arm.tool_jacobian(before, c.F_T)
        twist = R.T @ (J @ ((c.joints.x - before) / c.dt))
        wanted = R @ np.where(self.selected, self._speed, twist)
        v = np.linalg.solve(J.T @ J + DAMPING**2 * np.eye(6), J.T @ wanted)
        x = before + v * c.dt
        c.joints.x, c.joints.v, c.joints.a = x, v, 0.0 * v


class Freedrive(Move):
    """teach_mode and freedrive_mode: gravity is compensated, and a hand moves the arm.

    Args:
        free: (6,) axes of the feature that a hand may move; None: all axes.
        feature: axes of the feature in O (3, 3); None: the axes of O.
    """

    stiff = False

    def __init__(self, free: Ints | None = None, feature: Array | None = None) -> None:
        self._locked = np.zeros(6, bool) if free is None else np.asarray(free) == 0
        self._R = np.kron(np.eye(2), np.eye(3) if feature is None else feature)
        self._T: Array | None = None

    def step(self, c: Course) -> bool:  # noqa: ARG002
        return False

    def torque(self, s: At) -> Array:
        """Return the torques without gravity (6,)."""
        if self._T is None:
            self._T = s.T.copy()
        gap = gap_between(s.T, self._T)
        K = np.where(self._locked, HOLD, 0.0)
        force = self._R @ (K * (self._R.T @ (gap - HOLD_DAMPING * (s.J @ s.dq))))
        torque: Array = s.J.T @ force + s.coriolis - DRAG * np.diag(s.M) * s.dq
        return torque


class ClientTorque(Streamed):
    """direct_torque: torques of the client; the box adds gravity.

    Attributes:
        given: (6,) commanded torques [N m].
    """

    stiff = False

    def take(self, torque: Array, lasts: float) -> None:
        """Store torques (6,) [N m] that last for a time [s]; 0: until the next command."""
        self.given = np.array(torque)
        self.last(lasts)

    def step(self, c: Course) -> bool:
        self.spend(c)
        return False

    def torque(self, s: At) -> Array:  # noqa: ARG002
        """Return the torques without gravity (6,)."""
        return self.given


#: Motions that compute torques themselves.
Giving = Freedrive | ClientTorque

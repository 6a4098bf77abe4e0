# SPDX-License-Identifier: Apache-2.0
"""Measurements of a control box on the simulated arm."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.arm import BoxedJoints
from rbdyn_ros.runtime.state import LoopState

#: Below this singular value of the Jacobian the wrench is reported as zero.
SINGULAR = 2e-2


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredArm:
    """The simulated arm after a tick; all attributes have the shape (n,).

    Attributes:
        q, dq: positions and velocities as the encoders measure them [rad or m; per s].
        effort: measured effort of the motors in the last tick [N m or N].
        qacc: acceleration of the last step [rad/s^2 or m/s^2].
        friction: dry friction of the last step [N m or N].
    """

    q: Array
    dq: Array
    effort: Array
    qacc: Array
    friction: Array

    @staticmethod
    def of(arm: BoxedJoints, state: LoopState) -> "MeasuredArm":
        """Return the arm's part of a state."""
        n = len(state.measured) // 3
        q, dq, effort = (state.measured[k * n :][arm.dofs] for k in range(3))
        return MeasuredArm(q, dq, effort, state.qacc[arm.dofs], state.stick_qfrc[arm.dofs])

    def link_torque(self, arm: BoxedJoints) -> Array:
        """Return the torques behind gear, rotor and friction (n,)."""
        tau = self.effort - arm.armature * self.qacc - arm.damping * self.dq
        friction: Array = tau + np.clip(self.friction, -arm.friction, arm.friction)
        return friction


def wrench_at(J: Array, torque: Array) -> Array:
    """Return the wrench with J^T wrench = torque by least squares; zero near singular poses."""
    U, s, V = np.linalg.svd(J, full_matrices=False)
    if s[-1] < SINGULAR:
        return np.zeros(6)
    found: Array = U @ ((V @ torque) / s)
    return found

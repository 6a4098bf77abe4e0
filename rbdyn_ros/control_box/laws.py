# SPDX-License-Identifier: Apache-2.0
"""Torques of a box on the joints, and the law of its stiff joints, without gravity."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array

#: Damping ratio of the joints.
RATIO = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class At:
    """A measured state with its dynamics.

    Attributes:
        q, dq: (n,) measured positions and velocities [rad or m; per s].
        M: (n, n) mass matrix with rotors.
        coriolis: (n,) Coriolis and centrifugal torques [N m].
        J: (6, n) Jacobian of the stiffness frame, linear velocity first, axes of O.
        T: (4, 4) pose of the stiffness frame in O.
    """

    q: Array
    dq: Array
    M: Array
    coriolis: Array
    J: Array
    T: Array


@dataclass(frozen=True, slots=True, eq=False)
class Torques:
    """Torques until the next cycle; springs and dampers follow the state in every tick.

    Attributes:
        effort: (n,) effort added to springs and dampers [N m or N].
        stiffness, damping: (n,) stiffness and damping of springs to `position` and dampers to
            `velocity`.
        position, velocity: (n,) rest positions of the springs and velocities of the dampers.
    """

    effort: Array
    stiffness: Array
    damping: Array
    position: Array
    velocity: Array

    @staticmethod
    def of(effort: Array) -> "Torques":
        """Return efforts as Torques without a spring."""
        z = np.zeros_like(effort)
        return Torques(effort, z, z, z, z)

    def at(self, q: Array, dq: Array) -> Array:
        """Return the torques (n,) at positions q and velocities dq."""
        spring = self.stiffness * (self.position - q) + self.damping * (self.velocity - dq)
        return self.effort + spring


def joint_impedance(s: At, K: Array, q: Array, dq: Array, ddq: Array) -> Torques:
    """Return K (q_d - q) + D (dq_d - dq) + M ddq_d + C dq.

    Source: Albu-Schaeffer, Ott, Hirzinger, A unified passivity-based control framework for
    position, torque and impedance control of flexible joint robots, 2007.
    """
    D = 2.0 * RATIO * np.sqrt(K * np.diag(s.M))
    return Torques(s.M @ ddq + s.coriolis, K, D, q, dq)

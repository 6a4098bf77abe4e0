# SPDX-License-Identifier: Apache-2.0
"""A rigid body on a spring and a damper, which a force moves: the law of admittance."""

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.poses import quat_mul
from rbdyn_ros.model.tree.rotation import quat_to_mat


class VirtualMass:
    """M dv/dt + D v + K x = f for each of three rotations and three translations.

    The displacement x is a rotation vector and a translation. All numbers are [angular; linear] in
    the same fixed axes.

    Args:
        mass: (6,) M [kg m^2; kg].
        damping: (6,) D [N m s/rad; N s/m].
        stiffness: (6,) K [N m/rad; N/m].

    Attributes:
        way: (3,) translation [m].
        turn: (4,) quaternion wxyz of the rotation.
        velocity: (6,) v [rad/s; m/s].

    Source: Hogan, Impedance control, 1985; in steps of the implicit midpoint rule.
    """

    def __init__(self, mass: Array, damping: Array, stiffness: Array) -> None:
        self._mass, self._damping, self._stiffness = mass, damping, stiffness
        self.way, self.turn, self.velocity = np.zeros(3), np.zeros(4), np.zeros(6)
        self._before = np.zeros(7)  # translation and rotation before the last step
        self.begin()

    def begin(self) -> None:
        """Start at rest, without displacement."""
        self.way[:], self.turn[:], self.velocity[:] = 0.0, (1.0, 0.0, 0.0, 0.0), 0.0

    @property
    def displacement(self) -> Array:
        """The displacement x (6,) [rad; m]."""
        return np.concatenate([rotation_vector(self.turn), self.way])

    @property
    def rotation(self) -> Array:
        """(3, 3) matrix of the rotation."""
        return quat_to_mat(self.turn)

    def advance(self, force: Array, dt: float) -> None:
        """Move for the time dt [s] under a force f (6,) [N m; N]."""
        inert = self._mass + 0.5 * dt * self._damping + 0.25 * dt * dt * self._stiffness
        pull = force - self._damping * self.velocity - self._stiffness * self.displacement
        gain = dt * (pull - 0.5 * dt * self._stiffness * self.velocity) / inert
        mean = self.velocity + 0.5 * gain
        self._before[:3], self._before[3:] = self.way, self.turn
        self.way += dt * mean[3:]
        self.turn[:] = product(quaternion(dt * mean[:3]), self.turn)
        self.velocity += gain

    def place(self, way: Array, turn: Array, dt: float) -> None:
        """Set the displacement to `way` and `turn`, and correct the velocity.

        The velocity becomes the change of the displacement in the last step, which took dt [s].
        """
        back = self._before[3:] * (1.0, -1.0, -1.0, -1.0)
        self.velocity[:3] = rotation_vector(product(turn, back)) / dt
        self.velocity[3:] = (way - self._before[:3]) / dt
        self.way[:], self.turn[:] = way, turn


def quaternion(vector: Array) -> Array:
    """Return the quaternion wxyz of a rotation vector (3,) [rad]."""
    angle = float(np.linalg.norm(vector))
    share = 0.5 if angle < 1e-8 else math.sin(0.5 * angle) / angle
    return np.concatenate([[math.cos(0.5 * angle)], share * vector])


def rotation_vector(turn: Array) -> Array:
    """Return the rotation vector (3,) of a quaternion wxyz, at most half a turn [rad]."""
    turn = turn if turn[0] >= 0.0 else -turn
    size = float(np.linalg.norm(turn[1:]))
    share = 2.0 if size < 1e-8 else 2.0 * math.atan2(size, turn[0]) / size
    return share * turn[1:]


def product(one: Array, other: Array) -> Array:
    """Return the unit quaternion of the rotation `other` followed by the rotation `one`."""
    found = np.array(quat_mul(tuple(one.tolist()), tuple(other.tolist())))
    unit: Array = found / np.linalg.norm(found)
    return unit

# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the unit-vector method, from any inverse dynamics."""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array


def unit_vectors(inverse: Callable[[Array], Array], u: Array, rotor_inertia: Array) -> Array:
    """Solve A x + b = u: return the accelerations x that the forces u cause.

    Inverse dynamics is A x + b: x = 0 gives b, and unit vectors give the columns of A. The n + 1
    calls cost O(n^2), and the solution O(n^3). Source: Introduction to Humanoid Robotics, section
    6.4.3, figure 6.20.

    Args:
        inverse: inverse dynamics at one position and velocity, from (n,) to (n,).
        u: (n,), forces; zero for a floating base.
        rotor_inertia: (n,), Ir gr^2 at joints with a rotor of inertia Ir [kg m^2] and a gear ratio
            gr; the rotor rotates gr times as fast as the joint, with 1 / gr of the torque.
    """
    b = inverse(np.zeros_like(u))
    A = np.column_stack([inverse(unit) - b for unit in np.eye(len(u))])
    return np.asarray(np.linalg.solve(A + np.diag(rotor_inertia), u - b), np.float64)

"""Forward dynamics by the unit-vector method, from any inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array


def unit_vectors(inverse: Callable[[Array], Array], u: Array, rotor_inertia: Array) -> Array:
    """Return x of A x + b = u: the accelerations that the forces u cause.

    Inverse dynamics is A x + b: with x = 0 it gives b, with unit vectors the columns of A. Its
    n + 1 calls and the solution cost O(n^2) and O(n^3). Source: Introduction to Humanoid
    Robotics, section 6.4.3, figure 6.20.

    Args:
        inverse: inverse dynamics at one position and velocity, from (n,) to (n,).
        u: (n,), forces; zero at a base that floats.
        rotor_inertia: (n,), Ir gr^2 at joints with a rotor of inertia Ir [kg m^2] behind a gear
            of ratio gr: it turns gr times as fast and feels 1 / gr of the torque.
    """
    b = inverse(np.zeros_like(u))
    A = np.column_stack([inverse(unit) - b for unit in np.eye(len(u))])
    return np.asarray(np.linalg.solve(A + np.diag(rotor_inertia), u - b), np.float64)

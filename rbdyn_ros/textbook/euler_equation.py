# SPDX-License-Identifier: Apache-2.0
"""The motion of a body that rotates freely about its centre of mass: Euler's equation.

Source: Introduction to Humanoid Robotics, section 6.1, figures 6.4 and 6.5; world coordinates.
"""

from collections.abc import Iterator

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.textbook.exponential import rodrigues


def euler_dynamics(I_body: Array, R: Array, w: Array) -> tuple[Array, Array]:
    """Return the angular momentum L and dw/dt of I dw/dt + w x L = 0 (eq 6.5, figure 6.4).

    Args:
        I_body: (3, 3), inertia about the centre of mass in the body's axes [kg m^2].
        R: (3, 3), rotation from the body's axes to world axes.
        w: (3,), angular velocity in world axes [rad/s].
    """
    I = R @ I_body @ R.T
    L = I @ w
    return L, np.linalg.solve(I, -np.cross(w, L))


def turning(I_body: Array, w: Array, dt: float) -> Iterator[tuple[Array, Array]]:
    """Yield R and w every dt [s], from R = 1: Rodrigues' formula, Euler's method (figure 6.5)."""
    R = np.eye(3)
    while True:
        yield R, w
        _, dw = euler_dynamics(I_body, R, w)
        R = rodrigues(w * dt) @ R
        w = w + dt * dw

# SPDX-License-Identifier: Apache-2.0
"""Arrival of an arm under Cartesian impedance control: little of its motion remains."""

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.laws.frame_stiffness import FADING
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Largest motion that remains after a joint has arrived [rad or m].
REST = 1e-3
#: Largest speed [rad/s or m/s] and acceleration [rad/s^2 or m/s^2] of joints that have arrived.
SPEED, ACCELERATION = 1e-3, 0.02


def arrival(
    m: Model, d: Data, frame: int, root: Array, ratio: float, null: Array, dofs: Ints
) -> tuple[float, float]:
    """Return the largest speed and acceleration at which joints move no farther than REST.

    In a mode x'' + c x' + w^2 x = 0 the distance from rest is |x| <= (|x''| + c |x'|) / w^2.
    Without damping, x'^2 / w^2 + x^2 is constant. Without stiffness, the mode still moves by x' /
    c.

    Args:
        m: the robot.
        d: its Data, at the posture for which the modes count.
        frame: number of the frame.
        root: (6,) square roots of its stiffness.
        ratio: damping ratio of its modes.
        null: (3, nv) or more rows, see frame_stiffness: stiffness and damping in the null space.
        dofs: (n,) degrees of freedom that move.
    """
    # with M = L L^T and y = L^T q: the modes are the singular vectors of K^1/2 J L^-T
    lower = np.linalg.cholesky(mass_matrix(m, d)[np.ix_(dofs, dofs)])
    task = root[:, None] * frame_jacobian(m, d, frame)[:, dofs]
    _, found, turned = np.linalg.svd(np.linalg.solve(lower, task.T).T)
    omega = np.zeros(len(dofs))
    omega[: len(found)] = found
    stiff = omega > FADING * omega.max()
    speeds, accelerations = [SPEED], [ACCELERATION]
    for w in omega[stiff].tolist():
        _add(w * w, 2.0 * ratio * w, 2.0 * ratio * w, speeds, accelerations)
    if not stiff.all():
        free = np.linalg.solve(lower.T, turned[~stiff].T)
        k, c = (np.linalg.eigvalsh(free.T @ (row[dofs, None] * free)) for row in null[1:3])
        _add(float(k[0]), float(c[0]), float(c[-1]), speeds, accelerations)
    return min(speeds), min(accelerations)


def _add(
    square: float, least: float, most: float, speeds: list[float], accelerations: list[float]
) -> None:
    """Add the bounds of speed and acceleration for modes of one squared frequency.

    The modes may have any damping from `least` to `most` [1/s].
    """
    if square <= 0.0:
        speeds.append(max(REST * least, 0.0))
        return
    speeds.append(0.5 * REST * min(square / max(most, 1e-9), square**0.5))
    accelerations.append(0.5 * REST * square)

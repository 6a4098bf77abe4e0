# SPDX-License-Identifier: Apache-2.0
"""External efforts of a robot, estimated from its momentum without accelerations."""

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.toolbox.terms import coriolis_matrix, gravity_term
from rbdyn_ros.model.model import Model

#: Damping of the least squares, which bounds the wrench near singular poses.
DAMPING = 1e-8


class MomentumObserver:
    """Estimates the joint efforts of external forces, with a first-order filter.

    `residual` follows d/dt residual = gain (external - residual), where M qacc + C qvel + g =
    effort + external. So forces that the Model lacks count as external: an error of the payload,
    and joint friction, unless `effort` is measured between the joint's friction and the link.

    Args:
        m: the Model of the robot with its payloads.
        gain: gain of all joints, or (nv,) of each joint [1/s]; 1 / gain is the time constant.

    Attributes:
        residual: (nv,) external efforts [N m or N]; zero before the second update.

    Raises:
        ParameterError: a gain is not a positive finite number.

    Source: De Luca, Mattone, Actuator failure detection and isolation using generalized momenta,
    2003; Haddadin, De Luca, Albu-Schaeffer, Robot collisions: a survey, 2017, equation 27.
    """

    def __init__(self, m: Model, gain: ArrayLike = 50.0) -> None:
        gains = np.broadcast_to(np.asarray(gain, np.float64), (m.nv,))
        self._gain = finite(
            "the gain of a momentum observer", gains, (m.nv,), 1e-3, 1e5, element="gain"
        )
        self._m, self._d = m, make_data(m)
        self._momentum: Array | None = None
        self.residual = np.zeros(m.nv)

    def change(self, m: Model) -> None:
        """Continue with another Model of the same joints, such as the arm with another payload."""
        d, last = make_data(m), self._d
        d.qpos[:], d.qvel[:] = last.qpos, last.qvel
        self._m, self._d = m, d
        if self._momentum is not None:
            self._momentum = mass_matrix(m, d) @ d.qvel

    def reset(self) -> None:
        """Start again at the next update with a residual of zero."""
        self.residual, self._momentum = np.zeros(self._m.nv), None

    def update(self, qpos: ArrayLike, qvel: ArrayLike, effort: ArrayLike, period: float) -> Array:
        """Update the estimate with a measurement and return `residual`.

        Args:
            qpos: (nq,) measured positions.
            qvel: (nv,) measured velocities.
            effort: (nv,) joint efforts since the last measurement [N m or N].
            period: time since the last measurement [s].

        Raises:
            ParameterError: a number is not finite, a shape is wrong, or the period is not
                positive.
        """
        m, d = self._m, self._d
        q = finite("qpos of a momentum observer", qpos, (m.nq,), element="qpos")
        v = finite("qvel of a momentum observer", qvel, (m.nv,), element="qvel")
        tau = finite("effort of a momentum observer", effort, (m.nv,), element="effort")
        period = finite("the period of a momentum observer", period, above=0.0, element="period")
        d.qpos[:], d.qvel[:] = q, v
        momentum = mass_matrix(m, d) @ d.qvel
        # dp/dt = effort + external - g + C^T qvel, because dM/dt = C + C^T
        known = tau - gravity_term(m, d) + coriolis_matrix(m, d).T @ d.qvel
        if self._momentum is not None:
            change = (momentum - self._momentum) / period - known
            share = 1.0 - np.exp(-self._gain * period)
            self.residual = self.residual + share * (change - self.residual)
        self._momentum = momentum
        return self.residual

    def wrench(
        self,
        frame: str | int,
        reference: str = "local_world_aligned",
        dofs: ArrayLike | None = None,
    ) -> Array:
        """Return the wrench on a link that explains `residual` best, at the last update.

        Args:
            frame: name or number of the link.
            reference: point and axes of the wrench, as for `frame_jacobian`.
            dofs: the dofs whose residual the wrench must explain because their effort is known;
                None: all dofs.

        Returns:
            (6,) torque and force on the link [N m; N], about the point and in the axes of
            `reference`.

        Raises:
            ModelError: the frame is unknown.
            ParameterError: the reference is unknown.

        Source: J^T wrench = residual by least squares, damped.
        """
        known = slice(None) if dofs is None else np.asarray(dofs)
        J = frame_jacobian(self._m, self._d, frame, reference)[:, known]
        return np.linalg.solve(J @ J.T + DAMPING * np.eye(6), J @ self.residual[known])

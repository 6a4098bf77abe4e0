# SPDX-License-Identifier: Apache-2.0
"""Search for the best conditioned motion within the limits: a Fourier series from rest to rest.

Source: Swevers, Ganseman, Tukel, De Schutter, Van Brussel, 1997, Optimal robot excitation and
identification.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.optimize import minimize

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.regressors import inertial_parameters
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.identification.data.motion import Motion, dofs_of, of_dofs
from rbdyn_ros.identification.equations.base import base_parameters, condition
from rbdyn_ros.identification.equations.iterations import Progress
from rbdyn_ros.identification.equations.regressor import torque_regressor
from rbdyn_ros.identification.excitation.bounds import Bounds, effort_ratio
from rbdyn_ros.model.model import Model

FEWEST_HARMONICS, MOST_HARMONICS = 2, 20


def rest_shapes(harmonics: int) -> Array:
    """Return a basis (2 h, 2 h - 3) of series with zero position, velocity, acceleration at 0.

    The series is sum_k a_k sin(k w t) / (k w) - b_k cos(k w t) / (k w), with the velocity
    sum_k a_k cos(k w t) + b_k sin(k w t). A column is a_1 ... a_h, b_1 ... b_h. The series is
    periodic, so it also ends at rest.
    """
    k, zeros = np.arange(1.0, harmonics + 1.0), np.zeros(harmonics)
    position = np.concatenate([zeros, 1.0 / k])
    velocity = np.concatenate([np.ones(harmonics), zeros])
    acceleration = np.concatenate([zeros, k])
    shapes: Array = null_space(np.stack([position, velocity, acceleration]))
    return shapes


def tables(harmonics: int, duration: float, time: ArrayLike) -> Array:
    """Return matrices (3, t, 2 h) from coefficients to positions, velocities, accelerations."""
    k = 2.0 * np.pi / duration * np.arange(1.0, harmonics + 1.0)
    phase = np.multiply.outer(np.asarray(time, np.float64), k)
    sine, cosine = np.sin(phase), np.cos(phase)
    position = np.hstack([sine / k, -cosine / k])
    velocity = np.hstack([cosine, sine])
    acceleration = np.hstack([-k * sine, k * cosine])
    return np.stack([position, velocity, acceleration])


#: The search starts from the best of this many random series.
STARTS = 60
#: Number of iterations; each iteration evaluates as many motions as there are unknowns.
ITERATIONS = 20
MOST_MOTIONS = 20_000
#: Samples per motion in the search, and per period of the highest harmonic in checks of limits.
COARSE, FINE = 80, 100
#: A function that raises RbdynError unless a path of the moving joints is allowed, while the other
#: joints are at positions (nv,).
Check = Callable[[Path, Array], None]
#: Smallest scale of a motion that is still checked.
LEAST_SHARE = 0.05
#: Largest number of samples of an earlier motion.
MOST_KNOWN = 2_000
#: Factor that leaves a margin for extrema between the fine samples.
ROUNDING = 0.998


class Search:
    """Searches for coefficients with a small condition number.

    The unknowns are the shapes of the joints' motions; the amplitudes follow from the bounds.

    Args:
        m: the robot.
        bounds: bounds of its motion.
        harmonics: number of harmonics.
        period: duration of the motion [s].
        after: an earlier motion of some joints; the condition number then belongs to both motions
            together; None: there is no earlier motion.
    """

    def __init__(
        self, m: Model, bounds: Bounds, harmonics: int, period: float, after: Motion | None = None
    ) -> None:
        self.m, self.bounds, self.period = m, bounds, period
        self.shapes = rest_shapes(harmonics)
        coarse = np.linspace(0.0, period, COARSE, endpoint=False)
        self.coarse = tables(harmonics, period, coarse)
        self.fine = tables(harmonics, period, np.linspace(0.0, period, fine_count(harmonics)))
        self.base = base_parameters(m, bounds.dofs)
        self.inertia = inertial_parameters(m)
        # weight efforts by the size of the joint's drive
        finite = bounds.effort[np.isfinite(bounds.effort)]
        ordinary = float(np.median(finite)) if len(finite) else 1.0
        self.weight = np.where(np.isfinite(bounds.effort), bounds.effort, ordinary)
        self.known = np.zeros((0, self.base.rank)) if after is None else self._known(after)

    def best(self, rng: np.random.Generator, report: Progress) -> Array:
        """Return the best coefficients (2 h, n); start from random series of `rng`."""
        n = len(self.bounds.dofs)
        starts = rng.normal(size=(STARTS, self.shapes.shape[1] * n))
        costs = [self.cost(start) for start in starts]
        start = starts[int(np.argmin(costs))]
        report(f"best of {STARTS} random motions: condition number {np.exp(min(costs)):.4g}")

        def after_iteration(intermediate_result: object) -> None:
            cost = float(getattr(intermediate_result, "fun", np.nan))
            report(f"condition number {np.exp(cost):.4g}")

        found = minimize(
            self.cost,
            start,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS, "maxfun": MOST_MOTIONS},
            callback=after_iteration,
        )
        return self.within_efforts(self.coefficients(found.x))

    def coefficients(self, unknowns: Array) -> Array:
        """Return coefficients of a motion that meets all bounds except effort."""
        n = len(self.bounds.dofs)
        coefficients = self.shapes @ unknowns.reshape(-1, n)
        return coefficients * (ROUNDING * self.bounds.scale(self.fine @ coefficients))

    def cost(self, unknowns: Array) -> float:
        """Return the logarithm of the condition number, plus a penalty for excessive efforts."""
        rows = of_robot(self.bounds, self.coarse @ self.coefficients(unknowns))
        Y = torque_regressor(self.m, *rows)
        efforts = Y @ self.inertia + rows[2] * self.m.dof_armature
        excess = np.abs(efforts / self.bounds.effort).max() - 1.0
        return float(np.log(self._condition(Y)) + 10.0 * max(0.0, excess))

    def condition(self, coefficients: Array) -> float:
        """Return the condition number of a motion."""
        rows = of_robot(self.bounds, self.coarse @ coefficients)
        return self._condition(torque_regressor(self.m, *rows))

    def _condition(self, Y: Array) -> float:
        dofs = self.bounds.dofs
        rows = self._weighted(Y, dofs)
        return condition(np.concatenate([self.known, rows / np.sqrt(len(Y))]))

    def _weighted(self, Y: Array, dofs: Ints) -> Array:
        """Return the rows of the base regressor of Y, as fractions of full scale."""
        weighted = self.base.regressor(Y[:, dofs]) / self.weight[dofs, np.newaxis]
        return np.asarray(weighted.reshape(-1, self.base.rank), np.float64)

    def _known(self, after: Motion) -> Array:
        """Return the equations of an earlier motion, weighted like the new equations."""
        m, dofs, centre = self.m, dofs_of(self.m, after), self.bounds.centre
        rows = np.linspace(0, len(after.time) - 1, min(len(after.time), MOST_KNOWN)).astype(int)
        qpos = of_dofs(m, dofs, after.qpos[rows], centre)
        qvel, qacc = (of_dofs(m, dofs, one[rows]) for one in (after.qvel, after.qacc))
        found = self._weighted(torque_regressor(m, qpos, qvel, qacc), dofs)
        return np.asarray(np.linalg.qr(found / np.sqrt(len(rows)), mode="r"), np.float64)

    def clear_of(self, coefficients: Array, check: Check, rate: float) -> Array:
        """Return coefficients, scaled down until a check accepts the path of the motion.

        The path has `rate` points per second.

        Raises:
            RbdynError: the check refuses even LEAST_SHARE of the motion.
        """
        share, n = 1.0, round(self.period * rate) + 1
        points = tables(len(coefficients) // 2, self.period, np.linspace(0.0, self.period, n))
        while True:
            rows = points @ (share * coefficients)
            rows[0] += self.bounds.centre[self.bounds.dofs]
            try:
                check(Path(np.linspace(0.0, self.period, n), *rows), self.bounds.centre)
            except RbdynError:
                if share < LEAST_SHARE:
                    raise
                share *= 0.9
            else:
                return share * coefficients

    def within_efforts(self, coefficients: Array) -> Array:
        """Return coefficients, scaled down until the motion meets the effort bounds."""
        d, shrink = make_data(self.m), 1.0
        while True:
            rows = of_robot(self.bounds, self.fine @ (shrink * coefficients))
            if (effort_ratio(self.m, d, self.bounds, rows) <= 1.0).all():
                return shrink * coefficients
            shrink *= 0.95  # the loop ends, because the efforts suffice at the centre


def of_robot(bounds: Bounds, rows: Array) -> Array:
    """Return the motion of all joints (3, t, nv), given a motion around the centre (3, t, n)."""
    full = np.zeros((3, rows.shape[1], len(bounds.centre)))
    full[:, :, bounds.dofs] = rows
    full[0] += bounds.centre
    return full


def fine_count(harmonics: int) -> int:
    """Return the number of samples at which limits are checked."""
    return FINE * harmonics + 1

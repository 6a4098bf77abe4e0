# SPDX-License-Identifier: Apache-2.0
"""Least squares over physically consistent parameters: a convex problem, by Newton's method.

It minimises over x = [parameters of bodies, positive coefficients c, free coefficients o]

    |A x - b|^2 / 2 + g sum_k [D(J_k, P_k) + w d(m_k, M_k)] + g sum_c d(c, p) + g sum_o (o/s)^2 / 2

with pseudo-inertias J, prior pseudo-inertias P, masses m, prior masses M, d(c, p) = c/p - log(c/p)
- 1, and D(J, P) = tr(P^-1 J) - log det(P^-1 J) - 4. D is zero for J = P, infinite at the boundary
of consistent bodies, convex, and independent of frames and units. So it keeps every body
consistent and determines the directions that the data do not excite. In the limit g -> 0 the data
are fitted exactly. The masses have a term of their own because CAD gives better masses than
centres of mass and inertias: with D alone the mass of a small body would change much before its
centre does.
Source: Lee, Wensing, Park, Geometric robot dynamic identification: a convex programming approach,
2020.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.data.motion import beyond_calculation, check_calculable
from rbdyn_ros.identification.equations.inertia import BASIS, pseudo_inertia

#: Relative standard deviation of a prior mass; its term has the weight w = MASS_SPREAD^-2.
MASS_SPREAD = 0.2
#: Factor by which g decreases in each pass, until it has the wanted value.
SHRINK = 0.1
#: Largest number of Newton steps for one g; a few are usual.
MOST_STEPS = 60
#: Singular values below this fraction of the largest value are rounding errors.
UNSEEN = 1e-12
#: Shortest fraction of a Newton step.
SHORTEST = 1e-10
#: Newton decrement at which the iteration stops, in units of g.
DONE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Expected values of the unknowns.

    Attributes:
        bodies: (k, 10) consistent parameters of bodies.
        positive: (c,) expected positive coefficients.
        scale: (o,) magnitudes of the free coefficients, whose expected value is 0.
        spread: (k,) relative standard deviations of the masses; None: MASS_SPREAD.
    """

    bodies: Array
    positive: Array
    scale: Array
    spread: Array | None = None

    @property
    def mass_weight(self) -> Array:
        """Return the weights w (k,) of the terms of the masses."""
        spread = np.full(len(self.bodies), MASS_SPREAD) if self.spread is None else self.spread
        return spread**-2.0

    @property
    def start(self) -> Array:
        """Return x of the prior."""
        return np.concatenate([self.bodies.ravel(), self.positive, 0.0 * self.scale])

    def metric(self) -> Array:
        """Return L: |L^-1 dx| is the size of a change relative to the prior.

        L L^T is the inverse of the Hessian of D at the prior.
        """
        return np.linalg.inv(np.linalg.qr(self.curve(self.start), mode="r"))

    def curve(self, x: Array) -> Array:
        """Return C at x; C^T C is the Hessian of the prior's terms."""
        return self.terms(x)[1]

    def terms(self, x: Array) -> tuple[Array, Array]:
        """Return the slope r and curve C at x; C^T r is the gradient of the prior's terms."""
        return _divergence(x, self)[1:]

    def masses(self, A: Array, x: Array, strength: float) -> tuple[Array, Array]:
        """Return the standard deviations of the masses at a solution, and a share for each mass.

        The share is the variance at the solution, divided by the variance of the prior.

        Args:
            A: (r, N) equations in units of a standard deviation.
            x: (N,) solution.
            strength: weight of the prior.
        """
        rooted, rows = np.sqrt(strength), np.arange(0, self.bodies.size, 10)
        R = np.linalg.qr(np.concatenate([A, rooted * self.curve(x)]), mode="r")
        after = np.linalg.norm(np.linalg.inv(R)[rows], axis=1)
        before = np.linalg.norm(self.metric()[rows], axis=1) / rooted
        return after, np.minimum((after / before) ** 2, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _FitProblem:
    """The problem in coordinates z, in which the Hessian of the data is diagonal.

    Attributes:
        seen: (N,) square roots of the diagonal.
        target: (N,) value of seen * z that fits the data exactly.
        basis: (N, N): x = prior.start + basis z.
        prior: prior with N entries.
    """

    seen: Array
    target: Array
    basis: Array
    prior: Prior

    def x(self, z: Array) -> Array:
        """Return x at z."""
        return self.prior.start + self.basis @ z

    def miss(self, z: Array) -> Array:
        """Return the residuals of the data (N,)."""
        return np.asarray(self.seen * z - self.target)

    def value(self, z: Array) -> float:
        """Return the sum of the prior's terms, infinite if z is not consistent."""
        return _value(self.x(z), self.prior)


def solve(A: Array, b: Array, prior: Prior, strength: float, start: Array | None = None) -> Array:
    """Return the x that minimises the sum in the header of this file.

    Args:
        A: (r, N), in units of a standard deviation.
        b: (r,), in units of a standard deviation.
        prior: prior with N entries.
        strength: g; with 1 the prior counts as data with a standard deviation of 100 % for each
            unknown.
        start: a consistent x to start from; None: the prior.

    Raises:
        ParameterError: A, b or an intermediate result is not finite.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return _solved(A, b, prior, strength, start)
    except np.linalg.LinAlgError:
        raise beyond_calculation() from None


def _solved(A: Array, b: Array, prior: Prior, strength: float, start: Array | None) -> Array:
    L = prior.metric()
    scaled, rest = A @ L, b - A @ prior.start
    check_calculable(scaled, rest)
    U, S, Vt = np.linalg.svd(scaled, full_matrices=True)
    seen, target = np.zeros((2, len(Vt)))
    seen[: len(S)] = np.where(UNSEEN * S[0] < S, S, 0.0)
    target[: len(S)] = U.T[: len(S)] @ rest
    problem = _FitProblem(seen, target, L @ Vt.T, prior)
    x = prior.start if start is None else start
    z = Vt @ np.linalg.solve(L, x - prior.start)
    if not np.isfinite(problem.value(z)):  # a rounding error can exceed the boundary
        z = np.zeros(len(z))
    weight = max(strength, float(np.sum(problem.miss(z) ** 2)) / len(z))
    while True:
        z = _descend(z, problem, weight)
        if weight <= strength:
            return problem.x(z)
        weight = max(strength, SHRINK * weight)


def _descend(z: Array, problem: _FitProblem, weight: float) -> Array:
    """Return the best z for one weight of the prior, searched from a consistent z."""
    seen, rooted = problem.seen, np.sqrt(weight)
    for _ in range(MOST_STEPS):
        value, slope, curve = _divergence(problem.x(z), problem.prior)
        # H = M^T M, gradient = M^T rest: a least-squares step avoids squares of large numbers
        M = np.concatenate([np.diag(seen), rooted * (curve @ problem.basis)])
        rest = np.concatenate([problem.miss(z), rooted * slope])
        check_calculable(M, rest)
        size = np.linalg.norm(M, axis=0)
        # R of [M rest] holds Q^T rest in its last column, without the time to make Q
        R = np.asarray(np.linalg.qr(np.column_stack([M / size, rest]), mode="r"))[:-1]
        along = R[:, -1]
        step = -solve_triangular(R[:, :-1], along) / size
        decrease = float(along @ along)
        if not decrease > DONE * weight:
            break
        length = _length(z, step, decrease, value, problem, weight)
        if length == 0.0:
            break
        z = z + length * step
    return z


def _length(
    z: Array, step: Array, decrease: float, value: float, problem: _FitProblem, weight: float
) -> float:
    """Return the fraction of a step that decreases the sum, or 0 if rounding hides the decrease.

    `decrease` is the Newton decrement, and `value` the sum of the prior's terms at z.

    Each term is subtracted separately: the sum of large squares would lose digits.
    """
    miss, along = problem.miss(z), problem.seen * step
    length = 1.0
    while length > SHORTEST:
        change = length * float(along @ (miss + 0.5 * length * along))
        change += weight * (problem.value(z + length * step) - value)
        if change <= -1e-4 * length * decrease:
            return length
        length *= 0.5
    return 0.0


def _divergence(x: Array, prior: Prior) -> tuple[float, Array, Array]:
    """Return the terms of the prior: value, slope r (n,) and curve C (n, N).

    C^T C is their Hessian in x, C^T r their gradient.
    """
    bodies, positive, free = _parts(x, prior)
    half = np.linalg.cholesky(pseudo_inertia(bodies))
    back = np.linalg.inv(half)
    # Hessian tr(J^-1 E_i J^-1 E_j), gradient tr((P^-1 - J^-1) E_i), J = half half^T
    curves = np.einsum("kab,ibc,kdc->kadi", back, BASIS, back).reshape(-1, 16, 10)
    inverse = np.linalg.inv(pseudo_inertia(prior.bodies))
    relative = np.swapaxes(half, 1, 2) @ inverse @ half
    slopes = [(relative - np.eye(4)).ravel(), positive / prior.positive - 1.0, free / prior.scale]
    curve = block_diag(*curves, np.diag(1.0 / positive), np.diag(1.0 / prior.scale))
    w, ratio = np.sqrt(prior.mass_weight), bodies[:, 0] / prior.bodies[:, 0]
    masses = np.zeros((len(bodies), len(x)))
    masses[np.arange(len(bodies)), 10 * np.arange(len(bodies))] = w / bodies[:, 0]
    slopes, curve = [*slopes, w * (ratio - 1.0)], np.concatenate([curve, masses])
    return _value(x, prior), np.concatenate(slopes), curve


def _value(x: Array, prior: Prior) -> float:
    """Return the sum of the prior's terms, infinite if x is not consistent."""
    bodies, positive, free = _parts(x, prior)
    if not (positive > 0.0).all():
        return float("inf")
    try:
        half = np.linalg.cholesky(pseudo_inertia(bodies))
    except np.linalg.LinAlgError:
        return float("inf")
    over = np.linalg.solve(np.linalg.cholesky(pseudo_inertia(prior.bodies)), half)
    values = np.linalg.svd(over, compute_uv=False) ** 2
    total = np.sum(values - np.log(values) - 1.0) + _ratios(positive, prior.positive)
    total += _ratios(bodies[:, 0], prior.bodies[:, 0], prior.mass_weight)
    return float(total + 0.5 * np.sum((free / prior.scale) ** 2))


def _ratios(values: Array, prior: Array, weight: Array | float = 1.0) -> float:
    ratio = values / prior
    return float(np.sum(weight * (ratio - np.log(ratio) - 1.0)))


def _parts(x: Array, prior: Prior) -> tuple[Array, Array, Array]:
    """Split x into bodies (k, 10), positive coefficients (c,) and free coefficients (o,)."""
    k, c = prior.bodies.size, len(prior.positive)
    return x[:k].reshape(-1, 10), x[k : k + c], x[k + c :]

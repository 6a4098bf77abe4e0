"""Least squares over what bodies can be: a convex problem, solved by Newton's method.

Minimised over x = [parameters of bodies, coefficients that are not negative, free ones] is

    |A x - b|^2 / 2 + g sum_k D(J_k, P_k) + g sum_c (c/p - log(c/p) - 1) + g sum_o (o/s)^2 / 2

with pseudo-inertias J, those of the prior P, and D(J, P) = tr(P^-1 J) - log det(P^-1 J) - 4. D is
zero for J = P, infinite where J stops being a body's, convex, and the same in all frames and
units. So one term keeps every body possible and decides what the data say nothing about; both
the first and the last are exact in the limit g -> 0.
Source: Lee, Wensing, Park, Geometric robot dynamic identification: a convex programming
approach, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.inertia import BASIS, pseudo_inertia
from rbdyn_ros.identification.motion import beyond_calculation

SHRINK = 0.1  # of g from one round to the next, until it is as small as wanted
MOST_STEPS = 60  # of Newton in a round; a few are usual
UNSEEN = 1e-12  # of the largest singular value: rounding
SHORTEST = 1e-10  # part of a step of Newton
DONE = 1e-9  # Newton decrement, in units of g


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What is taken where data say nothing, and how large things are.

    Attributes:
        bodies: (k, 10) parameters of possible bodies.
        positive: (c,) coefficients above 0.
        scale: (o,) sizes of free coefficients, which are 0 of themselves.
    """

    bodies: Array
    positive: Array
    scale: Array

    @property
    def start(self) -> Array:
        """Return x of the prior."""
        return np.concatenate([self.bodies.ravel(), self.positive, 0.0 * self.scale])

    def metric(self) -> Array:
        """Return L: |L^-1 dx| is the size of a change in units of the prior itself.

        L L^T is the inverse of the Hessian of D at the prior.
        """
        _, _, C = _divergence(self.start, self)
        L: Array = np.linalg.inv(np.linalg.qr(C, mode="r"))
        return L


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The sum above over z, in which the Hessian of the data is diagonal.

    Attributes:
        seen: (N,) roots of that diagonal.
        target: (N,) what seen z would be if the data decided all.
        basis: (N, N): x = prior.start + basis z.
        prior: with N entries.
    """

    seen: Array
    target: Array
    basis: Array
    prior: Prior

    def x(self, z: Array) -> Array:
        """Return the x of a z."""
        found: Array = self.prior.start + self.basis @ z
        return found

    def miss(self, z: Array) -> Array:
        """Return by how much the data are missed (N,)."""
        return np.asarray(self.seen * z - self.target)

    def value(self, z: Array) -> float:
        """Return the terms of the prior, infinity where z is not possible."""
        return _value(self.x(z), self.prior)


def solve(A: Array, b: Array, prior: Prior, strength: float, start: Array | None = None) -> Array:
    """Return the x that minimises the sum above.

    Args:
        A: (r, N), in units of a standard deviation.
        b: (r,) likewise.
        prior: with N entries.
        strength: g above; 1 takes the prior as seriously as data that tell everything to 100 %.
        start: where to begin, a possible x; None: at the prior.

    Raises:
        ParameterError: A, b or what is calculated from them is not finite.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return _solved(A, b, prior, strength, start)
    except np.linalg.LinAlgError:
        raise beyond_calculation() from None


def _solved(A: Array, b: Array, prior: Prior, strength: float, start: Array | None) -> Array:
    L = prior.metric()
    scaled, rest = A @ L, b - A @ prior.start
    _check_finite(scaled, rest)
    U, S, Vt = np.linalg.svd(scaled, full_matrices=True)
    seen, target = np.zeros((2, len(Vt)))
    seen[: len(S)] = np.where(UNSEEN * S[0] < S, S, 0.0)
    target[: len(S)] = U.T[: len(S)] @ rest
    problem = _Problem(seen, target, L @ Vt.T, prior)
    x = prior.start if start is None else start
    z = Vt @ np.linalg.solve(L, x - prior.start)
    if not np.isfinite(problem.value(z)):  # rounding, next to the border
        z = np.zeros(len(z))
    weight = max(strength, float(np.sum(problem.miss(z) ** 2)) / len(z))
    while True:
        z = _descend(z, problem, weight)
        if weight <= strength:
            return problem.x(z)
        weight = max(strength, SHRINK * weight)


def _check_finite(*arrays: Array) -> None:
    if not all(np.isfinite(np.linalg.norm(array)) for array in arrays):
        raise beyond_calculation()


def _descend(z: Array, problem: _Problem, weight: float) -> Array:
    """Minimise over z for one weight of the prior, from a possible z."""
    seen, rooted = problem.seen, np.sqrt(weight)
    for _ in range(MOST_STEPS):
        value, slope, curve = _divergence(problem.x(z), problem.prior)
        # H = M^T M, gradient = M^T rest: a least-squares step never squares what is large
        M = np.concatenate([np.diag(seen), rooted * (curve @ problem.basis)])
        rest = np.concatenate([problem.miss(z), rooted * slope])
        _check_finite(M, rest)
        size = np.linalg.norm(M, axis=0)
        Q, R = np.linalg.qr(M / size)
        along = Q.T @ rest
        step = -solve_triangular(R, along) / size
        decrease = float(along @ along)
        if not decrease > DONE * weight:
            break
        length = _length(z, step, decrease, value, problem, weight)
        if length == 0.0:
            break
        z = z + length * step
    return z


def _length(
    z: Array, step: Array, decrease: float, value: float, problem: _Problem, weight: float
) -> float:
    """Return the part of a step that makes the sum smaller; 0 where rounding hides it.

    Differences are taken of each part by itself: the sum of large squares would lose digits.
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
    return _value(x, prior), np.concatenate(slopes), curve


def _value(x: Array, prior: Prior) -> float:
    """Return the terms of the prior, infinity where x is not possible."""
    bodies, positive, free = _parts(x, prior)
    if not (positive > 0.0).all():
        return float("inf")
    try:
        half = np.linalg.cholesky(pseudo_inertia(bodies))
    except np.linalg.LinAlgError:
        return float("inf")
    over = np.linalg.solve(np.linalg.cholesky(pseudo_inertia(prior.bodies)), half)
    values = np.linalg.svd(over, compute_uv=False) ** 2
    ratio = positive / prior.positive
    total = np.sum(values - np.log(values) - 1.0) + np.sum(ratio - np.log(ratio) - 1.0)
    return float(total + 0.5 * np.sum((free / prior.scale) ** 2))


def _parts(x: Array, prior: Prior) -> tuple[Array, Array, Array]:
    """Return bodies (k, 10), coefficients above 0 (c,) and free ones (o,) of x."""
    k, c = prior.bodies.size, len(prior.positive)
    return x[:k].reshape(-1, 10), x[k : k + c], x[k + c :]

# SPDX-License-Identifier: Apache-2.0
"""Iteratively reweighted least squares: each joint is weighted by its residuals."""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.equations.reduced import Equations
from rbdyn_ros.identification.equations.residuals import Residuals, memory
from rbdyn_ros.identification.equations.solve import Prior, solve
from rbdyn_ros.identification.equations.unknowns import Unknowns

Progress = Callable[[str], None]

#: Largest number of iterations; three or four are usual.
ITERATIONS = 10
#: Relative change of the standard deviations at which the iteration stops.
SETTLED = 0.01
#: Least and initial standard deviation of an effort, relative to the largest effort.
FLOOR, HOPED = 1e-9, 1e-3


def silent(_text: str) -> None:
    """Do nothing with a message about progress."""


def solved(
    eqs: Equations,
    prior: Prior,
    strength: float,
    unknowns: Unknowns,
    residuals: Callable[[Array], Residuals],
    progress: Progress,
) -> tuple[Array, Array]:
    """Return the solution x and the standard deviation (n,) of the samples of each joint.

    Args:
        eqs: equations of the motion.
        prior: prior of all unknowns.
        strength: weight of the prior.
        unknowns: unknowns of the joints, with usable samples and largest efforts.
        residuals: function that returns the residuals of a solution.
        progress: called with a message after every iteration.
    """
    # begin with small errors of the data, which a bad prior would otherwise inflate
    x, sigma = prior.start, HOPED * unknowns.largest
    for k in range(ITERATIONS):
        x = solve(*eqs.weighted(sigma), prior, strength, x)
        after = residuals(x)
        worst = float(np.max(after.rms / unknowns.largest))
        progress(f"iteration {k + 1}: residuals up to {worst:.3g} of the largest effort")
        old, sigma = sigma, noise(after, unknowns)
        if np.all(np.abs(sigma - old) < SETTLED * old):
            break
    return x, sigma


def noise(residuals: Residuals, unknowns: Unknowns) -> Array:
    """Return the noise of the efforts (n,), enlarged because samples are correlated."""
    rest = np.where(residuals.kept, residuals.measured - residuals.predicted, 0.0)
    return np.maximum(residuals.rms * np.sqrt(memory(rest)), FLOOR * unknowns.largest)


def deviations(A: Array, rank: int) -> tuple[Array, float]:
    """Return standard deviations of the unknowns of A, infinite where A does not determine them.

    Also return the condition number of the first `rank` columns, scaled to length 1. The rows of A
    are in units of a standard deviation.
    """
    lengths = np.linalg.norm(A, axis=0)
    scaled = A / np.where(lengths > 0.0, lengths, 1.0)
    _, values, axes = np.linalg.svd(np.linalg.qr(scaled, mode="r"))
    usable = np.where(values > 1e-14 * values[0], values, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(np.abs(axes) > 1e-12, axes / usable[:, None], 0.0)
        std = np.linalg.norm(parts, axis=0) / lengths
    singular = np.linalg.svd(scaled[:, :rank], compute_uv=False)
    number = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else float("inf")
    return np.where(np.isnan(std), np.inf, std), number

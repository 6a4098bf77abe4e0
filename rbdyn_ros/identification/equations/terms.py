# SPDX-License-Identifier: Apache-2.0
"""Judge the terms of a model by cross-validation on held-out parts of the motion.

More unknowns always improve a fit to the data that were fitted. So each part of the motion is
predicted by a fit to the other parts, and a term stays if it improves these predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.equations.reduced import PARTS, Equations
from rbdyn_ros.identification.equations.solve import Prior, solve
from rbdyn_ros.identification.equations.unknowns import Unknowns

#: A term stays if it lowers the held-out error by this fraction.
EARNS = 0.01


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the model, and the error on held-out parts of the motion.

    Attributes:
        kind: kind of Extra.
        without, error: RMS error without and with the term, as a fraction of the largest effort;
            the geometric mean over the joints.
        kept: whether the result has the term.
    """

    kind: str
    without: float
    error: float
    kept: bool


def held_out(
    eqs: Equations, prior: Prior, strength: float, sigma: Array, start: Array, largest: Array
) -> float:
    """Return the error of predicting each part of the motion from the other parts, as in Term.

    Args:
        eqs: equations of the motion.
        prior: prior of the unknowns.
        strength: weight of the prior.
        sigma: (n,) standard deviation of the samples of each joint.
        start: a consistent solution.
        largest: (n,) largest effort of each joint [N m or N].
    """
    squares = np.zeros(len(sigma))
    for part in range(PARTS):
        x = solve(*eqs.weighted(sigma, part), prior, strength, start)
        squares += eqs.squares(x)[part]
    shares = np.sqrt(squares / eqs.count.sum(axis=0)) / largest
    return float(np.exp(np.mean(np.log(np.maximum(shares, np.finfo(float).tiny)))))


def places(all_unknowns: Unknowns, some: Unknowns, inertial: int) -> list[int]:
    """Return the columns of some unknowns, after the `inertial` columns of the bodies."""
    found = [all_unknowns.extras.index(extra) for extra in some.extras]
    return [*range(inertial), *(inertial + k for k in found)]


def with_start(found: Sequence[float] | Array, before: Unknowns, after: Unknowns) -> Array:
    """Return the solution `found` (N,) with more unknowns; new unknowns have their prior value."""
    count = len(found) - len(before.extras)
    known = dict(zip(before.extras, found[count:], strict=True))
    new = np.concatenate([after.positive, 0.0 * after.scale])
    rest = [known.get(extra, value) for extra, value in zip(after.extras, new, strict=True)]
    return np.array([*found[:count], *rest])

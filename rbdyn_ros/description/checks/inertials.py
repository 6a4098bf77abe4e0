# SPDX-License-Identifier: Apache-2.0
"""Audit the mass distributions of links."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.values import audit_finite, audit_pose
from rbdyn_ros.description.parts.types import Link

INERTIA_ROUNDING = 1e-6  # tolerance relative to the largest moment, as files have few digits

#: Index of each matrix entry in xx yy zz xy xz yz; row and column of each of these six numbers.
_IN_SIX = [0, 3, 4, 3, 1, 5, 4, 5, 2]
_ROWS, _COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]

#: The allowed principal moments, for messages.
INERTIA_ALLOWED = "moments of 0 or more, each at most the sum of the other two"


def as_matrix(six: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric matrices (..., 3, 3) of xx yy zz xy xz yz (..., 6)."""
    return six[..., _IN_SIX].reshape(*six.shape[:-1], 3, 3)


def as_six(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return xx yy zz xy xz yz (..., 6) of symmetric matrices (..., 3, 3)."""
    return matrix[..., _ROWS, _COLUMNS]


class InertiaFault(NamedTuple):
    """An inertia that no rigid body can have.

    Attributes:
        row: its row in the array of inertias.
        moments: its principal moments [kg m^2] in ascending order, as a string.
        negative: whether a moment is negative; else the largest moment exceeds the sum of the
            other moments.
    """

    row: int
    moments: str
    negative: bool


def inertia_faults(inertias: NDArray[np.float64]) -> Iterator[InertiaFault]:
    """Yield the inertias xx yy zz xy xz yz (n, 6) that no mass distribution can have.

    Source: the triangle inequalities of principal moments.
    """
    matrices = as_matrix(inertias)
    scale = np.abs(matrices).max(axis=(1, 2))
    moments = np.linalg.eigvalsh(matrices / np.where(scale > 0.0, scale, 1.0)[:, None, None])
    small, middle, large = moments.T
    slack = INERTIA_ROUNDING * np.abs(large)
    negative = small < -slack
    for row in np.flatnonzero(negative | (small + middle < large - slack)).tolist():
        largest = float(scale[row])
        text = ", ".join(f"{moment * largest:.3g}" for moment in moments[row].tolist())
        yield InertiaFault(row, text, bool(negative[row]))


def audit_inertials(links: Sequence[Link], audit: Audit) -> None:
    """Add errors for invalid numbers, and warnings for inertias that no body can have."""
    _audit_inertias([link for link in links if _audit_inertial(link, audit)], audit)


def _audit_inertial(link: Link, audit: Audit) -> bool:
    """Return whether the link has an inertial with numbers in range; add errors.

    A negative mass is an error, too, but does not change the result.
    """
    inertial = link.inertial
    if inertial is None:
        return False
    at = audit.about("link", link)
    finite = audit_finite("mass", (inertial.mass,), 1, "mass", at)
    finite &= audit_finite("inertia", inertial.inertia, 6, "inertia", at)
    finite &= audit_pose("inertial origin", inertial.origin, at)
    if finite and inertial.mass < 0.0:
        message = f"the mass is {inertial.mass:g} kg; it must not be negative"
        at.error("negative-mass", message, found=f"{inertial.mass:g}", allowed=">= 0")
    return finite


def _audit_inertias(bodies: Sequence[Link], audit: Audit) -> None:
    """Warn of inertias that no mass distribution can have."""
    rows = [link.inertial.inertia for link in bodies if link.inertial is not None]
    if not rows:
        return
    for fault in inertia_faults(np.array(rows, dtype=float)):
        link = bodies[fault.row]
        reason = (
            "one is negative"
            if fault.negative
            else "the largest is more than the sum of the other two"
        )
        message = (
            "no rigid body has this inertia: its principal moments are "
            f"{fault.moments} kg m^2, and {reason}"
        )
        at = audit.about("link", link)
        at.warn("non-physical-inertia", message, found=fault.moments)

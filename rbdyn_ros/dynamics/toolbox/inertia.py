"""The inverse of M, and how much mass or inertia stands behind a joint or a frame.

Constraints are not in it: these are properties of the tree (couplings are).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_mass_matrix, public
from rbdyn_ros.dynamics.toolbox.filling import fills
from rbdyn_ros.engine.quantities import inverse_mass as _inverse_mass
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Below this part of its largest eigenvalue a mobility is taken for zero.
IMMOBILE = 1e-10

_inverse = public(_inverse_mass.inverse_mass_matrix)
_reflected = public(_inverse_mass.reflected_inertia)


@fills(_inverse_mass.frame_mobility, lambda m: (6, m.nv + 6)).of_frame
def _mobility(m: Model, d: Data, frame: str | int, reference: str) -> Array:
    """Return J M^-1/2 and J M^-1 J^T beside each other, (6, nv + 6)."""


def inverse_mass_matrix(m: Model, d: Data) -> Array:
    """Return M(qpos)^-1, (nv, nv).

    Raises:
        ModelError: if d was not made for m, or if M is too large.
    """
    check_mass_matrix(m, d, "inverse_mass_matrix")
    X = np.empty((m.nv, m.nv))
    _inverse(m, d, X)
    return X


def reflected_inertia(m: Model, d: Data) -> Array:
    """Return 1 / (M^-1)_kk, (nv,): the inertia a motor feels at its dof, all others free.

    M_kk is what it feels with all others held. Errors as inverse_mass_matrix.
    """
    check_mass_matrix(m, d, "reflected_inertia")
    out = np.empty(m.nv)
    _reflected(m, d, out)
    return out


def frame_mobility(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return J M^-1 J^T, (6, 6): the inverse operational-space inertia of a frame at qpos.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame.
        reference: as for frame_jacobian.

    Raises:
        ModelError: for an unknown frame, if d was not made for m, or if M is too large.
        ParameterError: for an unknown reference.

    Source: Khatib, A unified approach for motion and force control, 1987.
    """
    check_mass_matrix(m, d, "frame_mobility")
    mobility: Array = _mobility(m, d, frame, reference)[:, m.nv :].copy()
    return mobility


def operational_inertia(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return Lambda = (J M^-1 J^T)^-1, (6, 6): the operational-space inertia of a frame at qpos.

    Arguments as frame_mobility.

    Raises:
        ModelError: as frame_mobility; or if the frame cannot move in every direction there, as
            that of an arm with less than six joints or in a singular posture: Lambda is infinite.
    """
    mobility = frame_mobility(m, d, frame, reference)
    if not np.isfinite(mobility).all():  # NumPy would raise an error of its own
        return np.full((6, 6), np.nan)
    values, vectors = np.linalg.eigh(mobility)
    rank = int(np.sum(values > IMMOBILE * max(values[-1], 0.0)))
    if rank < 6:
        text = (
            f"operational_inertia: frame {frame!r} moves in {rank} of 6 directions at this "
            "posture, its inertia is infinite in the others; frame_mobility has its inverse, "
            "reflected_mass what stands behind one direction"
        )
        raise ModelError(Finding("singular-frame", text, "error", str(frame)))
    inertia: Array = (vectors / values) @ vectors.T
    return inertia


def reflected_mass(m: Model, d: Data, frame: str | int, direction: Sequence[float]) -> float:
    """Return 1 / (u^T Lambda_v^-1 u) [kg]: the mass that is felt pushing a frame's origin along u.

    Infinite where the frame cannot move that way.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame.
        direction: in world axes, of any length but zero.

    Raises:
        ModelError: as frame_mobility.
        ParameterError: if the direction is not three finite numbers, or zero.

    Source: Khatib, Inertial properties in robotic manipulation, 1995, eq 16.
    """
    u = _unit(direction)
    block = frame_mobility(m, d, frame)[3:, 3:]
    mobility = float(u @ block @ u)
    largest = float(np.abs(block).max())
    return float("inf") if mobility <= IMMOBILE * largest else 1.0 / mobility


def _unit(direction: object) -> Array:
    try:
        u = np.array(direction, np.float64)
    except (TypeError, ValueError):
        u = np.zeros(0)
    largest = float(np.abs(u).max()) if u.shape == (3,) else 0.0
    if not (0.0 < largest < float("inf")):
        text = f"direction is {direction!r}; allowed are three finite numbers, not all zero"
        raise ParameterError(Finding("direction", text, "error", "direction"))
    u /= largest  # whose square is a number, however long it was
    unit: Array = u / np.linalg.norm(u)
    return unit

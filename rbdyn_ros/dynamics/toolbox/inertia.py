# SPDX-License-Identifier: Apache-2.0
"""M, its inverse, and the apparent mass or inertia at a joint or a frame.

These are properties of the tree with its mimic joints; constraints are ignored.
"""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import check_mass_matrix, no_mass_matrix
from rbdyn_ros.dynamics.toolbox.filling import fills
from rbdyn_ros.engine import forward as _forward
from rbdyn_ros.engine.quantities import inverse_mass as _inverse_mass
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: A mobility below this part of the largest eigenvalue counts as zero.
IMMOBILE = 1e-10


def _nv(m: Model, function: str) -> int:
    """Return nv; raise ModelError if the Model is too large to have M."""
    if m.nM == 0 and m.nv > 0:
        raise no_mass_matrix(m, function)
    return int(m.nv)


@fills(_forward.mass_matrix, lambda m: (_nv(m, "mass_matrix"), m.nv))
def mass_matrix(m: Model, d: Data) -> Array:
    """Return the joint-space inertia matrix M(qpos), dense (nv, nv).

    Raises:
        ModelError: d was not made for m, or M is too large.
    """


@fills(_inverse_mass.frame_mobility, lambda m: (6, m.nv + 6)).of_frame
def _mobility(m: Model, d: Data, frame: str | int, reference: str) -> Array:
    """Return J M^-1/2 and J M^-1 J^T side by side, (6, nv + 6)."""


@fills(_inverse_mass.inverse_mass_matrix, lambda m: (_nv(m, "inverse_mass_matrix"), m.nv))
def inverse_mass_matrix(m: Model, d: Data) -> Array:
    """Return M(qpos)^-1, (nv, nv).

    Raises:
        ModelError: d was not made for m, or M is too large.
    """


@fills(_inverse_mass.reflected_inertia, lambda m: _nv(m, "reflected_inertia"))
def reflected_inertia(m: Model, d: Data) -> Array:
    """Return 1 / (M^-1)_kk (nv,): the inertia that a motor at dof k moves if other dofs are free.

    M_kk is the inertia with all other dofs locked. Errors: see inverse_mass_matrix.
    """


def frame_mobility(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return J M^-1 J^T, (6, 6): the inverse operational-space inertia of a frame at qpos.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame.
        reference: see frame_jacobian.

    Raises:
        ModelError: the frame is unknown, d was not made for m, or M is too large.
        ParameterError: the reference is unknown.

    Source: Khatib, A unified approach for motion and force control, 1987.
    """
    check_mass_matrix(m, d, "frame_mobility")
    mobility: Array = _mobility(m, d, frame, reference)[:, m.nv :].copy()
    return mobility


def operational_inertia(
    m: Model, d: Data, frame: str | int, reference: str = "local_world_aligned"
) -> Array:
    """Return Lambda = (J M^-1 J^T)^-1, (6, 6): the operational-space inertia of a frame at qpos.

    Arguments: see frame_mobility.

    Raises:
        ModelError: as for frame_mobility; or Lambda is infinite, because the frame cannot move in
            every direction, as on an arm with fewer than six joints or in a singular posture.
    """
    mobility = frame_mobility(m, d, frame, reference)
    if not np.isfinite(mobility).all():  # np.linalg.eigh would raise its own error
        return np.full((6, 6), np.nan)
    # scale rotations and translations to one unit, so that the robot's size does not matter
    turn, shift = np.trace(mobility[:3, :3]), np.trace(mobility[3:, 3:])
    unit = np.repeat([1.0 / np.sqrt(x) if x > 0.0 else 1.0 for x in (turn, shift)], 3)
    values, vectors = np.linalg.eigh(unit[:, None] * mobility * unit)
    rank = int(np.sum(values > IMMOBILE * max(values[-1], 0.0)))
    if rank < 6:
        text = (
            f"operational_inertia: frame {frame!r} moves in {rank} of 6 directions at this "
            "posture, and its inertia in the other directions is infinite; use frame_mobility "
            "for the "
            "inverse, or reflected_mass for one direction"
        )
        raise ModelError(Finding("singular-frame", text, "error", str(frame)))
    inertia: Array = unit[:, None] * ((vectors / values) @ vectors.T) * unit
    return inertia


def reflected_mass(m: Model, d: Data, frame: str | int, direction: Sequence[float]) -> float:
    """Return 1 / (u^T Lambda_v^-1 u) [kg]: the apparent mass of a frame's origin along u.

    The result is infinite if the frame cannot move in this direction.

    Args:
        m: the Model.
        d: its Data.
        frame: name or number of a frame.
        direction: vector u in world axes, of any length except zero.

    Raises:
        ModelError: as for frame_mobility.
        ParameterError: the direction is not three finite numbers, or is zero.

    Source: Khatib, Inertial properties in robotic manipulation, 1995, eq 16.
    """
    u = _unit(direction)
    block = frame_mobility(m, d, frame)[3:, 3:]
    mobility = float(u @ block @ u)
    largest = float(np.abs(block).max())
    return float("inf") if mobility <= IMMOBILE * largest else 1.0 / mobility


def _unit(direction: object) -> Array:
    allowed = "three finite numbers, not all zero"
    u = finite("direction", direction, (3,), code="direction", allowed=allowed)
    largest = float(np.abs(u).max())
    if largest == 0.0:
        text = f"direction is {direction!r}; allowed are {allowed}"
        raise ParameterError(Finding("direction", text, "error", "direction"))
    u = u / largest  # scale the vector so that the square of its length cannot overflow
    unit: Array = u / np.linalg.norm(u)
    return unit

"""Functions of (m, d) that check arguments or return arrays; what they run are engine stages."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.engine import crb as inertia
from rbdyn_ros.engine import forward as tick
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import MAX_M_ENTRIES
from rbdyn_ros.model.rotation import quat_to_mat

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

Array = NDArray[np.float64]


def make_data(m: Model) -> Data:
    """Return a Data in its initial state: qpos0, everything else zero."""
    return Data(m)


def reset_data(m: Model, d: Data) -> None:
    """Put a Data back into its initial state: qpos0, everything else zero, time included."""
    d.buffer[:] = 0.0
    d.qpos[:] = m.qpos0


def step(m: Model, d: Data, nstep: int = 1) -> None:
    """Advance d by nstep timesteps of m.opt.timestep; the loop is compiled.

    Afterwards qpos, qvel and time are new; derived fields and qacc are those at the start of
    the last timestep, as in MuJoCo. n steps at once and n single ones leave equal bits.

    Raises:
        ParameterError: if nstep is not a whole number of at least 0.
        ModelError: if d was not made for m.
    """
    try:
        count = operator.index(nstep)
    except TypeError:
        count = -1
    if count < 0:
        text = f"nstep is {nstep!r}; allowed is a whole number of at least 0."
        raise ParameterError(Finding("nstep", text, "error", "nstep", None, repr(nstep)))
    tick.advance(m, d, count)


def mass_matrix(m: Model, d: Data) -> Array:
    """Return the joint-space inertia matrix at qpos, dense (nv, nv).

    Raises:
        ModelError: if the matrix of this Model would be too large.
    """
    _demand_matrix(m, "mass_matrix")
    dense = np.empty((m.nv, m.nv))
    tick.mass_matrix(m, d, dense)
    return dense


def crb(m: Model, d: Data) -> None:
    """Write crb and M by the composite-rigid-body algorithm; needs com_pos.

    Raises:
        ModelError: if the matrix of this Model would be too large.
    """
    _demand_matrix(m, "crb")
    inertia.crb(m, d)


def factor_m(m: Model, d: Data) -> None:
    """Write qLD and qLDiagInv, the L^T D L factors of M; needs crb.

    Raises:
        ModelError: if the matrix of this Model would be too large.
    """
    _demand_matrix(m, "factor_m")
    inertia.factor_m(m, d)


def solve_m(m: Model, d: Data, x: Array, y: Array) -> None:
    """Write x = M^-1 y, both (nv,); needs factor_m.

    Raises:
        ModelError: for arrays of another shape or type, or if M is too large.
    """
    _demand_matrix(m, "solve_m")
    _demand_vectors(m, x, y)
    x[:] = y
    inertia.solve_ltdl(m, d, x)


def mul_m(m: Model, d: Data, y: Array, x: Array) -> None:
    """Write y = M x, both (nv,), not the same array; needs crb.

    Raises:
        ModelError: for arrays of another shape or type, or if M is too large.
    """
    _demand_matrix(m, "mul_m")
    _demand_vectors(m, x, y)
    inertia.mul_m(m, d, x, y)


def frame_pose(m: Model, d: Data, name: str) -> tuple[Array, Array]:
    """Return position (3,) and rotation (3, 3) of a named frame in the world; needs kinematics.

    Raises:
        ModelError: for an unknown frame.
    """
    frame = m.frame_id(name)
    body = m.frame_bodyid[frame]
    rotation = d.xmat[body].reshape(3, 3)
    position = d.xpos[body] + rotation @ m.frame_pos[frame]
    return position, rotation @ quat_to_mat(m.frame_quat[frame])


def _demand_matrix(m: Model, function: str) -> None:
    if m.nM == 0 and m.nv > 0:
        text = (
            f"{function}: the mass matrix of '{m.name}' has more than {MAX_M_ENTRIES} entries; "
            "use forward_dynamics and inverse, which do not need it."
        )
        raise ModelError(Finding("no-mass-matrix", text, "error", function))


def _demand_vectors(m: Model, *vectors: Array) -> None:
    for vector in vectors:
        fits = isinstance(vector, np.ndarray) and vector.shape == (m.nv,)
        if not (fits and vector.dtype == np.float64 and vector.flags.c_contiguous):
            text = f"a contiguous float64 array of shape ({m.nv},) is needed, got {vector!r}."
            raise ModelError(Finding("vector-shape", text))

# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of inverse and forward dynamics, and the linearised system.

Positions are differentiated along the coordinates of qvel, as integrate_pos adds them: rotations
of a free or ball joint are in the axes of its body.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import check_mass_matrix, check_pair, public
from rbdyn_ros.engine.quantities import derivatives as _derivatives
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass, JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import cross_matrix

_inverse = public(_derivatives.inverse_derivatives)
_forward = public(_derivatives.forward_derivatives)


def inverse_derivatives(m: Model, d: Data) -> tuple[Array, Array, Array]:
    """Return the derivatives of qfrc_inverse by qpos, qvel and qacc, each (nv, nv).

    The third result is M. The call also writes the fields that `inverse` writes.

    Raises:
        ModelError: d was not made for m, or the Model has no analytic derivatives, because it has
            constraints, contact, rack-and-pinion or user-defined joints, or reversed joints with
            several dofs; or, if opt.passive is on, springs between points, springs in joints with
            quaternions, or limits of ball joints.

    Source: Singh, Russo, Wensing, Efficient analytical derivatives of rigid-body dynamics using
    spatial vector algebra, 2022.
    """
    check_pair(m, d, "inverse_derivatives")
    _check(m, "inverse_derivatives")
    out = np.empty((3, m.nv, m.nv))
    _inverse(m, d, out)
    return out[0], out[1], out[2]


def forward_derivatives(m: Model, d: Data) -> tuple[Array, Array, Array]:
    """Return the derivatives of qacc by qpos, qvel and qfrc_applied, each (nv, nv).

    The third result is M^-1. Forces on bodies (xfrc_applied) keep their direction in the world.
    The call also writes the fields that forward_dynamics writes. Dry friction and limits of joints
    follow the smooth law, because the exact law has no derivative where a joint is at rest.

    Raises:
        ModelError: as for inverse_derivatives; M is too large; or a joint has a drive mode other
            than "force" (set_drive).

    Source: Carpentier, Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018.
    """
    check_mass_matrix(m, d, "forward_derivatives")
    _check(m, "forward_derivatives")
    # np.count_nonzero takes a third of the time of any()
    if d.accelerate_stage and np.count_nonzero(d.drive_mode):
        raise _none("forward_derivatives", m, "joints in drive mode (set_drive)")
    out = np.empty((3, m.nv, m.nv))
    _forward(m, d, out)
    return out[0], out[1], out[2]


def linearise(m: Model, d: Data, timestep: float | None = None) -> tuple[Array, Array]:
    """Return A (2 nv, 2 nv) and B (2 nv, nv) of x' = A x + B u around the state and forces in d.

    x holds small changes of position, along the coordinates of qvel, and small changes of qvel. u
    holds small changes of qfrc_applied. The constant part, the rates (qvel, qacc) at x = u = 0, is
    left out.

    Args:
        m: the Model.
        d: its Data.
        timestep: if it is given [s], the discrete system x+ = A x + B u is returned, with u
            constant over the timestep (exact, by the matrix exponential); None: the continuous
            system is returned.

    Raises:
        ModelError: as for forward_derivatives.
        ParameterError: the timestep is not a finite number greater than 0.
    """
    check_pair(m, d, "linearise")
    return linear_system(m, d, timestep, forward_derivatives(m, d))


def linear_system(
    m: Model, d: Data, timestep: float | None, derivatives: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Return A and B as `linearise` does, from derivatives of qacc by qpos, qvel and forces."""
    if timestep is not None:
        timestep = finite("the timestep", timestep, above=0.0, element="")
    dq, dv, dtau = derivatives
    nv = m.nv
    A, B = np.zeros((2 * nv, 2 * nv)), np.zeros((2 * nv, nv))
    A[:nv, :nv] = _carried_along(m, d)
    A[:nv, nv:] = np.eye(nv)
    A[nv:, :nv], A[nv:, nv:], B[nv:] = dq, dv, dtau
    if timestep is None:
        return A, B
    from scipy.linalg import expm  # this import is slow

    whole = np.zeros((3 * nv, 3 * nv))
    whole[: 2 * nv, : 2 * nv], whole[: 2 * nv, 2 * nv :] = A, B
    whole = expm(whole * timestep)
    return whole[: 2 * nv, : 2 * nv], whole[: 2 * nv, 2 * nv :]


def _carried_along(m: Model, d: Data) -> Array:
    """Return G (nv, nv): at unchanged qvel, a small change x of the position has the rate G x."""
    G = np.zeros((m.nv, m.nv))
    for j in range(m.njnt):
        kind, v = JointType(m.jnt_type[j]), int(m.jnt_dofadr[j])
        if m.jnt_class[j] != JointClass.FREE:
            continue
        if kind in (JointType.FREE, JointType.BALL):
            turn = v + 3 if kind == JointType.FREE else v
            G[turn : turn + 3, turn : turn + 3] = -cross_matrix(d.qvel[turn : turn + 3])
        elif kind in (JointType.SIXDOF_FP, JointType.SIXDOF_FS):
            w, u = cross_matrix(d.qvel[v : v + 3]), cross_matrix(d.qvel[v + 3 : v + 6])
            G[v : v + 6, v : v + 6] = -np.block([[w, np.zeros((3, 3))], [u, w]])
        elif kind in (JointType.PLANAR_FP, JointType.PLANAR_FS):
            w, x, y = d.qvel[v : v + 3]
            G[v : v + 3, v : v + 3] = [[0.0, 0.0, 0.0], [-y, 0.0, w], [x, -w, 0.0]]
    return G


def _check(m: Model, function: str) -> None:
    """Raise ModelError if there are no analytic derivatives of the motion of m."""
    motion, passive = m.not_differentiable
    reason = motion or (passive if m.opt.passive else "")
    if reason:
        raise _none(function, m, reason)


def _none(function: str, m: Model, reason: str) -> ModelError:
    text = f"{function}: '{m.name}' has no analytic derivatives, because it has {reason}"
    return ModelError(Finding("no-derivative", text, "error", function))

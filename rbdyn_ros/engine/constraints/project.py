# SPDX-License-Identifier: Apache-2.0
"""Constraint forces: they make the smallest change of the accelerations such that K qacc = k.

With M = L^T D L, a row of K becomes a row of Y = K L^-1 D^-1/2, and Y Y^T is the Delassus matrix
K M^-1 K^T. A QR decomposition of Y^T gives unique accelerations for any rank, and does not square
the condition number:

    Y^T P = Q R,  R^T t = P^T (k - K qacc_free),  D^1/2 L qacc = D^1/2 L qacc_free + Q t,

and lambda is the solution of R P^T lambda = t with minimum norm. Whether rows depend on each other
is a property of the geometry, not of the masses. So if the rank of Y is doubtful, the order P and
the rank are determined from K.

Source: RBDA eq 3.17; qr.py.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.jit import inline, is_known, kernel
from rbdyn_ros.engine.constraints.qr import (
    UNSURE,
    decompose,
    decompose_ordered,
    decompose_sure,
    dot,
    length2,
    shortest,
)
from rbdyn_ros.engine.constraints.wrenches import roll_rows
from rbdyn_ros.engine.tree.crb import half_solve
from rbdyn_ros.model.declared.options import FORCE
from rbdyn_ros.model.tree.constraints import ROLL_ROWS

#: Columns of K are scaled to equal length, because some are per radian and others per metre.
#: Columns shorter than this part of the longest may be rounding errors and are not scaled.
SMALL_COLUMN = 1e-6


@kernel
def respond(m, d, x):
    """Write row_response (the decomposition of Y), row_order, row_rank and row_rest.

    Needs the factors of M, and efc_J.

    `x` is D^1/2 L qacc without constraint forces.
    """
    _see_rows(m, d)
    for r in range(m.nefc):
        rest = d.efc_share[0] * d.efc_aref[r] - d.efc_rate[0] * d.efc_vel[r]
        rest -= dot(d.row_response[r], x, 0, m.nv)
        if d.drive_number[0] > 0:
            for k in range(m.nv):
                if d.drive_mode[k] != FORCE:
                    rest -= d.efc_J[r, k] * d.drive_qacc[k]
        d.row_rest[r] = rest
        d.row_order[r] = r
        d.row_size[r] = length2(d.row_response[r], 0, m.nv)
    _measure_together(m, d)
    # while symbols are traced, the rank is not known: use the branch with K
    d.row_rank[0] = UNSURE
    if m.nv == 0 or is_known(d.row_response[0, 0]):
        d.row_rank[0] = decompose_sure(
            d.row_response, m.nefc, m.nv, d.row_order, d.row_size, d.row_left, d.row_diag,
            d.row_beta,
        )  # fmt: skip
    if d.row_rank[0] == UNSURE:
        _take_rows(m, d)
        choose_rows(m, d)
        _see_rows(m, d)
        decompose_ordered(
            d.row_response, m.nefc, m.nv, d.row_rank[0], d.row_order, d.row_diag, d.row_beta
        )


@kernel
def _see_rows(m, d):
    """Write Y, the response of the dofs to each constraint row, to row_response."""
    _take_rows(m, d)
    for r in range(m.nefc):
        half_solve(m, d, d.row_response[r])


@kernel
def _take_rows(m, d):
    """Write K to row_response, with zeros in the columns of driven dofs."""
    for r in range(m.nefc):
        for k in range(m.nv):
            d.row_response[r, k] = d.efc_J[r, k]
    if d.drive_number[0] > 0:
        for k in range(m.nv):
            if d.drive_mode[k] != FORCE:
                for r in range(m.nefc):
                    d.row_response[r, k] = 0.0


@kernel
def choose_rows(m, d):
    """Write row_rank, and row_order with independent rows first, for K in row_response."""
    K, W = d.row_response, d.row_geometry
    largest = 0.0
    for k in range(m.nv):
        d.row_shift[k] = 0.0
        for r in range(m.nefc):
            d.row_shift[k] = max(d.row_shift[k], abs(K[r, k]))
        largest = max(largest, d.row_shift[k])
    for r in range(m.nefc):
        d.row_order[r] = r
        for k in range(m.nv):
            column = max(d.row_shift[k], SMALL_COLUMN * largest)
            W[r, k] = K[r, k] / column if column > 0.0 else 0.0
        d.row_size[r] = length2(W[r], 0, m.nv)
    _measure_together(m, d)
    d.row_rank[0] = decompose(
        W, m.nefc, m.nv, d.row_order, d.row_size, d.row_left, d.row_diag, d.row_beta
    )


@kernel
def _measure_together(m, d):
    """Set row_size of all force rows of a loop joint to their largest row_size.

    The same holds for its moment rows, and for the three rows of a body that rolls.

    A row that cannot be violated in some pose is zero in this pose and short near it. Compared
    with its own short length, it would seem independent of the other rows.
    """
    for i in range(m.nloop):
        first, number = m.loop_efcadr[i], m.loop_efcnum[i]
        force = moment = 0.0
        for n in range(number):
            if _is_force(d, i, n):
                force = max(force, d.row_size[first + n])
            else:
                moment = max(moment, d.row_size[first + n])
        for n in range(number):
            d.row_size[first + n] = force if _is_force(d, i, n) else moment
    for i in range(m.nroll):
        first = roll_rows(m) + ROLL_ROWS * i
        most = max(d.row_size[first], d.row_size[first + 1], d.row_size[first + 2])
        for n in range(ROLL_ROWS):
            d.row_size[first + n] = most


@inline
def _is_force(d, i, n):
    x, y, z = d.loop_T[i, n, 3], d.loop_T[i, n, 4], d.loop_T[i, n, 5]
    return x * x + y * y + z * z > 0.5


@inline
def bend(m, d, rest, x):
    """Write the shortest x = Q t with Y x = rest, and write t to row_step."""
    shortest(
        d.row_response, d.row_rank[0], m.nv, d.row_order, d.row_diag, d.row_beta,
        rest, d.row_step, x,
    )  # fmt: skip

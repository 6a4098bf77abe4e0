# SPDX-License-Identifier: Apache-2.0
"""The step of the implicit integrators: (M + h B + s h dc/dv) qacc = f, with Coriolis forces c.

dc/dv is the derivative of qfrc_bias by qvel. With s = 1 ("implicit") all velocity-dependent forces
are linearised and evaluated at the end of the step, as in MuJoCo's integrator of that name. With s
= 1/2 ("implicit_midpoint") the Coriolis and centrifugal forces are evaluated at the middle of the
step. Because they are quadratic in the velocities, this is Kahan's method: it is of second order
and reversible in time, and to first order neither adds nor removes energy. Damping is still
evaluated at the end of the step.

The matrix is not symmetric, but it has the sparsity of M: it is factored like M, without fill-in.

Source: MuJoCo's documentation, Computation, Numerical integration; Kahan, Unconventional numerical
methods for trajectory calculations, 1993. Derivatives: quantities/derivatives.py.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add6,
    dot3,
    dot6,
    inertia_times,
    load6,
    load10,
    scaled3,
    scaled6,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.coupled import (
    count_driven,
    free_force,
    inertia_of_step,
    prescribe,
)
from rbdyn_ros.engine.joints.coordinates import acts_on
from rbdyn_ros.engine.tree.crb import carried, crb
from rbdyn_ros.engine.tree.flight import is_single
from rbdyn_ros.engine.tree.rates import (
    axis_rates,
    composite_rates,
    load12,
    rate_times,
    rate_times_left,
)
from rbdyn_ros.engine.tree.stiffen import bounded_pivot
from rbdyn_ros.model.declared.options import FORCE, IMPLICIT


@optional_stage("implicit_stage")
def _by_address(table, row):
    accelerate_implicitly(model_at(table), data_at(table, row))


@kernel
def accelerate_implicitly(m, d):
    """Write qacc_step; velocity-dependent forces are implicit over the time implicit_step.

    The lower triangle of the matrix is in qLD, the upper triangle in qLU. Call `smooth_stages`
    first.
    """
    crb(m, d)
    driven = count_driven(m, d) > 0
    if driven:
        prescribe(m, d)
    free_force(m, d)
    inertia_of_step(m, d)
    for e in range(m.nM):
        d.qLU[e] = d.qLD[e]
    share = 1.0 if m.opt.integrator_id == IMPLICIT else 0.5
    add_coriolis_slopes(m, d, share * d.implicit_step[0])
    if driven:
        _give_accelerations(m, d)
    _factor(m, d)
    _solve(m, d, d.qacc_step)


@kernel
def add_coriolis_slopes(m, d, times):
    """Add `times` the derivative of qfrc_bias by qvel to qLD and qLU.

    Call `crb` and `com_vel` first.
    """
    axis_rates(m, d)
    composite_rates(m, d)
    if m.npair > 0:
        _by_pairs(m, d, times)
    else:
        _by_rows(m, d, times)


@kernel
def _by_rows(m, d, times):
    for i in range(m.nv):
        if is_single(m, d, m.dof_bodyid[i]):
            continue  # flight.py adds the gyroscopic torque
        U, W, Z = _terms(m, d, m.dof_bodyid[i], i)
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        for e in range(row, diagonal + 1):
            d.qLD[e] += times * _of_first(d, U, W, m.M_colind[e])
        for e in range(row, diagonal):
            d.qLU[e] += times * dot6(load6(d.cdof, m.M_colind[e]), Z)


@kernel
def _by_pairs(m, d, times):
    """Add the slopes in a Model with mimic joints: each pair of coordinates adds to its dofs."""
    for n in range(m.npair):
        c, above = m.pair_coord[n, 0], m.pair_coord[n, 1]
        e, weight = m.pair_entry[n], times * m.pair_weight[n]
        body = carried(m, c)
        if is_single(m, d, body):
            continue
        U, W, Z = _terms(m, d, body, c)
        by_above, by_c = _of_first(d, U, W, above), dot6(load6(d.cdof_all, above), Z)
        dof, _ = acts_on(m, body - 1, c)
        other, _ = acts_on(m, carried(m, above) - 1, above)
        if dof == other:
            d.qLD[e] += 0.5 * weight * (by_above + by_c)
        elif dof > other:
            d.qLD[e] += weight * by_above
            d.qLU[e] += weight * by_c
        else:
            d.qLD[e] += weight * by_c
            d.qLU[e] += weight * by_above


@inline
def _terms(m, d, body, c):
    """Return the terms that a body's derivatives by coordinate c share, see derivatives.py."""
    I, B, S = load10(d.crb, body), load12(d.crb_rate, body), load6(d.cdof_all, c)
    U, W = inertia_times(I, S), scaled3(rate_times_left(B, S), 2.0)
    Z = inertia_times(I, _rate(d, c))
    return U, W, add6(scaled6(rate_times(B, S), 2.0), Z)


@inline
def _of_first(d, U, W, other):
    """Return the derivative of a coordinate's force by the velocity of `other`, an earlier one."""
    S = load6(d.cdof_all, other)
    return dot6(U, _rate(d, other)) + dot3(W, (S[0], S[1], S[2]))


@inline
def _rate(d, c):
    return add6(load6(d.cdof_dot_all, c), load6(d.cdof_rate, c))


@kernel
def _give_accelerations(m, d):
    """Replace the equations of driven dofs by qacc = drive_qacc."""
    for i in range(m.nv):
        row = m.M_rowadr[i]
        diagonal = row + m.M_rownnz[i] - 1
        given = d.drive_mode[i] != FORCE
        for e in range(row, diagonal):
            d.qLD[e] = 0.0 if given else d.qLD[e]
            d.qLU[e] = 0.0 if d.drive_mode[m.M_colind[e]] != FORCE else d.qLU[e]
        if given:
            d.qLD[diagonal] = 1.0
            d.qacc_step[i] = d.drive_qacc[i]


@kernel
def _factor(m, d):
    """Eliminate dofs from the leaves to the root; qLU receives the factors of the rows above."""
    for k in range(m.nv - 1, -1, -1):
        row = m.M_rowadr[k]
        diagonal = row + m.M_rownnz[k] - 1
        if d.nstopped != 0:
            d.qLD[diagonal] = bounded_pivot(m, k, d.qLD[diagonal])
        d.D[k] = d.qLD[diagonal]
        inverse = 1.0 / d.qLD[diagonal]
        d.qLDiagInv[k] = inverse
        # the row of an ancestor i has the same columns, in the same order, as k's row up to i
        for e in range(diagonal - 1, row - 1, -1):
            i = m.M_colind[e]
            left, right = d.qLU[e] * inverse, d.qLD[e] * inverse
            start = m.M_rowadr[i]
            for n in range(m.M_rownnz[i]):
                d.qLD[start + n] -= left * d.qLD[row + n]
            for n in range(m.M_rownnz[i] - 1):
                d.qLU[start + n] -= right * d.qLU[row + n]
            d.qLU[e] = left


@kernel
def _solve(m, d, x):
    """Replace x by the solution. Call `_factor` first."""
    for i in range(m.nv - 1, -1, -1):
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            x[m.M_colind[e]] -= d.qLU[e] * x[i]
    for i in range(m.nv):
        row = m.M_rowadr[i]
        for e in range(row, row + m.M_rownnz[i] - 1):
            x[i] -= d.qLD[e] * x[m.M_colind[e]]
        x[i] *= d.qLDiagInv[i]

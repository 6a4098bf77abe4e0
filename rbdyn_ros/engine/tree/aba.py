# SPDX-License-Identifier: Apache-2.0
"""Articulated-body algorithm: joint accelerations in O(n).

Source: RBDA table 7.1, in MuJoCo's frame: all bodies of a tree share world axes about the tree's
centre of mass, so no 6x6 transforms are needed. Accelerations are relative to cacc_bias, the
acceleration at qacc = 0. So the bias force of a body is cfrc_bias, there is no term in c_J, and
RNE and ABA share this forward pass. A joint of several dofs is a chain of joints of one dof
without bodies between, so dofs are eliminated one by one and D is a number. The free joint of a
floating base has a separate algorithm (floating_base.py).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    add6,
    add_scaled6,
    cross3,
    dot6,
    load3,
    load6,
    scaled6,
    store6,
    sub3,
)
from rbdyn_ros.engine.algebra.symmetric import (
    add21,
    load21,
    minus_outer,
    rigid_inertia,
    scaled21,
    store21,
    times21,
)
from rbdyn_ros.engine.compiler.jit import inline, is_zero, kernel, select
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.tree.flight import is_single
from rbdyn_ros.engine.tree.floating_base import (
    is_floating_base,
    pivot,
    remaining_force,
    solve_base,
)
from rbdyn_ros.model.declared.options import IMPLICIT, IMPLICIT_DAMPING


@kernel
def articulated(m, d, step, share, qacc):
    """Write qacc with (M + E) qacc = applied + passive + contact - bias.

    The right side includes xfrc_applied. Constraints, mimic joints and drive modes need a separate
    stage (coupled.py), in which K qacc is `share` times k; `share` is 1 except in an Euler step.
    For the explicit acceleration, step and E are zero. Otherwise velocity-dependent forces are
    evaluated at the end of the step: E is step times diag(dof_viscosity), if the integrator is
    implicit_damping, plus the terms of contacts (add_contact_slope) and of stops (stops/).
    """
    if d.accelerate_stage != 0:
        _by_stage(m, d, step, share, qacc)
        return
    viscosity_step = implicit_damping(m, step)
    stop_step = select(d.nstopped != 0, step, 0.0)
    for i in range(m.nbody - 1, 0, -1):
        A, p = _articulated_body(m, d, i, step)
        if is_floating_base(m, i):
            solve_base(m, d, i, A, p, viscosity_step, stop_step, qacc)
        else:
            _eliminate_joint(m, d, i, A, p, viscosity_step, stop_step)
    store6(d.a, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(1, m.nbody):
        if is_floating_base(m, i):
            continue
        a = load6(d.a, m.body_parentid[i])
        first = m.body_dofadr[i]
        for k in range(first, first + m.body_dofnum[i]):
            # qdd = D^-1 (u - U^T a)
            qacc[k] = d.Dinv_u[k] - dot6(load6(d.U_Dinv, k), a)
            a = add_scaled6(a, load6(d.cdof, k), qacc[k])
        store6(d.a, i, a)


@kernel
def accelerate_step(m, d, h):
    """Write qacc_step: the acceleration of a timestep with linearised contact."""
    if m.opt.integrator_id >= IMPLICIT:
        d.implicit_step[0] = h
        call_stage(m.opt.implicit_stage, m, d)
    else:
        articulated(m, d, h, 0.5, d.qacc_step)


@kernel
def _by_stage(m, d, step, share, qacc):
    d.implicit_step[0] = step
    d.efc_share[0] = share
    call_stage(d.accelerate_stage, m, d)
    for k in range(m.nv):
        qacc[k] = d.qacc_step[k]


@inline
def implicit_damping(m, step):
    """Return the time over which damping is implicit: `step`, or 0 if damping is explicit."""
    return step if m.opt.integrator_id == IMPLICIT_DAMPING else 0.0


@kernel
def count_bad(m, d):
    """Add the number of dofs whose inertia was not positive to nbad. Call `articulated` first."""
    bad = 0
    for k in range(m.nv):
        bad += select(d.D[k] > 0.0, 0, 1)  # this also catches NaN
    d.nbad = d.nbad + bad


@inline
def _articulated_body(m, d, i, step):
    """Return IA and pA of body i after the elimination of its descendants."""
    A, p = rigid_inertia(d.cinert[i]), applied_bias(m, d, i, step)
    if m.ncontact > 0 and d.body_touches[i] != 0:
        A = add_contact_slope(d, i, step, A)
    if m.body_haschild[i]:
        A, p = add21(A, load21(d.IA, i)), add6(p, load6(d.pA, i))
    return A, p


@inline
def _eliminate_joint(m, d, i, A, p, viscosity_step, stop_step):
    first = m.body_dofadr[i]
    for k in range(first + m.body_dofnum[i] - 1, first - 1, -1):
        S = load6(d.cdof, k)
        # U = IA S; D = S^T U; u = tau - S^T pA
        U = times21(A, S)
        D = pivot(m, d, k, dot6(S, U), viscosity_step, stop_step)
        u = remaining_force(d, k, S, p)
        U_Dinv = scaled6(U, 1.0 / D)
        store6(d.U_Dinv, k, U_Dinv)
        d.D[k] = D
        d.Dinv_u[k] = u / D
        # Ia = IA - U D^-1 U^T; pa = pA + U D^-1 u
        A = minus_outer(A, U_Dinv, U)
        p = add_scaled6(p, U_Dinv, u)
    pass_to_parent(m, d, i, A, p)


@inline
def add_contact_slope(d, i, step, A):
    """Return the inertia A of a body plus step C, which represents its contacts with the world.

    The contact force is f - step C a (contact/law/body_sums.py). C is positive semidefinite, so no
    contact is too stiff for a step. Source: Baraff, Witkin, Large steps in cloth simulation, 1998
    (Euler's implicit step, linearised).
    """
    return add21(A, scaled21(load21(d.contact_slope, i), step))


@inline
def pass_to_parent(m, d, i, A, p):
    """Add A, p to IA, pA of the parent; the last child comes first and starts the sum."""
    parent = m.body_parentid[i]
    if parent > 0:
        if not m.body_lastchild[i]:
            A, p = add21(A, load21(d.IA, parent)), add6(p, load6(d.pA, parent))
        store21(d.IA, parent, A)
        store6(d.pA, parent, p)


@inline
def applied_bias(m, d, i, step):
    # cfrc_bias - [arm x f + n; f], for the applied force f and torque n; then the same for contact
    t = d.xfrc_applied[i]
    f = (t[0], t[1], t[2])
    n = cross3(sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i])), f)
    p = load6(d.cfrc_bias, i)
    if not is_zero(step) and is_single(m, d, i):
        p = load6(d.flight_work, i)
    if m.ncontact > 0:
        p = add_scaled6(p, load6(d.cfrc_contact, i), -1.0)
    return (
        p[0] - n[0] - t[3], p[1] - n[1] - t[4], p[2] - n[2] - t[5],
        p[3] - f[0], p[4] - f[1], p[5] - f[2],
    )  # fmt: skip

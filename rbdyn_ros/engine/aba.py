"""Articulated-body algorithm: joint accelerations in O(n).

Source: RBDA table 7.1, in MuJoCo's frame: all bodies of a tree share world axes about the
tree's centre of mass, so no 6x6 transforms are needed. Accelerations are counted from
cacc_bias, the motion at qacc = 0; the bias force of a body is then cfrc_bias, no term in c_J
remains, and RNE and ABA share that forward pass. A joint of several dofs is a chain of joints
of one dof without bodies between, so dofs are eliminated one by one and D is a number.
"""

from __future__ import annotations

from rbdyn_ros.engine.jit import inline, is_zero, kernel, select
from rbdyn_ros.engine.optional import call_stage
from rbdyn_ros.engine.spatial import (
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
from rbdyn_ros.engine.stops.stiffen import sound
from rbdyn_ros.model.options import IMPLICIT, IMPLICIT_DAMPING

ZERO21 = (0.0,) * 21


@kernel
def articulated(m, d, step, share, qacc):
    """Write qacc with (M + E) qacc = applied + passive + contact - bias.

    The right side includes xfrc_applied. Constraints, mimic joints and drive modes have a stage of
    their own (coupled.py), where K qacc is share times k; share is 1 except in Euler's step. For
    the explicit acceleration, step is 0 and E is zero. Otherwise velocity-dependent forces are
    evaluated at the end of the step: E is step times diag(dof_viscosity), if the integrator is
    implicit_damping, plus the terms of contact (yielding) and of joints that stop (stops/).
    """
    if d.accelerate_stage != 0:
        _by_stage(m, d, step, share, qacc)
        return
    viscosity_step = implicit_damping(m, step)
    stop_step = select(d.nstopped != 0, step, 0.0)
    for i in range(m.nbody - 1, 0, -1):
        _eliminate_joint(m, d, i, step, viscosity_step, stop_step)
    store6(d.a, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(1, m.nbody):
        a = load6(d.a, m.body_parentid[i])
        first = m.body_dofadr[i]
        for k in range(first, first + m.body_dofnum[i]):
            # qdd = D^-1 (u - U^T a)
            qacc[k] = d.Dinv_u[k] - dot6(load6(d.U_Dinv, k), a)
            a = add_scaled6(a, load6(d.cdof, k), qacc[k])
        store6(d.a, i, a)


@kernel
def accelerate_step(m, d, h):
    """Write qacc_step: the acceleration of a timestep, contact being linearised."""
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
    """Return the time over which damping is implicit."""
    return step if m.opt.integrator_id == IMPLICIT_DAMPING else 0.0


@kernel
def count_bad(m, d):
    """Count dofs whose inertia was not positive in nbad; needs articulated."""
    bad = 0
    for k in range(m.nv):
        bad += select(d.D[k] > 0.0, 0, 1)  # also catches NaN
    d.nbad = d.nbad + bad


@inline
def _eliminate_joint(m, d, i, step, viscosity_step, stop_step):
    A, p = rigid_inertia(d.cinert[i]), applied_bias(m, d, i)
    if m.ncontact > 0 and d.body_touches[i] != 0:
        A = yielding(d, i, step, A)
    if m.body_haschild[i]:
        A, p = add21(A, load21(d.IA, i)), add6(p, load6(d.pA, i))
    first = m.body_dofadr[i]
    for k in range(first + m.body_dofnum[i] - 1, first - 1, -1):
        S = load6(d.cdof, k)
        # U = IA S; D = S^T U; u = tau - S^T pA
        U = times21(A, S)
        D = dot6(S, U) + m.dof_armature[k] + viscosity_step * d.dof_viscosity[k]
        if not is_zero(stop_step):
            D = sound(m, k, D) + stop_step * d.stop_slope[k]
        u = d.qfrc_applied[k] + d.qfrc_passive[k] - dot6(S, p)
        U_Dinv = scaled6(U, 1.0 / D)
        store6(d.U_Dinv, k, U_Dinv)
        d.D[k] = D
        d.Dinv_u[k] = u / D
        # Ia = IA - U D^-1 U^T; pa = pA + U D^-1 u
        A = minus_outer(A, U_Dinv, U)
        p = add_scaled6(p, U_Dinv, u)
    pass_to_parent(m, d, i, A, p)


@inline
def yielding(d, i, step, A):
    """Add the effect of contact in a step to a body's inertia.

    The contact force is f - step C a (contact/press.py): C, positive semidefinite, adds to the
    inertia, so no contact is too stiff for a step. Source: Baraff, Witkin, Large steps in cloth
    simulation, 1998 (Euler's implicit step, linearised).
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
def applied_bias(m, d, i):
    # cfrc_bias - [arm x f + n; f] of the applied force f and torque n, and of contact
    t = d.xfrc_applied[i]
    f = (t[0], t[1], t[2])
    n = cross3(sub3(load3(d.xipos, i), load3(d.subtree_com, m.body_rootid[i])), f)
    p = load6(d.cfrc_bias, i)
    if m.ncontact > 0:
        p = add_scaled6(p, load6(d.cfrc_contact, i), -1.0)
    return (
        p[0] - n[0] - t[3], p[1] - n[1] - t[4], p[2] - n[2] - t[5],
        p[3] - f[0], p[4] - f[1], p[5] - f[2],
    )  # fmt: skip


@inline
def rigid_inertia(c):
    # [I, m c x; -m c x, m 1]
    m, x, y, z = c[9], c[6], c[7], c[8]
    return (
        c[0], c[3], c[4], 0.0, -z, y,
        c[1], c[5], z, 0.0, -x,
        c[2], -y, x, 0.0,
        m, 0.0, 0.0,
        m, 0.0,
        m,
    )  # fmt: skip


@inline
def store21(array, i, A):
    r = array[i]
    r[0], r[1], r[2], r[3], r[4], r[5] = A[0], A[1], A[2], A[3], A[4], A[5]
    r[6], r[7], r[8], r[9], r[10] = A[6], A[7], A[8], A[9], A[10]
    r[11], r[12], r[13], r[14] = A[11], A[12], A[13], A[14]
    r[15], r[16], r[17], r[18], r[19], r[20] = A[15], A[16], A[17], A[18], A[19], A[20]


@inline
def add21(A, B):
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8], A[9] + B[9], A[10] + B[10],
        A[11] + B[11], A[12] + B[12], A[13] + B[13], A[14] + B[14],
        A[15] + B[15], A[16] + B[16], A[17] + B[17],
        A[18] + B[18], A[19] + B[19],
        A[20] + B[20],
    )  # fmt: skip


@inline
def scaled21(A, s):
    return (
        A[0] * s, A[1] * s, A[2] * s, A[3] * s, A[4] * s, A[5] * s,
        A[6] * s, A[7] * s, A[8] * s, A[9] * s, A[10] * s,
        A[11] * s, A[12] * s, A[13] * s, A[14] * s,
        A[15] * s, A[16] * s, A[17] * s,
        A[18] * s, A[19] * s,
        A[20] * s,
    )  # fmt: skip


@inline
def outer21(s, x):
    # x s s^T
    return minus_outer(ZERO21, scaled6(s, -x), s)


@inline
def load21(array, i):
    r = array[i]
    return (
        r[0], r[1], r[2], r[3], r[4], r[5],
        r[6], r[7], r[8], r[9], r[10],
        r[11], r[12], r[13], r[14],
        r[15], r[16], r[17],
        r[18], r[19],
        r[20],
    )  # fmt: skip


@inline
def times21(A, s):
    return (
        dot6((A[0], A[1], A[2], A[3], A[4], A[5]), s),
        dot6((A[1], A[6], A[7], A[8], A[9], A[10]), s),
        dot6((A[2], A[7], A[11], A[12], A[13], A[14]), s),
        dot6((A[3], A[8], A[12], A[15], A[16], A[17]), s),
        dot6((A[4], A[9], A[13], A[16], A[18], A[19]), s),
        dot6((A[5], A[10], A[14], A[17], A[19], A[20]), s),
    )


@inline
def minus_outer(A, V, U):
    # A - V U^T, known to be symmetric
    return (
        A[0] - V[0] * U[0], A[1] - V[0] * U[1], A[2] - V[0] * U[2],
        A[3] - V[0] * U[3], A[4] - V[0] * U[4], A[5] - V[0] * U[5],
        A[6] - V[1] * U[1], A[7] - V[1] * U[2], A[8] - V[1] * U[3],
        A[9] - V[1] * U[4], A[10] - V[1] * U[5],
        A[11] - V[2] * U[2], A[12] - V[2] * U[3], A[13] - V[2] * U[4], A[14] - V[2] * U[5],
        A[15] - V[3] * U[3], A[16] - V[3] * U[4], A[17] - V[3] * U[5],
        A[18] - V[4] * U[4], A[19] - V[4] * U[5],
        A[20] - V[5] * U[5],
    )  # fmt: skip

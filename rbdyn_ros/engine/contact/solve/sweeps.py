# SPDX-License-Identifier: Apache-2.0
"""Sweeps over the contacts of an island, each solved alone for the present forces of the others.

Sweeps lead Newton's method (newton.py) out of a cycle: they converge slowly, but find most of the
contacts that press and slip. Only islands of single bodies are swept: the response of such a body
to a force, a = A w, does not depend on other bodies. Normal force and friction of a contact are
solved one after the other.

The unknowns are the accelerations d.a and the forces contact_end, which stay in balance.

Source: Jean, The non-smooth contact dynamics method, 1999 (block Gauss-Seidel).
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    ZERO6,
    add3,
    add_scaled3,
    add_scaled6,
    dot6,
    load3,
    load6,
    scaled3,
    store3,
    store6,
    sub3,
)
from rbdyn_ros.engine.algebra.symmetric import ZERO21, add_outer, load21, store21, times21
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.stack import stack_floats
from rbdyn_ros.engine.contact.law.body_sums import (
    add_wrench_pair,
    at_point,
    with_torque,
    wrench_at,
)
from rbdyn_ros.engine.contact.law.force import is_viscous, project_to_disc
from rbdyn_ros.engine.contact.solve.islands import forget_short_steps, is_swept, island_of
from rbdyn_ros.engine.contact.solve.passes import moved_contact
from rbdyn_ros.engine.tree.aba import implicit_damping
from rbdyn_ros.model.declared.contact_arrays import MU, NORMAL, PENALTY, PUSH, SLOPE
from rbdyn_ros.model.declared.options import IMPLICIT

#: Number of sweeps in a row.
SWEEPS = 20


@kernel
def sweep_islands(m, d):
    """Move the iterates of the islands that are swept; write contact_change and contact_end."""
    for i in range(1, m.nbody):
        if is_swept(d, d.body_island[i]):
            _write_response(m, d, i)
    for c in range(d.ncon):
        if is_swept(d, island_of(d, c)):
            _write_responses_of(d, c)
    for n in range(SWEEPS):
        for k in range(d.ncon):
            c = k if n % 2 == 0 else d.ncon - 1 - k
            if is_swept(d, island_of(d, c)):
                _solve_normal(m, d, c)
                _solve_friction(m, d, c)
    for c in range(d.ncon):
        if is_swept(d, island_of(d, c)):
            across, away, _turn = moved_contact(d, c, d.a)
            store3(d.contact_change, c, scaled3(across, m.opt.timestep))
            d.contact_change[c, NORMAL] = m.opt.timestep * away
    for i in range(1, m.nbody):
        if is_swept(d, d.body_island[i]):
            _move_dofs(m, d, i)
    forget_short_steps(m, d)


@inline
def damping_step(m):
    """Return the time over which damping is implicit in a step with contacts of moving bodies."""
    return (
        m.opt.timestep if m.opt.integrator_id >= IMPLICIT else implicit_damping(m, m.opt.timestep)
    )


@inline
def _conjugate_axes(m, d, i, axes, ratios):
    """Write axes p_k = S u_k and ratios of the factors of H = M + h B of a single body.

    The u_k are conjugate, u_k^T H u_l = 0. The diagonal of `ratios` is u_k^T H u_k. Entry (i, k)
    above the diagonal is the multiple of u_k that is subtracted from u_i.
    """
    first, number = m.body_dofadr[i], m.body_dofnum[i]
    for k in range(number):
        store6(axes, k, load6(d.cdof, first + k))
        row = m.M_rowadr[first + k]
        for n in range(k + 1):
            ratios[n, k] = d.M[row + n]
        ratios[k, k] += damping_step(m) * d.dof_viscosity[first + k]
    for k in range(number - 1, 0, -1):
        for n in range(k):
            ratio = ratios[n, k] / ratios[k, k]
            store6(axes, n, add_scaled6(load6(axes, n), load6(axes, k), -ratio))
            for j in range(n + 1):
                ratios[j, n] -= ratio * ratios[j, k]
        for n in range(k):
            ratios[n, k] /= ratios[k, k]


@kernel
def _write_response(m, d, i):
    """Write the response A of a body to IA, and reset its sum of changes of forces."""
    axes, ratios, A = stack_floats(6, 6), stack_floats(6, 6), ZERO21
    _conjugate_axes(m, d, i, axes, ratios)
    for k in range(m.body_dofnum[i]):
        A = add_outer(A, load6(axes, k), 1.0 / ratios[k, k])
    store21(d.IA, i, A)
    store6(d.cfrc_contact, i, ZERO6)


@kernel
def _move_dofs(m, d, i):
    """Add to qacc_step what the changes of forces on a body in cfrc_contact cause."""
    axes, ratios, x = stack_floats(6, 6), stack_floats(6, 6), stack_floats(1, 6)
    _conjugate_axes(m, d, i, axes, ratios)
    wrench, first = load6(d.cfrc_contact, i), m.body_dofadr[i]
    for k in range(m.body_dofnum[i]):
        x[0, k] = dot6(load6(axes, k), wrench) / ratios[k, k]
        for n in range(k):
            x[0, k] -= ratios[n, k] * x[0, n]
        d.qacc_step[first + k] += x[0, k]


@kernel
def _write_responses_of(d, c):
    """Write contact_next: how a contact's own forces accelerate it, along and across the normal.

    The response across the normal is summed over three directions, which bounds that in any one.
    """
    d.contact_next[c, NORMAL] = _response(d, c, load3(d.contact_normal, c), ZERO3)
    across = 0.0
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        f, t = at_point(d, c, axis, 0.0)
        across += _response(d, c, f, t)
    d.contact_next[c, 0] = across


@inline
def _response(d, c, f, t):
    """Return f . a of the acceleration a of a contact by its force f, with a torque t."""
    wrench = with_torque(wrench_at(load3(d.contact_arm2, c), f), t)
    response = dot6(wrench, times21(load21(d.IA, d.contact_body[c, 1]), wrench))
    if d.contact_body[c, 0] > 0:
        wrench = with_torque(wrench_at(load3(d.contact_arm1, c), f), t)
        response += dot6(wrench, times21(load21(d.IA, d.contact_body[c, 0]), wrench))
    return response


@kernel
def _solve_normal(m, d, c):
    """Set the normal force of a contact by its law, as if it were near-rigid."""
    h, before, slope = m.opt.timestep, d.contact_end[c, NORMAL], d.contact_spring[c, SLOPE]
    own = h * d.contact_next[c, NORMAL]
    _across, away, _turn = moved_contact(d, c, d.a)
    leaving = d.contact_vel[c, NORMAL] + h * away - own * before
    force = max(0.0, (d.contact_spring[c, PUSH] - slope * leaving) / (1.0 + slope * own))
    d.contact_end[c, NORMAL] = force
    _push(d, c, scaled3(load3(d.contact_normal, c), force - before), ZERO3)


@kernel
def _solve_friction(m, d, c):
    """Set the friction of a contact by its law."""
    h, before, penalty = m.opt.timestep, load3(d.contact_end, c), d.contact_grip[c, PENALTY]
    own = h * d.contact_next[c, 0]
    across, _away, _turn = moved_contact(d, c, d.a)
    u = add_scaled3(add_scaled3(load3(d.contact_vel, c), across, h), before, -own)
    wanted = scaled3(u, -penalty)
    if not is_viscous(d, c):
        wanted = add3(load3(d.contact_memory, c), wanted)
    wanted = scaled3(wanted, 1.0 / (1.0 + penalty * own))
    if not is_viscous(d, c):
        most = d.contact_grip[c, MU] * d.contact_end[c, NORMAL]
        wanted, _slope, _slip = project_to_disc(wanted, most, penalty)
    store3(d.contact_end, c, wanted)
    f, t = at_point(d, c, sub3(wanted, before), 0.0)
    _push(d, c, f, t)


@inline
def _push(d, c, f, t):
    """Change the force and torque of a contact, and so the accelerations of its bodies."""
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    add_wrench_pair(d, c, f, t)
    wrench = with_torque(wrench_at(load3(d.contact_arm2, c), f), t)
    change = times21(load21(d.IA, body2), wrench)
    store6(d.a, body2, add_scaled6(load6(d.a, body2), change, 1.0))
    if body1 > 0:
        wrench = with_torque(wrench_at(load3(d.contact_arm1, c), f), t)
        change = times21(load21(d.IA, body1), wrench)
        store6(d.a, body1, add_scaled6(load6(d.a, body1), change, -1.0))

# SPDX-License-Identifier: Apache-2.0
"""Conserve the momentum of trees in flight, such as robots that jump.

The velocities of a step are computed at its initial pose, so at the final pose their momentum is
wrong. A velocity of the whole tree, which changes only the free joint, removes the error. The
centre of mass is moved to the position to which its velocity leads.

This needs the poses at the end of the step, which take half the time of a step of
implicit_damping, so only implicit_midpoint does it, and rk4 in steps with contact.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    IDENTITY,
    ZERO3,
    ZERO6,
    add3,
    add6,
    add10,
    add_scaled3,
    add_scaled6,
    cross3,
    inertia_times,
    load3,
    load6,
    load9,
    load10,
    mat_vec,
    scaled3,
    scaled6,
    spatial_inertia,
    store3,
    store6,
    store9,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.body_sums import wrench_at, wrench_at_end
from rbdyn_ros.engine.joints.jcalc import common_motion
from rbdyn_ros.engine.tree.flight import TREE, inertia_columns, solved3
from rbdyn_ros.engine.tree.kinematics import place_body
from rbdyn_ros.model.declared.options import RK4

#: Zero inertia, in the form of cinert.
NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@optional_stage("momentum_stage")
def _by_address(table, row):
    keep_momenta(model_at(table), data_at(table, row))


@kernel
def keep_momenta(m, d):
    """Give each tree in flight the momentum that follows from the forces of the step."""
    for n in range(m.nflighttree):
        root = m.flight_rootid[n]
        if d.flight_mode[root] == TREE:
            _keep_momentum(m, d, root, m.opt.timestep)


@kernel
def _keep_momentum(m, d, root, h):
    """Correct the velocity and position of a free joint at the end of a step, and qacc_step.

    Needs the velocities and axes at the start of the step, and qpos and qvel at its end.
    """
    spin, push = _momentum_by_forces(m, d, root, h)
    mass = m.body_subtreemass[root]
    I, there = _at_end(m, d, root)
    x = load3(d.chain_xpos, root)
    # position of the centre of mass relative to the free joint
    r = scaled3((I[6], I[7], I[8]), 1.0 / mass)
    now = (there[3], there[4], there[5])
    missed = sub3(sub3(spin, (there[0], there[1], there[2])), cross3(now, r))
    about = _about(I, r)
    a, b, c = inertia_columns(about)
    w = solved3(a, b, c, missed)
    v = sub3(scaled3(sub3(push, now), 1.0 / mass), cross3(w, r))
    # convert the changes to the axes of the free joint: its linear velocity is in parent axes, its
    # angular velocity in body axes
    linear = transposed(load9(m.body_mat, root))
    angular = transposed(load9(d.chain_xmat, root))
    k, q = m.body_dofadr[root], m.jnt_qposadr[root - 1]
    _change(m, d, k, mat_vec(linear, v), h)
    _change(m, d, k + 3, mat_vec(angular, w), h)
    centre = add_scaled3(load3(d.subtree_com, root), push, h / mass)
    away = mat_vec(linear, sub3(centre, add3(x, r)))
    for n in range(3):
        d.qpos[q + n] += away[n]


@inline
def _change(m, d, k, change, h):
    for n in range(3):
        d.qvel[k + n] += change[n]
        d.qacc_step[k + n] += change[n] / h
        d.qacc[k + n] += change[n] / h


@kernel
def _momentum_by_forces(m, d, root, h):
    """Return the angular and linear momentum, about the centre of mass, after the forces act."""
    total, i = _forces_on_joint(m, d, root), root
    while i < m.nbody and m.body_rootid[i] == root:
        t = d.xfrc_applied[i]
        push = wrench_at(sub3(load3(d.xipos, i), load3(d.subtree_com, root)), (t[0], t[1], t[2]))
        total = add6(add6(total, push), (t[3], t[4], t[5], 0.0, 0.0, 0.0))
        i += 1
    if m.ncontact > 0:
        total = _add_contacts(m, d, root, total)
    total, g, i = scaled6(total, h), m.opt.gravity, root
    while i < m.nbody and m.body_rootid[i] == root:
        total = add6(total, inertia_times(load10(d.cinert, i), load6(d.cvel, i)))
        i += 1
    falls = scaled3((g[0], g[1], g[2]), h * m.body_subtreemass[root])
    return (total[0], total[1], total[2]), add3((total[3], total[4], total[5]), falls)


@inline
def _forces_on_joint(m, d, root):
    """Return the forces on the dofs of a free joint as a wrench about the centre of mass."""
    k = m.body_dofadr[root]
    f = mat_vec(load9(m.body_mat, root), _on_dofs(m, d, k))
    n = mat_vec(load9(d.xmat, root), _on_dofs(m, d, k + 3))
    wrench = wrench_at(sub3(load3(d.xpos, root), load3(d.subtree_com, root)), f)
    return add6(wrench, (n[0], n[1], n[2], 0.0, 0.0, 0.0))


@inline
def _on_dofs(m, d, k):
    return _on_dof(m, d, k), _on_dof(m, d, k + 1), _on_dof(m, d, k + 2)


@inline
def _on_dof(m, d, k):
    explicit = m.opt.integrator_id == RK4 or d.damped == 1
    damping = 0.0 if explicit else m.opt.timestep * d.dof_viscosity[k]
    return d.qfrc_applied[k] + d.qfrc_passive[k] - damping * d.qacc_step[k]


@kernel
def _add_contacts(m, d, root, total):
    for c in range(d.ncon):
        f, t = wrench_at_end(d, c)
        turn = (t[0], t[1], t[2], 0.0, 0.0, 0.0)
        if m.body_rootid[d.contact_body[c, 1]] == root:
            total = add6(total, add6(wrench_at(load3(d.contact_arm2, c), f), turn))
        if m.body_rootid[d.contact_body[c, 0]] == root:
            wrench = add6(wrench_at(load3(d.contact_arm1, c), f), turn)
            total = add_scaled6(total, wrench, -1.0)
    return total


@kernel
def _at_end(m, d, root):
    """Return the inertia and momentum of a tree at qpos and qvel, about the origin of its root."""
    I, total, origin, i = NOTHING, ZERO6, ZERO3, root
    store3(d.chain_xpos, 0, ZERO3)
    store9(d.chain_xmat, 0, IDENTITY)
    while i < m.nbody and m.body_rootid[i] == root:
        p, R = place_body(m, d, i, d.chain_xpos, d.chain_xmat)
        if i == root:
            origin = p
        common_motion(m, i - 1, i, origin, False, d.chain_xpos, d.chain_xmat, d.chain_cdof)
        v = load6(d.pA, m.body_parentid[i]) if i > root else ZERO6
        for k in range(m.body_dofadr[i], m.body_dofadr[i] + m.body_dofnum[i]):
            v = add_scaled6(v, load6(d.chain_cdof, k), d.qvel[k])
        store6(d.pA, i, v)
        r = sub3(add3(p, mat_vec(R, load3(m.body_ipos, i))), origin)
        body = spatial_inertia(R, load6(m.body_fullinertia, i), r, m.body_mass[i])
        I, total = add10(I, body), add6(total, inertia_times(body, v))
        i += 1
    return I, total


@inline
def _about(I, r):
    """Return the rotational inertia of a body about its centre of mass, which is at r."""
    x, y, z = r
    mx, my, mz = I[6], I[7], I[8]
    return (
        I[0] - my * y - mz * z, I[1] - mx * x - mz * z, I[2] - mx * x - my * y,
        I[3] + mx * y, I[4] + mx * z, I[5] + my * z,
    )  # fmt: skip

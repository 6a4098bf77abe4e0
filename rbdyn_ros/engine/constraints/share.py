# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of closed loops: the forces of the actuated joints that cause a motion.

The forces tau of the tree are shared between actuators u and constraints K^T lambda.
With Q an orthonormal basis of the range of K^T, K^T lambda = Q w. Of all w for which joints
without actuators need no force, the w closest to Q^T tau gives the least ||u||.

Source: RBDA eq 3.14, 3.15.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import load6, scaled6
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.project import choose_rows
from rbdyn_ros.engine.constraints.qr import (
    decompose,
    decompose_ordered,
    multipliers,
    shortest,
    turn,
)
from rbdyn_ros.engine.constraints.wrenches import gear_rows
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.engine.tree.loads import add_to_drive, relieve_drives

#: Rows of joints without actuator whose relative lengths differ by less than this count as equal,
#: so that rounding errors do not decide between them. Constraints may be unable to carry all
#: demanded forces, as for a floating robot with an object in its hand. Then the forces of the last
#: joints, which belong to the object, are carried, and the rest stays at the robot's root.
TIE = 1e-9


@optional_stage("share_stage")
def _by_address(table, row):
    share(model_at(table), data_at(table, row))


@kernel
def share(m, d):
    """Replace qfrc_inverse by the smallest forces of the actuated joints for the same motion.

    Call `rne_acc` and `constraint` first.

    A force that neither actuators nor constraints can supply stays at the joints without actuator.
    efc_force, efc_rank and qfrc_constraint are written too.
    """
    K = d.row_response
    for r in range(m.nefc):
        for k in range(m.nv):
            K[r, k] = d.efc_J[r, k]
    choose_rows(m, d)
    rank = d.row_rank[0]
    decompose_ordered(K, m.nefc, m.nv, rank, d.row_order, d.row_diag, d.row_beta)
    # row_shift holds w, which starts as Q^T tau
    for k in range(m.nv):
        d.row_shift[k] = d.qfrc_inverse[k]
    turn(K, rank, m.nv, d.row_order, d.row_beta, d.row_shift)
    _relieve_passive(m, d, rank)
    for s in range(rank):
        d.row_step[s] = d.row_shift[s]
    multipliers(K, m.nefc, rank, d.row_order, d.row_diag, d.row_step, d.row_gram, d.row_size,
                d.efc_force)  # fmt: skip
    d.efc_rank = rank
    for k in range(m.nv):
        d.qfrc_constraint[k] = 0.0
        for r in range(m.nefc):
            d.qfrc_constraint[k] += d.efc_J[r, k] * d.efc_force[r]
        d.qfrc_inverse[k] -= d.qfrc_constraint[k]
    if m.ndrive > 0:
        take_constraint_forces(m, d)


@kernel
def take_constraint_forces(m, d):
    """Subtract the contribution of constraints, by efc_force, from qfrc_driven."""
    for r in range(m.nefc):
        for w in range(m.efc_wrenchadr[r], m.efc_wrenchadr[r] + m.efc_wrenchnum[r]):
            load = scaled6(load6(d.efc_wrench, w), d.efc_force[r])
            relieve_drives(m, d, m.wrench_bodyid[w], load)
    for i in range(m.ngear):
        for n in range(m.gear_termadr[i], m.gear_termadr[i] + m.gear_termnum[i]):
            j = m.term_jntid[n]
            k = m.jnt_dofadr_all[j] + m.term_coord[n]
            if is_driven(m, k):
                force = m.term_factor[n] * d.efc_force[gear_rows(m) + i]
                add_to_drive(m, d, j, k, -force)


@inline
def _has_actuator(m, k):
    """Return whether an actuator acts on dof k, directly or through a mimic joint."""
    has = m.jnt_actuated[m.dof_jntid[k]] == 1
    for t in range(m.nmimic):
        j = m.mimic_jntid[t]
        acts = m.jnt_dofadr[j] == k and m.jnt_mimic_ratio[j] != 0.0
        has = has or (acts and m.jnt_actuated[j] == 1)
    return has


@kernel
def _relieve_passive(m, d, rank):
    """Make the smallest change to w so that it carries all forces of joints without actuator."""
    count = 0
    for k in range(m.nv):
        if _has_actuator(m, k):
            continue
        # each dof without actuator adds a row of Q and the force that remains on the dof
        row = d.share_rows[count]
        for n in range(m.nv):
            d.share_work[0, n] = 1.0 if n == k else 0.0
        turn(d.row_response, rank, m.nv, d.row_order, d.row_beta, d.share_work[0])
        rest = d.qfrc_inverse[k]
        for s in range(rank):
            row[s] = d.share_work[0, s]
            rest -= row[s] * d.row_shift[s]
        d.share_rest[count] = rest
        d.share_order[count] = count
        # compare with 1, the length of the unit vector; TIE prefers the last of equal rows
        d.share_work[1, count] = 1.0 + TIE * (m.nv - k)
        count += 1
    found = decompose(d.share_rows, count, rank, d.share_order, d.share_work[1], d.share_work[5],
                      d.share_work[2], d.share_work[3])  # fmt: skip
    shortest(d.share_rows, found, rank, d.share_order, d.share_work[2], d.share_work[3],
             d.share_rest, d.share_work[4], d.share_work[0])  # fmt: skip
    for s in range(rank):
        d.row_shift[s] += d.share_work[0, s]

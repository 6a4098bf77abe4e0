# SPDX-License-Identifier: Apache-2.0
"""Compute constraint forces and drive forces from the accelerations.

Source: RBDA eq 3.15, 3.17.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import dot6, load6
from rbdyn_ros.engine.compiler.jit import kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.qr import multipliers
from rbdyn_ros.engine.constraints.share import take_constraint_forces
from rbdyn_ros.engine.tree.loads import body_loads, load_drives, reflect, sum_subtrees
from rbdyn_ros.engine.tree.springs import spring_loads
from rbdyn_ros.model.declared.options import FORCE


@optional_stage("report_stage")
def _by_address(table, row):
    report(model_at(table), data_at(table, row))


@kernel
def report(m, d):
    """Write efc_force, efc_rank, qfrc_constraint, qfrc_drive and qfrc_driven.

    Call `accelerate` first.
    """
    rank = d.row_rank[0] if m.nefc > 0 else 0  # without constraints nothing writes row_rank
    d.efc_rank = rank
    multipliers(
        d.row_response, m.nefc, rank, d.row_order, d.row_diag, d.row_step,
        d.row_gram, d.row_size, d.efc_force,
    )  # fmt: skip
    for k in range(m.nv):
        d.qfrc_constraint[k] = 0.0
        for r in range(m.nefc):
            d.qfrc_constraint[k] += d.efc_J[r, k] * d.efc_force[r]
    _drive_forces(m, d)
    if m.ndrive > 0:
        _driven_forces(m, d)


@kernel
def _drive_forces(m, d):
    """Write qfrc_drive: the forces that driven dofs need in addition to all other forces."""
    driven = 0
    for k in range(m.nv):
        d.qfrc_drive[k] = 0.0
        driven += d.drive_mode[k] != FORCE
    if driven == 0:
        return
    body_loads(m, d, d.pA)
    sum_subtrees(m, d.pA)
    for k in range(m.nv):
        d.qfrc_drive[k] = dot6(load6(d.cdof, k), load6(d.pA, m.dof_bodyid[k]))
    if m.nmimic > 0:
        reflect(m, d, d.pA, d.qfrc_drive)
    for k in range(m.nv):
        known = d.qfrc_applied[k] + d.qfrc_passive[k] + d.qfrc_constraint[k]
        total = d.qfrc_drive[k] + m.dof_armature[k] * d.qacc[k] - known
        d.qfrc_drive[k] = total if d.drive_mode[k] != FORCE else 0.0


@kernel
def _driven_forces(m, d):
    """Write qfrc_driven: the forces that joints driven over time need beyond all other forces."""
    body_loads(m, d, d.pA)
    sum_subtrees(m, d.pA)
    load_drives(m, d, d.pA)
    if m.nspring > 0 and m.opt.passive:
        spring_loads(m, d)
    if m.nefc > 0:
        take_constraint_forces(m, d)

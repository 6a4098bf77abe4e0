# SPDX-License-Identifier: Apache-2.0
"""The height fields below spheres in a step, lane by lane.

Code for the Model (contact/fields.py) finds the contacts that are like contacts with planes. The
engine's own kernel lists all other contacts, in the Data that the engine would use for the lane's
step. A lane is left to the engine if a sphere has several contacts, if a contact with a field
begins because of the forces of the step, or if another geometry touches a field.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    add3,
    cross3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.optional import data_at, model_at
from rbdyn_ros.engine.contact.points.contact_list import reach_of
from rbdyn_ros.engine.contact.points.height_grid import first_last, grid_of
from rbdyn_ros.engine.contact.points.terrain import list_field
from rbdyn_ros.model.declared.contact_arrays import AT_END, AT_START
from rbdyn_ros.rollouts import call_plan
from rbdyn_ros.rollouts.contact.fields import (
    ARM,
    AXES,
    BALL,
    CELL,
    DIST,
    FAR,
    GROUND,
    HEIGHTS,
    KEY,
    LISTED,
    NUMBER,
    ROOM,
)
from rbdyn_ros.rollouts.contact.points import BY_KEY
from rbdyn_ros.rollouts.contact_drive import (
    ENGINE_AT,
    HEADER,
    SEVERAL,
    first_by_key,
    plan_of,
    tables_of,
)
from rbdyn_ros.rollouts.driver import floats_at, ints_at, kernel


@kernel
def engine_of(row):
    """Return the Model and the Data of the engine's step."""
    address = ints_at(row - 8 * HEADER, HEADER)[ENGINE_AT]
    table = ints_at(address - 8 * call_plan.HEADER, call_plan.HEADER)[call_plan.TABLE_AT]
    return model_at(table), data_at(table, address)


def find_cells(row):
    """Write "cells" of all lanes: the heights around each sphere."""
    plan, (m, _d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    fields = tables_of(plan, row)[5][plan.pairs :]
    for n in range(plan.fields):
        o = fields[n, 1]
        adr, rows, columns, cell_x, cell_y = grid_of(m, o)
        half_x, half_y, radius = m.geom_size[o, 0], m.geom_size[o, 1], m.geom_radius[fields[n, 0]]
        ball, at = (plan.balls + BALL * n) * width, (plan.cells + CELL * n) * width
        for lane in range(width):
            x, y = memory[ball + lane] + half_x, memory[ball + width + lane] + half_y
            u, v, k = x / cell_x, y / cell_y, at + lane
            if not (u >= 2.0 and v >= 2.0 and u < columns - 3.0 and v < rows - 3.0):
                memory[k + NUMBER * width] = -1.0
                continue
            under = adr + int(v) * columns + int(u)
            east, north = _rises_of_cell(m.field_height, under, columns)
            way_x, way_y = radius * east / (cell_x * cell_x), radius * north / (cell_y * cell_y)
            r, c = int(v + min(max(way_y, -1.0), 1.0)), int(u + min(max(way_x, -1.0), 1.0))
            memory[k], memory[k + width] = x - c * cell_x, y - r * cell_y
            memory[k + NUMBER * width] = r * columns + c
            first = adr + (r - 1) * columns + c - 1
            for i in range(4):
                for j in range(4):
                    height = m.field_height[first + i * columns + j]
                    memory[k + (HEIGHTS + 4 * i + j) * width] = height


@kernel
def _rises_of_cell(heights, k, columns):
    """Return the mean rise of a cell along x and y.

    The foot of a sphere is displaced up the slope.
    """
    here, beside = heights[k], heights[k + 1]
    behind, opposite = heights[k + columns], heights[k + columns + 1]
    across = 0.5 * (opposite - here)
    return across + 0.5 * (beside - behind), across - 0.5 * (beside - behind)


def find_ground(row):
    """Complete "ground" of all lanes, and mark the lanes that are left to the engine."""
    plan, (m, d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    fields = tables_of(plan, row)[5][plan.pairs :]
    for lane in range(width):
        left = memory[plan.left * width + lane]
        for n in range(plan.fields):
            at = (plan.ground + GROUND * n) * width + lane
            if left == 0.0 and memory[at + ROOM * width] < 0.0:
                left = _list_at_start(m, d, plan, memory, lane, at, fields[n])
            key = first_by_key(plan) + BY_KEY * (plan.pairs + n + 1) - 1
            if memory[key * width + lane] == SEVERAL:
                left = 1.0
        memory[plan.left * width + lane] = left


@kernel
def _list_at_start(m, d, plan, memory, lane, at, pair):
    """Write the columns of a sphere whose contact the engine lists.

    Return 1 for several contacts.
    """
    width, g, o = plan.width, pair[0], pair[1]
    enter_body(m, d, plan, memory, lane, m.geom_bodyid[g])
    d.ncon, d.contact_phase[0] = 0, AT_START
    list_field(m, d, g, o)
    if d.ncon == 0:
        memory[at + DIST * width], memory[at + LISTED * width] = FAR, 0.0
        return 0.0
    normal = load3(d.contact_normal, 0)
    _write(memory, at, width, normal, load3(d.contact_arm2, 0), d.contact_dist[0], 1.0)
    memory[at + KEY * width] = d.contact_key[0]
    return 1.0 if d.ncon > 1 else 0.0


@kernel
def axes_of(normal):
    """Return two unit axes along a surface, given its normal."""
    side = (1.0, 0.0, 0.0) if abs(normal[0]) < 0.7 else (0.0, 1.0, 0.0)
    tangent = cross3(side, normal)
    tangent = scaled3(tangent, 1.0 / np.sqrt(dot3(tangent, tangent)))
    return tangent, cross3(normal, tangent)


@kernel
def _write(memory, at, width, normal, arm, gap, listed):
    tangent, other = axes_of(normal)
    for k in range(3):
        memory[at + (AXES + k) * width] = tangent[k]
        memory[at + (AXES + 3 + k) * width] = other[k]
        memory[at + (AXES + 6 + k) * width] = normal[k]
        memory[at + (ARM + k) * width] = arm[k]
    memory[at + DIST * width], memory[at + LISTED * width] = gap, listed


@kernel
def enter_body(m, d, plan, memory, lane, i):
    """Copy the motion of a body to the engine's Data."""
    width, root = plan.width, m.body_rootid[i]
    for k in range(3):
        d.xpos[i, k] = memory[(plan.xpos + 3 * i + k) * width + lane]
        d.subtree_com[root, k] = memory[(plan.subtree_com + 3 * root + k) * width + lane]
    for k in range(9):
        d.xmat.reshape(-1)[9 * i + k] = memory[(plan.xmat + 9 * i + k) * width + lane]
    for k in range(6):
        d.cvel[i, k] = memory[(plan.cvel + 6 * i + k) * width + lane]
        d.iterate_a[i, k] = d.a[i, k] = memory[(plan.a + 6 * i + k) * width + lane]


def look_late(row):
    """Leave to the engine all lanes in which the forces begin a contact with a field."""
    plan, (m, d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    fields = tables_of(plan, row)[5][plan.pairs :]
    for lane in range(width):
        if memory[plan.looks * width + lane] == 0.0 or memory[plan.left * width + lane] != 0.0:
            continue
        for n in range(plan.fields):
            suspect = memory[(plan.suspects + n) * width + lane] != 0.0
            if suspect and memory[plan.left * width + lane] == 0.0:
                enter_body(m, d, plan, memory, lane, m.geom_bodyid[fields[n, 0]])
                d.ncon, d.contact_phase[0] = 0, AT_END
                list_field(m, d, fields[n, 0], fields[n, 1])
                d.contact_phase[0] = AT_START
                place = plan.listed_now + plan.points + plan.pairs + n
                listed = memory[place * width + lane] != 0.0
                key = memory[(plan.ground + GROUND * n + KEY) * width + lane]
                for c in range(d.ncon):
                    if not listed or d.contact_key[c] != key:
                        memory[plan.left * width + lane] = 1.0


def guard(row):
    """Leave to the engine all lanes in which another geometry touches a field."""
    plan, (m, d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    guarded = tables_of(plan, row)[6]
    for lane in range(width):
        for n in range(plan.guarded):
            if memory[plan.left * width + lane] == 0.0:
                g, o = guarded[n]
                enter_body(m, d, plan, memory, lane, m.geom_bodyid[g])
                d.ncon, d.contact_phase[0] = 0, AT_END
                if _may_touch(m, d, g, o):
                    list_field(m, d, g, o)
                    memory[plan.left * width + lane] = 1.0 if d.ncon > 0 else 0.0
                d.contact_phase[0] = AT_START


@kernel
def _may_touch(m, d, g, o):
    """Return whether a field reaches up to the bounding box of a geometry."""
    i, back = m.geom_bodyid[g], transposed(load9(m.geom_mat, o))
    R, half = mat_mul(back, mat_mul(load9(d.xmat, i), load9(m.geom_mat, g))), load3(m.geom_half, g)
    centre = add3(load3(d.xpos, i), mat_vec(load9(d.xmat, i), load3(m.geom_pos, g)))
    reach = reach_of(m, d, i, centre, m.geom_rbound[g])
    x = mat_vec(back, sub3(centre, load3(m.geom_pos, o)))
    most_x = abs(R[0]) * half[0] + abs(R[1]) * half[1] + abs(R[2]) * half[2] + reach
    most_y = abs(R[3]) * half[0] + abs(R[4]) * half[1] + abs(R[5]) * half[2] + reach
    low = x[2] - abs(R[6]) * half[0] - abs(R[7]) * half[1] - abs(R[8]) * half[2] - reach
    adr, rows, columns, cell_x, cell_y = grid_of(m, o)
    if not (abs(x[0]) <= m.geom_size[o, 0] + most_x and abs(x[1]) <= m.geom_size[o, 1] + most_y):
        return False
    r0, r1 = first_last(x[1], most_y, m.geom_size[o, 1], cell_y, rows)
    c0, c1 = first_last(x[0], most_x, m.geom_size[o, 0], cell_x, columns)
    for r in range(r0, r1 + 1):
        for c in range(c0, c1 + 1):
            if m.field_height[adr + r * columns + c] > low:
                return True
    return False

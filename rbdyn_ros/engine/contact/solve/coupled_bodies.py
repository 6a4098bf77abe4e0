# SPDX-License-Identifier: Apache-2.0
"""Accelerations of a step in which moving bodies touch each other.

The slope of a contact with the world is added to the inertia of one body, which the
articulated-body algorithm handles. The slope of a contact between two moving bodies couples the
dofs of both: the matrix of the step, H = M + h B + h J^T C J, is factored as a whole (skyline.py).
Separate trees cause no fill-in, so groups of touching trees need not be searched.

J of a contact has columns for the dofs on the paths from its two bodies up to their lowest common
ancestor; the dofs above this ancestor move both bodies together. Everything else is as in
coupled.py. If all bodies are free, other unknowns make a pass of dynamics cheaper
(free_bodies.py).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    dot6,
    load3,
    load6,
    moved,
    scaled6,
    store6,
    sub3,
)
from rbdyn_ros.engine.algebra.symmetric import ZERO21, times21
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage, data_at, model_at, optional_stage
from rbdyn_ros.engine.constraints.coupled import (
    count_driven,
    free_force,
    inertia_of_step,
    prescribe,
)
from rbdyn_ros.engine.contact.law.body_sums import next_bodies, with_slopes
from rbdyn_ros.engine.contact.solve.body_blocks import grow_blocks
from rbdyn_ros.engine.contact.solve.free_bodies import accelerate_free_bodies, are_free
from rbdyn_ros.engine.contact.solve.tree_order import order_trees
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.engine.tree.crb import crb
from rbdyn_ros.engine.tree.skyline import (
    close_tree,
    diagonal_of,
    factor_skyline,
    half_solve_skyline,
    link,
    mul_skyline,
    other_half_skyline,
    place_of,
    solve_skyline,
    start_tree,
    take_triangle,
)
from rbdyn_ros.model.declared.options import FORCE

#: The trees are ordered if elimination fills in more than 1 / FILLED blocks per contact.
FILLED = 4


@optional_stage("coupled_bodies_stage")
def _by_address(table, row):
    accelerate_coupled_bodies(model_at(table), data_at(table, row))


@kernel
def accelerate_coupled_bodies(m, d):
    """Write qacc_step. Linearise contacts first; solver_niter must be 0 in a step's first pass."""
    h = m.opt.timestep
    d.implicit_step[0], d.efc_share[0] = h, 0.5
    if d.solver_niter == 0:
        begin_coupled(m, d)
    if are_free(m, d):
        accelerate_free_bodies(m, d)
        return
    driven = False
    if d.accelerate_stage != 0:
        d.drive_number[0] = count_driven(m, d)
        driven = d.drive_number[0] > 0
    if driven:
        prescribe(m, d)
    free_force(m, d)
    inertia_of_step(m, d)
    take_triangle(m, d)
    _join(m, d, h)
    if driven:
        _eliminate_prescribed(m, d)
    factor_skyline(m, d)
    d.factored[0] = 1  # half_solve and other_half of constraints need it
    if m.nefc > 0:
        _solve_with_constraints(m, d)
    else:
        for k in range(m.nv):
            d.skyline_x[d.skyline_row[k]] = d.qacc_step[k]
        solve_skyline(m, d, d.skyline_x)
        for k in range(m.nv):
            d.qacc_step[k] = d.skyline_x[d.skyline_row[k]]
    if driven:
        for k in range(m.nv):
            if d.drive_mode[k] != FORCE:
                d.qacc_step[k] = d.drive_qacc[k]


@kernel
def _solve_with_constraints(m, d):
    for k in range(m.nv):
        d.row_scale[k] = np.sqrt(d.qLDiagInv[k])
    half_solve_skyline(m, d, d.qacc_step)
    call_stage(m.hold_stage, m, d)
    other_half_skyline(m, d, d.qacc_step)


@kernel
def begin_coupled(m, d):
    """Write M and the elimination tree, which are the same in all passes for a list of contacts.

    Once the trees are ordered, they keep their order for later lists of the step.
    """
    if d.accelerate_stage == 0 and not are_free(m, d):
        crb(m, d)
    if d.ordered[0] == 0:
        for k in range(m.nv):
            d.skyline_row[k] = k
    filled = grow_tree(m, d)
    if d.ordered[0] == 0 and FILLED * filled > d.nmutual and is_heap(m, d):
        order_and_grow(m, d)


@inline
def is_heap(m, d):
    """Return whether so many bodies touch that ordering the trees saves time."""
    return 2 * d.nmutual > m.nbody and m.nstop == 0


@kernel
def order_and_grow(m, d):
    """Order the trees for little fill-in until the end of the step."""
    d.ordered[0] = 1
    order_trees(m, d)
    grow_tree(m, d)


@kernel
def grow_tree(m, d):
    """Write the elimination tree; skyline_row must be set.

    Return the number of blocks that elimination fills in, if all bodies are free.
    """
    if are_free(m, d):
        return grow_blocks(m, d)
    start_tree(m, d)
    c = 0
    while c < d.ncon:
        if d.contact_body[c, 0] > 0:
            _join_paths(m, d, c)
        c = next_bodies(d, c)
    close_tree(m, d)
    return 0


@kernel
def _join_paths(m, d, c):
    """Join in one chain the dofs that move the two bodies of a contact relative to each other."""
    middle, number = list_paths(m, d, c)
    if number == 0:
        return
    first, last, other = m.nv, -1, -1
    for n in range(number):
        k = d.path_row[n]
        first = min(first, k)
        if n < middle:
            last = max(last, k)
        else:
            other = max(other, k)
    link(d, last, other)
    for n in range(number):
        k = d.path_row[n]
        d.skyline_first[k] = min(d.skyline_first[k], first)


@kernel
def _join(m, d, h):
    """Add h J^T C J of the contacts between moving bodies to skyline."""
    c = 0
    while c < d.ncon:
        end = next_bodies(d, c)
        if d.contact_body[c, 0] > 0:
            A = with_slopes(d, c, end, ZERO21)
            _middle, number = list_paths(m, d, c)
            _add_square(d, number, h, A)
        c = end


@kernel
def _add_square(d, number, h, A):
    """Add h S^T A S to skyline, where S holds the axes in path_axis."""
    for a in range(number):
        F = scaled6(times21(A, load6(d.path_axis, a)), h)
        k = d.path_row[a]
        start = diagonal_of(k) - d.skyline_depth[k]
        d.skyline[diagonal_of(k)] += dot6(load6(d.path_axis, a), F)
        for b in range(a + 1, number):
            i, value = d.path_row[b], dot6(load6(d.path_axis, b), F)
            if i < k:
                d.skyline[start + d.skyline_depth[i]] += value
            elif i > k:
                d.skyline[place_of(d, i, k)] += value
            else:  # the leader and its mimic joint share a row
                d.skyline[diagonal_of(k)] += 2.0 * value


@kernel
def list_paths(m, d, c):
    """Write path_row and path_axis of the coordinates between the two bodies of a contact.

    Return the number of coordinates that move body2, and the number of all coordinates. path_axis
    is the velocity of body2 relative to body1, about the centre of mass of body2's tree, for a
    unit velocity of the dof.
    """
    body1, body2 = d.contact_body[c, 0], d.contact_body[c, 1]
    top = _common_ancestor(m, body1, body2)
    middle = _list_path(m, d, body2, top, 0, 1.0, ZERO3)
    way = sub3(load3(d.contact_arm1, c), load3(d.contact_arm2, c))
    return middle, _list_path(m, d, body1, top, middle, -1.0, way)


@inline
def _common_ancestor(m, body1, body2):
    """Return the lowest common ancestor of two bodies."""
    while body1 != body2:
        if body1 > body2:
            body1 = m.body_parentid[body1]
        else:
            body2 = m.body_parentid[body2]
    return body1


@inline
def _list_path(m, d, body, top, number, sign, arm):
    """Write path_row and path_axis from a body up to `top`; return the new number of entries."""
    while body != top:
        j = body - 1
        first = m.jnt_dofadr_all[j]
        for k in range(first + m.jnt_dofnum[j] - 1, first - 1, -1):
            if is_driven(m, k):
                continue
            ratio = sign if k < m.nv else sign * m.jnt_mimic_ratio[j]
            d.path_row[number] = d.skyline_row[k if k < m.nv else m.jnt_dofadr[j]]
            store6(d.path_axis, number, scaled6(moved(load6(d.cdof_all, k), arm), ratio))
            number += 1
        body = m.body_parentid[body]
    return number


@kernel
def _eliminate_prescribed(m, d):
    """Subtract the effect of prescribed accelerations from the forces, as in coupled.py."""
    for k in range(m.nv):
        d.row_shift[k] = d.drive_qacc[k] if d.drive_mode[k] != FORCE else 0.0
    mul_skyline(m, d, d.row_shift, d.drive_load)
    for k in range(m.nv):
        given, i, end = d.drive_mode[k] != FORCE, k, diagonal_of(k)
        d.qacc_step[k] = 0.0 if given else d.qacc_step[k] - d.drive_load[k]
        if given:
            d.skyline[end] = 1.0
        for e in range(end - 1, place_of(d, k, d.skyline_first[k]) - 1, -1):
            i = d.skyline_next[i]
            if given or d.drive_mode[i] != FORCE:
                d.skyline[e] = 0.0

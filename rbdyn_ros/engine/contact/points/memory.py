# SPDX-License-Identifier: Apache-2.0
"""Memory of contacts: the forces of the step before, matched to the contacts of this step by key.

The list of the last step (the stick_ fields) is part of the state. It is in the axes of geom1's
body, so the friction rotates with the body. Both lists are sorted by key, so a single pass merges
them. The remembered friction of points that have disappeared is divided among the new points of
the pair, so if the points of a face change, the sum of the friction stays the same.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    dot3,
    load3,
    load9,
    mat_vec,
    scaled3,
    store3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import data_at, model_at, optional_stage
from rbdyn_ros.engine.contact.law.force import has_torque
from rbdyn_ros.engine.contact.points.hits import move_hits
from rbdyn_ros.model.declared.contact_arrays import FEATURES, NORMAL, SIZE


@inline
def recall(d):
    """Write contact_pressed, and contact_memory and its torque in the present tangent plane."""
    c = old = 0
    # nstick may exceed the list, because the user can set it
    kept = min(d.nstick, len(d.stick_key))
    while c < d.ncon:
        pair = d.contact_key[c] // FEATURES
        while old < kept and d.stick_key[old] // FEATURES < pair:
            old += 1
        c, old = _recall_pair(d, c, old, kept, (pair + 1) * FEATURES)


@inline
def _recall_pair(d, c, old, kept, end):
    """Recall the contacts of a pair, with keys below `end`; return where the next pair begins."""
    first, fresh, pressed, lost, lost_torque = c, 0, 0.0, ZERO3, ZERO3
    while True:
        here = c < d.ncon and d.contact_key[c] < end
        before = old < kept and d.stick_key[old] < end
        if here and before and d.contact_key[c] == d.stick_key[old]:
            d.contact_old[c] = old
            d.contact_pressed[c] = d.stick_normal[old]
            _keep(d, c, load3(d.stick_force, old), load3(d.stick_torque, old))
            c, old = c + 1, old + 1
        elif before and (not here or d.stick_key[old] < d.contact_key[c]):
            pressed += d.stick_normal[old]
            lost = add3(lost, load3(d.stick_force, old))
            lost_torque = add3(lost_torque, load3(d.stick_torque, old))
            old += 1
        elif here:
            d.contact_old[c] = -1
            fresh, c = fresh + 1, c + 1
        else:
            break
    if fresh > 0:
        share = 1.0 / fresh
        for n in range(first, c):
            if d.contact_old[n] == -1:
                d.contact_pressed[n] = share * pressed
                _keep(d, n, scaled3(lost, share), scaled3(lost_torque, share))
    return c, old


@inline
def _keep(d, c, force, torque):
    normal, body1 = load3(d.contact_normal, c), d.contact_body[c, 0]
    if body1 > 0:
        R = load9(d.xmat, body1)
        force, torque = mat_vec(R, force), mat_vec(R, torque)
    store3(d.contact_memory, c, sub3(force, scaled3(normal, dot3(normal, force))))
    store3(d.contact_memory_torque, c, torque)


@optional_stage("remember_stage")
def _remember_by_address(table, row):
    remember(data_at(table, row))
    move_hits(model_at(table), data_at(table, row))


@kernel
def remember(d):
    """Write the stick_ fields: normal force and friction of the contacts that press.

    A patch remembers its friction against spin as a torque at the size of the contact.
    """
    kept = 0
    for c in range(d.ncon):
        across, force, normal = (
            load3(d.contact_end, c), d.contact_end[c, NORMAL], load3(d.contact_normal, c),
        )  # fmt: skip
        if force > 0.0:
            torque = load3(d.contact_end_torque, c) if has_torque(d, c) else ZERO3
            spin, body1 = dot3(normal, across), d.contact_body[c, 0]
            friction = add_scaled3(across, normal, -spin)
            torque = add_scaled3(torque, normal, spin * d.contact_grip[c, SIZE])
            if body1 > 0:
                R = transposed(load9(d.xmat, body1))
                friction, torque = mat_vec(R, friction), mat_vec(R, torque)
            d.stick_key[kept] = d.contact_key[c]
            d.stick_normal[kept] = force
            store3(d.stick_force, kept, friction)
            store3(d.stick_torque, kept, torque)
            kept += 1
    d.nstick = kept

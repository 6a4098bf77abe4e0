# SPDX-License-Identifier: Apache-2.0
"""List the contacts of a robot's own pairs, lane by lane, with the engine's kernel.

A lane is left to the engine if a pair has several contacts, if a pair without a contact point
touches, or if a contact begins because of the forces of the step.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import load3
from rbdyn_ros.engine.contact.points.pairs import list_pairs
from rbdyn_ros.model.declared.contact_arrays import AT_END, AT_START, FEATURES
from rbdyn_ros.rollouts.contact.fields import FAR
from rbdyn_ros.rollouts.contact.pairs import (
    ARM,
    AXES,
    DIST,
    KEY,
    LISTED,
    PAIR,
)
from rbdyn_ros.rollouts.contact.points import BY_KEY
from rbdyn_ros.rollouts.contact_drive import SEVERAL, first_by_key, plan_of, tables_of
from rbdyn_ros.rollouts.contact_ground import axes_of, engine_of, enter_body
from rbdyn_ros.rollouts.driver import floats_at, kernel


def find_pairs(row):
    """Write "pairs" of all lanes, and mark the lanes that are left to the engine."""
    plan, (m, d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    listed = tables_of(plan, row)[5]
    for lane in range(width):
        for n in range(plan.pairs):
            _clear(memory, (plan.first_pair + PAIR * n) * width + lane, width)
            key = first_by_key(plan) + BY_KEY * (n + 1) - 1
            if memory[key * width + lane] == SEVERAL:
                memory[plan.left * width + lane] = 1.0
        if memory[plan.near * width + lane] != 0.0:
            d.contact_phase[0] = AT_START
            _list(m, d, plan, memory, lane)
            for c in range(d.ncon):
                n = _place_of(d, listed, plan.pairs, c)
                at = (plan.first_pair + PAIR * n) * width + lane
                if n < 0 or memory[at + LISTED * width] != 0.0:
                    memory[plan.left * width + lane] = 1.0
                else:
                    _write(d, c, memory, at, width)


@kernel
def _clear(memory, at, width):
    """Write the columns of a pair without a contact."""
    for k in range(PAIR):
        memory[at + k * width] = 0.0
    for k in range(3):
        memory[at + (AXES + 4 * k) * width] = 1.0
    memory[at + DIST * width] = FAR


@kernel
def _list(m, d, plan, memory, lane):
    """List the contacts of all pairs of a lane in the engine's Data."""
    for n in range(m.npush):
        for side in range(2):
            enter_body(m, d, plan, memory, lane, m.geom_bodyid[m.push_geom[n, side]])
    d.ncon = 0
    list_pairs(m, d, 0)


@kernel
def _place_of(d, listed, number, c):
    """Return the index of a contact's pair among the own pairs with contact points, or -1."""
    for n in range(number):
        if d.contact_key[c] // FEATURES == listed[n, 2] // FEATURES:
            return n
    return -1


@kernel
def _write(d, c, memory, at, width):
    """Write the columns of a pair (contact/pairs.py) from contact c."""
    normal, arm = load3(d.contact_normal, c), load3(d.contact_arm2, c)
    tangent, across = axes_of(normal)
    for k in range(3):
        memory[at + (AXES + k) * width] = tangent[k]
        memory[at + (AXES + 3 + k) * width] = across[k]
        memory[at + (AXES + 6 + k) * width] = normal[k]
        memory[at + (ARM + k) * width] = arm[k]
    memory[at + DIST * width], memory[at + LISTED * width] = d.contact_dist[c], 1.0
    memory[at + KEY * width] = d.contact_key[c]


def late_pairs(row):
    """Leave to the engine all lanes in which a contact of a pair begins because of the forces."""
    plan, (m, d) = plan_of(row), engine_of(row)
    width, memory = plan.width, floats_at(row, plan.slots * plan.width)
    listed = tables_of(plan, row)[5]
    for lane in range(width):
        looks = memory[plan.looks * width + lane] * memory[plan.near_late * width + lane]
        if looks == 0.0 or memory[plan.left * width + lane] != 0.0:
            continue
        d.contact_phase[0] = AT_END
        _list(m, d, plan, memory, lane)
        d.contact_phase[0] = AT_START
        for c in range(d.ncon):
            n = _place_of(d, listed, plan.pairs, c)
            at = (plan.first_pair + PAIR * n) * width + lane
            known = n >= 0 and memory[at + LISTED * width] != 0.0
            if not known or memory[at + KEY * width] != d.contact_key[c]:
                memory[plan.left * width + lane] = 1.0

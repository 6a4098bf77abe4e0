# SPDX-License-Identifier: Apache-2.0
"""Contacts that begin within a step because of the accelerations in it.

The list of a step has the contacts that the velocities at its start close. An impact changes these
velocities, so a body could end the step inside another one. So once the forces of the step are
known, the list is made again with the velocities at its end. A contact on the path of these
velocities moves with them, but the forces are solved for the places of the list before. So a list
of the same contacts keeps these places.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, dot3, dot6, load3, load6, load9, mat_vec, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.contact.points.contact_list import near
from rbdyn_ros.engine.contact.solve.passes import keep_iterate
from rbdyn_ros.engine.tree.points import moved_point
from rbdyn_ros.model.contact_arrays import AT_END, AT_START, PREPARE

#: Bodies with a smaller acceleration [m/s^2, rad/s^2] are skipped.
MIN_ACCELERATION = 1e-6


@kernel
def list_late_contacts(m, d):
    """List the contacts that begin in the step; return whether there are any.

    The iterate is then the solution for the contacts that were on the list.
    """
    if not _moves_on(m, d) or d.ndropped > 0:
        return False
    keep_iterate(m, d)
    number = d.ncon
    _keep_list(d)
    d.contact_phase[0] = AT_END
    call_stage(m.contact_stage, m, d)
    d.contact_phase[0] = PREPARE
    found = _differs(d, number)
    if found:
        call_stage(m.contact_stage, m, d)
    else:
        _take_kept_places(d)
    d.contact_phase[0] = AT_START
    return found


@kernel
def _moves_on(m, d):
    """Return whether a geometry is accelerated more than the list allows for."""
    h, most = m.opt.timestep, 0.5 * near(m)
    for g in range(m.ngeommoving):
        i = m.geom_bodyid[g]
        a = load6(d.a, i)
        if dot6(a, a) < MIN_ACCELERATION * MIN_ACCELERATION:
            continue
        centre = mat_vec(load9(d.xmat, i), load3(m.geom_pos, g))
        centre = add3(load3(d.xpos, i), centre)
        there = moved_point(a, sub3(centre, load3(d.subtree_com, m.body_rootid[i])))
        turn = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
        if h * h * (np.sqrt(dot3(there, there)) + m.geom_rbound[g] * turn) > most:
            return True
    return False


@inline
def _keep_list(d):
    """Keep the keys and places of the contacts."""
    for c in range(d.ncon):
        d.contact_old[c] = d.contact_key[c]
        d.contact_before[c, 12] = d.contact_dist[c]
        d.contact_before[c, 13] = d.contact_time[c]
        for k in range(3):
            d.contact_before[c, k] = d.contact_pos[c, k]
            d.contact_before[c, 3 + k] = d.contact_normal[c, k]
            d.contact_before[c, 6 + k] = d.contact_arm1[c, k]
            d.contact_before[c, 9 + k] = d.contact_arm2[c, k]


@inline
def _take_kept_places(d):
    """Put the contacts where they were on the list before."""
    for c in range(d.ncon):
        d.contact_dist[c] = d.contact_before[c, 12]
        d.contact_time[c] = d.contact_before[c, 13]
        for k in range(3):
            d.contact_pos[c, k] = d.contact_before[c, k]
            d.contact_normal[c, k] = d.contact_before[c, 3 + k]
            d.contact_arm1[c, k] = d.contact_before[c, 6 + k]
            d.contact_arm2[c, k] = d.contact_before[c, 9 + k]


@inline
def _differs(d, number):
    """Return whether other points are listed than those whose keys are in contact_old."""
    same = d.ncon == number
    for c in range(min(d.ncon, number)):
        same = same and d.contact_key[c] == d.contact_old[c]
    return not same

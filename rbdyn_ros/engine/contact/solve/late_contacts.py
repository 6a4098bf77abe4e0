# SPDX-License-Identifier: Apache-2.0
"""Contacts that begin within a step because of the accelerations in it.

The list of a step has the contacts that close at the velocities at its start. An impact changes
these velocities, so a body could end the step inside another body. So once the forces of the step
are known, the list is made again with the velocities at the end of the step, and the step is
solved again if there are more contacts. Contacts that the forces keep apart stay on the list:
without them the bodies would collide again. Contacts found with the final velocities have other
positions. But if the list has the same contacts as before, the old positions are kept, because the
forces were found for them.

Contacts keep their forces, and new contacts begin with zero force. So Newton's method starts from
the solution, and factors only the islands with a new contact. If a contact with a force has moved,
or has left the list because it bounces, the forces on the list no longer cause the accelerations
of the solution. Then a pass of dynamics comes first.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import ZERO3, dot3, load3, store3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.contact.points.contact_list import copy_contact, is_asked, may_begin
from rbdyn_ros.engine.contact.points.hits import keep_first_hits
from rbdyn_ros.engine.contact.solve.passes import keep_iterate
from rbdyn_ros.model.declared.contact_arrays import AT_END, AT_START, FEATURES, NORMAL, PREPARE


@kernel
def list_late_contacts(m, d):
    """List the contacts that begin in the step; return whether there are any.

    The solution for the old list becomes the iterate. Also return whether its forces, on the new
    list, still cause its accelerations.
    """
    d.contact_phase[0] = AT_END
    if d.ndropped > 0 or not _any_begins(m, d):
        d.contact_phase[0] = AT_START
        return False, False
    keep_iterate(m, d)
    number = d.ncon
    _keep_list(d)
    call_stage(m.contact_stage, m, d)
    _insert_missing(m, d, number)
    if d.hits[0] != 0:
        keep_first_hits(m, d)
    d.contact_phase[0] = PREPARE
    found, carried = _differs(d, number), False
    if found:
        carried = _carry_forces(d, number)
        call_stage(m.contact_stage, m, d)
    else:
        _take_back(m, d, number)
    d.contact_phase[0] = AT_START
    return found, carried


@inline
def _any_begins(m, d):
    """Return whether a geometry can begin a contact in the step."""
    begins = False
    for g in range(m.ngeommoving):
        begins = begins or may_begin(m, d, g)
    return begins


@inline
def _keep_list(d):
    """Store the list in contact_old and contact_before, and its forces in contact_step."""
    for c in range(d.ncon):
        d.contact_old[c] = d.contact_key[c]
        before = d.contact_before[c]
        for k in range(3):
            before[k], before[3 + k] = d.contact_pos[c, k], d.contact_normal[c, k]
            before[6 + k], before[9 + k] = d.contact_arm1[c, k], d.contact_arm2[c, k]
        before[12], before[13] = d.contact_dist[c], d.contact_time[c]
        before[14], before[15] = d.contact_geom[c, 0], d.contact_geom[c, 1]
        store3(d.contact_step, c, load3(d.contact_end, c))
        d.contact_step[c, NORMAL] = d.contact_end[c, NORMAL]


@kernel
def _carry_forces(d, number):
    """Write contact_end: the forces of the `number` old contacts, and zero for new contacts.

    Return whether all forces act as before: no contact with a force has moved or left the list.
    """
    old, same = 0, True
    for c in range(d.ncon):
        while old < number and d.contact_old[old] < d.contact_key[c]:
            same = same and not _has_force(d, old)
            old += 1
        listed = old < number and d.contact_old[old] == d.contact_key[c]
        store3(d.contact_end, c, load3(d.contact_step, old) if listed else ZERO3)
        d.contact_end[c, NORMAL] = d.contact_step[old, NORMAL] if listed else 0.0
        if listed:
            same = same and (not _has_force(d, old) or _is_in_place(d, c, old))
            old += 1
    for n in range(old, number):
        same = same and not _has_force(d, n)
    return same


@inline
def _has_force(d, n):
    """Return whether contact n of the previous list has a force."""
    f = load3(d.contact_step, n)
    return d.contact_step[n, NORMAL] != 0.0 or dot3(f, f) != 0.0


@inline
def _is_in_place(d, c, n):
    """Return whether contact c has the normal and the arms of contact n of the previous list.

    A contact with the world has no first arm.
    """
    before, moving, same = d.contact_before[n], d.contact_body[c, 0] > 0, True
    for k in range(3):
        same = same and before[3 + k] == d.contact_normal[c, k]
        same = same and (not moving or before[6 + k] == d.contact_arm1[c, k])
        same = same and before[9 + k] == d.contact_arm2[c, k]
    return same


@inline
def _take_kept(m, d, c, place):
    """Copy contact c of the previous list to the index `place` of the list."""
    before = d.contact_before[c]
    d.contact_key[place] = d.contact_old[c]
    for k in range(3):
        d.contact_pos[place, k], d.contact_normal[place, k] = before[k], before[3 + k]
        d.contact_arm1[place, k], d.contact_arm2[place, k] = before[6 + k], before[9 + k]
    d.contact_dist[place], d.contact_time[place] = before[12], before[13]
    for side in range(2):
        geom = int(before[14 + side])
        d.contact_geom[place, side], d.contact_body[place, side] = geom, m.geom_bodyid[geom]


@inline
def _take_back(m, d, number):
    """Restore the previous list, which has `number` contacts."""
    d.ncon = number
    for c in range(number):
        _take_kept(m, d, c, c)


@kernel
def _insert_missing(m, d, number):
    """Insert the contacts of the previous list, of length `number`, that the list lacks.

    If they do not fit, the previous list is restored. Both lists are sorted by key.
    """
    n = missing = 0
    for c in range(number):
        while n < d.ncon and d.contact_key[n] < d.contact_old[c]:
            n += 1
        listed = n < d.ncon and d.contact_key[n] == d.contact_old[c]
        missing += not listed and _stays(m, d, c)
    if d.ncon + missing > m.ncontact:
        d.ndropped = d.ndropped + d.ncon + missing - m.ncontact
        _take_back(m, d, number)
        return
    c, n, place = number - 1, d.ncon - 1, d.ncon + missing - 1
    d.ncon = d.ncon + missing
    while place > n and c >= 0:  # merge from the end, so that no contact is overwritten
        if n >= 0 and d.contact_key[n] >= d.contact_old[c]:
            c -= d.contact_key[n] == d.contact_old[c]
            copy_contact(d, n, place)
            n, place = n - 1, place - 1
        else:
            if _stays(m, d, c):
                _take_kept(m, d, c, place)
                place -= 1
            c -= 1


@inline
def _stays(m, d, c):
    """Return whether contact c of the previous list stays although the new list lacks it.

    Contacts stay if their pair was not listed again, as most pairs. From the other pairs, hits.py
    removes contacts that bounce.
    """
    before = d.contact_before[c]
    geom1, geom2 = int(before[14]), int(before[15])
    pair = d.contact_old[c] // FEATURES - m.ngeomlink * m.nobstacle
    if 0 <= pair < m.npush and not is_asked(m, d, geom1) and not is_asked(m, d, geom2):
        return True
    return before[13] <= 0.0 and m.geom_restitution[geom1] + m.geom_restitution[geom2] == 0.0


@inline
def _differs(d, number):
    """Return whether the keys of the listed points differ from contact_old."""
    same = d.ncon == number
    for c in range(min(d.ncon, number)):
        same = same and d.contact_key[c] == d.contact_old[c]
    return not same

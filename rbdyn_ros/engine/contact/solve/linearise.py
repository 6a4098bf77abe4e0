# SPDX-License-Identifier: Apache-2.0
"""The law of the contacts, linearised at an iterate.

The sums over bodies are in body_sums.py.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import ZERO3, add3, dot3, load3, scaled3, store3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import add_to_bodies, clear_sums
from rbdyn_ros.engine.contact.law.force import (
    first_lagged,
    friction,
    has_torque,
    is_viscous,
    normal_force,
    rolling_torque,
    torsional_torque,
)
from rbdyn_ros.engine.contact.solve.passes import moved_contact
from rbdyn_ros.model.declared.contact_arrays import (
    ACROSS,
    ALONG,
    MU,
    NORMAL,
    PENALTY,
    PUSH,
    SLIP,
    SLOPE,
)


@kernel
def linearise_at_start(m, d):
    """Linearise at the velocities at the start of the step; write the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        leaving = d.contact_vel[c, NORMAL]
        force = first_lagged(d, c, leaving)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        store3(d.contact_change, c, ZERO3)
        d.contact_change[c, NORMAL] = 0.0
        if has_torque(d, c):
            store3(d.contact_spin_change, c, ZERO3)
        _linearise(d, c)
        if d.contact_pressed[c] > 0.0:
            _keep_closed(d, c, leaving)
    add_to_bodies(d, False)


@inline
def _keep_closed(d, c, leaving):
    """In the first pass, linearise a contact that pressed in the last step as a pressing contact.

    Even if it opens at the start of the step, the forces of the step can keep it closed.
    """
    push, slope = d.contact_spring[c, PUSH], d.contact_spring[c, SLOPE]
    if push <= slope * leaving:
        d.contact_force_slope[c, ALONG] = slope
        d.contact_load[c, NORMAL] += push - slope * leaving


@kernel
def linearise_after_step(m, d, share):
    """Move by a share of contact_step, linearise there, and write the sums of the bodies."""
    clear_sums(m, d)
    for c in range(d.ncon):
        step = scaled3(load3(d.contact_step, c), share)
        store3(d.contact_change, c, add3(load3(d.contact_change, c), step))
        d.contact_change[c, NORMAL] += share * d.contact_step[c, NORMAL]
        if has_torque(d, c):
            turn = scaled3(load3(d.contact_spin_step, c), share)
            store3(d.contact_spin_change, c, add3(load3(d.contact_spin_change, c), turn))
        _linearise(d, c)
    add_to_bodies(d, True)


@kernel
def linearise_at_iterate(m, d):
    """Linearise a new list of contacts at the iterate iterate_a; write the bodies' sums.

    contact_step becomes zero, so that Newton's method can also start from this iterate.
    """
    h = m.opt.timestep
    clear_sums(m, d)
    for c in range(d.ncon):
        across, away, turn = moved_contact(d, c, d.iterate_a)
        store3(d.contact_change, c, scaled3(across, h))
        d.contact_change[c, NORMAL] = h * away
        store3(d.contact_step, c, ZERO3)
        d.contact_step[c, NORMAL] = 0.0
        if has_torque(d, c):
            store3(d.contact_spin_change, c, scaled3(turn, h))
        force, _ = normal_force(d, c, d.contact_vel[c, NORMAL] + h * away)
        d.contact_lagged[c, 0] = d.contact_lagged[c, 1] = force
        d.contact_gap[c, 0] = d.contact_gap[c, 1] = 0.0
        _linearise(d, c)
    add_to_bodies(d, True)


@kernel
def linearise_viscous(m, d):
    """Linearise at the start of the step with viscous friction, the solver's last resort.

    Viscous friction is at most mu times the lagged force. Torsional and rolling friction are zero.
    """
    clear_sums(m, d)
    for c in range(d.ncon):
        across = load3(d.contact_vel, c)
        force, along = normal_force(d, c, d.contact_vel[c, NORMAL])
        penalty = d.contact_grip[c, PENALTY]
        if not is_viscous(d, c):
            most = d.contact_grip[c, MU] * d.contact_lagged[c, 0]
            speed = np.sqrt(dot3(across, across))
            if most <= penalty * speed:
                penalty = most / speed if speed > 0.0 else 0.0
        store3(d.contact_change, c, ZERO3)
        store3(d.contact_load, c, scaled3(across, -penalty))
        d.contact_change[c, NORMAL], d.contact_load[c, NORMAL] = 0.0, force
        slope = d.contact_force_slope[c]
        slope[ALONG], slope[ACROSS] = along, penalty
        slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = ZERO3
        if has_torque(d, c):
            store3(d.contact_spin_change, c, ZERO3)
            store3(d.contact_load_torque, c, ZERO3)
            d.contact_torque_slope[c, ALONG] = d.contact_torque_slope[c, ACROSS] = 0.0
    add_to_bodies(d, False)


@inline
def torque_at(d, c, normal, w, lagged):
    """Return the torsional and rolling torque of a contact at the angular velocity w."""
    memory = load3(d.contact_memory_torque, c)
    along, _s = torsional_torque(d, c, memory, w, normal, lagged)
    across, _s, _t = rolling_torque(d, c, memory, w, normal, lagged)
    return add3(scaled3(normal, along), across)


@inline
def _linearise(d, c):
    """Write contact_load and contact_force_slope, the force and its slope at the iterate."""
    lagged = d.contact_lagged[c, 0]
    u = add3(load3(d.contact_vel, c), load3(d.contact_change, c))
    force, along = normal_force(d, c, d.contact_vel[c, NORMAL] + d.contact_change[c, NORMAL])
    tangential, across, slip = friction(d, c, u, lagged)
    store3(d.contact_load, c, tangential)
    d.contact_load[c, NORMAL] = force
    slope = d.contact_force_slope[c]
    slope[ALONG], slope[ACROSS] = along, across
    slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = slip
    if has_torque(d, c):
        normal, memory = load3(d.contact_normal, c), load3(d.contact_memory_torque, c)
        w = add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c))
        torsional, along = torsional_torque(d, c, memory, w, normal, lagged)
        rolling, across, slip = rolling_torque(d, c, memory, w, normal, lagged)
        store3(d.contact_load_torque, c, add3(scaled3(normal, torsional), rolling))
        slope = d.contact_torque_slope[c]
        slope[ALONG], slope[ACROSS] = along, across
        slope[SLIP], slope[SLIP + 1], slope[SLIP + 2] = slip

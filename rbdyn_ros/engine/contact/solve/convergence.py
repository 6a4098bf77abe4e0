# SPDX-License-Identifier: Apache-2.0
"""The contact forces at the end of a pass of dynamics, and their error against the law."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, dot3, load3, scaled3, store3, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.contact.law.body_sums import friction_slope_times, torque_slope_times
from rbdyn_ros.engine.contact.law.force import friction, has_torque, is_viscous, normal_force
from rbdyn_ros.engine.contact.solve.linearise import torque_at
from rbdyn_ros.engine.contact.solve.passes import moved_contact
from rbdyn_ros.model.declared.contact_arrays import (
    ACROSS,
    ALONG,
    MU,
    NORMAL,
    PENALTY,
    ROLLING,
    SIZE,
    SLOPE,
    TORSIONAL,
    TURN_PENALTY,
)

#: Largest error of a force in the solution, as a part of the largest force.
FORCE_TOLERANCE = 5e-7

#: If no force changes by more than this part of the largest force, the law is not evaluated again.
#: The limit is above the rounding errors of a body at rest, and well below FORCE_TOLERANCE.
SAME_FORCE = 1e-7

#: If the law is not evaluated again, a contact may pull with at most this part of the largest
#: force.
PULL = 1e-9


@kernel
def write_step_and_forces(m, d):
    """Write contact_step, the change from iterate to solution of the pass, and the forces there.

    Return True if the step is too short to change a force, and the lagged forces are correct.
    """
    h, largest, changed = m.opt.timestep, 0.0, 0.0
    for c in range(d.ncon):
        across, away, a = moved_contact(d, c, d.a)
        step = sub3(scaled3(across, h), load3(d.contact_change, c))
        way = h * away - d.contact_change[c, NORMAL]
        store3(d.contact_step, c, step)
        across = sub3(load3(d.contact_load, c), friction_slope_times(d, c, step))
        force = d.contact_load[c, NORMAL] - d.contact_force_slope[c, ALONG] * way
        store3(d.contact_end, c, across)
        d.contact_step[c, NORMAL], d.contact_end[c, NORMAL] = way, force
        largest = max(largest, largest_of(across), abs(force))
        steepest = max(d.contact_spring[c, SLOPE], d.contact_grip[c, PENALTY])
        changed = max(changed, steepest * max(largest_of(step), abs(way)))
        if has_torque(d, c):
            normal = load3(d.contact_normal, c)
            turn = sub3(scaled3(a, h), load3(d.contact_spin_change, c))
            store3(d.contact_spin_step, c, turn)
            torque = sub3(load3(d.contact_load_torque, c), torque_slope_times(d, c, normal, turn))
            store3(d.contact_end_torque, c, torque)
            penalty, size = d.contact_grip[c, TURN_PENALTY], d.contact_grip[c, SIZE]
            changed = max(changed, penalty * largest_of(turn) / size)
    return changed <= SAME_FORCE * largest and _all_right(d, largest)


@inline
def _all_right(d, largest):
    """Return whether all friction and torques satisfy the law; largest: the largest force."""
    for c in range(d.ncon):
        pressing = d.contact_end[c, NORMAL]
        pulls = d.contact_force_slope[c, ALONG] > 0.0 and pressing < -PULL * largest
        if pulls or not _friction_right(d, c, pressing, FORCE_TOLERANCE * largest):
            return False
        if has_torque(d, c) and not _torques_right(d, c, pressing, FORCE_TOLERANCE * largest):
            return False
    return True


@inline
def _friction_right(d, c, pressing, most):
    """Return whether the friction of a contact satisfies the law up to the force `most`.

    It does if the lagged force equals the normal force, or the contact sticks within the friction
    cone of its normal force.
    """
    force, mu = load3(d.contact_end, c), d.contact_grip[c, MU]
    if d.contact_force_slope[c, ACROSS] == d.contact_grip[c, PENALTY]:  # the contact sticks
        limit = mu * pressing + most
        if limit >= 0.0 and dot3(force, force) <= limit * limit:
            return True
    return is_viscous(d, c) or mu * abs(d.contact_lagged[c, 0] - pressing) <= most


@inline
def _torques_right(d, c, pressing, most):
    """Return whether the torques satisfy the law up to the force `most` times the size."""
    normal, torque = load3(d.contact_normal, c), load3(d.contact_end_torque, c)
    penalty = d.contact_grip[c, TURN_PENALTY]
    torsional, rolling = d.contact_grip[c, TORSIONAL], d.contact_grip[c, ROLLING]
    along, most = dot3(normal, torque), most * d.contact_grip[c, SIZE]
    if max(torsional, rolling) * abs(d.contact_lagged[c, 0] - pressing) <= most:
        return True
    across = sub3(torque, scaled3(normal, along))
    slope = d.contact_torque_slope[c]
    sticks = torsional == 0.0 or slope[ALONG] == penalty
    sticks = sticks and (rolling == 0.0 or slope[ACROSS] == penalty)
    spins = abs(along) <= torsional * pressing + most
    return sticks and spins and np.sqrt(dot3(across, across)) <= rolling * pressing + most


@kernel
def compare_with_law(d):
    """Compare the law at the end of contact_step with the linearised forces.

    Returns:
        Largest error of a force for the present lagged forces; largest error of a friction disc's
        radius; largest change of friction if the radii were exact; largest normal force; and the
        sums over contacts of (f1 - f0) . step, step . C step and f0 . step.
    """
    missed, disc, wrong, most, gained, curve, before = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(d.ncon):
        step, way, lagged = (
            load3(d.contact_step, c), d.contact_step[c, NORMAL], d.contact_lagged[c, 0],
        )  # fmt: skip
        u = add3(add3(load3(d.contact_vel, c), load3(d.contact_change, c)), step)
        force, _ = normal_force(d, c, d.contact_vel[c, NORMAL] + d.contact_change[c, NORMAL] + way)
        d.contact_gap[c, 0] = force - lagged
        most = max(most, force)
        f, _s, _t = friction(d, c, u, lagged)
        if not is_viscous(d, c) and force != lagged:
            disc = max(disc, d.contact_grip[c, MU] * abs(force - lagged))
            right, _s, _t = friction(d, c, u, force)
            wrong = max(wrong, largest_of(sub3(right, f)))
        missed = max(missed, largest_of(sub3(f, load3(d.contact_end, c))))
        missed = max(missed, abs(force - d.contact_end[c, NORMAL]))
        start = dot3(load3(d.contact_load, c), step) + d.contact_load[c, NORMAL] * way
        gained += dot3(f, step) + force * way - start
        before += start
        curve += dot3(friction_slope_times(d, c, step), step)
        curve += d.contact_force_slope[c, ALONG] * way * way
        if has_torque(d, c):
            normal = load3(d.contact_normal, c)
            size, turn = d.contact_grip[c, SIZE], load3(d.contact_spin_step, c)
            w = add3(add3(load3(d.contact_spin, c), load3(d.contact_spin_change, c)), turn)
            torque = torque_at(d, c, normal, w, lagged)
            missed = max(missed, largest_of(sub3(torque, load3(d.contact_end_torque, c))) / size)
            longest = max(d.contact_grip[c, TORSIONAL], d.contact_grip[c, ROLLING])
            disc = max(disc, longest / size * abs(force - lagged))
            right = torque_at(d, c, normal, w, force)
            wrong = max(wrong, largest_of(sub3(right, torque)) / size)
            start = dot3(load3(d.contact_load_torque, c), turn)
            gained += dot3(torque, turn) - start
            before += start
            curve += dot3(torque_slope_times(d, c, normal, turn), turn)
    return missed, disc, wrong, most, gained, curve, before


@inline
def largest_of(x):
    """Return the largest absolute component of a vector."""
    return max(abs(x[0]), abs(x[1]), abs(x[2]))

# SPDX-License-Identifier: Apache-2.0
"""Dry friction and joint limits in the dynamics passes of a step.

The law of a dof is piecewise linear (stop_law.py). A dynamics pass assumes one piece for each dof.
In this piece the force is stop_load - h stop_slope a, with the timestep h and the acceleration a
of the dof: stop_load is in qfrc_passive, and stop_slope is added to the diagonal of M like
viscosity. Then the dofs whose piece was wrong switch to another piece, as in active-set methods,
until all pieces are right. The limit of a ball joint (cone_load and cone_slope) acts along one
axis in the three dofs of the joint. These kernels are called by stop_solver.py, and with contact
by solve_step.py.
"""

from __future__ import annotations

from rbdyn_ros.engine.algebra.spatial import load3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.stops.stop_law import (
    AGAINST,
    ALONG,
    AT,
    HIGH,
    LOW,
    LOWER,
    LOWER_SLOPE,
    REMEMBERED,
    UPPER,
    UPPER_SLOPE,
    along_cone,
    cone_force,
    has_stop,
    limit_pushes,
    stiction_slope,
    stop_force,
)
from rbdyn_ros.model.declared.options import FORCE

#: Allowed error of a force, as a part of this force or of dry friction.
FORCE_TOLERANCE = 1e-6

#: A force below this part of the largest force counts as zero.
NOTHING = 1e-9

#: The force of a dof at rest may change by the relative amount CHANGED without another pass. A
#: force below the part UNLOADED of dry friction counts as zero.
CHANGED, UNLOADED = 1e-5, 1e-3

#: Largest number of passes that bring dofs at rest closer to zero velocity.
SETTLINGS = 2

#: In passes that bring dofs closer to rest, their slope and their tolerance CHANGED are reduced to
#: this part. The force contains the rounding error of slope v, so a smaller slope makes it more
#: exact.
YIELDING = 0.1

#: A smaller remembered force [N m or N] is set to zero, because its products would underflow.
FADED = 1e-200

#: Rounding error of a velocity, as a part of the largest velocity, and of a force.
ROUNDING_ERROR = 1e-15


@kernel
def start_stops(m, d):
    """Choose the pieces for the velocities at the start, or after a pass without stops."""
    h, tried = m.opt.timestep, d.nstopped < 0
    d.nstopped = max(abs(d.nstopped), 1)
    for k in range(m.nv):
        d.stop_change[k] = d.stop_qfrc[k] = d.stop_load[k] = d.stop_slope[k] = 0.0
        if has_stop(m, d, k):
            v = d.qvel[k]
            _f, _l, _s, piece = stop_force(m, d, k, v)
            if tried:
                before = AGAINST if v > 0.0 else ALONG
                piece = _next_piece(m, d, k, before, v + h * d.qacc_step[k])
            _take_piece(m, d, k, piece)
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_load[k]
    for c in range(m.ncone):
        d.cone_qfrc[c] = 0.0
        u = along_cone(d, c, d.qvel)
        change = h * along_cone(d, c, d.qacc_step) if tried else 0.0
        force, _s = cone_force(d, c, u + change)
        _take_cone(d, c, force > 0.0)


@inline
def _next_piece(m, d, k, piece, u):
    """Return the next piece of a dof that moved with u; one switch does not reverse friction."""
    _f, _l, _s, there = stop_force(m, d, k, u)
    before, now = piece % LOW, there % LOW
    return there - now if before + now == ALONG + AGAINST and before * now != 0 else there


@inline
def _take_piece(m, d, k, piece):
    """Put a dof in a piece of the law: write stop_load, stop_slope and stop_piece."""
    v, load, slope, friction = d.qvel[k], 0.0, 0.0, piece % LOW
    if m.dof_frictionloss[k] > 0.0:
        if friction == 0:
            slope = stiction_slope(m, k)
            load = d.stop_spring[k, REMEMBERED] - slope * v
        else:
            load = m.dof_frictionloss[k] if friction == ALONG else -m.dof_frictionloss[k]
    (low, high), limits = limit_pushes(d, k, v), piece - friction
    if limits == LOW or limits == LOW + HIGH:
        load, slope = load + low, slope + d.stop_spring[k, LOWER_SLOPE]
    if limits >= HIGH:
        load, slope = load - high, slope + d.stop_spring[k, UPPER_SLOPE]
    d.stop_load[k], d.stop_slope[k], d.stop_piece[k] = load, slope, piece


@inline
def _take_cone(d, c, pushes):
    axis, k = load3(d.cone_axis, c), d.cone_dof[c]
    d.cone_slope[c] = d.cone_spring[c, 1] if pushes else 0.0
    load = d.cone_spring[c, 0] + d.cone_slope[c] * along_cone(d, c, d.qvel) if pushes else 0.0
    d.cone_load[c] = load
    d.qfrc_passive[k] -= load * axis[0]
    d.qfrc_passive[k + 1] -= load * axis[1]
    d.qfrc_passive[k + 2] -= load * axis[2]


@kernel
def find_wrong_pieces(m, d):
    """Return whether a piece of the last pass was wrong; write stop_wrong and cone_wrong.

    Also write stop_still, which marks the dofs that are at rest at the end of the pass.
    """
    h, found, least, fastest = m.opt.timestep, False, 0.0, 0.0
    for k in range(m.nv):
        least = max(least, NOTHING * abs(d.qfrc_applied[k]), NOTHING * abs(force_used(m, d, k)))
        fastest = max(fastest, abs(d.qvel[k]), h * abs(d.qacc_step[k]))
    for k in range(m.nv):
        d.stop_still[k] = d.stop_wrong[k] = 0
        if has_stop(m, d, k):
            most, u = m.dof_frictionloss[k], d.qvel[k] + h * d.qacc_step[k]
            friction, limit, _s, there = stop_force(m, d, k, u)
            if there != d.stop_piece[k]:
                rounding = _rounding(m, d, k, there, fastest)
                if _differ(friction + limit, force_used(m, d, k), max(most, least), rounding):
                    d.stop_wrong[k], found = 1, True
            rests = abs(friction) < most or (limit != 0.0 and d.stop_place[k] == AT)
            if rests and d.drive_mode[k] == FORCE:
                d.stop_still[k] = 1
    for c in range(m.ncone):
        u = along_cone(d, c, d.qvel) + h * along_cone(d, c, d.qacc_step)
        force, slope = cone_force(d, c, u)
        d.cone_wrong[c] = 0
        if slope != d.cone_slope[c]:
            rounding = ROUNDING_ERROR * (abs(d.cone_spring[c, 0]) + d.cone_spring[c, 1] * fastest)
            if _differ(force, cone_force_used(m, d, c), least, rounding):
                d.cone_wrong[c], found = 1, True
    return found


@kernel
def switch_wrong_pieces(m, d):
    """Switch the dofs whose piece was wrong to another piece. Call `find_wrong_pieces` first."""
    h = m.opt.timestep
    for k in range(m.nv):
        if d.stop_wrong[k] != 0:
            u = d.qvel[k] + h * d.qacc_step[k]
            _take_piece(m, d, k, _next_piece(m, d, k, d.stop_piece[k], u))
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_load[k]
    for c in range(m.ncone):
        _take_cone(d, c, (d.cone_slope[c] > 0.0) != (d.cone_wrong[c] != 0))


@kernel
def move_stop_iterate(m, d, share):
    """Move the iterate by a share of the step to the end of the last pass.

    The iterate is stop_change, with the forces stop_qfrc and cone_qfrc.
    """
    h = m.opt.timestep
    for c in range(m.ncone):
        d.cone_qfrc[c] += share * (cone_force_used(m, d, c) - d.cone_qfrc[c])
    for k in range(m.nv):
        d.stop_change[k] += share * (h * d.qacc_step[k] - d.stop_change[k])
        d.stop_qfrc[k] += share * (force_used(m, d, k) - d.stop_qfrc[k])


@kernel
def take_pieces_at_iterate(m, d):
    """Put each dof in its piece of the law at the iterate."""
    for k in range(m.nv):
        if has_stop(m, d, k):
            _f, _l, _s, piece = stop_force(m, d, k, d.qvel[k] + d.stop_change[k])
            _take_piece(m, d, k, piece)
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_load[k]
    for c in range(m.ncone):
        u = along_cone(d, c, d.qvel) + along_cone(d, c, d.stop_change)
        force, _s = cone_force(d, c, u)
        _take_cone(d, c, force > 0.0)


@inline
def _differ(force, used, least, rounding):
    return abs(force - used) > max(FORCE_TOLERANCE * max(abs(force), abs(used), least), rounding)


@inline
def _rounding(m, d, k, piece, fastest):
    """Return the force of a dof that rounding errors can cause if they choose between two pieces.

    For example, a joint at its limit in free fall has no load. `fastest` is the largest velocity.
    """
    spring = d.stop_spring[k]
    steepest, push = max(spring[LOWER_SLOPE], spring[UPPER_SLOPE]), 0.0
    if m.dof_frictionloss[k] > 0.0:
        steepest = max(steepest, stiction_slope(m, k))
    low, high = min(piece, d.stop_piece[k]), max(piece, d.stop_piece[k])
    if high >= HIGH:
        push = abs(spring[UPPER])
    if LOW <= low < HIGH or LOW <= high < HIGH or high >= LOW + HIGH:
        push = max(push, abs(spring[LOWER]))
    return ROUNDING_ERROR * (push + steepest * fastest)


@inline
def force_used(m, d, k):
    """Return the force of a dof, without cones, in the last pass."""
    return d.stop_load[k] - m.opt.timestep * d.stop_slope[k] * d.qacc_step[k]


@inline
def cone_force_used(m, d, c):
    """Return the force of a cone against its axis in the last pass."""
    return d.cone_load[c] + m.opt.timestep * d.cone_slope[c] * along_cone(d, c, d.qacc_step)


@kernel
def stop_viscously(m, d):
    """Replace dry friction by a viscous force that equals it at the present velocity."""
    for k in range(m.nv):
        if has_stop(m, d, k):
            v = d.qvel[k]
            _f, _l, _s, piece = stop_force(m, d, k, v)
            most, speed, slope = m.dof_frictionloss[k], abs(v), stiction_slope(m, k)
            _take_piece(m, d, k, piece - piece % LOW)
            if most > 0.0:
                d.stop_load[k] -= d.stop_spring[k, REMEMBERED] - slope * v
                viscosity = min(slope, most / speed) if speed > 0.0 else slope
                d.stop_load[k] -= viscosity * v
                d.stop_slope[k] += viscosity - slope
        d.stop_change[k] = 0.0
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_load[k]
    for c in range(m.ncone):
        force, _s = cone_force(d, c, along_cone(d, c, d.qvel))
        _take_cone(d, c, force > 0.0)


@kernel
def settle_still(m, d):
    """Return whether dofs at rest need another pass; prepare it from the forces of the last pass.

    After a pass a dof at rest still has 1e-6 of the velocity that its change of force would cause,
    and more if other dofs push it. After SETTLINGS passes this velocity is so small that
    keep_stops can set it to zero without an error in the other forces.
    """
    changed = False
    for k in range(m.nv):
        if d.stop_still[k] != 0:
            u = d.qvel[k] + m.opt.timestep * d.qacc_step[k]
            least = max(abs(force_used(m, d, k)), UNLOADED * m.dof_frictionloss[k])
            change = abs(stiction_slope(m, k) * u)
            changed = changed or change > CHANGED * _yielding(d, k) * least
    if changed:
        _start_again(m, d)
    return changed


@kernel
def _start_again(m, d):
    """Use the forces of the last pass as the memory of the dofs at rest in this step."""
    for k in range(m.nv):
        if d.stop_still[k] != 0:
            force = force_used(m, d, k)
            d.stop_slope[k] *= _yielding(d, k)
            d.stop_load[k] = force - d.stop_slope[k] * d.qvel[k]
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_load[k]
    for c in range(m.ncone):
        _take_cone(d, c, d.cone_slope[c] > 0.0)


@inline
def _yielding(d, k):
    return YIELDING if d.qvel[k] != 0.0 else 1.0


@kernel
def keep_stops(m, d, solved):
    """Write the forces of the step to stop_qfrc and qfrc_passive.

    If the step is `solved`, held dofs end exactly at rest.
    """
    h = m.opt.timestep
    for k in range(m.nv):
        d.stop_qfrc[k] = 0.0
        if has_stop(m, d, k):
            force = force_used(m, d, k)
            d.stop_qfrc[k] = force if abs(force) > FADED else 0.0
    for c in range(m.ncone):
        axis, k, force = load3(d.cone_axis, c), d.cone_dof[c], cone_force_used(m, d, c)
        for n in range(3):
            d.stop_qfrc[k + n] -= force * axis[n]
    for k in range(m.nv):
        d.qfrc_passive[k] = d.passive_rest[k] + d.stop_qfrc[k]
        if not solved:
            d.stop_still[k] = 0
        if d.stop_still[k] != 0:
            d.qacc_step[k] = -d.qvel[k] / h


@kernel
def passes_a_stop(m, d):
    """Return whether a joint reverses or passes a limit in the last pass, which had no stops.

    If it does, nstopped becomes -1, and start_stops begins with the end of this pass. If not,
    stop_qfrc receives the friction of the joints that slide.
    """
    h, found = m.opt.timestep, False
    for k in range(m.nv):
        v, most = d.qvel[k], m.dof_frictionloss[k]
        u = v + h * d.qacc_step[k]
        d.stop_qfrc[k], d.stop_still[k] = 0.0, 0
        if most > 0.0:
            found = found or u * v <= 0.0
            d.stop_qfrc[k] = -most if v > 0.0 else most
        low, high = limit_pushes(d, k, u)
        found = found or low > 0.0 or high > 0.0
    for c in range(m.ncone):
        u = along_cone(d, c, d.qvel) + h * along_cone(d, c, d.qacc_step)
        force, _s = cone_force(d, c, u)
        found = found or force > 0.0
    if found:
        d.nstopped = -1
    return found


@kernel
def remember_stops(m, d):
    """Store the stop forces of this step for the next, and set velocities of dofs at rest to 0."""
    for k in range(m.nv):
        d.stick_qfrc[k] = d.stop_qfrc[k]
        if d.stop_still[k] != 0:
            d.qvel[k] = 0.0  # the remaining velocity is a rounding error
            d.stop_still[k] = 0


@kernel
def stops_at_end(m, d):
    """Add the friction and limit forces of a step with acceleration qacc to qfrc_passive.

    A dof at rest can have any friction within its bound. If the last solution held the dof, and it
    ends at rest with qacc, its force is stop_qfrc, from that solution. Otherwise the law with the
    remembered force applies. Call `find_stops` first.
    """
    h = m.opt.timestep
    for k in range(m.nv):
        d.qfrc_passive[k] = d.passive_rest[k]
        if _is_held(d, k, h):
            d.qfrc_passive[k] += d.stop_qfrc[k]
        elif has_stop(m, d, k):
            friction, limit, _s, _p = stop_force(m, d, k, d.qvel[k] + h * d.qacc[k])
            d.qfrc_passive[k] += friction + limit
    for c in range(m.ncone):
        axis, k = load3(d.cone_axis, c), d.cone_dof[c]
        force, _s = cone_force(d, c, along_cone(d, c, d.qvel) + h * along_cone(d, c, d.qacc))
        for n in range(3):
            if not _is_held(d, k + n, h):
                d.qfrc_passive[k + n] -= force * axis[n]


@inline
def _is_held(d, k, h):
    """Return whether the last solution held a dof, and the step with qacc ends at rest."""
    v = d.qvel[k]
    return d.stop_still[k] != 0 and abs(v + h * d.qacc[k]) <= ROUNDING_ERROR * abs(v)

# SPDX-License-Identifier: Apache-2.0
"""The state after a solution of a step with contact, and the check of that solution.

A lane needs more passes if a dof was in a wrong piece, if the step closes the gap of a contact
that is not on its list (engine/contact/solve/late_contacts.py), or if dofs at rest have moved. The
engine's own step advances the lane if another geometry of the robot may touch a plane, if an end
of a capsule begins a contact because of the forces, or if a contact may jam.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.engine.contact.points.contact_list import CLOSED_GAP, MIN_ACCELERATION
from rbdyn_ros.engine.contact.solve.solve_step import LATE_LISTS
from rbdyn_ros.engine.stops.stop_pieces import SETTLINGS
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.fields import may_touch_more
from rbdyn_ros.rollouts.contact.newton import (
    forces_of,
    law_of_points,
    linearised,
    normal_force,
    read_lines,
    rows_of,
)
from rbdyn_ros.rollouts.contact.pairs import geometries, near_pairs, reach
from rbdyn_ros.rollouts.contact.points import Pair, Touching, frame_of
from rbdyn_ros.rollouts.contact.shelf import Shelf, cross, largest, length, smallest, where
from rbdyn_ros.rollouts.contact.stops import Judgement, Stops
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

#: Columns of a guarded geometry: its lowest height above the plane, the velocity of its centre,
#: and its angular velocity.
LOWEST, VELOCITY, TURN = 0, slice(1, 4), slice(4, 7)

#: A contact counts as slipping if its friction exceeds this part of the largest friction.
SLIPS = 1.0 - 1e-4


def check(
    m: Model, shelf: Shelf, stops: Stops, graph: SymbolGraph, places: Touching, qacc: Objects
) -> dict[str, Any]:
    """Return the state after a check of the accelerations."""
    done, final, settled, late = (
        shelf.state(graph, name)[0] for name in ("done", "final", "settled", "late")
    )
    live = where(final > 0.0, 0.0, done)
    first = where(settled > 0.0, 0.0, live)
    change = _body_accelerations(m, shelf.get(graph, "cdof"), qacc)
    moves_on = _moves_on(m, shelf, graph, change)
    jams = _jams(shelf, graph, places.points)
    near_plane = _comes_near(m, shelf, graph, places, change)
    found = stops.judge(shelf, graph, qacc, settled) if stops.dofs else Judgement([], [], [], [])
    switch = first * found.wrong
    looks = where(late < LATE_LISTS, where(switch > 0.0, 0.0, first), 0.0) * moves_on
    # like the engine, search for late contacts only in steps with contacts
    looks = looks * largest(*shelf.state(graph, "listed_now"))
    closing, ends, state = _late_contacts(m, shelf, graph, places.points, looks)
    engine = largest(shelf.state(graph, "engine")[0], ends)
    settle = where(largest(switch, closing) > 0.0, 0.0, live) * found.settles
    settle = where(settled < SETTLINGS, settle, 0.0)
    again = largest(switch, closing, settle)
    a = np.array(change, object)
    if places.loops:
        state |= {"a": a, "looks": [looks]}
    if places.fields:
        state["suspects"] = may_touch_more(m, shelf, graph, places, a)
    if places.own:
        speeds = shelf.inputs(graph, "cvel", 6 * m.nbody).reshape(-1, 6)
        arms = shelf.get(graph, "arms")
        reaches = {g: reach(m, g, speeds, arms[g], a) for g in geometries(m)}
        state["near_late"] = near_pairs(m, graph, arms, reaches)
    return {
        **state, **stops.after(shelf, graph, found, switch, settle, live),
        "qacc": qacc, "done": [where(again > 0.0, 0.0, done)],
        "final": [where(again > 0.0, 0.0, largest(final, live))],
        "settled": [settled + settle], "late": [late + closing], "engine": [engine],
        "refused": [largest(near_plane, engine, jams)],
        "stale": [largest(switch, settle)],
    }  # fmt: skip


def _jams(shelf: Shelf, graph: SymbolGraph, pairs: Sequence[Pair]) -> Any:
    """Return 1 if the law may have several solutions, and a contact begins or ceases to slip.

    If mu |G_tn| > G_nn (see newton.py), lanes and engine can find different solutions in two
    cases: a contact that slipped in the last step now sticks; or a contact that stuck now slips,
    or would slip with the remembered normal force as the bound of its friction.
    """
    G, pressed, found = shelf.get(graph, "G"), shelf.get(graph, "pressed"), graph.constant(0.0)
    points, forces = law_of_points(shelf, graph, pairs), forces_of(pairs, shelf.state(graph, "f"))
    for n, (point, rows, force) in enumerate(zip(points, rows_of(pairs), forces, strict=True)):
        across, normal, mu = G[rows[-1], rows[:-1]], G[rows[-1], rows[-1]], point["mu"]
        before, friction = point["memory"], np.array(force[:-1])
        loads = mu * SLIPS * pressed[n], mu * SLIPS * force[-1]
        lagged, now = (load * load for load in loads)
        size = friction @ friction
        begins = where(size > smallest(lagged, now), 1.0, 0.0)
        changes = where(before @ before > lagged, where(size > now, 0.0, 1.0), begins)
        jams = mu * mu * (across @ across) > normal * normal
        found = largest(found, where(jams, changes, 0.0))
    return found


def _late_contacts(
    m: Model, shelf: Shelf, graph: SymbolGraph, pairs: Sequence[Pair], looks: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """Return whether contacts are late, whether one is of a capsule (1 or 0), and the state."""
    points, dist = law_of_points(shelf, graph, pairs), shelf.get(graph, "dist")
    u, listed = shelf.state(graph, "velocity_now"), shelf.state(graph, "listed_now")
    lines, found = read_lines(shelf.state(graph, "lines"), pairs), graph.constant(0.0)
    lagged, joined = shelf.state(graph, "lagged"), shelf.state(graph, "joined")[0]
    rows, marks, loads, ends = list[Any](), [], [], graph.constant(0.0)
    for n, (point, place) in enumerate(zip(points, rows_of(pairs), strict=True)):
        velocity = u[place]
        closes = where(dist[n] + m.opt.timestep * velocity[-1] < 0.0, looks, 0.0)
        new = where(listed[n] > 0.0, 0.0, closes)
        guess = largest(normal_force(point, velocity), 0.0)
        presses = where(guess > 0.0, 1.0, 0.0)
        row = linearised(point, velocity, guess, 1.0, presses, 0.0).columns
        loads.append(where(new > 0.0, guess, lagged[n]))
        rows += [where(new > 0.0, b, a) for a, b in zip(lines[n].columns, row, strict=True)]
        marks.append(largest(listed[n], new))
        found = largest(found, new)
        ends = largest(ends, new) if pairs[n].parts > 2 else ends
    joined = where(found > 0.0, 0.0, joined)
    state = {"lines": rows, "listed_now": marks, "lagged": loads, "joined": [joined]}
    return found, ends, state


def _moves_on(m: Model, shelf: Shelf, graph: SymbolGraph, change: list[Objects]) -> Any:
    """Return 1 if a geometry accelerates enough to begin a contact, as in late_contacts.py."""
    moves, h = graph.constant(0.0), m.opt.timestep
    for g, arm in enumerate(shelf.get(graph, "arms")):
        a, radius = change[m.geom_bodyid[g]], float(m.geom_rbound[g])
        moved = h * h * (length(_accelerated(a, arm)) + radius * length(a[:3]))
        still = a @ a < MIN_ACCELERATION * MIN_ACCELERATION
        moves = where(still, moves, where(moved > 0.5 * CLOSED_GAP * h * h, 1.0, moves))
    return moves


def _comes_near(
    m: Model, shelf: Shelf, graph: SymbolGraph, places: Touching, change: list[Objects]
) -> Any:
    """Return 1 if a guarded geometry may touch a plane."""
    near_plane, h, arms = graph.constant(0.0), m.opt.timestep, shelf.get(graph, "arms")
    for row, pair in zip(shelf.get(graph, "guarded"), places.guarded, strict=True):
        a, radius = change[m.geom_bodyid[pair.geom]], float(m.geom_rbound[pair.geom])
        there, turn = _accelerated(a, arms[pair.geom]), a[:3]
        up, v, w = frame_of(m, pair.obstacle)[2], row[VELOCITY], row[TURN]
        way = largest(
            radius * length(w) - up @ v,
            radius * length(w + h * turn) - up @ (v + h * there),
            0.0,
        )
        near_plane = where(row[LOWEST] > CLOSED_GAP * h * h + h * way, near_plane, 1.0)
    return near_plane


def _accelerated(a: Objects, arm: Objects) -> Objects:
    """Return the acceleration of a body's point at `arm` from the com of its tree."""
    found: Objects = a[3:] + cross(a[:3], arm)
    return found


def _body_accelerations(m: Model, cdof: Objects, qacc: Objects) -> list[Objects]:
    found: list[Objects] = [np.full(6, 0.0, object)]
    for i in range(1, m.nbody):
        a = found[m.body_parentid[i]]
        for k in range(m.body_dofadr[i], m.body_dofadr[i] + m.body_dofnum[i]):
            a = a + cdof[k] * qacc[k]
        found.append(a)
    return found

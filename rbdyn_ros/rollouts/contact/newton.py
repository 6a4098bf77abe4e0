# SPDX-License-Identifier: Apache-2.0
"""The contact forces of a step: Newton's method for the velocities u of the contact points.

    u = u_free + h G f(u),  G = J M^-1 J^T

f is the engine's law (engine/contact/law/force.py), along the axes of each plane. A robot has few
contacts, so this takes a small matrix instead of passes over its bodies.

As in the engine's solver, friction is bounded by lagged normal forces at first, even for a contact
that opens, which decides between sticking and pressing. Then Newton's method uses the whole slope
of f, including the dependence of friction on the normal force. Where mu |G_tn| > G_nn, so that
friction can press a contact down by itself, the law can have several solutions, and this start
selects one of them.

The normal force of a pressing contact is linear, so its value in the last linearisation bounds
friction in the next one. If a contact begins to press, the force that stops a free mass is the
bound.

Source: Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, 1991.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.rollouts.contact.shelf import Shelf, largest, where
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

#: Largest error of a force in the solution, as a part of the largest force; the engine has 5e-7.
TOLERANCE = 1e-9

#: The lagged forces of a step move if the error of the law is less than this part of their error.
SETTLED = 0.3
#: After 1 / PATIENCE passes the lagged forces move in any case.
PATIENCE = 0.2

#: Relative rounding error of a velocity.
ROUNDING = 4e-16

#: A solution whose sum of velocities and forces exceeds this, or is NaN, is rejected.
MOST = 1e300

#: Columns of a linearisation: the normal force and its slope; friction, its slope across its
#: direction, this direction if the contact slips, and mu times the slope of the normal force.
FORCE, ALONG, RUBBING, ACROSS, SLIP, COUPLED, COLUMNS = 0, 1, 2, 4, 5, 7, 8

#: Inputs of the law of a contact in addition to its velocity.
LAW = ("push", "slope", "mass_by_h", "penalty", "mu", "memory")


def first_forces(graph: SymbolGraph, points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the state in which the solution of a step begins.

    A contact that has pressed counts as pressing: even if it opens at the start of the step, the
    forces of the step can keep it closed.
    """
    rows, guesses, floor = [], [], graph.constant(0.0)
    for point in points:
        u, pressed = point["u"], point["pressed"]
        presses = where(pressed > 0.0, 1.0, where(normal_force(point, u) > 0.0, 1.0, 0.0))
        listed = point["listed"]
        lagged = where(pressed > 0.0, pressed, stopping_force(point, u))
        guesses.append(lagged)
        rows.append(linearised(point, u, lagged, listed, listed * presses, 0.0))
        fastest = largest(abs(u[0]), abs(u[1]))
        rounding = ROUNDING * (point["slope"] * abs(u[2]) + point["penalty"] * fastest)
        floor = largest(floor, rounding)
    number = len(points)
    state = {name: [0.0] for name in ("done", "final", "settled", "late", "refused", "joined")}
    return {
        **state, "lagged": guesses, "floor": [floor],
        "listed_now": [point["listed"] for point in points],
        "lines": np.array(rows, object), "f": np.full(3 * number, 0.0, object),
        "velocity_now": np.array([point["u"] for point in points], object),
    }  # fmt: skip


def solve(shelf: Shelf, graph: SymbolGraph) -> dict[str, Any]:
    """Return the state after a step of Newton's method; finished lanes keep their state."""
    points = law_of_points(shelf, graph)
    kept = shelf.state(graph, "lines").reshape(-1, COLUMNS)
    before, u0 = shelf.state(graph, "f"), shelf.state(graph, "velocity_now")
    listed, done = shelf.state(graph, "listed_now"), shelf.state(graph, "done")[0]
    lagged, joined = shelf.state(graph, "lagged"), shelf.state(graph, "joined")[0]
    G, free = shelf.get(graph, "G"), shelf.get(graph, "free")
    lines = np.array(
        [_without_jam(*each) for each in zip(points, kept, lagged, _blocks(G), strict=True)],
        object,
    )
    step = _newton_step(G, free, lines, u0)
    u: list[Any] = []
    f: list[Any] = []
    found, most = [graph.constant(0.0)] * 3, graph.constant(0.0)
    for n, point in enumerate(points):
        way = step[3 * n : 3 * n + 3]
        velocity, force = u0[3 * n : 3 * n + 3] + way, _linear_force(lines[n], way)
        missed = _missed(point, velocity, force, lagged[n], listed[n])
        found = [largest(a, b) for a, b in zip(found, missed, strict=True)]
        most = largest(most, *map(abs, force))
        u, f = [*u, *velocity], [*f, *force]
    wrong, apart, disc = found
    right = where(wrong <= TOLERANCE * most + shelf.state(graph, "floor")[0], 1.0, 0.0)
    right = _if_numbers([*u, *f], right, _if_numbers(free, 0.0, 1.0))
    joins = where(apart <= SETTLED * disc, 1.0, joined + PATIENCE)
    rows, after = [], []
    for n, point in enumerate(points):
        here, load = u[3 * n : 3 * n + 3], f[3 * n : 3 * n + 3]
        presses = where(normal_force(point, here) > 0.0, listed[n], 0.0)
        pressed = lines[n, ALONG] > 0.0
        now = largest(where(pressed, load[2], normal_force(point, here)), 0.0)
        after.append(where(joins >= 1.0, now, lagged[n]))
        follows, slip = where(joins >= 1.0, 1.0, 0.0), lines[n, SLIP : SLIP + 2]
        rows += linearised(point, here, after[n], listed[n], presses, follows, slip)
    held = done > 0.0
    return {
        "velocity_now": _kept(held, u0, u), "f": _kept(held, before, f),
        "lines": _kept(held, kept.reshape(-1), rows), "done": [where(held, 1.0, right)],
        "lagged": _kept(held, lagged, after), "joined": [where(held, joined, joins)],
    }  # fmt: skip


def law_of_points(shelf: Shelf, graph: SymbolGraph) -> list[dict[str, Any]]:
    """Return the constants of the law by contact point."""
    found = {name: shelf.get(graph, name) for name in LAW}
    return [{name: found[name][n] for name in LAW} for n in range(len(found["mu"]))]


def stopping_force(point: dict[str, Any], u: Any) -> Any:
    """Return the normal force with which a new contact carries its load and stops a free mass."""
    stops = point["slope"] / (1.0 + point["slope"] / point["mass_by_h"])
    return largest(point["push"] - stops * u[2], 0.0)


def linearised(
    point: dict[str, Any], u: Any, lagged: Any, listed: Any, presses: Any, joined: Any,
    before: Any = (0.0, 0.0),
) -> list[Any]:  # fmt: skip
    """Return a linearisation of the law at a velocity.

    Args:
        point: the constants of the law.
        u: the velocity.
        lagged: lagged normal force, which bounds friction while joined is 0.
        listed: 1 if the contact is on the list.
        presses: 1 if the contact presses.
        joined: 1 if friction depends on the normal force, 0 if it depends on the lagged force.
        before: previous direction of friction; friction that would reverse sticks at first.
    """
    (x, y), length = _wanted(point, u)
    radius, rubs = point["mu"] * lagged, where(joined > 0.0, presses, listed)
    turned = x * before[0] + y * before[1] < 0.0
    slips = where(length > radius, where(turned, 0.0, 1.0), 0.0) > 0.0
    share = where(slips, 1.0 / where(slips, length, 1.0), 0.0)
    slip, grip = (x * share, y * share), point["penalty"] * where(slips, radius * share, 1.0)
    force = normal_force(point, u)
    load = where(joined > 0.0, force, lagged)
    rubbing = [where(slips, point["mu"] * s * load, w) for s, w in zip(slip, (x, y), strict=True)]
    coupled = where(slips, point["mu"] * point["slope"], 0.0) * joined
    along, across = (force, point["slope"]), (*rubbing, grip, *slip, coupled)
    row = [where(presses > 0.0, each, 0.0) for each in along]
    return row + [where(rubs > 0.0, each, 0.0) for each in across]


def normal_force(point: dict[str, Any], u: Any) -> Any:
    """Return the normal force of a contact that presses."""
    return point["push"] - point["slope"] * u[2]


def _wanted(point: dict[str, Any], u: Any) -> tuple[tuple[Any, Any], Any]:
    """Return the friction that would hold the contact, and its size."""
    x = point["memory"][0] - point["penalty"] * u[0]
    y = point["memory"][1] - point["penalty"] * u[1]
    return (x, y), np.sqrt(x * x + y * y)


def _linear_force(line: Any, way: Any) -> list[Any]:
    """Return the force of a linearisation after a change of the velocity."""
    x, y = line[SLIP], line[SLIP + 1]
    slipped, closing = x * way[0] + y * way[1], line[COUPLED] * way[2]
    return [
        line[RUBBING] - line[ACROSS] * (way[0] - x * slipped) - closing * x,
        line[RUBBING + 1] - line[ACROSS] * (way[1] - y * slipped) - closing * y,
        line[FORCE] - line[ALONG] * way[2],
    ]


def _missed(
    point: dict[str, Any], u: Any, force: list[Any], lagged: Any, listed: Any
) -> tuple[Any, Any, Any]:
    """Return errors of a force: by the law, by the law with the lagged force, and its own."""
    raw, (x, y) = normal_force(point, u), _wanted(point, u)[0]
    presses = where(raw > 0.0, listed, 0.0)
    normal, length = where(presses > 0.0, raw, 0.0), _wanted(point, u)[1]
    along, found = abs(normal - force[2]), []
    for load, rubs in ((largest(force[2], 0.0), presses), (lagged, listed)):
        radius = point["mu"] * load
        share = where(length > radius, radius / length, 1.0)
        share = where(rubs > 0.0, share, 0.0)
        found.append(largest(along, abs(x * share - force[0]), abs(y * share - force[1])))
    return found[0], found[1], point["mu"] * abs(normal - where(presses > 0.0, lagged, 0.0))


def _if_numbers(found: Any, yes: Any, no: Any) -> Any:
    """Return `yes` if all entries are finite, else `no`; `largest` ignores nan.

    A lane whose state is not finite has no solution and is skipped.
    """
    return where(abs(sum(found, 0.0)) < MOST, yes, no)


def _blocks(G: Objects) -> list[Objects]:
    """Return the normal row of the block of each contact."""
    return [G[k + 2, k : k + 3] for k in range(0, len(G), 3)]


def _without_jam(point: dict[str, Any], line: Any, lagged: Any, row: Objects) -> list[Any]:
    """Return a linearisation in which friction cannot increase its own normal force.

    If friction grows with the normal force, the normal force can grow by itself, as in Painleve's
    rod. This leads away from the solution, while the lagged force leads to it.
    """
    slip = line[SLIP : SLIP + 2]
    jams = row[2] * line[ALONG] + (row[0] * slip[0] + row[1] * slip[1]) * line[COUPLED] < 0.0
    apart = list(line)
    apart[COUPLED] = where(jams, 0.0, line[COUPLED])
    for k in range(2):
        apart[RUBBING + k] = where(jams, point["mu"] * slip[k] * lagged, line[RUBBING + k])
    return apart


def _newton_step(G: Objects, free: Objects, lines: Objects, u: Objects) -> Objects:
    """Return the change of the velocities: (1 + h G C) change = u_free + h G f - u."""
    size = len(free)
    forces = [lines[n, k] for n in range(len(lines)) for k in (RUBBING, RUBBING + 1, FORCE)]
    right = [free[a] - u[a] + _row_times(G[a], forces) for a in range(size)]
    A = np.full((size, size), 0.0, object)
    for n, line in enumerate(lines):
        k, x, y = 3 * n, line[SLIP], line[SLIP + 1]
        for a in range(size):
            g, s, t = G[a, k], G[a, k + 1], G[a, k + 2]
            A[a, k] = g * line[ACROSS] - (g * x + s * y) * (line[ACROSS] * x)
            A[a, k + 1] = s * line[ACROSS] - (g * x + s * y) * (line[ACROSS] * y)
            A[a, k + 2] = t * line[ALONG] + (g * x + s * y) * line[COUPLED]
    for a in range(size):
        A[a, a] = A[a, a] + 1.0
    order = [3 * n + k for n in range(len(lines)) for k in (2, 0, 1)]
    return _solved(A[np.ix_(order, order)], [right[k] for k in order], order)


def _row_times(row: Objects, x: list[Any]) -> Any:
    total: Any = 0.0
    for a, b in zip(row, x, strict=True):
        total = total + a * b
    return total


def _solved(A: Objects, right: list[Any], order: list[int]) -> Objects:
    """Return the solution of A x = right by elimination in the given order."""
    size = len(right)
    inverse: list[Any] = [0.0] * size
    for k in range(size):
        inverse[k] = 1.0 / A[k, k]
        for a in range(k + 1, size):
            ratio = A[a, k] * inverse[k]
            right[a] = right[a] - ratio * right[k]
            for b in range(k + 1, size):
                A[a, b] = A[a, b] - ratio * A[k, b]
    x = np.full(size, 0.0, object)
    for k in range(size - 1, -1, -1):
        total = right[k]
        for b in range(k + 1, size):
            total = total - A[k, b] * x[order[b]]
        x[order[k]] = total * inverse[k]
    return x


def _kept(held: Any, old: Any, new: Any) -> list[Any]:
    return [where(held, a, b) for a, b in zip(old, new, strict=True)]

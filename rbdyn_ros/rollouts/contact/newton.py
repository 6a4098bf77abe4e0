# SPDX-License-Identifier: Apache-2.0
"""The contact forces of a step: Newton's method for the velocities u of the contact points.

    u = u_free + h G f(u),  G = J M^-1 J^T

f is the engine's law (engine/contact/law/force.py), along the axes of each plane. A contact has
two rows of friction along the surface, for capsules another row against spin (capsules.py), and a
row for the normal. A robot has few contacts, so a small matrix is used instead of passes over its
bodies.

As in the engine's solver, lagged normal forces bound friction at first, even in a contact that
opens. Then Newton's method uses the whole slope of f, including the dependence of friction on the
normal force. If mu |G_tn| > G_nn, friction can press a contact down by itself, and the law can
have several solutions; the start with lagged forces selects one of them.

The normal force of a pressing contact is linear, so its value in the last linearisation is the
bound of friction in the next. If a contact begins to press, the bound uses the force that stops a
free mass.

Source: Alart, Curnier, A mixed formulation for frictional contact problems prone to Newton like
solution methods, 1991.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbdyn_ros.rollouts.contact.points import Pair
from rbdyn_ros.rollouts.contact.shelf import Shelf, largest, where
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

#: Largest error of a force in the solution, as a part of the largest force; the engine's is 5e-7.
TOLERANCE = 1e-9

#: The lagged forces move once the error of the law is below this share of the lagged forces'
#: error.
SETTLED = 0.3
#: After 1 / PATIENCE passes the lagged forces move in any case.
PATIENCE = 0.2

#: Relative rounding error of a velocity.
ROUNDING = 4e-16

#: Largest sum of the velocities and forces of a solution; larger sums and NaN are rejected.
MOST = 1e300

#: Constants of a contact's law.
LAW = ("push", "slope", "mass_by_h", "penalty", "mu")


@dataclass(frozen=True)
class LinearForce:
    """The linearised force of a contact.

    Attributes:
        force: the normal force.
        along: slope of the normal force.
        across: slope of friction perpendicular to the direction of slip.
        coupled: mu times the slope of the normal force if the contact slips; 0 if it sticks.
        rubbing: the friction force.
        slip: the direction of friction if the contact slips, else zeros.
    """

    force: Any
    along: Any
    across: Any
    coupled: Any
    rubbing: list[Any]
    slip: list[Any]

    @property
    def columns(self) -> list[Any]:
        """All numbers of the linearisation in one row."""
        return [self.force, self.along, self.across, self.coupled, *self.rubbing, *self.slip]


def read_lines(row: Any, pairs: Sequence[Pair]) -> list[LinearForce]:
    """Return the linearised force of each pair, from one row with the `columns` of all pairs."""
    found, at = [], 0
    for n in (pair.parts for pair in pairs):
        end = at + 4 + 2 * n
        force, along, across, coupled = row[at : at + 4]
        rubbing, slip = [*row[at + 4 : end - n]], [*row[end - n : end]]
        found.append(LinearForce(force, along, across, coupled, rubbing, slip))
        at = end
    return found


def rows_of(pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the rows of each contact: its rows of friction, then the row of its normal.

    Both ends of a capsule have the same friction rows.
    """
    found: list[list[int]] = []
    at = 0
    for pair in pairs:
        own = 1 if pair.corner > 0 else pair.parts + 1
        friction = found[-1][:-1] if pair.corner > 0 else range(at, at + pair.parts)
        at += own
        found.append([*friction, at - 1])
    return found


def forces_of(pairs: Sequence[Pair], f: Any) -> list[list[Any]]:
    """Return the forces of the contacts: first friction, then the normal forces."""
    found, at = [], 0
    for pair in pairs:
        found.append([*f[at : at + pair.parts + 1]])
        at += pair.parts + 1
    return found


def row_forces(pairs: Sequence[Pair], forces: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the force of each row, which is the sum over its contacts."""
    places = rows_of(pairs)
    found: list[Any] = [0.0] * (places[-1][-1] + 1)
    for rows, force in zip(places, forces, strict=True):
        for k, x in zip(rows, force, strict=True):
            found[k] = found[k] + x
    return found


def first_forces(
    graph: SymbolGraph, pairs: Sequence[Pair], points: Sequence[dict[str, Any]], u: Objects
) -> dict[str, Any]:
    """Return the state in which the solution of a step begins; u are the velocities of all rows.

    A contact that pressed in the last step counts as pressing: even if it opens at the start of
    the step, the forces of the step can keep it closed.
    """
    lines, guesses, floor = list[Any](), [], graph.constant(0.0)
    for point, rows in zip(points, rows_of(pairs), strict=True):
        here, pressed, listed = u[rows], point["pressed"], point["listed"]
        presses = where(pressed > 0.0, 1.0, where(normal_force(point, here) > 0.0, 1.0, 0.0))
        lagged = first_lagged(point, here)
        guesses.append(lagged)
        lines += linearised(point, here, lagged, listed, listed * presses, 0.0).columns
        fastest = largest(*map(abs, here[:-1]))
        rounding = ROUNDING * (point["slope"] * abs(here[-1]) + point["penalty"] * fastest)
        floor = largest(floor, rounding)
    names = ("done", "final", "settled", "late", "refused", "joined")
    return {
        **{name: [0.0] for name in names}, "lagged": guesses, "floor": [floor],
        "listed_now": [point["listed"] for point in points], "lines": lines, "velocity_now": u,
        "f": np.full(sum(pair.parts + 1 for pair in pairs), 0.0, object),
    }  # fmt: skip


def solve(shelf: Shelf, graph: SymbolGraph, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the state after a step of Newton's method; finished lanes keep their state."""
    points, kept = law_of_points(shelf, graph, pairs), shelf.state(graph, "lines")
    before, u0 = shelf.state(graph, "f"), shelf.state(graph, "velocity_now")
    listed, done = shelf.state(graph, "listed_now"), shelf.state(graph, "done")[0]
    lagged, joined = shelf.state(graph, "lagged"), shelf.state(graph, "joined")[0]
    G, free, places = shelf.get(graph, "G"), shelf.get(graph, "free"), rows_of(pairs)
    normals = [G[rows[-1], rows] for rows in places]
    known = read_lines(kept, pairs)
    lines = [_without_jam(*each) for each in zip(points, known, lagged, normals, strict=True)]
    step = _newton_step(G, free, pairs, lines, u0)
    u: Objects = u0 + step
    f: list[Any] = []
    found, most = [graph.constant(0.0)] * 3, graph.constant(0.0)
    for n, (point, rows) in enumerate(zip(points, places, strict=True)):
        force = _linear_force(lines[n], step[rows])
        missed = _missed(point, u[rows], force, lagged[n], listed[n])
        found = [largest(a, b) for a, b in zip(found, missed, strict=True)]
        most = largest(most, *map(abs, force))
        f += force
    wrong, apart, disc = found
    right = where(wrong <= TOLERANCE * most + shelf.state(graph, "floor")[0], 1.0, 0.0)
    right = _if_numbers([*u, *f], right, _if_numbers(free, 0.0, 1.0))
    joins = where(apart <= SETTLED * disc, 1.0, joined + PATIENCE)
    after, following = [], list[Any]()
    for n, (point, force) in enumerate(zip(points, forces_of(pairs, f), strict=True)):
        here = u[places[n]]
        presses = where(normal_force(point, here) > 0.0, listed[n], 0.0)
        now = largest(where(lines[n].along > 0.0, force[-1], normal_force(point, here)), 0.0)
        after.append(where(joins >= 1.0, now, lagged[n]))
        follows = where(joins >= 1.0, 1.0, 0.0)
        line = linearised(point, here, after[n], listed[n], presses, follows, lines[n].slip)
        following += line.columns
    held = done > 0.0
    return {
        "velocity_now": _kept(held, u0, u), "f": _kept(held, before, f),
        "lines": _kept(held, kept, following), "done": [where(held, 1.0, right)],
        "lagged": _kept(held, lagged, after), "joined": [where(held, joined, joins)],
    }  # fmt: skip


def law_of_points(shelf: Shelf, graph: SymbolGraph, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the constants of the law for each contact point."""
    found = {name: shelf.get(graph, name) for name in LAW}
    memory, at, points = shelf.get(graph, "memory"), 0, []
    for n, pair in enumerate(pairs):
        own = {name: found[name][n] for name in LAW}
        points.append({**own, "memory": memory[at : at + pair.parts]})
        at += pair.parts
    return points


def first_lagged(point: dict[str, Any], u: Any) -> Any:
    """Return a first guess of the normal force, as engine/contact/law/force.py does."""
    return where(point["pressed"] > 0.0, point["pressed"], stopping_force(point, u[-1]))


def stopping_force(point: dict[str, Any], leaving: Any) -> Any:
    """Return the normal force by which a new contact carries its load and stops a free mass."""
    stops = point["slope"] / (1.0 + point["slope"] / point["mass_by_h"])
    return largest(point["push"] - stops * leaving, 0.0)


def linearised(
    point: dict[str, Any], u: Any, lagged: Any, listed: Any, presses: Any, joined: Any,
    before: Sequence[Any] = (),
) -> LinearForce:  # fmt: skip
    """Return a linearisation of the law at a velocity.

    Args:
        point: the constants of the law.
        u: the velocity.
        lagged: lagged normal force, which bounds friction if joined is 0.
        listed: 1 if the contact is on the list.
        presses: 1 if the contact presses.
        joined: 1 if friction depends on the normal force, 0 if it depends on the lagged force.
        before: previous direction of friction; if friction would reverse, the contact sticks at
            first.
    """
    wanted, length = _wanted(point, u)
    radius, rubs = point["mu"] * lagged, where(joined > 0.0, presses, listed)
    turned = _dot(wanted, before or [0.0] * len(wanted)) < 0.0
    slips = where(length > radius, where(turned, 0.0, 1.0), 0.0) > 0.0
    share = where(slips, 1.0 / where(slips, length, 1.0), 0.0)
    slip, grip = [x * share for x in wanted], point["penalty"] * where(slips, radius * share, 1.0)
    force = normal_force(point, u)
    load = where(joined > 0.0, force, lagged)
    rubbing = [where(slips, point["mu"] * s * load, w) for s, w in zip(slip, wanted, strict=True)]
    coupled = where(slips, point["mu"] * point["slope"], 0.0) * joined
    slope = where(presses > 0.0, point["slope"], 0.0)
    grip, coupled = (where(rubs > 0.0, each, 0.0) for each in (grip, coupled))
    rubbing, slip = ([where(rubs > 0.0, x, 0.0) for x in each] for each in (rubbing, slip))
    return LinearForce(where(presses > 0.0, force, 0.0), slope, grip, coupled, rubbing, slip)


def normal_force(point: dict[str, Any], u: Any) -> Any:
    """Return the normal force of a contact that presses."""
    return point["push"] - point["slope"] * u[-1]


def _wanted(point: dict[str, Any], u: Any) -> tuple[list[Any], Any]:
    """Return the friction that would hold the contact, and its size."""
    found = [x - point["penalty"] * v for x, v in zip(point["memory"], u[:-1], strict=True)]
    return found, np.sqrt(_dot(found, found))


def _linear_force(line: LinearForce, way: Any) -> list[Any]:
    """Return the force of a linearisation after a change of the velocity."""
    slipped, closing = _dot(line.slip, way[:-1]), line.coupled * way[-1]
    rubbing = [
        rubs - line.across * (x - s * slipped) - closing * s
        for rubs, s, x in zip(line.rubbing, line.slip, way[:-1], strict=True)
    ]
    return [*rubbing, line.force - line.along * way[-1]]


def _missed(
    point: dict[str, Any], u: Any, force: list[Any], lagged: Any, listed: Any
) -> tuple[Any, Any, Any]:
    """Return three errors: of the force, of the force if `lagged` bounds friction, of `lagged`.

    The last error is multiplied by mu.
    """
    raw, (wanted, length) = normal_force(point, u), _wanted(point, u)
    presses = where(raw > 0.0, listed, 0.0)
    normal = where(presses > 0.0, raw, 0.0)
    along, found = abs(normal - force[-1]), []
    for load, rubs in ((largest(force[-1], 0.0), presses), (lagged, listed)):
        radius = point["mu"] * load
        share = where(length > radius, radius / length, 1.0)
        share = where(rubs > 0.0, share, 0.0)
        errors = [abs(x * share - f) for x, f in zip(wanted, force[:-1], strict=True)]
        found.append(largest(along, *errors))
    return found[0], found[1], point["mu"] * abs(normal - where(presses > 0.0, lagged, 0.0))


def _if_numbers(found: Any, yes: Any, no: Any) -> Any:
    """Return `yes` if the sum of all entries is finite, else `no`.

    `largest` cannot check this, because it ignores NaN. A lane whose state is not finite has no
    solution and is skipped.
    """
    return where(abs(sum(found, 0.0)) < MOST, yes, no)


def _without_jam(
    point: dict[str, Any], line: LinearForce, lagged: Any, row: Objects
) -> LinearForce:
    """Return a linearisation in which friction cannot increase its normal force without limit.

    If friction grows with the normal force, the normal force can grow by itself, as in Painleve's
    rod. This leads away from the solution, while the lagged force leads to it.
    """
    jams = row[-1] * line.along + _dot(row[:-1], line.slip) * line.coupled < 0.0
    rubbing = [
        where(jams, point["mu"] * s * lagged, f)
        for s, f in zip(line.slip, line.rubbing, strict=True)
    ]
    return replace(line, coupled=where(jams, 0.0, line.coupled), rubbing=rubbing)


def _newton_step(
    G: Objects, free: Objects, pairs: Sequence[Pair], lines: Sequence[LinearForce], u: Objects
) -> Objects:
    """Return the change of the velocities: (1 + h G C) change = u_free + h G f - u."""
    size = len(free)
    forces = row_forces(pairs, [[*line.rubbing, line.force] for line in lines])
    right = [free[a] - u[a] + _dot(G[a], forces) for a in range(size)]
    A, order = np.full((size, size), 0.0, object), list[int]()
    for pair, line, rows in zip(pairs, lines, rows_of(pairs), strict=True):
        *friction, normal = rows
        for a in range(size):
            slipped = _dot(G[a, friction], line.slip)
            for k, s in zip(friction, line.slip, strict=True):
                A[a, k] = A[a, k] + (G[a, k] * line.across - slipped * (line.across * s))
            A[a, normal] = G[a, normal] * line.along + slipped * line.coupled
        place = len(order) - pair.parts if pair.corner > 0 else len(order)
        order[place:place] = [normal] if pair.corner > 0 else [normal, *friction]
    for a in range(size):
        A[a, a] = A[a, a] + 1.0
    return _solved(A[np.ix_(order, order)], [right[k] for k in order], order)


def _dot(a: Any, b: Any) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _solved(A: Objects, right: list[Any], order: list[int]) -> Objects:
    """Return the solution x of A x = right; overwrite A and right.

    The rows and columns of A are in the order of the elimination; column k belongs to x[order[k]].
    """
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

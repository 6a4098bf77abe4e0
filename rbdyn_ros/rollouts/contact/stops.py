# SPDX-License-Identifier: Apache-2.0
"""Dry friction and limits of joints in lanes, by the engine's law (engine/stops/).

The law of a dof is piecewise linear. M is factored for one piece of each dof. If a piece was
wrong, another piece is selected and M is factored again. For dofs at rest the step is solved again
with the last force as their memory, as in engine/stops/stop_pieces.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbdyn_ros.engine.stops.stop_law import (
    AT_LIMIT,
    EMERGE,
    NEVER,
    RETURN,
    RIGID,
    SOFTER,
    STICK,
)
from rbdyn_ros.engine.stops.stop_pieces import (
    CHANGED,
    FADED,
    FORCE_TOLERANCE,
    NOTHING,
    ROUNDING_ERROR,
    UNLOADED,
    YIELDING,
)
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.shelf import Shelf, known_number, largest, where
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing

#: Columns of a dof's constants in a step: velocity, dry friction and its memory; pushes and slopes
#: of both limits; whether a limit holds the dof; the slope of friction that holds the dof; and the
#: dof's forces.
SPEED, LOSS, MEMORY, LOWER, LOW_SLOPE, UPPER, HIGH_SLOPE, AT, STIFF, APPLIED = range(10)

#: Columns of the piece of a dof. Friction is -1 or 1, or 0 if it holds the dof; the other two are
#: 1 if a limit pushes.
FRICTION, LOW, HIGH = range(3)


@dataclass(frozen=True)
class Judgement:
    """The result of a check of stops.

    Attributes:
        pieces: for each dof, the next piece.
        switched: for each dof, load and slope of the next piece.
        settled: for each dof, load and slope if dofs at rest have the last force as their memory.
        still: for each dof, 1 if it is at rest.
        wrong: 1 if a piece was wrong.
        settles: 1 if a dof at rest has moved too much.
    """

    pieces: list[Any]
    switched: list[Any]
    settled: list[Any]
    still: list[Any]
    wrong: Any = 0.0
    settles: Any = 0.0


class Stops:
    """The dry friction and limits of a Model; the traced Model is without them.

    Attributes:
        dofs: the dofs with dry friction or limits, ascending; empty without exact_stops.
    """

    def __init__(self, m: Model, tracing: Tracing) -> None:
        self._h, self.dofs = m.opt.timestep, list[int]()
        self._limits: dict[int, tuple[int, float, float]] = {}
        model = tracing.m
        self._loss, self._inertia = model.dof_frictionloss.copy(), model.dof_inertia0
        if not (m.opt.exact_stops and m.opt.passive):
            return
        for j in np.flatnonzero(m.jnt_limited):
            place, bounds = int(m.jnt_qposadr[j]), m.jnt_range[j]
            self._limits[int(m.jnt_dofadr[j])] = place, float(bounds[0]), float(bounds[1])
        for k, bounds in zip(m.limit_dofid, m.limit_range, strict=True):
            j = m.dof_jntid[k]
            place = int(m.jnt_qposadr[j] + k - m.jnt_dofadr[j])
            self._limits[int(k)] = place, float(bounds[0]), float(bounds[1])
        rubbing = [k for k in range(m.nv) if known_number(self._loss[k]) != 0.0]
        self.dofs = sorted({*self._limits, *rubbing})
        model.jnt_limited, model.nlimit = np.zeros(m.njnt, object), 0
        model.dof_frictionloss = np.full(m.nv, 0.0, object)

    def start(self, d: Any, shelf: Shelf, memory: list[Any]) -> dict[str, Any]:
        """Store the constants of a step; return the initial state of its solution."""
        rows = [self._constants(d, k, memory[n]) for n, k in enumerate(self.dofs)]
        shelf.put("stops", np.array(rows, object).reshape(-1, APPLIED + 1))
        pieces = [_piece_at(row, row[SPEED]) for row in rows]
        acting = [_taken(row, piece) for row, piece in zip(rows, pieces, strict=True)]
        return {
            "pieces": np.array(pieces, object), "acting": np.array(acting, object),
            "still": [0.0] * len(rows),
        }  # fmt: skip

    def _constants(self, d: Any, k: int, memory: Any) -> list[Any]:
        loss, inertia, h = self._loss[k], self._inertia[k], self._h
        friction = largest(-loss, -largest(-memory, -loss))
        low, low_slope, at_low = NEVER, 0.0, 0.0
        high, high_slope, at_high = NEVER, 0.0, 0.0
        if k in self._limits:
            place, lower, upper = self._limits[k]
            q, v, rest = d.qpos[place], d.qvel[k], memory - friction
            low, low_slope, at_low = _limit(inertia, h, lower - q, -v, rest)
            high, high_slope, at_high = _limit(inertia, h, q - upper, v, -rest)
        at = largest(at_low, at_high)
        stiff = STICK * inertia / h
        load = abs(d.qfrc_applied[k])
        return [d.qvel[k], loss, friction, low, low_slope, high, high_slope, at, stiff, load]

    def acting(self, shelf: Shelf, graph: SymbolGraph) -> tuple[dict[int, Any], dict[int, Any]]:
        """Return the load and the slope of each dof in its present piece."""
        if not self.dofs:
            return {}, {}
        acting = shelf.state(graph, "acting").reshape(-1, 2)
        both = {k: tuple(row) for k, row in zip(self.dofs, acting, strict=True)}
        return {k: x for k, (x, _) in both.items()}, {k: x for k, (_, x) in both.items()}

    def judge(self, shelf: Shelf, graph: SymbolGraph, qacc: Objects, settled: Any) -> Judgement:
        """Return which pieces are wrong at the accelerations qacc, and the states that follow.

        `settled` is the number of times that the dofs at rest have been solved again.
        """
        rows, pieces = shelf.get(graph, "stops"), shelf.state(graph, "pieces").reshape(-1, 3)
        acting, still = shelf.state(graph, "acting").reshape(-1, 2), shelf.state(graph, "still")
        here = [qacc[k] for k in self.dofs]
        used = [load - self._h * slope * x for (load, slope), x in zip(acting, here, strict=True)]
        least, fastest = graph.constant(0.0), graph.constant(0.0)
        for row, force, x in zip(rows, used, here, strict=True):
            least = largest(least, NOTHING * row[APPLIED], NOTHING * abs(force))
            fastest = largest(fastest, abs(row[SPEED]), self._h * abs(x))
        wrong, settles, found = graph.constant(0.0), graph.constant(0.0), Judgement([], [], [], [])
        for n, row in enumerate(rows):
            u = row[SPEED] + self._h * here[n]
            there = _piece_at(row, u)
            missed = _missed(row, pieces[n], there, u, used[n], (least, fastest))
            wrong = largest(wrong, missed)
            after = _next_piece(pieces[n], there)
            piece = [where(missed > 0.0, b, a) for a, b in zip(pieces[n], after, strict=True)]
            rests = where(settled > 0.0, still[n], _rests(row, there, u))
            yielding = where(row[SPEED] == 0.0, 1.0, YIELDING)
            changed = abs(row[STIFF] * u) > CHANGED * yielding * largest(
                abs(used[n]), UNLOADED * row[LOSS]
            )
            settles = largest(settles, where(changed, rests, 0.0))
            slope = acting[n][1] * yielding
            again = used[n] - slope * row[SPEED], slope
            found.pieces.append(piece)
            found.switched.append(_taken(row, piece))
            found.settled.append(
                [where(rests > 0.0, b, a) for a, b in zip(acting[n], again, strict=True)]
            )
            found.still.append(rests)
        return replace(found, wrong=wrong, settles=settles)

    def after(
        self,
        shelf: Shelf,
        graph: SymbolGraph,
        found: Judgement,
        switch: Any,
        settle: Any,
        live: Any,
    ) -> dict[str, Any]:
        """Return the state after a check.

        `switch`: 1 if dofs take other pieces; `settle`: 1 if dofs at rest are solved again.
        """
        if not self.dofs:
            return {}
        pieces = shelf.state(graph, "pieces").reshape(-1, 3)
        acting, still = shelf.state(graph, "acting").reshape(-1, 2), shelf.state(graph, "still")
        rows = zip(acting, found.switched, found.settled, strict=True)
        return {
            "pieces": [
                where(switch > 0.0, b, a)
                for old, new in zip(pieces, found.pieces, strict=True)
                for a, b in zip(old, new, strict=True)
            ],
            "acting": [
                where(switch > 0.0, b, where(settle > 0.0, c, a))
                for row in rows
                for a, b, c in zip(*row, strict=True)
            ],
            "still": [where(live > 0.0, b, a) for a, b in zip(still, found.still, strict=True)],
        }

    def end(self, shelf: Shelf, graph: SymbolGraph, qvel: Objects) -> tuple[Objects, list[Any]]:
        """Return the velocities, which are zero for dofs at rest, and the forces to remember."""
        if not self.dofs:
            return qvel, []
        qacc, still = shelf.state(graph, "qacc"), shelf.state(graph, "still")
        acting, kept = shelf.state(graph, "acting").reshape(-1, 2), []
        for n, k in enumerate(self.dofs):
            force = acting[n][0] - self._h * acting[n][1] * qacc[k]
            kept.append(where(abs(force) > FADED, force, 0.0))
            qvel[k] = where(still[n] > 0.0, 0.0, qvel[k])
        return qvel, kept


def _limit(inertia: Any, h: float, beyond: Any, speed: Any, rest: Any) -> tuple[Any, Any, Any]:
    """Return push and slope of a limit exceeded by `beyond`, and 1 if it holds the dof there."""
    rigid, softer, memory = RIGID * inertia / h, SOFTER * inertia / h, largest(rest, 0.0)
    inside = beyond < 0.0
    near, fast = beyond <= AT_LIMIT, h * speed > AT_LIMIT
    holds = where(near, 1.0, where(fast, 1.0, where(memory > softer * EMERGE, 1.0, 0.0)))
    back = (beyond - AT_LIMIT) / RETURN
    pushed = memory + softer * where(back < EMERGE, back, EMERGE)
    reached = largest(rigid * beyond / h, NEVER)
    push = where(inside, reached, where(holds > 0.0, memory, pushed))
    slope = where(inside, rigid, where(holds > 0.0, rigid, softer))
    return push, slope, where(inside, 0.0, holds)


def _piece_at(row: Any, u: Any) -> list[Any]:
    """Return the piece of a dof at a velocity."""
    friction: Any = 0.0
    if known_number(row[LOSS]) != 0.0:
        force = row[MEMORY] - row[STIFF] * u
        slides = where(abs(force) < row[LOSS], 0.0, where(force > 0.0, 1.0, -1.0))
        friction = where(row[LOSS] > 0.0, slides, 0.0)
    low, high = row[LOWER] - row[LOW_SLOPE] * u, row[UPPER] + row[HIGH_SLOPE] * u
    return [friction, where(low > 0.0, 1.0, 0.0), where(high > 0.0, 1.0, 0.0)]


def _taken(row: Any, piece: list[Any]) -> list[Any]:
    """Return the load and slope of a piece, at the velocity of the start of the step."""
    v, load, slope = row[SPEED], 0.0, 0.0
    if known_number(row[LOSS]) != 0.0:
        holds = where(row[LOSS] > 0.0, where(piece[FRICTION] == 0.0, 1.0, 0.0), 0.0)
        slope = where(holds > 0.0, row[STIFF], 0.0)
        load = where(holds > 0.0, row[MEMORY] - row[STIFF] * v, piece[FRICTION] * row[LOSS])
    low, high = row[LOWER] - row[LOW_SLOPE] * v, row[UPPER] + row[HIGH_SLOPE] * v
    low, high = where(piece[LOW] > 0.0, low, 0.0), where(piece[HIGH] > 0.0, high, 0.0)
    slope = slope + where(piece[LOW] > 0.0, row[LOW_SLOPE], 0.0)
    return [load + low - high, slope + where(piece[HIGH] > 0.0, row[HIGH_SLOPE], 0.0)]


def _friction_at(row: Any, piece: list[Any], u: Any) -> Any:
    """Return the dry friction of a piece at a velocity."""
    if known_number(row[LOSS]) == 0.0:
        return 0.0
    held = where(row[LOSS] > 0.0, row[MEMORY] - row[STIFF] * u, 0.0)
    return where(piece[FRICTION] == 0.0, held, piece[FRICTION] * row[LOSS])


def _limit_at(row: Any, piece: list[Any], u: Any) -> Any:
    """Return the force of the limits of a piece at a velocity."""
    low, high = row[LOWER] - row[LOW_SLOPE] * u, row[UPPER] + row[HIGH_SLOPE] * u
    return where(piece[LOW] > 0.0, low, 0.0) - where(piece[HIGH] > 0.0, high, 0.0)


def _rests(row: Any, piece: list[Any], u: Any) -> Any:
    """Return 1 if a dof is at rest at the end of the step."""
    rests: Any = where(_limit_at(row, piece, u) == 0.0, 0.0, row[AT])
    if known_number(row[LOSS]) == 0.0:
        return rests
    holds = where(piece[FRICTION] == 0.0, where(row[LOSS] > 0.0, 1.0, 0.0), 0.0)
    return largest(rests, holds)


def _missed(
    row: Any, piece: Any, there: list[Any], u: Any, used: Any, sizes: tuple[Any, Any]
) -> Any:
    """Return 1 if a piece was wrong by more than rounding errors explain."""
    least, fastest = sizes
    other: Any = 0.0
    for a, b in zip(piece, there, strict=True):
        other = largest(other, where(a == b, 0.0, 1.0))
    force = _friction_at(row, there, u) + _limit_at(row, there, u)
    scale = largest(abs(force), abs(used), row[LOSS], least)
    steepest = largest(row[LOW_SLOPE], row[HIGH_SLOPE])
    if known_number(row[LOSS]) != 0.0:
        steepest = largest(steepest, row[STIFF])
    pushes = where(largest(piece[LOW], there[LOW]) > 0.0, abs(row[LOWER]), 0.0)
    pushes = largest(pushes, where(largest(piece[HIGH], there[HIGH]) > 0.0, abs(row[UPPER]), 0.0))
    rounding = ROUNDING_ERROR * (pushes + steepest * fastest)
    differ = abs(force - used) > largest(FORCE_TOLERANCE * scale, rounding)
    return where(differ, other, 0.0)


def _next_piece(piece: Any, there: list[Any]) -> list[Any]:
    """Return the next piece; friction does not reverse in one switch."""
    turned = piece[FRICTION] * there[FRICTION] < 0.0
    return [where(turned, 0.0, there[FRICTION]), there[LOW], there[HIGH]]

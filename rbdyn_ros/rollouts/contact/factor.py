# SPDX-License-Identifier: Apache-2.0
"""The operations that factor M in a step with contact, and multiply the factors with forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.newton import forces_of, row_forces
from rbdyn_ros.rollouts.contact.points import Pair
from rbdyn_ros.rollouts.contact.shelf import Shelf, where
from rbdyn_ros.rollouts.contact.stops import Stops
from rbdyn_ros.specialization.symbolic import Objects


def path_of(m: Model, body: int) -> list[int]:
    """Return the dofs that move a body, in ascending order."""
    last = int(m.body_lastdof[body])
    if last < 0:
        return []
    row = int(m.M_rowadr[last])
    return [int(k) for k in m.M_colind[row : row + int(m.M_rownnz[last])]]


def factor(m: Model, shelf: Shelf, stops: Stops, graph: Any) -> dict[str, Any]:
    """Factor M plus the slopes of stops; compute G, and velocities without contact forces."""
    h, M = m.opt.timestep, shelf.get(graph, "M")
    L = [[0.0] * m.nv for _ in range(m.nv)]
    for k in range(m.nv):
        row = int(m.M_rowadr[k])
        for e in range(row, row + int(m.M_rownnz[k])):
            L[k][int(m.M_colind[e])] = M[e]
    loads, slopes = stops.acting(shelf, graph)
    tau = shelf.get(graph, "tau")
    for k in stops.dofs:
        L[k][k] = L[k][k] + h * slopes[k]
    D, inverse = _eliminate(m, L)
    y = _half_solved(m, L, [tau[k] + loads.get(k, 0.0) for k in range(m.nv)])
    rows = [_half_solved(m, L, list(row)) for row in shelf.get(graph, "J")]
    u = shelf.get(graph, "u")
    G, free = _reduced(h, inverse, rows, y, u)
    bad = sum((where(D[k] > 0.0, 0.0, 1.0) for k in range(m.nv)), 0.0)
    lower = [L[k][int(i)] for k in range(m.nv) for i in _above(m, k)]
    shelf.put("L", np.array(lower, object))
    shelf.put("inverse", np.array(inverse, object))
    shelf.put("Y", np.array(rows, object))
    shelf.put("y", np.array(y, object))
    shelf.put("G", G)
    shelf.put("free", free)
    return shelf.written({"bad": np.array([bad], object)})


def _reduced(
    h: float, inverse: list[Any], rows: list[list[Any]], y: list[Any], u: Objects
) -> tuple[Objects, Objects]:
    """Return h J M^-1 J^T, and the contact velocities after the step without contact forces."""
    G = np.full((len(rows), len(rows)), 0.0, object)
    free = np.full(len(rows), 0.0, object)
    for a, row in enumerate(rows):
        scaled = [x * each for x, each in zip(row, inverse, strict=True)]
        free[a] = u[a] + h * _dot(scaled, y)
        for b in range(a + 1):
            G[a, b] = G[b, a] = h * _dot(scaled, rows[b])
    return G, free


def _above(m: Model, k: int) -> list[int]:
    row = int(m.M_rowadr[k])
    return [int(i) for i in m.M_colind[row : row + int(m.M_rownnz[k]) - 1]]


def _eliminate(m: Model, L: list[list[Any]]) -> tuple[list[Any], list[Any]]:
    """Replace M by L with M = L^T D L, as crb.factor does; return D and 1 / D."""
    D: list[Any] = [0.0] * m.nv
    inverse: list[Any] = [0.0] * m.nv
    for k in range(m.nv - 1, -1, -1):
        D[k], inverse[k] = L[k][k], 1.0 / L[k][k]
        for i in reversed(_above(m, k)):
            ratio = L[k][i] * inverse[k]
            for n in (*_above(m, i), i):
                L[i][n] = L[i][n] - ratio * L[k][n]
            L[k][i] = ratio
    return D, inverse


def _half_solved(m: Model, L: list[list[Any]], x: list[Any]) -> list[Any]:
    """Overwrite x with L^-T x and return it."""
    for k in range(m.nv - 1, -1, -1):
        for i in _above(m, k):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def _dot(a: list[Any], b: list[Any]) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def accelerations(m: Model, shelf: Shelf, graph: Any, pairs: Sequence[Pair]) -> list[Any]:
    """Return qacc under the present contact forces."""
    Y, y, inverse = (shelf.get(graph, name) for name in ("Y", "y", "inverse"))
    L, f = shelf.get(graph, "L"), row_forces(pairs, forces_of(pairs, shelf.state(graph, "f")))
    qacc = [(y[k] + _dot(list(Y[:, k]), f)) * inverse[k] for k in range(m.nv)]
    at = 0
    for k in range(m.nv):
        for i in _above(m, k):
            qacc[k] = qacc[k] - L[at] * qacc[i]
            at += 1
    return qacc

# SPDX-License-Identifier: Apache-2.0
"""Numbers that one program of a step stores, in the lanes' memory, for later programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rbdyn_ros.engine.compiler.jit import select
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.programs.symbols import Condition, Symbol, SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects


class Shelf:
    """Arrays of one graph's symbols that other graphs read as inputs.

    Entries that are known when the code is generated stay numbers. The solver's state changes in
    every program, so all of its entries are in memory.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, ...], list[Any]]] = {}
        self._new: dict[str, list[Any]] = {}
        self._sizes: dict[str, int] = {}

    def put(self, name: str, values: Any) -> None:
        """Store an array for later programs."""
        array = np.asarray(values, object)
        entries: list[Any] = []
        symbols: list[Any] = []
        for x in array.reshape(-1):
            known = known_number(x)
            if known is None:
                entries.append(None)
                symbols.append(x)
            else:
                entries.append(known)
        self._kept[name], self._new[name] = (array.shape, entries), symbols

    def get(self, graph: SymbolGraph, name: str) -> Objects:
        """Return an array for another graph: its symbols, and numbers where they are known."""
        shape, entries = self._kept[name]
        found, place = np.empty(len(entries), object), 0
        for k, known in enumerate(entries):
            if known is None:
                found[k] = graph.enter(("input", name, place))
                place += 1
            else:
                found[k] = known
        return found.reshape(shape)

    def inputs(self, graph: SymbolGraph, name: str, count: int) -> Objects:
        """Return the first `count` entries of an array in memory, as symbols of a graph."""
        found = np.empty(count, object)
        found[:] = [graph.enter(("input", name, k)) for k in range(count)]
        return found

    def state(self, graph: SymbolGraph, name: str) -> Objects:
        """Return the state `name` that an earlier program has written."""
        return self.inputs(graph, name, self._sizes[name])

    def written(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs of a program: its state and the values that it has stored here."""
        flat = {name: np.asarray(x, object).reshape(-1) for name, x in state.items()}
        self._sizes |= {name: len(x) for name, x in flat.items()}
        put, self._new = self._new, {}
        return {**flat, **{name: x for name, x in put.items() if x}}

    def program(self, run: Callable[[SymbolGraph], dict[str, Any]]) -> Program:
        """Return the program of the function `run`, which gets a graph and returns outputs."""
        graph = SymbolGraph()
        return program(graph, run(graph))


def known_number(x: Any) -> float | None:
    """Return the value of a number or of a constant symbol, or None if it is not known."""
    if isinstance(x, Condition):
        return None
    if not isinstance(x, Symbol):
        return float(x)
    kind, *operands = x.graph.operations[x.number]
    return float(operands[0]) if kind == "constant" else None


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where a condition holds, else `no`."""
    return select(condition, yes, no)  # type: ignore[no-untyped-call]


def largest(*numbers: Any) -> Any:
    """Return the largest of some symbols or numbers."""
    found = numbers[0]
    for x in numbers[1:]:
        found = where(x > found, x, found)
    return found


def smallest(*numbers: Any) -> Any:
    """Return the smallest of some symbols or numbers."""
    found = numbers[0]
    for x in numbers[1:]:
        found = where(x < found, x, found)
    return found


def length(x: Objects) -> Any:
    """Return the length of a vector of symbols."""
    return np.sqrt(x @ x)


def cross(a: Any, b: Any) -> Objects:
    """Return a x b of symbols."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], object
    )

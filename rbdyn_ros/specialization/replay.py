# SPDX-License-Identifier: Apache-2.0
"""Evaluate a program again on symbols, with values for some of its inputs.

Rounding stays the same: multiply-adds stay multiply-adds, and products stay products. Operations
are left out only if they return one of their operands or are exact.
"""

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from rbdyn_ros.specialization.programs.program import Program
from rbdyn_ros.specialization.programs.symbols import Symbol, SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

#: Values of inputs, by array and flat index: numbers, or symbols.
Values = Mapping[tuple[str, int], Any]

_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip

#: Operations with these numbers are left out, unless the numbers are constants of the program,
#: which were kept on purpose.
_SIMPLE = (0.0, 1.0, -1.0)


def replay(whole: Program, graph: SymbolGraph, values: Values) -> dict[str, Objects]:
    """Return the outputs of a program for one robot, as numbers or symbols of another graph.

    Args:
        whole: the program.
        graph: the graph that records the operations.
        values: values of some inputs; the other inputs stay inputs.
    """
    found: list[Any] = []
    for kind, *operands in whole.operations:
        if kind == "input":
            known = values.get((operands[0], operands[1]))
            found.append(graph.enter((kind, *operands)) if known is None else known)
        elif kind == "constant":
            value = operands[0]
            found.append(graph.constant(value) if value in _SIMPLE else value)
        else:
            found.append(_computed(graph, kind, [found[x] for x in operands]))
    outputs: dict[str, list[Any]] = {}
    for array, _, n in whole.outputs:
        outputs.setdefault(array, []).append(_plain(graph, found[n]))
    return {array: np.array(row, object) for array, row in outputs.items()}


def _plain(graph: SymbolGraph, x: Any) -> Any:
    if not isinstance(x, Symbol):
        return x
    kind, *operands = graph.operations[x.number]
    return operands[0] if kind == "constant" else x


def _computed(graph: SymbolGraph, kind: str, x: list[Any]) -> Any:
    match kind:
        case "fma":
            return _multiply_add(graph, *x)
        case "fms":
            return _multiply_subtract(graph, *x)
        case "fnma":
            return _subtract_product(graph, *x)
        case "div":
            return _quotient(graph, *x)
        case "select":
            if isinstance(x[0], Symbol):
                return x[0].select(x[1], x[2])
            return _plain(graph, x[1] if x[0] else x[2])
    if kind in _PYTHON:
        return _PYTHON[kind](*x)
    return _entered(graph, kind, x)


def _multiply_add(graph: SymbolGraph, a: Any, b: Any, c: Any) -> Any:
    if _exact_product(a, b):
        return a * b + c
    return a * b if _is(c, 0.0) else _fused(graph, "fma", a, b, c)


def _multiply_subtract(graph: SymbolGraph, a: Any, b: Any, c: Any) -> Any:
    if _exact_product(a, b):
        return a * b - c
    return a * b if _is(c, 0.0) else _fused(graph, "fms", a, b, c)


def _subtract_product(graph: SymbolGraph, a: Any, b: Any, c: Any) -> Any:
    if _exact_product(a, b):
        return c - a * b
    return -(a * b) if _is(c, 0.0) else _fused(graph, "fnma", a, b, c)


def _exact_product(a: Any, b: Any) -> bool:
    """Return whether a product is exact, so that rounding does not change it."""
    return any(_is(x, value) for x in (a, b) for value in _SIMPLE)


def _fused(graph: SymbolGraph, kind: str, a: Any, b: Any, c: Any) -> Any:
    """Return a multiply-add, or for finite numbers its value, which is rounded once."""
    if all(not isinstance(x, Symbol) and isfinite(x) for x in (a, b, c)):
        product, other = Fraction(a) * Fraction(b), Fraction(c)
        signs = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1)}[kind]
        return float(signs[0] * product + signs[1] * other)
    return _entered(graph, kind, [a, b, c])


def _quotient(graph: SymbolGraph, a: Any, b: Any) -> Any:
    a, b = _plain(graph, a), _plain(graph, b)
    if isinstance(a, Symbol) or isinstance(b, Symbol) or b != 0.0:
        return a / b
    return _entered(graph, "div", [a, b])


def _entered(graph: SymbolGraph, kind: str, x: list[Any]) -> Any:
    return graph.enter((kind, *map(graph.number, x)))


def _is(x: Any, value: float) -> bool:
    return not isinstance(x, Symbol) and bool(x == value)

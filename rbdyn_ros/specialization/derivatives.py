# SPDX-License-Identifier: Apache-2.0
"""Differentiate a trace; derivatives are further operations in the same SymbolGraph.

This is forward mode, one direction at a time: the derivative of an operation is computed from the
derivatives of its operands. Equal operations are shared between the trace and all derivatives. An
operation that does not depend on a direction adds no operation, so the sparsity of a tree is used
without extra code.

Source: Griewank, Walther, Evaluating derivatives, 2008, section 3.1.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from rbdyn_ros.specialization.programs.program import needed, operands_of
from rbdyn_ros.specialization.programs.symbols import CONDITIONS, Condition, Symbol, SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects

# maps the number of an operation to its derivative, a symbol or a known number
Slopes: TypeAlias = dict[int, Any]

#: Partial derivatives of each operation y by its operands. A quotient uses 1 / b, which all
#: directions share.
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda *_: (1.0, 1.0),
    "sub": lambda *_: (1.0, -1.0),
    "mul": lambda _, a, b: (b, a),
    "div": lambda y, _, b: (1.0 / b, -(y * (1.0 / b))),
    "neg": lambda *_: (-1.0,),
    "sqrt": lambda y, _: (0.5 / y,),
    "sin": lambda _, a: (np.cos(a),),
    "cos": lambda _, a: (-np.sin(a),),
    "tan": lambda y, _: (1.0 + y * y,),
    "exp": lambda y, _: (y,),
    "log": lambda _, a: (1.0 / a,),
    "tanh": lambda y, _: (1.0 - y * y,),
    "floor": lambda *_: (0.0,),
    "fabs": lambda _, a: ((a < 0.0).select(-1.0, 1.0),),
    "arctan2": lambda _, a, b: (b / (a * a + b * b), -(a / (a * a + b * b))),
}


def jacobian(graph: SymbolGraph, outputs: Iterable[Any], directions: Sequence[Slopes]) -> Objects:
    """Return the derivatives of outputs in directions, (len(outputs), len(directions)).

    The derivative of a select is the derivative of the selected operand. The derivatives of
    conditions and floor are zero. At zero, fabs has its right-hand derivative, and a square root
    the infinity or NaN of its quotient.

    Args:
        graph: the graph of the outputs, to which derivatives are added.
        outputs: symbols to differentiate.
        directions: for each direction, given derivatives of some operations, by operation number.
            Any operation, not only an input, can have a given derivative, which can be zero.
    """
    wanted = list(outputs)
    given = set.intersection(*map(set, directions)) if directions else set()
    order = needed(graph.operations, [y.number for y in wanted if y.__class__ is Symbol], given)
    partials: dict[int, tuple[Any, ...]] = {}
    result = np.full((len(wanted), len(directions)), 0.0, object)
    for k, direction in enumerate(directions):
        slopes = _along(graph, order, direction, partials)
        for i, output in enumerate(wanted):
            if output.__class__ is Symbol:
                result[i, k] = slopes.get(output.number, 0.0)
    return result


def _along(
    graph: SymbolGraph,
    order: Sequence[int],
    direction: Slopes,
    partials: dict[int, tuple[Any, ...]],
) -> Slopes:
    """Return the nonzero derivatives in a direction, by operation number."""
    slopes = {number: slope for number, slope in direction.items() if not _vanishes(slope)}
    for number in order:
        operands = () if number in direction else operands_of(graph.operations[number])
        if any(operand in slopes for operand in operands):
            slope = _slope(graph, number, operands, slopes, partials)
            if not _vanishes(slope):
                slopes[number] = slope
    return slopes


def _slope(
    graph: SymbolGraph,
    number: int,
    operands: Sequence[int],
    slopes: Slopes,
    partials: dict[int, tuple[Any, ...]],
) -> Any:
    """Return the derivative of an operation from its operands' derivatives; 0 for a condition.

    `slopes` has the derivatives of earlier operations; `partials` collects the partial
    derivatives, which all directions share.
    """
    name = graph.operations[number][0]
    if name in CONDITIONS:
        return 0.0
    if name == "select":
        condition, yes, no = operands
        return Condition(graph, condition).select(slopes.get(yes, 0.0), slopes.get(no, 0.0))
    if number not in partials:
        values = (_value(graph, operand) for operand in operands)
        partials[number] = PARTIALS[name](Symbol(graph, number), *values)
    total: Any = 0.0
    for operand, partial in zip(operands, partials[number], strict=True):
        if operand in slopes:
            total = total + partial * slopes[operand]
    return total


def _value(graph: SymbolGraph, number: int) -> Any:
    name, *operands = graph.operations[number]
    return operands[0] if name == "constant" else Symbol(graph, number)


def _vanishes(slope: Any) -> bool:
    return slope.__class__ is not Symbol and slope == 0.0

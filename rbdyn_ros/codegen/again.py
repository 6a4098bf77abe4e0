"""A trace once more, with less that is not known: what is no input of a function in C is zero."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.engine.jit import select
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.specialize.functions import Trace
from rbdyn_ros.specialize.symbols import UNARY, Graph, Symbol

if TYPE_CHECKING:
    from rbdyn_ros.codegen.language import Real


def again(trace: Trace, given: Collection[str], real: Real) -> Trace:
    """Return a trace once more, as far as it is not known now.

    Inputs are zero but those of the arrays that are given, and so are constants that are nothing
    in the type of the numbers: they are rounding of the robot's author, and what they are a
    factor of vanishes.

    Raises:
        ModelError: something is divided by such a constant.
    """
    graph = Graph()
    values: list[Any] = []
    for name, *operands in trace.graph.operations:
        if name == "constant":
            values.append(real.significant(operands[0]))
        elif name == "input":
            is_given = operands[0] in given
            values.append(graph.enter((name, *operands)) if is_given else 0.0)
        else:
            taken = [values[k] for k in operands]
            if name == "div" and not isinstance(taken[1], Symbol) and taken[1] == 0.0:
                raise _vanished(real)
            values.append(_OPERATIONS[name](*taken))
    outputs = {}
    for name, array in trace.outputs.items():
        outputs[name] = np.empty(array.shape, object)
        for index in np.ndindex(array.shape):
            x = array[index]
            known = values[x.number] if isinstance(x, Symbol) else real.significant(x)
            outputs[name][index] = known
    return Trace(graph, outputs)


def _method(name: str) -> Callable[..., Any]:
    """Return a function of NumPy that is written down where a number is not known."""
    known = getattr(np, name)

    def apply(*operands: Any) -> Any:
        for x in operands:
            if isinstance(x, Symbol):
                return x.graph.enter((name, *map(x.graph.number, operands)))
        return float(known(*operands))

    return apply


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "select": select,
    **{name: _method(name) for name in (*UNARY, "arctan2")},
}


def _vanished(real: Real) -> ModelError:
    text = f"the code would divide by a constant that is nothing in the type {real.name}"
    return ModelError(Finding("no-code", text))

# SPDX-License-Identifier: Apache-2.0
"""Trace the kernels of a Model on symbols."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.programs.symbols import (
    NotTraceableError,
    Symbol,
    SymbolGraph,
    not_traceable,
)
from rbdyn_ros.specialization.symbolic import (
    Objects,
    SymbolicData,
    SymbolicModel,
    symbolic_entries,
)

#: Largest number of runs of a function. Every Python branch on a symbol doubles the runs.
MAX_RUNS = 32

TOO_MANY = (
    f"its branches on unknown numbers have more than {MAX_RUNS} outcomes; np.where, np.clip, "
    "np.minimum and np.maximum choose without a branch"
)

Outputs = Mapping[str, Any]


class Tracing:
    """Traces kernels of a Model.

    Attributes:
        graph: the graph of the operations.
        m: the symbolic Model that kernels are called with, see uncompiled.py.

    Args:
        m: the Model.
        symbolic: names of options and arrays of the Model that are inputs; an item may also be a
            pair of a name and flat indices. All other numbers are built in.
        what: name of the traced function in errors; None: the name of the Model.
        contact: whether the Model may have contacts, which the caller traces itself.

    Raises:
        ModelError: the Model cannot become straight-line code, or a name in `symbolic` cannot be
            an input.
    """

    def __init__(
        self, m: Model, symbolic: Collection[Any] = (), what: str | None = None,
        contact: bool = False,
    ) -> None:  # fmt: skip
        self.model, self.what = m, what or f"'{m.name}'"
        _check_traceable(m, self.what, contact)
        self.graph = SymbolGraph()
        self.m: Any = SymbolicModel(m, self.graph, symbolic_entries(m, symbolic))

    def data(self, inputs: Collection[str]) -> Any:
        """Return a new symbolic Data with some fields as inputs."""
        return SymbolicData(self.model, self.graph, inputs)

    def trace(self, run: Callable[[], Outputs]) -> dict[str, Objects]:
        """Return the results of a function on symbols, by name, as arrays of symbols and numbers.

        If Python branches on a symbol, the function runs once for each answer, and a select
        chooses the result. So the function must not keep anything between calls.

        Raises:
            ModelError: more than MAX_RUNS runs or MAX_OPERATIONS operations, or an operation that
                symbols do not support.
        """
        branches = _Branches(self.graph)
        try:
            return branches.explore(run, [])
        # user functions may use all of Python, so a symbol can cause errors of NumPy, Numba or
        # Python
        except (TypeError, AttributeError, ValueError, ArithmeticError, NumbaError) as error:
            reason = " ".join(str(error).split())[:300]
            raise not_traceable(reason, self.what) from error


class _Branches:
    """Runs a function once for every combination of answers to its conditions."""

    def __init__(self, graph: SymbolGraph) -> None:
        self.graph, self.runs = graph, 0
        self.answers: list[bool] = []
        self.asked: list[Symbol] = []

    def explore(self, run: Callable[[], Outputs], answers: list[bool]) -> dict[str, Objects]:
        """Return the outputs for answers to the first conditions, or raise NotTraceableError."""
        self.runs += 1
        if self.runs > MAX_RUNS:
            raise NotTraceableError(TOO_MANY)
        self.answers, self.asked = list(answers), []
        self.graph.decide = self._decide
        outputs = {name: np.asarray(value, object) for name, value in run().items()}
        asked, answered = self.asked, self.answers
        for k in range(len(asked) - 1, len(answers) - 1, -1):
            others = self.explore(run, [*answered[:k], False])
            outputs = {name: _chosen(asked[k], outputs[name], others[name]) for name in outputs}
        return outputs

    def _decide(self, condition: Symbol) -> bool:
        """Return the answer to a condition: an earlier answer, the next given answer, or True."""
        for known, answered in zip(self.asked, self.answers, strict=False):
            if known is condition:
                return answered
        # each condition needs another run, and a loop might ask without end
        if len(self.asked) >= MAX_RUNS:
            raise NotTraceableError(TOO_MANY)
        self.asked.append(condition)
        if len(self.asked) > len(self.answers):
            self.answers.append(True)
        return self.answers[len(self.asked) - 1]


def _chosen(condition: Symbol, yes: Objects, no: Objects) -> Objects:
    chosen = np.empty(yes.shape, object)
    for index in np.ndindex(yes.shape):
        chosen[index] = condition.select(yes[index], no[index])
    return chosen


def _check_traceable(m: Model, what: str, contact: bool) -> None:
    """Raise ModelError if a Model cannot become straight-line code."""
    stored = (m.jnt_class == JointClass.DRIVEN) & (m.jnt_mimic < 0) & (m.jnt_motion == 0)
    if m.ncontact > 0 and not contact:
        raise not_traceable("its contacts change while it moves; load it without contact", what)
    if m.nefc > m.ngear:
        raise not_traceable("the rank of its constraints may change while it moves", what)
    if stored.any():
        joint = m.jnt_names[int(np.flatnonzero(stored)[0])]
        why = f"joint '{joint}' plays back a stored trajectory; give its motion as a function"
        raise not_traceable(why, what)

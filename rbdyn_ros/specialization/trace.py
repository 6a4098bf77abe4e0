"""From a Model to what its kernels do with numbers that are not known yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.symbolic import (
    Objects,
    SymbolicData,
    SymbolicModel,
    symbolic_entries,
)
from rbdyn_ros.specialization.symbols import NotTraceableError, Symbol, SymbolGraph, not_traceable

#: Branches of Python that depend on numbers double the runs; more than this many runs are too
#: many for code without branches.
MAX_RUNS = 32

TOO_MANY = (
    f"its branches on numbers that are not known yet lead more than {MAX_RUNS} ways; np.where, "
    "np.clip, np.minimum and np.maximum choose without a branch"
)

Outputs = Mapping[str, Any]


class Tracing:
    """A Model whose kernels are to be traced.

    Attributes:
        graph: where operations are written down.
        m: the Model as kernels are given it, see plain.py.

    Args:
        m: the Model.
        symbolic: names of options and arrays of the Model that are inputs; an item may also be a
            name and the flat places of the entries that are. All else is built in.
        what: is traced, in the words of errors; None: the Model by its name.

    Raises:
        ModelError: the Model has what cannot become a straight line of operations, or an array
            that cannot be an input is named.
    """

    def __init__(self, m: Model, symbolic: Collection[Any] = (), what: str | None = None) -> None:
        self.model, self.what = m, what or f"'{m.name}'"
        refusal = why_not(m)
        if refusal:
            raise not_traceable(refusal, self.what)
        self.graph = SymbolGraph()
        self.m: Any = SymbolicModel(m, self.graph, symbolic_entries(m, symbolic))

    def data(self, inputs: Collection[str]) -> Any:
        """Return a new Data, as kernels are given it, some of whose fields are inputs."""
        return SymbolicData(self.model, self.graph, inputs)

    def trace(self, run: Callable[[], Outputs]) -> dict[str, Objects]:
        """Return what a function returns on symbols, by name, as arrays of symbols and numbers.

        Where Python branches on a condition that is not known, the function runs once for each
        answer, and a select chooses among the results; so it must begin anew whenever it is
        called.

        Raises:
            ModelError: for more than MAX_RUNS runs, MAX_OPERATIONS operations, or what cannot be
                done with a symbol.
        """
        branches = _Branches(self.graph)
        try:
            return branches.explore(run, [])
        # a user's function may do whatever Python allows; which error a symbol causes there
        # depends on who looked at it first: NumPy, Numba or Python
        except (TypeError, AttributeError, ValueError, ArithmeticError, NumbaError) as error:
            reason = " ".join(str(error).split())[:300]
            raise not_traceable(reason, self.what) from error


class _Branches:
    """Runs a function until every answer to its conditions has been given."""

    def __init__(self, graph: SymbolGraph) -> None:
        self.graph, self.runs = graph, 0
        self.answers: list[bool] = []
        self.asked: list[Symbol] = []

    def explore(self, run: Callable[[], Outputs], answers: list[bool]) -> dict[str, Objects]:
        """Return the outputs where the first conditions are answered as told."""
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
        """Answer a condition: as told, else that it holds; the same one always alike."""
        for known, answered in zip(self.asked, self.answers, strict=False):
            if known is condition:
                return answered
        if len(self.asked) >= MAX_RUNS:  # each is another run; and a loop might ask for ever
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


def why_not(m: Model) -> str:
    """Return why nothing of a Model can be traced, in a sentence; empty if it can."""
    stored = (m.jnt_class == JointClass.DRIVEN) & (m.jnt_mimic < 0) & (m.jnt_motion == 0)
    if m.ngeom > 0:
        return "what touches is decided while it moves; load it without contact"
    if m.nefc > m.ngear:
        return "which of its constraints depend on others is decided while it moves"
    if stored.any():
        joint = m.jnt_names[int(np.flatnonzero(stored)[0])]
        return f"joint '{joint}' follows a stored trajectory; give its motion as a function"
    return ""

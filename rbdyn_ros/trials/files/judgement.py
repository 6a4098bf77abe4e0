"""Read how the runs of a trial are judged: measures, limits and the rule of the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rbdyn_ros.description.yaml_files.text import Node, YamlTable
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.forms import TrialForm
from rbdyn_ros.trials.python_code import PythonCode
from rbdyn_ros.trials.simulation.measures import MEASURES, OF_BASE
from rbdyn_ros.trials.simulation.score import floating_base
from rbdyn_ros.trials.trial import Allowance, Limit, Rule


class JudgementReader:
    """Reads the sections `measures`, `limits`, `verdict` and `process`.

    Args:
        form: reads nodes.
        top: the document.
    """

    def __init__(self, form: TrialForm, top: YamlTable) -> None:
        self._form, self._top = form, top

    def measures(self) -> tuple[float, dict[str, PythonCode]]:
        """Return the settling band and the measures of the user by name."""
        node, functions, band = self._top.nodes.get("measures"), dict[str, PythonCode](), 0.02
        if node is None:
            return band, functions
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "measures", "", "a table of names")
            return band, functions
        for name, below in node.nodes.items():
            owner = f"measure {quote(name)}"
            if name == "settling_band":
                band = self._form.within(below, name, "", 0.0, above=True) or band
                continue
            if name in MEASURES:
                message = "it is built in; choose another name for your own"
                self._form.audit.error("duplicate-measure", owner, node.lines[name], message)
                continue
            table = self._form.table(below, "measure", owner, ("python",), ("python",))
            code = table and self._form.code(table.nodes["python"], "python", owner)
            if code:
                functions[name] = code
        return band, functions

    def limits(self, m: Model, functions: Mapping[str, PythonCode]) -> dict[str, Limit]:
        """Return the limits by measure."""
        node, limits = self._top.nodes.get("limits"), dict[str, Limit]()
        if node is None:
            return limits
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "limits", "", "a table of measures")
            return limits
        known = [name for name in MEASURES if name not in OF_BASE or floating_base(m) >= 0]
        known += functions
        for name, below in node.nodes.items():
            if self._form.known(name, known, "measure", "limits", node.lines[name]) is None:
                continue
            limit = self._limit(name, below)
            if limit is not None:
                limits[name] = limit
        return limits

    def _limit(self, name: str, node: Node) -> Limit | None:
        owner = f"limit of {name}"
        if not isinstance(node, YamlTable):
            value = self._form.number(node, "largest value", owner)
            return None if value is None else Limit(high=value)
        table = self._form.table(node, "limit", owner, ("min", "max"))
        if table is None:
            return None
        given = {key: self._form.number(x, key, owner) for key, x in table.nodes.items()}
        if None in given.values():
            return None
        low, high = given.get("min"), given.get("max")
        if not given or (low is not None and high is not None and low > high):
            self._form.wrong(node, "limit", owner, "a min, a max of at least that, or both")
            return None
        return Limit(-np.inf if low is None else low, np.inf if high is None else high)

    def rule(self) -> Rule:
        """Return the rule of the verdict."""
        node, found = self._top.nodes.get("verdict"), dict[str, Any]()
        if node is None:
            return Rule()
        table = self._form.table(node, "verdict", "", ("pass_rate", "confidence"))
        for key, below in table.nodes.items() if table else ():
            value = self._form.within(below, key, "verdict", 0.0, 1.0, above=True)
            if value == 1.0:
                advice = "" if key == "confidence" else "; delete it if every run must pass"
                message = f"the {key} is 1; allowed is less than 1{advice}"
                self._form.audit.error("bad-value", "verdict", below.line, message, found="1")
            found[key] = value
        return Rule(**found)

    def allowance(self) -> Allowance:
        """Return the time and memory that a run may use."""
        node, found = self._top.nodes.get("process"), dict[str, Any]()
        if node is None:
            return Allowance()
        table = self._form.table(node, "process", "", ("time", "memory"))
        for key, below in table.nodes.items() if table else ():
            found[key] = self._form.within(below, key, "process", 0.0, above=True)
        return Allowance(**found)

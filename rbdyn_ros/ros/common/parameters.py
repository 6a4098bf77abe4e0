"""Parameters of a node: a table of them becomes checked values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, read when the node starts and read-only from then on unless it is `live`.

    Attributes:
        default: also gives the type; of a list the type of its elements.
        doc: one sentence.
        unit: of a number.
        low, high: range of a number.
        choices: of a text.
        live: may be changed while the node runs.
        fixed: a list of numbers has as many as its default; otherwise one, or one a joint.
    """

    name: str
    default: Any
    doc: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    live: bool = False
    fixed: bool = True

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, tuple):
            return "a list of names"
        range_ = f"from {self.low:g} to {self.high:g}"
        if isinstance(self.default, list) and self.fixed:
            return f"{len(self.default)} numbers {range_}"
        if isinstance(self.default, list):
            return f"a list of one number, or of one for each joint, {range_}"
        if isinstance(self.default, float):
            return f"a number {range_}"
        return f"a whole number {range_}" if isinstance(self.default, int) else "a text"

    def checked(self, value: object) -> Any:
        """Return the value in the type of the default.

        Raises:
            ParameterError: it is of another type or out of range.
        """
        accepted = self._converted(value)
        if accepted is None:
            unit = f" [{self.unit}]" if self.unit else ""
            text = f"parameter '{self.name}' is {value!r}; allowed is {self.allowed}{unit}."
            finding = Finding(
                "parameter", text, "error", self.name, None, repr(value), self.allowed
            )
            raise ParameterError(finding)
        return accepted

    def _converted(self, value: object) -> Any:
        if isinstance(self.default, bool):
            return value if isinstance(value, bool) else None
        if isinstance(self.default, str):
            fits = isinstance(value, str) and (not self.choices or value in self.choices)
            return value if fits else None
        if isinstance(self.default, tuple):
            return _names(value)
        if isinstance(self.default, list):
            return self._numbers(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if isinstance(self.default, int):
            fits = math.isfinite(value) and value == int(value) and self.low <= value <= self.high
            return int(value) if fits else None
        return float(value) if self.low <= value <= self.high else None

    def _numbers(self, value: Any) -> list[float] | None:
        try:
            numbers = [float(number) for number in value]
        except (TypeError, ValueError):
            return None
        fits = len(numbers) == len(self.default) if self.fixed else bool(numbers)
        within = all(math.isfinite(x) and self.low <= x <= self.high for x in numbers)
        return numbers if fits and within else None


def _names(value: Any) -> list[str] | None:
    """Return a list of names; ROS has nothing for an empty one but no value, or an empty text."""
    if value is None:
        return []
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(name, str) for name in value):
        return None
    return [name for name in value if name]


Table = Iterable[Parameter]


def declare(
    node: Node, table: Table, defaults: Mapping[str, Any] | None = None
) -> SimpleNamespace:
    """Declare every parameter of a table and return the checked values by name.

    Args:
        node: has them.
        table: of them.
        defaults: other ones than those of the table.

    Raises:
        ParameterError: with every value that is not allowed.
    """
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for parameter in table:
        default = (defaults or {}).get(parameter.name, parameter.default)
        found = _declare_one(node, parameter, default)
        try:
            values[parameter.name] = parameter.checked(found)
        except ParameterError as error:
            findings += error.findings
    if findings:
        raise ParameterError(findings)
    return SimpleNamespace(**values)


def _declare_one(node: Node, parameter: Parameter, default: Any) -> Any:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    descriptor = ParameterDescriptor(
        description=f"{parameter.doc}{unit}",
        additional_constraints=parameter.allowed,
        read_only=not parameter.live,
        dynamic_typing=True,  # so that 1 is taken for 1.0, and a wrong type gets our sentence
    )
    value = [""] if default == () else default  # ROS knows no type of an empty list
    return node.declare_parameter(parameter.name, value, descriptor).value


def live(changes: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return the checked values of those changes that are to parameters of a table.

    Raises:
        ParameterError: with every value that is not allowed.
    """
    known = {parameter.name: parameter for parameter in table}
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, value in changes.items():
        if name not in known:
            continue
        try:
            values[name] = known[name].checked(value)
        except ParameterError as error:
            findings += error.findings
    if findings:
        raise ParameterError(findings)
    return values


def overrides(node: Node) -> Mapping[str, Any]:
    """Return what the command line, files and the caller set, by name.

    rclpy tells nobody what was set but not declared, so this looks into the node.
    """
    given = getattr(node, "_parameter_overrides", {})
    return {name: parameter.value for name, parameter in given.items()}


def unknown(node: Node, table: Table, others: tuple[str, ...] = ()) -> list[str]:
    """Return a sentence for each parameter that was set and that nothing declared.

    Args:
        node: has them.
        table: of what it knows.
        others: what the names of further parameters begin with.
    """
    known = [parameter.name for parameter in table]
    return [
        f"there is no parameter '{name}'{did_you_mean(name, known)}; it is ignored"
        for name in overrides(node)
        if not node.has_parameter(name) and not name.startswith(("qos_overrides.", *others))
    ]

# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node: each parameter is declared and checked from its row of a table.

The files in config/ and the tables in docs/reference/ are printed from the same rows by
tools/docs.py.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, exactly

if TYPE_CHECKING:
    from rclpy.node import Node


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. It is read when the node starts, and read-only afterwards unless `live`.

    Attributes:
        name: full name; nested parameters have dots.
        default: default value, which also sets the type: a tuple stands for a list of strings, a
            list for a list of doubles.
        doc: description in one line, without the unit.
        unit: unit of a number; empty: no unit.
        low, high: range of a number, both allowed; infinite: no bound.
        choices: strings that are allowed; empty: any string.
        live: whether it can be changed while the node runs.
        fixed: whether a list must have as many numbers as its default; otherwise it has one
            number, or one number for each joint.
        role: heading of its section in the documentation.
        setting: field of the library's settings that it sets; empty: the field of the same name.
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
    role: str = ""
    setting: str = ""

    @property
    def type(self) -> str:
        """Name of the type in ROS 2, such as double."""
        if isinstance(self.default, tuple):
            return "string[]"
        if isinstance(self.default, list):
            return f"double[{len(self.default) if self.fixed else ''}]"
        names = {bool: "bool", int: "int", float: "double", str: "string"}
        return names[type(self.default)]

    @property
    def allowed(self) -> str:
        """Allowed values in words."""
        if self.choices:
            return "one of " + ", ".join(choice or '""' for choice in self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, tuple):
            return "a list of names"
        range_ = f"from {exactly(self.low)} to {exactly(self.high)}"
        if isinstance(self.default, list) and self.fixed:
            return f"{len(self.default)} numbers {range_}"
        if isinstance(self.default, list):
            return f"a list of one number for all joints or one per joint, {range_}"
        if isinstance(self.default, float):
            return f"a number {range_}"
        return f"an integer {range_}" if isinstance(self.default, int) else "a string"

    @property
    def description(self) -> str:
        """The `doc` with the unit."""
        return f"{self.doc} [{self.unit}]" if self.unit else self.doc

    def checked(self, value: object) -> Any:
        """Return the value in the type of the default.

        Raises:
            ParameterError: the value has the wrong type or is out of range.
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
    """Return the value if it is a list of names, or None if it is anything else.

    ROS passes an empty list as no value, or as a list with one empty string.
    """
    if value is None:
        return []
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(name, str) for name in value):
        return None
    return [name for name in value if name]


Table = Iterable[Parameter]


def group(role: str, *rows: Parameter) -> tuple[Parameter, ...]:
    """Return the rows with this role set."""
    return tuple(replace(row, role=role) for row in rows)


def per_joint(
    name: str,
    default: float,
    doc: str,
    unit: str,
    low: float = 0.0,
    high: float = 1e6,
    **more: Any,
) -> Parameter:
    """Return a parameter that is one number for all joints, or a list with one for each joint."""
    return Parameter(name, [default], doc, unit, low, high, fixed=False, **more)


def declare(
    node: "Node", table: Table, defaults: Mapping[str, Any] | None = None
) -> SimpleNamespace:
    """Declare all parameters of a table and return their checked values by name.

    Args:
        node: declares them.
        table: the parameters.
        defaults: values by name that replace defaults of the table; None: none are replaced.

    Raises:
        ParameterError: values are not allowed; the message names all of them.
    """
    found = {
        parameter.name: _declare_one(
            node, parameter, (defaults or {}).get(parameter.name, parameter.default)
        )
        for parameter in table
    }
    return SimpleNamespace(**live(found, table))


def _declare_one(node: "Node", parameter: Parameter, default: Any) -> Any:
    from rcl_interfaces.msg import ParameterDescriptor

    descriptor = ParameterDescriptor(
        description=parameter.description,
        additional_constraints=parameter.allowed,
        read_only=not parameter.live,
        dynamic_typing=True,  # this accepts 1 for 1.0; a wrong type gets our error
    )
    value = [""] if default == () else default  # ROS has no type for an empty list
    return node.declare_parameter(parameter.name, value, descriptor).value


def declare_facts(node: "Node", facts: Mapping[str, Any]) -> None:
    """Declare read-only parameters, by name, which describe the robot to other nodes."""
    from rcl_interfaces.msg import ParameterDescriptor

    for name, value in facts.items():
        descriptor = ParameterDescriptor(read_only=True)
        node.declare_parameter(name, value, descriptor, ignore_override=True)


def live(changes: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return the checked new values of parameters that are in a table, by name.

    Raises:
        ParameterError: values are not allowed; the message names all of them.
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


def overrides(node: "Node") -> Mapping[str, Any]:
    """Return the values that the command line, files and the caller set, by parameter name.

    rclpy has no public way to list parameters that were never declared.
    """
    given = getattr(node, "_parameter_overrides", {})
    return {name: parameter.value for name, parameter in given.items()}


def unknown(node: "Node", table: Table, others: tuple[str, ...] = ()) -> list[str]:
    """Return a warning for each parameter that was set but never declared.

    Args:
        node: the node that has declared its parameters.
        table: the declared parameters.
        others: prefixes of names that are allowed besides the table.
    """
    known = [parameter.name for parameter in table]
    return [
        f"there is no parameter '{name}'{did_you_mean(name, known)}; it is ignored"
        for name in overrides(node)
        if not node.has_parameter(name) and not name.startswith(("qos_overrides.", *others))
    ]

# SPDX-License-Identifier: Apache-2.0
"""An actuators file in memory; its actuators can be read with other numbers than in the file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.actuators.keys import DIALECT
from rbdyn_ros.actuators.reader import read_file, read_table
from rbdyn_ros.actuators.specs import ActuatorSpec
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files.text import Scalar, YamlTable
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.model import Model

#: A number of an actuators file: its joint and its key, such as `gear` or `lugre.coulomb`.
Place = tuple[str, str]


@dataclass(frozen=True)
class ActuatorsDocument:
    """An actuators file."""

    source: str
    text: bytes
    table: YamlTable

    @classmethod
    def load(cls, path: str | Path) -> "ActuatorsDocument":
        """Read a file.

        Raises:
            DescriptionError: the file is not an actuators file; `specs` finds the errors of the
                actuators.
        """
        data, audit = read_file(path), Audit()
        top = DIALECT.parse(data, str(path), audit)
        audit.raise_errors(str(path))
        return cls(str(path), data, top)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that have an actuator."""
        table = self.table.nodes.get("actuators")
        return tuple(table.nodes) if isinstance(table, YamlTable) else ()

    def specs(self, m: Model, numbers: Mapping[Place, float] | None = None) -> list[ActuatorSpec]:
        """Return the actuators, with new numbers for some keys.

        Args:
            m: the robot without actuators, with the timestep of its simulation.
            numbers: new number for each (joint, key), with keys such as `lugre.coulomb`; None: the
                numbers of the file.

        Raises:
            DescriptionError: with all errors.
        """
        audit = Audit()
        found = read_table(self._with(numbers or {}, {}), m, audit)
        audit.raise_errors(self.source)
        return list(found)

    def errors(
        self, m: Model, numbers: Mapping[Place, float], lines: Mapping[Place, int]
    ) -> tuple[Finding, ...]:
        """Return the errors that `specs` finds at the joints with new numbers.

        Args:
            m: the robot.
            numbers: see `specs`.
            lines: lines to report for the numbers, instead of their lines in the file.
        """
        audit, whole = Audit(), self._with(numbers, lines)
        actuators, joints = whole.nodes["actuators"], {joint for joint, _ in numbers}
        assert isinstance(actuators, YamlTable)
        few = {name: node for name, node in actuators.nodes.items() if name in joints}
        only = replace(actuators, nodes=few)
        read_table(_replaced(whole, "actuators", only, whole.lines["actuators"]), m, audit)
        return audit.errors

    def _with(self, numbers: Mapping[Place, float], lines: Mapping[Place, int]) -> YamlTable:
        """Return the content with new numbers; their errors report `lines`, where given."""
        whole = self.table
        for place, value in numbers.items():
            joint, key = place
            path = ("actuators", joint, *key.split("."))
            whole = _changed(whole, path, value, lines.get(place))
        return whole


def _changed(table: YamlTable, path: tuple[str, ...], value: float, line: int | None) -> YamlTable:
    """Return a table with a changed or added number.

    `path` are the keys that lead to the number. `line` is the line that errors about the number
    report; None: its line in the file.
    """
    key, *rest = path
    at = table.lines.get(key, table.line) if line is None else line
    if not rest:
        return _replaced(table, key, Scalar(at, repr(float(value))), at)
    below = table.nodes.get(key)
    inner = below if isinstance(below, YamlTable) else YamlTable(at)
    return _replaced(table, key, _changed(inner, tuple(rest), value, line), at)


def _replaced(table: YamlTable, key: str, node: Scalar | YamlTable, line: int) -> YamlTable:
    """Return a table with a new value for a key."""
    return YamlTable(table.line, {**table.nodes, key: node}, {**table.lines, key: line})

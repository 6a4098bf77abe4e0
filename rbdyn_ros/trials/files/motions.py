"""Read the motion that the robot of a trial shall track."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from rbdyn_ros.description.yaml_files.text import Node, Scalar, YamlTable
from rbdyn_ros.errors import quote
from rbdyn_ros.trials.files.forms import TrialForm
from rbdyn_ros.trials.references import Path, Sine, Waypoints


class MotionReader:
    """Reads the section `reference`.

    Args:
        form: reads nodes.
        joints: names of the joints that can have a motion.
    """

    def __init__(self, form: TrialForm, joints: Collection[str]) -> None:
        self._form, self._joints = form, joints

    def reference(self, node: Node | None) -> Mapping[str, Path]:
        """Return the motions by joint."""
        if node is None:
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "reference", "", "a table of joints")
            return {}
        found: dict[str, Path] = {}
        for joint, below in node.nodes.items():
            owner = "reference"
            if self._form.known(joint, self._joints, "joint", owner, node.lines[joint]) is None:
                continue
            path = self._path_of(joint, below)
            if path is not None:
                found[joint] = path
        return found

    def _path_of(self, joint: str, node: Node) -> Path | None:
        form, owner = self._form, f"reference of {quote(joint)}"
        if isinstance(node, Scalar):
            value = form.number(node, "position", owner)
            return None if value is None else Waypoints((0.0,), (value,), smooth=False)
        if isinstance(node, YamlTable) and "times" in node.nodes:
            return self._waypoints(node, owner)
        keys = ("amplitude", "frequency", "offset")
        table = form.table(node, "motion", owner, keys, keys[:2])
        if table is None:
            return None
        given = {key: form.number(below, key, owner) for key, below in table.nodes.items()}
        values = {key: value for key, value in given.items() if value is not None}
        return Sine(**values) if len(values) == len(given) else None

    def _waypoints(self, node: YamlTable, owner: str) -> Waypoints | None:
        form, keys = self._form, ("times", "positions", "smooth")
        table = form.table(node, "motion", owner, keys, keys[:2])
        if table is None:
            return None
        times = form.numbers(table.nodes["times"], "times", owner)
        positions = form.numbers(table.nodes["positions"], "positions", owner)
        smooth = True
        if "smooth" in table.nodes:
            smooth = form.flag(table.nodes["smooth"], "smooth", owner) is True
        if not times or positions is None:
            return None
        if len(times) != len(positions) or (np.diff(times) <= 0.0).any():
            message = (
                f"it has {len(times)} times and {len(positions)} positions; allowed are as many "
                "of both, and increasing times"
            )
            form.audit.error("bad-motion", owner, table.line, message)
            return None
        return Waypoints(times, positions, smooth)

# SPDX-License-Identifier: Apache-2.0
"""Read the reference, measures and limits of a trial."""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from rbdyn_ros.description.yaml_files.kinds import ValuePlace
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.errors import counted, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.keys import BAND
from rbdyn_ros.trials.files.values import is_known, read_code
from rbdyn_ros.trials.python_code import PythonCode
from rbdyn_ros.trials.references import Path as Motion
from rbdyn_ros.trials.references import Waypoints
from rbdyn_ros.trials.simulation.measures import MEASURES, OF_BASE
from rbdyn_ros.trials.simulation.score import floating_base
from rbdyn_ros.trials.trial import MeasureLimit


def read_reference(given: Given, joints: Collection[str]) -> Mapping[str, Motion]:
    """Return the motions from the section `reference`, by joint."""
    found: dict[str, Motion] = {}
    for joint, line in given.lines.items():
        if not is_known(joint, joints, "joint", given, line, "reference"):
            continue
        value = given.get(joint)
        path = _waypoints(value) if isinstance(value, Given) else value
        if isinstance(path, float):
            path = Waypoints((0.0,), (path,), smooth=False)
        if path is not None:
            found[joint] = path
    return found


def _waypoints(given: Given) -> Waypoints | None:
    if not given.sound:
        return None
    times, positions = given["times"], given["positions"]
    if len(times) != len(positions) or not times or (np.diff(times) <= 0.0).any():
        message = (
            f"it has {counted(len(times), 'time')} and {counted(len(positions), 'position')}; "
            "allowed are equal numbers of both, and increasing times"
        )
        given.error("bad-motion", "", message)
        return None
    return Waypoints(times, positions, given["smooth"])


def read_measures(given: Given, folder: Path) -> dict[str, PythonCode]:
    """Return the user's measures from the section `measures`, by name."""
    functions: dict[str, PythonCode] = {}
    for name, line in given.lines.items():
        if name in MEASURES:
            owner = f"measure {quote(name)}"
            message = "it is built in; choose another name for your own"
            given.audit.error("duplicate-measure", owner, line, message)
        elif name != BAND and name in given:
            code = read_code(given[name], "python", folder)
            if code is not None:
                functions[name] = code
    return functions


def read_limits(
    given: Given, m: Model, functions: Mapping[str, PythonCode]
) -> dict[str, MeasureLimit]:
    """Return the limits from the section `limits`, by measure."""
    known = [name for name in MEASURES if name not in OF_BASE or floating_base(m) >= 0]
    known += functions
    limits: dict[str, MeasureLimit] = {}
    for name, line in given.lines.items():
        if not is_known(name, known, "measure", given, line, "limits") or name not in given:
            continue
        limit = given[name]
        if isinstance(limit, float):
            limits[name] = MeasureLimit(high=limit)
        elif limit.sound:
            low, high = limit.get("min", -np.inf), limit.get("max", np.inf)
            limits[name] = MeasureLimit(low, high)
            if not limit or low > high:
                allowed = "min, max, or both with min <= max"
                ValuePlace(given.audit, limit.owner, "limit").refuse(limit.node, allowed)
    return limits

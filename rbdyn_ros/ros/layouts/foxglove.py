# SPDX-License-Identifier: Apache-2.0
"""A layout of Foxglove or Lichtblick for one robot and its sensors.

Both applications can import the file. The file has the settings of each panel, under a key made of
the panel's type and name, and the arrangement of the panels as a tree.
"""

import json
from collections.abc import Sequence
from typing import Any

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.ros.layouts.topics import (
    CAMERA_INFO,
    CLOUD,
    DIAGNOSTICS,
    IMAGE,
    JOINTS,
    MARKERS,
    PLOTTED,
    SCAN,
    STRING,
    ShownTopic,
)

#: Types of the topics that the 3D panel draws.
DRAWN = (CLOUD, SCAN, MARKERS)
#: Keys of a panel's title in Foxglove and Lichtblick.
TITLES = ("foxglovePanelTitle", "lichtblickPanelTitle")
#: Width of the 3D panel as a share of the window [%].
WIDTH = 60


def foxglove_layout(
    topics: Sequence[ShownTopic], joints: Sequence[str], frame_prefix: str = ""
) -> str:
    """Return a layout of Foxglove.

    Args:
        topics: topics of the robot.
        joints: names of the joints in the order of joint_states.
        frame_prefix: parameter frame_prefix of the simulator.
    """
    beside: dict[str, dict[str, Any]] = {}
    for topic in topics:
        for name, panel in _panels(topic, topics, joints):
            beside[free_name(name, beside)] = panel
    panels = {"3D!robot": _three_d(topics, frame_prefix), **beside}
    layout = {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "first": "3D!robot",
            "second": _column(list(beside)),
            "splitPercentage": WIDTH,
        },
    }
    return json.dumps(layout, indent=1) + "\n"


def _three_d(topics: Sequence[ShownTopic], frame_prefix: str) -> dict[str, Any]:
    layers: dict[str, dict[str, Any]] = {
        "grid": {"layerId": "foxglove.Grid", "instanceId": "grid", "label": "Grid"}
    }
    for robot in (topic.name for topic in topics if topic.type == STRING):
        layers["robot"] = {
            "layerId": "foxglove.Urdf",
            "instanceId": "robot",
            "label": "Robot",
            "sourceType": "topic",
            "topic": robot,
            "displayMode": "auto",
            "framePrefix": frame_prefix,
        }
    return {
        "followTf": WORLD,
        "followMode": "follow-none",
        "layers": {name: {"visible": True, **layer} for name, layer in layers.items()},
        "topics": {topic.name: {"visible": True} for topic in topics if topic.type in DRAWN},
    }


def _panels(
    topic: ShownTopic, topics: Sequence[ShownTopic], joints: Sequence[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the panels for a topic, besides the 3D panel: key and settings of each."""
    if topic.type == JOINTS:
        return [_joint_plot(topic, joints, kind) for kind in ("position", "effort")]
    if topic.type in PLOTTED:
        paths = PLOTTED[topic.type].items()
        return [_plot(topic.title, {f"{topic.name}.{path}": label for path, label in paths})]
    if topic.type == IMAGE:
        return [(f"Image!{topic.title}", {"imageMode": _picture(topic, topics)})]
    if topic.type == DIAGNOSTICS:
        shown = {"topicToRender": topic.name, "minLevel": 0, "pinnedIds": []}
        return [("DiagnosticSummary!all", {**shown, "hardwareIdFilter": "", "sortByLevel": True})]
    return []


def _picture(topic: ShownTopic, topics: Sequence[ShownTopic]) -> dict[str, Any]:
    lens = next(x for x in topics if x.type == CAMERA_INFO and x.title == topic.title)
    return {"imageTopic": topic.name, "calibrationTopic": lens.name}


def _joint_plot(topic: ShownTopic, joints: Sequence[str], kind: str) -> tuple[str, dict[str, Any]]:
    series = {f"{topic.name}.{kind}[{k}]": joint for k, joint in enumerate(joints)}
    return _plot(f"joint {kind}", series)


def _plot(title: str, series: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return key and settings of a plot; `series` has the label of each number by its path."""
    paths = [
        {"value": path, "label": label, "enabled": True, "timestampMethod": "receiveTime"}
        for path, label in series.items()
    ]
    shown = {"showLegend": True, "legendDisplay": "floating", "showPlotValuesInLegend": False}
    axes = {"showXAxisLabels": True, "showYAxisLabels": True, "xAxisVal": "timestamp"}
    settings = {"isSynced": True, "sidebarDimension": 240, **dict.fromkeys(TITLES, title)}
    return f"Plot!{title.replace(' ', '_')}", {"paths": paths, **shown, **axes, **settings}


def _column(names: Sequence[str]) -> str | dict[str, Any]:
    """Return an arrangement with the named panels below each other, all of the same height."""
    first, *others = names
    if not others:
        return first
    share = 100 / len(names)
    return {
        "direction": "column",
        "first": first,
        "second": _column(others),
        "splitPercentage": share,
    }

# SPDX-License-Identifier: Apache-2.0
"""Make an RViz configuration from config/sim.rviz with the model and wrenches of each robot."""

import copy
from collections.abc import Sequence
from typing import Any

import yaml

_MODEL = "rviz_default_plugins/RobotModel"
_MARKERS = "rviz_default_plugins/MarkerArray"


def rviz_config(
    template: str,
    robots: Sequence[tuple[str, str]],
    fixed_frame: str,
    more: Sequence[dict[str, Any]] = (),
) -> str:
    """Return a configuration that shows the robots.

    Args:
        template: configuration for one robot without a namespace.
        robots: namespace and frame_prefix of each robot. A frame_prefix must be empty or end with
            a slash, because RViz appends a slash to its own prefix.
        fixed_frame: frame in which everything is drawn.
        more: further displays.
    """
    config = yaml.safe_load(template)
    manager = config["Visualization Manager"]
    manager["Global Options"]["Fixed Frame"] = fixed_frame
    shown: list[dict[str, Any]] = []
    for display in manager["Displays"]:
        if display["Class"] in (_MODEL, _MARKERS):
            shown += [_of_robot(display, namespace, prefix) for namespace, prefix in robots]
        else:
            shown.append(display)
    manager["Displays"] = [*shown, *more]
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


def _of_robot(display: dict[str, Any], namespace: str, prefix: str) -> dict[str, Any]:
    own = copy.deepcopy(display)
    name = namespace.strip("/")
    root = f"/{name}" if name else ""
    topic = own["Description Topic" if own["Class"] == _MODEL else "Topic"]
    topic["Value"] = root + topic["Value"]
    if name:
        own["Name"] = f"{name} {own['Name']}"
    if own["Class"] == _MODEL:
        own["TF Prefix"] = prefix.removesuffix("/")
    return own

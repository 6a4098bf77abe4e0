# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the launch files: arguments, nodes and discovery."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, SetEnvironmentVariable, Shutdown
from launch_ros.actions import Node

from rbdyn_ros.errors import did_you_mean, listing, quote
from rbdyn_ros.ros.common.settings.parameters import Parameter

BOOLEAN = ("true", "false")
#: Arguments that mean the empty string, as in YAML.
EMPTY = ("''", '""')
#: Largest number of executables that an error lists.
SHOWN = 8
#: Environment variables with which the user limits discovery.
DISCOVERY = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY")


@dataclass(frozen=True, slots=True)
class Executable:
    """An executable of this package, which runs one node.

    Attributes:
        name: name of the executable and of its node.
        table: parameters that launch arguments set.
    """

    name: str
    table: tuple[Parameter, ...]


def params_file_argument(node: Executable, default: str = "") -> DeclareLaunchArgument:
    """Return the argument `params_file`."""
    return DeclareLaunchArgument(
        "params_file",
        default_value=default,
        description=f"YAML file with parameters of the {node.name}. Arguments override it.",
    )


def discovery_argument(nodes: str) -> DeclareLaunchArgument:
    """Return the argument `discovery`, which `restrict_discovery` reads."""
    return DeclareLaunchArgument(
        "discovery",
        default_value="localhost",
        choices=("localhost", "subnet"),
        description=f"Network that can discover {nodes}, unless the environment already sets it.",
    )


def namespace_argument() -> DeclareLaunchArgument:
    """Return the argument `namespace`, for launch files of one robot."""
    return DeclareLaunchArgument(
        "namespace", default_value="", description="Namespace of the node and its topics."
    )


def parameter_arguments(
    of: Executable, defaults: Mapping[str, str] | None = None
) -> list[DeclareLaunchArgument]:
    """Return the parameters of a node as arguments, except urdf, which launch files declare.

    Args:
        of: the node.
        defaults: defaults of arguments by name. The default of all other arguments is empty, which
            means the value of params_file or the node's default.
    """
    arguments = []
    for parameter in of.table:
        if parameter.name == "urdf":
            continue
        choices = BOOLEAN if isinstance(parameter.default, bool) else parameter.choices
        arguments.append(
            DeclareLaunchArgument(
                parameter.name,
                default_value=(defaults or {}).get(parameter.name, ""),
                choices=("", *choices) if choices else None,
                description=f"Parameter of the {of.name}: {parameter.description}; "
                f"{parameter.allowed}.",
            )
        )
    return arguments


def given(context: Any, of: Executable) -> dict[str, str]:
    """Return the parameters of a node that are set by arguments, as YAML."""
    chosen = context.launch_configurations
    return {p.name: plain(chosen[p.name]) for p in of.table if chosen.get(p.name)}


def plain(text: str) -> str:
    """Return the value of a launch argument; two quotes mean the empty string.

    `ros2 launch` refuses `name:=` as malformed, so users type two quotes for an empty string.
    """
    return "" if text in EMPTY else text


def check_executable(package: str, executable: str, hint: str = "") -> None:
    """Raise RuntimeError if a package or its executable is not installed.

    Without this check, launch fails only when it starts the process, and leaves others running.
    """
    try:
        folder = Path(get_package_prefix(package)) / "lib" / package
    except PackageNotFoundError:
        why = f"there is no package '{package}'; install it and source its workspace{hint}"
        raise RuntimeError(why) from None
    if not os.access(folder / executable, os.X_OK):
        there = [path.name for path in sorted(folder.glob("*")) if os.access(path, os.X_OK)]
        found = f"package '{package}' has no executable {quote(executable)}"
        known = f"{did_you_mean(executable, there)}; it has {listing(there, SHOWN)}"
        raise RuntimeError(f"{found}{known if there else ''}")


def check_file(argument: str, path: str) -> None:
    """Raise RuntimeError if the path in an argument is neither empty nor an existing file."""
    if path and not Path(path).is_file():
        raise RuntimeError(f"{argument} is '{path}', which is not a file")


def node(
    of: Executable,
    namespace: str,
    weak: Mapping[str, Any],
    file: str,
    strong: Mapping[str, Any],
    remappings: Iterable[tuple[str, str]] = (),
) -> Node:
    """Return a node of this package; the launch ends when the node ends.

    Args:
        of: executable of the node.
        namespace: namespace of the node.
        weak: parameters that the file may override.
        file: path of a YAML file with parameters, or empty.
        strong: parameters that override the file; strings are YAML.
        remappings: pairs of a topic and its new name.

    Raises:
        RuntimeError: the executable or the file is missing.
    """
    check_executable("rbdyn_ros", of.name)
    check_file("a params_file", file)
    files = [*([file] if file else []), *([_strong_file(of, strong)] if strong else [])]
    return Node(
        package="rbdyn_ros",
        executable=of.name,
        namespace=namespace or None,  # a namespace would apply to every node of the process
        output="screen",
        parameters=[*([dict(weak)] if weak else []), *files],
        remappings=list(remappings),
        on_exit=Shutdown(reason=f"the {of.name} ended"),
    )


def _strong_file(of: Executable, strong: Mapping[str, Any]) -> str:
    """Write parameters to a file that overrides all other files; return its path.

    In ROS 2 an entry with a node name overrides /** in any other file and in -p. If several node
    names match, the last entry counts. The entry of this file comes last, and matches every node
    of the executable.
    """
    texts = {p.name for p in of.table if isinstance(p.default, str)}
    values = {name: v if name in texts else _value(v) for name, v in strong.items()}
    nodes = {f"/**/{of.name}": {"ros__parameters": values}}
    return temporary(yaml.safe_dump(nodes, allow_unicode=True), ".yaml")


def _value(text: Any) -> Any:
    """Return the value in a YAML string; the string itself if no parameter can have this value."""
    if not isinstance(text, str):
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, list) and any(isinstance(number, float) for number in value):
        return [float(n) if type(n) is int else n for n in value]  # ROS needs lists of one type
    return value if isinstance(value, bool | int | float | list) else text


def temporary(text: str, suffix: str) -> str:
    """Write a text to a new temporary file for other processes; return its path."""
    with tempfile.NamedTemporaryFile(
        "w", suffix=suffix, prefix="rbdyn_", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    return file.name


def restrict_discovery(context: Any) -> list[SetEnvironmentVariable]:
    """Limit discovery to this machine, unless the user has chosen another range."""
    chosen = context.launch_configurations["discovery"]
    if chosen != "localhost" or any(name in os.environ for name in DISCOVERY):
        return []
    # Humble and older releases read only ROS_LOCALHOST_ONLY; newer releases replace it
    distro = os.environ.get("ROS_DISTRO", "")
    if distro in ("humble", "foxy", "galactic"):
        return [SetEnvironmentVariable("ROS_LOCALHOST_ONLY", "1")]
    return [SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")]

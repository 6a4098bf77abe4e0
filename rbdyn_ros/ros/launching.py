"""What the launch files share: their arguments, the simulator, RViz, and who may see them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import Any

import yaml
from launch.actions import DeclareLaunchArgument, SetEnvironmentVariable, Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from rbdyn_ros.assets import bundled_robot, share_dir
from rbdyn_ros.ros.params import PARAMETERS
from rbdyn_ros.ros.rviz_config import rviz_config

BOOLEAN = ("true", "false")
#: The parameter that multi_robot.launch.py alone decides.
ROBOTS = "robots"
#: Where the user may have decided already who sees his graph.
DISCOVERY = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY")


def arguments(params_file: str = "") -> list[DeclareLaunchArgument]:
    """Return what every launch file takes: its own arguments, then the node's parameters.

    Args:
        params_file: default of the argument of that name.
    """
    return [
        DeclareLaunchArgument(
            "urdf",
            default_value=_default_robot(),
            description="Path of a .urdf, .xacro or mechanism .yaml file; empty: wait for the "
            "topic robot_description. The default gives way to robot_description and to a urdf "
            "in params_file.",
        ),
        DeclareLaunchArgument(
            "params_file",
            default_value=params_file,
            description="YAML file with parameters of the simulator. Arguments are stronger.",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=BOOLEAN,
            description="Whether what is started beside the simulator takes its time from "
            "/clock; the simulator makes it.",
        ),
        DeclareLaunchArgument(
            "rviz", default_value="false", choices=BOOLEAN, description="Start rviz2."
        ),
        DeclareLaunchArgument(
            "discovery",
            default_value="localhost",
            choices=("localhost", "subnet"),
            description="Who may see the simulator, unless the environment says so already.",
        ),
        *_parameter_arguments(),
    ]


def namespace_argument() -> DeclareLaunchArgument:
    """Return the argument `namespace`, for launch files of one robot."""
    return DeclareLaunchArgument(
        "namespace", default_value="", description="Namespace of the node and its topics."
    )


def _default_robot() -> str:
    return str(bundled_robot("seven_dof_arm"))


def _parameter_arguments() -> list[DeclareLaunchArgument]:
    """Return the parameters of the node as arguments; empty: as in params_file or the node."""
    arguments = []
    for parameter in PARAMETERS:
        if parameter.name in ("urdf", ROBOTS):
            continue
        choices = BOOLEAN if isinstance(parameter.default, bool) else parameter.choices
        unit = f" [{parameter.unit}]" if parameter.unit else ""
        arguments.append(
            DeclareLaunchArgument(
                parameter.name,
                default_value="",
                choices=("", *choices) if choices else None,
                description=f"The simulator's parameter: {parameter.doc}{unit}; "
                f"{parameter.allowed}.",
            )
        )
    return arguments


def simulator(context: Any, namespace: str = "", fixed: dict[str, str] | None = None) -> Node:
    """Return the simulator as the arguments want it; its end ends the launch.

    Args:
        context: of the launch.
        namespace: of the node.
        fixed: parameters that the launch file itself decides, as YAML.
    """
    chosen = context.launch_configurations
    names = [p.name for p in PARAMETERS if p.name != ROBOTS]
    given = {name: chosen[name] for name in names if chosen.get(name)}
    default: list[Any] = []
    if given.get("urdf") == _default_robot():
        if "robot_description" in given:
            given["urdf"] = ""  # of two robots urdf is the stronger, also one in params_file
        else:
            default = [{"urdf": ParameterValue(given.pop("urdf"), value_type=str)}]
    strong = given | (fixed or {})
    files = [chosen["params_file"]] if chosen["params_file"] else []
    if strong:
        files.append(_strong_file(strong))
    return Node(
        package="rbdyn_ros",
        executable="simulator",
        namespace=namespace or None,  # with one, every node of the process would be in it
        output="screen",
        parameters=[*default, *files],
        on_exit=Shutdown(reason="the simulator ended"),
    )


def _strong_file(given: dict[str, str]) -> str:
    """Write parameters to a file that is stronger than any other; return its path.

    A name of a node in one file is stronger than /** in another and in -p, wherever they stand;
    of names that match, the one that appears last is the strongest. This one is the last, matches
    every simulator, and is no name that people use.
    """
    texts = {p.name for p in PARAMETERS if isinstance(p.default, str)}
    values = {name: text if name in texts else _value(text) for name, text in given.items()}
    node = {"/**/simulator": {"ros__parameters": values}}
    return _temporary(yaml.safe_dump(node, allow_unicode=True), ".yaml")


def _value(text: str) -> Any:
    """Return what a text says in YAML; the text if no parameter can be that: the node says so."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, list) and any(isinstance(number, float) for number in value):
        return [float(n) if type(n) is int else n for n in value]  # ROS wants lists of one type
    return value if isinstance(value, bool | int | float | list) else text


def _temporary(text: str, suffix: str) -> str:
    with tempfile.NamedTemporaryFile(
        "w", suffix=suffix, prefix="rbdyn_", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    return file.name


def rviz(context: Any, robots: Iterable[tuple[str, str]]) -> list[Node]:
    """Return RViz, if it is asked for, with these robots: namespace and frame_prefix of each."""
    chosen = context.launch_configurations
    if chosen["rviz"] != "true":
        return []
    template = (share_dir() / "config" / "sim.rviz").read_text(encoding="utf-8")
    config = rviz_config(template, list(robots), chosen["world_frame"] or "world")
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            output="screen",
            arguments=["-d", _temporary(config, ".rviz")],
            parameters=[sim_time(context)],
        )
    ]


def sim_time(context: Any) -> dict[str, bool]:
    """Return the parameter that tells a node whose time it is."""
    return {"use_sim_time": context.launch_configurations["use_sim_time"] == "true"}


def restrict_discovery(context: Any) -> list[SetEnvironmentVariable]:
    """Keep to this machine, but only where the user has not decided otherwise."""
    chosen = context.launch_configurations["discovery"]
    if chosen != "localhost" or any(name in os.environ for name in DISCOVERY):
        return []
    # the first is understood from Iron on, the second up to Humble; each ignores the other
    distro = os.environ.get("ROS_DISTRO", "")
    if distro in ("humble", "foxy", "galactic"):
        return [SetEnvironmentVariable("ROS_LOCALHOST_ONLY", "1")]
    return [SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")]

"""What the launch files share: their arguments, our nodes, RViz, and who may see them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from launch.actions import DeclareLaunchArgument, SetEnvironmentVariable, Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from rbdyn_ros.loading.assets import bundled_robot, share_dir
from rbdyn_ros.ros.common.parameters import Parameter
from rbdyn_ros.ros.common.rviz_config import rviz_config
from rbdyn_ros.ros.simulator.parameters import PARAMETERS

BOOLEAN = ("true", "false")
#: The parameter that multi_robot.launch.py alone decides.
ROBOTS = "robots"
#: Where the user may have decided already who sees his graph.
DISCOVERY = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY")


@dataclass(frozen=True, slots=True)
class Executable:
    """A program of this package that is one node.

    Attributes:
        name: of the program, and of its node.
        table: its parameters that launch arguments set.
    """

    name: str
    table: tuple[Parameter, ...]


SIMULATOR = Executable("simulator", tuple(p for p in PARAMETERS if p.name != ROBOTS))


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
        params_file_argument(SIMULATOR, params_file),
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
        discovery_argument("the simulator"),
        *parameter_arguments(SIMULATOR),
    ]


def params_file_argument(of: Executable, default: str = "") -> DeclareLaunchArgument:
    """Return the argument `params_file`."""
    return DeclareLaunchArgument(
        "params_file",
        default_value=default,
        description=f"YAML file with parameters of the {of.name}. Arguments are stronger.",
    )


def discovery_argument(whom: str) -> DeclareLaunchArgument:
    """Return the argument `discovery`, which `restrict_discovery` reads."""
    return DeclareLaunchArgument(
        "discovery",
        default_value="localhost",
        choices=("localhost", "subnet"),
        description=f"Who may see {whom}, unless the environment says so already.",
    )


def namespace_argument() -> DeclareLaunchArgument:
    """Return the argument `namespace`, for launch files of one robot."""
    return DeclareLaunchArgument(
        "namespace", default_value="", description="Namespace of the node and its topics."
    )


def _default_robot() -> str:
    return str(bundled_robot("seven_dof_arm"))


def parameter_arguments(
    of: Executable, defaults: Mapping[str, str] | None = None
) -> list[DeclareLaunchArgument]:
    """Return parameters of a node as arguments, except urdf, which launch files explain.

    Args:
        of: whose they are.
        defaults: of the arguments; without one it is empty: as in params_file or the node.
    """
    arguments = []
    for parameter in of.table:
        if parameter.name == "urdf":
            continue
        choices = BOOLEAN if isinstance(parameter.default, bool) else parameter.choices
        unit = f" [{parameter.unit}]" if parameter.unit else ""
        arguments.append(
            DeclareLaunchArgument(
                parameter.name,
                default_value=(defaults or {}).get(parameter.name, ""),
                choices=("", *choices) if choices else None,
                description=f"Parameter of the {of.name}: {parameter.doc}{unit}; "
                f"{parameter.allowed}.",
            )
        )
    return arguments


def given(context: Any, of: Executable) -> dict[str, str]:
    """Return the parameters of a node that arguments set, as YAML."""
    chosen = context.launch_configurations
    return {p.name: chosen[p.name] for p in of.table if chosen.get(p.name)}


def simulator(context: Any, namespace: str = "", fixed: dict[str, str] | None = None) -> Node:
    """Return the simulator as the arguments want it; its end ends the launch.

    Args:
        context: of the launch.
        namespace: of the node.
        fixed: parameters that the launch file itself decides, as YAML.
    """
    strong = given(context, SIMULATOR)
    weak: dict[str, Any] = {}
    if strong.get("urdf") == _default_robot():
        if "robot_description" in strong:
            strong["urdf"] = ""  # of two robots urdf is the stronger, also one in params_file
        else:
            weak = default_robot()
            del strong["urdf"]
    file = context.launch_configurations["params_file"]
    return node(SIMULATOR, namespace, weak, file, strong | (fixed or {}))


def default_robot() -> dict[str, Any]:
    """Return the parameter that names the robot to simulate if nobody names another."""
    return {"urdf": ParameterValue(_default_robot(), value_type=str)}


def node(
    of: Executable,
    namespace: str,
    weak: Mapping[str, Any],
    file: str,
    strong: Mapping[str, Any],
    remappings: Iterable[tuple[str, str]] = (),
) -> Node:
    """Return a node of ours; its end ends the launch.

    Args:
        of: which it is.
        namespace: of the node.
        weak: parameters that the file may overrule.
        file: path of a YAML file with parameters, or empty.
        strong: parameters that overrule the file; texts are YAML.
        remappings: of its topics.
    """
    files = [*([file] if file else []), *([_strong_file(of, strong)] if strong else [])]
    return Node(
        package="rbdyn_ros",
        executable=of.name,
        namespace=namespace or None,  # with one, every node of the process would be in it
        output="screen",
        parameters=[*([dict(weak)] if weak else []), *files],
        remappings=list(remappings),
        on_exit=Shutdown(reason=f"the {of.name} ended"),
    )


def _strong_file(of: Executable, strong: Mapping[str, Any]) -> str:
    """Write parameters to a file that is stronger than any other; return its path.

    A name of a node in one file is stronger than /** in another and in -p, wherever they stand;
    of names that match, the one that appears last is the strongest. This one is the last, matches
    every node of that program, and is no name that people use.
    """
    texts = {p.name for p in of.table if isinstance(p.default, str)}
    values = {name: v if name in texts else _value(v) for name, v in strong.items()}
    nodes = {f"/**/{of.name}": {"ros__parameters": values}}
    return _temporary(yaml.safe_dump(nodes, allow_unicode=True), ".yaml")


def _value(text: Any) -> Any:
    """Return what a text says in YAML; the text if no parameter can be that: the node says so."""
    if not isinstance(text, str):
        return text
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

"""What the launch files of a controlled arm share: the controller, and a simulator as the arm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.launch_description import LaunchDescription
from launch_ros.actions import Node

from rbdyn_ros.control.arm import mounted_gravity
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.common import launching

CONTROLLER = launching.Executable("arm_controller", arm_params.PARAMETERS)
#: Topics whose names are arguments, as real arms have their own.
TOPICS = {
    "joint_states": "that the arm publishes",
    "joint_commands": "that efforts go to by name (sensor_msgs/JointState)",
    "effort_commands": "that efforts go to by order (std_msgs/Float64MultiArray)",
}
#: What a simulator that stands in for an arm does, unless sim_params_file says otherwise: it
#: stands until the controller is armed, and its stamps are those of this computer's clock.
AS_AN_ARM = {"on_timeout": "gravity", "publish_clock": False}
#: What the controller does then, unless it is told otherwise: friction is just that of the file.
OF_A_SIMULATED_ARM = {"dry_run": False, "friction_compensation": 1.0}
#: What the controller is told of the arm that the simulator has to know, too.
TEXTS = ("urdf", "robot_description")
OF_THE_ARM = (*TEXTS, "strict", "gravity", "mounting_rpy", "robot_compensates_gravity")


def description(mode: str) -> LaunchDescription:
    """Return what a launch file of an arm starts.

    Args:
        mode: of the controller, unless the argument of that name says otherwise.
    """
    return LaunchDescription(
        [
            launching.namespace_argument(),
            *_arguments(),
            *launching.parameter_arguments(CONTROLLER, {"mode": mode}),
            OpaqueFunction(function=launching.restrict_discovery),
            OpaqueFunction(function=_start),
        ]
    )


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument(
            "urdf",
            default_value="",
            description="Path of a .urdf or .xacro file; empty: as in params_file, else wait for "
            "the topic robot_description. With sim, the simulator reads it, too.",
        ),
        launching.params_file_argument(CONTROLLER),
        DeclareLaunchArgument(
            "sim",
            default_value="false",
            choices=launching.BOOLEAN,
            description="Whether a simulator is started as the arm. Unless they are set, dry_run "
            "is false and friction_compensation 1 then.",
        ),
        DeclareLaunchArgument(
            "sim_params_file",
            default_value="",
            description="YAML file with parameters of that simulator.",
        ),
        DeclareLaunchArgument(
            "sim_initial_positions",
            default_value="",
            description="Where its joints start [rad or m], as {elbow_pitch: 0.5}; others at 0.",
        ),
        launching.discovery_argument("what is started"),
        *(
            DeclareLaunchArgument(
                name, default_value=name, description=f"Name of the topic {what}."
            )
            for name, what in TOPICS.items()
        ),
    ]


def _start(context: Any) -> list[Any]:
    chosen = context.launch_configurations
    strong = launching.given(context, CONTROLLER)
    names = [(name, chosen[name]) for name in TOPICS if chosen[name] != name]
    space, file = chosen["namespace"], chosen["params_file"]
    weak = OF_A_SIMULATED_ARM if chosen["sim"] == "true" else {}
    controller = launching.node(CONTROLLER, space, weak, file, strong, names)
    if chosen["sim"] != "true":
        return [controller]
    service = "/".join(["", *space.strip("/").split("/"), "arm_controller", "arm"])
    say = f"a simulator is the arm; to arm it: ros2 service call {service} std_srvs/srv/Trigger"
    told = _of_the_arm(strong, file, space)
    return [LogInfo(msg=say.replace("//", "/")), _arm(context, told, names), controller]


def _of_the_arm(strong: Mapping[str, str], file: str, space: str) -> dict[str, Any]:
    """Return what the controller is told of the arm: arguments are stronger than params_file.

    Raises:
        RuntimeError: the simulator cannot be such an arm, or the file cannot be read.
    """
    node = "/".join(["", *space.strip("/").split("/"), CONTROLLER.name]).replace("//", "/")
    told = _in_file(file, node) if file else {}
    for name in OF_THE_ARM:
        if name in strong:
            told[name] = strong[name] if name in TEXTS else yaml.safe_load(strong[name])
    # an empty text is none, as it is for the node
    told = {name: told[name] for name in OF_THE_ARM if told.get(name, "") != ""}
    if told.get("robot_compensates_gravity") is True:
        raise RuntimeError(
            "robot_compensates_gravity is true; the simulator is an arm that does not, so leave "
            "it out with sim:=true"
        )
    return told


def _in_file(path: str, node: str) -> dict[str, Any]:
    """Return the parameters by name that a YAML file has for a node of that full name.

    As ROS reads it: of entries that match the node, the last one that has a parameter counts.
    """
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RuntimeError(f"params_file is '{path}', which cannot be read: {error}") from None
    found: dict[str, Any] = {}
    for name, value in _flat(entries):
        pattern, parameters, parameter = name.partition("/ros__parameters/")
        if parameters and re.fullmatch(_expression(pattern), node):
            found[parameter.replace("/", ".")] = value
    return found


def _flat(entries: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested mappings, the names on the way to each joined by slashes."""
    if not isinstance(entries, dict):
        return
    for name, value in entries.items():
        if isinstance(value, dict):
            yield from ((f"{name}/{inner}", deep) for inner, deep in _flat(value))
        else:
            yield str(name), value


def _expression(pattern: str) -> str:
    """Return names of nodes, where * is one part and ** any number of them, for fullmatch."""
    parts = {"**": r"(/\w+)*", "*": r"/\w+"}
    return "".join(parts.get(p, "/" + re.escape(p)) for p in pattern.split("/") if p)


def _arm(context: Any, told: Mapping[str, Any], names: list[tuple[str, str]]) -> Node:
    """Return the simulator of the robot that the controller is told of, mounted as that is."""
    chosen = context.launch_configurations
    own = {name: told[name] for name in (*TEXTS, "strict") if name in told}
    if "gravity" in told or "mounting_rpy" in told:
        own["gravity"] = _gravity(told)
    for joint, position in _positions(chosen["sim_initial_positions"]).items():
        own[f"initial_positions.{joint}"] = position
    robot = {} if "urdf" in own or "robot_description" in own else launching.default_robot()
    return launching.node(
        launching.SIMULATOR,
        chosen["namespace"],
        robot | AS_AN_ARM,
        chosen["sim_params_file"],
        own,
        names,
    )


def _gravity(told: Mapping[str, Any]) -> list[float]:
    """Return gravity as the base link sees it: that of the simulator stands upright."""
    table = {parameter.name: parameter for parameter in CONTROLLER.table}
    gravity, mounting = (
        table[name].checked(told.get(name, table[name].default))
        for name in ("gravity", "mounting_rpy")
    )
    numbers: list[float] = mounted_gravity(mounting, gravity).tolist()
    return numbers


def _positions(text: str) -> dict[str, float]:
    """Return positions by joint, of YAML.

    Raises:
        RuntimeError: the text is something else.
    """
    try:
        found = yaml.safe_load(text) if text else {}
        return {str(joint): float(number) for joint, number in found.items()}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        raise RuntimeError(
            f"sim_initial_positions is '{text}'; allowed are joints and numbers, as in "
            "{elbow_pitch: 0.5, wrist_pitch: -0.2}"
        ) from None

# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the launch files of an arm: the controller, and a simulator as the arm."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.launch_description import LaunchDescription
from launch_ros.actions import Node

from rbdyn_ros.control.arm.arm import mounted_gravity
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import xacro_arguments
from rbdyn_ros.description.scene_files.arm_scene import read_arm_scene
from rbdyn_ros.errors import ParameterError, RbdynError
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.arm.arm_time import CLOCK
from rbdyn_ros.ros.arm.presets import ArmPreset, preset_of
from rbdyn_ros.ros.common.settings import launching
from rbdyn_ros.ros.common.settings.shared_parameters import OF_THE_DRIVER
from rbdyn_ros.ros.simulator import launching as sim_launching

CONTROLLER = launching.Executable("arm_controller", arm_params.PARAMETERS)
#: Topics that the launch arguments can rename, because each real arm has its own names.
TOPICS = {
    "joint_states": "with the states of the arm",
    "joint_commands": "for efforts or positions by name (sensor_msgs/JointState)",
    "effort_commands": "for efforts in order (std_msgs/Float64MultiArray)",
    "position_commands": "for positions in order (std_msgs/Float64MultiArray)",
    "trajectory_commands": "for positions as trajectories (trajectory_msgs/JointTrajectory)",
    "wrench": "of the force-torque sensor for mode admittance (geometry_msgs/WrenchStamped)",
}
#: Parameters of the simulator as an arm; sim_params_file overrides them. The simulated arm holds
#: still until the controller is armed.
AS_AN_ARM = {"on_timeout": "gravity"}
#: Time for which a simulated arm in lock-step waits for a controller that was disarmed [s].
WAITS = 2.0
#: Values of parameter `output` whose messages have a stamp, which lock-step needs.
STAMPED = ("joint_commands", "joint_positions")
#: Parameters of the controller of a simulated arm: the friction is exactly the friction of the
#: robot file, and the time is the simulator's.
FOR_A_SIMULATED_ARM = {"dry_run": False, "friction_compensation": 1.0, "simulated_clock": True}
#: Parameters that describe the driver of the arm, real or simulated.
DRIVER = tuple(parameter.name for parameter in OF_THE_DRIVER)
#: Parameters of the controller that the simulator also needs.
TEXTS = ("urdf", "robot_description")
READING = ("xacro_args", "package_dirs", "strict")
OF_THE_ARM = (
    *TEXTS,
    "arm",
    "scene",
    *READING,
    "gravity",
    "mounting_rpy",
    "joints",
    "output",
    *DRIVER,
)


def description(mode: str) -> LaunchDescription:
    """Return the launch description of an arm.

    Args:
        mode: default of the argument mode.
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
            description="Path of a .urdf or .xacro file; by default the path in "
            "params_file, or else the topic robot_description; '' (two quotes): always the "
            "topic. With sim, the simulator reads it too.",
        ),
        launching.params_file_argument(CONTROLLER),
        DeclareLaunchArgument(
            "sim",
            default_value="false",
            choices=launching.BOOLEAN,
            description="Start a simulator as the arm, in lock-step with the controller. Then "
            "dry_run is false, friction_compensation 1 and simulated_clock true, unless they are "
            "set.",
        ),
        DeclareLaunchArgument(
            "sim_params_file",
            default_value="",
            description="YAML file with parameters of that simulator.",
        ),
        DeclareLaunchArgument(
            "sim_initial_positions",
            default_value="",
            description="Initial positions of its joints [rad or m], as {elbow_pitch: 0.5}; "
            "other joints: 0.",
        ),
        launching.discovery_argument("the nodes"),
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
    space, file = chosen["namespace"], launching.plain(chosen["params_file"])
    if chosen["sim"] != "true":
        return [launching.node(CONTROLLER, space, {}, file, strong, names)]
    arm = _arm_parameters(strong, file, space)
    preset = _preset(arm)
    arm = (preset.defaults if preset else {}) | arm
    if space.strip("/"):  # each of several simulated arms has a clock of its own
        names.append((CLOCK, f"/{space.strip('/')}{CLOCK}"))
    weak = FOR_A_SIMULATED_ARM
    if arm.get("robot_compensates_friction") is True:
        weak = {name: value for name, value in weak.items() if name != "friction_compensation"}
    controller = launching.node(CONTROLLER, space, weak, file, strong, names)
    # the simulator gets the names of the driver's topics
    topics = {name: fact.value for name, fact in preset.topics.items()} if preset else {}
    simulator = _simulator(context, arm, list((topics | dict(names)).items()))
    service = "/".join(["", *space.strip("/").split("/"), "arm_controller", "arm"])
    hint = f"a simulator is the arm; to arm it: ros2 service call {service} std_srvs/srv/Trigger"
    return [LogInfo(msg=hint.replace("//", "/")), simulator, controller]


def _preset(arm: Mapping[str, Any]) -> ArmPreset | None:
    """Return the preset of the arm, or None; raise RuntimeError if its name is unknown."""
    if "arm" not in arm:
        return None
    try:
        return preset_of(str(arm["arm"]))
    except ParameterError as error:
        raise RuntimeError(str(error)) from None


def _arm_parameters(strong: Mapping[str, str], file: str, space: str) -> dict[str, Any]:
    """Return the controller's parameters that describe the arm; arguments override params_file.

    Raises:
        RuntimeError: the file cannot be read.
    """
    node = "/".join(["", *space.strip("/").split("/"), CONTROLLER.name]).replace("//", "/")
    arm = _in_file(file, node) if file else {}
    for name in OF_THE_ARM:
        if name in strong:
            plain = name in (*TEXTS, "scene", "arm", "output")
            arm[name] = strong[name] if plain else yaml.safe_load(strong[name])
    # an empty string means no value, as for the node; an empty urdf means the topic
    waits = {"urdf": ""} if strong.get("urdf") == "" else {}
    return {name: arm[name] for name in OF_THE_ARM if arm.get(name, "") != ""} | waits


def _in_file(path: str, node: str) -> dict[str, Any]:
    """Return the parameters in a YAML file for the node with this full name.

    As in ROS 2, the last matching entry of a parameter counts. Raises RuntimeError if the file
    cannot be read.
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
    """Yield the values of nested mappings with their paths, joined by slashes."""
    if not isinstance(entries, dict):
        return
    for name, value in entries.items():
        if isinstance(value, dict):
            yield from ((f"{name}/{inner}", deep) for inner, deep in _flat(value))
        else:
            yield str(name), value


def _expression(pattern: str) -> str:
    """Return a pattern of node names as a regular expression; * is one part, ** any number."""
    parts = {"**": r"(/\w+)*", "*": r"/\w+"}
    return "".join(parts.get(p, "/" + re.escape(p)) for p in pattern.split("/") if p)


def _simulator(context: Any, arm: Mapping[str, Any], names: list[tuple[str, str]]) -> Node:
    """Return the launch action of a simulator of the controller's robot with the same mounting.

    Args:
        context: context of the launch.
        arm: parameters of the controller that describe the arm.
        names: remappings of the topics.
    """
    chosen = context.launch_configurations
    own = {name: arm[name] for name in (*TEXTS, *READING, *DRIVER) if name in arm}
    if "gravity" in arm or "mounting_rpy" in arm:
        own["gravity"] = _gravity(arm)
    for joint, position in _positions(chosen["sim_initial_positions"]).items():
        own[f"initial_positions.{joint}"] = position
    if _robot_of_scene(arm) is not None:
        # the scene contains the mounting of the arm, so gravity is in world axes
        mine = {"scene": arm["scene"]} | ({"gravity": arm["gravity"]} if "gravity" in arm else {})
        own = {name: own[name] for name in own if name not in (*TEXTS, "gravity")} | mine
    robot = (
        {}
        if "scene" in own or "urdf" in own or "robot_description" in own
        else sim_launching.default_parameter()
    )
    return launching.node(
        sim_launching.SIMULATOR,
        chosen["namespace"],
        robot | AS_AN_ARM | _lockstep(arm),
        launching.plain(chosen["sim_params_file"]),
        own,
        names,
    )


def _robot_of_scene(arm: Mapping[str, Any]) -> RobotFile | None:
    """Return the robot of the arm's scene; None if there is no scene or it has no robot."""
    if "scene" not in arm:
        return None
    return read_arm_scene(arm["scene"], arm.get("package_dirs", ())).robot


def _lockstep(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the simulator's parameters for lock-step, or {} if it runs in real time.

    Lock-step needs commands with a stamp, and the list of the commanded joints. Time can then wait
    for the commands, because there is no real device.
    """
    if arm.get("output", STAMPED[0]) not in STAMPED:
        return {}
    joints = list(arm.get("joints", ())) or _controlled(arm)
    if not joints:
        return {}
    return {"time_mode": "lockstep", "lockstep_timeout": WAITS, "lockstep_joints": joints}


def _controlled(arm: Mapping[str, Any]) -> list[str]:
    """Return the joints that the controller controls by default; [] if the robot cannot be read.

    The nodes report why it cannot be read.
    """
    robot = arm.get(
        "urdf",
        _robot_of_scene(arm) or arm.get("robot_description") or sim_launching.default_robot(),
    )
    try:
        m = load_urdf(
            robot,
            strict=bool(arm.get("strict", True)),
            package_dirs=arm.get("package_dirs", ()),
            xacro_args=xacro_arguments(arm.get("xacro_args", ())),
        )
        return list(Limits.of(m).names)
    except RbdynError:
        return []


def _gravity(arm: Mapping[str, Any]) -> list[float]:
    """Return gravity (3,) in the axes of the base link, which the simulator mounts upright."""
    table = {parameter.name: parameter for parameter in CONTROLLER.table}
    gravity, mounting = (
        table[name].checked(arm.get(name, table[name].default))
        for name in ("gravity", "mounting_rpy")
    )
    numbers: list[float] = mounted_gravity(mounting, gravity).tolist()
    return numbers


def _positions(text: str) -> dict[str, float]:
    """Return the positions of joints in a YAML string, by joint name; "" means none.

    Raises:
        RuntimeError: the string is invalid.
    """
    try:
        found = yaml.safe_load(text) if text else {}
        return {str(joint): float(number) for joint, number in found.items()}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        raise RuntimeError(
            f"sim_initial_positions is '{text}'; allowed are joints and numbers, such as "
            "{elbow_pitch: 0.5, wrist_pitch: -0.2}"
        ) from None

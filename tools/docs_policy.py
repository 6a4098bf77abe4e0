# SPDX-License-Identifier: Apache-2.0
"""Generate the SROS2 policy config/sros2/policy.xml: the rights of each role with our nodes.

A role has groups of names. If one role publishes a topic, another role subscribes to it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from docs_parameters import TABLES

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Permissions of the nodes, for `ros2 security create_permission` (docs/guides/security.md);
     written by tools/docs.py from tools/docs_policy.py.

     The * before a name stands for any namespace, or none. For one robot write its namespace, as
     in left/joint_states, or nothing: sed "s|>[*]|>left/|". -->
<policy version="0.2.0">
  <enclaves>
"""
TAIL = "  </enclaves>\n</policy>\n"

COMMANDS = (
    "*joint_commands",
    "*joint_commands_by_mode",
    "*effort_commands",
    "*joint_trajectory",
    "*topic_based_joint_commands",
    "*gripper_commands",
    "*cmd_vel",
    "*simulator/twist",
    "*lowcmd",
)
ARM_COMMANDS = (
    "*joint_commands",
    "*effort_commands",
    "*position_commands",
    "*trajectory_commands",
    "*gripper_commands",
)
LIFECYCLE = (
    "get_state",
    "get_available_states",
    "get_available_transitions",
    "get_transition_graph",
)
READ_PARAMETERS = (
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "get_type_description",
    "list_parameters",
)
SET_PARAMETERS = ("set_parameters", "set_parameters_atomically")


@dataclass(frozen=True)
class Group:
    """Names with the same rights.

    Attributes:
        rights: rights as in SROS2, such as `publish`; separated by spaces.
        names: topics, services or actions.
        comment: comment above them; may be empty.
    """

    rights: str
    names: tuple[str, ...]
    comment: str = ""

    @property
    def kind(self) -> str:
        kinds = {"publish": "topic", "subscribe": "topic", "reply": "service"}
        kinds |= {"request": "service", "execute": "action", "call": "action"}
        return kinds[self.rights.split()[0]]


@dataclass(frozen=True)
class Role:
    """An enclave: a node and its groups of names.

    Attributes:
        node: name of the enclave and of the node.
        purpose: comment above it.
        groups: groups in addition to the groups of every node.
    """

    node: str
    purpose: str
    groups: tuple[Group, ...]


def _of(node: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"*{node}/{name}" for name in names)


def _services(node: str, changes: tuple[str, ...], queries: tuple[str, ...]) -> _Services:
    """Return the services of a node, including services of its life cycle and parameters.

    changes: services that change something. queries: services that only read.
    """
    live = any(row.live for row in TABLES[node])
    writing = (*changes, "change_state", *(SET_PARAMETERS if live else ()))
    reading = (*queries, *LIFECYCLE, *READ_PARAMETERS)
    return _Services(_of(node, writing), _of(node, reading))


@dataclass(frozen=True)
class _Services:
    change: tuple[str, ...]
    read: tuple[str, ...]


SIMULATOR = _services(
    "simulator",
    (
        "pause",
        "step",
        "reset",
        "state_hash",
        "clear_wrenches",
        "set_joint_state",
        "apply_wrench",
        "set_payload",
        "set_gravity",
        "reset_with",
        "save_state",
        *("user_stop", "guiding", "reboot", "*/user_stop", "*/guiding", "*/reboot"),
        "attach",
        "detach",
        "set_surface_velocity",
        "spawn_entity",
        "spawn_entities",
        "delete_entity",
        "set_entity_info",
        "load_world",
        "unload_world",
        "load_state",
        "set_simulation_state",
        "reset_simulation",
        "step_simulation",
        "set_entity_state",
    ),
    (
        "get_dynamics",
        "get_ik",
        "tool_marker/get_interactive_markers",
        "get_simulator_features",
        "get_simulation_state",
        "get_entities",
        "get_entities_states",
        "get_entity_info",
        "get_entity_state",
        "get_entity_bounds",
        "get_spawnables",
        "get_current_world",
        "get_available_worlds",
    ),
)
EXTERNAL = ("external_effort", "external_wrench")
SIMULATED = (
    "*joint_states",
    "*motor_states",
    "*lowstate",
    "*odom",
    "*planning_scene",
    "*object_poses",
    "*robot_description",
    "*robot_description_semantic",
    *_of(
        "simulator",
        (
            "stats",
            "wrench_markers",
            "servo_status",
            "tool_marker/update",
            *EXTERNAL,
            "transition_event",
        ),
    ),
    "**/data",
    "**/data_raw",
    "**/wrench",
    "**/contact",
    "**/mag",
    "**/fix",
    "**/pose",
    "**/effort",
    "/tf",
    "/tf_static",
    "/clock",
    "/diagnostics",
    "/_simulators",
)
CHANGES = _of(
    "simulator", ("wrench", "payload", "gravity", "set_joint_state", "tool_marker/feedback")
)
GRIPS = ("gripper_cmd", "parallel_gripper_cmd", "*/gripper_cmd", "*/parallel_gripper_cmd")
STEPS = _of("simulator", ("simulate_steps",))
SIMULATED_GRIPS = _of("simulator", GRIPS)

ARM = _services(
    "arm_controller",
    (
        "arm",
        "disarm",
        "clear_fault",
        "idle",
        "gravity",
        "hold",
        "computed_torque",
        "impedance",
        "tracking",
        "admittance",
        "set_payload",
        "estimate_payload",
    ),
    (
        "get_gravity_effort",
        "get_inverse_dynamics",
        "get_computed_torque",
        "get_ik",
        "tool_marker/get_interactive_markers",
    ),
)
CONTROLLED = (
    *_of(
        "arm_controller",
        ("efforts", "positions", "status", "servo_status", *EXTERNAL, "transition_event"),
    ),
    *_of("arm_controller", ("payload_estimate", "payload_covariance", "tool_marker/update")),
    *ARM_COMMANDS,
)
TARGETS = _of(
    "arm_controller",
    (
        "joint_trajectory",
        "cartesian_path",
        "target_pose",
        "twist",
        "payload",
        "tool_marker/feedback",
    ),
)
FOLLOW = _of("arm_controller", ("follow_joint_trajectory", *GRIPS))

READ_SIMULATOR = (
    Group("subscribe", SIMULATED, "topics of the simulator"),
    Group("request", SIMULATOR.read, "services that change nothing"),
)

ROLES = (
    Role(
        "simulator",
        "The simulator.",
        (
            Group("publish", SIMULATED),
            Group("subscribe", COMMANDS, "commands"),
            Group("subscribe", CHANGES, "other changes to the robot"),
            Group(
                "subscribe",
                ("*robot_description", "/clock", "/_simulators"),
                "a robot description, and the time and the claims of other simulators",
            ),
            Group("reply", SIMULATOR.change + SIMULATOR.read),
            Group("execute", STEPS + SIMULATED_GRIPS),
            Group(
                "reply",
                (
                    "*simulator_listener/get_type_description",
                    "*_simulator_steps/get_type_description",
                    "*_simulator_gripper*/get_type_description",
                    "*_simulator_claims/get_type_description",
                ),
                "its helper nodes",
            ),
        ),
    ),
    Role(
        "controller",
        "A controller: reads states and commands joints; does not pause, reset or set "
        "parameters. Replace controller with the name of your node.",
        (
            Group("publish", COMMANDS),
            Group("subscribe", ("*cmd_vel",), "velocities for policy_node"),
            Group("call", SIMULATED_GRIPS),
            *READ_SIMULATOR,
        ),
    ),
    Role(
        "operator",
        "An operator of the simulation: pauses, resets, pushes, sets faults; commands no joint.",
        (
            Group("publish", CHANGES),
            Group("request", SIMULATOR.change),
            Group("call", STEPS),
            *READ_SIMULATOR,
        ),
    ),
    Role(
        "arm_controller",
        "The controller of a real arm: reads its states and commands efforts or positions.",
        (
            Group("publish", (*CONTROLLED, "/diagnostics")),
            Group(
                "subscribe",
                ("*joint_states", "*wrench", "*robot_description", "/clock"),
                "the arm",
            ),
            Group("subscribe", TARGETS, "targets and payloads"),
            Group("reply", ARM.change + ARM.read),
            Group("execute", FOLLOW),
            Group(
                "reply",
                (
                    "*_arm_controller_io/get_type_description",
                    "*_arm_controller_time/get_type_description",
                    "*_arm_controller_follow/get_type_description",
                    "*_arm_controller_gripper*/get_type_description",
                    "*_arm_controller_arming/get_type_description",
                ),
                "its helper nodes",
            ),
        ),
    ),
    Role(
        "arm_operator",
        "An operator of a real arm, a person or a planner: arms it and sends targets; commands "
        "no joint directly.",
        (
            Group("publish", TARGETS),
            Group("request", ARM.change),
            Group("call", FOLLOW),
            Group("subscribe", (*CONTROLLED, "/diagnostics"), "topics of the controller"),
            Group("request", ARM.read, "services that change nothing"),
        ),
    ),
    Role(
        "observer",
        "An observer, such as a recorder or a display: only reads.",
        (
            *READ_SIMULATOR,
            Group("subscribe", CONTROLLED, "topics of an arm controller"),
            Group("request", ARM.read),
        ),
    ),
)


def policy_text() -> str:
    """Return the policy of all roles as XML."""
    return HEAD + "".join(map(_enclave, ROLES)) + TAIL


def _enclave(role: Role) -> str:
    parameters = READ_PARAMETERS + SET_PARAMETERS
    node: tuple[Group, ...] = (
        Group("publish", ("/rosout",), "of every node"),
        Group("publish subscribe", ("/parameter_events",)),
    )
    if role.node not in TABLES:  # our nodes list them among their services
        node += (Group("reply", _of(role.node, parameters)),)
        # the node of the command ros2 has no namespace
        own = tuple(f"/_ros2cli*/{name}" for name in parameters)
        node += (Group("reply", own, "of the nodes of the command ros2"),)
    lines = [
        textwrap.fill(
            f"<!-- {role.purpose} -->",
            99,
            initial_indent="    ",
            subsequent_indent="         ",
            break_on_hyphens=False,
        ),
        f'    <enclave path="/rbdyn_ros/{role.node}">',
        "      <profiles>",
        f'        <profile ns="/" node="{role.node}">',
        *(line for group in (*role.groups, *node) for line in _group_lines(group)),
        "        </profile>",
        "      </profiles>",
        "    </enclave>",
    ]
    return "\n".join(lines) + "\n"


def _group_lines(group: Group) -> list[str]:
    rights = " ".join(f'{right}="ALLOW"' for right in group.rights.split())
    indent = " " * 10
    return [
        *([f"{indent}<!-- {group.comment} -->"] if group.comment else []),
        f"{indent}<{group.kind}s {rights}>",
        *(f"{indent}  <{group.kind}>{name}</{group.kind}>" for name in group.names),
        f"{indent}</{group.kind}s>",
    ]

# SPDX-License-Identifier: Apache-2.0
"""All parameters of the arm controller; functions make the library's settings from them."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from rbdyn_ros.control.arm.settings import MODES, ControlSettings
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.states.gate import GateSettings
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.arm.command_topics import OUTPUTS
from rbdyn_ros.ros.arm.law_parameters import LAWS
from rbdyn_ros.ros.arm.safety_parameters import SAFETY
from rbdyn_ros.ros.common.gripper.grippers import PARAMETERS as GRIPPERS
from rbdyn_ros.ros.common.settings import shared_parameters
from rbdyn_ros.ros.common.settings.parameters import Parameter, group
from rbdyn_ros.ros.common.tool.servoing import PARAMETERS as SERVO

PARAMETERS = (
    *group(
        "robot",
        Parameter("arm", "", "name of an arm, such as ur5e: its preset in config/arms sets the "
            "topics of its driver and the compensation of its own controller; explicit "
            "parameters and topics override the preset"),
        Parameter("urdf", "", "path of a .urdf or .xacro file"),
        shared_parameters.XACRO_ARGS,
        shared_parameters.PACKAGE_DIRS,
        shared_parameters.DESCRIPTION,
        shared_parameters.STRICT,
        shared_parameters.SHA256,
        Parameter("joints", (), "joints to control; empty: all joints with an effort limit"),
        shared_parameters.GRAVITY,
        Parameter("mounting_rpy", [0.0, 0.0, 0.0],
            "roll, pitch, yaw of the base link in the world", "rad", -7.0, 7.0),
        *shared_parameters.OF_THE_DRIVER,
    ),
    *group(
        "operation",
        Parameter("mode", "idle", "mode at startup", choices=MODES),
        Parameter("dry_run", True, "send no efforts to the arm; publish them on ~/efforts only"),
        Parameter("autostart", True, "start at once; false: wait for the lifecycle transitions"),
        Parameter("output", "joint_commands", "topics on which efforts are sent; or, for an arm "
            "that takes positions, joint_positions (on joint_commands), position_commands or "
            "trajectory_commands", choices=tuple(OUTPUTS)),
        Parameter("states_reliability", "reliable", "reliability of the subscription to "
            "joint_states; best_effort accepts best-effort drivers too",
            choices=("reliable", "best_effort")),
        Parameter("specialize", False, "compile code for this arm at startup and compute the laws "
            "of the joints with it"),
        shared_parameters.REALTIME,
        Parameter("stats_rate", 1.0, "rate of /diagnostics", "Hz", 0.01, 100.0),
    ),
    *SAFETY,
    *LAWS,
    *group("external efforts", *shared_parameters.EXTERNAL),
    *group(
        "estimate of the payload",
        Parameter("estimate.link", "", "link whose payload ~/estimate_payload estimates, such as "
            "the tool; empty: off"),
    ),
    *GRIPPERS,
    *SERVO,
)  # fmt: skip

_FRICTION = ("viscous", "coulomb", "stribeck", "stribeck_velocity", "smoothing")


def friction_of(values: SimpleNamespace, m: Model) -> Friction:
    """Return the friction to compensate.

    Raises:
        ParameterError: a list has neither one value nor nv values, or the robot also compensates
            friction.
    """
    if values.robot_compensates_friction and values.friction_compensation > 0.0:
        text = (
            f"friction_compensation is {values.friction_compensation:g}, but the arm's own "
            "controller compensates friction (robot_compensates_friction); set "
            "friction_compensation to 0, or friction counts twice"
        )
        raise ParameterError(Finding("friction-twice", text, "error", "friction_compensation"))
    return _friction(values, m).scaled(values.friction_compensation)


def declared_friction(values: SimpleNamespace, m: Model) -> Friction:
    """Return the joints' friction as the parameters declare it; measured efforts include it."""
    share = 0.0 if values.robot_compensates_friction else 1.0
    return _friction(values, m).scaled(share)


def _friction(values: SimpleNamespace, m: Model) -> Friction:
    found = {name: getattr(values, f"friction.{name}") for name in _FRICTION}
    if getattr(values, "friction.from_robot"):
        found |= {"viscous": m.dof_damping, "coulomb": m.dof_frictionloss}
    sizes = {name: _one_or_all(numbers) for name, numbers in found.items()}
    return Friction.of(m.nv, **sizes)


def gate_settings(values: SimpleNamespace, simulated: bool) -> GateSettings:
    """Return the settings of the safety gate.

    Args:
        values: values of the parameters.
        simulated: whether the stamps are simulated time, which simulated_clock may also declare.
    """
    chosen = _chosen(values, GateSettings)
    return GateSettings(**chosen | {"simulated": simulated or chosen["simulated"]})


def settings(values: SimpleNamespace) -> ControlSettings:
    """Return the settings of the controller from the values of the node's parameters."""
    return ControlSettings(**_chosen(values, ControlSettings))


def _chosen(values: SimpleNamespace, kind: Any) -> dict[str, Any]:
    """Return the values of the parameters that set fields of the class `kind`, by field name."""
    names = {field.name for field in fields(kind)}
    rows = {row.setting or row.name: row for row in PARAMETERS}
    return {name: _one_or_all(getattr(values, rows[name].name)) for name in names & rows.keys()}


def _one_or_all(value: Any) -> Any:
    """Return the single number of a list, which is for all joints; else the value unchanged."""
    single = not isinstance(value, str) and hasattr(value, "__len__") and len(value) == 1
    return value[0] if single else value

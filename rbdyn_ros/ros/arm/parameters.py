"""Every parameter of the arm controller, in one table, and what it means to the library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rbdyn_ros.control.friction import Friction
from rbdyn_ros.control.gate import GateSettings
from rbdyn_ros.control.settings import MODES, Settings
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parameters import Parameter
from rbdyn_ros.ros.common.unfit import LARGEST_GRAVITY
from rbdyn_ros.runtime.realtime import MODES as REALTIME

OUTPUTS = ("joint_commands", "effort_commands", "both")
TIGHTENING = ("effort_scale", "velocity_scale", "position_inset")


def _gains(name: str, default: list[float], doc: str, unit: str) -> Parameter:
    return Parameter(name, default, doc, unit, 0.0, 1e6, fixed=False)


PARAMETERS = (
    Parameter("urdf", "", "path of a .urdf or .xacro file"),
    Parameter("robot_description", "", "text of a URDF; used if urdf is empty"),
    Parameter("strict", True, "refuse a robot with flaws that could be repaired, see rbdyn check"),
    Parameter("required_sha256", "", "refuse a robot whose model_sha256 is another; empty: none"),
    Parameter("joints", (), "joints to control; empty: all that have a limit of their effort"),
    Parameter(
        "specialize",
        False,
        "compute the laws of the joints by code compiled for this arm alone, at the start",
    ),
    Parameter(
        "gravity",
        [0.0, 0.0, -9.81],
        "gravitational acceleration in the world",
        "m/s^2",
        -LARGEST_GRAVITY,
        LARGEST_GRAVITY,
    ),
    Parameter(
        "mounting_rpy",
        [0.0, 0.0, 0.0],
        "roll, pitch, yaw of the base link in the world",
        "rad",
        -7.0,
        7.0,
    ),
    Parameter("mode", "idle", "mode at the start", choices=MODES),
    Parameter("dry_run", True, "nothing reaches the arm; efforts are on ~/efforts only"),
    Parameter("autostart", True, "start at once; false: the lifecycle transitions do"),
    Parameter("output", "joint_commands", "topics that efforts go to", choices=OUTPUTS),
    Parameter(
        "states_reliability",
        "reliable",
        "of the subscription to joint_states; best_effort also hears drivers that are",
        choices=("reliable", "best_effort"),
    ),
    Parameter(
        "robot_compensates_gravity", False, "the arm's own controller adds g, without payloads"
    ),
    Parameter(
        "effort_includes_gravity", True, "the efforts it measures have in them what it adds"
    ),
    Parameter("arm_without_effort", False, "arm although the joints measure no effort, unchecked"),
    Parameter(
        "arm_tolerance",
        [0.0],
        "how far measured efforts may be from g to arm; 0: a tenth of the limit",
        "N m or N",
        0.0,
        1e6,
        fixed=False,
    ),
    Parameter("state_timeout", 0.1, "age at which a state is too old", "s", 0.002, 1.0),
    Parameter("blind_time", 0.2, "how long the arm is held up without states", "s", 0.0, 0.3),
    Parameter(
        "target_timeout",
        0.0,
        "time to the next trajectory after one has ended; 0: any",
        "s",
        0.0,
        1e6,
    ),
    Parameter(
        "tracking_tolerance",
        0.2,
        "farthest from the target in hold and computed_torque; 0: any",
        "rad or m",
        0.0,
        1e3,
    ),
    Parameter(
        "start_tolerance",
        0.05,
        "how far from the target a trajectory may start",
        "rad or m",
        0.0,
        1e3,
    ),
    Parameter("effort_rate", 1000.0, "most that an effort changes", "N m/s or N/s", 1.0, 1e6),
    Parameter(
        "blend_time", 0.5, "in which the difference at a start or change fades", "s", 0.01, 10.0
    ),
    Parameter(
        "gravity_damping", 5.0, "rate at which motion decays in mode gravity", "1/s", 0.0, 1e3
    ),
    _gains("computed_torque.stiffness", [400.0], "of computed torque and hold", "1/s^2"),
    _gains("computed_torque.damping", [40.0], "of computed torque and hold", "1/s"),
    _gains(
        "impedance.stiffness",
        [0.0],
        "of the joints; 0: computed_torque.stiffness times the inertia where the mode begins",
        "N m/rad or N/m",
    ),
    _gains(
        "impedance.damping",
        [0.0],
        "of the joints; 0: critical for that inertia",
        "N m s/rad or N s/m",
    ),
    Parameter("impedance.feedforward", True, "M qacc + C qvel of the target; false: g alone"),
    Parameter("impedance.frame", "", "link whose pose is controlled; empty: the joints are"),
    Parameter(
        "impedance.cartesian_stiffness",
        [5.0, 5.0, 5.0, 300.0, 300.0, 300.0],
        "of the frame, about and along x, y, z",
        "N m/rad, N/m",
        0.0,
        1e6,
    ),
    Parameter("impedance.damping_ratio", 1.0, "of the frame; 1 is critical", "", 0.0, 10.0),
    _gains(
        "impedance.null_stiffness",
        [5.0],
        "of the posture that leaves the frame at rest",
        "N m/rad or N/m",
    ),
    _gains("impedance.null_damping", [1.0], "of the same", "N m s/rad or N s/m"),
    Parameter(
        "friction_compensation", 0.0, "share of the friction that is compensated", "", 0.0, 1.0
    ),
    Parameter(
        "friction.from_robot",
        True,
        "viscous and Coulomb friction are <dynamics> of the robot's file",
    ),
    _gains(
        "friction.viscous", [0.0], "viscous friction, if not from the robot", "N m s/rad or N s/m"
    ),
    _gains("friction.coulomb", [0.0], "Coulomb friction, if not from the robot", "N m or N"),
    _gains("friction.stribeck", [0.0], "what dry friction has more near standstill", "N m or N"),
    Parameter(
        "friction.stribeck_velocity",
        [0.1],
        "speed at which 1/e of that is left",
        "rad/s or m/s",
        1e-6,
        1e3,
        fixed=False,
    ),
    Parameter(
        "friction.smoothing",
        [0.01],
        "speed below which dry friction fades",
        "rad/s or m/s",
        1e-6,
        1e3,
        fixed=False,
    ),
    Parameter(
        "effort_scale",
        1.0,
        "share of the limits that holds; may only fall",
        "",
        0.0,
        1.0,
        live=True,
    ),
    Parameter(
        "velocity_scale",
        1.0,
        "share of the limits that holds; may only fall",
        "",
        0.0,
        1.0,
        live=True,
    ),
    Parameter(
        "position_inset",
        0.0,
        "how far inside the limits positions end; may only grow",
        "rad or m",
        0.0,
        10.0,
        live=True,
    ),
    Parameter(
        "realtime",
        "try",
        "SCHED_FIFO and locked memory: demand them, try to get them, or do not ask",
        choices=REALTIME,
    ),
    Parameter("stats_rate", 1.0, "of /diagnostics", "Hz", 0.01, 100.0),
)


def friction_of(values: SimpleNamespace, m: Model) -> Friction:
    """Return the friction that is compensated.

    Raises:
        ParameterError: there are neither one nor nv values.
    """
    found = {name: getattr(values, f"friction.{name}") for name in _FRICTION}
    if getattr(values, "friction.from_robot"):
        found |= {"viscous": m.dof_damping, "coulomb": m.dof_frictionloss}
    sizes = {name: _one_or_all(numbers) for name, numbers in found.items()}
    return Friction.of(m.nv, **sizes).scaled(values.friction_compensation)


_FRICTION = ("viscous", "coulomb", "stribeck", "stribeck_velocity", "smoothing")


def gate_settings(values: SimpleNamespace, simulated: bool) -> GateSettings:
    """Return how strict the gate is; the clock of a simulation may run at any speed."""
    return GateSettings(values.state_timeout, values.effort_rate, values.blend_time, simulated)


def settings(values: SimpleNamespace) -> Settings:
    """Return what the controller does."""

    def gains(name: str) -> Any:
        return _one_or_all(getattr(values, name))

    return Settings(
        dry_run=values.dry_run,
        blind_time=values.blind_time,
        target_timeout=values.target_timeout,
        gravity_damping=values.gravity_damping,
        stiffness=gains("computed_torque.stiffness"),
        damping=gains("computed_torque.damping"),
        impedance_stiffness=gains("impedance.stiffness"),
        impedance_damping=gains("impedance.damping"),
        feedforward=getattr(values, "impedance.feedforward"),
        frame=getattr(values, "impedance.frame"),
        cartesian_stiffness=getattr(values, "impedance.cartesian_stiffness"),
        damping_ratio=getattr(values, "impedance.damping_ratio"),
        null_stiffness=gains("impedance.null_stiffness"),
        null_damping=gains("impedance.null_damping"),
        arm_tolerance=gains("arm_tolerance"),
        arm_without_effort=values.arm_without_effort,
        effort_includes_gravity=values.effort_includes_gravity,
        tracking_tolerance=values.tracking_tolerance,
        start_tolerance=values.start_tolerance,
    )


def _one_or_all(numbers: Any) -> Any:
    """Return the number that stands for all joints, or one for each."""
    return numbers[0] if len(numbers) == 1 else numbers

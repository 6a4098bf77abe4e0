"""All parameters of the arm controller, and the library's settings made from them."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from rbdyn_ros.control.admittance import AXES, SMALLEST_MASS
from rbdyn_ros.control.cartesian_motion import FASTEST, SLOWEST
from rbdyn_ros.control.friction import Friction
from rbdyn_ros.control.gate import GateSettings
from rbdyn_ros.control.limits import ACCELERATION, LATENCY
from rbdyn_ros.control.settings import MODES, ControlSettings
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.arm.command_topics import OUTPUTS
from rbdyn_ros.ros.common.parameters import Parameter, group, per_joint
from rbdyn_ros.ros.common.shared_parameters import (
    DESCRIPTION,
    GRAVITY,
    OF_THE_DRIVER,
    REALTIME,
    SHA256,
    STRICT,
    XACRO_ARGS,
)

#: About and along three axes.
EACH_AXIS = "about x, y, z and along x, y, z"
#: Parameters that tighten the limits of the joints.
TIGHTENING = (
    "effort_scale",
    "velocity_scale",
    "position_inset",
    "acceleration_limit",
    "latency_limit",
    "power_limit",
    "contact_effort",
)
#: Largest acceleration_limit: over the 5 ms in which a change of velocity is measured it allows
#: 5 rad/s, more than the velocity limits of most arms, which then find the same changes.
FASTEST_CHANGE = 1000.0
#: Largest latency_limit [s]: from a lag of pi / (2 damping) on velocity feedback is unstable. That
#: is 0.04 s with the default damping of computed_torque, and 0.1 s with a damping of 16 1/s.
LONGEST_LAG = 0.1
STIFFNESS, DAMPING = "N m/rad or N/m", "N m s/rad or N s/m"

STIFF, WRENCHES = "N m/rad, N/m", ("sensor", "efforts")


def _per_axis(name: str, doc: str, unit: str, low: float = 0.0) -> Parameter:
    setting = f"admittance_{name}"
    default = [*getattr(ControlSettings(), setting)]
    text = f"{doc}, {EACH_AXIS}"
    return Parameter(f"admittance.{name}", default, text, unit, low, 1e6, setting=setting)


PARAMETERS = (
    *group(
        "robot",
        Parameter(
            "arm",
            "",
            "arm by name, such as ur5e: the topics of its driver, and what its own controller "
            "compensates, see config/arms; set parameters and topics count more",
        ),
        Parameter("urdf", "", "path of a .urdf or .xacro file"),
        XACRO_ARGS,
        DESCRIPTION,
        STRICT,
        SHA256,
        Parameter("joints", (), "joints to control; empty: all joints with an effort limit"),
        GRAVITY,
        Parameter(
            "mounting_rpy",
            [0.0, 0.0, 0.0],
            "roll, pitch, yaw of the base link in the world",
            "rad",
            -7.0,
            7.0,
        ),
        *OF_THE_DRIVER,
    ),
    *group(
        "operation",
        Parameter("mode", "idle", "mode at startup", choices=MODES),
        Parameter("dry_run", True, "send no efforts to the arm; publish them on ~/efforts only"),
        Parameter("autostart", True, "start at once; false: wait for the lifecycle transitions"),
        Parameter(
            "output",
            "joint_commands",
            "topics on which efforts are sent; or, for an arm that takes positions, "
            "joint_positions (on joint_commands), position_commands or trajectory_commands",
            choices=tuple(OUTPUTS),
        ),
        Parameter(
            "states_reliability",
            "reliable",
            "reliability of the subscription to joint_states; best_effort accepts best-effort "
            "drivers too",
            choices=("reliable", "best_effort"),
        ),
        Parameter(
            "specialize",
            False,
            "compile code for this arm at startup and compute the laws of the joints with it",
        ),
        REALTIME,
        Parameter("stats_rate", 1.0, "rate of /diagnostics", "Hz", 0.01, 100.0),
    ),
    *group(
        "safety",
        Parameter(
            "arm_without_effort",
            False,
            "allow arming if the joints measure no effort, without the check against gravity",
        ),
        per_joint(
            "arm_tolerance",
            0.0,
            "largest difference between measured efforts and gravity at which the arm can be "
            "armed; 0: a tenth of the effort limit",
            "N m or N",
        ),
        Parameter("state_timeout", 0.08, "age at which a state is too old", "s", 0.002, 1.0),
        Parameter(
            "simulated_clock",
            False,
            "the states come from a simulator, whose clock falls behind on a busy computer: their "
            "lag is not judged; use_sim_time implies it. Never with a real arm",
            setting="simulated",
        ),
        Parameter(
            "blind_time", 0.2, "time for which the arm is held up without states", "s", 0.0, 0.3
        ),
        Parameter(
            "target_timeout",
            0.0,
            "longest wait for the next trajectory after one has ended; 0: unlimited",
            "s",
            0.0,
            1e6,
        ),
        Parameter(
            "tracking_tolerance",
            0.2,
            "largest distance from the target in hold and computed_torque; 0: unlimited",
            "rad or m",
            0.0,
            1e3,
        ),
        Parameter(
            "start_tolerance",
            0.05,
            "largest distance between the target and the start of a trajectory",
            "rad or m",
            0.0,
            1e3,
        ),
        Parameter(
            "check_self_collision",
            True,
            "refuse trajectories and poses on whose way the arm would touch itself, if the robot "
            "has <collision> elements",
        ),
        Parameter(
            "self_collision_margin",
            0.01,
            "smallest distance between links, and of links from the scene, on a trajectory or the "
            "way to a pose; those that are nearer already may not come nearer",
            "m",
            0.0,
            1.0,
        ),
        Parameter(
            "scene",
            "",
            "path of a scene .yaml file: refuse trajectories and poses on whose way the arm would "
            "touch its floor or obstacles; its robot is the arm and has its place, and is the "
            "default of urdf",
        ),
        Parameter(
            "srdf",
            "",
            "path of an SRDF with the pairs of links that may touch; empty: the one beside urdf, "
            "if there is one",
        ),
        Parameter(
            "effort_rate",
            1000.0,
            "largest rate of change of an effort; five times as much after a fault",
            "N m/s or N/s",
            1.0,
            1e6,
        ),
        Parameter(
            "blend_time",
            0.5,
            "time over which efforts blend when a mode starts or changes",
            "s",
            0.01,
            10.0,
        ),
        Parameter(
            "effort_scale",
            1.0,
            "share of the effort limits that may be used; can only be lowered",
            "",
            0.0,
            1.0,
            live=True,
        ),
        Parameter(
            "velocity_scale",
            1.0,
            "share of the velocity limits that may be used; can only be lowered",
            "",
            0.0,
            1.0,
            live=True,
        ),
        Parameter(
            "position_inset",
            0.0,
            "distance by which the position limits are moved inwards; can only be raised",
            "rad or m",
            0.0,
            10.0,
            live=True,
        ),
        Parameter(
            "acceleration_limit",
            ACCELERATION,
            "largest change of a measured velocity, over 5 ms or more; can only be lowered",
            "rad/s^2 or m/s^2",
            0.001,
            FASTEST_CHANGE,
            live=True,
        ),
        Parameter(
            "latency_limit",
            LATENCY,
            "largest lag of the states; more for longer than state_timeout is a fault, and more "
            "than state_timeout at once; can only be lowered",
            "s",
            0.001,
            LONGEST_LAG,
            live=True,
        ),
        Parameter(
            "power_limit",
            0.0,
            "largest product of effort and velocity of every joint; can only be lowered; 0: the "
            "product of the joint's limits",
            "W",
            0.0,
            1e9,
            live=True,
        ),
        Parameter(
            "contact_effort",
            0.0,
            "effort with which a joint may push against a contact in mode impedance, as a share "
            "of its effort limit, before it counts as frozen; can only be lowered",
            "",
            0.0,
            0.5,
            live=True,
        ),
    ),
    *group(
        "gravity and computed torque",
        Parameter(
            "gravity_damping", 5.0, "rate at which motion decays in mode gravity", "1/s", 0.0, 1e3
        ),
        per_joint(
            "computed_torque.stiffness",
            400.0,
            "stiffness of computed_torque and hold",
            "1/s^2",
            setting="stiffness",
        ),
        per_joint(
            "computed_torque.damping",
            40.0,
            "damping of computed_torque and hold",
            "1/s",
            setting="damping",
        ),
    ),
    *group(
        "impedance",
        per_joint(
            "impedance.stiffness",
            0.0,
            "stiffness of the joints; 0: computed_torque.stiffness times the inertia of the joint "
            "where the mode starts",
            STIFFNESS,
            setting="impedance_stiffness",
        ),
        per_joint(
            "impedance.damping",
            0.0,
            "damping of the joints; 0: critical for that inertia",
            DAMPING,
            setting="impedance_damping",
        ),
        Parameter(
            "impedance.feedforward",
            True,
            "feed forward M qacc + C qvel of the target; false: gravity only",
            setting="feedforward",
        ),
        Parameter(
            "impedance.frame",
            "",
            "link whose pose is controlled; empty: control the joints",
            setting="frame",
        ),
        Parameter(
            "impedance.cartesian_stiffness",
            [5.0, 5.0, 5.0, 300.0, 300.0, 300.0],
            "stiffness of the frame about x, y, z and along x, y, z",
            "N m/rad, N/m",
            0.0,
            1e6,
            setting="cartesian_stiffness",
        ),
        Parameter(
            "impedance.damping_ratio",
            1.0,
            "damping ratio of the frame; 1: critical",
            "",
            0.0,
            10.0,
            setting="damping_ratio",
        ),
        per_joint(
            "impedance.null_stiffness",
            5.0,
            "stiffness of the posture in the null space of the frame",
            STIFFNESS,
            setting="null_stiffness",
        ),
        per_joint(
            "impedance.null_damping",
            1.0,
            "damping of the posture in the null space of the frame",
            DAMPING,
            setting="null_damping",
        ),
    ),
    *group(
        "admittance",
        Parameter(
            "admittance.frame",
            "",
            "link that yields to forces in mode admittance, of an arm that takes positions",
            setting="admittance_frame",
        ),
        Parameter(
            "admittance.axes",
            "base",
            "axes of mass, damping, stiffness and deadband: of the base link, or of the link",
            choices=AXES,
            setting="admittance_axes",
        ),
        _per_axis("mass", "virtual mass", "kg m^2, kg", SMALLEST_MASS),
        _per_axis("damping", "virtual damping", "N m s/rad, N s/m"),
        _per_axis("stiffness", "virtual stiffness; 0: the link stays where it is let go", STIFF),
        _per_axis("deadband", "torque and force that move nothing", "N m, N"),
        Parameter(
            "admittance.wrench",
            "sensor",
            "topic wrench of a force-torque sensor; or estimated from measured efforts",
            choices=WRENCHES,
            setting="admittance_wrench",
        ),
        Parameter(
            "admittance.sensor_frame",
            "",
            "link whose axes and origin the wrench of the sensor has; empty: its header.frame_id",
            setting="sensor_frame",
        ),
        Parameter(
            "admittance.tool_mass",
            0.0,
            "mass of what hangs behind the force-torque sensor",
            "kg",
            0.0,
            1e3,
            setting="tool_mass",
        ),
        Parameter(
            "admittance.tool_com",
            [0.0, 0.0, 0.0],
            "its centre of mass in the axes of the sensor",
            "m",
            -10.0,
            10.0,
            setting="tool_com",
        ),
    ),
    *group(
        "cartesian path",
        Parameter(
            "cartesian_path.frame",
            "",
            "link that poses on ~/cartesian_path are of; empty: they are refused",
            setting="path_frame",
        ),
        *(
            Parameter(
                f"cartesian_path.{name}", default, doc, unit, low, FASTEST, setting=f"path_{name}"
            )
            for name, default, doc, unit, low in (
                ("speed", 0.1, "speed of the link", "m/s", SLOWEST),
                ("rotation_speed", 0.5, "speed at which the link turns", "rad/s", SLOWEST),
                ("acceleration", 0.5, "acceleration of the link", "m/s^2", SLOWEST),
                ("rotation_acceleration", 2.0, "acceleration of its rotation", "rad/s^2", SLOWEST),
                (
                    "blend",
                    0.0,
                    "distance from a pose within which the link may leave its line; 0: stop there",
                    "m",
                    0.0,
                ),
            )
        ),
    ),
    *group(
        "friction",
        Parameter(
            "friction_compensation", 0.0, "share of the friction that is compensated", "", 0.0, 1.0
        ),
        Parameter(
            "friction.from_robot",
            True,
            "take viscous and Coulomb friction from <dynamics> in the robot file",
        ),
        per_joint(
            "friction.viscous", 0.0, "viscous friction if friction.from_robot is false", DAMPING
        ),
        per_joint(
            "friction.coulomb", 0.0, "Coulomb friction if friction.from_robot is false", "N m or N"
        ),
        per_joint(
            "friction.stribeck",
            0.0,
            "additional dry friction near standstill (Stribeck effect)",
            "N m or N",
        ),
        per_joint(
            "friction.stribeck_velocity",
            0.1,
            "speed at which the Stribeck friction has fallen to 1/e",
            "rad/s or m/s",
            1e-6,
            1e3,
        ),
        per_joint(
            "friction.smoothing",
            0.01,
            "speed below which dry friction fades out",
            "rad/s or m/s",
            1e-6,
            1e3,
        ),
    ),
)

_FRICTION = ("viscous", "coulomb", "stribeck", "stribeck_velocity", "smoothing")


def friction_of(values: SimpleNamespace, m: Model) -> Friction:
    """Return the friction to compensate.

    Raises:
        ParameterError: a list has neither one value nor nv values, or the robot compensates
            friction too.
    """
    if values.robot_compensates_friction and values.friction_compensation > 0.0:
        text = (
            f"friction_compensation is {values.friction_compensation:g}, but the arm's own "
            "controller compensates friction (robot_compensates_friction); set it to 0, or "
            "friction counts twice"
        )
        raise ParameterError(Finding("friction-twice", text, "error", "friction_compensation"))
    found = {name: getattr(values, f"friction.{name}") for name in _FRICTION}
    if getattr(values, "friction.from_robot"):
        found |= {"viscous": m.dof_damping, "coulomb": m.dof_frictionloss}
    sizes = {name: _one_or_all(numbers) for name, numbers in found.items()}
    return Friction.of(m.nv, **sizes).scaled(values.friction_compensation)


def gate_settings(values: SimpleNamespace, simulated: bool) -> GateSettings:
    """Return the settings of the safety gate.

    Args:
        values: of the parameters.
        simulated: stamps are simulated time, whatever the parameter simulated_clock says.
    """
    chosen = _chosen(values, GateSettings)
    return GateSettings(**chosen | {"simulated": simulated or chosen["simulated"]})


def settings(values: SimpleNamespace) -> ControlSettings:
    """Return the settings of the controller."""
    return ControlSettings(**_chosen(values, ControlSettings))


def _chosen(values: SimpleNamespace, kind: Any) -> dict[str, Any]:
    """Return the fields of a class of settings that are parameters."""
    names = {field.name for field in fields(kind)}
    rows = {row.setting or row.name: row for row in PARAMETERS}
    return {name: _one_or_all(getattr(values, rows[name].name)) for name in names & rows.keys()}


def _one_or_all(value: Any) -> Any:
    """Return the number of a list with one entry, which is for all joints; else the value."""
    single = not isinstance(value, str) and hasattr(value, "__len__") and len(value) == 1
    return value[0] if single else value

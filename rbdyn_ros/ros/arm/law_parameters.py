# SPDX-License-Identifier: Apache-2.0
"""Parameters of the control laws of an arm: gains, frames, motions and friction."""

from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.laws.admittance import AXES, SMALLEST_MASS
from rbdyn_ros.control.motion.cartesian_motion import FASTEST, SLOWEST
from rbdyn_ros.ros.common.settings.parameters import Parameter, group, per_joint

#: Order of six values about and along the axes, their units, and the sources of a wrench.
EACH_AXIS = "about x, y, z and along x, y, z"
STIFFNESS, DAMPING = "N m/rad or N/m", "N m s/rad or N s/m"
STIFF, WRENCHES = "N m/rad, N/m", ("sensor", "efforts")


def _per_axis(name: str, doc: str, unit: str, low: float = 0.0) -> Parameter:
    setting = f"admittance_{name}"
    default = [*getattr(ControlSettings(), setting)]
    text = f"{doc}, {EACH_AXIS}"
    return Parameter(f"admittance.{name}", default, text, unit, low, 1e6, setting=setting)


LAWS = (
    *group(
        "gravity and computed torque",
        Parameter("gravity_damping", 5.0, "rate at which motion decays in mode gravity", "1/s",
            0.0, 1e3),
        per_joint("computed_torque.stiffness", 400.0, "stiffness of computed_torque and hold",
            "1/s^2", setting="stiffness"),
        per_joint("computed_torque.damping", 40.0, "damping of computed_torque and hold", "1/s",
            setting="damping"),
    ),
    *group(
        "impedance",
        per_joint("impedance.stiffness", 0.0, "stiffness of the joints; 0: "
            "computed_torque.stiffness times the inertia of the joint where the mode starts",
            STIFFNESS, setting="impedance_stiffness"),
        per_joint("impedance.damping", 0.0,
            "damping of the joints; 0: critical for that inertia", DAMPING,
            setting="impedance_damping"),
        Parameter("impedance.feedforward", True, "feed forward M qacc + C qvel of the target; "
            "false: gravity only", setting="feedforward"),
        Parameter("impedance.frame", "",
            "link whose pose is controlled; empty: control the joints", setting="frame"),
        Parameter("impedance.cartesian_stiffness", [5.0, 5.0, 5.0, 300.0, 300.0, 300.0],
            "stiffness of the frame about x, y, z and along x, y, z", "N m/rad, N/m", 0.0, 1e6,
            setting="cartesian_stiffness"),
        Parameter("impedance.damping_ratio", 1.0, "damping ratio of the frame; 1: critical", "",
            0.0, 10.0, setting="damping_ratio"),
        per_joint("impedance.null_stiffness", 5.0,
            "stiffness of the posture in the null space of the frame", STIFFNESS,
            setting="null_stiffness"),
        per_joint("impedance.null_damping", 1.0,
            "damping of the posture in the null space of the frame", DAMPING,
            setting="null_damping"),
    ),
    *group(
        "admittance",
        Parameter("admittance.frame", "", "link that yields to forces in mode admittance, of an "
            "arm that takes positions", setting="admittance_frame"),
        Parameter("admittance.axes", "base", "axes of mass, damping, stiffness and deadband: "
            "the axes of the base link, or of admittance.frame", choices=AXES,
            setting="admittance_axes"),
        _per_axis("mass", "virtual mass", "kg m^2, kg", SMALLEST_MASS),
        _per_axis("damping", "virtual damping", "N m s/rad, N s/m"),
        _per_axis("stiffness", "virtual stiffness; 0: the link stays where you leave it", STIFF),
        _per_axis("deadband", "largest torque and force that do not move the link", "N m, N"),
        Parameter("admittance.wrench", "sensor", "source of the wrench: topic wrench of a "
            "force-torque sensor, or an estimate from measured efforts", choices=WRENCHES,
            setting="admittance_wrench"),
        Parameter("admittance.sensor_frame", "", "link whose axes and origin the wrench of the "
            "sensor has; empty: its header.frame_id", setting="sensor_frame"),
        Parameter("admittance.tool_mass", 0.0,
            "mass of the tool on the force-torque sensor", "kg", 0.0, 1e3,
            setting="tool_mass"),
        Parameter("admittance.tool_com", [0.0, 0.0, 0.0],
            "centre of mass of this tool in the axes of the sensor", "m", -10.0, 10.0,
            setting="tool_com"),
    ),
    *group(
        "cartesian path",
        Parameter("cartesian_path.frame", "", "link whose poses are on ~/cartesian_path; empty: "
            "poses are refused", setting="path_frame"),
        *(
            Parameter(f"cartesian_path.{name}", default, doc, unit, low, FASTEST,
                setting=f"path_{name}")
            for name, default, doc, unit, low in (
                ("speed", 0.1, "speed of the link", "m/s", SLOWEST),
                ("rotation_speed", 0.5, "speed at which the link turns", "rad/s", SLOWEST),
                ("acceleration", 0.5, "acceleration of the link", "m/s^2", SLOWEST),
                ("rotation_acceleration", 2.0, "acceleration of the rotation", "rad/s^2", SLOWEST),
                (
                    "blend",
                    0.0,
                    "distance from a pose where the link may cut the corner; 0: stop at each pose",
                    "m",
                    0.0,
                ),
            )
        ),
    ),
    *group(
        "friction",
        Parameter("friction_compensation", 0.0, "share of the friction that is compensated", "",
            0.0, 1.0),
        Parameter("friction.from_robot", True, "read viscous and Coulomb friction from "
            "<dynamics> in the robot file"),
        per_joint("friction.viscous", 0.0, "viscous friction if friction.from_robot is false",
            DAMPING),
        per_joint("friction.coulomb", 0.0, "Coulomb friction if friction.from_robot is false",
            "N m or N"),
        per_joint("friction.stribeck", 0.0,
            "additional dry friction near standstill (Stribeck effect)", "N m or N"),
        per_joint("friction.stribeck_velocity", 0.1,
            "speed at which the Stribeck friction has fallen to 1/e", "rad/s or m/s", 1e-6, 1e3),
        per_joint("friction.smoothing", 0.01, "speed below which dry friction fades out",
            "rad/s or m/s", 1e-6, 1e3),
    ),
)  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Settings of a controlled arm."""

from dataclasses import dataclass, fields

from numpy.typing import ArrayLike

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.motion.cartesian_motion import CartesianLimits

#: Modes of arms that take efforts, and of arms that take positions.
EFFORT_MODES = ("idle", "gravity", "hold", "computed_torque", "impedance")
POSITION_MODES = ("idle", "hold", "tracking", "admittance")
MODES = tuple(dict.fromkeys(EFFORT_MODES + POSITION_MODES))
#: Modes that follow trajectories.
TRACKING = ("computed_torque", "impedance", "tracking", "admittance")
#: Largest jump of a target at the start of a trajectory [rad or m]. A jump of 0.1 rad led to the
#: fault `velocity` on three of four arms. A trajectory whose first point has a later time may
#: begin farther away: the target moves to it.
LARGEST_JUMP = 0.05


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Gains, tolerances and times; a gain is one number or one per degree of freedom.

    Attributes:
        dry_run: whether efforts are computed but not sent to the robot.
        blind_time: how long an arm without states is held before no more efforts are sent [s].
        target_timeout: a fault occurs if no trajectory follows another within this time [s]; 0:
            never.
        gravity_damping: rate at which motion decays in mode gravity [1/s].
        stiffness: position gain of computed torque and of holding [1/s^2].
        damping: velocity gain of computed torque and of holding [1/s].
        impedance_stiffness: stiffness of mode impedance; 0: `stiffness` times the joint's inertia
            where the mode begins [N m/rad or N/m].
        impedance_damping: damping of mode impedance; 0: critical damping for that inertia
            [N m s/rad or N s/m].
        feedforward: whether mode impedance adds the inverse dynamics of the desired motion.
        frame: link whose pose mode impedance controls; empty: it controls the joints.
        cartesian_stiffness: (6,) stiffness of the frame, angular first [N m/rad, N/m].
        damping_ratio: damping ratio of the frame; 1 is critical.
        null_stiffness: stiffness of the posture in the null space [N m/rad or N/m].
        null_damping: damping in the null space [N m s/rad or N s/m].
        arm_tolerance: largest difference of measured efforts from g when the arm is armed, one
            number or one per controlled joint; 0: a tenth of the effort limit [N m or N].
        arm_without_effort: whether to arm a robot that measures no efforts, without this check.
        start_up_test: whether each joint is moved by some mrad before the arm is armed, to compare
            the motion with the model, or with the positions sent.
        start_up_tolerance: factor by which accelerations may differ from the model in this test.
        effort_includes_gravity: whether measured efforts contain the robot's own gravity
            compensation.
        tracking_tolerance: distance from the target above which a fault occurs; 0: no limit [rad
            or m].
        start_tolerance: largest distance of a trajectory's start from the target, at most
            LARGEST_JUMP [rad or m].
        admittance_frame: link that yields to forces in mode admittance; empty: no link.
        admittance_axes: axes of the next four settings, "base" or "tool", see Admittance.
        admittance_mass: (6,) virtual mass, angular first [kg m^2, kg].
        admittance_damping: (6,) virtual damping [N m s/rad, N s/m].
        admittance_stiffness: (6,) virtual stiffness; 0: the link stays where it is released
            [N m/rad, N/m].
        admittance_deadband: (6,) largest torques and forces that do not move the link [N m, N].
        admittance_wrench: "sensor", or "efforts": estimated from measured efforts.
        sensor_frame: link in whose axes, and about whose origin, the wrench is given; empty: the
            link in the message.
        tool_mass: mass of the parts behind the force-torque sensor [kg].
        tool_com: (3,) centre of mass of these parts in the axes of the sensor [m].
        path_frame: link that Cartesian paths move; empty: no Cartesian paths.
        path_speed, path_rotation_speed, path_acceleration, path_rotation_acceleration, path_blend:
            limits of Cartesian paths, see CartesianLimits.

    Raises:
        ParameterError: a time, a tolerance or a rate is negative or not finite.
    """

    dry_run: bool = True
    blind_time: float = 0.03
    target_timeout: float = 0.0
    gravity_damping: float = 5.0
    stiffness: ArrayLike = 400.0
    damping: ArrayLike = 40.0
    impedance_stiffness: ArrayLike = 0.0
    impedance_damping: ArrayLike = 0.0
    feedforward: bool = True
    frame: str = ""
    cartesian_stiffness: ArrayLike = (5.0, 5.0, 5.0, 300.0, 300.0, 300.0)
    damping_ratio: float = 1.0
    null_stiffness: ArrayLike = 5.0
    null_damping: ArrayLike = 1.0
    arm_tolerance: ArrayLike = 0.0
    arm_without_effort: bool = False
    start_up_test: bool = True
    start_up_tolerance: float = 1.5
    effort_includes_gravity: bool = True
    tracking_tolerance: float = 0.2
    start_tolerance: float = LARGEST_JUMP
    admittance_frame: str = ""
    admittance_axes: str = "base"
    admittance_mass: ArrayLike = (0.5, 0.5, 0.5, 10.0, 10.0, 10.0)
    admittance_damping: ArrayLike = (7.0, 7.0, 7.0, 130.0, 130.0, 130.0)
    admittance_stiffness: ArrayLike = (20.0, 20.0, 20.0, 400.0, 400.0, 400.0)
    admittance_deadband: ArrayLike = (0.2, 0.2, 0.2, 2.0, 2.0, 2.0)
    admittance_wrench: str = "sensor"
    sensor_frame: str = ""
    tool_mass: float = 0.0
    tool_com: ArrayLike = (0.0, 0.0, 0.0)
    path_frame: str = ""
    path_speed: float = 0.1
    path_rotation_speed: float = 0.5
    path_acceleration: float = 0.5
    path_rotation_acceleration: float = 2.0
    path_blend: float = 0.0

    def __post_init__(self) -> None:
        for name in _NOT_NEGATIVE:
            finite(name, getattr(self, name), low=0.0, element="")
        finite("start_tolerance", self.start_tolerance, low=0.0, high=LARGEST_JUMP, element="")
        finite("start_up_tolerance", self.start_up_tolerance, above=1.0, element="")

    @property
    def path_limits(self) -> CartesianLimits:
        """Limits of Cartesian paths."""
        names = (field.name for field in fields(CartesianLimits))
        return CartesianLimits(**{name: getattr(self, f"path_{name}") for name in names})


#: A NaN would switch off the checks that use these settings. The laws check the gains.
_NOT_NEGATIVE = ("blind_time", "target_timeout", "gravity_damping", "tracking_tolerance")

"""What a user decides about a controlled arm, judged before it moves."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from rbdyn_ros.checks.numbers import finite

MODES = ("idle", "gravity", "hold", "computed_torque", "impedance")
#: Modes that follow trajectories.
FOLLOWING = ("computed_torque", "impedance")


@dataclass(frozen=True, slots=True)
class Settings:
    """How an arm is controlled; gains are one number or one for each degree of freedom.

    Attributes:
        dry_run: nothing reaches the robot.
        blind_time: how long the arm is held up without a state before silence [s].
        target_timeout: after a trajectory's end so long without another is a fault; 0: none [s].
        gravity_damping: rate at which motion decays in mode gravity [1/s].
        stiffness: of computed torque, and of holding [1/s^2].
        damping: likewise [1/s].
        impedance_stiffness: of mode impedance; 0: `stiffness` times the inertia of the joint where
            the mode begins [N m/rad or N/m].
        impedance_damping: likewise; 0: critical for that inertia [N m s/rad or N s/m].
        feedforward: mode impedance feeds forward what the desired motion needs.
        frame: link whose pose mode impedance controls; empty: it controls the joints.
        cartesian_stiffness: (6,) of the frame, angular first [N m/rad, N/m].
        damping_ratio: of the frame; 1 is critical.
        null_stiffness: of the posture that leaves the frame at rest [N m/rad or N/m].
        null_damping: likewise [N m s/rad or N s/m].
        arm_tolerance: how far measured efforts may be from g when the arm is armed, one for all
            joints or one for each; 0: a tenth of the limit [N m or N].
        arm_without_effort: arm a robot that does not measure efforts, unchecked.
        effort_includes_gravity: efforts are measured with what the robot compensates itself.
        tracking_tolerance: distance from the target that is a fault; 0: none [rad or m].
        start_tolerance: how far from the target a trajectory may start [rad or m].

    Raises:
        ParameterError: a time, a tolerance or a rate is negative or not finite.
    """

    dry_run: bool = True
    blind_time: float = 0.2
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
    effort_includes_gravity: bool = True
    tracking_tolerance: float = 0.2
    start_tolerance: float = 0.05

    def __post_init__(self) -> None:
        for name in _NOT_NEGATIVE:
            finite(name, getattr(self, name), low=0.0, element="")


#: Where a NaN would switch off what it limits; gains are judged by the laws.
_NOT_NEGATIVE = (
    "blind_time",
    "target_timeout",
    "gravity_damping",
    "tracking_tolerance",
    "start_tolerance",
)

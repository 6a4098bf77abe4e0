# SPDX-License-Identifier: Apache-2.0
"""Parameters of the safety of the arm controller: arming, limits, tolerances, clearances."""

from rbdyn_ros.control.arm.settings import LARGEST_JUMP
from rbdyn_ros.control.base.limits import ACCELERATION, LATENCY
from rbdyn_ros.ros.common.settings.parameters import Parameter, group, per_joint

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
#: Largest acceleration_limit. Velocity changes are measured over 5 ms, in which this value allows
#: 5 rad/s. Most arms have lower velocity limits, which find larger changes.
FASTEST_CHANGE = 1000.0
#: Largest latency_limit [s]. Velocity feedback is unstable with a lag of pi / (2 damping) or more:
#: 0.04 s with the default damping of computed_torque, and 0.1 s with a damping of 16 1/s.
LONGEST_LAG = 0.1

SAFETY = (
    *group(
        "safety",
        Parameter("arm_without_effort", False, "allow arming if the joints measure no effort, "
            "without the check against gravity"),
        per_joint("arm_tolerance", 0.0, "largest difference between measured efforts and gravity "
            "at which the arm can be armed; 0: a tenth of the effort limit", "N m or N"),
        Parameter("start_up_test", True, "before the arm is armed, move each joint by some mrad "
            "and compare the motion with the model, or with the positions sent; takes 1 to 20 s"),
        Parameter("start_up_tolerance", 1.5, "factor by which the acceleration of a joint may "
            "differ from the model in the start-up test of an arm that takes efforts; above 1",
            "", 1.01, 100.0),
        Parameter("state_timeout", 0.08, "age at which a state is too old", "s", 0.002, 1.0),
        Parameter("simulated_clock", False, "the states come from a simulator: ages, timeouts "
            "and watchdogs use its /clock, if states have its stamps, and their lag is not "
            "checked; "
            "use_sim_time implies it. Never with a real arm", setting="simulated"),
        Parameter("blind_time", 0.03, "time for which the arm is braked if states are missing "
            "or wrong; then nothing is sent", "s", 0.0, 0.3),
        Parameter("target_timeout", 0.0, "longest wait for the next trajectory after one has "
            "ended; 0: unlimited", "s", 0.0, 1e6),
        Parameter("tracking_tolerance", 0.2, "largest distance from the target in hold and "
            "computed_torque; 0: unlimited", "rad or m", 0.0, 1e3),
        Parameter("start_tolerance", 0.05, "largest distance between the target and the start of "
            "a trajectory", "rad or m", 0.0, LARGEST_JUMP),
        Parameter("check_self_collision", True, "refuse trajectories and poses if the arm would "
            "touch itself during the motion; needs <collision> elements"),
        Parameter("self_collision_margin", 0.01, "smallest distance between links, and of links "
            "from the scene, during a motion; links that are nearer at its start must not come "
            "nearer. 1 mm or more: motions are checked in steps of 1 mm, between which thin "
            "parts could pass each other", "m", 0.001, 1.0),
        Parameter("scene", "", "path of a scene .yaml file: refuse trajectories and poses if the "
            "arm would touch its floor or obstacles during the motion; its robot is the arm in "
            "its place, and its robot file is the default of urdf"),
        Parameter("srdf", "", "path of an SRDF with the pairs of links that may touch; empty: "
            "the SRDF next to urdf, if there is one"),
        Parameter("effort_rate", 1000.0, "largest rate of change of an effort; proportionally "
            "larger for effort limits above 150 N m or N, and five times as large after a fault",
            "N m/s or N/s", 1.0, 1e6),
        Parameter("blend_time", 0.5,
            "time over which efforts blend when a mode starts or changes", "s", 0.01, 10.0),
        Parameter("effort_scale", 1.0, "share of the effort limits that may be used; can only be "
            "lowered", "", 0.0, 1.0, live=True),
        Parameter("velocity_scale", 1.0, "share of the velocity limits that may be used; can only "
            "be lowered", "", 0.0, 1.0, live=True),
        Parameter("position_inset", 0.0, "distance by which the position limits are moved "
            "inwards; can only be raised", "rad or m", 0.0, 10.0, live=True),
        Parameter("acceleration_limit", ACCELERATION, "largest acceleration, from the change of "
            "the measured velocity over 5 ms or more; can only be lowered", "rad/s^2 or m/s^2",
            0.001, FASTEST_CHANGE, live=True),
        Parameter("latency_limit", LATENCY, "largest lag of the states; a larger lag for longer "
            "than state_timeout is a fault, and any lag above state_timeout; can only be lowered",
            "s", 0.001, LONGEST_LAG, live=True),
        Parameter("power_limit", 0.0, "largest product of effort and velocity of every joint; can "
            "only be lowered; 0: the product of the joint's limits", "W", 0.0, 1e9, live=True),
        Parameter("contact_effort", 0.0, "effort with which a joint can push against a contact "
            "in mode impedance, as a share of its effort limit, without the fault frozen; can "
            "only "
            "be lowered", "", 0.0, 0.5, live=True),
    ),
)  # fmt: skip

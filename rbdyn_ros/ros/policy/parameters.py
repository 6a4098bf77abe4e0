# SPDX-License-Identifier: Apache-2.0
"""All parameters of the node policy_node."""

from rbdyn_ros.ros.common.settings.parameters import Parameter, group
from rbdyn_ros.ros.common.unitree.robots import parameter as unitree

#: Topics that can have the state of the base.
BASES = ("odom", "imu")
PARAMETERS = (
    *group(
        "policy",
        Parameter("policy", "", "path of a policy file, or of an export that can be read as one"),
        Parameter("network", "", "path of the ONNX file; empty: the file that the policy names"),
        Parameter("joints", (), "joints of an export without names, in the order of the robot's "
            "own interface"),
    ),
    *group(
        "inputs",
        Parameter("base", "odom", "topic of the base: odom (pose and twist), or imu (orientation "
            "and angular velocity)", choices=BASES),
        unitree("exchange lowstate and lowcmd with this robot of Unitree instead of the other "
            "topics"),
        Parameter("timeout", 0.1, "no command is sent if joint_states and the base are further "
            "apart than this", "s", 0.001, 10.0),
        Parameter("command_timeout", 0.5, "a velocity command is valid for this time of the "
            "states; then the policy gets zero", "s", 0.01, 1e6),
        Parameter("states_reliability", "reliable", "reliability of the subscriptions; "
            "best_effort accepts best-effort publishers too", choices=("reliable", "best_effort")),
        Parameter("enable_stamped_cmd_vel", False, "cmd_vel is a TwistStamped, as in newer Nav2"),
    ),
    *group(
        "start and end",
        Parameter("start_duration", 2.0, "with unitree: in this time the joints move from where "
            "they are to the default pose of the policy, which acts from then on; 0: it acts at "
            "once", "s", 0.0, 60.0),
        Parameter("end_damping", 3.0, "with unitree: kd of the last command when the node ends or "
            "is deactivated, without kp, so that the robot sinks slowly; 0: there is no such "
            "command", "N m s/rad", 0.0, 100.0),
    ),
    *group(
        "operation",
        Parameter("autostart", True, "start at once; false: wait for the lifecycle transitions"),
    ),
)  # fmt: skip

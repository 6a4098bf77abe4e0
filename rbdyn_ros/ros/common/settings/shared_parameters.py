# SPDX-License-Identifier: Apache-2.0
"""Parameters that the simulator and the arm controller share."""

from rbdyn_ros.ros.common.parsing.magnitudes import LARGEST_GRAVITY
from rbdyn_ros.ros.common.settings.parameters import Parameter
from rbdyn_ros.runtime.realtime import MODES

DESCRIPTION = Parameter("robot_description", "", "URDF as a string; used if urdf is empty")
XACRO_ARGS = Parameter("xacro_args", (), "arguments of a .xacro file in urdf, each as name:=value")
PACKAGE_DIRS = Parameter(
    "package_dirs", (), "folders to search for ROS packages of xacro files and meshes, before ROS"
)
STRICT = Parameter(
    "strict", True, "refuse a robot with flaws that could be repaired, see rbdyn check"
)
SHA256 = Parameter(
    "required_sha256", "", "refuse a robot with another model_sha256; empty: accept any robot"
)
GRAVITY = Parameter(
    "gravity",
    [0.0, 0.0, -9.81],
    "gravitational acceleration in world axes",
    "m/s^2",
    -LARGEST_GRAVITY,
    LARGEST_GRAVITY,
)
REALTIME = Parameter(
    "realtime",
    "try",
    "SCHED_FIFO and locked memory; enforce: required, try: used if permitted, off: not requested",
    choices=MODES,
)
#: Parameters about efforts that an arm's own controller, behind its driver, adds or compensates.
OF_THE_DRIVER = (
    Parameter("robot_compensates_gravity", False, "the arm's own controller adds gravity "
        "compensation, without payloads"),
    Parameter("robot_compensates_coriolis", False, "the arm's own controller adds Coriolis and "
        "centrifugal efforts, without payloads"),
    Parameter("robot_compensates_friction", False, "the arm's own controller compensates "
        "friction; friction_compensation of arm_controller must be 0 then"),
    Parameter("effort_includes_gravity", True, "measured efforts include the gravity compensation "
        "of the arm's own controller"),
)  # fmt: skip
#: Parameters of the estimate of external efforts, see external.py.
EXTERNAL = (
    Parameter("external.time_constant", 0.0, "time constant of the estimates on ~/external_effort "
        "and ~/external_wrench; 0: off", "s", 0.0, 10.0),
    Parameter("external.link", "", "link of ~/external_wrench, such as the tool; empty: the "
        "wrench is not published"),
    Parameter("external.threshold", 0.0, "report zeros while no estimated effort of a joint "
        "exceeds this", "N m or N", 0.0, 1e9),
)  # fmt: skip

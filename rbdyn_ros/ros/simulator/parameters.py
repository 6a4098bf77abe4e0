"""Every parameter of the simulator, in one table."""

from __future__ import annotations

from rbdyn_ros.model.options import INTEGRATORS
from rbdyn_ros.ros.common.parameters import Parameter
from rbdyn_ros.ros.common.unfit import LARGEST_GRAVITY
from rbdyn_ros.runtime.realtime import MODES
from rbdyn_ros.runtime.settings import MODES_OF_TIME, ON_TIMEOUT

PARTIAL = ("keep", "zero", "reject")
#: Prefix of the parameters that hold an initial position each.
INITIAL = "initial_positions."
#: Prefix of the parameters of faults between controller and robot.
FAULTS = "faults."
#: How long the memory of a link is.
REMEMBERED = "; with its jitter at most 1022 ticks"

PARAMETERS = (
    Parameter("urdf", "", "path of a .urdf, .xacro or mechanism .yaml file"),
    Parameter("robot_description", "", "text of a URDF; used if urdf is empty"),
    Parameter("strict", True, "refuse a robot with flaws that could be repaired, see rbdyn check"),
    Parameter("floating_base", False, "let the root link move freely"),
    Parameter("contact", False, "let links touch a floor at z = 0, by their <collision>"),
    Parameter("world_frame", "world", "frame the root link stands in; empty: none in TF"),
    Parameter("frame_prefix", "", "put before the name of every link in TF"),
    Parameter("timestep", 0.001, "of the physics", "s", 1e-4, 0.1),
    Parameter(
        "control_decimation", 1, "timesteps from one tick of the loop to the next", "", 1, 1000
    ),
    Parameter(
        "gravity",
        [0.0, 0.0, -9.81],
        "gravitational acceleration in the world",
        "m/s^2",
        -LARGEST_GRAVITY,
        LARGEST_GRAVITY,
    ),
    Parameter("integrator", "implicit_damping", "how time advances", choices=INTEGRATORS),
    Parameter(
        "specialize",
        False,
        "make timesteps by code compiled for this robot alone, at the start; not with contact or "
        "closed loops",
    ),
    Parameter(
        "time_mode",
        "realtime",
        "real time; lockstep: each tick waits for its commands; as fast as possible",
        choices=MODES_OF_TIME,
    ),
    Parameter(
        "real_time_factor",
        1.0,
        "simulated time by time on the wall, in mode realtime",
        "",
        0.01,
        100.0,
        live=True,
    ),
    Parameter(
        "lockstep_joints",
        (),
        "joints whose commands a tick waits for; empty: all that take efforts",
    ),
    Parameter(
        "lockstep_timeout",
        1.0,
        "how long it waits on the wall before time runs free; 0: for ever",
        "s",
        0.0,
        1e6,
    ),
    Parameter("start_paused", False, "begin paused; the service ~/pause starts time"),
    Parameter(
        "autostart",
        True,
        "start at once; false: the lifecycle transitions configure and activate do",
    ),
    Parameter("command_timeout", 0.1, "age at which a command is given up", "s", 1e-3, 1e6),
    Parameter("on_timeout", "zero", "what drives a joint then, see Commands", choices=ON_TIMEOUT),
    Parameter(
        "partial_commands",
        "keep",
        "joints that a command in joint_commands does not name: keep their last command, "
        "get zero, or reject the message",
        choices=PARTIAL,
    ),
    Parameter(
        "servo_time_constant",
        0.01,
        "in which position and velocity commands are approached",
        "s",
        1e-3,
        10.0,
    ),
    Parameter(
        "topic_based_commands",
        False,
        "take commands of ros2_control's JointStateTopicSystem on topic_based_joint_commands",
    ),
    *(
        Parameter(
            f"topic_based_{interface}_joints",
            (),
            f"joints with a command interface {interface} there, in its order",
        )
        for interface in ("position", "velocity", "effort")
    ),
    Parameter("publish_rate", 1000.0, "of joint_states, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("tf_rate", 50.0, "of /tf, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("clock_rate", 100.0, "of /clock, at most one a timestep", "Hz", 0.1, 1e4),
    Parameter("publish_tf", True, "publish /tf and /tf_static"),
    Parameter(
        "publish_clock",
        True,
        "publish /clock; otherwise stamps count from the ROS time at the start",
    ),
    Parameter(
        "realtime",
        "try",
        "SCHED_FIFO and locked memory: demand them, try to get them, or do not ask",
        choices=MODES,
    ),
    Parameter("stats_rate", 1.0, "of ~/stats and /diagnostics", "Hz", 0.01, 100.0),
    Parameter("view", False, "show the robots in a web browser; rbdyn sim does unless --no-view"),
    Parameter(
        "view_port", 8080, "of the view, or the next free one; 0: any free one", "", 0, 65535
    ),
    Parameter(
        "view_address",
        "127.0.0.1",
        "of this machine that the view listens at; 0.0.0.0 lets everybody in who can reach it",
    ),
    Parameter("record", "", "path of a new .mcap file to record everything to; empty: none"),
    Parameter("sensors", "", "path of a YAML file that describes sensors"),
    Parameter("robots", (), "several robots in this process, each in the namespace of its name"),
    Parameter("seed", 0, "of all noise", "", 0, 2**53),
    Parameter("required_sha256", "", "refuse a robot whose model_sha256 is another; empty: none"),
    *(
        Parameter(f"{FAULTS}{name}", default, doc, unit, 0.0, high, live=True)
        for name, default, doc, unit, high in (
            ("command_delay", 0.0, f"commands arrive so much later{REMEMBERED}", "s", 10.0),
            ("command_jitter", 0.0, "and at random up to so much more", "s", 10.0),
            ("command_drop", 0.0, "probability that what arrives in a tick is lost", "", 1.0),
            ("state_delay", 0.0, f"joint states are so old{REMEMBERED}", "s", 10.0),
            ("state_jitter", 0.0, "and at random up to so much older", "s", 10.0),
            ("state_drop", 0.0, "probability that one is not published", "", 1.0),
        )
    ),
    Parameter(f"{FAULTS}link_loss", False, "no command arrives, no joint state leaves", live=True),
    *(
        Parameter(f"{FAULTS}{name}", [0.0], doc, unit, low, 1e9, live=True, fixed=False)
        for name, doc, unit, low in (
            ("encoder_resolution", "step of positions; 0: exact", "rad or m", 0.0),
            ("encoder_noise", "standard deviation of positions", "rad or m", 0.0),
            ("encoder_bias", "added to positions", "rad or m", -1e9),
            ("velocity_noise", "standard deviation of velocities", "rad/s or m/s", 0.0),
            ("effort_noise", "standard deviation of the efforts that act", "N m or N", 0.0),
        )
    ),
    Parameter(f"{FAULTS}stuck_joints", (), "joints that do not move", live=True),
)

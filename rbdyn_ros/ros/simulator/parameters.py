# SPDX-License-Identifier: Apache-2.0
"""All parameters of the simulator."""

from dataclasses import replace

from rbdyn_ros.model.declared.options import INTEGRATORS
from rbdyn_ros.ros.common.gripper.grippers import PARAMETERS as GRIPPERS
from rbdyn_ros.ros.common.settings import shared_parameters
from rbdyn_ros.ros.common.settings.base_parameters import PARAMETERS as MOBILE_BASE
from rbdyn_ros.ros.common.settings.parameters import Parameter, group, per_joint
from rbdyn_ros.ros.common.tool.servoing import PARAMETERS as SERVO
from rbdyn_ros.ros.common.unitree.robots import parameter as unitree
from rbdyn_ros.runtime.settings import MODES_OF_TIME, ON_TIMEOUT

PARTIAL = ("keep", "zero", "reject")
#: Prefix of the parameters that each set the initial position of a joint.
INITIAL = "initial_positions."
#: Prefix of the parameters that simulate faults between controller and robot.
FAULTS = "faults."


def _rate(name: str, default: float, doc: str) -> Parameter:
    return Parameter(name, default, f"{doc}, at most one per timestep", "Hz", 0.1, 1e4)


def _delay(name: str, doc: str) -> Parameter:
    return Parameter(f"{FAULTS}{name}", 0.0, doc, "s", 0.0, 10.0, live=True)


def _chance(name: str, doc: str) -> Parameter:
    return Parameter(f"{FAULTS}{name}", 0.0, f"probability that {doc}", "", 0.0, 1.0, live=True)


def _error(name: str, doc: str, unit: str, low: float = 0.0) -> Parameter:
    return per_joint(f"{FAULTS}{name}", 0.0, doc, unit, low, 1e9, live=True)


PARAMETERS = (
    *group(
        "robot",
        Parameter("urdf", "", "path of the robot: a .urdf, .xacro, .sdf, MJCF .xml or mechanism "
            ".yaml file"),
        Parameter("scene", "", "path of a scene .yaml file: robots, free objects and obstacles; "
            "overrides urdf and robot_description"),
        Parameter("world_sources", (), "folders and scene files that get_available_worlds lists, "
            "besides the bundled worlds"),
        shared_parameters.XACRO_ARGS,
        shared_parameters.PACKAGE_DIRS,
        shared_parameters.DESCRIPTION,
        shared_parameters.STRICT,
        shared_parameters.SHA256,
        Parameter("floating_base", False, "let the root link move freely"),
        Parameter("contact", False, "let links touch each other and a floor at z = 0 with their "
            "<collision> geometry"),
        Parameter("sensors", "", "path of a YAML file with sensors; empty: the sensors of the "
            "robot file"),
        Parameter("actuators", "", "path of a YAML file with the motors, gears and drives of "
            "joints"),
        Parameter("actuator_effort", "torque", "meaning of joint_states.effort for joints with "
            "an actuator: the torque that the drive assumes, or its current [A]",
            choices=("torque", "current")),
        Parameter("robots", (), "names of several robots in this process, each in its own "
            "namespace"),
    ),
    *group(
        "frames",
        Parameter("world_frame", "world", "TF frame in which the root link is placed; empty: "
            "leave out this transform"),
        Parameter("frame_prefix", "", "prefix of every link name in TF"),
    ),
    *group(
        "physics",
        Parameter("timestep", 0.001, "timestep of the physics", "s", 1e-4, 0.1),
        Parameter("control_decimation", 1, "timesteps per tick of the loop", "", 1, 1000),
        replace(
            shared_parameters.GRAVITY,
            doc=f"{shared_parameters.GRAVITY.doc}; by default the gravity of the robot file, if "
            "it has one",
        ),
        Parameter("integrator", "implicit_damping", "integration method", choices=INTEGRATORS),
        Parameter("exact_stops", True, "joints below their dry friction stand still, and limits "
            "stop joints within a timestep; false, and always with specialize: friction creeps "
            "and limits are springs"),
        Parameter("specialize", False, "compile code for this robot at startup and make timesteps "
            "with it; not with contact or closed loops"),
        Parameter("seed", 0, "seed of all noise", "", 0, 2**53),
    ),
    *group(
        "time",
        Parameter("time_mode", "realtime", "realtime: follow the wall clock; lockstep: wait in "
            "each tick for its commands; fast: run as fast as possible", choices=MODES_OF_TIME),
        Parameter("real_time_factor", 1.0, "simulated time per wall time in time_mode realtime",
            "", 0.01, 100.0, live=True),
        Parameter("lockstep_joints", (), "joints whose commands each tick waits for; empty: all "
            "joints that accept efforts, or with `box` only joints of the boxes"),
        Parameter("lockstep_timeout", 1.0, "wall time to wait for commands before time runs free; "
            "0: wait forever", "s", 0.0, 1e6),
        Parameter("start_paused", False, "start paused; the service ~/pause starts time"),
        Parameter("autostart", True, "start at once; false: wait for the lifecycle transitions "
            "configure and activate"),
        shared_parameters.REALTIME,
    ),
    *group(
        "commands",
        Parameter("command_timeout", 0.1, "age at which a command expires", "s", 1e-3, 1e6),
        Parameter("answer_timeout", 0.1, "refuse a command whose stamp is older than the newest "
            "state by more than this, in time_mode realtime; 0: never", "s", 0.0, 1e6),
        Parameter("start", "falling", "what a joint does before its first command. falling: what "
            "on_timeout says. held, in time_mode realtime with on_timeout zero: its weight is "
            "carried, and a floating robot stands on its feet (in the state standing, stand, "
            "half_sitting or home of its SRDF, if it has one) or is held at its root. shown, the "
            "default of rbdyn sim: held if the parameter view is true, else falling",
            choices=("falling", "held", "shown")),
        Parameter("on_timeout", "zero", "effort of a joint whose command has expired: zero; "
            "gravity: compensate gravity; hold: also brake the joint to rest and hold it there",
            choices=ON_TIMEOUT),
        Parameter("partial_commands", "keep", "joints that a message on joint_commands or "
            "joint_commands_by_mode does not name keep their last command or get zero effort, or "
            "the message is rejected", choices=PARTIAL),
        Parameter("servo_time_constant", 0.01, "least time constant of the servos that follow "
            "position and velocity commands; it is longer if five ticks or slow drives need that",
            "s", 1e-3, 10.0),
        Parameter("topic_based_commands", False, "accept commands of ros2_control's "
            "JointStateTopicSystem on topic_based_joint_commands"),
        *(
            Parameter(f"topic_based_{interface}_joints", (),
                f"joints with a command interface {interface} in JointStateTopicSystem, in order")
            for interface in ("position", "velocity", "effort")
        ),
        unitree("read lowcmd and publish lowstate as this robot of Unitree"),
        Parameter("shared_memory", "", "name of a memory through which one other process, such "
            "as hardware of ros2_control, reads states and commands joints; empty: none"),
        Parameter("box", (), "control boxes of real arms, to which unmodified clients of their "
            "vendor connect: franka or ur, with an address as in ur@127.0.0.2, for a robot of a "
            "scene as in left/franka; they replace the boxes of the scene file"),
        Parameter("box_anywhere", False, "allow a control box at an address that other machines "
            "reach; it has no password"),
    ),
    *group("driver of an arm", *shared_parameters.OF_THE_DRIVER),
    *group("external efforts", *shared_parameters.EXTERNAL),
    *GRIPPERS,
    *MOBILE_BASE,
    *SERVO,
    *group(
        "topics",
        _rate("publish_rate", 1000.0, "rate of joint_states"),
        Parameter("publish_planning_scene", True, "publish the objects and obstacles of a scene "
            "for MoveIt, where moveit_msgs is installed"),
        Parameter("publish_tf", True, "publish /tf and /tf_static"),
        _rate("tf_rate", 50.0, "rate of /tf"),
        Parameter("publish_clock", True, "publish /clock; false: stamps count from the ROS time "
            "at startup"),
        _rate("clock_rate", 100.0, "rate of /clock"),
        Parameter("stats_rate", 1.0, "rate of ~/stats and /diagnostics", "Hz", 0.01, 100.0),
        Parameter("record", "", "path of a new .mcap file with a recording of the run; empty: do "
            "not record"),
    ),
    *group(
        "view",
        Parameter("view", False, "show the robots in a web browser; rbdyn sim does unless "
            "--no-view"),
        Parameter("view_port", 8080, "port of the view, or the next free port if it is taken; 0: "
            "any free port", "", 0, 65535),
        Parameter("view_address", "127.0.0.1", "address at which the view listens; 0.0.0.0: every "
            "machine that reaches this one can connect"),
    ),
    *group(
        "faults",
        _delay("command_delay", "delay of commands; at most 1022 ticks with command_jitter"),
        _delay("command_jitter", "largest random delay of commands on top of command_delay"),
        _chance("command_drop", "the commands that arrive in a tick are lost"),
        _chance("double", "a packet between a control box and its client arrives twice"),
        _delay("state_delay", "delay of joint_states; at most 1022 ticks with state_jitter"),
        _delay("state_jitter", "largest random delay of joint_states on top of state_delay"),
        _chance("state_drop", "a message of joint_states is not published"),
        Parameter(f"{FAULTS}link_loss", False, "lose all commands and all joint_states",
            live=True),
        _error("encoder_resolution", "step of measured positions; 0: exact", "rad or m"),
        _error("encoder_noise", "standard deviation of measured positions", "rad or m"),
        _error("encoder_bias", "offset of measured positions", "rad or m", -1e9),
        _error("velocity_noise", "standard deviation of measured velocities", "rad/s or m/s"),
        _error("effort_noise", "standard deviation of the noise that actuators add to efforts",
            "N m or N"),
        Parameter(f"{FAULTS}stuck_joints", (), "joints that do not move", live=True),
    ),
)  # fmt: skip

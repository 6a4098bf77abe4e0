# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn sim`: simulate a robot with ROS 2 topics."""

import argparse
import importlib.util
import json
import signal
import sys
from pathlib import Path

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.page import port
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.share import bundled_robot

EPILOG = f"""\
Examples:
  rbdyn sim                                       a bundled arm, shown in the browser
  rbdyn sim panda                                 a robot of an installed robot package
  rbdyn sim robot.urdf --floating-base --contact  a robot that stands on a floor
  rbdyn sim --scene table.yaml                    a robot with objects and obstacles
  rbdyn sim world.sdf                             a world of Gazebo
  rbdyn sim robot.urdf --no-view --record run.mcap
  rbdyn sim ur.urdf.xacro name:=ur ur_type:=ur5e  with arguments of the xacro file
  rbdyn sim panda --box franka                    an arm that clients of libfranka move
  rbdyn sim ur5 --box ur                          an arm that clients of ur_rtde move
  rbdyn sim robot.urdf {common.ROS_ARGS} -p on_timeout:=hold -r __ns:=/left

Arguments after {common.ROS_ARGS} go to ROS 2: parameters of the node, remappings, parameter files.
They override the options before it.
Exit status: 0 after Ctrl-C, SIGTERM or SIGHUP, 1 if the recording is not complete, 2 if the robot,
a parameter or the ROS 2 environment is refused."""


#: Advice in the error about several robots.
ONE_ROBOT = (
    "put robots of one world into a scene (--scene), robots of separate worlds into "
    f"`{common.ROS_ARGS} -p robots:=[left, right]`"
)


def add_sim(commands: Commands) -> None:
    command = commands.add_parser(
        "sim", help="simulate a robot behind ROS 2 topics", epilog=EPILOG
    )
    more = "; default: the robot of the parameters, or a bundled arm"
    common.add_robot(command, "file", "?", more)
    common.add_options(
        command,
        ("--scene", common.FileOf((".yaml", ".yml", ".sdf", ".world")), "SCENE.yaml",
            "a scene or an SDF world instead of one robot: robots, free objects and obstacles"),
        ("--actuators", common.FileOf((".yaml", ".yml")), "ACTUATORS.yaml",
            "file with the motors, gears and drives of the joints"),
    )  # fmt: skip
    command.add_argument(
        "--box",
        action="append",
        metavar="[ROBOT/]KIND[@ADDRESS]",
        help="simulate a control box, franka or ur, for clients of its vendor; once for each arm",
    )
    view = command.add_mutually_exclusive_group()
    common.flag(view, "--no-view", "do not show the robot in the browser")
    view.add_argument(
        "--port", type=port, help="TCP port of the page (8080); the next free one if it is taken"
    )
    run_file = common.FileOf((".mcap",))
    common.add_options(command, ("--record", run_file, "RUN.mcap", "record to this new file"))
    common.flag(command, "--paused", "start paused; the service ~/pause resumes")
    command.set_defaults(run=_sim, one_robot=ONE_ROBOT)


def _sim(options: argparse.Namespace) -> int:
    from rbdyn_ros.commands.line.interrupts import end_at_once
    from rbdyn_ros.description.reading.xacro_files import xacro_arguments
    from rbdyn_ros.recording.writer import check_recordable
    from rbdyn_ros.ros import why_no_ros
    from rbdyn_ros.view.live.spawned import spawn

    if options.scene is not None and (options.file is not None or options.floating_base):
        other = "a robot file" if options.file is not None else "--floating-base"
        text = f"--scene and {other} exclude each other: the scene names its robots"
        return common.report_error("sim", text, common.USAGE)
    # until the simulator handles signals itself, no file is open, so a signal loses nothing
    end_at_once(0, signal.SIGTERM, signal.SIGHUP)
    with common.refusing("sim --record", common.USAGE):
        if options.record is not None:
            check_recordable(options.record)
    with common.refusing("sim", common.USAGE):
        xacro_arguments(options.xacro_args)
        if options.file is not None:
            common.robot_of(options, options.file)
    common.run_imports(options.imports)
    shows = _shows(options)
    # start the view now, so that it imports its modules while the node imports its own
    spawned = spawn() if shows else None
    try:
        from rbdyn_ros.ros.simulator import node as simulator
    except ImportError as error:
        return common.report_error("sim", why_no_ros(error), common.USAGE)

    words = [sys.argv[0], *ros_words(options, shows), *options.ros_args]
    fallback = bundled_robot("seven_dof_arm")
    return simulator.run(words, options.file, fallback, options.imports, spawned)


def ros_words(options: argparse.Namespace, shows: bool) -> list[str]:
    """Return the options as parameters for ROS; a later parameter overrides an earlier one."""
    # `shown` holds a robot in a view until its first command, so that it does not fall at once
    given: dict[str, object] = {"view": shows, "start": "shown"}
    for name, is_set in (
        ("floating_base", options.floating_base),
        ("contact", options.contact),
        ("start_paused", options.paused),
    ):
        if is_set:
            given[name] = True
    if options.port is not None:
        given["view_port"] = options.port
    if options.record is not None:
        given["record"] = str(Path(options.record).absolute())
    if options.box:
        given["box"] = options.box
    for name in ("scene", "actuators"):
        if (path := getattr(options, name)) is not None:
            given[name] = str(Path(path).absolute())
    if options.repair:
        given["strict"] = False
    if options.xacro_args:
        given["xacro_args"] = options.xacro_args
    if options.package_dir:
        given["package_dirs"] = [str(Path(folder).absolute()) for folder in options.package_dir]
    # ROS reads YAML; JSON is valid YAML, and escapes all special characters of a path
    pairs = [f"{name}:={json.dumps(value, ensure_ascii=False)}" for name, value in given.items()]
    return [common.ROS_ARGS, *(word for pair in pairs for word in ("-p", pair))]


def _shows(options: argparse.Namespace) -> bool:
    """Return whether to show the robot; without viser, print a note and return False."""
    if options.no_view:
        return False
    if importlib.util.find_spec("viser") is None:
        text = 'simulating without a view, which needs viser (pip install "rbdyn_ros[view]")'
        print(f"rbdyn sim: {text}; --no-view silences this", file=sys.stderr)
        return False
    return True

# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn layout`: write a layout of RViz, Foxglove or PlotJuggler."""

import argparse
import re
import sys

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import Finding, ParameterError, not_allowed
from rbdyn_ros.loading.output import output_path, write_whole

SUFFIXES = RVIZ, FOXGLOVE, PLOTJUGGLER = ".rviz", ".json", ".xml"
#: Patterns of a namespace, and of a frame prefix, which for RViz must end with a slash.
NAMESPACE = re.compile(r"(/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*)?/?", re.ASCII)
PREFIX = re.compile(r"([^/]+/)*")
EPILOG = """\
The suffix of OUTPUT chooses the program: .rviz, .json (Foxglove and Lichtblick) or .xml
(PlotJuggler). The layout has the topics of rbdyn sim: the robot, its frames, joints, pushes and
sensors.

Examples:
  rbdyn layout panda.urdf panda.rviz --sensors wrist.yaml
  rbdyn layout panda.urdf panda.json --sensors wrist.yaml
  rbdyn layout panda.urdf panda.xml

Exit status: 0 if the file was written, 1 if the robot or its sensors are refused, 2 if an argument
or the output is."""


def add_layout(commands: Commands) -> None:
    command = commands.add_parser(
        "layout", help="write a layout of RViz, Foxglove or PlotJuggler", epilog=EPILOG
    )
    common.add_robot(command, more="")
    common.add_options(
        command,
        ("output", common.FileOf(SUFFIXES), "OUTPUT", "file to write"),
        ("--sensors", common.FileOf((".yaml", ".yml")), "SENSORS.yaml",
            "sensors of the simulator (default: the sensors of the robot's file)"),
        ("--namespace", str, "NAME", "namespace of the simulator (default: none)",
            {"default": ""}),
        ("--frame-prefix", str, "NAME/", "frame_prefix of the simulator (default: none)",
            {"default": ""}),
    )  # fmt: skip
    command.set_defaults(run=_layout)


def _layout(options: argparse.Namespace) -> int:
    common.run_imports(options.imports)
    with common.refusing("layout", common.USAGE):
        _check_names(options)
        target = output_path(options.output, "a layout", SUFFIXES)
    with common.refusing("layout", common.REFUSED):
        data = _text(options, target.suffix.lower()).encode()
    with common.refusing("layout", common.USAGE):
        write_whole(target, data)
    print(f"wrote {target}")
    return common.DONE


def _check_names(options: argparse.Namespace) -> None:
    """Raise ParameterError if a simulator cannot have the namespace or the prefix."""
    if not NAMESPACE.fullmatch(options.namespace):
        allowed = (
            "a name, or names separated by single '/', such as left or cell/left; a name has "
            "letters, digits and '_', and does not begin with a digit"
        )
        raise not_allowed("--namespace", options.namespace, allowed)
    if not PREFIX.fullmatch(options.frame_prefix):
        raise not_allowed("--frame-prefix", options.frame_prefix, "a name that ends with one '/'")


def _text(options: argparse.Namespace, suffix: str) -> str:
    """Return the text of the layout for the program that the suffix chooses.

    Raises:
        RbdynError: the robot or its sensors are refused, or the file is a scene of several robots.
    """
    from rbdyn_ros.loading.load import complete
    from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
    from rbdyn_ros.ros.layouts.foxglove import foxglove_layout
    from rbdyn_ros.ros.layouts.plotjuggler import plotjuggler_layout
    from rbdyn_ros.ros.layouts.rviz import rviz_layout
    from rbdyn_ros.ros.layouts.topics import shown_topics
    from rbdyn_ros.sensors.reader import read_sensors, sensors_of

    found = common.opened_robot(options, options.robot)
    if found.parts is not None and len(found.parts.robots) > 1:
        text = "a layout shows one robot, but the scene has several; give the file of one robot"
        raise ParameterError(Finding("several-robots", text, "error", "robot"))
    if not found.text:
        text = "the simulator publishes no robot_description of such a file: no robot is shown"
        print(f"rbdyn layout: {text}", file=sys.stderr)
    m = complete(found.description, options.floating_base, not options.repair)
    if options.sensors is not None:
        specs = read_sensors(options.sensors, m, found.description)
    else:
        specs, _ = sensors_of(m, found.description)
    odom = options.floating_base or bool(found.base)
    described = bool(found.text)
    topics = shown_topics(specs, options.namespace, odom=odom, described=described)
    if suffix == RVIZ:
        return rviz_layout(topics, options.namespace, options.frame_prefix)
    joints = SingleJoints.all(m).names
    if suffix == PLOTJUGGLER:
        return plotjuggler_layout(topics, joints)
    return foxglove_layout(topics, joints, options.frame_prefix)

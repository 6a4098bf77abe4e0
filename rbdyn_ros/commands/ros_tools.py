# SPDX-License-Identifier: Apache-2.0
"""The commands `rbdyn topic`, `service` and `param`, for a ROS 2 without the command `ros2`."""

import argparse

from rbdyn_ros.commands.line.common import DONE, REFUSED, USAGE, flag, report_error
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import RbdynError

#: For each action, its arguments and the number of required arguments.
TOPIC = {
    "list": ("", 0),
    "echo": ("TOPIC", 1),
    "hz": ("TOPIC", 1),
    "pub": ("TOPIC TYPE [VALUES]", 2),
}
SERVICE = {"call": ("SERVICE TYPE [VALUES]", 2)}
PARAM = {"list": ("NODE", 1), "get": ("NODE NAME", 2), "set": ("NODE NAME VALUE", 3)}

EPILOG = """\
Examples:
{}

With an installed ROS 2, `ros2 {}` does the same and more. ROS_DOMAIN_ID chooses the graph.
Exit status: 0, also after Ctrl-C, 1 if something is missing or refused, 2 for wrong arguments."""


def add_topic(commands: Commands) -> None:
    examples = """\
  rbdyn topic list
  rbdyn topic echo /joint_states --once
  rbdyn topic hz /joint_states
  rbdyn topic pub -r 100 /joint_commands sensor_msgs/msg/JointState \\
      "{name: [elbow_pitch], position: [0.5]}\""""
    command = _add(
        commands, "topic", "list, print, publish and time ROS 2 topics", TOPIC, examples
    )
    command.add_argument(
        "-r", "--rate", type=float, default=1.0, help="for pub: messages per second (1)"
    )
    flag(command, "--once", "end after one message, or one second")


def add_service(commands: Commands) -> None:
    examples = '  rbdyn service call /simulator/pause std_srvs/srv/SetBool "{data: true}"'
    _add(commands, "service", "call a ROS 2 service", SERVICE, examples)


def add_param(commands: Commands) -> None:
    examples = """\
  rbdyn param list /simulator
  rbdyn param set /simulator real_time_factor 0.5"""
    _add(commands, "param", "list, get and set parameters of a ROS 2 node", PARAM, examples)


def _add(
    commands: Commands, name: str, summary: str, actions: dict[str, tuple[str, int]], examples: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=summary, epilog=EPILOG.format(examples, name))
    command.add_argument("action", choices=tuple(actions), help=f"one of {', '.join(actions)}")
    forms = ", ".join(f"{action} {words}" for action, (words, _) in actions.items() if words)
    command.add_argument("words", nargs="*", metavar="WORD", help=forms)
    command.set_defaults(
        run=lambda options: _run(name, actions[options.action], options), words_anywhere=True
    )
    return command


def _run(name: str, form: tuple[str, int], options: argparse.Namespace) -> int:
    from rbdyn_ros.ros import why_no_ros

    title, (words, needed) = f"{name} {options.action}", form
    most = len(words.split())
    if not needed <= len(options.words) <= most:
        return report_error(title, f"expected: rbdyn {title} {words}", USAGE)
    if name == "topic" and not options.rate > 0.0:
        text = f"the rate is {options.rate:g}; allowed is a number above 0"
        return report_error(title, text, USAGE)
    try:
        from rbdyn_ros.ros import graph_tools
    except ImportError as error:
        return report_error(title, why_no_ros(error), USAGE)
    arguments = [*options.words, *[""] * (most - len(options.words))]
    if name == "topic" and options.action == "pub":
        arguments += [options.rate, options.once]
    elif name == "topic" and options.action != "list":
        arguments += [options.once]
    try:
        getattr(graph_tools, f"{name}_{options.action}")(*arguments)
    except RbdynError as error:
        return report_error(title, error, REFUSED)
    except KeyboardInterrupt:  # Ctrl-C is the usual end of echo, hz and pub
        return DONE
    return DONE

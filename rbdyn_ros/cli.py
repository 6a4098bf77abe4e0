# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn` with a table of its subcommands; each is a file in the folder `commands`."""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence

from rbdyn_ros import __version__
from rbdyn_ros.commands.bench import add_bench
from rbdyn_ros.commands.check import add_check
from rbdyn_ros.commands.codegen import add_codegen
from rbdyn_ros.commands.completion import add_completion
from rbdyn_ros.commands.convert import add_convert
from rbdyn_ros.commands.dataset import add_dataset
from rbdyn_ros.commands.excite import add_excite
from rbdyn_ros.commands.identify import add_identify
from rbdyn_ros.commands.info import add_info
from rbdyn_ros.commands.layout import add_layout
from rbdyn_ros.commands.line.common import DONE, INTERRUPTED, REFUSED, ROS_ARGS, USAGE
from rbdyn_ros.commands.line.parser import Commands, Parser
from rbdyn_ros.commands.moveit import add_moveit
from rbdyn_ros.commands.plot import add_plot
from rbdyn_ros.commands.replay import add_replay
from rbdyn_ros.commands.ros_tools import add_param, add_service, add_topic
from rbdyn_ros.commands.schema import add_schema
from rbdyn_ros.commands.sim import add_sim
from rbdyn_ros.commands.trial import add_trial
from rbdyn_ros.commands.view import add_view
from rbdyn_ros.errors import did_you_mean, quote

#: Functions that add the subcommands, in the groups in which the help lists these.
GROUPS: dict[str, tuple[Callable[[Commands], None], ...]] = {
    "A robot's file": (add_check, add_view, add_convert, add_codegen, add_schema),
    "A simulated robot": (add_sim, add_trial, add_moveit, add_layout),
    "ROS 2 without the command ros2": (add_topic, add_service, add_param),
    "A recording": (add_plot, add_replay, add_dataset),
    "A real arm": (add_excite, add_identify),
    "This machine": (add_bench, add_info, add_completion),
}

EXAMPLES = """\
Examples:
  rbdyn check robot.urdf                         check a file and list its contents
  rbdyn view robot.urdf                          show it in the browser
  rbdyn sim robot.urdf                           simulate it behind ROS 2 topics
  rbdyn sim --contact --ros-args -p tf_rate:=10  a bundled arm, with parameters of the node
  rbdyn sim robot.urdf --record run.mcap         record the simulation
  rbdyn replay run.mcap                          play the recording in the browser
  rbdyn bench robot.urdf                         time its dynamics on this machine

rbdyn COMMAND --help describes a command. Exit status: 0 success, 1 input refused, 2 wrong
arguments or a missing dependency, 130 ended by Ctrl-C (sim, view and replay then end with 0).
"""


def main(args: Sequence[str] | None = None) -> None:
    """Run a command of `rbdyn` and exit with its status.

    Args:
        args: the arguments; None: the arguments of this process, whose signals and terminal the
            command then also handles.
    """
    words = list(sys.argv[1:] if args is None else args)
    status: int | str | None
    try:
        try:
            status = _run(words, own_process=args is None)
        except SystemExit as end:  # from argparse, whose output may not be flushed yet
            status = end.code
        if sys.stdout is not None:  # the shell may have closed stdout
            sys.stdout.flush()
    except KeyboardInterrupt:
        if args is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C prints no traceback
        status = INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does after its last line
        status = REFUSED
        _discard_stdout()
    except OSError as error:
        if not _stdout_fails():
            raise
        status = USAGE
        _discard_stdout()
        print(f"rbdyn: the output cannot be written: {error.strerror}", file=sys.stderr)
    if args is None:
        _end_silently()
    sys.exit(status)


def _end_silently() -> None:
    """Let Ctrl-C end this process without a traceback while Python shuts down.

    This also skips the garbage collection of modules, which takes a fifth of the time of a start.
    """
    gc.freeze()
    from rbdyn_ros.commands.line.interrupts import end_at_once, is_ignored

    if not is_ignored():
        end_at_once()


def _prepare_process() -> None:
    """Let Ctrl-C raise KeyboardInterrupt except while kernels compile; show this progress."""
    from rbdyn_ros.commands.line.interrupts import end_by_exception, guard_compiling, is_ignored

    guard_compiling()
    if not is_ignored():
        end_by_exception()
    if sys.stderr is not None and sys.stderr.isatty():
        from rbdyn_ros.dynamics.compiling import NOTICE
        from rbdyn_ros.report.progress import show_compiling

        NOTICE.is_due = False
        show_compiling()


def _stdout_fails() -> bool:
    """Flush the output; return whether this fails, for example because the disk is full."""
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _discard_stdout() -> None:
    """Discard buffered output, because flushing it at exit would print an error."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str], own_process: bool) -> int:
    """Run the subcommand in `words` and return its exit status; own_process: see main."""
    cut = words.index(ROS_ARGS) if ROS_ARGS in words else len(words)
    parser, commands = make_parser()
    if not words:
        parser.print_help()
        return DONE
    _check_command(parser, commands.choices, words[:cut])
    if words[cut:] and words[0] != "sim":
        parser.error(f"only rbdyn sim takes {ROS_ARGS}")
    options = parser.parse_args(words[:cut])
    options.ros_args = words[cut:]
    if own_process:
        _prepare_process()
    status: int = options.run(options)
    return status


def make_parser() -> tuple[Parser, Commands]:
    """Return the parser of `rbdyn`, and the collection of its subcommands."""
    parser = _Root(prog="rbdyn")
    parser.add_argument("--version", action="version", version=f"rbdyn {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    parser.commands = commands
    for group in GROUPS.values():
        for add in group:
            add(commands)
    for name, summary in parser.summaries().items():
        command = commands.choices[name]
        command.description = command.description or f"{summary[:1].upper()}{summary[1:]}."
        command.set_defaults(root=parser)
    return parser, commands


def _check_command(parser: Parser, known: dict[str, Parser], words: list[str]) -> None:
    """Exit if the first word is not a command, or the command does not know an option."""
    name = words[0] if words else ""
    if name in known:
        known[name].check_options(words[1:])
    elif name.startswith("-"):
        parser.check_options(words[:1])
    else:
        allowed = ", ".join(known)
        wrong = f"there is no command {quote(name)}{did_you_mean(name, known)}"
        parser.error(f"{wrong}; allowed are {allowed}")


class _Root(Parser):
    """The parser of `rbdyn` itself; its help lists the commands in groups."""

    commands: Commands

    def summaries(self) -> dict[str, str]:
        """Return the summary of each command by its name."""
        actions = self.commands._get_subactions()  # noqa: SLF001 - argparse has no public way
        return {action.dest: str(action.help) for action in actions}

    def format_help(self) -> str:
        """Return the help text."""
        summaries = iter(self.summaries().items())
        lines = ["usage: rbdyn COMMAND ...", "", "Rigid-body dynamics of robots, with ROS 2.", ""]
        for title, group in GROUPS.items():
            lines.append(f"{title}:")
            for _ in group:
                name, summary = next(summaries)
                lines.append(f"  {name:<12}{summary}")
            lines.append("")
        return "\n".join([*lines, "Options: -h, --help, --version", "", EXAMPLES])

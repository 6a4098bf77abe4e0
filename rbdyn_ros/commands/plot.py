"""The command `rbdyn plot`: figures of a recording."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import (
    DONE,
    PICTURE_FILE,
    REFUSED,
    ROBOT_FILE,
    USAGE,
    FileOf,
    add_import,
    demand_writable,
    run_imports,
    said,
)

if TYPE_CHECKING:
    from rbdyn_ros.commands.common import Commands

RUN_FILE = FileOf((".mcap", ".db3"))

EPILOG = """\
Examples:
  rbdyn plot run.mcap                                 draws run.png
  rbdyn plot run.mcap -o run.pdf --joints 'wrist_*' --from 2 --to 4
  rbdyn plot bag/ --robot arm.urdf --quantities position error

Of each joint position, velocity, effort, and what was commanded; of the robot energy and contact
forces. A .pdf has pages for many joints.
Exit status: 0 if the figure is written, 1 if the recording is refused, 2 if the command or the
figure is."""


def add_plot(commands: Commands) -> None:
    """Add `plot` to the subcommands of `rbdyn`."""
    command = commands.add_parser("plot", help="draw figures of a recording", epilog=EPILOG)
    add_recording(command)
    command.add_argument(
        "-o",
        "--output",
        type=PICTURE_FILE,
        metavar="FIGURE",
        help="a .png, .svg or .pdf file (beside the recording: run.png)",
    )
    command.add_argument(
        "--joints", nargs="+", default=[], metavar="NAME", help="or patterns as 'wrist_*' (all)"
    )
    command.add_argument(
        "--quantities",
        nargs="+",
        default=[],
        metavar="NAME",
        help="of position, velocity, effort, error, energy, contact (all there are)",
    )
    command.add_argument(
        "--size",
        nargs=2,
        type=float,
        metavar=("WIDTH", "HEIGHT"),
        help="of a page [inch] (what it needs)",
    )
    command.set_defaults(run=_plot)


def add_recording(command: argparse.ArgumentParser) -> None:
    """Add a recording, and which part of it, to the arguments of a command."""
    command.add_argument("recording", type=RUN_FILE, help="an .mcap file, or a folder of rosbag2")
    command.add_argument(
        "--robot",
        type=FileOf((*ROBOT_FILE.suffixes, ".npz")),
        metavar="FILE",
        help="of a recording that does not have its robot",
    )
    command.add_argument("--name", help="of the robot, of several in the recording")
    command.add_argument(
        "--from", dest="start", type=float, default=0.0, metavar="S", help="since it began [s] (0)"
    )
    command.add_argument(
        "--to",
        dest="end",
        type=float,
        default=float("inf"),
        metavar="S",
        help="since it began [s] (its end)",
    )
    add_import(command)


def _plot(options: argparse.Namespace) -> int:
    from rbdyn_ros.errors import ParameterError, RbdynError
    from rbdyn_ros.recording.reader import read_run
    from rbdyn_ros.view.pictures.plots import SUFFIXES, draw_run

    run_imports(options.imports)
    target = options.output
    if target is None:
        target = options.recording.resolve().with_suffix(".png")
    try:
        demand_writable(target, "a figure", SUFFIXES)
    except ParameterError as error:
        return said("plot", error, USAGE)
    try:
        run = read_run(
            options.recording,
            options.robot,
            name=options.name,
            start=options.start,
            end=options.end,
        )
    except RbdynError as error:
        return said("plot", error, REFUSED)
    for note in run.notes:
        print(f"rbdyn plot: {options.recording}: {note}", file=sys.stderr)
    size = None if options.size is None else (options.size[0], options.size[1])
    try:
        draw_run(run, target, joints=options.joints, quantities=options.quantities, size=size)
    except RbdynError as error:
        return said("plot", error, USAGE)
    print(target if options.output else target.name)
    return DONE

# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn plot`: draw figures of a recording."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common, recorded
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import ParameterError, RbdynError

if TYPE_CHECKING:
    from rbdyn_ros.recording.run import RecordedRun

#: Codes of errors that concern the arguments and not the recording.
_OF_THE_COMMAND = ("bad-span", "several-robots", "no-robot", "no-table", "no-record-extra")

EPILOG = """\
Examples:
  rbdyn plot run.mcap                                 draws run.png
  rbdyn plot run.mcap -o run.pdf --joints 'wrist_*' --from 2 --to 4
  rbdyn plot bag/ --robot arm.urdf --quantities position error

Draws position, velocity, effort and command of each joint, and energy and contact forces of
the robot. A .pdf gets several pages if there are many joints.
Exit status: 0 if the figure is written, 1 if the recording is refused, 2 if an argument or the
output file is."""


def add_plot(commands: Commands) -> None:
    command = commands.add_parser("plot", help="draw figures of a recording", epilog=EPILOG)
    add_recording(command)
    common.add_options(
        command,
        ("-o --output", common.PICTURE_FILE, "FIGURE",
            ("a .png, .svg or .pdf file, replaced if it exists (default: a .png beside the "
            "recording)")),
        ("--joints", str, "NAME",
            "names or patterns such as 'wrist_*' (all)", {"nargs": "+", "default": []}),
        ("--quantities", str, "NAME",
            "some of position, velocity, effort, error, energy, contact (all)",
            {"nargs": "+", "default": []}),
        ("--size", float, ("WIDTH", "HEIGHT"),
            "size of a page [inch] (fits the contents)", {"nargs": 2}),
    )  # fmt: skip
    command.set_defaults(run=_plot)


def add_recording(command: argparse.ArgumentParser) -> None:
    """Add arguments for a recording, and for the part of the recording to use, to a command."""
    command.add_argument(
        "recording",
        type=common.RECORDING_FILE,
        help="an .mcap file or a rosbag2 folder; with --robot a .csv file, with --columns a table",
    )
    text = "file of the robot, if the recording does not contain it"
    common.add_options(command, ("--robot", common.ROBOT_FILE, "FILE", text))
    command.add_argument("--name", help="name of the robot, if the recording has several")
    common.add_options(
        command,
        ("--from", float, "S",
            "start time in the recording [s] (0)", {"dest": "start", "default": 0.0}),
        ("--to", float, "S",
            "end time in the recording [s] (its end)", {"dest": "end", "default": float("inf")}),
    )  # fmt: skip
    recorded.add_table_options(command)
    common.add_import(command)


def recorded_run(command: str, options: argparse.Namespace) -> "RecordedRun":
    """Return the run that the options choose; print an error and end the process."""
    from rbdyn_ros.recording.reader import read_run

    path = options.recording
    part = {"name": options.name, "start": options.start, "end": options.end}
    table = recorded.is_table(options)
    try:
        if not table:
            recorded.check_bag_options(options)
        run = recorded.run_of_table(options) if table else read_run(path, options.robot, **part)
    except RbdynError as error:
        if isinstance(error, ParameterError) and error.code == "no-recording" and not table:
            sys.exit(common.report_error(command, recorded.not_there(error, path), common.REFUSED))
        is_command = error.code in _OF_THE_COMMAND
        sys.exit(
            common.report_error(command, error, common.USAGE if is_command else common.REFUSED)
        )
    for note in run.notes:
        print(f"rbdyn {command}: {path}: {note}", file=sys.stderr)
    return run


def _plot(options: argparse.Namespace) -> int:
    from rbdyn_ros.view.pictures.plots import SUFFIXES, draw_run

    common.run_imports(options.imports)
    target = options.output or _beside(options.recording)
    with common.refusing("plot", common.USAGE):
        common.check_writable(target, "a figure", SUFFIXES)
    run = recorded_run("plot", options)
    size = None if options.size is None else (options.size[0], options.size[1])
    with common.refusing("plot", common.USAGE):
        draw_run(run, target, joints=options.joints, quantities=options.quantities, size=size)
    print(target)
    return common.DONE


def _beside(recording: Path) -> Path:
    """Return the default path of the figure, next to the recording."""
    here = recording if recording.name not in ("", "..") else recording.resolve()
    is_file = here.suffix.lower() in common.RECORDING_FILE.suffixes and not here.is_dir()
    return here.parent / f"{here.stem if is_file else here.name}.png"

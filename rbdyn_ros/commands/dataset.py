# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn dataset`: write recordings as a dataset of LeRobot."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import counted, not_allowed

if TYPE_CHECKING:
    from rbdyn_ros.recording.lerobot.episode import Episode

MOST_FPS = 1000
RUN_FILE = common.FileOf((".mcap", ".db3"))
EPILOG = """\
Each recording is an episode. A frame has the measured positions of the joints, the commanded
positions as the action, and the last picture of each colour camera. Before the first command, and
for a joint without position commands, the action is the measured position in the next frame.

Examples:
  rbdyn dataset pick1.mcap pick2.mcap -o picks --fps 30 --task "pick"
  rbdyn dataset bag/ -o picks --fps 20 --task "pick" --robot arm.urdf

Exit status: 0 if the dataset is written, 1 if a recording is refused, 2 if an argument or the
folder is."""


def add_dataset(commands: Commands) -> None:
    command = commands.add_parser(
        "dataset", help="write recordings as a dataset of LeRobot", epilog=EPILOG
    )
    common.add_options(
        command,
        ("recordings", RUN_FILE, "recording", ".mcap or rosbag2 folder", {"nargs": "+"}),
        ("-o --output", common.folder_path, "DIR", "new folder", {"required": True}),
        ("--fps", int, "N",
            "frames per second, such as the rate of the cameras", {"required": True}),
        ("--task", str, "TEXT", "what the robot does", {"required": True}),
        ("--robot", common.ROBOT_FILE, "FILE", "robot file, if the recording contains no robot"),
    )  # fmt: skip
    command.add_argument("--name", help="name of the robot, if the recordings have several")
    common.add_import(command)
    command.set_defaults(run=_dataset)


def _dataset(options: argparse.Namespace) -> int:
    from rbdyn_ros.codegen.ros2_control.folder import check_empty, fill_folder
    from rbdyn_ros.recording.lerobot.dataset import check_episodes, write_dataset

    common.run_imports(options.imports)
    folder: Path = options.output
    with common.refusing("dataset", common.USAGE):
        _check_options(options)
        check_empty(folder)
    with common.refusing("dataset", common.REFUSED):
        names, episodes = zip(*(_episode(p, options) for p in options.recordings), strict=True)
        check_episodes(episodes)
    how = {"fps": options.fps, "task": options.task, "robot": names[0]}
    with common.refusing("dataset", common.USAGE):
        fill_folder(folder, lambda beside: write_dataset(beside, episodes, **how))
    frames = sum(one.length for one in episodes)
    print(
        f"wrote {folder}: {counted(len(episodes), 'episode')}, {frames} frames at {options.fps} Hz"
    )
    return common.DONE


def _check_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if a dataset cannot have the rate or the task of the options."""
    if not 1 <= options.fps <= MOST_FPS:
        raise not_allowed("--fps", options.fps, f"a whole number from 1 to {MOST_FPS}")
    if not options.task.strip():
        raise not_allowed("--task", options.task, "a text that is not blank")


def _episode(path: Path, options: argparse.Namespace) -> "tuple[str, Episode]":
    """Return the name of the robot and the frames of a recording; print its notes."""
    from rbdyn_ros.recording.bags import existing
    from rbdyn_ros.recording.lerobot.cameras import Cameras
    from rbdyn_ros.recording.lerobot.episode import episode
    from rbdyn_ros.recording.reader import read_run

    run = read_run(path, options.robot, name=options.name)
    found = episode(run, Cameras(existing(path)), options.fps)
    for note in (*run.notes, *found.notes):
        print(f"rbdyn dataset: {path}: {note}", file=sys.stderr)
    return run.m.name, found

# SPDX-License-Identifier: Apache-2.0
"""Shared by the commands: the arguments of a robot, exit statuses, error messages."""

from __future__ import annotations

import argparse
import runpy
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.errors import did_you_mean

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.model.model import Model

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130

#: The arguments behind it are passed to ROS 2.
ROS_ARGS = "--ros-args"

#: Default mounting of the base link [rad] and gravity [m/s^2].
UPRIGHT, GRAVITY = [0.0, 0.0, 0.0], [0.0, 0.0, -9.81]

#: Upper bounds: gravity [m/s^2], as in the nodes; angles [rad].
LARGEST_GRAVITY, LARGEST_ANGLE = 1e4, 6.2832


@dataclass(frozen=True, slots=True)
class FileOf:
    """The type of an argument: a path to a file with one of some suffixes.

    Only shell completion uses the suffixes; the reader of the file checks its format.
    """

    suffixes: tuple[str, ...]

    def __call__(self, text: str) -> Path:
        return file_path(text)


class RobotFileArgument(FileOf):
    """The type of an argument: a robot file, or the name of a robot that is installed."""

    def __call__(self, text: str) -> Path:
        file_path(text)
        from rbdyn_ros.errors import ParameterError
        from rbdyn_ros.loading.robot_names import robot_file

        try:
            return robot_file(text)
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


ROBOT_FILE = RobotFileArgument((".urdf", ".xacro", ".yaml", ".yml"))
#: A robot file or a saved Model.
MODEL_FILE = RobotFileArgument((*ROBOT_FILE.suffixes, ".npz"))
MODEL_FILE_HELP = (
    "a .urdf, .xacro, mechanism or scene .yaml file, a saved Model (.npz), or the name of a robot "
    "such as panda"
)
PICTURE_FILE = FileOf((".svg", ".png", ".pdf"))
RECORDING_FILE = FileOf((".mcap", ".db3", ".csv"))


def add_robot(command: argparse.ArgumentParser) -> None:
    """Add the robot, its mounting and gravity to the arguments of a command."""
    command.add_argument(
        "robot",
        type=ROBOT_FILE,
        help="a .urdf, .xacro or mechanism .yaml file, or the name of a robot such as panda",
    )
    add_package_dirs(command)
    command.add_argument(
        "--mounting",
        nargs=3,
        type=float,
        metavar=("R", "P", "Y"),
        help="roll, pitch and yaw of the base link in the world [rad] (0 0 0)",
    )
    command.add_argument(
        "--gravity",
        nargs=3,
        type=float,
        metavar=("X", "Y", "Z"),
        help="gravity in the world [m/s^2] (0 0 -9.81)",
    )


def add_package_dirs(command: argparse.ArgumentParser) -> None:
    """Add `--package-dir` to the arguments of a command, as `options.package_dir`."""
    command.add_argument(
        "--package-dir",
        action="append",
        default=[],
        type=folder_path,
        metavar="DIR",
        help="a folder of ROS packages, for xacro files and meshes; can be repeated",
    )


def add_import(command: argparse.ArgumentParser) -> None:
    """Add `--import` to the arguments of a command, as `options.imports` for run_imports."""
    command.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        type=FileOf((".py",)),
        metavar="FILE",
        help="run this Python file first, to register joint types and motions of your own; can be "
        "repeated",
    )


def run_imports(paths: Sequence[Path]) -> None:
    """Run Python files of the user; their exceptions are not caught."""
    for path in paths:
        if not path.is_file():
            sys.exit(f"rbdyn --import: there is no file '{path}'{nearest_file(path)}")
        runpy.run_path(str(path))


def add_contact(command: argparse.ArgumentParser) -> None:
    """Add `--contact` to the arguments of a command."""
    command.add_argument(
        "--contact",
        action="store_true",
        help="simulate contact of the <collision> elements; adds a floor at z = 0 if the robot's "
        "file has no obstacle",
    )


def add_floating_base(command: argparse.ArgumentParser) -> None:
    """Add `--floating-base` to the arguments of a command."""
    command.add_argument(
        "--floating-base", action="store_true", help="let the root link move freely"
    )


def file_path(text: str) -> Path:
    """Return the path in an argument; raises ArgumentTypeError for an empty one."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def folder_path(text: str) -> Path:
    """Return the path of a folder in an argument."""
    return file_path(text)


def nearest_file(path: Path) -> str:
    """Return `` (did you mean 'x'?)`` with the most similar file name in the folder, or ""."""
    try:
        return did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    except (OSError, ValueError):
        return ""


def check_writable(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Raise ParameterError if a file cannot be written; tests it with a temporary file."""
    from rbdyn_ros.loading.output import output_path, unwritable

    target = output_path(path, what, suffixes)
    if target.is_dir():
        raise unwritable(target, ValueError("it is a folder"))
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from error


def load_robot(
    options: argparse.Namespace, floating_base: bool = False, mimic: bool = True
) -> tuple[Model, bytes]:
    """Return the robot, with gravity in the axes of its base link, and its URDF document.

    Args:
        options: with the arguments of add_robot.
        floating_base: as for load_urdf.
        mimic: as for load_urdf.

    Raises:
        RbdynError: the robot, its mounting or gravity is refused.
    """
    from rbdyn_ros.description.source import MECHANISM_SUFFIXES, read
    from rbdyn_ros.description.urdf_files.urdf import read_file
    from rbdyn_ros.loading.load import complete

    gravity = standing(options)
    _demand_file(options.robot)
    document = b""
    if options.robot.suffix.lower() in MECHANISM_SUFFIXES:
        described = read(options.robot, package_dirs=options.package_dir)
    else:
        described, text = read_file(options.robot, package_dirs=options.package_dir)
        is_plain = options.robot.suffix.lower() != ".xacro"
        document = options.robot.read_bytes() if is_plain else text.encode()
    m = complete(described, floating_base, mimic=mimic)
    m.opt.gravity = tuple(gravity.tolist())
    return m, document


def standing(options: argparse.Namespace) -> Array:
    """Return gravity in the axes of the base link, (3,) [m/s^2].

    Args:
        options: with the arguments of add_robot; --mounting and --gravity may be None.

    Raises:
        ParameterError: the mounting, gravity or a folder of packages is refused.
    """
    from rbdyn_ros.control.arm.arm import mounted_gravity

    mounting = UPRIGHT if options.mounting is None else options.mounting
    gravity = GRAVITY if options.gravity is None else options.gravity
    _demand_at_most("the mounting", mounting, LARGEST_ANGLE, "; angles are in rad")
    _demand_at_most("gravity", gravity, LARGEST_GRAVITY, " m/s^2")
    _demand_folders(options.package_dir)
    return mounted_gravity(mounting, gravity)


def _demand_file(path: Path) -> None:
    """Raise DescriptionError unless a robot is a file: the readers would also take URDF text."""
    from rbdyn_ros.description.reading.guard import refuse
    from rbdyn_ros.errors import quote

    try:
        is_file, is_there = path.is_file(), path.exists()
    except OSError:
        return  # the name is too long or a folder is not readable: the reader reports it
    if is_file:
        return
    name = quote(str(path), 200)
    what = f"{name} is not a file" if is_there else f"there is no file {name}{nearest_file(path)}"
    allowed = "the path of a .urdf, .xacro or mechanism .yaml file"
    refuse("no-such-file", f"{what}; give {allowed}", "", found=str(path), allowed=allowed)


def _demand_at_most(what: str, values: list[float], largest: float, more: str) -> None:
    from rbdyn_ros.errors import not_allowed

    if not all(abs(value) <= largest for value in values):
        raise not_allowed(what, values, f"three finite numbers up to {largest:g}{more}")


def _demand_folders(folders: list[Path]) -> None:
    from rbdyn_ros.errors import not_allowed

    for folder in folders:
        if not folder.is_dir():
            raise not_allowed("--package-dir", str(folder), "a folder that exists")


def report_error(command: str, error: object, status: int) -> int:
    """Print an error message and return the exit status."""
    print(f"rbdyn {command}: {error}", file=sys.stderr)
    return status

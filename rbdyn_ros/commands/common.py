"""What commands share: the robot they are about, their exit statuses, and how they speak."""

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
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.model.rotation import Array

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130

#: What follows it in a command is for ROS 2 to understand.
ROS_ARGS = "--ros-args"

#: How the base link stands [rad], and gravity [m/s^2], if nobody says otherwise.
UPRIGHT, GRAVITY = [0.0, 0.0, 0.0], [0.0, 0.0, -9.81]

#: Of gravity [m/s^2], as the nodes have it; and of angles [rad].
LARGEST_GRAVITY, LARGEST_ANGLE = 1e4, 6.2832


@dataclass(frozen=True, slots=True)
class FileOf:
    """The type of an argument that is the path of a file with one of these suffixes.

    Only the completion of shells looks at them: what a file is, its reader says.
    """

    suffixes: tuple[str, ...]

    def __call__(self, text: str) -> Path:
        return file_path(text)


ROBOT_FILE = FileOf((".urdf", ".xacro", ".yaml", ".yml"))
PICTURE_FILE = FileOf((".svg", ".png", ".pdf"))
RECORDING_FILE = FileOf((".mcap", ".db3", ".csv"))


def add_robot(command: argparse.ArgumentParser) -> None:
    """Add the robot, and how it stands, to the arguments of a command."""
    command.add_argument("robot", type=ROBOT_FILE, help="a .urdf, .xacro or mechanism .yaml file")
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
        help="in the world [m/s^2] (0 0 -9.81)",
    )


def add_package_dirs(command: argparse.ArgumentParser) -> None:
    """Add `--package-dir` to the arguments of a command, as `options.package_dir`."""
    command.add_argument(
        "--package-dir",
        action="append",
        default=[],
        type=folder_path,
        metavar="DIR",
        help="a folder with packages, for xacro files and meshes; may be given again",
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
        help="run this Python file before: it registers joint types and motions that the robot "
        "uses; may be given again",
    )


def run_imports(paths: Sequence[Path]) -> None:
    """Run files of the user; what they raise is theirs to read."""
    for path in paths:
        if not path.is_file():
            sys.exit(f"rbdyn --import: there is no file '{path}'{nearest_file(path)}")
        runpy.run_path(str(path))


def add_contact(command: argparse.ArgumentParser) -> None:
    """Add `--contact` to the arguments of a command."""
    command.add_argument(
        "--contact",
        action="store_true",
        help="let the <collision> elements of links touch, and put a floor at height 0 where the "
        "robot's file names no obstacle",
    )


def add_floating_base(command: argparse.ArgumentParser) -> None:
    """Add `--floating-base` to the arguments of a command."""
    command.add_argument(
        "--floating-base", action="store_true", help="let the root link move freely"
    )


def file_path(text: str) -> Path:
    """Return the path that a word of a command names; nothing is no path."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty word is no path")
    return Path(text)


def folder_path(text: str) -> Path:
    """Return the path of a folder that a word of a command names."""
    return file_path(text)


def nearest_file(path: Path) -> str:
    """Return `` (did you mean 'x'?)`` for the file most like one that is not there, or nothing."""
    try:
        return did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    except (OSError, ValueError):
        return ""


def demand_writable(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Raise ParameterError if a file cannot be written, which is tried beside it."""
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
    """Return the robot, with gravity as its base link sees it, and its URDF document.

    Args:
        options: what add_robot has added.
        floating_base: as for load_urdf.
        mimic: as for load_urdf.

    Raises:
        RbdynError: the robot is refused, or how it stands.
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
    """Return gravity as the base link sees it (3,) [m/s^2], if the words about a robot can be.

    Args:
        options: what add_robot has added; --mounting and --gravity are None if not given.

    Raises:
        ParameterError: the mounting, gravity or a folder of packages is refused.
    """
    from rbdyn_ros.control.arm import mounted_gravity

    mounting = UPRIGHT if options.mounting is None else options.mounting
    gravity = GRAVITY if options.gravity is None else options.gravity
    _demand_at_most("the mounting", mounting, LARGEST_ANGLE, "; angles are in rad")
    _demand_at_most("gravity", gravity, LARGEST_GRAVITY, " m/s^2")
    _demand_folders(options.package_dir)
    return mounted_gravity(mounting, gravity)


def _demand_file(path: Path) -> None:
    """Raise DescriptionError if a robot is no file; readers know text, too, which is no word."""
    from rbdyn_ros.description.urdf_files.guard import refuse
    from rbdyn_ros.errors import quote

    try:
        is_file, is_there = path.is_file(), path.exists()
    except OSError:
        return  # its name is too long, or a folder closed: the reader says that
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


def said(command: str, error: object, status: int) -> int:
    """Print an error, or a sentence, and return the exit status that belongs to it."""
    print(f"rbdyn {command}: {error}", file=sys.stderr)
    return status

# SPDX-License-Identifier: Apache-2.0
"""Parts that all commands share: arguments of a robot, exit statuses, error messages."""

import argparse
import contextlib
import runpy
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbdyn_ros.errors import Finding, ParameterError, RbdynError, did_you_mean, not_allowed, quote
from rbdyn_ros.loading.output import output_path, unwritable

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.description.parts.geometries import Contact
    from rbdyn_ros.description.reading.robot_file import RobotFile
    from rbdyn_ros.description.source import Source
    from rbdyn_ros.model.model import Model

#: A parser of a command or a group of its options; options can be added to both.
Options = argparse._ActionsContainer  # noqa: SLF001 - argparse has no public name for both
DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130

#: Arguments after this word are passed to ROS 2.
ROS_ARGS = "--ros-args"

#: Default mounting of the base link [rad] and gravity [m/s^2].
UPRIGHT, GRAVITY = [0.0, 0.0, 0.0], [0.0, 0.0, -9.81]

#: Upper bounds: gravity [m/s^2], as in the nodes; angles [rad].
LARGEST_GRAVITY, LARGEST_ANGLE = 1e4, 6.2832


@dataclass(frozen=True, slots=True)
class FileOf:
    """The type of an argument that is the path of a file with one of these suffixes.

    Only shell completion uses the suffixes; the reader of the file checks its format.
    """

    suffixes: tuple[str, ...]

    def __call__(self, text: str) -> Path:
        return file_path(text)


class RobotFileArgument(FileOf):
    """The type of an argument that is a robot file, or the name of an installed robot."""

    def __call__(self, text: str) -> Path:
        from rbdyn_ros.description.reading.robot_file import path_of

        try:
            return path_of(file_path(text))
        except ParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


#: Type of an argument: a robot file, or a saved Model.
ROBOT_FILE = RobotFileArgument(
    (".urdf", ".xacro", ".sdf", ".xml", ".mjcf", ".yaml", ".yml", ".npz")
)
ROBOT_HELP = (
    "a .urdf, .xacro, .sdf, MJCF .xml, mechanism or scene .yaml file, or the name of a robot such "
    "as panda"
)
PICTURE_FILE = FileOf((".svg", ".png", ".pdf"))
RECORDING_FILE = FileOf((".mcap", ".db3", ".csv"))


#: Keyword arguments of an option that can be repeated; argparse copies the empty list.
REPEATED: dict[str, Any] = {"action": "append", "default": []}


def flag(command: Options, name: str, text: str) -> None:
    """Add an option without a value; `text` is its help."""
    command.add_argument(name, action="store_true", help=text)


def add_options(command: Options, *rows: tuple[Any, ...]) -> None:
    """Add an option for each row: name, type, name of the value, help, and further arguments."""
    for names, kind, sign, text, *others in rows:
        more = others[0] if others else {}
        command.add_argument(*names.split(), type=kind, metavar=sign, help=text, **more)


def add_robot(
    command: argparse.ArgumentParser,
    name: str = "robot",
    nargs: str | None = None,
    more: str = ", or a saved Model (.npz)",
) -> argparse._MutuallyExclusiveGroup:
    """Add a robot, and the options for reading its file, to the arguments of a command.

    Args:
        command: parser to which the arguments are added.
        name: name of the argument for the robot.
        nargs: number of robots, as for add_argument; None: one.
        more: end of the help about the robot.

    Returns:
        The group with `--repair`; options that exclude it can be added.
    """
    metavar = name.removesuffix("s")
    command.add_argument(
        name, type=ROBOT_FILE, nargs=nargs, metavar=metavar, help=f"{ROBOT_HELP}{more}"
    )
    command.set_defaults(xacro_args=[])
    about = "NAME:=VALUE anywhere on the command line: arguments of a .xacro file"
    command.add_argument_group("xacro arguments", about)
    add_package_dirs(command)
    flag(command, "--floating-base", "let the root link move freely")
    command.add_argument(
        "--contact",
        action="store_true",
        help="use the <collision> elements for contact; adds a floor at z = 0 if the robot's file "
        "has no obstacle",
    )
    add_import(command)
    group = command.add_mutually_exclusive_group()
    flag(group, "--repair", "repair errors where possible; each repair is a warning")
    return group


def add_mounting(command: argparse.ArgumentParser) -> None:
    """Add the mounting of a robot and gravity to the arguments of a command."""
    add_options(
        command,
        ("--mounting", float, ("R", "P", "Y"),
            "roll, pitch and yaw of the base link in the world [rad] (0 0 0)", {"nargs": 3}),
        ("--gravity", float, ("X", "Y", "Z"),
            "gravity in the world [m/s^2] (0 0 -9.81)", {"nargs": 3}),
    )  # fmt: skip


def add_package_dirs(command: argparse.ArgumentParser) -> None:
    """Add `--package-dir` to the arguments of a command, as `options.package_dir`."""
    text = "a folder of ROS packages, for xacro files and meshes; can be repeated"
    add_options(command, ("--package-dir", folder_path, "DIR", text, REPEATED))


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
    """Run Python files of the user; exceptions that they raise are not caught."""
    for path in paths:
        if not path.is_file():
            sys.exit(f"rbdyn --import: there is no file '{path}'{nearest_file(path)}")
        runpy.run_path(str(path))


def file_path(text: str) -> Path:
    """Return the path in an argument; raise ArgumentTypeError for an empty path."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def folder_path(text: str) -> Path:
    """Return the path in an argument; raise ArgumentTypeError unless it is an existing folder."""
    return file_path(text)


def nearest_file(path: Path) -> str:
    """Return a hint `` (did you mean 'x'?)`` with the most similar file in the folder, or ""."""
    try:
        return did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    except (OSError, ValueError):
        return ""


def check_writable(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Raise ParameterError if a file cannot be written or has none of the suffixes.

    `what` names the file in the message. A temporary file shows if the folder is writable.
    """
    target = output_path(path, what, suffixes)
    if target.is_dir():
        raise unwritable(target, ValueError("it is a folder"))
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from error


def robot_of(options: argparse.Namespace, path: Path) -> "RobotFile":
    """Return a robot file with the options of add_robot.

    Raises:
        RbdynError: there is no such file or folder, or a xacro argument is refused.
    """
    from rbdyn_ros.description.reading.robot_file import RobotFile
    from rbdyn_ros.description.reading.xacro_files import xacro_arguments

    _demand_folders(options.package_dir)
    arguments = xacro_arguments(options.xacro_args)
    _demand_file(path)
    return RobotFile(path, arguments, options.package_dir)


def opened_robot(
    options: argparse.Namespace, path: Path, contact: "bool | Contact | None" = None, **more: Any
) -> "Source":
    """Return the description of a robot file, read with the options of add_robot.

    Args:
        options: options of the command.
        path: path of the file.
        contact: replaces the value of `--contact`; None: use that value.
        more: further arguments of `opened`.
    """
    from rbdyn_ros.description.scene_files.scene import no_floating_scene
    from rbdyn_ros.description.source import opened

    contact = options.contact if contact is None else contact
    found = opened(robot_of(options, path), strict=not options.repair, contact=contact, **more)
    if found.is_scene and options.floating_base:
        raise no_floating_scene()
    return found


def loaded_robot(
    options: argparse.Namespace, path: Path, mimic: bool = True
) -> "tuple[Model, Source | None]":
    """Return the Model of a robot file, and its source; the source of a saved Model is None.

    Raises:
        RbdynError: the robot or an option is refused.
    """
    from rbdyn_ros.loading.load import complete, is_saved, load

    if is_saved(path):
        given = robot_of(options, path)
        m = load(
            path,
            floating_base=options.floating_base,
            strict=not options.repair,
            mimic=mimic,
            xacro_args=given.xacro_args,
            contact=options.contact,
        )
        return m, None
    found = opened_robot(options, path)
    m = complete(found.description, options.floating_base, not options.repair, mimic)
    return m, found


def mounted_robot(
    options: argparse.Namespace, mimic: bool = True
) -> "tuple[Model, Source | None]":
    """Return Model and source as loaded_robot does, without contact and with mounted gravity.

    Gravity is in the axes of the base link.

    Raises:
        RbdynError: the robot or an option of add_robot and add_mounting is refused.
    """
    gravity = standing(options)
    if options.contact:
        text = (
            "--contact has no effect on code, identification and excitation; leave out --contact"
        )
        raise ParameterError(Finding("useless-option", text, "error", "contact"))
    m, found = loaded_robot(options, options.robot, mimic)
    m.opt.gravity = tuple(gravity.tolist())
    return m, found


def standing(options: argparse.Namespace) -> "Array":
    """Return gravity in the axes of the base link (3,) [m/s^2].

    Args:
        options: options of add_mounting; a default replaces a mounting or gravity of None.

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
    """Raise DescriptionError unless a path is a file, because readers would accept URDF text."""
    from rbdyn_ros.description.reading.guard import refuse

    try:
        is_file, is_there = path.is_file(), path.exists()
    except OSError:
        return  # the name is too long or a folder is not readable; the reader reports this
    if is_file:
        return
    name = quote(str(path), 200)
    what = f"{name} is not a file" if is_there else f"there is no file {name}{nearest_file(path)}"
    allowed = "the path of a .urdf, .xacro, .sdf, .xml or .yaml file, or the name of a robot"
    refuse("no-such-file", f"{what}; give {allowed}", "", found=str(path), allowed=allowed)


def _demand_at_most(what: str, values: list[float], largest: float, more: str) -> None:
    if not all(abs(value) <= largest for value in values):
        raise not_allowed(
            what, values, f"a vector of three finite numbers up to {largest:g}{more}"
        )


def _demand_folders(folders: list[Path]) -> None:
    for folder in folders:
        if not folder.is_dir():
            raise not_allowed("--package-dir", str(folder), "a folder that exists")


@contextlib.contextmanager
def refusing(command: str, status: int, *, wrong: int | None = None) -> Iterator[None]:
    """If the block raises an RbdynError, print it and exit with a status.

    Args:
        command: name of the command in the message.
        status: exit status.
        wrong: exit status after a ParameterError; None: `status`.
    """
    try:
        yield
    except RbdynError as error:
        if wrong is not None and isinstance(error, ParameterError):
            status = wrong
        sys.exit(report_error(command, error, status))


def report_error(command: str, error: object, status: int) -> int:
    """Print an error message and return the exit status."""
    print(f"rbdyn {command}: {error}", file=sys.stderr)
    return status

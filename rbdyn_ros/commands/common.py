"""What commands share: the robot they are about, their exit statuses, and how they speak."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - no other name

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130

#: Of gravity [m/s^2], as the nodes have it; and of angles [rad].
LARGEST_GRAVITY, LARGEST_ANGLE = 1e4, 6.2832


def add_robot(command: argparse.ArgumentParser) -> None:
    """Add the robot, and how it stands, to the arguments of a command."""
    command.add_argument("robot", type=file_path, help="a .urdf or .xacro file")
    command.add_argument(
        "--package-dir",
        action="append",
        default=[],
        type=file_path,
        metavar="DIR",
        help="for xacro",
    )
    command.add_argument(
        "--mounting",
        nargs=3,
        type=float,
        default=[0.0, 0.0, 0.0],
        metavar=("R", "P", "Y"),
        help="roll, pitch and yaw of the base link in the world [rad] (0 0 0)",
    )
    command.add_argument(
        "--gravity",
        nargs=3,
        type=float,
        default=[0.0, 0.0, -9.81],
        metavar=("X", "Y", "Z"),
        help="in the world [m/s^2] (0 0 -9.81)",
    )


def file_path(text: str) -> Path:
    """Return the path that a word of a command names; nothing is no path."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty word is no path")
    return Path(text)


def demand_writable(path: Path, what: str, suffixes: Collection[str]) -> None:
    """Raise ParameterError if a file cannot be written, which is tried beside it."""
    from rbdyn_ros.output import output_path, unwritable

    target = output_path(path, what, suffixes)
    if target.is_dir():
        raise unwritable(target, ValueError("it is a folder"))
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from error


def load_robot(options: argparse.Namespace) -> tuple[Model, bytes]:
    """Return the robot, with gravity as its base link sees it, and its URDF document.

    Raises:
        RbdynError: the robot is refused, or how it stands.
    """
    from rbdyn_ros.control.arm import mounted_gravity
    from rbdyn_ros.description.source import MECHANISM_SUFFIXES, read
    from rbdyn_ros.description.urdf import read_file
    from rbdyn_ros.load import complete

    _demand_at_most("the mounting", options.mounting, LARGEST_ANGLE, "; angles are in rad")
    _demand_at_most("gravity", options.gravity, LARGEST_GRAVITY, " m/s^2")
    gravity = mounted_gravity(options.mounting, options.gravity)
    _demand_folders(options.package_dir)
    document = b""
    if options.robot.suffix.lower() in MECHANISM_SUFFIXES:
        described = read(options.robot, package_dirs=options.package_dir)
    else:
        described, text = read_file(options.robot, package_dirs=options.package_dir)
        is_plain = options.robot.suffix.lower() != ".xacro"
        document = options.robot.read_bytes() if is_plain else text.encode()
    m = complete(described)
    m.opt.gravity = tuple(gravity.tolist())
    return m, document


def _demand_at_most(what: str, values: list[float], largest: float, more: str) -> None:
    from rbdyn_ros.description.arguments import wrong

    if not all(abs(value) <= largest for value in values):
        wrong(what, values, f"three finite numbers up to {largest:g}{more}")


def _demand_folders(folders: list[Path]) -> None:
    from rbdyn_ros.description.arguments import wrong

    for folder in folders:
        if not folder.is_dir():
            wrong("--package-dir", str(folder), "a folder that exists")


def said(command: str, error: Exception, status: int) -> int:
    """Print an error and return the exit status that belongs to it."""
    print(f"rbdyn {command}: {error}", file=sys.stderr)
    return status


def progress() -> Callable[[str], None] | None:
    """Return what tells a person that work goes on; None where nobody watches."""
    return _tell if sys.stderr.isatty() else None


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)

"""The command `rbdyn`: one subcommand, one small function."""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import INTERRUPTED
from rbdyn_ros.commands.excite import add_excite
from rbdyn_ros.commands.identify import add_identify

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

ROS_ARGS = "--ros-args"


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `rbdyn`."""
    words = list(sys.argv[1:] if args is None else args)
    try:
        sys.exit(_run(words))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(words: list[str]) -> int:
    """Run a subcommand and return its exit status."""
    # what follows --ros-args is ROS's to understand
    cut = words.index(ROS_ARGS) if ROS_ARGS in words else len(words)
    parser = argparse.ArgumentParser(prog="rbdyn", description="Rigid-body dynamics for ROS 2.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_sim(commands)
    _add_check(commands)
    add_excite(commands)
    add_identify(commands)
    options = parser.parse_args(words[:cut])
    options.ros_args = words[cut:]
    status: int = options.run(options)
    return status


def _add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="run this Python file before: it registers joint types and motions that the robot "
        "uses; may be given again",
    )


def _run_imports(paths: Sequence[Path]) -> None:
    """Run files of the user; what they raise is theirs to read."""
    for path in paths:
        if not path.is_file():
            sys.exit(f"rbdyn --import: there is no file '{path}'")
        runpy.run_path(str(path))


def _add_sim(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sim = commands.add_parser(
        "sim",
        help="simulate a robot behind ROS 2 topics",
        epilog=f"Parameters of the node follow {ROS_ARGS}: {ROS_ARGS} -p on_timeout:=hold",
    )
    sim.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="a .urdf, .xacro or mechanism .yaml file; without it the one the parameters name, or "
        "a bundled arm",
    )
    _add_import(sim)
    sim.add_argument(
        "--no-view",
        action="store_true",
        help="do not start the viewer; takes effect with the viewer, which is not there yet",
    )
    _add_contact(sim)
    sim.set_defaults(run=_sim)


def _add_contact(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--contact",
        action="store_true",
        help="let the <collision> elements of links touch, and put a floor at height 0 where the "
        "robot's file names no obstacle",
    )


def _sim(options: argparse.Namespace) -> int:
    # until the simulator has its own way to end nothing is open, so Ctrl-C may end it at once;
    # an exception would get lost in one of the many imports
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    _run_imports(options.imports)
    try:
        from rbdyn_ros.ros import simulator
    except ModuleNotFoundError as error:
        print(
            f"rbdyn sim: {error}. Source a ROS 2 installation, or use `make sim`, which installs "
            "ROS 2 from PyPI.",
            file=sys.stderr,
        )
        return 2
    from rbdyn_ros.assets import bundled_robot

    words = [sys.argv[0], *options.ros_args]
    if options.contact:
        words += [ROS_ARGS, "-p", "contact:=true"]
    return simulator.run(words, options.file, bundled_robot("seven_dof_arm"))


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser(
        "check",
        help="read a robot and say what is in it and what is wrong with it",
        epilog="Exit status: 0 if the robot loads, 1 if it is refused, 2 if --graph cannot be "
        "drawn.",
    )
    check.add_argument("file", type=Path, help="a .urdf, .xacro or mechanism .yaml file")
    _add_import(check)
    check.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument(
        "--graph",
        type=Path,
        metavar="PICTURE",
        help="draw bodies and joints to a .svg, .png or .pdf file",
    )
    check.add_argument(
        "--repair",
        action="store_true",
        help="repair what would be refused where that is possible, each repair a warning",
    )
    check.add_argument(
        "--floating-base", action="store_true", help="let the root link move freely"
    )
    _add_contact(check)
    check.add_argument(
        "--package-dir",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder with packages, for xacro files and meshes; may be given again",
    )
    check.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    from rbdyn_ros.description.source import read
    from rbdyn_ros.errors import RbdynError
    from rbdyn_ros.load import complete
    from rbdyn_ros.report import refusal_json, report

    _run_imports(options.imports)
    strict = not options.repair
    try:
        description = read(
            options.file,
            strict=strict,
            package_dirs=options.package_dir,
            contact=options.contact,
        )
        model = complete(description, options.floating_base, strict)
    except RbdynError as error:
        if options.json:
            print(refusal_json(error))
        else:
            print(f"rbdyn check: {error}", file=sys.stderr)
        return 1
    found = report(description, model)
    print(found.to_json() if options.json else found)
    return 0 if options.graph is None else _draw(model, options.graph)


def _draw(model: Model, path: Path) -> int:
    from rbdyn_ros.errors import ParameterError
    from rbdyn_ros.view.connectivity import draw_connectivity

    try:
        draw_connectivity(model, path)
    except ParameterError as error:
        print(f"rbdyn check --graph: {error}", file=sys.stderr)
        return 2
    return 0

"""The command `rbdyn view`: a robot in the browser, its joints moved by sliders."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import (
    DONE,
    REFUSED,
    ROBOT_FILE,
    USAGE,
    FileOf,
    add_contact,
    add_floating_base,
    add_import,
    add_package_dirs,
    run_imports,
    said,
)

if TYPE_CHECKING:
    from rbdyn_ros.commands.common import Commands
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.view.web.show import Show

EPILOG = """\
Examples:
  rbdyn view robot.urdf
  rbdyn view robot.urdf.xacro --package-dir ~/ws/src --open
  rbdyn view mechanism.yaml --port 9000
  rbdyn view robot.urdf --floating-base

Nothing is simulated: sliders put joints where they are to be. Loops stay closed.
Exit status: 0 when it is ended by Ctrl-C, 1 if the robot is refused, 2 if it cannot be shown."""


def add_view(commands: Commands) -> None:
    """Add `view` to the subcommands of `rbdyn`."""
    command = commands.add_parser(
        "view", help="look at a robot in the browser and move its joints", epilog=EPILOG
    )
    command.add_argument(
        "file",
        type=FileOf((*ROBOT_FILE.suffixes, ".npz")),
        help="a .urdf, .xacro or mechanism .yaml file, or a kept Model (.npz)",
    )
    command.add_argument(
        "--port",
        type=int,
        default=8080,
        help="where the browser finds it (8080); if it is taken the next that is free",
    )
    command.add_argument(
        "--address",
        default="127.0.0.1",
        help="of this machine, for browsers elsewhere (127.0.0.1: for this machine alone); "
        "0.0.0.0 is all of them, and everybody who reaches it can use the view",
    )
    command.add_argument(
        "--open", action="store_true", help="open it in the browser of this machine"
    )
    command.add_argument(
        "--repair",
        action="store_true",
        help="repair what would be refused where that is possible",
    )
    add_floating_base(command)
    add_contact(command)
    add_package_dirs(command)
    add_import(command)
    command.set_defaults(run=_view)


def _view(options: argparse.Namespace) -> int:
    from rbdyn_ros.errors import ParameterError, RbdynError
    from rbdyn_ros.view.web.server import is_local, open_server

    run_imports(options.imports)
    try:
        model = _loaded(options)
    except RbdynError as error:
        return said("view", error, REFUSED)
    try:
        server = open_server(options.port, options.address, model.name)
    except ParameterError as error:
        return said("view", error, USAGE)
    try:
        show = _shown(options, server, model)
    except RbdynError as error:
        server.stop()
        return said("view", error, REFUSED)
    if not is_local(options.address):
        text = f"everybody who reaches {options.address} can use this view"
        print(f"rbdyn view: warning: {text}", file=sys.stderr)
    _wait(show, options.open)
    return DONE


def _loaded(options: argparse.Namespace) -> Model:
    from rbdyn_ros.description.source import read
    from rbdyn_ros.load import complete, load
    from rbdyn_ros.storage import SUFFIX

    if options.file.suffix == SUFFIX:
        return load(options.file, floating_base=options.floating_base, contact=options.contact)
    strict = not options.repair
    description = read(
        options.file, strict=strict, package_dirs=options.package_dir, contact=options.contact
    )
    return complete(description, options.floating_base, strict)


def _shown(options: argparse.Namespace, server: object, model: Model) -> Show:
    """Put the robot and its sliders into the view; say what of it cannot be shown."""
    from rbdyn_ros.description.looks import read_looks
    from rbdyn_ros.view.web.show import Show
    from rbdyn_ros.view.web.sliders import Sliders

    looks = read_looks(options.file, package_dirs=options.package_dir)
    show = Show(server, model, looks)  # type: ignore[arg-type]
    Sliders(show)
    for finding in (*looks.findings, *show.stage.findings):
        print(f"rbdyn view: warning: {finding}", file=sys.stderr)
    return show


def _wait(show: Show, in_browser: bool) -> None:
    """Say where the view is, and serve it until Ctrl-C."""
    from rbdyn_ros.commands.interrupts import end_at_once
    from rbdyn_ros.view.web.server import address_of

    end_at_once(DONE)  # nothing is open that would have to be closed
    address = address_of(show.server)
    print(f"rbdyn view: {address}  (Ctrl-C ends)", flush=True)
    if in_browser:
        webbrowser.open(address)
    threading.Event().wait()

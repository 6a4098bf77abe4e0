# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn view`: show a robot in the browser and move its joints by sliders."""

import argparse
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.page import add_page, serve_page, warn
from rbdyn_ros.commands.line.parser import Commands

if TYPE_CHECKING:
    import viser

    from rbdyn_ros.model.model import Model

EPILOG = """\
Examples:
  rbdyn view robot.urdf
  rbdyn view ur.urdf.xacro name:=ur ur_type:=ur5e --open
  rbdyn view mechanism.yaml --port 9000
  rbdyn view robot.urdf --floating-base

Nothing is simulated: the sliders set joint positions. Closed loops stay closed.
Exit status: 0 after Ctrl-C, 1 if the robot is refused, 2 if it cannot be shown."""


def add_view(commands: Commands) -> None:
    command = commands.add_parser(
        "view", help="show a robot in the browser and move its joints", epilog=EPILOG
    )
    common.add_robot(command, "file")
    add_page(command)
    command.set_defaults(run=_view)


def _view(options: argparse.Namespace) -> int:
    from rbdyn_ros.commands.line.interrupts import end_at_once

    end_at_once()  # no file is open, so nothing is lost
    common.run_imports(options.imports)
    with common.refusing("view", common.REFUSED):
        model, _ = common.loaded_robot(options, options.file)
    return serve_page("view", options, model.name, lambda server: _fill(server, model, options))


def _fill(server: "viser.ViserServer", model: "Model", options: argparse.Namespace) -> None:
    """Add the robot and its sliders to the view; warn about parts that cannot be shown."""
    from rbdyn_ros.description.appearance.shapes import read_appearance
    from rbdyn_ros.dynamics.configuration import moved_starts
    from rbdyn_ros.view.web.show import Show
    from rbdyn_ros.view.web.sliders import Sliders

    looks = read_appearance(common.robot_of(options, options.file))
    show = Show(server, model, looks)
    if moved := moved_starts(model, Sliders(show).qpos):
        print(f"rbdyn view: joints whose limits exclude 0 start elsewhere: {moved}", flush=True)
    for finding in (*looks.findings, *show.scene.findings):
        warn("view", finding)

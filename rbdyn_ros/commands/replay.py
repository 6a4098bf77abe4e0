# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn replay`: play a recording in the browser or write it as a film."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.page import add_page, serve_page, warn
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.commands.plot import add_recording, recorded_run
from rbdyn_ros.errors import ModelError

if TYPE_CHECKING:
    import viser

    from rbdyn_ros.recording.run import RecordedRun

FILM_FILE = common.FileOf((".gif", ".mp4"))

EPILOG = """\
Examples:
  rbdyn replay run.mcap
  rbdyn replay run.mcap --film run.gif --from 1 --to 3 --fps 20
  rbdyn replay bag/ --robot arm.urdf
  rbdyn replay run.mcap --against identified.urdf --figure free.png
  rbdyn replay log.txt --columns columns.yaml --robot arm.urdf --against identified.urdf

Films and the browser show the visual elements of the robot file, from the recording or from
--robot.
Exit status: 0 after Ctrl-C or when the film is written, 1 if the recording is refused, 2 if it
cannot be shown."""


def add_replay(commands: Commands) -> None:
    command = commands.add_parser(
        "replay", help="play a recording in the browser, or write a film", epilog=EPILOG
    )
    add_recording(command)
    command.add_argument("--film", type=FILM_FILE, help="write a .gif or .mp4 file instead")
    command.add_argument(
        "--fps", type=float, default=25.0, help="frames per second of the film (25)"
    )
    common.add_options(
        command,
        ("--against", common.ROBOT_FILE, "ROBOT",
            ("apply the recorded efforts to this robot and to the recorded one in simulation, and "
            "print the position errors after 0.1, 0.5 and 2 s")),
        ("--figure", common.PICTURE_FILE, "PICTURE",
            "with --against: draw the positions to a .svg, .png or .pdf file"),
    )  # fmt: skip
    add_page(command)
    common.add_package_dirs(command)
    command.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    from rbdyn_ros.commands.line.interrupts import end_at_once
    from rbdyn_ros.view.pictures.animation import SUFFIXES

    if options.against is None and options.figure is not None:
        return common.report_error("replay", "--figure needs --against ROBOT", common.USAGE)
    if options.against is not None:
        return _against(options)
    if options.film is None:
        end_at_once()  # no file is open, so nothing is lost
    common.run_imports(options.imports)
    if options.film is not None:
        with common.refusing("replay", common.USAGE):
            common.check_writable(options.film, "a film", SUFFIXES)
    run = recorded_run("replay", options)
    if options.film is not None:
        return _film(run, options)
    return serve_page("replay", options, run.name, lambda server: _play(server, run, options))


def _against(options: argparse.Namespace) -> int:
    """Compare a recording with two robots simulated under its efforts; return the exit status."""
    from rbdyn_ros.identification.reports.free_motion import (
        SUFFIXES,
        draw_free_motion,
        free_motion,
        free_motion_text,
    )
    from rbdyn_ros.loading.load import load

    common.run_imports(options.imports)
    with common.refusing("replay", common.USAGE):
        if options.figure is not None:
            common.check_writable(options.figure, "a picture", SUFFIXES)
    run = recorded_run("replay", options)
    with common.refusing("replay", common.REFUSED):
        other = load(options.against)
        found = {"recorded robot": free_motion(run.m, run), "against": free_motion(other, run)}
        print(free_motion_text(found), end="")
        if options.figure is not None:
            draw_free_motion(run, found, options.figure)
    return common.DONE


def _film(run: "RecordedRun", options: argparse.Namespace) -> int:
    from rbdyn_ros.view.pictures.run_film import film_run

    with common.refusing("replay", common.USAGE):
        found = film_run(run, options.film, options.fps, _looks_file(options), options.package_dir)
    for finding in found:
        warn("replay", finding)
    print(options.film)
    return common.DONE


def _looks_file(options: argparse.Namespace) -> Path | None:
    """Return the robot file with the visuals; None: no file is given, or it is a saved Model."""
    from rbdyn_ros.loading.storage import SUFFIX

    file: Path | None = options.robot
    return file if file is not None and file.suffix != SUFFIX else None


def _play(server: "viser.ViserServer", run: "RecordedRun", options: argparse.Namespace) -> None:
    """Add the robot and its timeline to the view; warn about parts that cannot be shown."""
    from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
    from rbdyn_ros.view.web.show import Show
    from rbdyn_ros.view.web.timeline import Timeline

    source, looks = _looks_file(options) or run.urdf, Appearance()
    if source:
        looks = read_appearance(source, package_dirs=options.package_dir)
    try:
        show = Show(server, run.m, looks, run.name)
    except ModelError as error:
        warn("replay", error)
        show = Show(server, run.m, Appearance(), run.name)
    for finding in (*looks.findings, *show.scene.findings):
        warn("replay", finding)
    Timeline(show, run).start()

"""Command `rbdyn excite`: make an excitation motion for identifying an arm."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbdyn_ros.commands.common import (
    DONE,
    REFUSED,
    USAGE,
    FileOf,
    add_robot,
    check_writable,
    load_robot,
    report_error,
)

if TYPE_CHECKING:
    from rbdyn_ros.commands.parser import Commands
    from rbdyn_ros.identification.excitation import Excitation


def add_excite(commands: Commands) -> None:
    """Add `excite` to the subcommands of `rbdyn`."""
    command = commands.add_parser(
        "excite",
        help="make a motion for identifying the dynamics of an arm",
        epilog="Example:\n"
        "  rbdyn excite arm.urdf -o motion.csv --reach 0.8 --centre 0 -1 1 0 1 0\n\n"
        "Collisions are not checked: watch the motion in the simulator first.\n"
        "Exit status: 0 if the motion was written, 1 if the robot or a value is refused,\n"
        "2 if the command line or the output file is refused.",
    )
    add_robot(command)
    command.add_argument(
        "-o",
        "--output",
        type=FileOf((".csv",)),
        required=True,
        metavar="FILE.csv",
        help="file for the motion",
    )
    command.add_argument(
        "--joints", nargs="+", metavar="NAME", help="moving joints (default: all)"
    )
    for flag, kind, default, text in (
        ("--duration", float, 20.0, "duration of the motion [s]"),
        (
            "--harmonics",
            int,
            10,
            "the highest frequency is HARMONICS / DURATION",
        ),
        ("--velocity-share", float, 0.5, "fraction of the velocity limits to use"),
        ("--effort-share", float, 0.7, "fraction of the effort limits to use"),
        ("--rate", float, 50.0, "points per second in the file"),
        ("--seed", int, 0, "seed of the search; equal seeds give equal motions"),
    ):
        command.add_argument(
            flag, type=kind, default=default, help=f"{text} (default: %(default)s)"
        )
    command.add_argument(
        "--acceleration-limits",
        nargs="+",
        type=float,
        help="acceleration limits, one number or one per joint [rad/s^2] (default: the robot's)",
    )
    command.add_argument(
        "--position-inset",
        nargs="+",
        type=float,
        help="distance from the position limits [rad] (default: 0.05)",
    )
    command.add_argument(
        "--reach",
        nargs="+",
        type=float,
        default=[1.5],
        help="largest distance from the centre [rad] (default: 1.5)",
    )
    command.add_argument(
        "--centre",
        nargs="+",
        type=float,
        help="start and end position of every joint (default: middle of the limits)",
    )
    command.set_defaults(run=_excite)


def _excite(options: argparse.Namespace) -> int:
    from rbdyn_ros.errors import ParameterError, RbdynError
    from rbdyn_ros.identification.excitation import check_informative, check_rate, excite
    from rbdyn_ros.identification.search import ITERATIONS
    from rbdyn_ros.report.progress import rounds

    try:
        check_writable(options.output, "a motion", (".csv",))
    except ParameterError as error:
        return report_error("excite", error, USAGE)
    try:
        check_rate(options.rate, options.duration, options.harmonics)
        m, _ = load_robot(options)
        # one message for the random motions, then one per iteration
        with rounds("searching for a motion", ITERATIONS + 1) as tell:
            motion = excite(
                m,
                options.joints,
                duration=options.duration,
                harmonics=options.harmonics,
                velocity_share=options.velocity_share,
                acceleration_limits=_one_or_many(options.acceleration_limits),
                position_inset=_one_or_many(options.position_inset),
                seed=options.seed,
                centre=options.centre,
                reach=_one_or_many(options.reach),
                effort_share=options.effort_share,
                progress=tell,
            )
        check_informative(motion)
    except RbdynError as error:
        return report_error("excite", error, REFUSED)
    try:
        motion.write(options.output, options.rate)
    except ParameterError as error:
        return report_error("excite", error, USAGE)
    print(_excitation_text(motion, options.output))
    return DONE


def _excitation_text(motion: Excitation, path: Path) -> str:
    rows = [f"{'joint':<24} {'from':>9} {'to':>9} {'speed':>9} {'accel.':>9} {'of effort':>9}"]
    for name, (low, high, fast, hard) in zip(motion.names, motion.peaks.T, strict=True):
        share = motion.effort_share[name]
        numbers = f"{low:9.3f} {high:9.3f} {fast:9.3f} {hard:9.3f} {share:9.1%}"
        rows.append(f"{name[:24]:<24} {numbers}")
    low, high = (" ".join(f"{x:.3f}" for x in corner) for corner in motion.box)
    held = ", ".join(f"{name} at {place:.4g}" for name, place in motion.held.items())
    start = " ".join(f"{x:.4g}" for x in motion.centre)
    return "\n".join(
        [
            *rows,
            f"condition number {motion.condition:.4g}",
            f"starts and ends at rest at {start}",
            *([f"held: {held}"] if held else []),
            f"origins of links stay in a box from {low} to {high} m in the base link;",
            "collisions are not checked: watch the motion in the simulator first",
            f"written to {path}: {motion.duration:g} s",
        ]
    )


def _one_or_many(values: list[float] | None) -> Any:
    """Return a single number for all joints as a number."""
    return values[0] if values is not None and len(values) == 1 else values

"""The command `rbdyn`: one subcommand, one small function."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROS_ARGS = "--ros-args"


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of `rbdyn`."""
    words = list(sys.argv[1:] if args is None else args)
    # what follows --ros-args is ROS's to understand
    cut = words.index(ROS_ARGS) if ROS_ARGS in words else len(words)
    parser = argparse.ArgumentParser(prog="rbdyn", description="Rigid-body dynamics for ROS 2.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_sim(commands)
    options = parser.parse_args(words[:cut])
    options.ros_args = words[cut:]
    sys.exit(options.run(options))


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
        help="a .urdf or .xacro file; without it the robot the parameters name, or a bundled arm",
    )
    sim.add_argument(
        "--no-view",
        action="store_true",
        help="do not start the viewer; takes effect with the viewer, which is not there yet",
    )
    sim.set_defaults(run=_sim)


def _sim(options: argparse.Namespace) -> int:
    try:
        from rbdyn_ros.ros import simulator
    except ModuleNotFoundError as error:
        print(
            f"rbdyn sim: {error}. Source a ROS 2 installation, or use `make sim`, which installs "
            "ROS 2 from PyPI.",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 0
    from rbdyn_ros.assets import bundled_robot

    return simulator.run(
        [sys.argv[0], *options.ros_args], options.file, bundled_robot("seven_dof_arm")
    )

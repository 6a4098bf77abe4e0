# SPDX-License-Identifier: Apache-2.0
"""The part of `rbdyn identify` that identifies drive gains from currents."""

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.identification.actuators.drive_gains import DriveGains
    from rbdyn_ros.identification.data.motion import Motion
    from rbdyn_ros.model.model import Model


def add_current_options(command: argparse.ArgumentParser) -> None:
    """Add `--current` and `--payload-mass` to the arguments of `rbdyn identify`."""
    command.add_argument(
        "--current",
        action="store_true",
        help="the efforts of the recording are currents [A]; the torque per current of each drive "
        "is identified too",
    )
    command.add_argument(
        "--payload-mass",
        type=float,
        metavar="KG",
        help="with --current and --payload-run: the weighed mass of the payload, which determines "
        "all drive gains",
    )


def wrong_current_options(options: argparse.Namespace) -> str:
    """Return why the options for currents do not fit together, or ""."""
    if options.payload_mass is not None:
        if not options.current or options.payload_run is None:
            return "--payload-mass needs --current and --payload-run"
        if not options.payload_mass > 0.0:
            return f"--payload-mass is {options.payload_mass:g}; allowed is a number above 0"
    if not options.current or options.actuators is not None:
        return ""
    if options.drive_gains is not None:
        return "--drive-gains gives the gains that --current identifies; leave one out"
    if options.payload is not None and options.payload_run is None:
        return (
            "currents do not separate a payload from drive gains; give --payload-run and "
            "--payload-mass too, or drive gains instead of --current"
        )
    if options.payload_run is not None and options.payload_mass is None:
        return (
            "currents do not separate a payload from drive gains; give its --payload-mass, or "
            "drive gains instead of --current"
        )
    return ""


def gains_of(
    m: "Model",
    rest: "Array",
    motion: "Motion",
    options: argparse.Namespace,
    loaded: "Motion | None" = None,
) -> "DriveGains | None":
    """Identify, print and return the drive gains from currents; without --current return None.

    Args:
        m: the arm.
        rest: (nv,) positions of joints at rest.
        motion: motion with currents as efforts.
        options: options of the command.
        loaded: motion with the payload of --payload-mass; None: there is none.

    Raises:
        ModelError, ParameterError: as for identify_gains.
    """
    if not options.current:
        return None
    from rbdyn_ros.identification.actuators.gains import MOST_STEPS, identify_gains
    from rbdyn_ros.identification.actuators.report import gains_text
    from rbdyn_ros.report.progress import rounds

    link, mass = options.payload or "", options.payload_mass
    with rounds("identifying drive gains", MOST_STEPS) as tell:
        found = identify_gains(
            m, motion, loaded=loaded, link=link, mass=mass, rest=rest, progress=tell
        )
    if not options.json:
        print(gains_text(found), end="")
    return found


def with_gains(report: dict[str, Any], gains: "DriveGains | None") -> dict[str, Any]:
    """Return a report for JSON with the drive gains added, if there are any."""
    from rbdyn_ros.identification.actuators.report import gains_dict

    return report if gains is None else report | {"drive_gains": gains_dict(gains)}

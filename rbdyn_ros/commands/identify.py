# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn identify`: identify an arm, its payload or its actuators."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands import identify_actuators, identify_currents
from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.commands.line.recorded import add_reading_options, recorded
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.loading.output import write_whole

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.description.source import Source
    from rbdyn_ros.identification.data.motion import Motion
    from rbdyn_ros.identification.equations.residuals import Residuals
    from rbdyn_ros.identification.equations.result import Identification
    from rbdyn_ros.model.model import Model

    Checked = tuple[Residuals, Residuals, Residuals]


def add_identify(commands: Commands) -> None:
    command = commands.add_parser(
        "identify",
        help="identify inertia, friction, a payload or motors and gears from a recording",
        epilog="Examples:\n"
        "  rbdyn identify arm.urdf recording/ --validate other.csv --patch identified.urdf\n"
        "  rbdyn identify identified.urdf with_tool.mcap --payload tool0\n"
        "  rbdyn identify arm.urdf without.csv --payload tool0 --payload-run with.csv\n"
        "  rbdyn identify arm.urdf currents.csv --current\n"
        "  rbdyn identify identified.urdf sweeps.mcap --actuators actuators.yaml --current\n\n"
        "Exit status: 0 on success, 1 if the robot or a recording is refused or not good enough\n"
        "for --patch, 2 if the command line or an output file is refused.",
    )
    common.add_robot(command)
    common.add_mounting(command)
    command.add_argument(
        "recording",
        type=common.RECORDING_FILE,
        help="rosbag2 folder, .mcap or .csv file with joint states, log of libfranka or RTDE; "
        "others with --columns",
    )
    common.add_options(
        command,
        ("--validate", common.RECORDING_FILE, "RECORDING",
            "another recording to test the result with"),
        ("--patch", common.FileOf((".urdf",)), "OUT.urdf",
            "write the URDF with the identified values"),
    )  # fmt: skip
    common.flag(command, "--json", "print JSON")
    common.add_options(
        command,
        ("--figure", common.PICTURE_FILE, "PICTURE", "plot efforts to a .svg, .png or .pdf file"),
        ("--payload", str, "LINK", "identify only a payload at this link"),
        ("--payload-run", common.RECORDING_FILE, "RECORDING",
            ("with --payload: a recording with the payload, if the main recording is without it; "
            "the arm and the payload are then identified together")),
    )  # fmt: skip
    identify_currents.add_current_options(command)
    identify_actuators.add_actuator_options(command)
    add_reading_options(command)
    common.add_options(
        command,
        ("--joints", str, "NAME", "joints that moved (default: all)", {"nargs": "+"}),
        ("--topic", str, "TOPIC",
            "topic of joint states in a bag (default: %(default)s)", {"default": "joint_states"}),
        ("--effort-topic", str, "TOPIC",
            "topic of efforts in a bag, if they have a topic of their own"),
        ("--cutoff", float, "HZ", "cutoff of the low-pass filter (default: from the motion)"),
    )  # fmt: skip
    command.add_argument(
        "--friction",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="identify friction (default), or take it from the URDF",
    )
    for term, meaning in (
        ("armature", "the rotor inertia of each joint"),
        ("stribeck", "additional friction near standstill"),
        ("load-friction", "friction in proportion to the effort that a joint carries"),
        ("tilt", "the direction of gravity in the axes of the base"),
        ("offset", "a constant effort of each joint"),
    ):
        command.add_argument(
            f"--{term}",
            action=argparse.BooleanOptionalAction,
            help=f"identify {meaning} (default: if held-out parts of the motion show it)",
        )
    command.set_defaults(run=_identify)


def _identify(options: argparse.Namespace) -> int:
    common.run_imports(options.imports)
    wrong = _usage(options)
    if wrong:
        return common.report_error("identify", wrong, common.USAGE)
    with common.refusing("identify", common.REFUSED):
        m, found = common.mounted_robot(options)
        if options.actuators is not None:
            return identify_actuators.identify_actuators_of(m, options)
        if options.payload is not None:
            return _identify_payload(m, options)
        return _identify_arm(m, _document(options.robot, found), options)


def _document(path: Path, found: Source | None) -> bytes:
    """Return the URDF for --patch to change, with xacro expanded; empty: there is no URDF."""
    if found is None or not found.text:
        return b""
    return path.read_bytes() if path.suffix.lower() == ".urdf" else found.text.encode()


def _usage(options: argparse.Namespace) -> str:
    """Return why the options do not fit together, or ""."""
    from rbdyn_ros.identification.reports.figure import SUFFIXES

    arm_only = ("patch", "validate", "offset", "armature", "stribeck", "load_friction", "tilt")
    if options.payload is not None and any(
        getattr(options, name) is not None for name in arm_only
    ):
        return "--payload is for a known arm and cannot be combined with " + ", ".join(
            f"--{name.replace('_', '-')}" for name in arm_only
        )
    if options.payload_run is not None and options.payload is None:
        return "--payload-run needs --payload LINK, the link that carries the payload"
    if options.payload_run is not None and not options.friction:
        return "--payload-run identifies friction and cannot be combined with --no-friction"
    wrong = identify_actuators.wrong_actuator_options(
        options
    ) or identify_currents.wrong_current_options(options)
    if wrong:
        return wrong
    if options.patch and options.robot.suffix.lower() in (".yaml", ".yml", ".npz"):
        return "--patch is for URDF; edit a mechanism file by hand with the values of --json"
    try:
        if options.patch:
            common.check_writable(options.patch, "a URDF", (".urdf",))
        if options.figure:
            common.check_writable(options.figure, "a picture", SUFFIXES)
        if options.actuators:
            common.check_writable(options.actuators, "an actuators file", (".yaml", ".yml"))
    except ParameterError as error:
        return str(error)
    return ""


def _identify_arm(m: Model, document: bytes, options: argparse.Namespace) -> int:
    from rbdyn_ros.control.base.friction import Friction
    from rbdyn_ros.identification.equations.fit import identify
    from rbdyn_ros.identification.equations.iterations import ITERATIONS
    from rbdyn_ros.identification.equations.warnings import why_no_patch
    from rbdyn_ros.identification.reports.report import report_dict, report_text
    from rbdyn_ros.report.progress import rounds

    rest, motion, delay = recorded(m, options, options.recording)
    other = None if options.validate is None else recorded(m, options, options.validate, delay)
    gains = identify_currents.gains_of(m, rest, motion, options)
    if gains is not None:
        motion = gains.efforts(motion)
        other = None if other is None else (other[0], gains.efforts(other[1]), other[2])
    # the progress bar has a step for the motion, and one for each iteration
    with rounds("identifying", ITERATIONS + 1) as tell:
        found = identify(
            m,
            motion,
            rest=rest,
            friction=None if options.friction else Friction.of_model(m),
            offset=options.offset,
            armature=options.armature,
            stribeck=options.stribeck,
            load=options.load_friction,
            tilt=options.tilt,
            progress=tell,
        )
    checked = None if other is None else _checked(found, *other[:2])
    if options.json:
        report = identify_currents.with_gains(report_dict(found, checked), gains)
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        print(report_text(found, checked), end="")
    status = _drawn(*(checked or (found.before, found.after)), path=options.figure)
    reason = why_no_patch(found) or ("" if gains is None else gains.why_no_patch)
    if reason:
        print(f"rbdyn identify: {reason}", file=sys.stderr)
        return common.REFUSED if options.patch else status
    return max(status, _patched(document, found, options.patch))


def _checked(found: Identification, rest: Array, motion: Motion) -> Checked:
    from rbdyn_ros.control.base.friction import Friction
    from rbdyn_ros.identification.equations.residuals import validate

    assert found.black_box is not None  # identify sets black_box
    return (
        validate(found.prior, Friction.of_model(found.prior), motion, rest=rest),
        validate(found.m, found.friction, motion, found.offset, by_load=found.by_load, rest=rest),
        found.black_box.validate(motion, rest),
    )


def _identify_payload(m: Model, options: argparse.Namespace) -> int:
    from rbdyn_ros.control.base.friction import Friction
    from rbdyn_ros.identification.equations.payload import identify_payload
    from rbdyn_ros.identification.reports.report import payload_dict, payload_text

    rest, motion, delay = recorded(m, options, options.recording)
    if options.payload_run is not None:
        return _identify_loaded(m, rest, motion, delay, options)
    friction = None if options.friction else Friction.of_model(m)
    found = identify_payload(m, motion, options.payload, friction=friction, rest=rest)
    if options.json:
        print(json.dumps(payload_dict(found), indent=2, allow_nan=False))
    else:
        print(payload_text(found), end="")
    return _drawn(found.before, found.after, path=options.figure)


def _identify_loaded(
    m: Model, rest: Array, motion: Motion, delay: float, options: argparse.Namespace
) -> int:
    """Identify an arm and its payload from two recordings; return the exit status.

    Args:
        m: the arm.
        rest: (nv,) positions of joints at rest.
        motion: motion without the payload.
        delay: delay of its efforts [s], also used for the recording with the payload.
        options: options of the command.
    """
    from rbdyn_ros.identification.equations.iterations import ITERATIONS
    from rbdyn_ros.identification.equations.loaded_arm import identify_with_payload
    from rbdyn_ros.identification.reports.report import payload_dict, payload_text
    from rbdyn_ros.report.progress import rounds

    _, loaded, _ = recorded(m, options, options.payload_run, delay)
    gains = identify_currents.gains_of(m, rest, motion, options, loaded)
    if gains is not None:
        motion, loaded = gains.efforts(motion), gains.efforts(loaded)
    with rounds("identifying", ITERATIONS + 1) as tell:
        both = identify_with_payload(m, motion, loaded, options.payload, rest=rest, progress=tell)
    if options.json:
        report = identify_currents.with_gains(payload_dict(both.payload, both.by_joint), gains)
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        print(payload_text(both.payload, both.by_joint), end="")
    return _drawn(both.payload.before, both.payload.after, path=options.figure)


def _patched(document: bytes, found: Identification, path: Path | None) -> int:
    from rbdyn_ros.identification.reports.patch import patched_urdf_bytes

    if path is None:
        return common.DONE
    patched = patched_urdf_bytes(document, found.m)
    with common.refusing("identify --patch", common.USAGE):
        write_whole(path, patched)
    return common.DONE


def _drawn(*residuals: Residuals, path: Path | None) -> int:
    from rbdyn_ros.identification.reports.figure import draw_efforts

    if path is None:
        return common.DONE
    try:
        draw_efforts(residuals[0], residuals[1], path, *residuals[2:])
    except ParameterError as error:  # continue, because the patch does not need the figure
        return common.report_error("identify --figure", error, common.USAGE)
    return common.DONE

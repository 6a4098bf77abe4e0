# SPDX-License-Identifier: Apache-2.0
"""Read a recording and turn it into a motion of a known robot."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import FileOf, nearest_file
from rbdyn_ros.errors import ParameterError, quote

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.identification.data.motion import Motion
    from rbdyn_ros.identification.data.samples import Samples
    from rbdyn_ros.model.model import Model


def recorded(
    m: Model, options: argparse.Namespace, path: Path, delay: float | None = None
) -> tuple[Array, Motion, float]:
    """Return the positions (nv,) of joints at rest, the motion of a recording and its delay [s].

    Efforts are moved by the delay; None: it is estimated, unless --no-delay. Warnings about the
    recording are printed on stderr.

    Raises:
        ModelError: the robot cannot be identified.
        ParameterError: the recording is unusable, or not of this robot.
    """
    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.identification.data.signals import to_motion
    from rbdyn_ros.identification.equations.delay import moved_efforts, without_delay

    rest, samples = read_samples(m, options, path)
    dofs = [dof_names(m).index(name) for name in samples.names]
    limits = m.jnt_effort[m.dof_jntid[dofs]]
    motion = to_motion(samples, options.cutoff, effort_limits=limits)
    if delay is not None:
        return rest, moved_efforts(motion, delay), delay
    if not options.delay:
        return rest, motion, 0.0
    motion, delay, note = without_delay(m, motion, rest=rest)
    if note:
        print(f"rbdyn {options.reader}: {path}: {note}", file=sys.stderr)
    return rest, motion, delay


def read_samples(m: Model, options: argparse.Namespace, path: Path) -> tuple[Array, Samples]:
    """Return the positions (nv,) of joints at rest, and checked samples; as for recorded."""
    from rbdyn_ros.identification.data.columns import read_by_columns
    from rbdyn_ros.identification.data.motion import check_identifiable, dof_names
    from rbdyn_ros.identification.data.plausible import (
        at_rest,
        plausible,
        stamp_warnings,
        unknown_places,
    )
    from rbdyn_ros.identification.data.recordings import read_recording
    from rbdyn_ros.identification.data.signals import without_repeats
    from rbdyn_ros.identification.excitation.excite import dofs_of_joints

    check_identifiable(m)
    dofs = dofs_of_joints(m, options.joints)
    names = [dof_names(m)[k] for k in dofs]
    others = [name for name in dof_names(m) if name not in names]
    renamed = {name: _mapped(name, options.map or ()) for name in dof_names(m)}
    back = _back(renamed, path)
    there = [renamed[name] for name in names]
    try:
        if options.columns is not None:
            samples = read_by_columns(path, options.columns, there, raw=options.current)
        else:
            samples = read_recording(
                path,
                there,
                options.topic,
                options.effort_topic,
                [renamed[name] for name in others],
                options.motor_topic,
                partly=options.joints is None,
                gains=options.drive_gains,
                raw=options.current,
            )
        samples = replace(
            samples,
            names=tuple(back[name] for name in samples.names),
            others={back[name]: rows for name, rows in samples.others.items()},
            motors={back[name]: rows for name, rows in samples.motors.items()},
        )
    except ParameterError as error:
        if error.code == "no-recording":
            raise not_there(error, path) from error
        raise
    samples, note = without_repeats(plausible(m, samples))
    rest = at_rest(m, samples)
    warnings = [*stamp_warnings(samples), *([note] if note else [])]
    lost = unknown_places(m, samples)
    if lost:
        warnings.append(f"it lacks the positions of these joints, assumed to be 0: {_few(lost)}")
    for warning in warnings:
        print(f"rbdyn {options.reader}: {path}: {warning}", file=sys.stderr)
    return rest, samples


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say how a recording is read."""
    command.set_defaults(reader=command.prog.split()[-1])
    command.add_argument(
        "--columns",
        type=FileOf((".yaml", ".yml")),
        metavar="COLUMNS.yaml",
        help="where a table without names, an .npz or a .mat file has its columns",
    )
    command.add_argument(
        "--drive-gains",
        nargs="+",
        type=float,
        metavar="GAIN",
        help="torque of each joint by current [N m/A], for a log of RTDE without torques",
    )
    command.add_argument(
        "--delay",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="estimate the delay between positions and efforts, and correct it (default)",
    )
    command.add_argument(
        "--map",
        action="append",
        type=_pair,
        metavar="ROBOT:RECORDING",
        help="how joint names begin in the robot and in the recording, such as panda_:fer_",
    )


def _pair(text: str) -> tuple[str, str]:
    robot, mark, recording = text.partition(":")
    if not mark or not (robot or recording):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not ROBOT:RECORDING, two beginnings of joint names"
        )
    return robot, recording


def _mapped(name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the name of a joint in the recording."""
    for robot, recording in pairs:
        if name.startswith(robot):
            return recording + name.removeprefix(robot)
    return name


def _back(renamed: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the robot's names of joints by the names in the recording."""
    from rbdyn_ros.recording.bags import recording_error

    back: dict[str, str] = {}
    for here, there in renamed.items():
        if there in back:
            text = (
                f"with --map the joints {quote(back[there])} and {quote(here)} have one name in "
                f"the recording, {quote(there)}; map each joint to a name of its own"
            )
            raise recording_error("bad-map", text, str(path))
        back[there] = here
    return back


def not_there(error: ParameterError, path: Path) -> ParameterError:
    """Return the error of a missing recording, with the nearest existing one."""
    finding = error.findings[0]
    text = f"{finding.message}{nearest_file(path)}"
    return ParameterError(replace(finding, message=text), error.source)


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")

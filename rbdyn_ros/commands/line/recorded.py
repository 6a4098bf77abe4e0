# SPDX-License-Identifier: Apache-2.0
"""Read a recording and convert it to a motion of a known robot."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.commands.line.common import FileOf, add_options, file_path, nearest_file
from rbdyn_ros.errors import ParameterError, RbdynError, quote
from rbdyn_ros.nanoseconds import NANOSECONDS

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.identification.data.motion import Motion
    from rbdyn_ros.identification.data.samples import Samples
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.recording.run import RecordedRun


def recorded(
    m: Model, options: argparse.Namespace, path: Path, delay: float | None = None
) -> tuple[Array, Motion, float]:
    """Return the positions (nv,) of joints at rest, the motion of a recording and its delay [s].

    The efforts are shifted by `delay`, the delay between positions and efforts. If `delay` is
    None, the delay is estimated, or 0 with --no-delay. Warnings about the recording are printed on
    stderr.

    Raises:
        ModelError: the robot cannot be identified.
        ParameterError: the recording cannot be used, or is of another robot.
    """
    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.identification.data.signals import to_motion
    from rbdyn_ros.identification.equations.delay import moved_efforts, without_delay

    rest, samples = read_samples(m, options, path)
    dofs = [dof_names(m).index(name) for name in samples.names]
    limits = None if options.current else m.jnt_effort[m.dof_jntid[dofs]]
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
    """Return the positions (nv,) of joints at rest, and the checked samples of a recording.

    Raises:
        ModelError, ParameterError: as for `recorded`.
    """
    from rbdyn_ros.identification.data.motion import check_identifiable

    check_identifiable(m)
    return _samples(m, options, path)


def _samples(m: Model, options: argparse.Namespace, path: Path) -> tuple[Array, Samples]:
    """Read samples as read_samples does, for any robot whose joints have one coordinate."""
    import numpy as np

    from rbdyn_ros.identification.data.columns import read_by_columns
    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.identification.data.plausible import (
        at_rest,
        plausible,
        stamp_warnings,
        unknown_places,
    )
    from rbdyn_ros.identification.data.recordings import read_recording
    from rbdyn_ros.identification.data.signals import without_repeats
    from rbdyn_ros.identification.excitation.excite import dofs_of_joints
    from rbdyn_ros.model.declared.joints import JointType

    dofs = dofs_of_joints(m, options.joints)
    names = [dof_names(m)[k] for k in dofs]
    others = [name for name in dof_names(m) if name not in names]
    renamed = {name: _mapped(name, options.map or ()) for name in dof_names(m)}
    back = _back(renamed, path)
    there = [renamed[name] for name in names]
    try:
        if options.columns is not None:
            slides = np.flatnonzero(m.jnt_type[m.dof_jntid] == JointType.SLIDE)
            samples = read_by_columns(
                path,
                options.columns,
                there,
                [renamed[name] for name in others],
                raw=options.current,
                sliding=[renamed[dof_names(m)[k]] for k in slides],
            )
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
        warnings.append(
            f"it has no positions of these joints, which are assumed to be 0: {_few(lost)}"
        )
    for warning in warnings:
        print(f"rbdyn {options.reader}: {path}: {warning}", file=sys.stderr)
    return rest, samples


def is_table(options: argparse.Namespace) -> bool:
    """Return whether the recording is a table of numbers instead of a bag."""
    from rbdyn_ros.recording.bags import BAG_SUFFIXES

    path = options.recording
    if path.is_dir() or path.suffix.lower() in BAG_SUFFIXES:
        return False
    return path.suffix.lower() == ".csv" or options.columns is not None


def check_bag_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if an option for tables is given, which has no effect on a bag."""
    from rbdyn_ros.recording.bags import recording_error

    for name in ("columns", "map", "drive_gains"):
        if getattr(options, name) is not None:
            flag = "--" + name.replace("_", "-")
            text = f"{flag} is for tables; this recording is read as a bag: leave {flag} out"
            raise recording_error("no-table", text, str(options.recording))


def run_of_table(options: argparse.Namespace) -> RecordedRun:
    """Return the run in a table of numbers: the motion of --robot, from --from to --to.

    Raises:
        RbdynError: the recording or an option is refused, or the robot is missing or refused.
    """
    from rbdyn_ros.control.arm.arm import check_arm
    from rbdyn_ros.loading.load import load
    from rbdyn_ros.recording.bags import recording_error

    if options.robot is None or options.name is not None:
        text = "a table does not contain its robot; give it with --robot FILE, without --name"
        raise recording_error("no-robot", text, str(options.recording))
    start, end = options.start, options.end
    if not 0.0 <= start < end:
        text = f"cannot read from {start!r} to {end!r} s; allowed is 0 <= from < to"
        raise recording_error("bad-span", text, str(options.recording))
    m = load(options.robot)
    check_arm(m)
    of_bags = {"topic": "joint_states", "effort_topic": None, "motor_topic": None}
    how = argparse.Namespace(**vars(options) | of_bags | {"joints": None, "current": False})
    rest, samples = _samples(m, how, options.recording)
    return _run_of(m, rest, samples, options)


def _run_of(m: Model, rest: Array, samples: Samples, options: argparse.Namespace) -> RecordedRun:
    import numpy as np

    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.recording.bags import recording_error
    from rbdyn_ros.recording.run import RecordedRun

    path, names = str(options.recording), dof_names(m)
    kept = (samples.time >= options.start) & (samples.time <= options.end)
    if not kept.any():
        text = "the recording has no states in the requested span of time"
        raise recording_error("nothing-then", text, path)
    dofs, time = [names.index(name) for name in samples.names], samples.time[kept]
    qpos = np.tile(rest, (len(time), 1))
    qvel, effort = np.full((2, len(time), m.nv), np.nan)
    qpos[:, dofs], effort[:, dofs] = samples.qpos[kept], samples.effort[kept]
    if samples.qvel is not None:
        qvel[:] = 0.0  # for joints that the table does not name
        qvel[:, dofs] = samples.qvel[kept]
    stamps = np.round(time * NANOSECONDS).astype(np.int64)
    return RecordedRun(m, m.name, path, time, time, stamps, qpos, qvel, effort)


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add the options for reading a recording."""
    add_table_options(command)
    command.add_argument(
        "--delay",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="estimate the delay between positions and efforts, and correct it (default)",
    )


def add_table_options(command: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of a recording."""
    command.set_defaults(reader=command.prog.split()[-1])
    add_options(
        command,
        ("--columns", FileOf((".yaml", ".yml")), "COLUMNS.yaml",
            "file that names the columns of a table without names, of an .npz or of a .mat file"),
        ("--drive-gains", float, "GAIN",
            "torque per current of each joint [N m/A], for a log of RTDE without torques",
            {"nargs": "+"}),
    )  # fmt: skip
    command.add_argument(
        "--map",
        action="extend",
        type=_pairs,
        metavar="ROBOT:RECORDING",
        help="how joint names begin in the robot and in the recording, such as panda_:fer_, or a "
        "YAML file with a line 'ROBOT: RECORDING' for each name",
    )


def _pairs(text: str) -> list[tuple[str, str]]:
    if text.endswith((".yaml", ".yml")):
        return _names_in(file_path(text))
    robot, mark, recording = text.partition(":")
    if not mark or not (robot or recording):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither ROBOT:RECORDING, two beginnings of joint names, nor a .yaml file"
        )
    return [(robot, recording)]


def _names_in(path: Path) -> list[tuple[str, str]]:
    """Return the pairs of joint names in a YAML file.

    Raises:
        ArgumentTypeError: the file cannot be read, or a joint has no name in the recording.
    """
    from rbdyn_ros.description.yaml_files.text import Scalar, parse

    audit, what = Audit(), "a file of joint names"
    try:
        top = parse(path.read_bytes(), str(path), audit, what)
        audit.raise_errors(str(path))
    except (OSError, RbdynError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    pairs = []
    for name, node in top.nodes.items():
        if not isinstance(node, Scalar):
            raise argparse.ArgumentTypeError(
                f"{path}:{top.lines[name]}: {quote(name)} has no value; the value is the name "
                "of the joint in the recording"
            )
        pairs.append((name, node.text))
    return pairs


def _mapped(name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the name in the recording of a joint of the robot.

    A pair with the whole name comes first, then a pair with the beginning of the name. Without
    such a pair, the name is the same.
    """
    whole = dict(pairs)
    if name in whole:
        return whole[name]
    for robot, recording in pairs:
        if name.startswith(robot):
            return recording + name.removeprefix(robot)
    return name


def _back(renamed: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the joint names of the robot by their names in the recording.

    Raises:
        ParameterError: two joints have the same name in the recording.
    """
    from rbdyn_ros.recording.bags import recording_error

    back: dict[str, str] = {}
    for here, there in renamed.items():
        if there in back:
            text = (
                f"with --map the joints {quote(back[there])} and {quote(here)} have the same "
                f"name in the recording, {quote(there)}; map each joint to a different name"
            )
            raise recording_error("bad-map", text, str(path))
        back[there] = here
    return back


def not_there(error: ParameterError, path: Path) -> ParameterError:
    """Return the error about a missing recording, with a similar existing name as a hint."""
    finding = error.findings[0]
    text = f"{finding.message}{nearest_file(path)}"
    return ParameterError(replace(finding, message=text), error.source)


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")

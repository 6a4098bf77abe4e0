# SPDX-License-Identifier: Apache-2.0
"""Read a recording and turn it into a motion of a known robot."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import nearest_file
from rbdyn_ros.errors import ParameterError

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.identification.data.motion import Motion
    from rbdyn_ros.identification.data.samples import Samples
    from rbdyn_ros.model.model import Model


def recorded(m: Model, options: argparse.Namespace, path: Path) -> tuple[Array, Motion]:
    """Return the positions (nv,) of joints at rest, and the motion of a recording.

    Warnings about the recording are printed on stderr.

    Raises:
        ModelError: the robot cannot be identified.
        ParameterError: the recording is unusable, or not of this robot.
    """
    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.identification.data.signals import to_motion

    rest, samples = read_samples(m, options, path)
    dofs = [dof_names(m).index(name) for name in samples.names]
    limits = m.jnt_effort[m.dof_jntid[dofs]]
    return rest, to_motion(samples, options.cutoff, effort_limits=limits)


def read_samples(m: Model, options: argparse.Namespace, path: Path) -> tuple[Array, Samples]:
    """Return the positions (nv,) of joints at rest, and checked samples; as for recorded."""
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
    try:
        samples = read_recording(
            path, names, options.topic, options.effort_topic, others, options.motor_topic
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
        print(f"rbdyn identify: {path}: {warning}", file=sys.stderr)
    return rest, samples


def not_there(error: ParameterError, path: Path) -> ParameterError:
    """Return the error of a missing recording, with the nearest existing one."""
    finding = error.findings[0]
    text = f"{finding.message}{nearest_file(path)}"
    return ParameterError(replace(finding, message=text), error.source)


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")

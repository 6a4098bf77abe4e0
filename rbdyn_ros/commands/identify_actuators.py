# SPDX-License-Identifier: Apache-2.0
"""The part of `rbdyn identify` that identifies motors and gears: option `--actuators`."""

import argparse
import json
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.recorded import read_samples
from rbdyn_ros.loading.output import write_whole

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

YAML_FILE = common.FileOf((".yaml", ".yml"))
#: Options for terms of the arm's dynamics, which --actuators does not identify.
TERMS = "armature", "stribeck", "load_friction", "tilt"
#: Options that cannot be combined with --actuators.
OTHERS = (
    "payload",
    "patch",
    "validate",
    "figure",
    "offset",
    "armature",
    "stribeck",
    "load_friction",
    "tilt",
)
#: Options that need --actuators.
OWN = ("known", "motor_topic")


def add_actuator_options(command: argparse.ArgumentParser) -> None:
    """Add `--actuators` and its options to the arguments of `rbdyn identify`."""
    common.add_options(
        command,
        ("--actuators", YAML_FILE, "OUT.yaml",
            "identify only motors and gears, and write them to this file"),
        ("--known", YAML_FILE, "ACTUATORS.yaml",
            "with --actuators: an actuators file with the values of data sheets"),
        ("--motor-topic", str, "TOPIC",
            ("with --actuators: topic of joint states in a bag whose positions are the angles of "
            "the motors")),
    )  # fmt: skip


def wrong_actuator_options(options: argparse.Namespace) -> str:
    """Return why the options for actuators do not fit together, or ""."""
    if options.actuators is None:
        alone = [name for name in OWN if getattr(options, name)]
        return f"--{alone[0].replace('_', '-')} needs --actuators" if alone else ""
    if any(getattr(options, name) is not None for name in OTHERS) or not options.friction:
        others = ", ".join(f"--{name.replace('_', '-')}" for name in OTHERS)
        return f"--actuators cannot be combined with {others}, --no-friction"
    return ""


def identify_actuators_of(m: "Model", options: argparse.Namespace) -> int:
    """Identify the actuators, print a report and write the file; return the exit status."""
    from rbdyn_ros.actuators import read_actuators
    from rbdyn_ros.identification.actuators import (
        actuators_file,
        actuators_report_dict,
        actuators_report_text,
        identify_actuators,
    )
    from rbdyn_ros.identification.actuators.identify import CUTOFF
    from rbdyn_ros.identification.data.motion import dof_names
    from rbdyn_ros.identification.data.signals import motor_angles, to_motion

    known = () if options.known is None else read_actuators(options.known, m)
    rest, samples = read_samples(m, options, options.recording)
    dofs = [dof_names(m).index(name) for name in samples.names]
    limits = None if options.current else m.jnt_effort[m.dof_jntid[dofs]]
    motion = to_motion(samples, options.cutoff or CUTOFF, effort_limits=limits)
    angles = motor_angles(samples, motion)
    found = identify_actuators(
        m, motion, motors=angles, current=options.current, known=known, rest=rest
    )
    if options.json:
        print(json.dumps(actuators_report_dict(found), indent=2, allow_nan=False))
    else:
        print(actuators_report_text(found), end="")
    if not any(one.found for one in found):
        text = "no motor or gear can be identified from the recording, so no file is written"
        return common.report_error("identify", text, common.REFUSED)
    head = (f"Identified by rbdyn identify from {options.recording.name!r}.",)
    return _written(actuators_file(found, known, head), options)


def _written(text: str, options: argparse.Namespace) -> int:
    with common.refusing("identify --actuators", common.USAGE):
        write_whole(options.actuators, text.encode())
    return common.DONE

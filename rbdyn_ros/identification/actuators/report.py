# SPDX-License-Identifier: Apache-2.0
"""Identified actuators and drive gains as text, as JSON and as an actuators file."""

import math
from collections.abc import Sequence
from typing import Any

from rbdyn_ros.actuators.specs import ActuatorSpec
from rbdyn_ros.actuators.writer import actuators_text
from rbdyn_ros.identification.actuators.drive_gains import DriveGains
from rbdyn_ros.identification.actuators.identify import ActuatorEstimate
from rbdyn_ros.report.words import Row, aligned, cut, finite_or_none

#: Units of the keys of an actuators file; `elastic` has the units of a revolute joint.
UNITS = {
    "gear": "",
    "armature": "kg m^2",
    "motorconst": "N m/A",
    "motorconst_error": "",
    "lugre.coulomb": "N m",
    "lugre.static": "N m",
    "lugre.stribeck": "rad/s",
    "damping": "N m s/rad",
    "elastic.stiffness": "N m/rad",
    "elastic.backlash": "rad",
}


def actuators_report_text(found: Sequence[ActuatorEstimate]) -> str:
    """Return a table of the identified numbers and of the missing numbers."""
    rows: list[Row] = [("joint", "key", "value", "standard deviation", "unit")]
    for one in found:
        for key, number in one.found.items():
            values = f"{number.value:.4g}", f"{number.std:.2g}"
            rows.append((cut(one.joint), key, *values, UNITS[key]))
    parts = [["motors and gears (friction and torques of the motor)", *aligned(rows)]]
    shares = [
        (cut(one.joint), f"{one.unexplained:.1%}")
        for one in found
        if math.isfinite(one.unexplained)
    ]
    if shares:
        parts.append(["efforts that the result does not explain", *aligned(shares)])
    messages = [f"  {text}" for one in found for text in one.messages]
    if messages:
        parts.append(["not identified", *messages])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def actuators_report_dict(found: Sequence[ActuatorEstimate]) -> dict[str, Any]:
    """Return the report as numbers for JSON; unknown numbers are None."""
    return {
        "joints": [
            {
                "joint": one.joint,
                "found": {
                    key: {"value": number.value, "std": finite_or_none(number.std)}
                    for key, number in one.found.items()
                },
                "unexplained": finite_or_none(one.unexplained),
                "messages": list(one.messages),
            }
            for one in found
        ]
    }


def gains_text(found: DriveGains) -> str:
    """Return a table of drive gains, its warnings, and the line for a columns file."""
    rows: list[Row] = [("joint", "gain [N m/A or N/A]", "deviation", "of its ratio to others")]
    for name, gain, std, ratio in zip(
        found.names, found.gains, found.std, found.ratio_std, strict=True
    ):
        rows.append((cut(name), f"{gain:.4g}", f"{std:.1%}", f"{ratio:.1%}"))
    parts = [["drive gains, identified from currents", *aligned(rows)]]
    parts.append([f"drive_gains: [{', '.join(f'{gain:.4g}' for gain in found.gains)}]"])
    if found.messages:
        parts.append(["warnings", *(f"  {text}" for text in found.messages)])
    parts.append(["the deviations below do not include the deviations of the gains"])
    return "\n\n".join("\n".join(part) for part in parts) + "\n\n"


def gains_dict(found: DriveGains) -> dict[str, Any]:
    """Return the gains as numbers for JSON."""
    return {
        "joints": list(found.names),
        "gains": found.gains.tolist(),
        "std": found.std.tolist(),
        "ratio_std": found.ratio_std.tolist(),
        "messages": list(found.messages),
    }


def actuators_file(
    found: Sequence[ActuatorEstimate], known: Sequence[ActuatorSpec] = (), head: Sequence[str] = ()
) -> str:
    """Return an actuators file with standard deviations as comments.

    Args:
        found: result of identify_actuators.
        known: all actuators that were known before; actuators of joints that did not move are
            kept.
        head: lines of the comment at the beginning.
    """
    specs = {spec.joint: spec for spec in known}
    specs |= {one.joint: one.spec for one in found if one.spec is not None}
    comments = {one.joint: _comments(one) for one in found}
    return actuators_text(specs.values(), comments, head)


def _comments(one: ActuatorEstimate) -> dict[str, str]:
    said: dict[str, list[str]] = {}
    for name, number in one.found.items():
        key, _, inner = name.partition(".")
        said.setdefault(key, []).append(f"{inner} +- {number.std:.1g}".strip())
    return {key: ", ".join(texts) for key, texts in said.items()}

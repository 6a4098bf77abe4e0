# SPDX-License-Identifier: Apache-2.0
"""Decide which numbers of a gear a recording shows."""

from __future__ import annotations

from dataclasses import dataclass

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.actuators.estimate import LARGEST_STD, Estimate
from rbdyn_ros.identification.actuators.found import Findings
from rbdyn_ros.identification.actuators.gear_fit import GearFit, fit_gear

#: A known ratio is kept if the recording agrees within this part of it.
AGREES = 0.01


@dataclass(frozen=True, slots=True)
class Elastic:
    """Stiffness [N m/rad or N/m] and backlash [rad or m] of a gear; None if it does not show."""

    stiffness: Estimate | None = None
    backlash: Estimate | None = None


def identify_gear(
    findings: Findings, angle: Array | None, position: Array, load: Array
) -> Elastic:
    """Identify the ratio of a gear, and return its stiffness and backlash.

    Args:
        findings: where the ratio and sentences go.
        angle: (p,) of the motor [rad]; None: not recorded.
        position: (p,) of the joint [rad or m].
        load: (p,) transmitted torque at the joint [N m or N].
    """
    if angle is None:
        findings.lack("backlash", "the recording has no angles of the motor")
        return Elastic()
    fit = fit_gear(angle, position, load)
    if not fit.ratio.is_found:
        findings.lack("its gear", "the angles of its motor do not follow the joint")
        return Elastic()
    _take_ratio(findings, fit.ratio)
    return Elastic(_stiffness(fit.compliance), _backlash(findings, fit))


def take_elastic(findings: Findings, elastic: Elastic) -> None:
    """Take stiffness and backlash, if an actuators file can have them."""
    both = {"elastic.stiffness": elastic.stiffness, "elastic.backlash": elastic.backlash}
    found = {key: value for key, value in both.items() if value is not None}
    if not found:
        return
    known = {"elastic": elastic.stiffness or findings.spec.stiffness}
    known["armature"] = findings.spec.armature
    lacks = [name for name, value in known.items() if not value]
    if lacks:
        numbers = ", ".join(f"{key.partition('.')[2]} {value}" for key, value in found.items())
        findings.say(
            f"its gear has {numbers}, which the file cannot hold without "
            f"{' and '.join(lacks)}; add it to the known actuators"
        )
        findings.found.update(found)
        return
    for key, value in found.items():
        findings.take(key, value)


def _take_ratio(findings: Findings, ratio: Estimate) -> None:
    before = findings.spec.gear
    if abs(ratio.value / before - 1.0) < AGREES:
        return
    if before != 1.0:
        findings.say(f"its gear is {ratio.value:.5g} in the recording, not the known {before:g}")
    findings.take("gear", ratio)


def _stiffness(compliance: Estimate) -> Estimate | None:
    if not compliance.is_found or compliance.value < 0.0:
        return None
    return Estimate(1.0 / compliance.value, compliance.std / compliance.value**2)


def _backlash(findings: Findings, fit: GearFit) -> Estimate | None:
    if fit.backlash is None:
        why = "its gear hardly transmits torque in both directions; move it through balance"
        findings.lack("backlash", why)
        return None
    if fit.backlash.is_found and fit.backlash.value > 0.0:
        return fit.backlash
    most = max(0.0, fit.backlash.value) + fit.backlash.std / LARGEST_STD
    findings.lack("backlash", f"it is less than {most:.2g}, too little for this recording")
    return None

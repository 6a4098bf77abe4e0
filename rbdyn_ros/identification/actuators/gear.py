# SPDX-License-Identifier: Apache-2.0
"""Ratio, stiffness and backlash of a gear, as far as a recording shows them.

Behind the free play b the gear is a spring of the stiffness k, so with the torque T that it
transmits the motor is at
  angle = n (position + T / k + b / 2 sgn T) + constant.
T is the inverse dynamics of the robot, which needs no efforts. This is linear in n, n / k and
n b / 2. Samples with a small T, where the motor crosses the free play, do not count.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.identification.actuators import estimate
from rbdyn_ros.identification.actuators.found import Findings

#: A torque below this part of the largest torque may occur inside the free play.
SMALL_TORQUE = 0.1
#: Number of samples on either side of a small torque that the filter mixes with it.
BESIDE = 5
#: Least part of the samples in which the gear transmits torque in each direction.
EACH_WAY = 0.02


@dataclass(frozen=True, slots=True)
class GearFit:
    """The gear between a motor and its joint.

    Attributes:
        ratio: angle of the motor per position of the joint [1 or rad/m].
        compliance: 1 / stiffness, at the joint [rad/(N m) or m/N].
        backlash: whole free play, at the joint [rad or m]; None if the transmitted torque has one
            direction only.
    """

    ratio: estimate.Estimate
    compliance: estimate.Estimate
    backlash: estimate.Estimate | None


def fit_gear(angle: Array, position: Array, torque: Array) -> GearFit:
    """Return the gear between a motor and its joint.

    Args:
        angle: (p,) angle of the motor [rad].
        position: (p,) position of the joint [rad or m].
        torque: (p,) transmitted torque at the joint [N m or N].
    """
    kept = transmitting(torque)
    ways = [float((kept & (side * torque > 0.0)).mean()) for side in (1.0, -1.0)]
    both = min(ways) > EACH_WAY
    A = np.column_stack([position, torque, np.ones(len(torque)), np.sign(torque)])
    A, b = (A[kept], angle[kept]) if both else (A[:, :3], angle)
    x, differences = estimate.solution(A, b)
    C = estimate.covariance(A, differences)
    ratio = estimate.Estimate(float(x[0]), float(np.sqrt(C[0, 0])))
    return GearFit(ratio, _per_ratio(x, C, 1, 1.0), _per_ratio(x, C, 3, 2.0) if both else None)


def transmitting(torque: Array) -> Bools:
    """Return the samples (p,) in which the gear is surely at one end of its free play."""
    small = np.abs(torque) <= SMALL_TORQUE * np.abs(torque).max()
    kept: Bools = ~maximum_filter1d(small, 2 * BESIDE + 1)
    return kept


def _per_ratio(x: Array, C: Array, k: int, factor: float) -> estimate.Estimate:
    """Return factor x[k] / x[0] with its deviation, or 0 and infinity if x[0] is 0.

    C is the covariance of x.
    """
    if x[0] == 0.0:
        return estimate.Estimate(0.0, np.inf)
    gradient = np.zeros(len(x))
    gradient[k], gradient[0] = factor / x[0], -factor * x[k] / x[0] ** 2
    return estimate.Estimate(float(factor * x[k] / x[0]), estimate.deviation(gradient, C))


#: A known ratio is kept if the identified ratio differs by at most this part of it.
AGREES = 0.01


@dataclass(frozen=True, slots=True)
class Elastic:
    """Stiffness [N m/rad or N/m] and backlash [rad or m] of a gear; None if unknown."""

    stiffness: estimate.Estimate | None = None
    backlash: estimate.Estimate | None = None


def identify_gear(
    findings: Findings, angle: Array | None, position: Array, load: Array
) -> Elastic:
    """Identify the ratio of a gear, and return its stiffness and backlash.

    Args:
        findings: receives the ratio and the messages.
        angle: (p,) angle of the motor [rad]; None: not recorded.
        position: (p,) position of the joint [rad or m].
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
    """Put stiffness and backlash into the findings, if an actuators file can hold them."""
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
            f"its gear has {numbers}, which an actuators file can contain only with "
            f"{' and '.join(lacks)}; add {' and '.join(lacks)} to the known actuators"
        )
        findings.found.update(found)
        return
    for key, value in found.items():
        findings.take(key, value)


def _take_ratio(findings: Findings, ratio: estimate.Estimate) -> None:
    before = findings.spec.gear
    if abs(ratio.value / before - 1.0) < AGREES:
        return
    if before != 1.0:
        findings.say(f"its gear is {ratio.value:.5g} in the recording, not the known {before:g}")
    findings.take("gear", ratio)


def _stiffness(compliance: estimate.Estimate) -> estimate.Estimate | None:
    if not compliance.is_found or compliance.value < 0.0:
        return None
    return estimate.Estimate(1.0 / compliance.value, compliance.std / compliance.value**2)


def _backlash(findings: Findings, fit: GearFit) -> estimate.Estimate | None:
    if fit.backlash is None:
        reason = (
            "its gear hardly transmits torque in both directions; record a motion in which its "
            "load changes sign"
        )
        findings.lack("backlash", reason)
        return None
    if fit.backlash.is_found and fit.backlash.value > 0.0:
        return fit.backlash
    most = max(0.0, fit.backlash.value) + fit.backlash.std / estimate.LARGEST_STD
    findings.lack("backlash", f"it is less than {most:.2g}, too little for this recording")
    return None

# SPDX-License-Identifier: Apache-2.0
"""Identify torque constant, rotor and friction of a drive, as far as a recording shows them."""

from dataclasses import dataclass

from rbdyn_ros.actuators.specs import ActuatorSpec
from rbdyn_ros.identification.actuators.drive_fit import DriveFit, DriveRecord, fit_drive
from rbdyn_ros.identification.actuators.estimate import LARGEST_STD, Estimate
from rbdyn_ros.identification.actuators.found import Findings

#: A joint moves in both directions if each direction has this part of the moving samples.
EACH_WAY = 0.05
#: A Stribeck speed within this factor of the slowest or fastest speed of the motion does not
#: count.
INSIDE = 1.05
#: A fit that leaves a larger part of the efforts unexplained causes a warning.
POOR = 0.2


def identify_drive(findings: Findings, drive: DriveRecord, current: bool) -> None:
    """Identify torque constant, rotor and friction.

    Args:
        findings: receives the result; the gear ratio must already be in it.
        drive: the recording.
        current: whether the efforts are currents [A].
    """
    units = _Units(findings.spec, current)
    fit = _scaled(findings, drive, units)
    if fit is None:
        return
    findings.unexplained = fit.unexplained
    if fit.unexplained > POOR:
        findings.say(
            f"the result does not explain {fit.unexplained:.0%} of its efforts; are the masses of "
            "the robot right, and does the recording have its payload?"
        )
    if not findings.spec.armature:
        if fit.rotor.is_found and fit.rotor.value > 0.0:
            findings.take("armature", fit.rotor.times(units.gear**-2))
        else:
            findings.lack("the inertia of its rotor", "it accelerates too little")
    _take_friction(findings, drive, fit, units)


@dataclass(frozen=True, slots=True)
class _Units:
    """Factors that convert numbers at the joint to numbers of the motor."""

    spec: ActuatorSpec
    current: bool

    @property
    def gear(self) -> float:
        return abs(self.spec.gear)

    @property
    def assumed(self) -> float:
        """Torque on the joint per reported effort, as the drive assumes it."""
        return self.spec.gear * self.spec.motorconst[0] if self.current else 1.0

    @property
    def is_assumed(self) -> bool:
        """Return whether a torque constant is known, or the efforts are torques already."""
        return not self.current or self.spec.motorconst != (1.0, 0.0)

    @property
    def rotor(self) -> float | None:
        """The inertia of the rotor, reflected to the joint, or None if it is unknown."""
        return self.spec.gear**2 * self.spec.armature or None


def _scaled(findings: Findings, drive: DriveRecord, units: _Units) -> DriveFit | None:
    """Return the drive with the best torque constant, or else with the assumed constant.

    Return None if there is no constant to assume, or if the best constant has the wrong sign.
    """
    fit = fit_drive(drive, rotor=units.rotor)
    if not fit.scale.is_found:
        reason = "gravity and inertia load the joint too little or too evenly"
        findings.lack("the torque constant", reason)
        if not units.is_assumed:
            findings.lack(
                "friction", "without a torque constant, currents do not give its torques"
            )
            return None
        return fit_drive(
            drive, scale=units.assumed * (1.0 + units.spec.motorconst_error), rotor=units.rotor
        )
    ratio = fit.scale.times(1.0 / units.assumed)
    if ratio.value < 0.0:
        what = "current" if units.current else "effort"
        findings.say(
            f"its {what} falls when its load grows; is the sign of the {what} wrong, or of the "
            "gear among the known actuators?"
        )
        return None
    if units.is_assumed:
        findings.take("motorconst_error", Estimate(ratio.value - 1.0, ratio.std))
    else:
        findings.take("motorconst", ratio)
    return fit


def _take_friction(findings: Findings, drive: DriveRecord, fit: DriveFit, units: _Units) -> None:
    curved = _has_stribeck(drive, fit)
    if not curved:
        rotor = units.rotor
        fit = fit_drive(drive, scale=fit.scale.value, rotor=rotor, stribeck=False)
    _take_dry(findings, drive, fit, units)
    if fit.viscous.is_found and fit.viscous.value > 0.0:
        findings.take("damping", fit.viscous.times(units.gear**-2))
    else:
        findings.lack("viscous friction", _too_small(fit.viscous.times(units.gear**-2)))


def _take_dry(findings: Findings, drive: DriveRecord, fit: DriveFit, units: _Units) -> None:
    coulomb = fit.coulomb.times(1.0 / units.gear)
    speeds = drive.motion.qvel[drive.kept, 0]
    if min((speeds > 0.0).mean(), (speeds < 0.0).mean()) < EACH_WAY:
        findings.lack("dry friction", "it moves in one direction only")
        return
    if not coulomb.is_found or coulomb.value < 0.0:
        findings.lack("dry friction", _too_small(coulomb))
        return
    findings.take("lugre.coulomb", coulomb)
    if fit.static is None or fit.speed is None:
        reason = f"its friction does not rise towards the slowest speed, {drive.slowest:.2g}"
        findings.lack("Stribeck friction", reason)
        return
    findings.take("lugre.static", fit.static.times(1.0 / units.gear))
    findings.take("lugre.stribeck", fit.speed.times(units.gear))


def _has_stribeck(drive: DriveRecord, fit: DriveFit) -> bool:
    if fit.rise is None or fit.speed is None:
        return False
    fastest = float(abs(drive.motion.qvel[drive.kept, 0]).max())
    inside = INSIDE * drive.slowest < fit.speed.value < fastest / INSIDE
    return inside and fit.rise.is_found and fit.rise.value > 0.0 and fit.speed.is_found


def _too_small(number: Estimate) -> str:
    most = max(0.0, number.value) + number.std / LARGEST_STD
    return f"it is less than {most:.2g}, too little for this recording"

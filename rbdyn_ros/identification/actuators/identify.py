# SPDX-License-Identifier: Apache-2.0
"""Identify the actuators of an arm from a recorded motion.

The robot description gives the torques on the joints. So the efforts of a drive, which may be
currents, show its torque constant, its friction and its rotor (drive_fit.py), and angles of the
motors show the gears (gear.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.actuators.specs import ActuatorSpec
from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.identification.actuators.drive import identify_drive
from rbdyn_ros.identification.actuators.drive_fit import DriveRecord, moving
from rbdyn_ros.identification.actuators.estimate import Estimate
from rbdyn_ros.identification.actuators.found import Findings
from rbdyn_ros.identification.actuators.gear import identify_gear, take_elastic, transmitting
from rbdyn_ros.identification.data.motion import CODE, Motion
from rbdyn_ros.identification.equations.residuals import validate
from rbdyn_ros.model.model import Model

#: Dry friction of the robot description is smoothed below this speed [rad/s or m/s].
SMOOTHING = 1e-9
#: Cutoff of the low-pass filter that suits sweeps [Hz].
CUTOFF = 5.0
#: A joint must move in this part of the samples, and in at least this number of samples.
MOVING_SHARE, FEWEST = 0.05, 50


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorEstimate:
    """The actuator of one joint.

    Attributes:
        joint: name of the joint.
        spec: the known actuator with the identified numbers; None if nothing was known or found.
        found: numbers that were found, by the key of the actuators file ("lugre.coulomb"), in the
            units of the file.
        messages: a sentence for everything that the recording does not show.
        unexplained: RMS of the efforts that the result does not explain, as a part of the RMS of
            all efforts; NaN if the drive was not identified.
    """

    joint: str
    spec: ActuatorSpec | None
    found: Mapping[str, Estimate]
    messages: tuple[str, ...]
    unexplained: float


def identify_actuators(
    m: Model,
    motion: Motion,
    *,
    motors: Mapping[str, ArrayLike] | None = None,
    current: bool = False,
    known: Sequence[ActuatorSpec] = (),
    rest: ArrayLike | None = None,
) -> tuple[ActuatorEstimate, ...]:
    """Identify motors and gears of the joints of a motion.

    Torque constants, friction (LuGre, viscous) and rotors follow from the efforts. Gears, their
    stiffness and their backlash follow from angles of the motors. Numbers whose standard deviation
    is above a tenth of their value are not used. The friction of m is a part of the load: the
    result is the friction beyond it.

    Args:
        m: the robot without actuators, with true masses (and payload) and gravity m.opt.gravity.
        motion: the recorded motion, slow and fast, with reversals.
        motors: angles of motors (p,) at the times of the motion, by joint [rad]; None: no angles.
        current: whether efforts of the motion are currents [A]; otherwise torques, as the drive
            assumes them [N m or N].
        known: actuators as far as they are known from a data sheet; identified numbers replace
            known ones. Known rotors (armature) are not identified.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.

    Returns:
        An estimate for each joint of the motion.

    Raises:
        ModelError: m has actuators, or see identify.
        ParameterError: the motion does not fit the Model, or angles are not p finite numbers of a
            joint of the motion.
    """
    if m.nu > 0:
        text = f"'{m.name}' has actuators; identify them with the Model without actuators"
        raise ModelError(Finding("has-actuators", text, "error", m.name))
    friction = Friction.of(m.nv, m.dof_damping, m.dof_frictionloss, smoothing=SMOOTHING)
    load = validate(m, friction, motion, rest=rest).predicted
    angles = _angles(motion, motors or {})
    before = {spec.joint: spec for spec in known}
    return tuple(
        _identify_joint(alone(motion, i), load[:, i], angles.get(name), before.get(name), current)
        for i, name in enumerate(motion.names)
    )


def _angles(motion: Motion, motors: Mapping[str, ArrayLike]) -> dict[str, Array]:
    chosen(tuple(motors), motion.names, "joint", code=CODE, element="motors", prefix="motors: ")
    shape = (len(motion.time),)
    return {
        name: finite(f"motors[{name!r}]", angle, shape, code=CODE, element="motors")
        for name, angle in motors.items()
    }


def alone(motion: Motion, i: int) -> Motion:
    """Return the part of a motion that concerns its i-th joint."""
    fast, one = motion.fast_qvel, slice(i, i + 1)
    return Motion(
        (motion.names[i],),
        motion.time,
        motion.qpos[:, one],
        motion.qvel[:, one],
        motion.qacc[:, one],
        motion.effort[:, one],
        None if fast is None else fast[:, one],
        motion.thin,
        None if motion.kept is None else motion.kept[:, one],
    )


def _identify_joint(
    motion: Motion, load: Array, angle: Array | None, known: ActuatorSpec | None, current: bool
) -> ActuatorEstimate:
    joint = motion.names[0]
    findings = Findings(known or ActuatorSpec(joint))
    kept = moving(motion)
    if kept.mean() < MOVING_SHARE or kept.sum() < FEWEST:
        findings.say("it hardly moves, so nothing is identified")
    else:
        elastic = identify_gear(findings, angle, motion.qpos[:, 0], load)
        # while the motor crosses the free play, its speed differs from the joint's
        play = elastic.backlash is not None or findings.spec.backlash > 0.0
        kept &= transmitting(load) if play else True
        kept &= motion.kept[:, 0] if motion.kept is not None else True
        if np.ptp(motion.effort) == 0.0:
            findings.say("its effort is constant, so the drive is not identified")
        elif kept.sum() < FEWEST:
            findings.say(
                "its drive is saturated, or its gear transmits hardly any torque, nearly all the "
                "time, so the drive is not identified"
            )
        else:
            identify_drive(findings, DriveRecord(motion, load, kept), current)
        take_elastic(findings, elastic)
    spec = findings.spec if known is not None or findings.found else None
    return ActuatorEstimate(
        joint, spec, findings.found, tuple(findings.messages), findings.unexplained
    )

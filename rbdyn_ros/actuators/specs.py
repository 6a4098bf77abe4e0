# SPDX-License-Identifier: Apache-2.0
"""The actuator of a joint as declared in an actuators file."""

import math
from dataclasses import dataclass

#: Keys of `thermal`, `cogging` and `lugre`, in the order of the arrays of a Model.
THERMAL = ("resistance", "capacitance", "tempcoef", "reftemp", "ambient")
COGGING = ("amplitude", "poles", "phase")
LUGRE = ("stiffness", "damping", "coulomb", "static", "stribeck")

#: Default bristle stiffness: static friction bends the bristles by this angle [rad].
BEND = 1e-3

#: Largest number of timesteps of a delay.
MOST_STEPS = 2.0**53

#: Temperature of a winding without a temperature in the file [C].
ROOM = 25.0


@dataclass(frozen=True, slots=True)
class ActuatorSpec:
    """A motor, its gear and its drive. Speeds, torques and friction refer to the motor.

    Numbers that MuJoCo's dcmotor also has use its names.

    Attributes:
        joint: the joint, with one degree of freedom.
        gear: revolutions of the motor per revolution of the joint [1; rad/m for a prismatic
            joint]; not 0.
        armature: inertia of the rotor [kg m^2].
        motorconst: torque constant Kt [N m/A] and back-EMF constant Ke [V s/rad]. (1, 0) and no
            resistance: an ideal motor, whose current is its torque.
        motorconst_error: relative error of Kt, (true - assumed) / assumed; the drive assumes Kt.
        resistance: resistance of the winding [Ohm]; 0: no electrical dynamics, heat or voltage.
        inductance: inductance of the winding [H]; 0: the current follows at once.
        voltage: largest voltage of the drive [V]; infinite: no limit.
        current: largest current of the drive [A]; infinite: no limit.
        torque_speed: points (speed [rad/s], largest torque [N m]); speeds rise from 0, torques
            never rise, and the torque is constant beyond the last point.
        thermal: numbers in the order of THERMAL [K/W, J/K, 1/K, C, C]; resistance 0: no heat.
        derating: temperatures at which the largest current begins to fall and at which it is 0
            [C].
        cogging: numbers in the order of COGGING [N m, per revolution, rad].
        lugre: numbers in the order of LUGRE [N m/rad, N m s/rad, N m, N m, rad/s]; stiffness 0: no
            dry friction.
        damping: viscous friction [N m s/rad].
        stiffness: stiffness of the gear, at the joint [N m/rad or N/m]; 0: rigid.
        gear_damping: damping of the gear, at the joint [N m s/rad or N s/m].
        backlash: free play of the gear, at the joint [rad or m].
        delay: time from a command to its effect [s], a whole number of timesteps.
        resolution: steps of the commanded effort of the joint [N m or N]; 0: none.
    """

    joint: str
    gear: float = 1.0
    armature: float = 0.0
    motorconst: tuple[float, float] = (1.0, 0.0)
    motorconst_error: float = 0.0
    resistance: float = 0.0
    inductance: float = 0.0
    voltage: float = math.inf
    current: float = math.inf
    torque_speed: tuple[tuple[float, float], ...] = ()
    thermal: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, ROOM, ROOM)
    derating: tuple[float, float] = (0.0, 0.0)
    cogging: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lugre: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 1.0)
    damping: float = 0.0
    stiffness: float = 0.0
    gear_damping: float = 0.0
    backlash: float = 0.0
    delay: float = 0.0
    resolution: float = 0.0


def quantity_of(attribute: str) -> str:
    """Return the quantity whose bounds apply to an attribute of an ActuatorSpec."""
    return {"armature": "armature", "gear": "factor"}.get(attribute, "actuator")


def delay_steps(delay: float, timestep: float) -> int | None:
    """Return a delay as a number of timesteps, or None if this is not a whole number."""
    steps = round(min(delay / timestep, MOST_STEPS))
    return steps if math.isclose(steps * timestep, delay, rel_tol=1e-6, abs_tol=1e-12) else None

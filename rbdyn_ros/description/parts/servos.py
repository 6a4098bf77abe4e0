# SPDX-License-Identifier: Apache-2.0
"""Servos of a robot: from a control signal to the efforts of joints, as plain frozen data."""

import math
from dataclasses import dataclass

from rbdyn_ros.description.parts.poses import ZERO, Vec3, keep_floats

#: A range that limits nothing.
UNLIMITED = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class ServoTerm:
    """A joint that a servo moves, and its lever: length = factor * position of the joint."""

    joint: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Servo:
    """A drive whose force follows a control signal and the motion of its joints.

        force = gain * control + bias[0] + bias[1] * length + bias[2] * velocity

    The length is the sum of the terms; each joint gets its factor times the force.

    Attributes:
        terms: the joints, each with one degree of freedom.
        gain: factor of the control.
        bias: force at rest, per length and per velocity.
        damping_ratio: with it bias[2] is -2 damping_ratio sqrt(gain * mass), with the inertia that
            the servo moves at qpos0 while the other joints are free; 0: bias[2] is used.
        control: range to which the control is clamped.
        force: range to which the force is clamped.
    """

    name: str
    terms: tuple[ServoTerm, ...]
    gain: float = 1.0
    bias: Vec3 = ZERO
    damping_ratio: float = 0.0
    control: tuple[float, float] = UNLIMITED
    force: tuple[float, float] = UNLIMITED
    line: int | None = None

    def __post_init__(self) -> None:
        for name in ("bias", "control", "force"):
            keep_floats(self, name)

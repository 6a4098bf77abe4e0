"""Which sensors a robot has, as their author wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Vec3 = tuple[float, float, float]

ZERO: Vec3 = (0.0, 0.0, 0.0)

#: What a force/torque sensor shows: what the child exerts on the parent, or the reverse.
MEASURED = ("child_to_parent", "parent_to_child")

#: The side of a fixed joint that pushes on the body count for, if nothing tells where they act.
SIDES = ("child", "parent")


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """What is wrong with three numbers of a sensor, axis by axis, in their unit.

    Attributes:
        stddev: standard deviation of white noise.
        bias: constant, added.
        bias_walk: standard deviation that a wandering bias has after a second [unit/sqrt(s)].
        resolution: the smallest step; 0: none.
    """

    stddev: Vec3 = ZERO
    bias: Vec3 = ZERO
    bias_walk: Vec3 = ZERO
    resolution: Vec3 = ZERO


#: By quantity, what is wrong with it; what is not named is perfect.
Noises = Mapping[str, NoiseSpec]


@dataclass(frozen=True, slots=True)
class ImuSpec:
    """Angular velocity, specific force and orientation of a link.

    Attributes:
        name: of the sensor.
        link: whose frame is that of the sensor.
        rate: [Hz]; None: every tick.
        orientation: whether it tells its orientation in the world.
        noise: of `angular_velocity` [rad/s], `linear_acceleration` [m/s^2], `orientation` [rad].
    """

    name: str
    link: str
    rate: float | None = None
    orientation: bool = True
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForceTorqueSpec:
    """The wrench across a joint, fixed or moving.

    Attributes:
        name: of the sensor.
        joint: the joint.
        frame: link in whose axes and about whose origin the wrench is; a link that is rigidly
            connected with the parent or the child of the joint.
        measured: one of MEASURED.
        pushes: one of SIDES.
        rate: [Hz]; None: every tick.
        noise: of `force` [N], `torque` [N m].
    """

    name: str
    joint: str
    frame: str
    measured: str = MEASURED[0]
    pushes: str = SIDES[0]
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContactSpec:
    """Whether a link touches something, and the wrench on it from all that it touches.

    Attributes:
        name: of the sensor.
        link: the link; links fixed to it count too, for they are one body.
        threshold: it touches if the force is above this [N].
        rate: [Hz]; None: every tick.
        noise: of `force` [N], `torque` [N m].
    """

    name: str
    link: str
    threshold: float = 1.0
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


Spec = ImuSpec | ForceTorqueSpec | ContactSpec

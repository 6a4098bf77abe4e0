# SPDX-License-Identifier: Apache-2.0
"""The sensors of a robot as declared in a sensor file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec

Vec3 = tuple[float, float, float]

ZERO: Vec3 = (0.0, 0.0, 0.0)

#: Wrenches that a force/torque sensor can report: of the child on the parent, or the reverse.
MEASURED = ("child_to_parent", "parent_to_child")

#: Sides of a measured fixed joint on which external wrenches on its body can act.
SIDES = ("child", "parent")


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """The errors of a vector quantity, for each axis, in the quantity's unit.

    Attributes:
        stddev: standard deviation of white noise.
        bias: constant offset.
        bias_walk: standard deviation of the random walk of the bias after a second [unit/sqrt(s)].
        resolution: the smallest step; 0: not rounded.
    """

    stddev: Vec3 = ZERO
    bias: Vec3 = ZERO
    bias_walk: Vec3 = ZERO
    resolution: Vec3 = ZERO


#: The errors of quantities by name; a missing quantity has no errors.
Noises = Mapping[str, NoiseSpec]


@dataclass(frozen=True, slots=True)
class ImuSpec:
    """Angular velocity, specific force and orientation of a link.

    Attributes:
        name: name of the sensor.
        link: link whose frame the sensor has.
        rate: readings per second [Hz]; None: every tick.
        orientation: whether the sensor measures its orientation in the world.
        noise: noise of `angular_velocity` [rad/s], `linear_acceleration` [m/s^2] and
            `orientation` [rad].
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
        name: name of the sensor.
        joint: name of the joint.
        frame: link in whose axes and about whose origin the wrench is reported; it is rigidly
            connected to the parent or the child of the joint.
        measured: one of MEASURED.
        pushes: one of SIDES.
        rate: readings per second [Hz]; None: every tick.
        noise: noise of `force` [N], `torque` [N m].
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
    """A contact sensor: whether a link is in contact, and the sum of its contact wrenches.

    Attributes:
        name: name of the sensor.
        link: the link; contacts of links fixed to it count too, as they are the same body.
        threshold: force above which contact is reported [N].
        rate: readings per second [Hz]; None: every tick.
        noise: noise of `force` [N], `torque` [N m].
    """

    name: str
    link: str
    threshold: float = 1.0
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MagnetometerSpec:
    """The magnetic field of the earth in the axes of a link.

    Attributes:
        name: name of the sensor.
        link: link whose frame the sensor has.
        rate: readings per second [Hz]; None: every tick.
        earth_field: the field in world axes [T]; the default is SDFormat's.
        noise: noise of `magnetic_field` [T].
    """

    name: str
    link: str
    rate: float | None = None
    earth_field: Vec3 = (5.5645e-6, 22.8758e-6, -42.3884e-6)
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpsSpec:
    """Latitude, longitude and height of a link; the world's axes are east, north and up.

    Attributes:
        name: name of the sensor.
        link: link whose origin is measured.
        latitude, longitude: latitude and longitude of the origin of the world [degree].
        altitude: height of this origin above the ellipsoid WGS 84 [m].
        rate: readings per second [Hz]; None: every tick.
        noise: noise of `position` east, north and up [m].
    """

    name: str
    link: str
    latitude: float
    longitude: float
    altitude: float = 0.0
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PoseSpec:
    """Position and orientation of a link in the world, or in another link.

    Attributes:
        name: name of the sensor.
        link: name of the link.
        reference: link in whose frame the pose is; empty: the world.
        rate: readings per second [Hz]; None: every tick.
        noise: noise of `position` in the axes of the reference [m], `orientation` [rad].
    """

    name: str
    link: str
    reference: str = ""
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointTorqueSpec:
    """The effort that a joint transmits to its child, about its axis or along it.

    The effort is measured behind the motor, the gear and the friction of the joint, on the side of
    the child.

    Attributes:
        name: name of the sensor.
        joint: revolute, continuous or prismatic.
        rate: readings per second [Hz]; None: every tick.
        noise: noise of `effort` [N m or N]; only its first axis is used.
    """

    name: str
    joint: str
    rate: float | None = None
    noise: Noises = field(default_factory=dict)


Spec = (
    ImuSpec
    | ForceTorqueSpec
    | ContactSpec
    | MagnetometerSpec
    | GpsSpec
    | PoseSpec
    | JointTorqueSpec
    | LidarSpec
    | RangeSpec
    | DepthSpec
    | ColorSpec
)


def parts_of(spec: Spec) -> tuple[str, ...]:
    """Return the names of the links and joints that a sensor needs."""
    if isinstance(spec, ForceTorqueSpec):
        return spec.joint, spec.frame
    if isinstance(spec, JointTorqueSpec):
        return (spec.joint,)
    if isinstance(spec, PoseSpec) and spec.reference:
        return spec.link, spec.reference
    if isinstance(spec, ImuSpec | ContactSpec | MagnetometerSpec | GpsSpec | PoseSpec):
        return (spec.link,)
    return spec.link, *spec.excluded

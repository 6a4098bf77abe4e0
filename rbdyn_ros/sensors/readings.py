# SPDX-License-Identifier: Apache-2.0
"""Readings of the sensors without rays: true values of a scene plus noise. GPS uses WGS 84."""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.poses import quat_mul
from rbdyn_ros.model.tree.rotation import mat_to_quat
from rbdyn_ros.sensors import specs
from rbdyn_ros.sensors.noise import Noise
from rbdyn_ros.sensors.scanning import Scan
from rbdyn_ros.sensors.scene import SensorScene

#: The quantities of each kind of sensor, in the order of its channels.
QUANTITIES: dict[type, tuple[str, ...]] = {
    specs.ImuSpec: ("angular_velocity", "linear_acceleration", "orientation"),
    specs.ForceTorqueSpec: ("force", "torque"),
    specs.ContactSpec: ("force", "torque"),
    specs.MagnetometerSpec: ("magnetic_field",),
    specs.GpsSpec: ("position",),
    specs.PoseSpec: ("position", "orientation"),
    specs.JointTorqueSpec: ("effort",),
}


@dataclass(frozen=True, slots=True)
class ImuReading:
    """The reading of an IMU, in the axes of its frame.

    Attributes:
        angular_velocity: (3,) angular velocity of the frame [rad/s].
        linear_acceleration: (3,) specific force: acceleration minus gravity [m/s^2].
        orientation: unit quaternion wxyz of the frame in the world; None if not measured.
    """

    angular_velocity: Array
    linear_acceleration: Array
    orientation: Array | None


@dataclass(frozen=True, slots=True)
class WrenchReading:
    """A wrench about the origin of the sensor's frame, in the axes of this frame.

    Attributes:
        force: (3,) the force [N].
        torque: (3,) the torque [N m].
    """

    force: Array
    torque: Array


@dataclass(frozen=True, slots=True)
class ContactReading(WrenchReading):
    """The contact wrench on a link, and whether the link is in contact.

    Attributes:
        touching: whether the true force, without noise, is above the threshold.
    """

    touching: bool


@dataclass(frozen=True, slots=True)
class MagneticReading:
    """The magnetic field in the axes of the sensor's frame (3,) [T]."""

    magnetic_field: Array


@dataclass(frozen=True, slots=True)
class GpsReading:
    """Latitude, longitude [degree] and height above the ellipsoid [m] (3,)."""

    position: Array


@dataclass(frozen=True, slots=True)
class PoseReading:
    """The pose of a link in the sensor's reference frame.

    Attributes:
        position: (3,) origin of the link [m].
        orientation: axes of the link, as a unit quaternion wxyz.
    """

    position: Array
    orientation: Array


@dataclass(frozen=True, slots=True)
class JointTorqueReading:
    """The effort that a joint transmits to its child [N m or N]."""

    effort: float


Reading = (
    ImuReading
    | WrenchReading
    | MagneticReading
    | GpsReading
    | PoseReading
    | JointTorqueReading
    | Scan
)


def reading_of(spec: specs.Spec, scene: SensorScene, noise: Noise, tick: int) -> Reading:
    """Return the reading of a sensor without rays.

    Args:
        spec: the sensor.
        scene: the scene, after `enter` with the state.
        noise: noise of the sensor.
        tick: tick of the state.
    """
    if isinstance(spec, specs.ImuSpec):
        return _imu(spec, scene, noise, tick)
    if isinstance(spec, specs.ForceTorqueSpec):
        reading = noise.measured(tick, scene.joint_wrench(spec))
        return WrenchReading(reading[:3], reading[3:])
    if isinstance(spec, specs.MagnetometerSpec):
        _, R = scene.pose(spec.link)
        return MagneticReading(noise.measured(tick, R.T @ np.array(spec.earth_field)))
    if isinstance(spec, specs.GpsSpec):
        place = noise.measured(tick, scene.pose(spec.link)[0])
        reference = spec.latitude, spec.longitude, spec.altitude
        return GpsReading(geodetic_of_enu(reference, place))
    if isinstance(spec, specs.PoseSpec):
        return _pose(spec, scene, noise, tick)
    if isinstance(spec, specs.JointTorqueSpec):
        true = np.array([scene.joint_effort(spec.joint), 0.0, 0.0])
        return JointTorqueReading(float(noise.measured(tick, true)[0]))
    assert isinstance(spec, specs.ContactSpec)
    true = scene.contact_wrench(spec)
    reading = noise.measured(tick, true)
    touching = bool(np.linalg.norm(true[:3]) > spec.threshold)
    return ContactReading(reading[:3], reading[3:], touching)


def _imu(spec: specs.ImuSpec, scene: SensorScene, noise: Noise, tick: int) -> ImuReading:
    omega, acceleration, R = scene.motion(spec.link)
    reading = noise.measured(tick, np.concatenate([omega, acceleration, np.zeros(3)]))
    quat = _turned(R, reading[6:]) if spec.orientation else None
    return ImuReading(reading[:3], reading[3:6], quat)


def _pose(spec: specs.PoseSpec, scene: SensorScene, noise: Noise, tick: int) -> PoseReading:
    x, R = scene.pose(spec.link)
    if spec.reference:
        origin, axes = scene.pose(spec.reference)
        x, R = axes.T @ (x - origin), axes.T @ R
    reading = noise.measured(tick, np.concatenate([x, np.zeros(3)]))
    return PoseReading(reading[:3], _turned(R, reading[3:]))


def _turned(R: Array, error: Array) -> Array:
    """Return the quaternion wxyz of R, rotated further by a rotation vector in the axes of R."""
    quat: Array = mat_to_quat(R)
    if error.any():
        quat = np.array(quat_mul(tuple(quat.tolist()), _quaternion(error)))
    return quat


def _quaternion(vector: Array) -> tuple[float, float, float, float]:
    """Return the quaternion wxyz of a rotation vector that is not zero."""
    angle = float(np.linalg.norm(vector))
    x, y, z = (vector * (np.sin(angle / 2.0) / angle)).tolist()
    return float(np.cos(angle / 2.0)), x, y, z


#: The ellipsoid WGS 84: equatorial radius [m] and flattening; then the square of its eccentricity.
RADIUS, FLATTENING = 6378137.0, 1.0 / 298.257223563
ECCENTRICITY2 = FLATTENING * (2.0 - FLATTENING)


def earth_point(latitude: float, longitude: float, height: float) -> Array:
    """Return a point in earth-fixed axes (ECEF) (3,) [m]; latitude and longitude in degrees."""
    up = earth_axes(latitude, longitude)[:, 2]
    normal = RADIUS / math.sqrt(1.0 - ECCENTRICITY2 * up[2] ** 2)
    shrunk = np.array([1.0, 1.0, 1.0 - ECCENTRICITY2])
    return (normal * shrunk + height) * up


def earth_axes(latitude: float, longitude: float) -> Array:
    """Return east, north and up in earth-fixed axes, as columns (3, 3); arguments in degrees."""
    a, b = math.radians(latitude), math.radians(longitude)
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    return np.array([[-sb, -sa * cb, ca * cb], [cb, -sa * sb, ca * sb], [0.0, ca, sa]])


def geodetic(point: Array) -> Array:
    """Return latitude, longitude [degree] and height [m] (3,) of a point in ECEF axes (3,) [m].

    Source: Vermeille, Direct transformation from geocentric coordinates to geodetic coordinates,
    2002. It is exact outside a ball of 50 km about the centre of the earth.
    """
    x, y, z = point.tolist()
    e2, flat = ECCENTRICITY2, math.hypot(x, y)
    p, q = (flat / RADIUS) ** 2, (1.0 - e2) * (z / RADIUS) ** 2
    r = (p + q - e2**2) / 6.0
    s = e2**2 * p * q / (4.0 * r**3)
    t = float(np.cbrt(1.0 + s + math.sqrt(s * (2.0 + s))))
    u = r * (1.0 + t + 1.0 / t)
    v = math.sqrt(u**2 + e2**2 * q)
    w = e2 * (u + v - q) / (2.0 * v)
    k = math.sqrt(u + v + w**2) - w
    near = k * flat / (k + e2)
    size = math.hypot(near, z)
    height = (k + e2 - 1.0) / k * size
    angles = 2.0 * math.atan2(z, near + size), math.atan2(y, x)
    return np.array([*map(math.degrees, angles), height])


def geodetic_of_enu(reference: tuple[float, float, float], place: Array) -> Array:
    """Return latitude, longitude [degree] and height [m] (3,) of a point in local ENU axes.

    Args:
        reference: latitude, longitude [degree] and height [m] of the origin of the ENU axes.
        place: east, north and up from the origin [m].
    """
    axes = earth_axes(*reference[:2])
    return geodetic(earth_point(*reference) + axes @ place)

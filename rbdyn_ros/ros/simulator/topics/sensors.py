# SPDX-License-Identifier: Apache-2.0
"""Topics of the robot's sensors.

IMU            <name>/data      sensor_msgs/Imu; <name>/data_raw without orientation (REP 145)
force/torque   <name>/wrench    geometry_msgs/WrenchStamped, as ros2_control's broadcaster has it
contact        <name>/contact   std_msgs/Bool, and <name>/wrench
magnetometer   <name>/mag       sensor_msgs/MagneticField (REP 145)
gps            <name>/fix       sensor_msgs/NavSatFix
pose           <name>/pose      geometry_msgs/PoseWithCovarianceStamped
joint torque   <name>/effort    sensor_msgs/JointState with efforts only
lidar, range   see range_topics.py
depth, color   images, camera_info and points, see camera_topics.py
"""

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState, MagneticField, NavSatFix
from std_msgs.msg import Bool

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.common.reports.throttle import Throttle
from rbdyn_ros.ros.simulator.topics.rays.camera_topics import ColorTopics, DepthTopics
from rbdyn_ros.ros.simulator.topics.rays.range_topics import RangeTopic
from rbdyn_ros.ros.simulator.topics.rays.renderers import AppearanceOf, Renderers
from rbdyn_ros.ros.simulator.topics.rays.sensor_work import SensorWork, Topics
from rbdyn_ros.ros.simulator.topics.shared_memory import SharedReadings, numbers_of
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.noise import variance
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec
from rbdyn_ros.sensors.reader import read_sensors
from rbdyn_ros.sensors.readings import ContactReading, Reading
from rbdyn_ros.sensors.scene import Payload
from rbdyn_ros.sensors.sights import Sight, sight
from rbdyn_ros.sensors.specs import (
    ContactSpec,
    ForceTorqueSpec,
    GpsSpec,
    ImuSpec,
    JointTorqueSpec,
    MagnetometerSpec,
    NoiseSpec,
    PoseSpec,
    Spec,
)
from rbdyn_ros.sensors.suite import Suite, Visuals

#: QoS of the topics; best-effort subscribers match it too.
QOS = reliable(10)

#: Sensors measure for this time after a view has asked for readings, even without subscribers [s].
WATCHED = 2.0

#: Specs of the sensors whose reading is a row of numbers.
NumbersSpec = ImuSpec | ForceTorqueSpec | MagnetometerSpec | GpsSpec | PoseSpec | JointTorqueSpec

NOT_MEASURED = -1.0  # first element of a covariance, if the sensor does not measure the quantity


class SensorTopics:
    """The topics of all sensors of a robot.

    Only the publishing thread may call `publish`; any thread may call all other methods.

    Args:
        node: node that publishes.
        m: the robot as it was loaded.
        description: description of the robot.
        sensors: path of a sensors file, or specs of sensors.
        period_ns: duration of a tick [ns].
        frame_prefix: prefix of the names of frames; empty: no prefix.
        seed: seed of the noise.
        visuals: returns the shapes of a Model for sensors with `sees: visual`; None: there are no
            such sensors.
        looks: returns the appearance of a Model for colour cameras.
        threaded: whether a thread of its own measures lidars, range sensors and cameras, see
            sensor_work.py.
        world_frame: frame of poses in the world.

    Raises:
        DescriptionError: the file is refused.
        ModelError: m was not made from the description, or rays have no shape to hit.
        ParameterError: pictures cannot be drawn on this machine.
    """

    def __init__(
        self,
        node: Node,
        m: Model,
        description: Description,
        sensors: str | Path | Sequence[Spec],
        period_ns: int,
        frame_prefix: str = "",
        seed: int = 0,
        visuals: Visuals | None = None,
        looks: AppearanceOf = lambda _: Appearance(),
        threaded: bool = False,
        world_frame: str = "world",
    ) -> None:
        if isinstance(sensors, str | Path):
            specs: Sequence[Spec] = read_sensors(sensors, m, description, period_ns=period_ns)
        else:
            specs = sensors
        self._suite = Suite(m, description, specs, period_ns, seed, visuals)
        self._logger, self._unfinite = node.get_logger(), Throttle()
        for note in self._suite.notes:
            self._logger.warning(note)
        self._renderers = renderers = Renderers(looks, self._suite.specs)
        if note := renderers.start(self._suite):
            self._logger.info(note)
        for finding in renderers.findings:
            self._logger.warning(finding)
        topics = (
            _topic(node, spec, frame_prefix, renderers, world_frame) for spec in self._suite.specs
        )
        topic_of = dict(enumerate(topics))
        self._slow = {k: x for k, x in topic_of.items() if isinstance(x, Topics)}
        self._topics = {k: x for k, x in topic_of.items() if not isinstance(x, Topics)}
        self._sensor_work = SensorWork(period_ns, threaded)
        self._shared = SharedReadings(self._suite.specs)
        self._threaded, self._watched_until = threaded, 0.0

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Publish the due readings that have subscribers.

        The noise depends only on seed and tick, so all subscribers get the same readings. Readings
        that are not finite are not published.
        """
        due = self._suite.due(state)
        if self._slow:
            watched = self._threaded and time.monotonic() < self._watched_until
            slow = {
                k: self._slow[k]
                for k in due
                if k in self._slow and (watched or self._slow[k].is_heard())
            }
            self._sensor_work.take(self._suite, slow, stamp_ns, state)
        heard = {k for k in due if k in self._topics and self._topics[k].is_heard()}
        wanted = [k for k in due if k in heard or k in self._shared.wanted]
        for k, reading in self._suite.measure(wanted, state):
            if _is_finite(reading):
                self._shared.take(k, reading)
                if k in heard:
                    self._topics[k].publish(stamp_ns, reading)
            elif self._unfinite.due(time.monotonic()):
                reason = (
                    f"sensor '{self._suite.specs[k].name}' is not published: its reading is not "
                    "finite, since forces or motions are too large (skipped so far: "
                    f"{self._unfinite.count})"
                )
                self._logger.warning(reason)
        self._shared.write(state.tick)

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of all numbers for ros2_control, such as imu/orientation.x; see SharedReadings."""
        return self._shared.names

    def share(self, write: Callable[[int, Array], None]) -> None:
        """Call `write` with the readings of value_names at each tick from now on.

        The readings are NaN at first.
        """
        self._shared.share(write)

    @property
    def sees(self) -> bool:
        """Return whether there are lidars, range sensors or cameras."""
        return bool(self._slow)

    def sights(self) -> list[Sight]:
        """Return the latest readings of lidars, range sensors and cameras. Any thread may call it.

        In real time, these sensors then measure for WATCHED seconds even without subscribers.
        """
        self._watched_until = time.monotonic() + WATCHED
        return [sight(topic.spec, reading) for topic, reading in self._sensor_work.readings()]

    @property
    def dropped(self) -> int:
        """Number of dropped readings of lidars, range sensors and cameras."""
        return self._sensor_work.dropped

    def close(self) -> None:
        """End the thread and the process of lidars and cameras, after the publisher has ended."""
        self._renderers.stop()  # stop this first, because the thread may wait for a picture
        self._sensor_work.close()
        self._renderers.close()

    @property
    def every(self) -> tuple[int, ...]:
        """Periods of the sensors [ticks], one for each."""
        return self._suite.every

    @property
    def period(self) -> int:
        """Period [ticks] at which the sensors together need a state."""
        return 1 if self._slow or self._shared.is_shared else math.gcd(*self.every)

    def use(self, plant: Model, payloads: Sequence[Payload] = ()) -> None:
        """Use a Model with other gravity or payloads from now on; see Suite.use."""
        self._suite.use(plant, payloads)

    def prepare(
        self, m: Model, description: Description, plant: Model, payloads: Sequence[Payload]
    ) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it.

        Call the function while nothing publishes. See Suite.move.
        """
        suite = copy(self._suite)
        suite.move(m, description, plant, payloads)

        def commit() -> None:
            self._suite = suite

        return commit

    def reseed(self, seed: int, tick: int = 0) -> None:
        """Restart the noise at a tick with a new seed."""
        self._suite.reseed(seed, tick)


def _is_finite(reading: Reading) -> bool:
    numbers = (getattr(reading, field.name) for field in fields(reading))
    return all(n is None or bool(np.isfinite(n).all()) for n in numbers)


class _NumbersTopic:
    """A topic whose message has the numbers of one reading.

    Args:
        node: node that publishes.
        topic: name of the topic.
        message: message with marks for `Prepared`, one mark for each number.
        count: number of these numbers.
    """

    def __init__(self, node: Node, topic: str, message: Any, count: int) -> None:
        self._prepared = Prepared(message, count)
        self._publisher = node.create_publisher(type(message), topic, QOS)

    def is_heard(self) -> bool:
        return self._publisher.get_subscription_count() > 0

    def publish(self, stamp_ns: int, reading: Reading) -> None:
        """Publish a reading."""
        self._publisher.publish(self._prepared.filled(stamp_ns, numbers_of(reading)))


class _ContactTopics(_NumbersTopic):
    """The two topics of a contact sensor: the wrench, and whether there is contact."""

    def __init__(self, node: Node, name: str, frame: str) -> None:
        super().__init__(node, f"{name}/wrench", convert.wrench_message(frame), 6)
        self._contact = node.create_publisher(Bool, f"{name}/contact", QOS)

    def is_heard(self) -> bool:
        return super().is_heard() or self._contact.get_subscription_count() > 0

    def publish(self, stamp_ns: int, reading: Reading) -> None:
        assert isinstance(reading, ContactReading)
        self._contact.publish(Bool(data=reading.touching))
        super().publish(stamp_ns, reading)


def _topic(
    node: Node, spec: Spec, prefix: str, renderers: Renderers, world: str
) -> _NumbersTopic | Topics:
    if isinstance(spec, LidarSpec | RangeSpec):
        return RangeTopic(node, spec, prefix)
    if isinstance(spec, DepthSpec):
        return DepthTopics(node, spec, prefix, renderers)
    if isinstance(spec, ColorSpec):
        return ColorTopics(node, spec, prefix, renderers)
    if isinstance(spec, ContactSpec):
        return _ContactTopics(node, spec.name, prefix + spec.link)
    topic, message, count = _marked(spec, prefix, world)
    return _NumbersTopic(node, f"{spec.name}/{topic}", message, count)


def _marked(spec: NumbersSpec, prefix: str, world: str) -> tuple[str, Any, int]:
    """Return a sensor's topic, its message with marks, and the number of its values."""
    if isinstance(spec, ImuSpec):
        message = imu_message(spec, prefix + spec.link)
        return ("data", message, 10) if spec.orientation else ("data_raw", message, 6)
    if isinstance(spec, ForceTorqueSpec):
        return "wrench", convert.wrench_message(prefix + spec.frame), 6
    if isinstance(spec, MagnetometerSpec):
        return "mag", magnetic_message(spec, prefix + spec.link), 3
    if isinstance(spec, GpsSpec):
        return "fix", fix_message(spec, prefix + spec.link), 3
    if isinstance(spec, PoseSpec):
        return "pose", pose_message(spec, prefix + spec.reference if spec.reference else world), 7
    effort = JointState(name=[spec.joint], effort=convert.marks(0, 1))
    return "effort", convert.marked(effort), 1


def imu_message(spec: ImuSpec, frame: str) -> Imu:
    """Return an Imu with marks for `Prepared`: angular velocity, acceleration, quaternion xyzw.

    The diagonals of the covariances have the variances of the noise; all zero: unknown.
    """
    message = convert.marked(Imu(), frame)
    w, a, q = message.angular_velocity, message.linear_acceleration, message.orientation
    w.x, w.y, w.z, a.x, a.y, a.z = convert.marks(0, 6)
    message.angular_velocity_covariance = _covariance(spec, "angular_velocity")
    message.linear_acceleration_covariance = _covariance(spec, "linear_acceleration")
    if spec.orientation:
        q.x, q.y, q.z, q.w = convert.marks(6, 4)
        message.orientation_covariance = _covariance(spec, "orientation")
    else:
        message.orientation_covariance = np.array([NOT_MEASURED, *[0.0] * 8])
    return message


def magnetic_message(spec: MagnetometerSpec, frame: str) -> MagneticField:
    """Return a MagneticField with marks for `Prepared`: x, y, z [T]."""
    message = convert.marked(MagneticField(), frame)
    b = message.magnetic_field
    b.x, b.y, b.z = convert.marks(0, 3)
    message.magnetic_field_covariance = _covariance(spec, "magnetic_field")
    return message


def fix_message(spec: GpsSpec, frame: str) -> NavSatFix:
    """Return a NavSatFix with marks for `Prepared`: latitude, longitude [degree], altitude [m].

    The covariance is of east, north, up [m^2]; without noise the covariance type is unknown.
    """
    message = convert.marked(NavSatFix(), frame)
    message.status.status, message.status.service = 0, 1  # STATUS_FIX, SERVICE_GPS
    message.latitude, message.longitude, message.altitude = convert.marks(0, 3)
    message.position_covariance = _covariance(spec, "position")
    known = message.position_covariance.any()
    kinds = NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN, NavSatFix.COVARIANCE_TYPE_UNKNOWN
    message.position_covariance_type = kinds[0] if known else kinds[1]
    return message


def pose_message(spec: PoseSpec, frame: str) -> PoseWithCovarianceStamped:
    """Return a PoseWithCovarianceStamped with marks for `Prepared`: position, quaternion xyzw."""
    message = convert.marked(PoseWithCovarianceStamped(), frame)
    p, q = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = convert.marks(0, 7)
    none = NoiseSpec()
    place, turn = (variance(spec.noise.get(name, none)) for name in ("position", "orientation"))
    message.pose.covariance = np.diag([*place, *turn]).reshape(36)
    return message


def _covariance(spec: ImuSpec | MagnetometerSpec | GpsSpec, quantity: str) -> Array:
    return np.diag(variance(spec.noise.get(quantity, NoiseSpec()))).reshape(9)

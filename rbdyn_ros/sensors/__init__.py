# SPDX-License-Identifier: Apache-2.0
"""Simulated sensors, such as an IMU or a depth camera, without ROS.

specs = read_sensors("sensors.yaml", m, description)
suite = Suite(m, description, specs, period_ns=1_000_000, seed=0)
for k, reading in suite.read(state):
    print(suite.specs[k].name, reading)
"""

from rbdyn_ros.sensors.camera_specs import ColorSpec as ColorSpec
from rbdyn_ros.sensors.camera_specs import DepthSpec as DepthSpec
from rbdyn_ros.sensors.ray_specs import Fan as Fan
from rbdyn_ros.sensors.ray_specs import LidarSpec as LidarSpec
from rbdyn_ros.sensors.ray_specs import RangeNoise as RangeNoise
from rbdyn_ros.sensors.ray_specs import RangeSpec as RangeSpec
from rbdyn_ros.sensors.reader import read_sensors as read_sensors
from rbdyn_ros.sensors.reader import read_sensors_text as read_sensors_text
from rbdyn_ros.sensors.reader import sensors_of as sensors_of
from rbdyn_ros.sensors.readings import ContactReading as ContactReading
from rbdyn_ros.sensors.readings import GpsReading as GpsReading
from rbdyn_ros.sensors.readings import ImuReading as ImuReading
from rbdyn_ros.sensors.readings import JointTorqueReading as JointTorqueReading
from rbdyn_ros.sensors.readings import MagneticReading as MagneticReading
from rbdyn_ros.sensors.readings import PoseReading as PoseReading
from rbdyn_ros.sensors.readings import Reading as Reading
from rbdyn_ros.sensors.readings import WrenchReading as WrenchReading
from rbdyn_ros.sensors.specs import ContactSpec as ContactSpec
from rbdyn_ros.sensors.specs import ForceTorqueSpec as ForceTorqueSpec
from rbdyn_ros.sensors.specs import GpsSpec as GpsSpec
from rbdyn_ros.sensors.specs import ImuSpec as ImuSpec
from rbdyn_ros.sensors.specs import JointTorqueSpec as JointTorqueSpec
from rbdyn_ros.sensors.specs import MagnetometerSpec as MagnetometerSpec
from rbdyn_ros.sensors.specs import NoiseSpec as NoiseSpec
from rbdyn_ros.sensors.specs import PoseSpec as PoseSpec
from rbdyn_ros.sensors.specs import Spec as Spec
from rbdyn_ros.sensors.suite import Suite as Suite

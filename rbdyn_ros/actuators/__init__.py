# SPDX-License-Identifier: Apache-2.0
"""Actuators of a robot: motor, gear and drive of each joint, from a YAML file.

m = rb.with_actuators(m, "actuators.yaml")
"""

from rbdyn_ros.actuators.attach import with_actuators as with_actuators
from rbdyn_ros.actuators.attach import with_actuators_of as with_actuators_of
from rbdyn_ros.actuators.document import ActuatorsDocument as ActuatorsDocument
from rbdyn_ros.actuators.reader import read_actuators as read_actuators
from rbdyn_ros.actuators.reader import read_actuators_text as read_actuators_text
from rbdyn_ros.actuators.specs import ActuatorSpec as ActuatorSpec
from rbdyn_ros.actuators.writer import actuators_text as actuators_text

# SPDX-License-Identifier: Apache-2.0
"""Identification of motors and gears from a recorded motion."""

from rbdyn_ros.identification.actuators.drive_gains import DriveGains as DriveGains
from rbdyn_ros.identification.actuators.estimate import Estimate as Estimate
from rbdyn_ros.identification.actuators.gains import identify_gains as identify_gains
from rbdyn_ros.identification.actuators.identify import ActuatorEstimate as ActuatorEstimate
from rbdyn_ros.identification.actuators.identify import identify_actuators as identify_actuators
from rbdyn_ros.identification.actuators.report import actuators_file as actuators_file
from rbdyn_ros.identification.actuators.report import (
    actuators_report_dict as actuators_report_dict,
)
from rbdyn_ros.identification.actuators.report import (
    actuators_report_text as actuators_report_text,
)
from rbdyn_ros.identification.actuators.report import gains_dict as gains_dict
from rbdyn_ros.identification.actuators.report import gains_text as gains_text

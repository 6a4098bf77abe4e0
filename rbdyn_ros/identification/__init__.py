# SPDX-License-Identifier: Apache-2.0
"""Identification of inertia, friction and actuators from a recorded motion."""

from rbdyn_ros.identification.actuators import ActuatorEstimate as ActuatorEstimate
from rbdyn_ros.identification.actuators import DriveGains as DriveGains
from rbdyn_ros.identification.actuators import Estimate as Estimate
from rbdyn_ros.identification.actuators import actuators_file as actuators_file
from rbdyn_ros.identification.actuators import actuators_report_dict as actuators_report_dict
from rbdyn_ros.identification.actuators import actuators_report_text as actuators_report_text
from rbdyn_ros.identification.actuators import gains_dict as gains_dict
from rbdyn_ros.identification.actuators import gains_text as gains_text
from rbdyn_ros.identification.actuators import identify_actuators as identify_actuators
from rbdyn_ros.identification.actuators import identify_gains as identify_gains
from rbdyn_ros.identification.data.motion import Motion as Motion
from rbdyn_ros.identification.equations.base import BaseParameters as BaseParameters
from rbdyn_ros.identification.equations.base import base_parameters as base_parameters
from rbdyn_ros.identification.equations.base import condition as condition
from rbdyn_ros.identification.equations.fit import identify as identify
from rbdyn_ros.identification.equations.loaded_arm import LoadedArm as LoadedArm
from rbdyn_ros.identification.equations.loaded_arm import (
    identify_with_payload as identify_with_payload,
)
from rbdyn_ros.identification.equations.payload import PayloadEstimate as PayloadEstimate
from rbdyn_ros.identification.equations.payload import identify_payload as identify_payload
from rbdyn_ros.identification.equations.regressor import torque_regressor as torque_regressor
from rbdyn_ros.identification.equations.residuals import Residuals as Residuals
from rbdyn_ros.identification.equations.residuals import validate as validate
from rbdyn_ros.identification.equations.result import Identification as Identification
from rbdyn_ros.identification.equations.warnings import why_no_patch as why_no_patch
from rbdyn_ros.identification.reports.figure import draw_efforts as draw_efforts
from rbdyn_ros.identification.reports.patch import patched_urdf as patched_urdf
from rbdyn_ros.identification.reports.patch import patched_urdf_bytes as patched_urdf_bytes
from rbdyn_ros.identification.reports.report import payload_dict as payload_dict
from rbdyn_ros.identification.reports.report import payload_text as payload_text
from rbdyn_ros.identification.reports.report import report_dict as report_dict
from rbdyn_ros.identification.reports.report import report_text as report_text

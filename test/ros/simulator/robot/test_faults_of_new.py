# SPDX-License-Identifier: Apache-2.0
"""Joints that are added to a robot during a simulation can have faults."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.parameters import FAULTS
from rbdyn_ros.ros.simulator.robot.faults import faults_of_new
from rbdyn_ros.runtime.types import PER_DOF


def test_a_fault_given_by_one_number_applies_to_new_joints_but_a_list_does_not():
    m = rb.load_urdf("config/scenes/gripper.urdf", floating_base=True)
    lists = {key: [0.0] for key in PER_DOF} | {"encoder_noise": [0.5], "effort_noise": [1.0, 2.0]}
    values = {FAULTS + name: given for name, given in lists.items()}
    faults = faults_of_new(m, values | {f"{FAULTS}stuck_joints": ["lift", "gone"]})
    assert faults.encoder_noise.tolist() == [0.0] * 6 + [0.5] * 3
    assert not faults.effort_noise.any()
    assert np.flatnonzero(faults.stuck).tolist() == [6]

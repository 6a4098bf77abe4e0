# SPDX-License-Identifier: Apache-2.0
"""A program runs several simulators inside itself, one after the other."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.ros.simulator.embedded import embedded
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.share import bundled_robot


def count(kind):
    """Return the number of threads ("task") or open files ("fd") of this process."""
    return len(list(Path(f"/proc/self/{kind}").iterdir()))


def test_a_simulator_that_has_ended_leaves_no_thread_and_no_open_file(domain, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    robot = str(bundled_robot("seven_dof_arm"))
    left = []
    for _ in range(3):
        with embedded(Setup({"urdf": robot, "realtime": "off", "start_paused": True})):
            running = count("task")
        left.append([count("task"), count("fd")])
    assert left[1] == left[2]
    assert left[2][0] < running - 5, "threads of DDS are left over"

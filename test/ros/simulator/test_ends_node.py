# SPDX-License-Identifier: Apache-2.0
"""The node ends cleanly in every time mode, and refuses a robot with a wrong hash."""

import signal

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")


@pytest.mark.parametrize(
    ("number", "parameters"),
    [
        (signal.SIGINT, ["time_mode:=fast"]),
        (signal.SIGTERM, ["time_mode:=fast", "start_paused:=true"]),
        (signal.SIGTERM, ["time_mode:=lockstep", "start_paused:=true"]),
        (signal.SIGINT, ["time_mode:=lockstep"]),
        (signal.SIGTERM, ["real_time_factor:=0.01", "control_decimation:=100"]),
    ],
)
def test_the_simulator_ends_cleanly(simulate, two_joints, number, parameters):
    given = [word for parameter in parameters for word in ("-p", parameter)]
    simulate(two_joints, "--ros-args", *given).end_well(number)


def test_a_robot_with_another_hash_than_the_parameter_is_refused(simulate, two_joints):
    wanted = "-p", "required_sha256:=" + "ab" * 32
    simulator = simulate(two_joints, "--ros-args", *wanted, wait=False)
    assert simulator.process.wait(60.0) == 2
    assert "parameter 'required_sha256'" in simulator.text()
    assert "Traceback" not in simulator.text()

# SPDX-License-Identifier: Apache-2.0
"""Wrong starts and ends of the simulator give messages and exit codes, but no tracebacks."""

import contextlib
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rcl_interfaces.srv import GetParameters, SetParameters
from sensor_msgs.msg import JointState

import rbdyn_ros as rb

fresh_start = pytest.mark.fresh_start

CYCLE = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>"""


@fresh_start
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_simulator_cleanly(simulate, peer, number):
    simulator = simulate()
    states = peer.hear(JointState, "joint_states")
    peer.until(lambda: states[-1].header.stamp.nanosec > 0)  # until time has advanced
    assert simulator.end(number) == 0
    assert "Traceback" not in simulator.text()
    assert "real-time factor" in simulator.text()


@fresh_start
@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.1, 0.3])
def test_ctrl_c_ends_a_starting_simulator(simulate, seconds, two_joints):
    simulator = simulate(two_joints, "--ros-args", "-p", "x:=1", wait=False, clock=True)
    simulator.wait_for("there is no parameter 'x'")  # the simulator then prepares the loop
    time.sleep(seconds)
    assert simulator.end() == 0
    assert "Traceback" not in simulator.text()


@fresh_start
def test_ctrl_c_ends_a_simulator_that_compiles(simulate, two_joints, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    simulator = simulate(two_joints, wait=False)
    simulator.wait_for("compiling the engine, first run only")
    time.sleep(1.0)
    simulator.process.send_signal(signal.SIGINT)
    assert simulator.process.wait(120.0) == 0
    assert "Traceback" not in simulator.text()
    assert "simulating" not in simulator.text()
    end = time.monotonic() + 60.0
    while processes_with(f"XDG_CACHE_HOME={tmp_path}"):  # the compiling process ends, too
        assert time.monotonic() < end
        time.sleep(0.1)


def processes_with(variable):
    """Return the ids of all processes with an environment variable "NAME=value"."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
    return found


@fresh_start
def test_ctrl_c_ends_a_simulator_that_waits_for_a_robot(simulate):
    simulator = simulate(entry="node", wait=False)
    simulator.wait_for("waiting for a robot on /robot_description")
    assert simulator.end() == 0
    assert "Traceback" not in simulator.text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["-p", "timestep:=-1.0"],
            "parameter 'timestep' is -1.0; allowed is a number from 0.0001",
            marks=fresh_start,
        ),
        (["-p", "on_timeout:=brake"], "allowed is one of zero, gravity, hold"),
        (["-p", "gravity:=[0.0, 1.0]"], "parameter 'gravity'"),
        (["-p", "publish_tf:=7"], "allowed is true or false"),
        (["-p", "initial_positions.elbow:=0.1"], "there is no joint 'elbow'"),
        (["-p", "initial_positions.elbow_pitch:=9.0"], "a number from -1.45 to 1.05"),
        (["-p", "="], "rbdyn: "),
        (["-p", "gravity:=[0, 0, -9.81]"], "with a decimal point, as in [0.0,"),
    ],
)
def test_a_simulator_with_invalid_parameters_does_not_start(simulate, arguments, words):
    simulator = simulate("--ros-args", *arguments, wait=False)
    assert simulator.process.wait(120.0) == 2
    assert words in simulator.text()
    assert "Traceback" not in simulator.text()


@fresh_start
def test_a_simulator_with_an_invalid_robot_file_does_not_start(simulate, tmp_path):
    path = tmp_path / "cycle.urdf"
    path.write_text(CYCLE)
    for argument, words in ((path, "cycle"), (tmp_path / "none.urdf", "none.urdf")):
        simulator = simulate(argument, wait=False)
        assert simulator.process.wait(120.0) == 2
        assert words in simulator.text()
        assert "Traceback" not in simulator.text()


def test_unknown_parameters_cause_warnings_and_read_only_parameters_stay(
    simulate, peer, two_joints
):
    simulator = simulate(
        two_joints, "--ros-args", "-p", "timestap:=0.002", "-p", "timestep:=0.002"
    )
    simulator.wait_for("there is no parameter 'timestap' (did you mean 'timestep'?)")
    names = ["model_sha256", "effort_command_joints", "timestep", "initial_positions.lift"]
    request = GetParameters.Request(names=names)
    sha, joints, timestep, lift = peer.call(
        GetParameters, "simulator/get_parameters", request
    ).values
    assert sha.string_value == rb.load_urdf(two_joints).sha256()
    assert list(joints.string_array_value) == ["lift", "turn"]
    assert (timestep.double_value, lift.double_value) == (0.002, 1.25)
    from rclpy.parameter import Parameter

    change = [Parameter("command_timeout", value=9.0).to_parameter_msg()]
    result = peer.call(
        SetParameters, "simulator/set_parameters", SetParameters.Request(parameters=change)
    )
    assert not result.results[0].successful

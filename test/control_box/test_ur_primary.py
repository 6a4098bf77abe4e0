# SPDX-License-Identifier: Apache-2.0
"""The primary interface of a box of Universal Robots sends states and takes commands."""

import socket
import struct

import numpy as np
import pytest
from support.raw_client import PATIENT, address
from support.robots import find
from test_ur_servers import Bench, measured

import rbdyn_ros as rb
from rbdyn_ros.control_box.ur import primary
from rbdyn_ros.control_box.ur.arm import READY, pose_of
from rbdyn_ros.control_box.ur.modes import VERSION, RobotMode, SafetyMode
from rbdyn_ros.control_box.ur.programs import start_program


@pytest.fixture
def bench():
    return Bench(find("ur5_robot.urdf").read_text())


def packages(data):
    """Return the kind and the body of each package."""
    found = []
    while data:
        size, kind = struct.unpack(">iB", data[:5])
        assert 5 <= size <= len(data)
        found.append((kind, data[5:size]))
        data = data[size:]
    return found


def parts(robot):
    ((kind, body),) = packages(primary.state(robot))
    assert kind == primary.STATE
    return dict(packages(body))


def test_the_primary_packet_has_the_joints_the_tool_and_the_limits_of_the_arm(bench):
    r, dq = bench.robot, np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
    r.observe(measured(np.array(READY) + 0.01, dq))
    found = parts(r)
    joints = np.array(list(struct.iter_unpack(">3d4fB", found[primary.JOINTS])))
    assert joints[:, 0].tolist() == (np.array(READY) + 0.01).tolist()
    assert joints[:, 1].tolist() == r.joints.x.tolist()
    assert joints[:, 2].tolist() == dq.tolist()
    tool = struct.unpack(">12d", found[primary.TOOL])
    assert tool[:6] == pytest.approx(pose_of(r.sensing.at.T))
    numbers = struct.unpack(">53d4i", found[primary.CONFIGURATION])
    assert numbers[0:12:2] == tuple(r.arm.lower)
    assert numbers[1:12:2] == tuple(r.arm.upper)
    assert numbers[12:24:2] == tuple(r.arm.velocity)
    assert numbers[-2:] == (1, 1)  # a UR5 of the e-Series


def flags(robot):
    """Return whether the robot has power, an emergency stop, a protective stop; and its mode."""
    numbers = struct.unpack(">Q7?BB3dB", parts(robot)[primary.MODE])
    return *numbers[3:6], numbers[8]


def test_commands_at_the_primary_interface_switch_the_arm_off_and_on(bench):
    r = bench.robot
    assert flags(r) == (True, False, False, RobotMode.RUNNING)
    start_program(r, "power off\n")
    assert flags(r) == (False, False, False, RobotMode.POWER_OFF)
    start_program(r, "power on\n")
    assert flags(r) == (True, False, False, RobotMode.IDLE)
    start_program(r, "set robotmode run\n")
    assert flags(r) == (True, False, False, RobotMode.RUNNING)
    start_program(r, "sleep(1)\n")
    bench.cycle()
    assert r.program is not None
    start_program(r, "stop program\n")
    assert r.program is None
    r.protective_stop("a test")
    assert flags(r)[2]
    r.messages = []
    start_program(r, "set unlock protective stop\n")
    assert r.safety == SafetyMode.PROTECTIVE_STOP  # the stop cannot be unlocked yet
    (said,) = r.messages
    assert said.startswith("'set unlock protective stop' is refused: Cannot unlock")
    r.clock += 6.0
    start_program(r, "set unlock protective stop\n")
    assert flags(r) == (True, False, False, RobotMode.RUNNING)


def test_a_client_gets_the_version_and_then_states_while_time_is_stopped():
    def package(stream):
        head = stream.read(5)
        size, kind = struct.unpack(">iB", head)
        return kind, stream.read(size - 5)

    with (
        rb.BoxedArm(find("ur5_robot.urdf"), [f"ur@{address()}"], log=lambda _: None),
        socket.create_connection((address(), 30002), PATIENT) as client,
        client.makefile("rb") as stream,
    ):
        kind, body = package(stream)
        assert kind == primary.MESSAGE
        assert struct.unpack(">BBii", body[20:30]) == VERSION
        stamps = []
        for _ in range(3):
            kind, body = package(stream)
            assert kind == primary.STATE
            stamps.append(struct.unpack(">Q", dict(packages(body))[primary.MODE][:8])[0] * 1e-6)
    # a state can come one step of 2 ms later
    assert np.diff(stamps) == pytest.approx(primary.STATES_EVERY, abs=3e-3)


def test_a_state_that_cannot_be_written_disconnects_only_its_client(monkeypatch):
    def fail(_):
        raise struct.error("a number is too large")

    monkeypatch.setattr("rbdyn_ros.control_box.ur.box.state_package", fail)
    with (
        rb.BoxedArm(find("ur5_robot.urdf"), [f"ur@{address()}"], log=lambda _: None) as arm,
        socket.create_connection((address(), 30001), PATIENT) as client,
    ):
        while client.recv(4096):
            pass
        arm.boxes.check()
        with socket.create_connection((address(), 29999), PATIENT) as dashboard:
            dashboard.sendall(b"robotmode\n")
            assert dashboard.recv(100)

# SPDX-License-Identifier: Apache-2.0
"""A box of Universal Robots in lock-step without a timeout does not wait for lost clients."""

import math
import socket
import struct
import time

import pytest
from support.raw_client import PATIENT, address, until
from support.robots import find
from test_ur_servers import CONTROL, packet

import rbdyn_ros as rb
from rbdyn_ros.control_box.ur.modes import SafetyMode
from rbdyn_ros.control_box.ur.moves import ServoJoints
from rbdyn_ros.control_box.ur.rtde import RTDE_PORT

NAMES = ["input_int_register_0", *(f"input_double_register_{k}" for k in range(11))]


def connected():
    """Return the socket of a client of RTDE that has chosen version 2 of the protocol."""
    client = socket.create_connection((address(), RTDE_PORT), PATIENT)
    client.sendall(packet("V", b"\0\2"))
    return client


@pytest.fixture
def waiting():
    """Yield an arm, its box, which waits for the next servoj of a client, and the client."""
    said = []
    with rb.BoxedArm(
        find("ur5_robot.urdf"), [f"ur@{address()}"], patience=math.inf, log=said.append
    ) as arm:
        box = arm.boxes.all[0]
        client, other = connected(), connected()
        with client, other, socket.create_connection((address(), 30001), PATIENT) as script:
            other.sendall(packet("O", struct.pack(">d", 1.0) + b"timestamp") + packet("S"))
            client.sendall(packet("I", ",".join(NAMES).encode()) + packet("S"))
            script.sendall(CONTROL.format(offset=0, path="").encode())
            until(lambda: box.robot.program is not None and box.robot.signals.out_int[0] == 1)
            goal = box.robot.joints.x + 0.01
            body = struct.pack(">Bi11d", 1, 11, *goal, 0.0, 0.0, 0.002, 0.1, 300.0)
            client.sendall(packet("U", body))
            until(lambda: isinstance(box.robot.motion, ServoJoints) and box.robot.awaits)
            time.sleep(0.3)  # now the box must wait: this is longer than any poll of a socket
            yield arm, box, client
        box.do(box.robot.stop_program).result(PATIENT)


def ticks(arm):
    return arm.loop.readout.latest().tick


def test_a_program_waits_while_its_client_is_connected(waiting):
    arm, _, _ = waiting
    before = ticks(arm)
    time.sleep(0.3)
    assert ticks(arm) <= before + 1


def test_a_box_stops_waiting_if_its_client_dies_although_another_client_stays(waiting):
    arm, box, client = waiting
    before = ticks(arm)
    client.close()
    until(lambda: ticks(arm) > before + 100)
    assert box.robot.program is not None  # the last command still acts, as without lock-step


def test_a_box_stops_waiting_when_the_user_stop_is_pressed(waiting):
    arm, box, _ = waiting
    before = ticks(arm)
    box.do(lambda: box.robot.press_user_stop(True)).result(PATIENT)
    assert box.robot.safety == SafetyMode.ROBOT_EMERGENCY_STOP
    until(lambda: ticks(arm) > before + 50)


def test_a_box_stops_waiting_when_the_arm_is_reset(waiting):
    arm, box, _ = waiting
    arm.loop.plant.reset(time=True)
    until(lambda: box.robot.program is None)

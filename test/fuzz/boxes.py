# SPDX-License-Identifier: Apache-2.0
"""Send changed bytes to the servers of a control box: streams and datagrams, in any order.

An input is a sequence of pieces. A piece is a byte for its kind, two bytes for its length, and its
content. For every input the box answers or ends the connection, and its torques stay finite.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import READY, FrankaArm
from rbdyn_ros.control_box.franka.gripper import GripperServer
from rbdyn_ros.control_box.franka.packets import GripperRequest, Request
from rbdyn_ros.control_box.franka.robot import RobotServer
from rbdyn_ros.control_box.links import Load
from rbdyn_ros.control_box.robot import BoxedRobot
from rbdyn_ros.control_box.sensing import MeasuredArm
from rbdyn_ros.control_box.sockets import Session
from rbdyn_ros.description.source import read
from rbdyn_ros.loading.load import load_urdf

#: Numbers of the kinds of pieces; another number only lets the box run a cycle.
STREAM, DATAGRAM, HAND = range(3)
#: Numbers of the kinds that all boxes have.
LEAVES, STOP, GUIDES, MOVES = range(4, 8)


@functools.cache
def arm() -> FrankaArm:
    """Return an arm with Franka's joints and a hand."""
    text = URDF.format("".join(map(_link, range(1, 8))))
    return FrankaArm(load_urdf(text), read(text))


def _link(k: int) -> str:
    turn = 0.0 if k == 1 else np.pi / 2 * (-1) ** k
    joint = JOINT.format(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", turn, -2.9, 2.9)
    return INERTIA.format(f"link{k}") + joint


INERTIA = (
    '<link name="{}"><inertial><origin xyz="0 0.02 0.05"/><mass value="1"/><inertia ixx="0.01" '
    'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>'
    '<origin xyz="0 0.1 0.1" rpy="{} 0 0"/>'
    '<limit lower="{}" upper="{}" effort="80" velocity="2"/></joint>'
)
FINGERS = "".join(
    INERTIA.format(f"finger{k}")
    + JOINT.format(f"finger_joint{k}", "prismatic", "link7", f"finger{k}", 0.0, 0.0, 0.04)
    for k in (1, 2)
)
URDF = '<robot name="arm"><link name="link0"/>{}' + FINGERS + "</robot>"


def message(layout: str, command: int, payload: bytes) -> bytes:
    """Return the bytes of a request."""
    size = struct.calcsize(layout) + len(payload)
    return struct.pack(layout, command, 1, size) + payload


def piece(kind: int, data: bytes = b"") -> bytes:
    """Return the bytes of a piece of an input."""
    return struct.pack("<BH", kind, len(data)) + data


def seeds() -> list[bytes]:
    """Return valid inputs with each request, and with each motion and commands for it."""
    hello = piece(STREAM, message("<III", 0, struct.pack("<HH", 10, 4242)))
    hand = piece(HAND, message("<HII", 0, struct.pack("<HH", 3, 4242)))
    found = [
        hello + piece(STREAM, message("<III", request, bytes(packets.PAYLOADS[request].itemsize)))
        for request in Request
    ]
    found += [
        hand + piece(HAND, message("<HII", one, bytes(packets.GRIPPER_PAYLOADS[one].itemsize)))
        for one in GripperRequest
    ]
    for controller, generator in ((2, 4), (0, 0), (1, 1), (0, 2), (1, 3)):
        given = np.zeros((), packets.PAYLOADS[Request.MOVE])
        given["controller"], given["generator"] = controller, generator
        command = np.zeros((), packets.COMMAND)
        # the command answers the first state after the Move
        command["message_id"], command["q_c"] = 3, READY
        move = piece(STREAM, message("<III", Request.MOVE, given.tobytes()))
        begun = hello + move + piece(DATAGRAM, command.tobytes())
        found += [begun + piece(9) + piece(9), begun + piece(MOVES, bytes(range(1, 15)))]
    return [*found, hello + piece(STOP, b"\1") + piece(9), hello + piece(GUIDES, b"\1") + piece(9)]


def pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the bytes of each piece of an input."""
    while data:
        size = int.from_bytes(data[1:3], "little")
        yield data[0], data[3 : 3 + size]
        data = data[3 + size :]


def refuses(session: Session, body: bytes) -> bool:
    """Return whether a session refuses these bytes; then close the session."""
    try:
        session.request(body)
    except ValueError:
        session.close()
        return True
    return False


def act_outside(robot: BoxedRobot, kind: int, body: bytes) -> None:
    """Press the user stop or guide the arm by hand, if the piece has this kind."""
    on = bool(body[:1] > b"\0")
    if kind == STOP:
        robot.press_user_stop(on)
    elif kind == GUIDES:
        robot.guide(on)


def moved(ready: Sequence[float], body: bytes) -> MeasuredArm:
    """Return an arm near READY; a byte is 0.01 rad of a position or 0.01 rad/s of a velocity."""
    n, z = len(ready), np.zeros(len(ready))
    numbers = np.frombuffer(body[: 2 * n].ljust(2 * n, b"\0"), np.int8) / 100.0
    return MeasuredArm(ready + numbers[:n], numbers[n:], z, z, z)


def fuzz_box(data: bytes) -> None:
    """Send one input of a client; the torques of every cycle must be finite."""
    arm().carry(Load(0.0, np.zeros(3), np.zeros((3, 3))))
    server, hand = RobotServer(arm(), lambda _: None), GripperServer(arm(), lambda _: None)
    now = moved(READY, b"")
    server.observe(now)
    for kind, body in pieces(data):
        for at, one in ((STREAM, server), (HAND, hand)):
            if kind == at and refuses(one, body):
                one.open()
        if kind == DATAGRAM:
            server.command(body)
        elif kind == LEAVES:
            server.close()
        elif kind == MOVES:
            now = moved(READY, body)
        act_outside(server, kind, body)
        server.observe(now)
        torques = server.act()
        hand.observe(np.zeros(2), np.zeros(2))
        for given, count in ((torques, 7), (hand.act(), 2)):
            numbers = given.at(np.zeros(count), np.zeros(count))
            assert np.isfinite(numbers).all(), "a torque is not finite"
        server.answers()
        hand.answers()

# SPDX-License-Identifier: Apache-2.0
"""A client with raw sockets in the test's process, and helpers for tests of control boxes."""

import os
import select
import socket
import struct
import time

import numpy as np

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.packets import Mode, Request

#: Longest wait for a packet, also on a busy machine [s].
PATIENT = 60.0


def address(k=0):
    """Return a loopback address for each k < 8 that no other test process uses."""
    number = os.getpid() * 8 + k  # a pid is below 2^22
    return f"127.{1 + number // 65536 % 250}.{number // 256 % 256}.{number % 256}"


def settled(arm):
    """Wait until simulated time has stopped for 0.5 s of wall time; return the last state."""
    tick, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        state = arm.loop.readout.latest()
        if state.tick != tick:
            tick, since = state.tick, time.monotonic()
        time.sleep(1e-3)
    return state


def until(condition):
    """Wait until a condition is true, up to a time limit."""
    give_up = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(1e-3)


class RawClient:
    """A client that uses the arm's protocol without libfranka."""

    def __init__(self, where):
        self.tcp = socket.create_connection((where, packets.ROBOT_PORT), PATIENT)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("", 0))
        self.udp.settimeout(PATIENT)
        self.number = 0
        self.ask(Request.CONNECT, struct.pack("<HH", 10, self.udp.getsockname()[1]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tcp.close()
        self.udp.close()

    def ask(self, command, payload=b""):
        """Send a request; return the body of the next answer of the box."""
        self.number += 1
        self.tcp.sendall(struct.pack("<III", command, self.number, 12 + len(payload)) + payload)
        return self.answer()

    def answer(self):
        size = struct.unpack("<III", self._exactly(12))[2]
        return self._exactly(size - 12)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.tcp.recv(count - len(data))
            assert more
            data += more
        return data

    def move(self, controller=2, generator=4):
        """Begin a motion; return the first state that a client of libfranka could answer."""
        given = np.zeros((), packets.PAYLOADS[Request.MOVE])
        given["controller"], given["generator"] = controller, generator
        given["path_deviation"] = given["goal_deviation"] = 10.0, 3.0, 6.0
        assert self.ask(Request.MOVE, given.tobytes()) == b"\x01"
        state = self.state()
        while state["robot_mode"] != Mode.MOVE:
            state = self.state()
        return self.state(after=int(state["message_id"]))

    def state(self, after=0):
        """Return the newest state whose message_id is above `after`, as libfranka does."""
        while True:
            data, self.box = self.udp.recvfrom(4096)
            while select.select([self.udp], [], [], 0)[0]:
                data, self.box = self.udp.recvfrom(4096)
            state = np.frombuffer(data, packets.STATE)[0]
            if state["message_id"] > after:
                return state

    def command(self, state, **numbers):
        given = np.zeros((), packets.COMMAND)
        given["message_id"] = state["message_id"]
        for name, value in numbers.items():
            given[name] = value
        self.udp.sendto(given.tobytes(), self.box)

    def turn(self, cycles=100, torque=0.3, slow=0.0, speed=0.0):
        """Move joint 7 by a torque or at a speed; return the increments of message_id.

        Args:
            slow: delay of the first command [s].
        """
        state = self.move(*((0, 1) if speed else (2, 4)))
        time.sleep(slow)
        steps = []
        for k in range(cycles):
            last = k == cycles - 1
            wave = np.eye(7)[6] * np.sin(np.pi * k / (cycles - 1)) ** 2
            if speed:
                self.command(state, dq_c=speed * wave, motion_generation_finished=last)
            else:
                self.command(state, tau_J_d=torque * wave, torque_command_finished=last)
            if not last:
                before = int(state["message_id"])
                state = self.state(after=before)
                steps.append(int(state["message_id"]) - before)
        assert self.answer() == b"\x00"
        return steps

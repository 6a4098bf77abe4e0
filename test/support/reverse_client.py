# SPDX-License-Identifier: Apache-2.0
"""Act like the driver of ur_client_library: make its program and messages, and serve."""

import socket
import struct

from support.raw_client import PATIENT

SCALE, TIME_SCALE = 1e6, 1e3
MODES = {
    "STOPPED": -2, "UNINITIALIZED": -1, "IDLE": 0, "SERVOJ": 1, "SPEEDJ": 2, "FORWARD": 3,
    "SPEEDL": 4, "POSE": 5, "FREEDRIVE": 6, "TOOL_IN_CONTACT": 7, "TORQUE": 8,
}  # fmt: skip
KINDS = {
    "MOVEJ": 0, "MOVEL": 1, "MOVEP": 2, "MOVEC": 3, "OPTIMOVEJ": 4, "OPTIMOVEL": 5,
    "MOVEJ_POSE": 6, "MOVEL_JOINT": 7, "MOVEC_JOINT": 9, "SPLINE": 51,
}  # fmt: skip
COMMANDS = {
    "ZERO_FTSENSOR": 0, "SET_PAYLOAD": 1, "SET_TOOL_VOLTAGE": 2, "START_FORCE_MODE": 3,
    "END_FORCE_MODE": 4, "START_TOOL_CONTACT": 5, "END_TOOL_CONTACT": 6,
    "SET_FRICTION_COMPENSATION": 7, "FT_RTDE_INPUT_ENABLE": 8, "SET_GRAVITY": 9,
    "SET_TCP_OFFSET": 10, "SET_FRICTION_SCALES": 11, "SET_TARGET_PAYLOAD": 12,
}  # fmt: skip
ACTIONS = {
    "TRAJECTORY_MODE_RECEIVE": 1, "TRAJECTORY_MODE_CANCEL": -1,
    "TRAJECTORY_MODE_STREAM_START": 2, "TRAJECTORY_MODE_STREAM_END": 3,
    "FREEDRIVE_MODE_START": 1, "FREEDRIVE_MODE_STOP": -1,
    "REVERSE_INTERFACE_DATA_DIMENSION": 8,
}  # fmt: skip
SUCCESS, CANCELED, FAILURE = range(3)
CUBIC, QUINTIC = 1, 2


def program(host="127.0.0.1", ports=(50003, 50004, 50001), point="3 * 6 + 1", command=28, more=""):
    """Return a program whose lines let the box recognise external_control.urscript."""
    numbers = {f"MODE_{k}": v for k, v in MODES.items()}
    numbers |= {f"MOTION_TYPE_{k}": v for k, v in KINDS.items()} | COMMANDS | ACTIONS
    numbers |= {"TRAJECTORY_DATA_DIMENSION": point, "SCRIPT_COMMAND_DATA_DIMENSION": command}
    names = ("trajectory_socket", "script_command_socket", "reverse_socket")
    lines = [f"{k} = {v}" for k, v in numbers.items()]
    lines += ["MULT_jointstate = 1000000", "MULT_time = 1000", "global read_timeout = 0.0"]
    lines += ["velocity = raw_point[13]", "acceleration = raw_point[14]", *more.splitlines()]
    lines += ["servoj(q, t=steptime, lookahead_time=0.03, gain=2000)"]
    lines += ["thread script_commands():", "  socket_read_binary_integer(28, 0)", "end"]
    lines += [
        f'connect_socket_with_retry("{host}", {port}, "{name}")'
        for name, port in zip(names, ports, strict=True)
    ]
    return "\n".join(["def externalControl():", *(f"\t{line}" for line in lines), "end\n"])


def integers(numbers):
    return [round(number * SCALE) for number in numbers]


def message(mode, numbers=(), timeout=0.1):
    """Return a message of the reverse interface, with scaled numbers."""
    number = MODES.get(mode, mode)
    row = [*integers(numbers), *[0] * (6 - len(numbers))]
    return struct.pack(">8i", round(timeout * 1e3), *row, number)


def action(name, count=0, mode="FORWARD", timeout=0.5):
    """Return a message that starts or stops a trajectory or freedrive."""
    number = ACTIONS.get(name, 0)
    return struct.pack(">8i", round(timeout * 1e3), number, count, 0, 0, 0, 0, MODES[mode])


def point(kind, target, second=(0.0,) * 6, third=(0.0,) * 6, time=0.0, form=0):
    """Return the message of a trajectory's point; `third` has velocity and acceleration first."""
    third = [*third, *[0.0] * (6 - len(third))]
    numbers = integers([*target, *second, *third])
    return struct.pack(">21i", *numbers, round(time * TIME_SCALE), form, KINDS.get(kind, kind))


def command(name, numbers=()):
    """Return the message of a script command."""
    row = [COMMANDS.get(name, name), *integers(numbers)]
    return struct.pack(">28i", *row, *[0] * (28 - len(row)))


class Driver:
    """The three servers of a client; each has one connection at a time.

    Args:
        where: address of the client on this machine.
    """

    def __init__(self, where):
        self.servers = [socket.create_server((where, 0)) for _ in range(3)]
        for server in self.servers:
            server.settimeout(PATIENT)
        ports = [server.getsockname()[1] for server in self.servers]
        self.program = program(where, ports)
        self.points = self.commands = self.reverse = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()
        for server in self.servers:
            server.close()

    def accept(self):
        """Accept the three connections of the robot."""
        found = []
        for server in self.servers:
            link, _ = server.accept()
            link.settimeout(PATIENT)
            found.append(link)
        self.points, self.commands, self.reverse = found

    def hang_up(self):
        for link in (self.points, self.commands, self.reverse):
            if link is not None:
                link.close()

    def result(self, link=None):
        """Return the next result of a trajectory, or None if the connection is closed."""
        data = (link or self.points).recv(4)
        return struct.unpack(">i", data)[0] if data else None

# SPDX-License-Identifier: Apache-2.0
"""The data of a version of external_control.urscript: its ports, names and numbers.

ur_client_library, and so ur_robot_driver, sends this program. Its versions differ in numbers of
modes, kinds of points and commands, in the length of messages, and in their order; the box reads
these from the text of the program.
"""

import math
import re
from dataclasses import dataclass

from rbdyn_ros.errors import quote

# only spaces within a line and few factors are allowed, so that a hostile text takes no longer
# than any other text
_NUMBER = re.compile(
    r"^[ \t]*([A-Z][A-Z_]+)[ \t]*="
    r"[ \t]*(-?\d{1,10}(?:[ \t]*[*+][ \t]*\d{1,10}){0,3})[ \t\r]*(?:#.*)?$",
    re.MULTILINE,
)
_SOCKET = re.compile(
    r"(?:socket_open|connect_socket_with_retry)\(\s*\"([^\"]*)\"\s*,\s*(\d{1,5})\s*,\s*\"(\w+)\""
)
_SERVO = re.compile(r"lookahead_time\s*=\s*([\d.eE+-]+)\s*,\s*gain\s*=\s*([\d.eE+-]+)")
_PLACE = r"\b{} = raw_point\[(\d{{1,10}})\]"
_SCALE = re.compile(r"^[ \t]*MULT_(jointstate|time)[ \t]*=[ \t]*(\d{1,10})[ \t\r]*$", re.MULTILINE)
#: Names of sockets, as messages call them, in the order in which the box opens them.
SOCKETS = {
    "trajectory_socket": "trajectory interface",
    "script_command_socket": "script command interface",
    "reverse_socket": "reverse interface",
}
#: Kinds of points had other names before version 2 of ur_client_library.
FORMER = {
    "TRAJECTORY_POINT_JOINT": "MOTION_TYPE_MOVEJ",
    "TRAJECTORY_POINT_CARTESIAN": "MOTION_TYPE_MOVEL",
    "TRAJECTORY_POINT_JOINT_SPLINE": "MOTION_TYPE_SPLINE",
}
#: Greatest length of a message and least length of a point [integers], and the greatest number of
#: named numbers of a program.
LONGEST, SHORTEST_POINT, MOST_NAMES = 256, 19, 500


@dataclass(frozen=True, slots=True)
class ExternalScript:
    """A version of the program.

    Attributes:
        host: host of the client.
        ports: ports by the name of the socket, see SOCKETS.
        numbers: numbers by name, such as MODE_SERVOJ.
        scale, time_scale: scales of numbers and times in messages.
        lookahead, gain: lookahead and gain of servoj.
        velocity, acceleration: indices of these numbers in a point, from 0; None: a point lacks
            them.
    """

    host: str
    ports: dict[str, int]
    numbers: dict[str, int]
    scale: float
    time_scale: float
    lookahead: float
    gain: float
    velocity: int | None
    acceleration: int | None

    @staticmethod
    def read(text: str) -> "ExternalScript | None":
        """Read the text of a program; return None if it is not external_control.urscript.

        Raises:
            ValueError: the box does not support the version of the program.
        """
        marks = (*SOCKETS, "socket_read_binary_integer", "MODE_SERVOJ", "script_commands()")
        if not all(mark in text for mark in marks):
            return None
        numbers = {name: _computed(value) for name, value in _NUMBER.findall(text)}
        numbers |= {FORMER[name]: numbers[name] for name in FORMER if name in numbers}
        sockets = {name: (host, int(port)) for host, port, name in _SOCKET.findall(text)}
        scales = {name: int(value) for name, value in _SCALE.findall(text)}
        lengths = {name: numbers.get(f"{name}_DATA_DIMENSION") for name in _LENGTHS}
        if "read_timeout" not in text or None in lengths.values():
            raise ValueError(
                "it is external_control.urscript of a ur_client_library before 1.3.4 (2023)"
            )
        missing = [name for name in SOCKETS if name not in sockets]
        right = len(scales) == 2 and all(scales.values()) and not missing
        long = all(_LENGTHS[name] <= (length or 0) <= LONGEST for name, length in lengths.items())
        if not (right and long and len(numbers) <= MOST_NAMES):
            raise ValueError("it is external_control.urscript without its ports and numbers")
        hosts = {host for host, _ in sockets.values()}
        if len(hosts) > 1:
            raise ValueError(f"it calls several hosts: {', '.join(map(quote, sorted(hosts)))}")
        servo = _SERVO.search(text)
        lookahead, gain = (float(one) for one in servo.groups()) if servo else (0.03, 2000.0)
        places = [re.search(_PLACE.format(name), text) for name in ("velocity", "acceleration")]
        velocity, acceleration = (int(place[1]) - 1 if place else None for place in places)
        if not {velocity, acceleration} <= {None, *range(SHORTEST_POINT - 1)}:
            raise ValueError("the index of its speed or acceleration is not in a point")
        ports = {name: sockets[name][1] for name in SOCKETS}
        return ExternalScript(
            hosts.pop(), ports, numbers, scales["jointstate"], scales["time"],
            lookahead, gain, velocity, acceleration,
        )  # fmt: skip

    def name(self, prefix: str, number: int) -> str:
        """Return the name of a number without its prefix, or ""."""
        names = (n for n, k in self.numbers.items() if n.startswith(prefix) and k == number)
        return next(names, "").removeprefix(prefix)

    @property
    def message(self) -> int:
        """Number of integers in a message of the reverse interface."""
        return self.numbers["REVERSE_INTERFACE_DATA_DIMENSION"]

    @property
    def point(self) -> int:
        """Number of integers in a point; the last two are its blend or spline, and its kind."""
        return self.numbers["TRAJECTORY_DATA_DIMENSION"] + 2

    @property
    def command(self) -> int:
        """Number of integers in a script command."""
        return self.numbers["SCRIPT_COMMAND_DATA_DIMENSION"]


#: Messages, and the least number of integers of each.
_LENGTHS = {"REVERSE_INTERFACE": 8, "TRAJECTORY": SHORTEST_POINT, "SCRIPT_COMMAND": 2}


def _computed(text: str) -> int:
    """Return the value of a sum of products of integers, such as `3 + 6*2`."""
    return sum(math.prod(int(one) for one in part.split("*")) for part in text.split("+"))

# SPDX-License-Identifier: Apache-2.0
"""Real-time data exchange (RTDE): a client reads and writes variables by recipes.

Packets are big endian; each has its size, a letter and a body.

Source: Universal Robots, Real-Time Data Exchange (RTDE) guide, versions 1 and 2 of the protocol.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.control_box.sockets import Session
from rbdyn_ros.control_box.ur.modes import VERSION
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.variables import INPUTS, OUTPUTS, TYPES, apply_inputs
from rbdyn_ros.errors import quote

RTDE_PORT = 30004
#: Most packets per second, and the rate of version 1 of the protocol.
MOST_OFTEN, VERSION_1_OFTEN = 500.0, 125.0
#: Most recipes of a client.
MOST_RECIPES = 255
_HEADER = struct.Struct(">HB")
#: Largest packet [bytes]. The size field has two bytes.
LARGEST = 2**16 - 1
#: Levels of text messages.
LEVEL_WARNING = 2


@dataclass(frozen=True, slots=True)
class Recipe:
    """Variables of a package, in their order.

    Attributes:
        names: names of the variables.
        layout: layout of their numbers.
        counts: number of values of each variable.
    """

    names: tuple[str, ...]
    layout: struct.Struct
    counts: tuple[int, ...]

    @staticmethod
    def of(names: list[str], types: list[str]) -> "Recipe":
        """Return the recipe of variables with known types.

        Raises:
            ValueError: a package of the recipe does not fit in a packet.
        """
        letters = "".join(TYPES[kind][0] for kind in types)
        counts = tuple(TYPES[kind][1] for kind in types)
        layout = struct.Struct(f">{letters}")
        if _HEADER.size + 1 + layout.size > LARGEST:
            raise ValueError(f"a package of {layout.size} bytes does not fit in {LARGEST} bytes")
        return Recipe(tuple(names), layout, counts)

    def pack(self, robot: UrRobot) -> bytes:
        """Return the values of these variables of a robot as bytes."""
        numbers: list[Any] = []
        for name, count in zip(self.names, self.counts, strict=True):
            value = OUTPUTS[name].read(robot)
            if count == 1:
                numbers.append(value)
            else:
                numbers.extend(value.tolist())
        return self.layout.pack(*numbers)

    def unpack(self, data: bytes) -> dict[str, Any]:
        """Return values by name; raise ValueError if there are too few or too many bytes."""
        if len(data) != self.layout.size:
            raise ValueError(f"a package has {len(data)} bytes; expected {self.layout.size}")
        numbers, found, at = self.layout.unpack(data), {}, 0
        for name, count in zip(self.names, self.counts, strict=True):
            found[name] = numbers[at] if count == 1 else numbers[at : at + count]
            at += count
        return found


class Owners:
    """The client that writes each input."""

    def __init__(self) -> None:
        self._by_name: dict[str, object] = {}

    def may(self, name: str, client: object) -> bool:
        """Return whether no other client writes an input."""
        return self._by_name.get(name, client) is client

    def take(self, names: list[str], client: object) -> None:
        """Reserve the inputs with these names for a client."""
        self._by_name |= dict.fromkeys(names, client)

    def has(self, name: str) -> bool:
        """Return whether a client writes an input."""
        return name in self._by_name

    def leave(self, client: object) -> None:
        """Release the inputs of a client."""
        self._by_name = {k: one for k, one in self._by_name.items() if one is not client}


class RtdeSession(Session):
    """An RTDE session with one client.

    Args:
        robot: the robot whose variables the client reads and writes.
        owners: owners of the inputs among all clients.
        period: period of a cycle [s].
        log: called with a message about a mistake of a client.
        in_turn: whether each command is executed before the next is read; otherwise the newest
            command counts.
    """

    def __init__(
        self,
        robot: UrRobot,
        owners: Owners,
        period: float,
        log: Callable[[str], object],
        in_turn: bool = False,
    ) -> None:
        super().__init__()
        self._waits, self._in_turn = False, in_turn  # True while a command waits for its turn
        self._robot, self._owners, self._period, self._log = robot, owners, period, log
        self._pending = b""
        self._version, self._started = 1, False
        self._outputs: Recipe | None = None
        self._inputs: list[Recipe] = []
        self._every, self._cycles = 1, 0
        self._serves: dict[bytes, Callable[[bytes], None]] = {
            b"V": self._negotiate,
            b"v": self._tell_version,
            b"M": self._take_message,
            b"O": self._set_outputs,
            b"I": self._set_inputs,
            b"S": self._start,
            b"P": self._pause,
            b"U": self._write,
        }

    @property
    def is_full(self) -> bool:
        return self._waits

    def close(self) -> None:
        """End the connection; inputs keep their values, and other clients may write them."""
        self._owners.leave(self)
        self._started = False

    def request(self, data: bytes) -> None:
        """Process bytes of the client.

        Raises:
            ValueError: the bytes are not of the protocol; the connection should end.
        """
        self._pending += data
        self._waits = False
        while len(self._pending) >= _HEADER.size:
            size, command = _HEADER.unpack_from(self._pending)
            if size < _HEADER.size:
                raise ValueError(f"a packet of {size} bytes is shorter than its header")
            serve = self._serves.get(bytes([command]))
            if serve is None:
                raise ValueError(f"there is no command {command}")
            if len(self._pending) < size:
                return
            body = self._pending[_HEADER.size : size]
            if self._in_turn and command == ord("U") and self._must_wait(body):
                self._waits = True
                return
            self._pending = self._pending[size:]
            serve(body)

    def _must_wait(self, body: bytes) -> bool:
        number = body[0] if body else 0
        known = 1 <= number <= len(self._inputs)
        return known and self._robot.is_taken(self._inputs[number - 1].names)

    def _answer(self, command: bytes, body: bytes) -> None:
        self.push(packet(command, body))

    def _negotiate(self, body: bytes) -> None:
        if len(body) != 2:
            raise ValueError(f"a version has {len(body)} bytes; expected 2")
        version = int.from_bytes(body, "big")
        right = version in (1, 2)
        if right:
            self._version = version
        else:
            self._log(f"a client speaks version {version} of RTDE; this box speaks 1 and 2")
        self._answer(b"V", bytes([right]))

    def _tell_version(self, _: bytes) -> None:
        self._answer(b"v", struct.pack(">IIII", *VERSION))

    def _take_message(self, body: bytes) -> None:
        text = body[1 : 1 + body[0]] if body and self._version == 2 else body[1:]
        self._log(f"a client says: {quote(text.decode(errors='replace'))}")

    def _set_outputs(self, body: bytes) -> None:
        often = VERSION_1_OFTEN
        if self._version == 2:
            if len(body) < 8:
                raise ValueError("a recipe of outputs has no frequency")
            (often,), body = struct.unpack_from(">d", body), body[8:]
        names = _names(body)
        types = [OUTPUTS[name].type if name in OUTPUTS else "NOT_FOUND" for name in names]
        right = "NOT_FOUND" not in types and 1.0 <= often <= MOST_OFTEN and bool(names)
        self._started = False
        self._outputs = Recipe.of(names, types) if right else None
        if right:
            self._every = max(1, round(1.0 / (often * self._period)))
        number = b"" if self._version == 1 else bytes([right])
        self._answer(b"O", number + ",".join(types).encode())

    def _set_inputs(self, body: bytes) -> None:
        names = _names(body)
        types = [INPUTS[name].type if name in INPUTS else "NOT_FOUND" for name in names]
        for k, name in enumerate(names):
            if name in INPUTS and not self._owners.may(name, self):
                types[k] = "IN_USE"
        known = all(kind in TYPES for kind in types) and bool(names)
        right = known and len(self._inputs) < MOST_RECIPES
        if right:
            self._inputs.append(Recipe.of(names, types))
            self._owners.take(names, self)
        self._answer(b"I", bytes([len(self._inputs) if right else 0]) + ",".join(types).encode())

    def _start(self, _: bytes) -> None:
        self._started = self._outputs is not None or bool(self._inputs)
        self._cycles = 0
        self._answer(b"S", bytes([self._started]))

    def _pause(self, _: bytes) -> None:
        self._started = False
        self._answer(b"P", b"\1")

    def _write(self, body: bytes) -> None:
        number = body[0] if body else 0
        if not 1 <= number <= len(self._inputs):
            raise ValueError(f"there is no recipe {number} of inputs")
        given = self._inputs[number - 1].unpack(body[1:])
        if not all(np.isfinite(value).all() for value in given.values()):
            self._robot.say("a client writes an input that is not finite; the box ignores it")
            return
        apply_inputs(self._robot, given)

    def report(self) -> bytes:
        """Return the packet of a cycle, or b""."""
        if not self._started or self._outputs is None:
            return b""
        self._cycles += 1
        if (self._cycles - 1) % self._every:
            return b""
        number = b"" if self._version == 1 else b"\1"
        return packet(b"U", number + self._outputs.pack(self._robot))

    def tell(self, text: str) -> None:
        """Send a text message to the client."""
        said = text.encode()[:255]
        level = bytes([LEVEL_WARNING])
        if self._version == 1:
            self._answer(b"M", level + said)
        else:
            self._answer(b"M", bytes([len(said)]) + said + b"\3box" + level)


def packet(command: bytes, body: bytes) -> bytes:
    """Return the packet of a command letter and a body.

    Raises:
        ValueError: the packet is larger than LARGEST.
    """
    if _HEADER.size + len(body) > LARGEST:
        raise ValueError(f"an answer of {len(body)} bytes does not fit in a packet of {LARGEST}")
    return _HEADER.pack(_HEADER.size + len(body), command[0]) + body


def _names(body: bytes) -> list[str]:
    """Return the names of a recipe, which can end with a comma."""
    names = body.decode("ascii", "replace").split(",")
    return names[:-1] if names[-1] == "" else names

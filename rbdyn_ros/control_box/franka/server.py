# SPDX-License-Identifier: Apache-2.0
"""The base of the servers of arm and hand: requests of a client by TCP, and the answers."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from rbdyn_ros.control_box.franka.packets import INCOMPATIBLE, Framing, Interface
from rbdyn_ros.control_box.sockets import Server


class FrankaServer(Server):
    """A server of Franka's control interface.

    Args:
        interface: interface of the arm or the hand.
        log: called with a message about a mistake of a client.

    Attributes:
        udp_port: port of the client to which states are sent, or 0.
    """

    def __init__(self, interface: Interface, log: Callable[[str], object]) -> None:
        super().__init__()
        self._interface, self._log = interface, log
        self.open()

    def open(self) -> None:
        """Start the connection of a new client."""
        self._framing = Framing(self._interface)
        self._answers, self.udp_port = b"", 0

    def request(self, data: bytes) -> None:
        """Process bytes of the TCP connection.

        Raises:
            ValueError: the bytes are not of the protocol; the connection should end.
        """
        for command, number, given in self._framing.take(data):
            if (command == 0) == bool(self.udp_port):
                raise ValueError("a client must send Connect first, and once")
            if command == 0:
                self._connect(number, given)
            else:
                self._serve(command, number, given)

    @abstractmethod
    def _serve(self, command: int, number: int, given: Any) -> None:
        """Process a request other than Connect, with its command, number and payload."""

    def _answer(self, command: int, number: int, status: int, more: bytes = b"") -> None:
        body = status.to_bytes(self._interface.status, "little") + more
        self.push(self._framing.answer(command, number, body))

    def _connect(self, number: int, given: Any) -> None:
        mine, version, port = self._interface, int(given["version"]), int(given["udp_port"])
        known = version == mine.version
        if not known:
            self._log(
                f"a client speaks version {version} of the {mine.name}'s protocol; this box "
                f"speaks {mine.version}{mine.clients}"
            )
        elif port == 0:
            raise ValueError("Connect names UDP port 0")
        else:
            self.udp_port = port
        self._answer(0, number, 0 if known else INCOMPATIBLE, mine.version.to_bytes(2, "little"))

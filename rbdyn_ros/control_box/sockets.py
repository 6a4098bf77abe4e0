# SPDX-License-Identifier: Apache-2.0
"""The sockets of a server: one client by TCP, and datagrams to and from it by UDP."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import Protocol

from rbdyn_ros.errors import quote, refusal

#: Largest datagram that is read [bytes].
DATAGRAM = 65536
#: Largest piece of a stream that is read in one cycle [bytes]: dozens of requests, no more.
PIECE = 512
#: A client that leaves more than this unread is disconnected [bytes].
MOST_UNSENT = 2**20
#: Datagrams that are read in one cycle; a flood waits.
MOST = 32


class Server(Protocol):
    """A state machine behind sockets."""

    udp_port: int

    def open(self) -> None:
        """Begin with a new client."""

    def close(self) -> None:
        """Let the client go."""

    def request(self, data: bytes) -> None:
        """Take bytes; raise ValueError if they are not of the protocol."""

    def answers(self) -> bytes:
        """Return what goes to the client."""


class Endpoint:
    """Listens for one client of a server; for one thread.

    Args:
        server: the state machine.
        name: of the server in messages.
        address, port: where it listens.
        log: takes a sentence.

    Raises:
        RbdynError: the system refuses the port.
    """

    def __init__(
        self, server: Server, name: str, address: str, port: int, log: Callable[[str], object]
    ) -> None:
        self.server, self._name, self._log = server, name, log
        self._where = (address, port)
        self._client: socket.socket | None = None
        self._peer = ("", 0)
        self._unsent = b""
        self._listener = _opened(name, socket.SOCK_STREAM, address, port)
        self._udp = _opened(name, socket.SOCK_DGRAM, address, 0)
        self._listener.listen(4)

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets to wait at."""
        client = [] if self._client is None else [self._client]
        return [self._listener, self._udp, *client]

    @property
    def connected(self) -> bool:
        """Whether there is a client."""
        return self._client is not None

    def serve(self) -> None:
        """Accept a client, and pass bytes in both directions; never wait."""
        self._accept()
        if self._client is None:
            return
        try:
            data = self._client.recv(PIECE)
            if not data:
                self._leave("left")
                return
            self.server.request(data)
        except BlockingIOError:
            pass
        except OSError as error:
            self._leave(f"is gone: {error.strerror}")
            return
        except ValueError as error:
            self._leave(f"is disconnected: {error}")
            return
        self.flush()

    def flush(self) -> None:
        """Send the answers that the client can take now."""
        if self._client is None:
            return
        self._unsent += self.server.answers()
        try:
            while self._unsent:
                self._unsent = self._unsent[self._client.send(self._unsent) :]
        except BlockingIOError:
            if len(self._unsent) > MOST_UNSENT:
                self._leave(f"is disconnected: it reads no answers, {MOST_UNSENT} bytes wait")
        except OSError as error:
            self._leave(f"is gone: {error.strerror}")

    def send(self, packet: bytes) -> None:
        """Send a datagram to the client, if it named its port."""
        if self._client is not None and self.server.udp_port:
            with contextlib.suppress(OSError):  # it counts as lost
                self._udp.sendto(packet, (self._peer[0], self.server.udp_port))

    def datagrams(self) -> list[bytes]:
        """Return the datagrams that came from the client."""
        found = []
        for _ in range(MOST):
            try:
                data, sender = self._udp.recvfrom(DATAGRAM)
            except OSError:
                break
            if self._client is not None and sender == (self._peer[0], self.server.udp_port):
                found.append(data)
        return found

    def _accept(self) -> None:
        try:
            client, peer = self._listener.accept()
        except OSError:
            return
        if self._client is not None:
            self._log(
                f"{self._name}: {peer[0]} tried to connect; this box serves {self._peer[0]} and "
                "has one client at a time"
            )
            client.close()
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client, self._peer, self._unsent = client, peer, b""
        self.server.open()
        self._log(f"{self._name}: a client connects from {peer[0]}")

    def hang_up(self, why: str) -> None:
        """End the connection with the client, if there is one; `why` goes to the log."""
        if self._client is not None:
            self._leave(f"is disconnected: {why}")

    def _leave(self, why: str) -> None:
        assert self._client is not None
        self._client.close()
        self._client = None
        self._log(f"{self._name}: the client {why}")
        self.server.close()

    def close(self) -> None:
        """Close all sockets."""
        for each in self.sockets:
            each.close()
        if self._client is not None:
            self._client = None
            self.server.close()


def check_address(address: str, anywhere: bool) -> str:
    """Return a warning about an address, or nothing.

    Raises:
        RbdynError: it is no address, or not a loopback address without `anywhere`.
    """
    try:
        found = ipaddress.IPv4Address(address)
    except ValueError:
        raise refusal(f"{quote(address)} is not an IPv4 address, as 127.0.0.1") from None
    if found.is_loopback:
        return ""
    if not anywhere:
        raise refusal(
            f"a control box at {address} could be reached from other machines, and has no "
            "password; allowed are addresses from 127.0.0.1 to 127.255.255.254; box_anywhere "
            "allows others"
        )
    return f"the control box at {address} can be reached from other machines, without a password"


def _opened(name: str, kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, kind)
    opened.setblocking(False)
    try:
        if kind == socket.SOCK_STREAM:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, port))
    except OSError as error:
        opened.close()
        raise refusal(
            f"{name} cannot listen at {address} port {port}: {error.strerror}; end the other "
            "program, or give the box another address, as franka@127.0.0.2"
        ) from error
    return opened

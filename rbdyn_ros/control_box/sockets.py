# SPDX-License-Identifier: Apache-2.0
"""The sockets of servers: one client with TCP and datagrams, or several clients."""

import contextlib
import errno
import ipaddress
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rbdyn_ros.errors import Finding, RbdynError, quote, refusal

#: Largest datagram that is read [bytes].
DATAGRAM = 65536
#: Largest piece of a stream that is read in one cycle [bytes], which holds dozens of requests;
#: LARGE_PIECE is for a stream of programs or of large packets.
PIECE, LARGE_PIECE = 512, 65536
#: Most clients of a hub at the same time.
MOST_CLIENTS = 8
#: Time in which a box tries to connect to a client, and time between two attempts [s].
DIAL, DIAL_AGAIN = 2.0, 0.2
#: A client that leaves more than this unread is disconnected [bytes].
MOST_UNSENT = 2**20
#: Most datagrams that are read in one cycle; further datagrams wait.
MOST = 32


class Session(ABC):
    """A state machine behind a connection.

    Args:
        hello: first bytes for the client.

    Attributes:
        quits: whether the connection ends once the client has received all answers.
    """

    quits = False

    def __init__(self, hello: bytes = b"") -> None:
        self._answers = hello

    @property
    def is_full(self) -> bool:
        """Return whether the session accepts no bytes for now."""
        return False

    def close(self) -> None:  # noqa: B027 - there may be nothing to do
        """End the connection of the client."""

    @abstractmethod
    def request(self, data: bytes) -> None:
        """Process bytes; raise ValueError if they do not follow the protocol."""

    def push(self, data: bytes) -> None:
        """Send bytes to the client."""
        self._answers += data

    def answers(self) -> bytes:
        """Return the bytes for the client."""
        answers, self._answers = self._answers, b""
        return answers


class Server(Session):
    """A state machine that serves clients one after the other.

    Attributes:
        udp_port: port for datagrams, or 0.
    """

    udp_port: int

    @abstractmethod
    def open(self) -> None:
        """Start the connection of a new client."""


S = TypeVar("S", bound=Session)


class PortTakenError(RbdynError):
    """Another program listens on the port."""

    def __init__(self, message: str, port: int) -> None:
        super().__init__(Finding("port-taken", message, "error", ""))
        self.port = port


class Gone(Exception):  # noqa: N818 - no error: clients come and go
    """A client has left, or must leave; the message completes `the client ...`."""


@contextlib.contextmanager
def parting() -> Iterator[None]:
    """Turn every error of a session into Gone, so that no client can stop the box.

    Raises:
        Gone: the block raised an error.
    """
    try:
        yield
    except Gone:
        raise
    except ValueError as error:
        raise Gone(f"is disconnected: {error}") from None
    except Exception as error:  # noqa: BLE001 - whatever a client can bring about
        raise Gone(f"is disconnected, its session failed: {error!r}") from None


class ClientLink(Generic[S]):
    """The connection of a client; it never waits.

    Attributes:
        session: the state machine behind it.
        where: the address and port of the client.
        busy: whether the client has not taken all bytes so far.
    """

    def __init__(self, client: socket.socket, where: tuple[str, int], session: S) -> None:
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.where, self.session = client, where, session
        self._unsent = b""

    @property
    def busy(self) -> bool:
        """Return whether the client has not taken all bytes so far."""
        return bool(self._unsent)

    def receive(self, most: int) -> bytes:
        """Return at most `most` bytes that the client has sent, possibly none.

        Raises:
            Gone: the client has left.
        """
        try:
            data = self.socket.recv(most)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise Gone(f"is gone: {error.strerror}") from None
        if not data:
            raise Gone("left")
        return data

    def request(self, data: bytes) -> None:
        """Pass bytes to the session.

        Raises:
            Gone: the bytes are not of the protocol, or the session fails.
        """
        with parting():
            self.session.request(data)

    def flush(self) -> None:
        """Send the answers that the client can take now.

        Raises:
            Gone: the client has left or quit, or has too many unread bytes.
        """
        self._unsent += self.session.answers()
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            if len(self._unsent) > MOST_UNSENT:
                text = f"is disconnected: it reads no answers, {MOST_UNSENT} bytes wait"
                raise Gone(text) from None
        except OSError as error:
            raise Gone(f"is gone: {error.strerror}") from None
        if self.session.quits and not self._unsent:
            raise Gone("quits")


class End(ABC):
    """A port of a box.

    Attributes:
        clients: number of connections so far.
    """

    clients = 0

    @property
    @abstractmethod
    def sockets(self) -> list[socket.socket]:
        """The sockets to wait for."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Return whether there is a client."""

    @abstractmethod
    def flush(self) -> None:
        """Send the answers that clients can take now."""

    @abstractmethod
    def hang_up(self, reason: str) -> None:
        """End the connections; `reason` goes to the log."""

    @abstractmethod
    def close(self) -> None:
        """Close all sockets."""


class Peers(End, Generic[S]):
    """Several connections, each with its own session. Only one thread may use these methods.

    Args:
        name: name of the server in messages.
        log: called with a message.
        piece: largest number of bytes that are read from a client at once.

    Attributes:
        peers: the clients.
    """

    def __init__(self, name: str, log: Callable[[str], object], piece: int = PIECE) -> None:
        self._name, self._log, self._piece = name, log, piece
        self.peers: list[ClientLink[S]] = []

    @property
    def sockets(self) -> list[socket.socket]:
        return [peer.socket for peer in self.peers]

    @property
    def connected(self) -> bool:
        return bool(self.peers)

    @abstractmethod
    def _accept(self) -> None:
        """Add a client that has connected since the last call."""

    def receive(self) -> list[tuple[ClientLink[S], bytes]]:
        """Accept clients, and return the bytes from each; never wait."""
        self._accept()
        ready = [peer for peer in self.peers if not peer.session.is_full]
        came = [(peer, self._received(peer)) for peer in ready]
        return [item for item in came if item[1]]

    def _received(self, peer: ClientLink[S]) -> bytes:
        try:
            return peer.receive(self._piece)
        except Gone as gone:
            self._leave(peer, str(gone))
            return b""

    def pass_on(self, peer: ClientLink[S], data: bytes) -> None:
        """Pass a client's bytes to its session, and send the answers."""
        if peer not in self.peers:
            return  # the client left while the bytes were on the wire
        try:
            peer.request(data)
        except Gone as gone:
            self._leave(peer, str(gone))
        else:
            self._flush(peer)

    def told(self, peer: ClientLink[S], say: Callable[[S], bytes]) -> bytes:
        """Return the bytes that `say` gets from a session; if it fails, hang up and return b""."""
        try:
            with parting():
                return say(peer.session)
        except Gone as gone:
            self._leave(peer, str(gone))
            return b""

    def flush(self) -> None:
        for peer in [*self.peers]:
            self._flush(peer)

    def _flush(self, peer: ClientLink[S]) -> None:
        try:
            peer.flush()
        except Gone as gone:
            self._leave(peer, str(gone))

    def hang_up(self, reason: str) -> None:
        for peer in [*self.peers]:
            self._leave(peer, f"is disconnected: {reason}")

    def _leave(self, peer: ClientLink[S], reason: str) -> None:
        peer.socket.close()
        self.peers.remove(peer)
        self._log(f"{self._name}: the client {reason}")
        peer.session.close()

    def close(self) -> None:
        for each in self.sockets:
            each.close()
        for peer in self.peers:
            peer.session.close()
        self.peers = []


class Hub(Peers[S]):
    """Listens for several clients.

    Args:
        make: function that returns a session for a new client.
        name, log, piece: see Peers.
        address, port: the address and port at which it listens.
        most: largest number of clients at a time.

    Raises:
        RbdynError: the system refuses the port.
    """

    def __init__(
        self,
        make: Callable[[], S],
        name: str,
        address: str,
        port: int,
        log: Callable[[str], object],
        piece: int = PIECE,
        most: int = MOST_CLIENTS,
    ) -> None:
        super().__init__(name, log, piece)
        self._make, self._most = make, most
        self._listener = opened(name, socket.SOCK_STREAM, address, port)
        self._listener.listen(MOST_CLIENTS)

    @property
    def sockets(self) -> list[socket.socket]:
        return [self._listener, *super().sockets]

    def _accept(self) -> None:
        try:
            client, where = self._listener.accept()
        except OSError:
            return
        if len(self.peers) >= self._most:
            several = f"{self._most} clients at a time"
            one = f"{self.peers[0].where[0]} and has one client at a time"
            serves = one if self._most == 1 else several
            self._log(f"{self._name}: {where[0]} tried to connect; this box serves {serves}")
            client.close()
            return
        self.clients += 1
        self.peers.append(ClientLink(client, where, self._make()))
        self._log(f"{self._name}: a client connects from {where[0]}")


class Endpoint(Hub[Server]):
    """Listens for one client of a server, which also exchanges datagrams.

    Args:
        server: the state machine.
        name, address, port, log: see Hub.

    Raises:
        RbdynError: the system refuses the port.
    """

    def __init__(
        self, server: Server, name: str, address: str, port: int, log: Callable[[str], object]
    ) -> None:
        super().__init__(self._session, name, address, port, log, most=1)
        self.server = server
        self._udp = opened(name, socket.SOCK_DGRAM, address, 0)

    def _session(self) -> Server:
        self.server.open()
        return self.server

    @property
    def sockets(self) -> list[socket.socket]:
        return [self._udp, *super().sockets]

    def serve(self) -> None:
        """Accept a client, and pass bytes in both directions; never wait."""
        for peer, data in self.receive():
            self.pass_on(peer, data)
        self.flush()

    def _client(self) -> tuple[str, int] | None:
        """Return the address for datagrams, or None if no client has named its port."""
        if not self.peers or not self.server.udp_port:
            return None
        return self.peers[0].where[0], self.server.udp_port

    def send(self, packet: bytes) -> None:
        """Send a datagram to the client, if it named its port."""
        if client := self._client():
            with contextlib.suppress(OSError):  # the datagram counts as lost
                self._udp.sendto(packet, client)

    def datagrams(self) -> list[bytes]:
        """Return the datagrams that arrived from the client."""
        found = []
        for _ in range(MOST):
            try:
                data, sender = self._udp.recvfrom(DATAGRAM)
            except OSError:
                break
            if sender == self._client():
                found.append(data)
        return found


class Dialled(Peers[S]):
    """Connects to a server of a client, and tries again for a while if it is refused.

    Args:
        session: the session behind the connection.
        name, log, piece: see Peers.
        address, port: address and port of the client's server.

    Attributes:
        session: the argument.
        failure: the reason why it has given up, or "".
    """

    def __init__(
        self,
        session: S,
        name: str,
        address: str,
        port: int,
        log: Callable[[str], object],
        piece: int = LARGE_PIECE,
    ) -> None:
        super().__init__(name, log, piece)
        self.session, self.failure = session, ""
        self._where = address, port
        self._socket: socket.socket | None = None
        self._next = time.monotonic()  # times of the next attempt and of giving up
        self._last = self._next + DIAL
        self._refusal = errno.ETIMEDOUT

    def _accept(self) -> None:
        if self.clients or self.failure or time.monotonic() < self._next:
            return
        if self._socket is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._socket.setblocking(False)
        status = self._socket.connect_ex(self._where)
        there = status in (0, errno.EISCONN)
        if there and self._socket.getsockname() == self._where:
            # Linux can connect a socket to itself if no server listens on the port
            there, status = False, errno.ECONNREFUSED
        if there:
            self.clients = 1
            self.peers.append(ClientLink(self._socket, self._where, self.session))
            self._socket = None
            return
        if status not in (errno.EINPROGRESS, errno.EALREADY):
            self._socket.close()
            self._socket, self._next = None, self._next + DIAL_AGAIN
            self._refusal = status
        if time.monotonic() >= self._last:
            self.failure = os.strerror(self._refusal)

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets to wait for, except the sockets of sessions that accept no bytes now."""
        return [peer.socket for peer in self.peers if not peer.session.is_full]

    def hang_up(self, reason: str) -> None:
        """End the connection, or the attempts to connect; `reason` goes to the log."""
        self.failure = self.failure or reason
        super().hang_up(reason)

    def close(self) -> None:
        mine = [] if self._socket is None else [self._socket]
        for each in (*mine, *(peer.socket for peer in self.peers)):
            each.close()
        super().close()


def check_address(address: str, anywhere: bool) -> str:
    """Return a warning about an address that other machines can reach, or "".

    Raises:
        RbdynError: the text is not an address, or not a loopback address although `anywhere` is
            false.
    """
    try:
        found = ipaddress.IPv4Address(address)
    except ValueError:
        raise refusal(f"{quote(address)} is not an IPv4 address such as 127.0.0.1") from None
    if found.is_loopback:
        return ""
    if not anywhere:
        raise refusal(
            f"a control box at {address} could be reached from other machines, and has no "
            "password; allowed are addresses from 127.0.0.1 to 127.255.255.254; box_anywhere "
            "allows others"
        )
    return f"the control box at {address} can be reached from other machines, without a password"


def opened(name: str, kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    """Return a bound socket that does not block.

    Raises:
        PortTakenError: another program listens there.
        RbdynError: the system refuses the port.
    """
    found = socket.socket(socket.AF_INET, kind)
    found.setblocking(False)
    try:
        if kind == socket.SOCK_STREAM:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
    except OSError as error:
        found.close()
        text = f"{name} cannot listen on {address} port {port}: {error.strerror}"
        if error.errno != errno.EADDRINUSE:
            raise refusal(text) from error
        advice = "end the other program, or give the box another address, as franka@127.0.0.2"
        raise PortTakenError(f"{text}; {advice}", port) from error
    return found

# SPDX-License-Identifier: Apache-2.0
"""Connections from the box to the servers of a client, which a program on the controller opens.

The servers are those of ur_client_library. Three of them send rows of big-endian integers with 32
bits: commands (reverse interface), points of a trajectory, and settings (script commands). A
fourth server sends the program itself to a controller that plays it (URCap External Control).
"""

import ipaddress
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from rbdyn_ros.control_box.sockets import Dialled, Session
from rbdyn_ros.control_box.ur.scripts import LARGEST_PROGRAM
from rbdyn_ros.errors import quote

#: Most rows of a client that wait, while further rows stay in its connection; most bytes that are
#: read in one cycle.
MOST_ROWS, PIECE_OF_ROWS = 256, 4096
#: The port at which a client serves its program, and the mark of the program's end.
SENDER = ("127.0.0.1", 50002)
_ASKS, _ENDS = b"request_program\n", b"# NODE_CONTROL_LOOP_ENDS"


class IntegerSession(Session):
    """A session that receives rows of integers from a client, and sends integers to the client.

    Args:
        count: number of integers in a row.

    Attributes:
        rows: rows that have arrived and wait.
        open: whether the program counts the connection as open.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self._row = struct.Struct(f">{count}i")
        self.rows: deque[tuple[int, ...]] = deque()
        self.open = True
        self._pending, self._said = b"", b""

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= MOST_ROWS

    def close(self) -> None:
        self.open = False

    def request(self, data: bytes) -> None:
        """Process bytes of the client."""
        data = self._pending + data
        whole = len(data) - len(data) % self._row.size
        self.rows.extend(self._row.iter_unpack(data[:whole]))
        self._pending = data[whole:]

    def tell(self, number: int) -> None:
        """Queue an integer for the client; `said` returns it."""
        self._said += struct.pack(">i", number)

    def said(self) -> bytes:
        """Return the bytes to send since the last call."""
        said, self._said = self._said, b""
        return said


class SenderSession(Session):
    """Asks a client for its program.

    Args:
        start: function that is called with the program.

    Attributes:
        quits: whether the program has arrived, so that the connection ends.
    """

    def __init__(self, start: Callable[[str], None]) -> None:
        super().__init__(_ASKS)
        self._start, self._text = start, b""

    def request(self, data: bytes) -> None:
        """Process bytes of the client.

        Raises:
            ValueError: the program is too large.
        """
        self._text += data
        if len(self._text) > LARGEST_PROGRAM:
            raise ValueError(f"a program has more than {LARGEST_PROGRAM} bytes")
        if _ENDS in self._text and not self.quits:
            self.quits = True
            text = self._text.decode(errors="replace")
            self._start(f"def externalControl():\n{text}\nend\n")


@runtime_checkable
class CallingProgram(Protocol):
    """A program that opens connections to its client.

    Attributes:
        host: host of the client.
        lines: name, port and session of each connection, in the order in which they open.
        unreachable: set to the reason why a connection did not open.
    """

    host: str
    lines: Sequence[tuple[str, int, IntegerSession]]
    unreachable: str


class ReverseLinks:
    """The connections of the running program, for one thread.

    Args:
        address: address at which the box listens; from a loopback address it calls no other
            machine.
        log: called with a message.

    Attributes:
        lines: connections of the program that are open or being opened.
    """

    def __init__(self, address: str, log: Callable[[str], object]) -> None:
        self._local, self._log = ipaddress.IPv4Address(address).is_loopback, log
        self._program: CallingProgram | None = None
        self.lines: list[Dialled[IntegerSession]] = []
        self._sender: Dialled[SenderSession] | None = None

    @property
    def ends(self) -> list[Dialled[Any]]:
        """All connections."""
        return [*self.lines, *([] if self._sender is None else [self._sender])]

    def ask(self, start: Callable[[str], None]) -> None:
        """Ask a client at SENDER for its program, and call `start` with it."""
        if self._sender is not None:
            self._sender.close()
        self._sender = Dialled(SenderSession(start), "program of a client", *SENDER, self._log)

    def follow(self, program: object) -> None:
        """Close the last program's connections; open a new program's connections one by one."""
        self._look_for_program()
        if program is not self._program:
            self._hang_up()
            self._program = program if isinstance(program, CallingProgram) else None
        called = self._program
        if called is None or called.unreachable:
            return
        if self.lines and self.lines[-1].failure:
            name, port, _ = called.lines[len(self.lines) - 1]
            called.unreachable = (
                f"there is no {name} at {called.host} port {port}: {self.lines[-1].failure}"
            )
        elif len(self.lines) < len(called.lines) and all(line.clients for line in self.lines):
            self._open(called, *called.lines[len(self.lines)])

    def _look_for_program(self) -> None:
        sender = self._sender
        if sender is None or not (sender.failure or (sender.clients and not sender.peers)):
            return
        if sender.failure:
            host, port = SENDER
            self._log(f"there is no program at {host} port {port}: {sender.failure}")
        sender.close()
        self._sender = None

    def _open(self, called: CallingProgram, name: str, port: int, session: IntegerSession) -> None:
        try:
            allowed = ipaddress.IPv4Address(called.host).is_loopback or not self._local
        except ValueError:
            allowed = False
        if not (allowed and 0 < port < 2**16):
            where = quote(f"{called.host}:{port}")
            called.unreachable = f"{where} is not an address that this box may call"
            return
        line = Dialled(session, name, called.host, port, self._log, PIECE_OF_ROWS)
        self.lines.append(line)

    def pass_on(self, send: Callable[[tuple[Any, bytes]], None]) -> None:
        """Send the bytes of the sessions."""
        for line in self.lines:
            for peer in line.peers:
                if data := peer.session.said():
                    send((peer, data))

    def _hang_up(self) -> None:
        """Close the connections of a program, after sending the last messages."""
        self.pass_on(lambda item: item[0].session.push(item[1]))
        for line in self.lines:
            line.flush()
            line.hang_up("its program is over")
            line.close()
        self.lines = []

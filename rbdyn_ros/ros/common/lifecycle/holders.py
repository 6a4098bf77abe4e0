# SPDX-License-Identifier: Apache-2.0
"""Find the process on this machine that runs a node, even if the process hangs.

The process of a node listens at a socket with the node's name. Linux tells who listens, without
the help of that process, and frees the name when the process has ended.
"""

import os
import socket
import struct
from pathlib import Path

#: Largest number of characters of a socket's name.
LONGEST = 107
#: Layout of the credentials of a process: its number, user and group.
CREDENTIALS = struct.Struct("3i")


def _socket(node: str) -> tuple[socket.socket, str]:
    """Return a new socket, and the abstract address of a node in the present ROS domain.

    An abstract address needs no file.
    """
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setblocking(False)  # a process that hangs accepts no connection
    return made, f"\0rbdyn_ros/{domain}{node}"[:LONGEST]


def hold(node: str) -> socket.socket | None:
    """Claim the name of a node until the socket closes; return None if another process has it."""
    held, address = _socket(node)
    try:
        held.bind(address)
        held.listen()
    except OSError:
        held.close()
        return None
    return held


def process_of(node: str) -> str:
    """Return the other process that runs a node of this name, as `process 42 (stopped)`, or "".

    Linux keeps each connection of this search until the other process ends, so call it rarely.
    """
    asking, address = _socket(node)
    with asking:
        try:
            asking.connect(address)
            size = CREDENTIALS.size
            found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        except OSError:
            return ""
    pid = CREDENTIALS.unpack(found)[0]
    if pid in (0, os.getpid()):  # 0 means a process of another container
        return ""
    return f"process {pid}{' (stopped)' if _is_stopped(pid) else ''}"


def _is_stopped(pid: int) -> bool:
    """Return whether a signal, such as Ctrl-Z, has stopped a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")

# SPDX-License-Identifier: Apache-2.0
"""ROS domains of this machine that no other process uses."""

import functools
import os
import socket

from rbdyn_ros.errors import Finding, RbdynError

#: Domain 0 is the default of ROS, and from 102 on the ports of DDS are in the range that Linux
#: gives to other connections (32768 and more).
FIRST, COUNT = 10, 90
#: DDS takes ports from 7400 on: while a domain is used, a lower TCP port of this machine is bound.
PORTS = 7300
#: UDP ports of a domain, from its first port on: the port of all participants, and a port of each
#: of the first ten participants. The first port is not open if participants discover only others
#: on this machine.
DISCOVERY = (0, *range(10, 30, 2))


class Domain:
    """A ROS domain that belongs to this process until `close` or the end of the process.

    Attributes:
        number: number of the domain.

    Raises:
        RbdynError: all domains are used.
    """

    def __init__(self) -> None:
        for k in range(COUNT):
            self.number = FIRST + (os.getpid() + k) % COUNT
            self._held = socket.socket()
            try:
                self._held.bind(("127.0.0.1", PORTS + self.number))
            except OSError:
                self._held.close()
                continue
            if not is_used(self.number):
                return
            self._held.close()
        text = f"all ROS domains from {FIRST} to {FIRST + COUNT - 1} are used on this machine"
        raise RbdynError(Finding("no-domain", text))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the processes in the domain, on this machine only.

        Fast DDS exchanges messages through sockets: processes that are killed would leave its
        shared memory behind.
        """
        return {
            "ROS_DOMAIN_ID": str(self.number),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_LOCALHOST_ONLY": "1",  # Humble reads this
            "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
        }

    def close(self) -> None:
        """Let other processes use the domain."""
        self._held.close()


@functools.cache
def own_domain() -> Domain:
    """Return the domain of this process and of its forked children."""
    return Domain()


def is_used(number: int) -> bool:
    """Return whether a process of this machine takes part in a domain."""
    return not all(_is_free(7400 + 250 * number + offset) for offset in DISCOVERY)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind(("", port))
        except OSError:
            return False
    return True

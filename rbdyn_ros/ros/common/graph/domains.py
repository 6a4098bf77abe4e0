# SPDX-License-Identifier: Apache-2.0
"""Find a ROS domain that no other process of this machine uses."""

import functools
import os
import socket

from rbdyn_ros.errors import Finding, RbdynError

#: Domain 0 is the default of ROS. From domain 102 on, the ports of DDS are above 32767, in the
#: range that Linux gives to other connections.
FIRST, COUNT = 10, 90
#: While a Domain exists, the TCP port PORTS + number is bound. DDS uses ports from 7400 on.
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
        """Environment variables that put a process into the domain, on this machine only.

        Fast DDS then uses sockets, because a killed process would leave shared memory behind.
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
    """Return the domain of this process and of its forked children, made at the first call."""
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

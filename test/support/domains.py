"""ROS domains for tests, one for each test, also beside other processes of tests."""

import itertools
import os
import socket
from contextlib import contextmanager

import pytest

_count = itertools.count()

#: DDS takes ports from 7400 on: one of these below is bound for as long as a domain is in use.
PORTS = 7300


#: Ports of a domain: of all its participants, and of each of the first ten. Participants that
#: discover others on this machine only do not open the first one.
DISCOVERY = (0, *range(10, 30, 2))


def is_in_use(number):
    """Whether a process of this machine takes part in a domain, and so has a discovery port."""
    return not all(is_free(7400 + 250 * number + offset) for offset in DISCOVERY)


def is_free(port):
    """Whether a UDP port can be bound."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind(("", port))
        except OSError:
            return False
    return True


@contextmanager
def free_domain():
    """Yield a ROS domain that no other test or process uses."""
    for _ in range(90):
        number = 10 + (os.getpid() + next(_count)) % 90
        with socket.socket() as held:
            try:
                held.bind(("127.0.0.1", PORTS + number))
            except OSError:
                continue
            if is_in_use(number):  # by something else than these tests
                continue
            yield number
            return
    pytest.fail("all ROS domains from 10 to 99 are in use")


@pytest.fixture
def domain():
    """A ROS domain of the test."""
    with free_domain() as number:
        yield number

# SPDX-License-Identifier: Apache-2.0
"""Reserve a ROS domain for each test, so that no test in another process uses it."""

import itertools
import os
import socket
from contextlib import contextmanager

import pytest

from rbdyn_ros.ros.common.graph.domains import PORTS, is_used

_count = itertools.count()


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
            if is_used(number):  # another program uses the number
                continue
            yield number
            return
    pytest.fail("all ROS domains from 10 to 99 are in use")


@pytest.fixture
def domain():
    """Yield a ROS domain for the test."""
    with free_domain() as number:
        yield number

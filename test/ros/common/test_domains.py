# SPDX-License-Identifier: Apache-2.0
"""No two processes of the tests get the same ROS domain."""

import socket

from rbdyn_ros.ros.common.graph.domains import COUNT, FIRST, Domain


def test_the_ports_of_test_domains_are_outside_the_ephemeral_range():
    """Linux assigns ports from 32768 on to other connections. Domain 0, the default, is not used.

    OMG DDSI-RTPS 2.5, 9.6.2.3: a domain has 250 ports from 7400 + 250 domain on.
    """
    assert FIRST > 0
    assert 7400 + 250 * (FIRST + COUNT - 1) + 249 < 32768


def test_a_domain_in_use_is_not_assigned_again():
    first = Domain()
    second = Domain()
    assert second.number != first.number
    second.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("", 7400 + 250 * second.number + 10))
        third = Domain()
        assert third.number not in (first.number, second.number)
        third.close()
    first.close()

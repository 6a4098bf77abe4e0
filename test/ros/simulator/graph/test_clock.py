# SPDX-License-Identifier: Apache-2.0
"""A node decides whether it publishes /clock, so that only one node does."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.ros.simulator.graph.clock import AUDIBLE, DISCOVERY, publishes


def decides(others=(), heard=False, earlier=False, waited=DISCOVERY):
    return publishes("/me", others, heard, earlier, waited)


def test_a_single_node_publishes_once_the_time_for_discovery_is_over():
    assert decides(waited=DISCOVERY - 0.1) is None
    assert decides()


def test_the_clocks_of_ended_and_later_simulators_are_ignored():
    assert decides(heard=True)


@pytest.mark.parametrize("heard", [True, False])
def test_a_later_simulator_does_not_publish_the_clock(heard):
    assert decides(heard=heard, earlier=True, waited=0.0) is False


@pytest.mark.parametrize("other", ["/first", "/then"])
def test_a_node_that_receives_a_clock_does_not_publish_the_clock(other):
    # until discovery ends, another node may still appear
    assert decides([other], heard=True, waited=DISCOVERY - 0.1) is None
    assert decides([other], heard=True) is False


@pytest.mark.parametrize(("other", "expected"), [("/first", False), ("/then", True)])
def test_if_no_node_publishes_yet_the_first_by_name_does(other, expected):
    assert decides([other], waited=DISCOVERY + AUDIBLE - 0.1) is None
    assert decides([other], waited=DISCOVERY + AUDIBLE) is expected

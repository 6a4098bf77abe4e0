"""Which node publishes /clock."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.ros.simulator.clock import AUDIBLE, DISCOVERY, publishes


def test_a_node_alone_publishes_after_the_time_of_discovery():
    assert publishes("/me", [], False, DISCOVERY - 0.1) is None
    assert publishes("/me", [], False, DISCOVERY)


def test_the_time_of_a_node_that_has_ended_does_not_count():
    assert publishes("/me", [], True, DISCOVERY)


@pytest.mark.parametrize("other", ["/first", "/then"])
@pytest.mark.parametrize("waited", [0.0, DISCOVERY + AUDIBLE])
def test_a_node_that_hears_another_one_does_not_publish(other, waited):
    assert publishes("/me", [other], True, waited) is False


@pytest.mark.parametrize(("other", "expected"), [("/first", False), ("/then", True)])
def test_of_silent_nodes_the_first_by_name_publishes(other, expected):
    assert publishes("/me", [other], False, DISCOVERY + AUDIBLE - 0.1) is None
    assert publishes("/me", [other], False, DISCOVERY + AUDIBLE) is expected

"""Which node publishes /clock, on a graph and a steady clock of the test."""

import logging
import math
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock

from rbdyn_ros.ros.simulator import clock
from rbdyn_ros.ros.simulator.clock import CROWDED, ClockClaim

LOGGER = logging.getLogger("test_clock")


class Graph:
    """A node `/me` that sees other publishers of /clock from given times on.

    Args:
        others: name of each other publisher: the time at which it is discovered [s].
        message: time at which a message of 5 ns arrives [s].
    """

    def __init__(self, others, message=math.inf):
        self.now, self.others, self.message = 0.0, others, message
        self.mine = False

    def publishers(self):
        names = [name for name, time in self.others.items() if self.now >= time]
        return [*names, "me"] if self.mine else names

    # of the node

    def get_fully_qualified_name(self):
        return "/me"

    def get_logger(self):
        return LOGGER

    def create_publisher(self, *_):
        self.mine = True
        return object()

    def destroy_publisher(self, _):
        self.mine = False

    def count_publishers(self, _):
        return len(self.publishers())

    def get_publishers_info_by_topic(self, _):
        return [SimpleNamespace(node_namespace="/", node_name=n) for n in self.publishers()]

    # of the listener

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def subscribe(self, _kind, _topic, callback, _qos):
        self.callback = callback

    def spin(self, timeout):
        self.now += timeout
        if self.now >= self.message:
            self.callback(Clock(clock=Time(nanosec=5)))


@pytest.fixture
def settled(monkeypatch):
    """settled(graph) returns the claim of its node and its first stamp."""

    def settle(graph):
        monkeypatch.setattr(clock, "Listener", lambda node, _stop: node)
        monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: graph.now))
        claim = ClockClaim(graph)
        return claim, claim.settle(threading.Event())

    return settle


@pytest.mark.parametrize("name", ["first", "then"])
def test_a_node_that_hears_the_time_gives_up_and_begins_there(settled, name):
    claim, stamp = settled(Graph({name: 3.0}, message=3.2))
    assert claim.publisher is None
    assert stamp == 5


@pytest.mark.parametrize(("name", "kept"), [("first", False), ("then", True)])
def test_of_silent_nodes_the_first_by_name_keeps_the_clock(settled, name, kept):
    claim, stamp = settled(Graph({name: 1.0}))
    assert (claim.publisher is not None) == kept
    assert stamp == 0


def test_a_node_alone_keeps_the_clock(settled):
    graph = Graph({})
    claim, stamp = settled(graph)
    assert claim.publisher is not None
    assert stamp == 0
    assert graph.now == pytest.approx(clock.DISCOVERY, abs=0.11)


def test_the_time_of_a_node_that_has_ended_does_not_count(settled):
    claim, stamp = settled(Graph({}, message=1.0))
    assert claim.publisher is not None
    assert stamp == 0


def test_a_publisher_that_is_discovered_too_late_is_reported(settled, caplog):
    graph = Graph({"first": 60.0})
    claim, _ = settled(graph)
    for graph.now in (50.0, 61.0, 61.0 + CROWDED):
        claim.watch()
    assert claim.publisher is not None
    assert not caplog.messages[1:]
    graph.now += 1.0
    claim.watch()
    claim.watch()
    assert [text for text in caplog.messages if "another publisher" in text] == caplog.messages[
        -1:
    ]

# SPDX-License-Identifier: Apache-2.0
"""Real nodes report incompatible QoS in both executors."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
import rclpy
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from support.refusals import worded

from rbdyn_ros.ros.common.reports.qos_reports import for_publisher, for_subscription, log_line

BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PUNCTUAL = QoSProfile(depth=1, deadline=Duration(seconds=1))


@pytest.mark.parametrize(
    ("policy", "nodes", "publishes", "words"),
    [
        (
            QoSPolicyKind.RELIABILITY,
            ["/a", "/x/b"],
            False,
            ["/a, /x/b", "best effort", "reliable"],
        ),
        (QoSPolicyKind.DURABILITY, ["/a"], True, ["/a", "transient local", "volatile"]),
        (QoSPolicyKind.DEADLINE, [], True, ["unknown node", "deadline"]),
    ],
)
def test_a_report_names_the_nodes_and_the_remedy(policy, nodes, publishes, words):
    text = log_line("/topic", policy, nodes, publishes=publishes)
    worded("qos", text)
    for word in ["/topic", *words]:
        assert word in text


class Reporter:
    """A node with a subscription and a publisher; the test collects its log."""

    def __init__(self, domain, monkeypatch, kind):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("reporter", context=self.context, namespace="robot")
        if kind == "events":
            events = pytest.importorskip("rclpy.experimental.events_executor")
            self.executor = events.EventsExecutor(context=self.context)
        else:
            self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.lines = []
        # the real log would go to the terminal
        monkeypatch.setattr(self.node, "get_logger", lambda: self)
        node = self.node
        self.topics = (
            node.create_subscription(
                String, "in", id, 10, event_callbacks=for_subscription(node, "in")
            ),
            node.create_publisher(String, "out", 10, event_callbacks=for_publisher(node, "out")),
        )

    def warning(self, line):
        self.lines.append(line)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(params=["events", "single"])
def reporter(request, domain, monkeypatch, peer):
    reporter = Reporter(domain, monkeypatch, request.param)
    # the peer's until() also spins the reporter
    spin = peer.executor.spin_once
    monkeypatch.setattr(
        peer.executor,
        "spin_once",
        lambda **limits: (reporter.executor.spin_once(timeout_sec=0.01), spin(**limits)),
    )
    yield reporter
    reporter.close()


def test_each_mismatch_is_logged_in_one_line_that_names_the_node(reporter, peer):
    peer.node.create_publisher(String, "/robot/in", BEST_EFFORT)
    peer.node.create_subscription(String, "/robot/out", id, LATCHED)
    peer.node.create_subscription(String, "/robot/out", id, PUNCTUAL)
    weak = log_line("/robot/in", QoSPolicyKind.RELIABILITY, ["/peer"], publishes=False)
    latched = log_line("/robot/out", QoSPolicyKind.DURABILITY, ["/peer"], publishes=True)
    peer.until(lambda: {weak, latched} <= set(reporter.lines))
    # each node is reported once, so a second node adds a line
    peer.node.create_publisher(String, "/robot/in", BEST_EFFORT)
    other = rclpy.create_node("other", context=peer.context)
    other.create_publisher(String, "/robot/in", BEST_EFFORT)
    both = log_line("/robot/in", QoSPolicyKind.RELIABILITY, ["/other", "/peer"], publishes=False)
    peer.until(lambda: both in reporter.lines)
    assert len(set(reporter.lines)) == len(reporter.lines)
    assert not list(reporter.node.timers)
    other.destroy_node()


def test_compatible_publishers_and_subscribers_are_not_reported(reporter, peer):
    heard = peer.collect(String, "/robot/out")
    talker = peer.publisher(String, "/robot/in")
    peer.until(lambda: reporter.topics[1].get_subscription_count() == 1)
    talker.publish(String(data="y"))
    peer.insist(reporter.topics[1], String(data="x"), lambda: heard)
    peer.spin(1.5)
    assert reporter.lines == []

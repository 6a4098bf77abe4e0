# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for robots and the simulator publish ~/stats and /diagnostics over DDS."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces", reason="rbdyn_interfaces is not built")
pytest.importorskip("diagnostic_msgs", reason="diagnostic_msgs is not installed")
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

import rbdyn_ros as rb
from rbdyn_interfaces.msg import Statistics as StatisticsMessage
from rbdyn_ros.ros.common.graph import interfaces
from rbdyn_ros.ros.simulator import statistics
from rbdyn_ros.ros.simulator.statistics import Statistics
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.timing import Timing
from rbdyn_ros.share import bundled_robot

MS = 1_000_000  # [ns]


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


class Robot:
    """A stand-in for a robot, with the numbers that Statistics reads."""

    def __init__(self, m, node):
        self.node, self.accepted, self.rejected = node, 0, 0
        self.dropped_readings, self.grippers = 0, ()
        self.reception = SimpleNamespace(ages=SimpleNamespace(late=0))
        self.counts = {"ticks": 0, "overruns": 0, "active_ns": 0}
        self.lateness, self.work = np.zeros(10_001, np.int64), np.zeros(10_001, np.int64)
        self.state = SimpleNamespace(tick=0, fault=-1, stale=7)
        self.reception = SimpleNamespace(ages=SimpleNamespace(late=0))
        self.loop = SimpleNamespace(
            m=m,
            settings=LoopSettings(),
            unanswered=(),
            period_ns=MS,
            time=SimpleNamespace(paused=False, waiting=False, real_time_factor=1.0),
            readout=SimpleNamespace(
                saturated_ticks=0,
                lockstep_timeouts=0,
                timing=self.timing,
                command_age=lambda: self.age,
                latest=lambda: self.state,
            ),
        )
        self.age = np.inf

    def run(self, ticks, lateness, work, overruns=0):
        self.counts["ticks"] += ticks
        self.counts["overruns"] += overruns
        self.counts["active_ns"] += ticks * MS
        self.lateness[lateness] += ticks
        self.work[work] += ticks
        self.state.tick += ticks

    def timing(self):
        worst = [1000 * int(np.flatnonzero(c)[-1]) if c.any() else 0 for c in self.histograms]
        counts = self.counts["ticks"], self.counts["overruns"], MS, self.counts["active_ns"]
        return Timing.of(*counts, self.lateness, worst[0], self.work, worst[1])

    @staticmethod
    def stamp_ns(tick):
        return (5_000 + tick) * MS

    @property
    def histograms(self):
        return self.lateness, self.work


def connected(node, topic):
    """Return whether a node's publisher of a topic has a subscriber."""
    found = (publisher for publisher in node.publishers if publisher.topic_name == topic)
    return any(publisher.get_subscription_count() for publisher in found)


def test_every_field_of_the_statistics_is_set(arm, peer):
    robot = Robot(arm, peer.node)
    received = peer.collect(StatisticsMessage, "/peer/stats")
    reports = Statistics(peer.node, [robot], rate=1.0)
    robot.run(4000, lateness=30, work=9, overruns=2)
    peer.until(lambda: connected(peer.node, "/peer/stats"))
    reports.publish_if_due(0.0)
    robot.run(950, lateness=12, work=5, overruns=1)
    robot.run(45, lateness=20, work=6)
    robot.run(5, lateness=25, work=7)
    robot.accepted, robot.rejected, robot.age = 900, 4, 0.0015
    robot.state.stale, robot.state.fault = 3, 2
    robot.loop.time.paused = robot.loop.time.waiting = True
    robot.loop.readout.saturated_ticks = 11
    reports.publish_if_due(1.0)
    peer.until(lambda: len(received) == 2)
    found = received[1]
    assert (found.header.stamp.sec, found.header.stamp.nanosec) == (10, 0)
    assert (found.ticks, found.overruns) == (5000, 3)
    assert found.real_time_factor == 1.0
    assert [found.lateness_p50, found.lateness_p99, found.lateness_max] == [12.0, 20.0, 25.0]
    assert [found.step_time_p50, found.step_time_p99, found.step_time_max] == [5.0, 6.0, 7.0]
    assert found.command_age == 0.0015
    assert (found.accepted, found.rejected, found.saturated_ticks) == (900, 4, 11)
    assert (found.stale_joints, found.paused, found.waiting, found.fault) == (3, True, True, True)
    assert found.model_sha256 == arm.sha256()
    assert received[0].lateness_p50 == 30.0
    assert received[0].command_age == np.inf


def test_one_message_has_the_diagnostics_of_two_robots(arm, peer):
    nodes = [
        rclpy.create_node("simulator", namespace=name, context=peer.context)
        for name in ("left", "right")
    ]
    robots = [Robot(arm, node) for node in nodes]
    received = peer.collect(DiagnosticArray, "/diagnostics")
    own = peer.collect(StatisticsMessage, "/right/simulator/stats")
    reports = Statistics(peer.node, robots, rate=1.0)
    peer.until(lambda: connected(peer.node, "/diagnostics"))
    peer.until(lambda: connected(nodes[1], "/right/simulator/stats"))
    robots[0].run(1000, lateness=12, work=5)
    robots[1].run(1000, lateness=12, work=5)
    robots[1].state.fault = 2
    robots[0].rejected = 6
    reports.publish_if_due(0.0)
    reports.publish_if_due(1.0)
    peer.until(lambda: len(received) == 2 and len(own) == 2)
    first, second = received
    assert [status.name for status in first.status] == [
        *("left/simulator: loop", "left/simulator: commands", "left/simulator: state"),
        *("right/simulator: loop", "right/simulator: commands", "right/simulator: state"),
    ]
    assert [status.level for status in first.status] == [b"\0", b"\1", b"\0", b"\0", b"\0", b"\2"]
    assert {status.hardware_id for status in first.status} == {arm.name}
    assert f"'{arm.jnt_names[2]}'" in first.status[5].message
    values = {entry.key: entry.value for entry in first.status[1].values}
    assert values["rejected"] == "6"
    # refusals warn only once, but a fault remains an error
    assert [status.level for status in second.status] == [b"\0", b"\0", b"\0", b"\0", b"\0", b"\2"]
    assert first.header.stamp.sec > 0
    for node in nodes:
        node.destroy_node()


def test_reports_are_published_at_the_given_rate(arm, peer, monkeypatch):
    published = []
    robot = Robot(arm, peer.node)
    reports = Statistics(peer.node, [robot], rate=4.0)
    monkeypatch.setattr(statistics, "diagnose", lambda o: published.append(o.tick) or [])
    for k in range(100):
        robot.state.tick = k
        reports.publish_if_due(100.0 + 0.01 * k)
    assert published == [0, 25, 50, 75]
    for k, now in ((200, 101.1), (201, 101.24), (202, 101.25), (300, 150.0), (301, 150.2)):
        robot.state.tick = k
        reports.publish_if_due(now)
    assert published[4:] == [200, 202, 300]


def test_the_report_after_a_change_of_the_real_time_factor_does_not_judge_the_rate(
    arm, peer, monkeypatch
):
    seen = []
    monkeypatch.setattr(statistics, "diagnose", lambda o: seen.append(o.factor) or [])
    robot = Robot(arm, peer.node)
    reports = Statistics(peer.node, [robot], rate=1.0)
    for k, factor in enumerate([1.0, 1.0, 0.5, 0.5]):
        robot.loop.time.real_time_factor = factor
        reports.publish_if_due(float(k))
    assert seen == [1.0, 1.0, None, 0.5]


def test_missing_message_packages_cause_warnings(arm, peer, monkeypatch):
    def absent(name):
        raise ImportError(name)

    said = []
    logger = SimpleNamespace(warning=said.append)
    monkeypatch.setattr(peer.node, "get_logger", lambda: logger)
    monkeypatch.setattr(interfaces.importlib, "import_module", absent)
    reports = Statistics(peer.node, [Robot(arm, peer.node), Robot(arm, peer.node)], rate=1.0)
    reports.publish_if_due(0.0)
    assert said == [
        "rbdyn_interfaces is not installed: no topic ~/stats",
        "diagnostic_msgs is not installed: no topic /diagnostics",
    ]
    assert peer.node.count_publishers("/diagnostics") == 0


def named(arrays, name):
    """Return the statuses with this name, the newest first."""
    return [status for array in reversed(arrays) for status in array.status if status.name == name]


def test_a_simulator_publishes_statistics_and_diagnostics(simulate, peer, two_joints):
    stats = peer.collect(StatisticsMessage, "/simulator/stats", 100)
    diagnostics = peer.collect(DiagnosticArray, "/diagnostics", 100)
    simulator = simulate(two_joints, "--ros-args", "-p", "stats_rate:=20.0")
    peer.until(lambda: stats and stats[-1].ticks > 0)
    assert stats[-1].command_age == np.inf
    assert stats[-1].stale_joints == 2
    assert stats[-1].model_sha256 == rb.load_urdf(two_joints).sha256()
    commands = peer.publisher(JointState, "/joint_commands")
    strong = JointState(name=["lift", "turn"], effort=[80.0, 0.0])  # the effort limit is 8
    peer.repeat(lambda: commands.publish(strong), lambda: stats[-1].accepted > 0)
    assert stats[-1].rejected == 0
    absurd = JointState(name=["lift"], effort=[np.nan])
    peer.repeat(lambda: commands.publish(absurd), lambda: stats[-1].rejected > 0)
    peer.until(lambda: stats[-1].saturated_ticks > 0)
    refused = "since the last report; see the log"
    name = "simulator: commands"
    peer.until(lambda: any(refused in status.message for status in named(diagnostics, name)))
    old = "no command younger than 0.1 s for 2 joints"
    peer.until(lambda: old in named(diagnostics, name)[0].message)
    assert peer.call(SetBool, "/simulator/pause", SetBool.Request(data=True)).success
    peer.until(lambda: named(diagnostics, "simulator: state")[0].message == "paused")
    peer.until(lambda: stats[-1].paused and stats[-1].real_time_factor == 0.0)
    assert named(diagnostics, "simulator: loop")[0].hardware_id == "two"
    # the log names the node with incompatible QoS
    peer.node.create_publisher(
        JointState,
        "/joint_commands",
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
    )
    simulator.wait_for("nothing is received from node /peer on /joint_commands")

# SPDX-License-Identifier: Apache-2.0
"""Pauses of simulated time act on nodes with use_sim_time, on stamps and on messages."""

import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from test_topics import LATCHED, as_matrix
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds

TICK = 1_000_000


@pytest.fixture
def timed(peer):
    """Yield a node with use_sim_time, whose timer appends its times [ns] to `ticks`."""
    node = rclpy.create_node(
        "timed",
        context=peer.context,
        parameter_overrides=[Parameter("use_sim_time", value=True)],
    )
    node.ticks = []
    node.create_timer(0.05, lambda: node.ticks.append(node.get_clock().now().nanoseconds))
    peer.executor.add_node(node)
    yield node
    node.destroy_node()


def test_nodes_with_use_sim_time_pause_with_the_clock(simulate, peer, timed, two_joints):
    simulator = simulate(two_joints, "--ros-args", "-p", "tf_rate:=1000.0", clock=True)
    states = peer.collect(JointState, "joint_states", 100)
    clocks = peer.collect(Clock, "/clock", 100)
    peer.until(lambda: len(timed.ticks) > 3)
    peer.pause(True)
    peer.until(lambda: states[-1] == states[-2] and clocks[-1] == clocks[-2])  # time is paused
    now = nanoseconds(states[-1].header.stamp)
    ticks, seen, beats = len(timed.ticks), len(states), len(clocks)
    began = time.monotonic()
    peer.until(lambda: len(states) > seen + 1 and len(clocks) > beats + 1)
    assert {nanoseconds(state.header.stamp) for state in states[seen:]} == {now}
    stands = {nanoseconds(clock.clock) for clock in clocks[beats:]}
    assert len(stands) == 1
    assert len(timed.ticks) == ticks
    assert timed.get_clock().now().nanoseconds == stands.pop()
    # late subscribers still get messages that are published only once
    description = peer.collect(String, "robot_description", LATCHED)
    fixed = peer.collect(TFMessage, "/tf_static", LATCHED)
    moving = peer.collect(TFMessage, "/tf", 100)
    peer.until_tf(lambda: description and fixed and moving)
    assert description[0].data == two_joints.read_text()
    assert [t.child_frame_id for t in fixed[0].transforms] == ["base", "tool"]
    assert nanoseconds(moving[-1].transforms[0].header.stamp) == now

    stood = time.monotonic() - began
    seen = len(states)
    went_on = time.monotonic()
    peer.pause(False)
    peer.until(lambda: len(timed.ticks) > ticks + 3)
    gone = nanoseconds(states[-1].header.stamp) - now
    # simulated time does not catch up on the pause
    assert gone * 1e-9 <= time.monotonic() - went_on + 0.5 * stood
    stamps = [nanoseconds(state.header.stamp) for state in states[seen:]]
    assert stamps == sorted(stamps)
    assert all((stamp - now) % TICK == 0 for stamp in stamps)
    simulator.end_well()


def test_messages_of_one_stamp_agree_and_are_sent_before_the_clock(simulate, peer, two_joints):
    often = ("-p", "tf_rate:=1000.0", "-p", "clock_rate:=1000.0", "-p", "start_paused:=true")
    simulator = simulate(two_joints, "--ros-args", *often, clock=True)
    sent = {"joint_states": {}, "/tf": {}, "/clock": {}}

    def keep(topic, stamp):
        def on_message(message, info):
            sent[topic].setdefault(stamp(message), (info["source_timestamp"], message))

        return on_message

    node = peer.node
    node.create_subscription(
        JointState,
        "joint_states",
        keep("joint_states", lambda m: nanoseconds(m.header.stamp)),
        100,
    )
    node.create_subscription(
        TFMessage, "/tf", keep("/tf", lambda m: nanoseconds(m.transforms[0].header.stamp)), 100
    )
    node.create_subscription(Clock, "/clock", keep("/clock", lambda m: nanoseconds(m.clock)), 100)
    peer.until_tf(lambda: all(0 in of for of in sent.values()))

    def comes(tick):
        """Make a tick; return whether all its messages arrive in time: some may be lost."""
        assert peer.trigger("simulator/step") == "one tick"
        end = time.monotonic() + 0.5  # too short for a repeated message
        complete = lambda: all(tick * TICK in of for of in sent.values())  # noqa: E731
        peer.until(lambda: complete() or time.monotonic() > end)
        return complete()

    ticks = [tick for tick in range(1, 21) if comes(tick)]
    assert len(ticks) > 15
    m = rb.load_urdf(two_joints)
    d = rb.make_data(m)
    for tick in ticks:
        (at, state), (at_tf, tf), (at_clock, _) = (of[tick * TICK] for of in sent.values())
        assert 0 < at <= at_tf <= at_clock
        d.qpos = list(state.position)
        rb.kinematics(m, d)
        edges = {t.child_frame_id: t for t in tf.transforms}
        assert {t.header.stamp.nanosec for t in tf.transforms} == {tick * TICK}
        arm = as_matrix(edges["car"]) @ as_matrix(edges["arm"])
        np.testing.assert_allclose(arm[:3, 3], rb.frame_pose(m, d, "arm")[0], atol=1e-12)
        np.testing.assert_allclose(arm[:3, :3], rb.frame_pose(m, d, "arm")[1], atol=1e-12)
    assert abs(sent["joint_states"][ticks[-1] * TICK][1].position[1]) > 1e-4
    simulator.end_well()  # a paused simulator ends, too

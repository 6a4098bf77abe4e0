# SPDX-License-Identifier: Apache-2.0
"""The simulator logs commands that answer old states, and a commander that stops."""

import copy
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import NEWEST
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.topics.commanders import CommanderWatch
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import FLOATS, LoopSettings
from rbdyn_ros.runtime.types import EFFORT, Command
from rbdyn_ros.share import bundled_robot

STOPPED = "commands stopped: node /peer on /joint_commands"
BACK = "commands are back: node /peer on /joint_commands"


def test_old_answers_and_a_stopped_commander_are_logged(simulate, peer, two_joints):
    given = ("-p", "on_timeout:=hold", "-p", "answer_timeout:=2.0", "-p", "publish_rate:=100.0")
    first = simulate(two_joints, "--ros-args", *given)
    states = peer.collect(JointState, "joint_states", NEWEST)
    for scenario in (old_answers, a_commander_that_stops):
        scenario(first, peer, states)
    first.end_well()


def old_answers(simulator, peer, states):
    """Commands with the stamp of an old state are refused; other stamps do not count as old."""
    reports = peer.collect(DiagnosticArray, "/diagnostics")
    publisher = peer.publisher(JointState, "joint_commands")
    peer.until(lambda: states)
    old = copy.deepcopy(states[0].header)
    age = lambda: states[-1].header.stamp.sec - old.stamp.sec  # noqa: E731
    peer.until(lambda: age() > 3)
    command = JointState(name=["lift", "turn"], effort=[1.0, 0.0])

    def applies(effort, header=None):
        command.effort[0] = effort
        seen = len(states)

        def send_and_look():
            command.header = copy.deepcopy(header or states[-1].header)
            publisher.publish(command)
            return len(states) > seen and states[-1].effort[0] == effort

        peer.until(send_and_look)

    applies(1.0)  # with the stamp of the newest state
    command.header, command.effort[0] = old, 7.0
    peer.insist(publisher, command, lambda: "answers a state" in simulator.text())
    assert all(state.effort[0] != 7.0 for state in states)

    foreign, unstamped = copy.deepcopy(old), copy.deepcopy(old)
    foreign.stamp.nanosec ^= 1
    unstamped.stamp.sec = unstamped.stamp.nanosec = 0
    applies(2.0, foreign)
    applies(3.0, unstamped)

    def counted():
        for status in (status for report in reports for status in report.status):
            for pair in status.values:
                if pair.key == "late_commands" and int(pair.value) > 0:
                    return True
        return False

    peer.until(counted)
    peer.node.destroy_publisher(publisher)


def a_commander_that_stops(simulator, peer, states):
    publisher = peer.publisher(JointState, "joint_commands")
    command = JointState(name=["lift", "turn"], effort=[0.0, 0.0])
    simulator.wait_for(STOPPED, 30.0)  # the commands of old_answers have ended
    peer.insist(publisher, command, lambda: BACK in simulator.text())
    simulator.wait_for("braked to rest and held there (on_timeout is 'hold')", 30.0)
    peer.until(lambda: simulator.text().count(STOPPED) == 2)
    assert simulator.text().count(BACK) == 1


def test_the_log_counts_the_joints_that_are_still_held():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    logged = []
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(warning=logged.append))
    loop = Loop(m, LoopSettings(realtime="off", held=np.full(m.nv, FLOATS)))
    watch, numbers = CommanderWatch(node, loop), [np.zeros(2)] * 5
    loop.start()
    try:
        loop.orders.command(Command(np.array([1, 3]), np.full(2, EFFORT), *numbers))
        watch.note_process("a process")
        give_up = time.monotonic() + 60.0
        while not logged and time.monotonic() < give_up:
            time.sleep(0.01)
            watch.poll(time.monotonic())
    finally:
        loop.stop()
    assert "The joints without a command (2) get no effort" in logged[0]
    assert logged[0].endswith("; joints that wait for their first command (5) stay held")

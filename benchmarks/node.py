# SPDX-License-Identifier: Apache-2.0
"""Punctuality of the simulator node.

    python -m benchmarks.node [--seconds 10] [--turns 3]

First the loop runs alone in this process while a Python thread is busy, and its lateness and
real-time factor are measured. Then the node runs in its own process with joint_states at 1 kHz,
TF at 50 Hz and /clock at 100 Hz, in turns without and with another busy process. Each turn
measures the node's share of a core, its lateness, and the time from publishing a torque to
receiving the joint state that contains it. In lock-step a command starts its tick at once, so the
time from command to state contains no wait for a tick.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.processes import NodeProcess, busy_process, running_node, wait_for

RATES = ("publish_rate:=1000.0", "tf_rate:=50.0", "clock_rate:=100.0")


def main(seconds: float = 10.0, turns: int = 3) -> None:
    """Measure the loop, the node and lock-step, and print the tables."""
    for row in beside_a_busy_thread(seconds):
        print("{:42} {:30} {}".format(*row))
    print(f"{os.cpu_count()} processors, memory {resource.getrusage(0).ru_maxrss // 1024} MiB\n")
    alone, crowded = [], []
    for _ in range(turns):
        alone.append(node(seconds, busy=False))
        crowded.append(node(seconds, busy=True))
    print(f"medians of {turns} turns of {seconds:g} s; worst of all\n")
    print("| the node at 1 kHz | alone | next to a busy process |\n|---|---|---|")
    for (label, mine), (_, theirs) in zip(_summary(alone), _summary(crowded), strict=True):
        print(f"| {label} | {mine} | {theirs} |")
    p50, p99 = np.percentile(lockstep(seconds), (50, 99))
    print(f"\nlock-step: command to state p50, p99, ms: {p50:.2f}, {p99:.2f}")


def beside_a_busy_thread(seconds: float) -> list[tuple[str, str, str]]:
    """Run the loop without ROS while a Python thread is busy."""
    import rbdyn_ros as rb
    from rbdyn_ros.runtime.loop import Loop, warm
    from rbdyn_ros.runtime.settings import LoopSettings
    from rbdyn_ros.share import bundled_robot

    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    warm(m)
    rows = []
    for mode in ("off", "try"):
        stop = threading.Event()
        busy = threading.Thread(target=lambda stop=stop: [None for _ in iter(stop.is_set, True)])
        loop = Loop(m, LoopSettings(realtime=mode))
        busy.start()
        loop.start()
        time.sleep(seconds)
        timing = loop.readout.timing()
        loop.stop()
        stop.set()
        busy.join()
        asked = f"loop next to a busy thread, realtime {mode}"
        rows += [
            (asked, "real-time factor", f"{timing.real_time_factor:.4f}"),
            (
                asked,
                "lateness p50 / p99 / worst",
                f"{timing.p50:.0f} / {timing.p99:.0f} / {timing.worst:.0f} us",
            ),
            (asked, "overruns", f"{timing.overruns} of {timing.ticks}"),
        ]
    return rows


def lockstep(seconds: float) -> list[float]:
    """Answer each state in lock-step; return the times from command to state [ms]."""
    with running_node("time_mode:=lockstep", "tf_rate:=50.0") as process:
        controller = Controller(answers=True)
        controller.talk(process, seconds)
        controller.close()
    return controller.latencies


@dataclass(frozen=True)
class Turn:
    """Measurements of one run of the node.

    Attributes:
        share: share of a core that the node uses.
        factor: real-time factor.
        lateness: p50, p99 and worst lateness [us].
        latencies: times from command to state [ms].
        rates: received messages of joint_states, /tf and /clock [1/s].
    """

    share: float
    factor: float
    lateness: tuple[float, float, float]
    latencies: list[float]
    rates: list[float]


def node(seconds: float, *, busy: bool) -> Turn:
    """Start the node as a user does and act as its controller."""
    with running_node(*RATES) as process:
        controller = Controller()
        with busy_process() if busy else contextlib.nullcontext():
            share, rates = controller.talk(process, seconds)
        controller.close()
        output = process.end()
    found = re.search(
        r"real-time factor ([\d.]+), wake-up lateness p50 (\d+) us, p99 (\d+) us, worst (\d+) us",
        output,
    )
    if found is None:
        raise RuntimeError(f"the node logged no lateness:\n{output}")
    factor, *lateness = (float(number) for number in found.groups())
    return Turn(share, factor, tuple(lateness), controller.latencies, rates)


class Controller:
    """Sends a torque, waits for the state that contains it, and repeats; counts messages.

    Args:
        joint: joint that gets the torques, the first joint of joint_states.
        answers: whether it answers each state instead, with efforts of 0 for all joints.
    """

    def __init__(self, joint: str = "shoulder_yaw", answers: bool = False) -> None:
        import rclpy
        from rclpy.experimental.events_executor import EventsExecutor
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState
        from tf2_msgs.msg import TFMessage

        rclpy.init()
        self._joint, self._answers, self._asked = joint, answers, 0.0
        self.latencies: list[float] = []
        self._waiting: list[tuple[float, float]] = []
        self._counts = np.zeros(3, np.int64)
        self._node = rclpy.create_node("benchmark")
        self._executor = EventsExecutor()
        self._executor.add_node(self._node)
        self._message = JointState
        self._publisher = self._node.create_publisher(JointState, "joint_commands", 10)
        self._node.create_subscription(JointState, "joint_states", self._receive, 10)
        self._node.create_subscription(TFMessage, "/tf", lambda _: self._count(1), 100, raw=True)
        self._node.create_subscription(Clock, "/clock", lambda _: self._count(2), 10, raw=True)

    def _receive(self, state: Any) -> None:
        self._count(0)
        if self._answers:
            self._answer(state)
        if self._waiting and state.effort[0] == self._waiting[0][0]:
            self.latencies.append(1e3 * (time.perf_counter() - self._waiting.pop()[1]))

    def _answer(self, state: Any) -> None:
        self.latencies.append(1e3 * (time.perf_counter() - self._asked))
        message = self._message(name=state.name, effort=[0.0] * len(state.name))
        message.header.stamp = state.header.stamp
        self._asked = time.perf_counter()
        self._publisher.publish(message)

    def _count(self, k: int) -> None:
        self._counts[k] += 1

    def talk(self, process: NodeProcess, seconds: float) -> tuple[float, list[float]]:
        """Return the node's share of a core and the rates of received messages [1/s]."""
        wait_for(self._heard_all, 30.0, "hearing joint_states, /tf and /clock")
        self._spin(1.0)
        self._counts[:] = 0
        self.latencies.clear()
        before, began = process.cpu_seconds(), time.monotonic()
        rng, sent = np.random.default_rng(0), 0
        while time.monotonic() < began + seconds:
            if not self._waiting and not self._answers:
                sent += 1
                # the torques must not be in phase with the ticks
                time.sleep(0.005 * rng.random())
                effort = float(sent % 97) / 97.0
                self._waiting.append((effort, time.perf_counter()))
                self._publisher.publish(self._message(name=[self._joint], effort=[effort]))
            self._executor.spin_once(timeout_sec=0.05)
        spent = time.monotonic() - began
        return (process.cpu_seconds() - before) / spent, (self._counts / spent).tolist()

    def _heard_all(self) -> bool:
        self._spin(0.1)
        return self._publisher.get_subscription_count() > 0 and bool(self._counts.all())

    def _spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.01)

    def close(self) -> None:
        import rclpy

        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()


def _summary(turns: list[Turn]) -> list[tuple[str, str]]:
    """Return the labels and figures of a table column."""
    middle = statistics.median
    p50, p99 = (middle(turn.lateness[k] for turn in turns) for k in (0, 1))
    worst = max(turn.lateness[2] for turn in turns)
    latency = [middle(np.percentile(turn.latencies, q) for turn in turns) for q in (50, 99)]
    rates = [middle(turn.rates[k] for turn in turns) for k in range(3)]
    return [
        ("share of one core", f"{100 * middle(turn.share for turn in turns):.0f} %"),
        ("real-time factor", f"{middle(turn.factor for turn in turns):.4f}"),
        ("lateness p50, p99, worst, us", f"{p50:.0f}, {p99:.0f}, {worst:.0f}"),
        ("command to state p50, p99, ms", f"{latency[0]:.2f}, {latency[1]:.2f}"),
        ("joint_states, /tf, /clock received a second", ", ".join(f"{r:.0f}" for r in rates)),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Punctuality of the simulator node.")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="duration of each measurement [s]"
    )
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    main(given.seconds, given.turns)

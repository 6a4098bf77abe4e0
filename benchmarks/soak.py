# SPDX-License-Identifier: Apache-2.0
"""Endurance of the node: lost states, memory and lateness over ten minutes.

    python -m benchmarks.soak [--seconds 600] [--picture FILE]

The node publishes joint_states at 1 kHz, TF at 50 Hz and /clock at 100 Hz, and gets commands at
100 Hz. A subscriber must receive every state and memory must not grow. The lateness histogram of
/diagnostics, over all wake-ups, becomes a picture.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fleet import PERIOD, missing
from benchmarks.processes import Listener, NodeProcess, running_node, wait_for
from rbdyn_ros.runtime.timing import coarse

PICTURE = Path(__file__).parents[1] / "docs/pictures/lateness.png"
RATES = ("publish_rate:=1000.0", "tf_rate:=50.0", "clock_rate:=100.0", "stats_rate:=1.0")
NBIN = 10_001  # bins of the loop's histogram, 1 us each
LAST_EDGE = 12_589.0  # drawn right edge of the overflow bin [us]
WARM_UP = 10.0  # [s]
EVERY = 0.01  # period of the commands [s]


def main(seconds: float = 600.0, picture: Path = PICTURE) -> None:
    """Run the node for some time, print the figures, and draw the picture."""
    import rclpy
    from sensor_msgs.msg import JointState

    with running_node(*RATES) as process:
        rclpy.init()
        node = rclpy.create_node("benchmark")
        watcher = Watcher(node, process)
        listener = Listener(node, JointState, ["joint_states"])
        wait_for(lambda: listener.listen(0.1) or listener.heard(), 60.0, "hearing joint_states")
        listener.listen(WARM_UP, watcher.look)
        listener.forget()
        watcher.memory.clear()
        before = process.cpu_seconds()
        listener.listen(seconds, watcher.look)
        share = (process.cpu_seconds() - before) / seconds
        stamps, values = listener.stamps[0], watcher.values
        output = process.end()
        node.destroy_node()
        rclpy.try_shutdown()
    print("| | |\n|---|---|")
    print(f"| states received, missing | {len(stamps)}, {missing(stamps, PERIOD)} |")
    print(f"| share of one core | {100 * share:.0f} % |")
    for line in _memory_rows(watcher.memory):
        print(line)
    for line in output.splitlines():
        if "p99" in line or "[WARN]" in line or "[ERROR]" in line:
            print(f"| log of the node | {line} |")
    if "lateness_histogram" not in values:
        raise RuntimeError("/diagnostics gave no histogram: there is no picture")
    draw(values["lateness_histogram"], values["step_time_histogram"], picture)


class Watcher:
    """Commands the robot, records the node's memory, keeps the latest values of /diagnostics.

    Args:
        node: node that subscribes and publishes.
        process: process of the simulator.

    Attributes:
        memory: steady-clock times [s] and memory [MiB].
        values: latest values of the loop's diagnostic status, by key.
    """

    def __init__(self, node: Any, process: NodeProcess) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from sensor_msgs.msg import JointState

        self.memory: list[tuple[float, float]] = []
        self.values: dict[str, str] = {}
        self._process, self._kind = process, DiagnosticArray
        self._diagnostics = node.create_subscription(
            DiagnosticArray, "/diagnostics", lambda _: None, 10
        )
        self._publisher = node.create_publisher(JointState, "joint_commands", 10)
        self._command = JointState(name=["shoulder_yaw"], effort=[0.0])
        self._next_look = self._next_command = 0.0

    def look(self) -> None:
        """Send the next command and record memory and diagnostics when they are due."""
        now = time.monotonic()
        if now >= self._next_command:
            self._next_command = now + EVERY
            self._command.effort = [np.sin(now)]
            self._publisher.publish(self._command)
        if now < self._next_look:
            return
        self._next_look = now + 1.0
        self.memory.append((now, self._process.resident_mib()))
        with self._diagnostics.handle:
            while (taken := self._diagnostics.handle.take_message(self._kind, False)) is not None:
                for status in taken[0].status:
                    if status.name.endswith("loop"):
                        self.values = {entry.key: entry.value for entry in status.values}


def _memory_rows(memory: list[tuple[float, float]]) -> list[str]:
    times, sizes = (np.array(column) for column in zip(*memory, strict=True))
    # fitted on the second half, when all one-time allocations are done
    half = len(times) // 2
    slope = np.polyfit(times[half:] - times[half], sizes[half:], 1)[0]
    return [
        f"| memory at the start, at the end, MiB | {sizes[0]:.1f}, {sizes[-1]:.1f} |",
        f"| growth in the second half, MiB an hour | {3600 * slope:.2f} |",
    ]


def draw(lateness: str, step_time: str, path: Path) -> None:
    """Draw both histograms, given in the text form of /diagnostics."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
    for text, label, color in (
        (lateness, "wake-up after its deadline", "tab:blue"),
        (step_time, "work of a tick", "tab:orange"),
    ):
        edges, counts = unpacked(text)
        axes.stairs(counts, edges, fill=True, alpha=0.5, color=color, label=label)
        at = np.interp(0.99, np.cumsum(counts) / counts.sum(), edges[1:])
        axes.axvline(at, color=color, linestyle=":", label=f"99 % are below {at:.0f} us")
    axes.set(xscale="log", yscale="log", xlabel="time [us]", ylabel="ticks")
    axes.set_xlim(1.0, LAST_EDGE)
    axes.set_ylim(bottom=0.5)
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"\nwritten: {path.name}")


def unpacked(text: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bin edges and counts of a histogram in the text form of /diagnostics."""
    bounds = list(coarse(np.ones(NBIN, np.int64)))
    given = dict(entry.split(":") for entry in text.split())
    counts = [float(given.get(str(bound), 0)) for bound in bounds]
    return np.array([0.5, *bounds[:-1], LAST_EDGE]), np.array(counts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Endurance of the simulator node.")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    given = parser.parse_args()
    main(given.seconds, given.picture)

# SPDX-License-Identifier: Apache-2.0
"""Cost of a view for the simulation.

    python -m benchmarks.view [--seconds 10] [--turns 3]

The node simulates a UR5 at 1 kHz with joint_states at 1 kHz, in turns
- without a view,
- with a view but no client,
- with a client that reads everything and draws nothing,
- with a Chromium that draws in software.
Both clients run at the priority SCHED_IDLE, that is only when a processor is otherwise idle. A
high niceness is not enough: a Chromium started by root gives its drawing process a higher
priority than the node's. The last turn has a Chromium with the priorities that it chooses, to show
the cost of drawing on the machine of the node.

Each turn measures the loop's lateness, the time from publishing a torque to receiving the joint
state that contains it, and the node's share of a core. At the end, this process measures the time
to answer a request of the view.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.node import RATES, Controller
from benchmarks.processes import NodeProcess, running_node, wait_for
from benchmarks.robots import path_of
from benchmarks.view_clients import client

WAYS = {
    "no view": "",
    "a view without a client": "",
    "a client that draws nothing": "read",
    "a browser that yields": "browse",
    "a browser that does not yield": "crowd",
}
VIEW = ("view:=true", "view_port:=0")
SERVES = "view: http://"
#: First joint of the UR5.
JOINT = "shoulder_pan_joint"


def main(seconds: float = 10.0, turns: int = 3) -> None:
    """Run the node in each of WAYS in turns, and print the tables."""
    found: dict[str, list[Turn]] = {way: [] for way in WAYS}
    for _ in range(turns):
        for way in WAYS:
            found[way].append(node(seconds, way))
    print(f"UR5 at 1 kHz; medians of {turns} turns of {seconds:g} s, of windows of 1 s\n")
    print(f"| | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}")
    for label, values in _rows(list(found.values())):
        print(f"| {label} | {' | '.join(values)} |")
    print()
    answering()


@dataclass(frozen=True)
class Turn:
    """Measurements of one run of the node.

    Attributes:
        share: share of a core that the node uses.
        p50, p99, worst: lateness of the loop in each second [us].
        latencies: times from command to state [ms].
    """

    share: float
    p50: list[float]
    p99: list[float]
    worst: list[float]
    latencies: list[float]


class Watcher(Controller):
    """A controller that also collects the node's statistics of each second."""

    def __init__(self) -> None:
        from rbdyn_interfaces.msg import Statistics

        super().__init__(JOINT)
        self.windows: list[Statistics] = []
        self._node.create_subscription(Statistics, "simulator/stats", self.windows.append, 10)


def node(seconds: float, way: str) -> Turn:
    """Run the node in one of WAYS and control it for some seconds; return the measurements."""
    view = VIEW if way != next(iter(WAYS)) else ("view:=false",)
    urdf = f"urdf:={path_of('UR5')}"
    with running_node(urdf, "stats_rate:=1.0", *RATES, *view) as process:
        shown = contextlib.nullcontext()
        if view == VIEW:
            wait_for(lambda: SERVES in process.output(), 60.0, "the view to serve")
        if WAYS[way]:
            shown = client(WAYS[way], address_in(process))
        with shown:
            controller = Watcher()
            share, _ = controller.talk(process, seconds)
            controller.close()
    windows = controller.windows[-max(int(seconds) - 1, 1) :]
    return Turn(
        share,
        [window.lateness_p50 for window in windows],
        [window.lateness_p99 for window in windows],
        [window.lateness_max for window in windows],
        controller.latencies,
    )


def address_in(process: NodeProcess) -> str:
    """Return the view's address from the node's log."""
    line = next(line for line in process.output().splitlines() if SERVES in line)
    return line.split("view: ")[1].strip()


def _rows(columns: list[list[Turn]]) -> list[tuple[str, list[str]]]:
    middle = statistics.median
    rows: list[tuple[str, list[str]]] = []
    for label, name in (("p50", "p50"), ("p99", "p99")):
        values = [middle(v for turn in turns for v in getattr(turn, name)) for turns in columns]
        rows.append((f"lateness {label}, us", [f"{value:.0f}" for value in values]))
    worst = [middle(max(turn.worst) for turn in turns) for turns in columns]
    rows.append(("worst lateness of a turn, us", [f"{value:.0f}" for value in worst]))
    for q in (50, 99):
        values = [
            middle(float(np.percentile(turn.latencies, q)) for turn in turns) for turns in columns
        ]
        rows.append((f"command to state p{q}, ms", [f"{value:.2f}" for value in values]))
    shares = [middle(turn.share for turn in turns) for turns in columns]
    rows.append(("the node's share of one core", [f"{100 * share:.0f} %" for share in shares]))
    return rows


def answering(count: int = 2000) -> None:
    """Print the time to answer a request of the view, which comes thirty times a second."""
    import rbdyn_ros as rb
    from rbdyn_ros.runtime.loop import Loop
    from rbdyn_ros.runtime.settings import LoopSettings
    from rbdyn_ros.view.live.watched import Watched

    print("| answering the view | p50, us | p99, us | bytes |\n|---|---|---|---|")
    for robot in ("UR5", "Talos reduced"):
        loop = Loop(rb.load_urdf(path_of(robot)), LoopSettings(realtime="off"))
        watched = Watched(loop)
        loop.start()
        try:
            watched.instant(energy=True)
            taken = []
            for _ in range(count):
                began = time.perf_counter()
                sent = pickle.dumps([watched.instant(energy=True)])
                taken.append(1e6 * (time.perf_counter() - began))
        finally:
            loop.stop()
        p50, p99 = np.percentile(taken, (50, 99))
        print(f"| {robot}, with energies | {p50:.0f} | {p99:.0f} | {len(sent)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Cost of a view for the simulation.")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="duration of each measurement [s]"
    )
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    main(given.seconds, given.turns)

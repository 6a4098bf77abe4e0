"""What a view costs the simulation: python -m benchmarks.view [--seconds 10] [--turns 3].

The node simulates a UR5 at 1 kHz with joint_states at 1 kHz, in turns without a view, with one
that nobody looks at, and with one in a Chromium that draws in software, at the lowest priority.
Each time: lateness of the loop, time from publishing a torque to receiving the joint state that
holds it, and the node's share of a core. Then what answering the view takes, in this process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.node import RATES, Controller
from benchmarks.processes import NodeProcess, running_node, wait_for
from benchmarks.robots import path_of

WAYS = ("no view", "a view without a browser", "a view in a browser")
VIEW = ("view:=true", "view_port:=0")
SERVES = "view: http://"
CHROMIUM = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-angle=swiftshader"),
    "--enable-unsafe-swiftshader",
)
CONNECTED = "connected"
#: The UR5's first joint.
JOINT = "shoulder_pan_joint"
LOWEST = 19


def main(seconds: float = 10.0, turns: int = 3) -> None:
    """Print the tables."""
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
    """What one run of the node gave.

    Attributes:
        share: of a core.
        p50, p99, worst: lateness of the loop, one of each second [us].
        latencies: from command to state [ms].
    """

    share: float
    p50: list[float]
    p99: list[float]
    worst: list[float]
    latencies: list[float]


class Watcher(Controller):
    """A controller that also notes how punctual the node says it was in each second."""

    def __init__(self) -> None:
        from rbdyn_interfaces.msg import Statistics

        super().__init__(JOINT)
        self.windows: list[Statistics] = []
        self._node.create_subscription(Statistics, "simulator/stats", self.windows.append, 10)


def node(seconds: float, way: str) -> Turn:
    """Start the node and be its controller, with a view or without."""
    view = VIEW if way != WAYS[0] else ("view:=false",)
    urdf = f"urdf:={path_of('UR5')}"
    with running_node(urdf, "stats_rate:=1.0", *RATES, *view) as process:
        shown = contextlib.nullcontext()
        if way != WAYS[0]:
            wait_for(lambda: SERVES in process.said(), 60.0, "the view to serve")
        if way == WAYS[2]:
            shown = browser(address_in(process))
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
    """Return where the view serves."""
    line = next(line for line in process.said().splitlines() if SERVES in line)
    return line.split("view: ")[1].strip()


@contextlib.contextmanager
def browser(address: str) -> Iterator[None]:
    """Have a browser that shows the page, in a process of the lowest priority."""
    command = [sys.executable, "-m", "benchmarks.view", "--browse", address]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != CONNECTED:
            raise RuntimeError("no browser shows the view")
        yield
    finally:
        process.stdin.close()  # which ends it
        process.stdout.close()
        process.wait(30.0)


def browse(address: str) -> None:
    """Show a page until standard input ends."""
    from playwright.sync_api import sync_playwright

    os.nice(LOWEST)
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    path = next((path for path in found if path), None)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        page = launched.new_page(viewport={"width": 1100, "height": 700})
        page.set_default_timeout(120_000)
        page.goto(address, wait_until="domcontentloaded")
        page.get_by_text("running").first.wait_for()
        print(CONNECTED, flush=True)
        sys.stdin.read()
        launched.close()


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
    """Print what the node's thread does for a view thirty times a second."""
    import rbdyn_ros as rb
    from rbdyn_ros.runtime.runtime import Runtime
    from rbdyn_ros.runtime.settings import Settings
    from rbdyn_ros.view.live.watched import Watched

    print("| answering a look | p50, us | p99, us | bytes |\n|---|---|---|---|")
    for robot in ("UR5", "Talos reduced"):
        runtime = Runtime(rb.load_urdf(path_of(robot)), Settings(realtime="off"))
        watched = Watched(runtime)
        runtime.start()
        try:
            watched.instant(energy=True)
            taken = []
            for _ in range(count):
                began = time.perf_counter()
                sent = pickle.dumps([watched.instant(energy=True)])
                taken.append(1e6 * (time.perf_counter() - began))
        finally:
            runtime.stop()
        p50, p99 = np.percentile(taken, (50, 99))
        print(f"| {robot}, with energies | {p50:.0f} | {p99:.0f} | {len(sent)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a view costs the simulation.")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--browse", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.browse:
        browse(given.browse)
    else:
        main(given.seconds, given.turns)

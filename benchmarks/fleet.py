# SPDX-License-Identifier: Apache-2.0
"""Number of robots that one process simulates at 1 kHz.

    python -m benchmarks.fleet [--seconds 10]

Each robot is the bundled arm with joint_states at 1 kHz and TF at 50 Hz. A subscriber receives
every message of every robot. The process keeps up if every robot has a real-time factor of at
least 0.999 (its stamps against the computer's clock) and no state is missing (no gap in its
stamps).
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.processes import Listener, running_node, wait_for

PERIOD = 1_000_000  # [ns]
PACE = 0.999


@dataclass(frozen=True)
class Fleet:
    """Measurements of a number of robots.

    Attributes:
        robots: number of robots.
        factors: real-time factor of each robot.
        received: received states per second of each robot.
        missed: missing states of each robot.
        share: share of a core that the node uses.
        overruns: overruns of all robots; -1 if the node logged no number.
        seconds: measured time.
    """

    robots: int
    factors: list[float]
    received: list[float]
    missed: list[int]
    share: float
    overruns: int
    seconds: float

    @property
    def held(self) -> bool:
        """Return whether all robots ran in real time without a missing state."""
        return min(self.factors) >= PACE and not any(self.missed)

    def __str__(self) -> str:
        return (
            f"| {self.robots} | {min(self.factors):.4f} | {min(self.received):.1f} | "
            f"{sum(self.missed)} | {self.overruns} | {100 * self.share:.0f} % | "
            f"{'yes' if self.held else 'no'} |"
        )


def main(seconds: float = 10.0, numbers: Sequence[int] = (1, 2, 5, 10)) -> None:
    """Print a row for each number, then search for the largest number that runs in real time."""
    print(f"{os.cpu_count()} processors; {seconds:g} s each; the worst robot of each number\n")
    print(
        "| robots | real-time factor | states a second | missing | overruns | of a core | held |"
    )
    print("|---|---|---|---|---|---|---|")
    held, failed = 0, 0
    for number in numbers:
        if _holds(number, seconds):
            held = max(held, number)
        elif failed == 0:
            failed = number
    while failed > held + 1:
        middle = (held + failed) // 2
        if _holds(middle, seconds):
            held = middle
        else:
            failed = middle
    more = "" if failed else "; more were not tried"
    print(f"\nThis computer holds {held} robots in one process at 1 kHz{more}.")


def _holds(number: int, seconds: float) -> bool:
    fleet = measure(number, seconds)
    print(fleet, flush=True)
    return fleet.held


def measure(number: int, seconds: float) -> Fleet:
    """Run a number of robots in one process and listen to all of them."""
    import rclpy
    from sensor_msgs.msg import JointState

    names = [f"arm{k}" for k in range(number)]
    parameters = (f"robots:=[{', '.join(names)}]", "publish_rate:=1000.0", "tf_rate:=50.0")
    with running_node(*parameters, robots=number) as process:
        rclpy.init()
        node = rclpy.create_node("benchmark")
        listener = Listener(node, JointState, [f"/{name}/joint_states" for name in names])
        wait_for(lambda: listener.listen(0.1) or listener.heard(), 60.0, "hearing every robot")
        listener.listen(2.0)
        listener.forget()
        before = process.cpu_seconds()
        listener.listen(seconds)
        share = (process.cpu_seconds() - before) / seconds
        stamps, arrivals = listener.stamps, listener.arrivals
        output = process.end()
        node.destroy_node()
        rclpy.try_shutdown()
    overruns = [int(count) for count in re.findall(r"(\d+) overruns?", output)]
    return Fleet(
        number,
        [_factor(*pair) for pair in zip(stamps, arrivals, strict=True)],
        [(len(s) - 1) / (a[-1] - a[0]) * 1e9 for s, a in zip(stamps, arrivals, strict=True)],
        [missing(s, PERIOD) for s in stamps],
        share,
        sum(overruns) if overruns else -1,
        seconds,
    )


def _factor(stamps: Sequence[int], arrivals: Sequence[int]) -> float:
    """Return simulated over real time, by a fit that a single late message hardly changes."""
    return float(
        np.polyfit(np.subtract(arrivals, arrivals[0]), np.subtract(stamps, stamps[0]), 1)[0]
    )


def missing(stamps: Sequence[int], period: int) -> int:
    """Return the number of missing stamps in a sequence with one stamp per period [ns]."""
    steps = np.diff(np.array(stamps, np.int64)) // period
    return int(np.maximum(steps - 1, 0).sum())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Number of robots that one process simulates at 1 kHz."
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="duration of each measurement [s]"
    )
    parser.add_argument("--robots", type=int, nargs="+", default=[1, 2, 5, 10])
    given = parser.parse_args()
    main(given.seconds, given.robots)

# SPDX-License-Identifier: Apache-2.0
"""Endurance of an armed arm: ten minutes in mode gravity while other processes are busy.

    python -m benchmarks.armed [--seconds 600] [--busy 2] [--state-timeout 0.08]

A simulated arm publishes states at 1 kHz, and the controller answers them over DDS. A third
process receives both. A stall shorter than `state_timeout` must not cause a fault.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import numpy as np

from benchmarks.arm import controlled, simulated
from benchmarks.processes import Listener, busy_process

ROBOT, RATE = "bundled 7-dof arm", 1000
#: Default of latency_limit [ms]: a lag above this limit must not last.
LATENCY = 20.0


def main(seconds: float = 600.0, busy: int = 2, timeout: float = 0.08) -> None:
    """Run the armed arm beside `busy` busy processes, and print the figures."""
    from sensor_msgs.msg import JointState

    with (
        simulated(ROBOT, RATE),
        controlled(ROBOT, f"state_timeout:={timeout}") as user,
        ExitStack() as others,
    ):
        user.arm("gravity")
        for _ in range(busy):
            others.enter_context(busy_process())
        listener = Listener(user.node, JointState, ("joint_states", "joint_commands"))
        listener.listen(1.0)
        listener.forget()
        listener.listen(seconds)
        states, answers = listener.stamps
        gaps = 1e-6 * np.diff(np.array(listener.arrivals[1], np.int64))
        faults = [line for line in user.controller.output().splitlines() if "; fault" in line]
    print("| | |\n|---|---|")
    print(f"| states | {len(states)} |")
    print(f"| answers | {len(answers)} |")
    print(f"| largest gap between answers | {gaps.max(initial=0.0):.1f} ms |")
    for limit in (LATENCY, 1e3 * timeout):
        print(f"| gaps above {limit:g} ms | {int((gaps > limit).sum())} |")
    print(f"| faults | {len(faults)} |")
    for line in faults:
        print(f"| log of the controller | {line} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--busy", type=int, default=2, help="number of busy processes")
    parser.add_argument("--state-timeout", type=float, default=0.08, help="of the controller [s]")
    words = parser.parse_args()
    main(words.seconds, words.busy, words.state_timeout)

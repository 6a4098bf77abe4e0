# SPDX-License-Identifier: Apache-2.0
"""Cost of loading, of one substep and of forward_dynamics against the number of bodies."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import rbdyn_ros as rb
from rbdyn_ros.measuring.turns import Job, in_turns

SIZES = (10, 100, 1_000, 10_000)
FEW, MANY = 2, 42


def main() -> None:
    rb.load_urdf(chain_urdf(1))  # the first call compiles
    print("| bodies | load, s | substep, us | forward_dynamics, us |\n|---|---|---|---|")
    rows = [_row(n) for n in SIZES]
    for n, load, substep, dynamics in rows:
        print(f"| {n} | {load:.3f} | {substep:.2f} | {dynamics:.2f} |")
    span = math.log(SIZES[-1] / SIZES[0])
    for name, column in (("substep", 2), ("forward_dynamics", 3)):
        exponent = math.log(rows[-1][column] / rows[0][column]) / span
        print(f"\n{name}: exponent {exponent:.3f} from {SIZES[0]} to {SIZES[-1]} bodies")


def _row(n: int) -> tuple[int, float, float, float]:
    text = chain_urdf(n)
    start = time.perf_counter()
    m = rb.load_urdf(text)
    load = time.perf_counter() - start
    d = rb.make_data(m)
    # the difference of a long and a short run excludes the full tick at the end of each run
    few, many, dynamics = in_turns(
        [
            _repeated(lambda: _run(m, d, FEW)),
            _repeated(lambda: _run(m, d, MANY)),
            _repeated(lambda: rb.forward_dynamics(m, d)),
        ]
    )
    substep = [(b - a) / (MANY - FEW) for a, b in zip(few, many, strict=True)]
    return n, load, statistics.median(substep), statistics.median(dynamics)


def _run(m: rb.Model, d: rb.Data, steps: int) -> None:
    rb.reset_data(m, d)
    rb.step(m, d, steps)


def _repeated(call: Callable[[], None]) -> Job:
    def job(count: int) -> None:
        for _ in range(count):
            call()

    return job


def chain_urdf(n: int) -> str:
    """Return a chain of n links with alternating joint axes."""
    parts = ['<robot name="chain"><link name="link0"/>']
    for i in range(1, n + 1):
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/>'
            '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="link{i - 1}"/>'
            f'<child link="link{i}"/><origin xyz="0.1 0 0"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="10" velocity="10"/></joint>'
        )
    return "".join([*parts, "</robot>"])

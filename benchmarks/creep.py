# SPDX-License-Identifier: Apache-2.0
"""Creep of a box at rest on a slope, against MuJoCo with several contact settings.

A box of 2 kg lies on a slope inside the friction cone, so it should not move at all. Each engine
simulates three seconds with a timestep of 1 ms; creep is the distance that the box slides in the
third second. The last row times one step of the box at rest, the smallest of all turns.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.contact import ROUNDS, SHORT
from rbdyn_ros.measuring.turns import Job, in_turns

SIZE, MASS, FRICTION = (0.2, 0.2, 0.1), 2.0, 0.5
SETTLE, WATCH = 2000, 1000  # steps of 1 ms
CONES = (0.5, 0.9, 0.99)  # slope over friction coefficient

#: Attributes of MuJoCo's <option>, by column.
SETTINGS = {
    "MuJoCo, default": "",
    "elliptic cone": 'cone="elliptic"',
    "elliptic, impratio 100": 'cone="elliptic" impratio="100"',
    "elliptic, noslip 10": 'cone="elliptic" noslip_iterations="10"',
}


class Slope:
    """A slope whose tangent is a fraction of the friction coefficient."""

    def __init__(self, fraction: float) -> None:
        self.angle = float(np.arctan(FRICTION * fraction))
        sin, cos = np.sin(self.angle), np.cos(self.angle)
        self.down = np.array([cos, 0.0, -sin])
        height, half = SIZE[2] / 2, self.angle / 2
        self.qpos = [height * sin, 0.0, height * cos, np.cos(half), 0.0, np.sin(half), 0.0]


def main() -> None:
    columns = ["slope / friction", "rbdyn_ros", *SETTINGS]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for fraction in CONES:
        slope = Slope(fraction)
        speeds = [creep(our_box(slope), slope)]
        speeds += [creep(mujoco_box(slope, option), slope) for option in SETTINGS.values()]
        cells = " | ".join(f"{1e6 * speed:.3g}" for speed in speeds)
        print(f"| {fraction:g}: creep, um/s | {cells} |", flush=True)
    print(_time_row(Slope(CONES[1])), flush=True)


def _time_row(slope: Slope) -> str:
    jobs = [our_box(slope), *(mujoco_box(slope, option) for option in SETTINGS.values())]
    for step, _ in jobs:
        step(SETTLE)
    times = in_turns([step for step, _ in jobs], SHORT, ROUNDS)
    # the minimum is disturbed least by other programs
    ours, *theirs = (min(turns) for turns in times)
    cells = [f"{each:.2f}, {each / ours:.1f}" for each in theirs]
    return f"| a step, us, and its ratio | {ours:.2f} | {' | '.join(cells)} |"


def creep(simulation: tuple[Job, Callable[[], np.ndarray]], slope: Slope) -> float:
    """Return the mean speed down the slope after the box has settled [m/s]."""
    step, position = simulation
    step(SETTLE)
    start = position()
    step(WATCH)
    return float((position() - start) @ slope.down) / (WATCH * 0.001)


def our_box(slope: Slope) -> tuple[Job, Callable[[], np.ndarray]]:
    """Return a job that steps the box on a slope, and a function that returns its position."""
    surface = rb.Surface(friction=FRICTION)
    box = (
        rb.SystemBuilder("box", base="world")
        .body("box", rb.shapes.box(SIZE, mass=MASS))
        .joint("free", "floating", "world", "box")
        .geometry("box", "box", rb.Box(SIZE), surface=surface)
    )
    plane = rb.Obstacle("slope", rb.Plane(), rb.pose(rpy=(0.0, slope.angle, 0.0)))
    m = rb.build(box, contact=rb.Contact(obstacles=(plane,), surface=surface))
    d = rb.make_data(m)
    d.qpos[:] = slope.qpos
    return (lambda n: rb.step(m, d, n)), d.qpos[:3].copy


def mujoco_box(slope: Slope, option: str) -> tuple[Job, Callable[[], np.ndarray]]:
    """Return the job and the function of our_box() for MuJoCo; option: attributes of <option>."""
    half = " ".join(str(side / 2) for side in SIZE)
    m = mujoco.MjModel.from_xml_string(f"""
      <mujoco><option timestep="0.001" {option}/><worldbody>
        <geom type="plane" size="9 9 1" euler="0 {np.degrees(slope.angle)} 0"
          friction="{FRICTION} 0 0"/>
        <body><freejoint/>
          <geom type="box" size="{half}" mass="{MASS}" friction="{FRICTION} 0 0"/></body>
      </worldbody></mujoco>""")
    d = mujoco.MjData(m)
    d.qpos[:] = slope.qpos
    return (lambda n: mujoco.mj_step(m, d, n)), d.qpos[:3].copy


if __name__ == "__main__":
    main()

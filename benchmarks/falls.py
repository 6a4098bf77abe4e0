# SPDX-License-Identifier: Apache-2.0
"""Count the passes of the contact solver, and the unsolved steps, while a humanoid falls.

Talos falls from half a metre without torque, with a random orientation and small random joint
positions, and comes to rest after most starts. The starts are simulated with and without
self-collision.
"""

from __future__ import annotations

import numpy as np

import rbdyn_ros as rb
from benchmarks.robots import path_of

STARTS, DURATION, BLOCK = (
    100,
    5.0,
    10,
)  # number of starts; duration [s]; steps between two samples of passes
HEIGHT, OFF = 0.5, 0.1  # added height [m], and random offsets of the joints [rad or m]
COLUMNS = ("links", "starts", "steps", "unsolved", "median passes", "99 %", "most")


def main() -> None:
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for itself in (True, False):
        contact = rb.Contact(self_collision=itself)
        m = rb.load_urdf(path_of("Talos reduced"), True, strict=False, contact=contact)
        unsolved, passes = 0, list[int]()
        for seed in range(STARTS):
            d = _thrown(m, seed)
            for _ in range(round(DURATION / m.opt.timestep) // BLOCK):
                rb.step(m, d, BLOCK)
                passes.append(int(d.solver_niter))
            unsolved += int(d.nunsolved)
        middle, nearly = np.percentile(passes, (50, 99))
        links = "touch each other" if itself else "touch the floor"
        row = f"| {links} | {STARTS} | {len(passes) * BLOCK} | {unsolved} "
        print(f"{row}| {middle:.0f} | {nearly:.0f} | {max(passes)} |", flush=True)


def _thrown(m: rb.Model, seed: int) -> rb.Data:
    """Return a Data at the start of a fall, with a random rotation and posture."""
    rng, d = np.random.default_rng(seed), rb.make_data(m)
    turn = rng.normal(size=4)
    d.qpos[2] += HEIGHT
    d.qpos[3:7] = turn / np.linalg.norm(turn)
    d.qpos[7:] += rng.uniform(-OFF, OFF, m.nq - 7)
    return d


if __name__ == "__main__":
    main()

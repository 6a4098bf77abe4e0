# SPDX-License-Identifier: Apache-2.0
"""Our engine, MuJoCo and Pinocchio, each called from Python, in turns in one process.

These are the measurements of `rbdyn bench`, for one pair of engines at a time. Every run starts
from the same state at rest. The inner step is rb.step(m, d, n) with passive forces, and with the
smooth law of friction and limits because MuJoCo's constraints are off, against
mujoco.mj_step(m, d, n). The full tick is one step per call.
"""

from __future__ import annotations

import rbdyn_ros as rb
from benchmarks.robots import ROBOTS, path_of
from benchmarks.turns import row
from rbdyn_ros.measuring.peers import peers
from rbdyn_ros.measuring.turns import in_turns, our_jobs


def main() -> None:
    print("| | us | peer, us | ratio |\n|---|---|---|---|")
    for robot in ROBOTS:
        path = path_of(robot)
        m = rb.load_urdf(path)
        ours = our_jobs(m)
        for peer in peers(path.read_text(), floating_base=False, timestep=m.opt.timestep):
            for name, job in peer.jobs.items():
                label = f"{robot}: {name} / {peer.name.split()[0]} {peer.calls[name]}"
                print(row(label, *in_turns((ours[name], job))), flush=True)

# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib

from rbdyn_ros.machine import machine

BENCHMARKS = {
    "engine": "one robot from Python, against MuJoCo and Pinocchio in turns",
    "constraints": "closed loops and a coupled joint, against MuJoCo in turns",
    "contact": "robots, boxes and a grasp at rest, against MuJoCo in turns",
    "motion": "robots that walk, piles that fall, a grasp: whole runs, against MuJoCo in turns",
    "flight": "bodies that tumble, bounce and collide: energy, momentum, cost by integrator",
    "falls": "a falling humanoid: passes of the contact solver, and steps that it does not solve",
    "simbenchmark": "errors of rolling, stacked and bouncing balls and of ANYmal, as published",
    "contact_batch": "batches on the floor, against mujoco.rollout in turns",
    "rays": "a lidar above a robot, against MuJoCo in turns",
    "stepping": "batches with a call for each timestep, against mujoco.batch in turns",
    "gpu": "batches on a GPU, against the cores and mujoco_warp",
    "creep": "a box at rest on a slope, against MuJoCo with several contact settings",
    "toolbox": "Jacobians, momentum, regressors, derivatives, against Pinocchio in turns",
    "ik": "inverse kinematics of 30,000 poses, against a loop around Pinocchio in turns",
    "specialize": "code made for one robot, alone and in batches, against MuJoCo and Pinocchio",
    "derivatives": "derivatives made for one robot, against the toolbox in turns",
    "scaling": "cost against the number of bodies, from 10 to 10,000",
    "startup": "from process start to the first step, cold and warm",
    "node": "the simulator node at 1 kHz: lateness, real-time factor, load, latency",
    "shared_memory": "the loop and a client in C through shared memory: ages of states, lateness",
    "lidar": "the simulator node with lidar and depth camera, without and with a subscriber",
    "fleet": "number of robots that one process simulates at 1 kHz",
    "tick": "the control tick of an armed arm, without ROS",
    "arm": "a controlled arm over DDS, two processes: drift, pushes, tracking, latencies",
    "armed": "ten minutes of an armed arm beside two busy processes: stalls, faults",
    "view": "the simulator node without a view, with a view, and with a browser",
    "soak": "ten minutes of the node: lost states, memory, lateness",
}
#: These benchmarks run only if they are named.
LONG = ("arm", "armed", "view", "soak")


def main() -> None:
    listed = "\n".join(
        f"  {name:13} {what}{' (long)' if name in LONG else ''}"
        for name, what in BENCHMARKS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", nargs="*", metavar="NAME", help="default: all except the long benchmarks"
    )
    names = parser.parse_args().name or [name for name in BENCHMARKS if name not in LONG]
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    print(machine())
    for name in names:
        print(f"\n## {name}: {BENCHMARKS[name]}\n")
        importlib.import_module(f"benchmarks.{name}").main()


main()

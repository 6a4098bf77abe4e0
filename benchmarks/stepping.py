# SPDX-License-Identifier: Apache-2.0
"""Batches with a call for each timestep: rb.Batch against mujoco.batch, in turns in one process.

    python -m benchmarks.stepping [ROBOT ...]
    python -m benchmarks.stepping --cpu    smallest CPU time on one thread, for a busy machine

One call is one timestep of all robots, as with a policy in Python. The time is for one robot.
Without contact every robot starts at qpos0 with its own joint velocities and falls. With contact
every copy starts where our engine has brought it to rest on the floor, and rests there or trots.
The geometries are the same in both engines. mujoco.batch is new in MuJoCo 3.17.

On terrain, rb.Batch is compared with our engine's own code. The terrain is a height field with
hills of 5 cm and cells of 10 cm; the corners of the cells have random offsets in height.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.batch import NBATCH, SKIPPED, has_mujoco_batch, velocities
from benchmarks.contact_batch import CONES, SCENES, settled
from benchmarks.mirror import mirror
from benchmarks.motion import CONTROL, Scene, anymal, round_go2
from benchmarks.six_robots import Robot, chosen
from rbdyn_ros.arrays import Array
from rbdyn_ros.machine import machine
from rbdyn_ros.measuring import peers
from rbdyn_ros.measuring.turns import Job, in_turns, median_ratio, repeated

NTOUCH, THREADS, ROUNDS = 64, 2, 15
CALLS = 3  # calls in a round of --cpu
HUNDRED = 100
STEPS = 300  # steps of a trot; the second half is timed

TROTTING = {"Go2 with round feet": round_go2, "ANYmal": anymal}

HEAD = (
    f"| a step of one of {NBATCH} | rb.Batch, us | 100 steps a call, us "
    f"| mujoco.batch, us | ratio |\n{'|---' * 5}|"
)
#: Half the side of the terrain, the size of its cells, and the random offsets of heights [m].
SIDE, CELL, NOISE = 4.0, 0.1, (0.0, 0.01, 0.02)
TERRAIN = (
    f"| a step of one of {NBATCH}, on terrain | rb.Batch, us "
    f"| the engine's own code, us, and its ratio | unsolved |\n{'|---' * 4}|"
)
TOUCHING = (
    f"| a step of one of {NTOUCH} | rb.Batch, us | "
    f"{' | '.join(f'mujoco.batch, {cone}, us, and its ratio' for cone in CONES)} |\n{'|---' * 4}|"
)


def row(robot: Robot, threads: int) -> str:
    """Return the table row of a robot without contact."""
    m = robot.load()
    model = peers.mujoco_model(robot.path.read_text(), robot.floats, m.opt.timestep)
    qvel = velocities(m.nv)
    jobs = [
        _ours(m, NBATCH, m.qpos0, qvel, threads),
        _ours(m, NBATCH, m.qpos0, qvel, threads, HUNDRED),
    ]
    if has_mujoco_batch():
        jobs.append(_mujoco(model, NBATCH, model.qpos0, velocities(model.nv), threads))
    ours, hundred, *theirs = _timed(jobs, threads)
    cells = [_us(ours, NBATCH), _us(hundred, NBATCH * HUNDRED)]
    for times in theirs:
        cells += [_us(times, NBATCH), f"{median_ratio(times, ours):.1f}"]
    return f"| {robot.name} | {' | '.join(cells)} |"


def touching_row(name: str, make: Callable[[], tuple[rb.Model, Any]], threads: int) -> str:
    """Return the table row of a scene at rest on the floor. make() returns both Models."""
    m, model = make()
    qpos, qvel = settled(m, model), np.zeros(m.nv)
    jobs = [_ours(m, NTOUCH, qpos, qvel, threads)]
    for cone in CONES.values():
        model.opt.cone = cone
        jobs.append(_mujoco(model, NTOUCH, qpos, qvel, threads))
    ours, *others = _timed(jobs, threads)
    cells = [f"{_us(times, NTOUCH)}, {median_ratio(times, ours):.1f}" for times in others]
    return f"| {name} | {_us(ours, NTOUCH)} | {' | '.join(cells)} |"


def trotting_row(name: str, scene: Scene, threads: int) -> str:
    """Return the table row of robots that trot out of step with each other.

    Springs move the robots: each engine computes their forces from its own states every CONTROL
    steps. Only the steps are timed.
    """
    from mujoco.batch import Batch

    m, rng = scene.m, np.random.default_rng(0)
    qpos = np.tile(scene.qpos, (NBATCH, 1))
    qpos[:, 2] += rng.uniform(0.0, 0.01, NBATCH)
    phase = rng.uniform(0.0, 0.5, NBATCH)
    batches = [rb.Batch(m, NBATCH, nthread=threads)]
    for cone in CONES.values():
        model = mirror(m)
        model.opt.cone = cone
        batches.append(Batch(model, NBATCH, nthread=threads))
    clock = time.perf_counter if threads > 1 else time.process_time
    spent = np.zeros((len(batches), STEPS))
    for b in batches:
        b.qpos[:] = qpos
    for n in range(STEPS):
        for k, b in enumerate(batches):
            if n % CONTROL == 0:
                b.qfrc_applied[:] = _forces(scene, b, 0.001 * n + phase)
            start = clock()
            b.step()
            spent[k, n] = 1e6 * (clock() - start)
    ours, *others = spent[:, STEPS // 2 :].mean(axis=1) / NBATCH
    cells = [f"{each:.2f}, {each / ours:.1f}" for each in others]
    return f"| {name} | {ours:.2f} | {' | '.join(cells)} |"


def terrain_row(noise: float, threads: int) -> str:
    """Return the table row of the Go2 with round feet, trotting on terrain as in trotting_row."""
    x = np.linspace(-SIDE, SIDE, round(2.0 * SIDE / CELL) + 1)
    rng = np.random.default_rng(0)
    heights = 0.05 * np.sin(2.0 * x) * np.cos(1.5 * x)[:, None]
    heights += rng.uniform(-noise, noise, heights.shape)
    scene = round_go2(rb.Obstacle("terrain", rb.HeightField(heights, (2.0 * SIDE, 2.0 * SIDE))))
    qpos, phase = np.tile(scene.qpos, (NBATCH, 1)), rng.uniform(0.0, 0.5, NBATCH)
    qpos[:, :2] += rng.uniform(-0.5 * SIDE, 0.5 * SIDE, (NBATCH, 2))
    qpos[:, 2] += 0.06 + rng.uniform(0.0, 0.02, NBATCH)
    clock = time.perf_counter if threads > 1 else time.process_time
    spent = np.zeros((2, STEPS))
    batches = [rb.Batch(scene.m, NBATCH, threads, known) for known in (None, False)]
    for k, b in enumerate(batches):
        b.qpos[:] = qpos
        for n in range(STEPS):
            if n % CONTROL == 0:
                b.qfrc_applied[:] = _forces(scene, b, 0.001 * n + phase)
            start = clock()
            b.step()
            spent[k, n] = 1e6 * (clock() - start)
    ours, engine = spent[:, STEPS // 2 :].mean(axis=1) / NBATCH
    unsolved = " and ".join(str(b.nunsolved.sum()) for b in batches)
    cells = f"{ours:.2f} | {engine:.2f}, {engine / ours:.1f}"
    return f"| Go2, corners off by {noise} m | {cells} | {unsolved} |"


def _forces(scene: Scene, b: Any, times: Array) -> Array:
    assert scene.law is not None
    states = zip(np.array(b.qpos), np.array(b.qvel), times, strict=True)
    return np.array([scene.law(q, v, t) for q, v, t in states])


def _timed(jobs: list[Job], threads: int) -> list[list[float]]:
    """Return the times of a call in turns [us]; on one thread the smallest CPU time."""
    if threads > 1:
        return in_turns(jobs, rounds=ROUNDS)
    least = [float("inf")] * len(jobs)
    for _ in range(ROUNDS):
        for k, job in enumerate(jobs):
            start = time.process_time()
            job(CALLS)
            least[k] = min(least[k], (time.process_time() - start) / CALLS * 1e6)
    return [[each] for each in least]


def _us(times: list[float], robots: int) -> str:
    return f"{statistics.median(times) / robots:.3f}"


def _ours(m: rb.Model, nsim: int, qpos: Array, qvel: Array, threads: int, nstep: int = 1) -> Job:
    b = rb.Batch(m, nsim, nthread=threads)
    b.qpos, b.qvel = qpos, qvel
    return repeated(lambda: b.step(nstep=nstep))


def _mujoco(model: Any, nsim: int, qpos: Array, qvel: Array, threads: int) -> Job:
    from mujoco.batch import Batch

    batch = Batch(model, nsim, nthread=threads)
    batch.qpos, batch.qvel = qpos, qvel
    return repeated(batch.step)


def main(words: list[str] | None = None, threads: int = THREADS) -> None:
    print(f"{machine()}\nmujoco {mujoco.__version__}\n")
    print(HEAD if has_mujoco_batch() else f"{SKIPPED}\n\n{HEAD}")
    for robot in chosen(words or []):
        print(row(robot, threads), flush=True)
    if has_mujoco_batch() and not words:
        print(f"\n{TOUCHING}")
        for name, make in SCENES.items():
            print(touching_row(name, make, threads), flush=True)
        print(f"\n{TOUCHING.replace(str(NTOUCH), str(NBATCH))}")
        for name, scene in TROTTING.items():
            print(trotting_row(name, scene(), threads), flush=True)
        print(f"\n{TERRAIN}")
        for noise in NOISE:
            print(terrain_row(noise, threads), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Batches, a call for each timestep.")
    parser.add_argument("robot", nargs="*", metavar="ROBOT", help="part of a name; default: all")
    parser.add_argument("--cpu", action="store_true", help="smallest CPU time on one thread")
    options = parser.parse_args()
    main(options.robot, 1 if options.cpu else THREADS)

# SPDX-License-Identifier: Apache-2.0
"""Batches of robots: rb.rollout against mujoco.rollout and mujoco.batch, in turns in one process.

    python -m benchmarks.batch [ROBOT ...]   time one step of one robot in a batch
    python -m benchmarks.batch --payloads    time 100,000 UR5s, each with its own payload

In the first table every robot starts at qpos0 with its own joint velocities and falls. Every
engine allocates and returns positions and velocities of all steps. mujoco.batch is new in
MuJoCo 3.17; an older MuJoCo leaves its columns empty.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

import rbdyn_ros as rb
from benchmarks.peak import flops, peak_job
from benchmarks.six_robots import SIX, Robot, chosen
from rbdyn_ros.machine import machine
from rbdyn_ros.measuring import peers
from rbdyn_ros.measuring.turns import Job, in_turns, median_ratio, repeated
from rbdyn_ros.specialization.functions import STATE, traced
from rbdyn_ros.specialization.programs.program import program

NBATCH, NSTEP = 1024, 100
ROUNDS = 9
THREADS = 2

#: Size of the batch with payloads, and its number of steps (one second).
LADEN, SECOND = 100_000, 1000
LADEN_ROUNDS = 3

HEAD = (
    "| | 1 thread, us | 2 threads, us | generic, us | mujoco.rollout, us | mujoco.batch, us "
    "| to generic | to mujoco.rollout | to mujoco.batch | GFLOP/s, 1 and 2 threads "
    "| of the peak |\n"
    f"{'|---' * 11}|"
)
SKIPPED = f"mujoco.batch: skipped, MuJoCo {mujoco.__version__} does not have it (new in 3.17)"


def batch_row(robot: Robot) -> str:
    """Return the table row of a robot: the times of one step of one robot."""
    m = robot.load()
    model = peers.mujoco_model(robot.path.read_text(), robot.floats, m.opt.timestep)
    jobs = [
        _ours(m, threads=1, specialize=True),
        _ours(m, threads=THREADS, specialize=True),
        _ours(m, threads=THREADS, specialize=False),
        peak_job(1),
        peak_job(THREADS),
        _mujoco_rollout(model),
    ]
    if has_mujoco_batch():
        jobs.append(_mujoco_batch(model))
    times = in_turns(jobs, rounds=ROUNDS)
    one, two, generic, peak_one, peak_two, *peers_times = times
    cells = [_us(one), _us(two), _us(generic), *map(_us, peers_times)]
    ratios = [f"{median_ratio(row, two):.1f}" for row in (generic, *peers_times)]
    if not has_mujoco_batch():
        cells.append("-")
        ratios.append("-")
    work = step_flops(m)
    rates = [work / _each(row) / 1e3 for row in (one, two)]
    fractions = [
        _fraction(work, one, peak_one),
        _fraction(work, two, peak_two) / THREADS,
    ]
    return (
        f"| {robot.name} | {' | '.join(cells)} | {' | '.join(ratios)} "
        f"| {rates[0]:.1f}, {rates[1]:.1f} | {fractions[0]:.0f} %, {fractions[1]:.0f} % |"
    )


def has_mujoco_batch() -> bool:
    """Return whether the installed MuJoCo has mujoco.batch."""
    return importlib.util.find_spec("mujoco.batch") is not None


def step_flops(m: rb.Model) -> int:
    """Return the operations of a step without external forces and with constant gravity."""
    trace = traced(m, "step", inputs=(*STATE, "nbad"))
    return program(trace.graph, trace.outputs).flops()


def payload_section() -> str:
    """Return payload_line() from a fresh process, whose peak memory is due to the batch alone."""
    command = [sys.executable, "-m", "benchmarks.batch", "--payloads"]
    line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return f"{LADEN:,} rollouts of one second with payloads:\n\n{line.strip()}"


def payload_line() -> str:
    """Return time, robot-steps per second and peak memory of the batch with payloads."""
    m = SIX[0].load()
    rng = np.random.default_rng(0)
    qpos = rng.uniform(-1.0, 1.0, (LADEN, m.nq))
    mass, com = rng.uniform(0.0, 5.0, LADEN), rng.uniform(-0.1, 0.1, (LADEN, 3))

    def run(n: int) -> None:
        load = rb.payload_params(m, "tool0", mass[:n], com[:n])
        rb.rollout(
            m, qpos[:n], np.zeros(m.nv), nstep=SECOND, every=SECOND, params=load,
            threads=THREADS, progress=False,
        )  # fmt: skip

    run(1)  # the first call compiles
    before, seconds = _peak_memory(), []
    for _ in range(LADEN_ROUNDS):
        start = time.perf_counter()
        run(LADEN)
        seconds.append(time.perf_counter() - start)
    taken = statistics.median(seconds)
    return (
        f"{LADEN:,} {SIX[0].name} of {SECOND * m.opt.timestep:g} s, {SECOND} steps, a payload "
        f"each, {THREADS} threads: {taken:.2f} s, {LADEN * SECOND / taken / 1e6:.1f} "
        f"million robot-steps a second, peak memory {_peak_memory()} MB, {before} MB before."
    )


def _peak_memory() -> int:
    """Return the peak memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6


def _each(times: list[float]) -> float:
    """Return the median time of one step of one robot [us]."""
    return statistics.median(times) / (NBATCH * NSTEP)


def _us(times: list[float]) -> str:
    return f"{_each(times):.3f}"


def _fraction(work: int, times: list[float], peak: list[float]) -> float:
    """Return the operations per second as a percentage of one thread's peak.

    Args:
        work: operations in one step of one robot.
        times: times of our runs [us].
        peak: times of the job that measures the peak [us].
    """
    return 100 * median_ratio(peak, times) * work * NBATCH * NSTEP / flops()


def velocities(nv: int) -> Any:
    """Return joint velocities of the robots, (NBATCH, nv)."""
    return np.random.default_rng(0).uniform(-0.1, 0.1, (NBATCH, nv))


def _ours(m: rb.Model, threads: int, specialize: bool) -> Job:
    qvel = velocities(m.nv)
    return repeated(
        lambda: rb.rollout(
            m, m.qpos0, qvel, nstep=NSTEP, threads=threads, specialize=specialize, progress=False
        )
    )


def _mujoco_rollout(model: Any) -> Job:
    datas = [mujoco.MjData(model) for _ in range(THREADS)]
    state = np.zeros((NBATCH, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq] = model.qpos0
    state[:, 1 + model.nq : 1 + model.nq + model.nv] = velocities(model.nv)
    pool = rollout.Rollout(nthread=THREADS)
    return repeated(lambda: pool.rollout(model, datas, state, nstep=NSTEP))


def _mujoco_batch(model: Any) -> Job:
    from mujoco.batch import Batch

    batch, qvel = Batch(model, NBATCH, nthread=THREADS), velocities(model.nv)

    def run() -> None:
        batch.qpos, batch.qvel = model.qpos0, qvel
        batch.rollout(NSTEP, record=("qpos", "qvel"))

    return repeated(run)


def main() -> None:
    parser = argparse.ArgumentParser(description="Batches of robots, against MuJoCo in turns.")
    parser.add_argument("robot", nargs="*", metavar="ROBOT", help="part of a name; default: all")
    parser.add_argument("--payloads", action="store_true", help="time the batch with payloads")
    options = parser.parse_args()
    if options.payloads:
        print(payload_line())
        return
    print(f"{machine()}\n")
    if not has_mujoco_batch():
        print(f"{SKIPPED}\n")
    print(HEAD)
    for robot in chosen(options.robot):
        print(batch_row(robot), flush=True)


if __name__ == "__main__":
    main()

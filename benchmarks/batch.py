"""Many robots at once, rb.rollout beside mujoco.rollout, in turns.

Robots begin at qpos0, each with joint velocities of its own, and fall. Both return positions and
velocities of every step in arrays that they make.

python -m benchmarks.batch: a larger batch alone, of robots that begin anywhere, each with a load
of its own in its hand, and of which the state at the end is asked for.
"""

from __future__ import annotations

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
from benchmarks.six_robots import SIX, Robot
from rbdyn_ros.measuring import peers
from rbdyn_ros.measuring.turns import Job, in_turns, median_ratio, repeated
from rbdyn_ros.specialization.functions import STATE, traced
from rbdyn_ros.specialization.program import program

NBATCH, NSTEP = 1024, 100
ROUNDS = 9

#: The batch with payloads: of UR5, one second.
LADEN, SECOND = 100_000, 1000
LADEN_THREADS, LADEN_ROUNDS = 2, 3

HEAD = (
    "| | 1 thread, us | 2 threads, us | generic, 2 threads, us | mujoco.rollout, 2 threads, us "
    "| to mujoco.rollout | to generic | GFLOP/s, 1 and 2 threads | of the peak |\n"
    f"{'|---' * 9}|"
)


def batch_row(robot: Robot) -> str:
    """Return the line of a robot; times are those of one step of one robot."""
    m = robot.load()
    jobs = (
        _ours(m, threads=1, specialize=True),
        _ours(m, threads=2, specialize=True),
        _ours(m, threads=2, specialize=False),
        _theirs(robot, m.opt.timestep),
        peak_job(1),
        peak_job(2),
    )
    times = in_turns(jobs, rounds=ROUNDS)
    each = [[us / (NBATCH * NSTEP) for us in row] for row in times[:4]]
    one, two, generic, theirs = (statistics.median(row) for row in each)
    work = step_flops(m)
    fractions = [median_ratio(times[4 + k], each[k]) * work / flops() / (k + 1) for k in range(2)]
    return (
        f"| {robot.name} | {one:.3f} | {two:.3f} | {generic:.3f} | {theirs:.3f} "
        f"| {median_ratio(each[3], each[1]):.1f} | {median_ratio(each[2], each[1]):.1f} "
        f"| {work / one / 1e3:.1f}, {work / two / 1e3:.1f} "
        f"| {100 * fractions[0]:.0f} %, {100 * fractions[1]:.0f} % |"
    )


def step_flops(m: rb.Model) -> int:
    """Return the operations of a step without forces from outside and with gravity built in."""
    trace = traced(m, "step", inputs=(*STATE, "nbad"))
    return program(trace.graph, trace.outputs).flops()


def payload_section() -> str:
    """Return the line of payload_line, of a process of its own: so its memory is that alone."""
    command = [sys.executable, "-m", "benchmarks.batch"]
    line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return f"{LADEN:,} rollouts of one second with payloads:\n\n{line.strip()}"


def payload_line() -> str:
    """Return seconds, robot-steps a second and peak memory of the batch with payloads."""
    m = SIX[0].load()
    rng = np.random.default_rng(0)
    qpos = rng.uniform(-1.0, 1.0, (LADEN, m.nq))
    mass, com = rng.uniform(0.0, 5.0, LADEN), rng.uniform(-0.1, 0.1, (LADEN, 3))

    def run(n: int) -> None:
        load = rb.payload_params(m, "tool0", mass[:n], com[:n])
        rb.rollout(
            m, qpos[:n], np.zeros(m.nv), nstep=SECOND, every=SECOND, params=load,
            threads=LADEN_THREADS, progress=False,
        )  # fmt: skip

    run(1)  # compiles
    before, seconds = _peak_memory(), []
    for _ in range(LADEN_ROUNDS):
        start = time.perf_counter()
        run(LADEN)
        seconds.append(time.perf_counter() - start)
    taken = statistics.median(seconds)
    return (
        f"{LADEN:,} {SIX[0].name} of {SECOND * m.opt.timestep:g} s, {SECOND} steps, a payload "
        f"each, {LADEN_THREADS} threads: {taken:.2f} s, {LADEN * SECOND / taken / 1e6:.1f} "
        f"million robot-steps a second, peak memory {_peak_memory()} MB, {before} MB before."
    )


def _peak_memory() -> int:
    """Return the most memory that this process has had so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6


def _velocities(nv: int) -> Any:
    return np.random.default_rng(0).uniform(-0.1, 0.1, (NBATCH, nv))


def _ours(m: rb.Model, threads: int, specialize: bool) -> Job:
    qvel = _velocities(m.nv)
    return repeated(
        lambda: rb.rollout(
            m, m.qpos0, qvel, nstep=NSTEP, threads=threads, specialize=specialize, progress=False
        )
    )


def _theirs(robot: Robot, timestep: float) -> Job:
    model = peers.mujoco_model(robot.path.read_text(), robot.floats, timestep)
    datas = [mujoco.MjData(model) for _ in range(2)]
    state = np.zeros((NBATCH, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq] = model.qpos0
    state[:, 1 + model.nq : 1 + model.nq + model.nv] = _velocities(model.nv)
    pool = rollout.Rollout(nthread=2)
    return repeated(lambda: pool.rollout(model, datas, state, nstep=NSTEP))


if __name__ == "__main__":
    print(payload_line())

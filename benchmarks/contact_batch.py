# SPDX-License-Identifier: Apache-2.0
"""Batches with contact: rb.rollout against mujoco.rollout, in turns in one process.

    python -m benchmarks.contact_batch

The time is for a step of one robot or scene in a batch, on two threads. Every copy starts where
our engine has brought it to rest on the floor: without velocities, or with its own random
velocities. Both engines return positions and velocities of all steps. rb.rollout runs the engine's
general code, because specialised code has no such contacts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

import rbdyn_ros as rb
from benchmarks.contact import stack, talos
from rbdyn_ros.arrays import Array
from rbdyn_ros.machine import machine
from rbdyn_ros.measuring.turns import Job, in_turns, median_ratio, repeated

NBATCH, NSTEP, THREADS, ROUNDS = 64, 100, 2, 9
SETTLE = 3000  # steps
#: Random velocities of the copies: at rest, and so fast that a stack comes apart [m/s or rad/s].
SPEEDS = {"at rest": 0.0, "moving": 0.1}

#: Attributes of MuJoCo's options, by column.
CONES = {
    "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL,
    "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC,
}
SCENES: dict[str, Callable[[], tuple[rb.Model, Any]]] = {
    "a box": lambda: stack(1),
    "4 cubes": lambda: stack(4),
    "10 cubes": lambda: stack(10),
    "Talos lying": talos,
}


def main() -> None:
    print(f"{machine()}\nmujoco {mujoco.__version__}\n")
    heads = [f"{cone}, us, and its ratio" for cone in CONES]
    print(f"| a step of one of {NBATCH} | rb.rollout, us | {' | '.join(heads)} |\n{'|---' * 4}|")
    for name, make in SCENES.items():
        m, theirs = make()
        qpos = settled(m, theirs)
        for state, speed in SPEEDS.items():
            print(_row(f"{name}, {state}", m, theirs, qpos, speed), flush=True)


def _row(name: str, m: rb.Model, theirs: Any, qpos: Array, speed: float) -> str:
    qvel = speed * np.random.default_rng(0).uniform(-1.0, 1.0, (NBATCH, m.nv))
    jobs = [_ours(m, qpos, qvel), *(_mujoco(theirs, cone, qpos, qvel) for cone in CONES.values())]
    ours, *others = in_turns(jobs, rounds=ROUNDS)
    cells = [f"{_each(times):.2f}, {median_ratio(times, ours):.1f}" for times in others]
    return f"| {name} | {_each(ours):.2f} | {' | '.join(cells)} |"


def settled(m: rb.Model, theirs: Any) -> Array:
    """Return qpos at rest: cubes start at MuJoCo's qpos0, a robot above the floor."""
    d = rb.make_data(m)
    d.qpos[:] = theirs.qpos0
    if m.njnt > m.nv // 6:
        d.qpos[2] = 1.1
    rb.step(m, d, SETTLE)
    return np.array(d.qpos)


def _each(times: list[float]) -> float:
    """Return the median time of one step of one robot [us]."""
    return statistics.median(times) / (NBATCH * NSTEP)


def _ours(m: rb.Model, qpos: Array, qvel: Array) -> Job:
    return repeated(
        lambda: rb.rollout(
            m, qpos, qvel, nstep=NSTEP, threads=THREADS, specialize=False, progress=False
        )
    )


def _mujoco(theirs: Any, cone: Any, qpos: Array, qvel: Array) -> Job:
    model = theirs.__copy__()
    model.opt.cone = cone
    datas = [mujoco.MjData(model) for _ in range(THREADS)]
    state = np.zeros((NBATCH, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq] = qpos
    state[:, 1 + model.nq : 1 + model.nq + model.nv] = qvel
    pool = rollout.Rollout(nthread=THREADS)
    return repeated(lambda: pool.rollout(model, datas, state, nstep=NSTEP))


if __name__ == "__main__":
    main()

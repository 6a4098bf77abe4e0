"""Our engine, MuJoCo and Pinocchio, each called from Python, in turns in one process.

Every run starts from the same state at rest. The inner step is rb.step(m, d, n) with our
defaults (passive forces on) against mujoco.mj_step(m, d, n); the full tick is one call a step.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pinocchio

import rbdyn_ros as rb
from benchmarks.robots import ROBOTS, mujoco_model, path_of
from benchmarks.turns import Job, in_turns, row


def main() -> None:
    print("| | us | peer, us | ratio |\n|---|---|---|---|")
    for robot in ROBOTS:
        for line in _lines(robot):
            print(line, flush=True)


def _lines(robot: str) -> list[str]:
    path = path_of(robot)
    m = rb.load_urdf(path)
    d = rb.make_data(m)
    mj_m = mujoco_model(path)
    mj_d = mujoco.MjData(mj_m)
    pairs = {
        "step(m, d, n) / mj_step(m, d, n)": (
            _stepped(lambda n: rb.step(m, d, n), lambda: rb.reset_data(m, d)),
            _stepped(
                lambda n: mujoco.mj_step(mj_m, mj_d, n), lambda: mujoco.mj_resetData(mj_m, mj_d)
            ),
        ),
        "full tick step(m, d) / mj_step(m, d)": (
            _repeated(lambda: rb.step(m, d), lambda: rb.reset_data(m, d)),
            _repeated(lambda: mujoco.mj_step(mj_m, mj_d), lambda: mujoco.mj_resetData(mj_m, mj_d)),
        ),
        **_against_pinocchio(m, str(path)),
    }
    return [row(f"{robot}: {label}", *in_turns(pair)) for label, pair in pairs.items()]


def _against_pinocchio(m: rb.Model, path: str) -> dict[str, tuple[Job, Job]]:
    d = rb.make_data(m)
    model = pinocchio.buildModelFromUrdf(path)
    data = model.createData()
    q, v, tau = pinocchio.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    jobs = {
        "forward_dynamics / pin.aba": (
            lambda: rb.forward_dynamics(m, d),
            lambda: pinocchio.aba(model, data, q, v, tau),
        ),
        "inverse / pin.rnea": (
            lambda: rb.inverse(m, d),
            lambda: pinocchio.rnea(model, data, q, v, tau),
        ),
        "mass_matrix / pin.crba": (
            lambda: rb.mass_matrix(m, d),
            lambda: pinocchio.crba(model, data, q),
        ),
    }
    return {name: (_repeated(ours), _repeated(theirs)) for name, (ours, theirs) in jobs.items()}


def _stepped(step: Callable[[int], None], reset: Callable[[], None]) -> Job:
    def job(n: int) -> None:
        reset()
        step(n)

    return job


def _repeated(call: Callable[[], object], reset: Callable[[], None] = lambda: None) -> Job:
    def job(n: int) -> None:
        reset()
        for _ in range(n):
            call()

    return job

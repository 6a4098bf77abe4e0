# SPDX-License-Identifier: Apache-2.0
"""Closed loops and a coupled joint, against MuJoCo's equality constraints in turns.

Both engines take the same bodies, joints and loops through the same motion, without contact. A
loop closed at a point is one `connect` in MuJoCo (three equations in both). The closing hinge of
the four-bar is two `connect` in MuJoCo (six equations) and one joint here (five equations). MuJoCo
runs its default solver. Its constraints are springs: `stiff` has the stiffest springs that MuJoCo
allows at 1 ms. Stiffness does not change the cost, only the errors after one second: the largest
gap of a loop and the change of the total energy of the undamped system.

Panda is measured with its second finger coupled to the first (8 dofs), against MuJoCo without the
coupling (9 dofs, no constraint) and with it (9 dofs and one joint equality).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import rbdyn_ros as rb
from benchmarks.mechanisms import STIFF, delta, four_bar, mujoco_model
from benchmarks.robots import mujoco_model as mujoco_robot
from benchmarks.robots import path_of
from benchmarks.turns import row
from rbdyn_ros.measuring.turns import Job, in_turns

SYSTEMS = {
    "four-bar, a point": four_bar("point"),
    "four-bar, a hinge": four_bar("hinge"),
    "delta, 5 points": delta(),
}
INTEGRATORS = (
    ("implicit_damping", mujoco.mjtIntegrator.mjINT_EULER, "default / Euler"),
    ("rk4", mujoco.mjtIntegrator.mjINT_RK4, "rk4 / RK4"),
)
Integrator = tuple[str, Any, str]  # our name, MuJoCo's name, the label
Start = tuple[NDArray[np.float64], NDArray[np.float64]]  # qpos, qvel


def main() -> None:
    print("| a step | us | MuJoCo, us | ratio |\n|---|---|---|---|")
    for line in (*_loops(), *_panda()):
        print(line, flush=True)
    print("\n| after 1 s | open, m | MuJoCo | stiff | energy, J | MuJoCo | stiff |")
    print("|---|---|---|---|---|---|---|")
    for name, system in SYSTEMS.items():
        for integrator in INTEGRATORS:
            errors = " | ".join(f"{error:.1e}" for error in _errors(system, integrator))
            print(f"| {name}: {integrator[2]} | {errors} |", flush=True)


def _loops() -> Iterator[str]:
    for name, system in SYSTEMS.items():
        m, start = _started(system)
        for integrator in INTEGRATORS:
            soft, stiff = mujoco_model(system), mujoco_model(system, **STIFF)
            ours, *theirs = in_turns(
                (
                    _ours(m, start, integrator),
                    _theirs(soft, start, integrator),
                    _theirs(stiff, start, integrator),
                )
            )
            for label, times in zip(("", ", stiff"), theirs, strict=True):
                yield row(f"{name}: {integrator[2]}{label}", ours, times)


def _started(system: rb.Description) -> tuple[rb.Model, Start]:
    """Return the Model of a system, and an assembled configuration at rest."""
    m = rb.build(system)
    motors = [name for name in m.jnt_names if name == "A" or name.startswith("motor")]
    qpos = m.qpos0.copy()
    for name in motors:
        qpos[m.jnt_qposadr[m.jnt_id(name)]] = 0.3
    return m, (rb.assemble(m, qpos, fixed=motors), np.zeros(m.nv))


def _ours(m: rb.Model, start: Start, integrator: Integrator) -> Job:
    d = rb.make_data(m)

    def job(n: int) -> None:
        m.opt.integrator = integrator[0]
        rb.reset_data(m, d)
        d.qpos, d.qvel = start
        rb.step(m, d, n)

    return job


def _theirs(m: mujoco.MjModel, start: Start, integrator: Integrator) -> Job:
    d = mujoco.MjData(m)
    m.opt.integrator = integrator[1]

    def job(n: int) -> None:
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:] = start
        mujoco.mj_step(m, d, n)

    return job


def _panda() -> Iterator[str]:
    m = rb.load_urdf(path_of("Panda"))
    start = m.qpos0, np.zeros(m.nv)
    for label, coupled in (("9 free dofs in MuJoCo", False), ("equality in MuJoCo", True)):
        for integrator in INTEGRATORS:
            times = in_turns((_ours(m, start, integrator), _their_panda(coupled, integrator)))
            yield row(f"Panda, {label}: {integrator[2]}", *times)


def _their_panda(coupled: bool, integrator: Integrator) -> Job:
    m = mujoco_robot(path_of("Panda"))  # <mimic> becomes a constraint, which is disabled here
    if coupled:
        off = mujoco.mjtDisableBit
        m.opt.disableflags = int(
            off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
        )  # only equalities remain
    return _theirs(m, (m.qpos0, np.zeros(m.nv)), integrator)


def _errors(system: rb.Description, integrator: Integrator) -> list[float]:
    """Return the largest gap and the energy error of our engine, MuJoCo and stiff MuJoCo."""
    m, start = _started(system)
    runs = [
        _our_errors(m, start, integrator[0]),
        _their_errors(mujoco_model(system), start, integrator[1]),
        _their_errors(mujoco_model(system, **STIFF), start, integrator[1]),
    ]
    return [error for errors in zip(*runs, strict=True) for error in errors]


def _our_errors(m: rb.Model, start: Start, integrator: str) -> tuple[float, float]:
    m.opt.integrator = integrator
    d = rb.make_data(m)
    d.qpos, d.qvel = start
    rb.forward(m, d)
    rb.energy(m, d)
    before = d.energy.sum()
    rb.step(m, d, 1000)
    rb.forward(m, d)
    rb.energy(m, d)
    rb.make_constraint(m, d)
    return np.abs(d.efc_pos).max(), abs(d.energy.sum() - before)


def _their_errors(m: mujoco.MjModel, start: Start, integrator: Any) -> tuple[float, float]:
    m.opt.integrator = integrator
    m.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = start
    mujoco.mj_forward(m, d)
    before = d.energy.sum()
    mujoco.mj_step(m, d, 1000)
    mujoco.mj_forward(m, d)
    return np.abs(d.efc_pos).max(), abs(d.energy.sum() - before)

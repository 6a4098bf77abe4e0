# SPDX-License-Identifier: Apache-2.0
"""Code made for one robot: python -m benchmarks.specialize [ROBOT ...].

Six robots, in turns in one process, with passive forces on and smooth friction and limits.
- Steps: s.step(d, n) of the specialised Model, rb.step(m, d, n) of the engine and
  mujoco.mj_step(m, d, n), each from rest at qpos0.
- Batches: see batch.py.
- Functions: one call from Python each, against Pinocchio.

Operations are counted in the straight-line code: a multiply-add counts as two floating-point
operations, a sine or cosine as one operation although it takes about twenty. The peak is measured
in the same turns by peak.py.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import rbdyn_ros as rb
from benchmarks import batch, compiling
from benchmarks.peak import flops, peak_job
from benchmarks.six_robots import Robot, chosen
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.machine import machine
from rbdyn_ros.measuring.peers import peers
from rbdyn_ros.measuring.turns import (
    STEPS,
    in_turns,
    median_ratio,
    our_jobs,
    repeated,
    stepped,
)

STEPS_HEAD = (
    "| dofs | us | generic, us | mj_step, us | to generic | to mj_step | GFLOP/s "
    f"| of the peak |\n{'|---' * 8}|"
)
FUNCTIONS_HEAD = (
    "| | us | generic, us | pin, us | to generic | to pin | GFLOP/s | of the peak |\n"
    f"{'|---' * 8}|"
)
#: Our functions and Pinocchio's counterparts.
FUNCTIONS = {"forward_dynamics": "aba", "inverse": "rnea", "mass_matrix": "crba"}


def main(words: list[str] | None = None) -> None:
    """Print the tables of the robots whose names contain one of the words."""
    robots = chosen(words or [])
    print(_peak())
    print(f"\n{STEPS_HEAD}")
    for robot in robots:
        print(_steps_row(robot), flush=True)
    print(f"\n{batch.NBATCH} robots, {batch.NSTEP} steps; times of one step of one robot:")
    print(f"\n{batch.HEAD}")
    for robot in robots:
        print(batch.batch_row(robot), flush=True)
    print(f"\n{batch.payload_section()}", flush=True)
    print(f"\n{FUNCTIONS_HEAD}")
    for robot in robots:
        for line in _function_rows(robot):
            print(line, flush=True)
    print(f"\n{compiling.HEAD}")
    for robot in robots:
        print("\n".join(compiling.code_rows(robot)), flush=True)


def _peak() -> str:
    one, two = (statistics.median(us) for us in in_turns((peak_job(1), peak_job(2))))
    return (
        f"Peak on vectors of {processor().vector_width} numbers: {flops() / one / 1e3:.1f} "
        f"GFLOP/s of one thread, {2 * flops() / two / 1e3:.1f} of two."
    )


def _steps_row(robot: Robot) -> str:
    m = robot.load()
    s, d = rb.specialize(m), rb.make_data(m)
    ours = stepped(lambda n: s.step(d, n), lambda: rb.reset_data(m, d))
    mujoco, _ = peers(robot.path.read_text(), robot.floats, m.opt.timestep)
    times = in_turns((ours, our_jobs(m)[STEPS], mujoco.jobs[STEPS], peak_job()))
    there = "" if mujoco.nv == m.nv else f", {mujoco.nv} in MuJoCo"
    return _row(f"{robot.name}: {m.nv}{there}", times, s.program("step").flops())


def _function_rows(robot: Robot) -> list[str]:
    m = robot.load()
    s, d = rb.specialize(m, tuple(FUNCTIONS)), rb.make_data(m)
    _, pin = peers(robot.path.read_text(), robot.floats, m.opt.timestep)
    rows = []
    for name, theirs in FUNCTIONS.items():
        ours = repeated(_call(getattr(s, name), d))
        times = in_turns((ours, our_jobs(m)[name], pin.jobs[name], peak_job()))
        rows.append(_row(f"{robot.name}: {name} / {theirs}", times, s.program(name).flops()))
    return rows


def _call(function: Callable[[rb.Data], object], d: rb.Data) -> Callable[[], object]:
    return lambda: function(d)


def _row(label: str, times: list[list[float]], work: int) -> str:
    """Return a row from the times of our code, the engine, the peer and the peak."""
    ours, generic, theirs, peak = times
    us = [f"{statistics.median(each):.3f}" for each in times[:3]]
    fraction = 100 * work / flops() * median_ratio(peak, ours)
    return (
        f"| {label} | {' | '.join(us)} | {median_ratio(generic, ours):.2f} "
        f"| {median_ratio(theirs, ours):.2f} | {work / statistics.median(ours) / 1e3:.1f} "
        f"| {fraction:.0f} % |"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Code made for one robot, against its peers.")
    parser.add_argument("robot", nargs="*", metavar="ROBOT", help="part of a name; default: six")
    given = parser.parse_args().robot
    print(machine())
    main(given)

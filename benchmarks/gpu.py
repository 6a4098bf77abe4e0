# SPDX-License-Identifier: Apache-2.0
"""Batches on a GPU: robot-steps a second of rb.Batch, of its CPU lanes, and of mujoco_warp.

    python -m benchmarks.gpu [ROBOT ...]             time robots on the GPU of CuPy
    python -m benchmarks.gpu --registers [ROBOT ...] let nvcc report registers and local memory

Every robot starts at qpos0 with its own joint velocities and falls, without contact. A call makes
STEPS timesteps of all robots, or a single timestep. mujoco_warp has 32-bit floats; its timestep is
captured as a CUDA graph, if CUDA allows it. The CPU is timed on 2 threads and on all cores, with
64-bit floats.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rbdyn_ros as rb
from benchmarks.six_robots import Robot, chosen
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.machine import cores, machine
from rbdyn_ros.measuring import peers
from rbdyn_ros.rollouts.cuda import kernels_of
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import BLOCK, LONGEST_FUNCTION, gave_up, source

SIZES = (1_000, 10_000, 100_000, 1_000_000)
TYPES = {"float64": (np.float64, DOUBLE), "float32": (np.float32, FLOAT)}
STEPS, ROUNDS = 100, 3
THREADS = 2
PROCESSORS = ("sm_80", "sm_90")

#: Registers, and bytes of local memory, spill stores and spill loads, in a report by nvcc.
REPORTED = (
    r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes spill stores",
    r"(\d+) bytes spill loads",
)  # fmt: skip

#: Robots of the tables unless other robots are named.
FOUR = ("UR5", "Panda", "Go2", "G1")


def gpu_rows(robot: Robot) -> list[str]:
    """Return the table rows of a robot: robot-steps a second of our batches, by size."""
    m = robot.load()
    rows = []
    for label, (number, _) in TYPES.items():
        for nstep in (STEPS, 1):
            cells = [_rate(*_ours(m, nsim, nstep, number)) for nsim in SIZES]
            rows.append(_row(robot.name, f"GPU, {label}, {nstep} steps a call", cells))
    for threads in dict.fromkeys((THREADS, cores())):
        cells = [_rate(*_lanes(m, nsim, threads)) for nsim in SIZES[:3]]
        rows.append(_row(robot.name, f"CPU, float64, {threads} threads", cells))
    return rows


def warp_row(robot: Robot) -> str:
    """Return the table row of mujoco_warp, measured without a graph if CUDA refuses the graph."""
    m = robot.load()
    model = peers.mujoco_model(robot.path.read_text(), robot.floats, m.opt.timestep)
    graph = _warp_cell(model, SIZES[0], graph=True) != "-"
    cells = [_warp_cell(model, nsim, graph) for nsim in SIZES]
    how = "a graph of 1 step" if graph else "1 step a call"
    return _row(robot.name, f"mujoco_warp, float32, {how}", cells)


def _warp_cell(model: Any, nsim: int, graph: bool) -> str:
    """Return mujoco_warp's robot-steps a second, or "-" if it fails (graph, too little memory)."""
    with contextlib.suppress(RuntimeError):
        return _rate(*_warp(model, nsim, graph))
    return "-"


def _row(robot: str, what: str, cells: list[str]) -> str:
    return f"| {robot} | {what} | {' | '.join([*cells, *['-'] * (len(SIZES) - len(cells))])} |"


def _rate(run: Callable[[], object], steps: int) -> str:
    """Return robot-steps a second: the median of several calls."""
    run()  # the first call compiles
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return f"{steps / statistics.median(times):.2e}"


def _ours(m: rb.Model, nsim: int, nstep: int, number: Any) -> tuple[Callable[[], object], int]:
    import cupy

    b, calls = rb.Batch(m, nsim, device="cuda", dtype=number), STEPS // nstep
    b.qvel = _velocities(nsim, m.nv)

    def run() -> None:
        for _ in range(calls):
            b.step(nstep=nstep)
        cupy.cuda.get_current_stream().synchronize()

    return run, nsim * nstep * calls


def _lanes(m: rb.Model, nsim: int, threads: int) -> tuple[Callable[[], object], int]:
    b = rb.Batch(m, nsim, nthread=threads)
    b.qvel = _velocities(nsim, m.nv)
    nstep = max(1, min(STEPS, STEPS * SIZES[1] // nsim))
    return (lambda: b.step(nstep=nstep)), nsim * nstep


def _warp(model: Any, nsim: int, graph: bool) -> tuple[Callable[[], object], int]:
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    calls = 10
    data = mujoco.MjData(model)
    # Without room for constraints, the solver of mujoco_warp does not run and qacc is not
    # integrated, so the result is an upper bound of its speed.
    m, d = mjw.put_model(model), mjw.put_data(model, data, nworld=nsim, njmax=0, nconmax=0)
    d.qvel.assign(_velocities(nsim, model.nv).astype(np.float32))
    mjw.step(m, d)  # the first call compiles
    step = functools.partial(mjw.step, m, d)
    if graph:
        with wp.ScopedCapture() as capture:
            step()
        step = functools.partial(wp.capture_launch, capture.graph)

    def run() -> None:
        for _ in range(calls):
            step()
        wp.synchronize()

    return run, nsim * calls


def _velocities(nsim: int, nv: int) -> Any:
    return np.random.default_rng(0).uniform(-0.1, 0.1, (nsim, nv))


def register_rows(robot: Robot) -> list[str]:
    """Return the table rows of nvcc's report for a robot: the largest number of each kind."""
    m, rows = robot.load(), []
    for label, (number, real) in TYPES.items():
        for processor in PROCESSORS:
            for longest in (LONGEST_FUNCTION, BLOCK):  # as a Batch tries them
                given = m, {}, ("qfrc_applied",), np.dtype(number), longest
                report = _report(source(kernels_of(*given), real), processor)
                most = [max(map(int, re.findall(pattern, report))) for pattern in REPORTED]
                if not gave_up(*most[:2]):
                    break
            rows.append(f"| {robot.name} | {label} | {processor} | {' | '.join(map(str, most))} |")
    return rows


def _report(text: str, processor: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code.cu")
        code.write_text(text)
        words = ["nvcc", f"-arch={processor}", "-std=c++17", "-fmad=false", "-Xptxas=-v",
                 "-cubin", "-o", f"{folder}/code.cubin", str(code)]  # fmt: skip
        return subprocess.run(words, check=True, capture_output=True, text=True).stderr


def _gpu() -> str:
    """Return the name of the GPU.

    Raises: RbdynError: there is no GPU.
    """
    from rbdyn_ros.rollouts.gpu import cupy

    found = cupy()
    name: str = found.cuda.runtime.getDeviceProperties(found.cuda.Device().id)["name"].decode()
    return f"{name}, CuPy {found.__version__}"


def print_registers(robots: list[Robot]) -> None:
    """Print the report of nvcc, if it is installed."""
    if shutil.which("nvcc") is None:
        print("registers: skipped, there is no nvcc")
        return
    print("| robot | floats | processor | registers | local memory, bytes | spill stores, bytes "
          f"| spill loads, bytes |\n{'|---' * 7}|")  # fmt: skip
    for robot in robots:
        print("\n".join(register_rows(robot)), flush=True)


def main(words: list[str] | None = None, ours: bool = True) -> None:
    try:
        print(f"{_gpu()}; {machine()}\n")
    except RbdynError as error:
        print(f"skipped: {error}")
        return
    robots = chosen(words or list(FOUR))
    sizes = " | ".join(f"{size:,} robots" for size in SIZES)
    print(f"robot-steps a second:\n\n| robot | | {sizes} |\n{'|---' * (2 + len(SIZES))}|")
    for robot in robots if ours else []:
        print("\n".join(gpu_rows(robot)), flush=True)
    if importlib.util.find_spec("mujoco_warp") is None:
        print("mujoco_warp: skipped, it is not installed")
        return
    for robot in robots:
        print(warp_row(robot), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Batches on a GPU.")
    parser.add_argument("robot", nargs="*", metavar="ROBOT", help=f"default: {', '.join(FOUR)}")
    parser.add_argument("--registers", action="store_true", help="let nvcc report registers")
    parser.add_argument("--warp-only", action="store_true", help="time mujoco_warp only")
    options = parser.parse_args()
    if options.registers:
        print_registers(chosen(options.robot or list(FOUR)))
    else:
        main(options.robot, ours=not options.warp_only)

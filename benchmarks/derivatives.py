# SPDX-License-Identifier: Apache-2.0
"""Derivatives made for one robot, against the toolbox: python -m benchmarks.derivatives.

Three calls are timed in turns: a robot's machine code, the same code for as many robots as a
vector register holds (time per robot), and the toolbox. "operations" is the size of the machine
code, which is traced from the toolbox's kernels. "differentiated" is its size if instead every
operation of the dynamics were differentiated. Passive forces are on.

The toolbox has no derivative of a step. Its counterpart here is linearise with a timestep, the
matrix exponential of the continuous system over that time.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import rbdyn_ros as rb
from benchmarks.robots import ROBOTS, path_of
from rbdyn_ros.engine import forward
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.measuring.turns import in_turns, median_ratio, repeated
from rbdyn_ros.specialization import dynamics_derivatives as kernels
from rbdyn_ros.specialization.derivatives import jacobian
from rbdyn_ros.specialization.functions import FUNCTIONS
from rbdyn_ros.specialization.lanes import Lanes, compile_lanes
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

HEAD = (
    "| | operations | differentiated | compile, s | us | vectors, us a robot | toolbox, us "
    f"| ratio |\n{'|---' * 8}|"
)
#: Differentiating operation by operation takes minutes beyond this many dofs.
MOST_DOFS = 12


@dataclass(frozen=True, slots=True)
class Case:
    """The counterpart of a specialised function.

    Attributes:
        line: function of (m, d) that computes the differentiated values.
        values: field of Data that it writes.
        toolbox: the toolbox call to compare with.
    """

    line: Any
    values: str
    toolbox: Callable[[], object]


def main() -> None:
    print(HEAD)
    for robot in ROBOTS:
        m = rb.load_urdf(path_of(robot))
        d = rb.make_data(m)
        d.qvel = d.qacc = 1.0
        for name, case in _cases(m, d).items():
            print(_row(f"{robot}: {name}", m, d, name, case), flush=True)


def _cases(m: rb.Model, d: rb.Data) -> dict[str, Case]:
    return {
        "inverse_derivatives": Case(
            forward.inverse, "qfrc_inverse", lambda: rb.inverse_derivatives(m, d)
        ),
        "forward_derivatives": Case(
            forward.forward_dynamics, "qacc", lambda: rb.forward_derivatives(m, d)
        ),
        "step_derivatives": Case(
            forward.substep, "qvel", lambda: rb.linearise(m, d, m.opt.timestep)
        ),
    }


def _row(label: str, m: rb.Model, d: rb.Data, name: str, case: Case) -> str:
    slopes = rb.specialize(m, ()).program(name)
    begin = time.perf_counter()
    one = compile_lanes({"slopes": slopes}, 1)
    seconds = time.perf_counter() - begin
    many = compile_lanes({"slopes": slopes})
    jobs = (_call(m, d, one), _call(m, d, many), case.toolbox)
    ours, wide, theirs = in_turns([repeated(job) for job in jobs])
    naive = "-" if m.nv > MOST_DOFS else f"{len(_differentiated(m, name, case).operations):,}"
    lane = statistics.median(wide) / processor().vector_width
    return (
        f"| {label} | {len(slopes.operations):,} | {naive} | {seconds:.2f} "
        f"| {statistics.median(ours):.2f} | {lane:.2f} "
        f"| {statistics.median(theirs):.2f} | {median_ratio(theirs, ours):.2f} |"
    )


def _differentiated(m: rb.Model, name: str, case: Case) -> Program:
    """Return a program of the same derivatives, made by differentiating every operation."""
    tracing = Tracing(m, ("gravity",))

    def run() -> dict[str, Objects]:
        d = tracing.data(FUNCTIONS[name].inputs)
        given = [array for array in (d.qvel, d.qacc, d.qfrc_applied) if _is_input(array)]
        along = kernels.along_positions(tracing.m, d)
        along += [{symbol.number: 1.0} for array in given for symbol in array]
        uncompiled(case.line)(tracing.m, d)
        return {"out": jacobian(tracing.graph, getattr(d, case.values), along)}

    return program(tracing.graph, tracing.trace(run))


def _is_input(array: Objects) -> bool:
    return hasattr(array[0], "number")


def _call(m: rb.Model, d: rb.Data, lanes: Lanes) -> Callable[[], object]:
    """Return a function that runs the code of `lanes`, with the state of d for every robot."""
    address, slots = lanes.memory()
    for name, (first, length) in lanes.slots.items():
        if name != "out":
            values = m.opt.gravity if name == "gravity" else np.ravel(getattr(d, name))
            slots[first : first + length] = values[:length, None]
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lanes.address("slopes"))
    return lambda: (function(address), slots)  # keeps the memory alive


if __name__ == "__main__":
    main()

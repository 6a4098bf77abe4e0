# SPDX-License-Identifier: Apache-2.0
"""The joint laws as machine code specialised to one arm, with any payload and mounting."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.kernels import CACHE_DIRECTORY, kernel
from rbdyn_ros.dynamics import laws
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.jit import Matrix
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.calling import call_code
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.row_code import DONE, compiled_row
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

#: Arrays of the Model that payloads and the mounting change. The code reads them at every call.
READ = ("gravity", "body_mass", "body_ipos", "body_fullinertia")
#: Arrays of Data that a law reads.
MOTION = ("qpos", "qvel")

#: Rows of a law's memory, (ROWS, nv). Besides Model and Data the code uses one array, "out", which
#: begins at the efforts; so the gains have negative indices in it.
#:
#:     GAINS      position gain
#:                velocity gain
#:     EFFORTS    efforts                 <- "out" begins here
#:     TARGET     position
#:                velocity
#:                acceleration
GAINS, EFFORTS, TARGET, ROWS = 0, 2, 3, 6

KERNELS = (laws.damped_gravity, laws.pd_gravity, laws.joint_impedance, laws.computed_torque)


class LawCode:
    """Machine code of the joint laws for one arm; any thread may call it.

    Args:
        m: the arm's Model without payloads, as Arm.bare.

    Attributes:
        sha256: hash of that Model.

    Raises:
        ModelError: the arm cannot be specialised, or compilation is switched off.
    """

    def __init__(self, m: Model) -> None:
        machine.check_compiler("a specialised law")
        self.sha256: str = m.sha256()
        self._addresses: dict[str, int] = {}
        for law in KERNELS:
            self._addresses |= _compiled(m, law).addresses

    def computes(self, law: str, d: Data, memory: Array, target: Array) -> bool:
        """Write the efforts of a law at the state of d.

        Args:
            law: name of one of KERNELS.
            d: Data of the Model, with or without payloads.
            memory: (ROWS, nv), see GAINS, EFFORTS, TARGET; the target is copied into it.
            target: (3, nv) position, velocity, acceleration.

        Returns:
            False, without writing efforts, if the Model's options are not the compiled options.
        """
        address = self._addresses[law]
        done: bool = _entry.call(address, d.model_address, d.address, memory, target) == DONE
        return done


@kernel
def run(address: int, table: int, row: int, memory: Matrix, target: Matrix) -> int:
    """Copy the target to the memory, run the compiled code at `address`, return its result.

    `table` is the address of the Model's table, and `row` the address of the row of Data.
    """
    for i in range(3):
        for k in range(target.shape[1]):
            memory[TARGET + i, k] = target[i, k]
    out = memory[EFFORTS].ctypes.data
    return call_code(address, table, row, out, 1)  # type: ignore[no-any-return]


_entry = Entry(run)


def law_program(m: Model, law: Any) -> Program:
    """Return the program of a law; its array "out" is the law's memory from EFFORTS on."""
    tracing, n = Tracing(m, READ), m.nv
    function = uncompiled(law)

    def run() -> dict[str, Any]:
        memory = np.zeros((ROWS, n), object)
        for row in (*range(GAINS, EFFORTS), *range(TARGET, ROWS)):
            first = (row - EFFORTS) * n  # the index is negative for gains
            memory[row] = [tracing.graph.enter(("input", "out", first + k)) for k in range(n)]
        target, gains, effort = memory[TARGET:], memory[GAINS:EFFORTS], memory[EFFORTS]
        function(tracing.m, tracing.data(MOTION), target, gains, effort)
        return {"out": effort}

    return program(tracing.graph, tracing.trace(run))


def _compiled(m: Model, law: Any) -> machine.Code:
    # the key leaves out the laws' sources, because CACHE_DIRECTORY contains their hash
    return compiled_row(m, law.__name__, lambda: law_program(m, law), READ, "law", CACHE_DIRECTORY)

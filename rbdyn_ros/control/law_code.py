"""The laws of the joints as straight machine code of one arm, whatever its payloads are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control import laws
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.kernels import CACHE_DIRECTORY, kernel
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.calling import call_code
from rbdyn_ros.specialization.plain import plain
from rbdyn_ros.specialization.program import Program, program
from rbdyn_ros.specialization.row_code import DONE, compiled_row
from rbdyn_ros.specialization.trace import Tracing

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix

Array = NDArray[np.float64]

#: What payloads and the mounting change: it is read at every call.
READ = ("gravity", "body_mass", "body_ipos", "body_fullinertia")
#: What a law sees of a Data.
MOTION = ("qpos", "qvel")

#: Rows of the memory of a law, (ROWS, nv). Code reads and writes one array besides Model and Data,
#: "out", whose outputs are counted from 0: it begins at the efforts, and gains lie before it.
#:
#:     GAINS      gain of the position
#:                gain of the velocity
#:     EFFORTS    efforts                 <- "out" begins here
#:     TARGET     position
#:                velocity
#:                acceleration
GAINS, EFFORTS, TARGET, ROWS = 0, 2, 3, 6

#: Of all laws of the joints.
KERNELS = (laws.gravity, laws.pd_gravity, laws.impedance, laws.computed_torque)


def specialized(arm: Arm) -> Arm:
    """Return an arm whose laws of the joints are computed by code made for it, up to rounding.

    So it is for its twins, and with other payloads, for which nothing has to be compiled. All else
    is asked of the engine: the pose of a frame and the law that controls it, what is expected of
    measured efforts before arming, and what the robot compensates itself.

    Raises:
        ModelError: the arm has what cannot be specialised, or compilation is switched off.
    """
    return arm.with_code(LawCode(arm.bare))


class LawCode:
    """Code of the laws for an arm. It belongs to nobody: any thread may call it.

    Args:
        m: the Model of the arm without payloads, as Arm.bare.

    Attributes:
        sha256: of the Model, whose code it is.

    Raises:
        ModelError: the arm has what cannot be specialised, or compilation is switched off.
    """

    def __init__(self, m: Model) -> None:
        machine.demand_compiler("a specialised law")
        self.sha256: str = m.sha256()
        self._addresses: dict[str, int] = {}
        for law in KERNELS:
            self._addresses |= _compiled(m, law).addresses

    def computes(self, law: str, d: Data, memory: Array, target: Array) -> bool:
        """Write the efforts of a law at the state of a Data.

        Args:
            law: name of a kernel, of KERNELS.
            d: of the Model, or of the one with payloads.
            memory: (ROWS, nv), by GAINS, EFFORTS, TARGET; the target is written into it.
            target: (3, nv) position, velocity, acceleration.

        Returns:
            False if the options of the Model are not those that were built in; then no effort is
            written.
        """
        address = self._addresses[law]
        done: bool = _entry.call(address, d.model_address, d.address, memory, target) == DONE
        return done


@kernel
def run(address: int, table: int, row: int, memory: Matrix, target: Matrix) -> int:
    """Call code on the Model and the Data at two addresses; return what it returns."""
    for i in range(3):
        for k in range(target.shape[1]):
            memory[TARGET + i, k] = target[i, k]
    out = memory[EFFORTS].ctypes.data
    return call_code(address, table, row, out, 1)  # type: ignore[no-any-return]


_entry = Entry(run)


def law_program(m: Model, law: Any) -> Program:
    """Return what a law does; the array "out" is its memory, counted from EFFORTS on."""
    tracing, n = Tracing(m, READ), m.nv
    function = plain(law)

    def run() -> dict[str, Any]:
        memory = np.zeros((ROWS, n), object)
        for row in (*range(GAINS, EFFORTS), *range(TARGET, ROWS)):
            first = (row - EFFORTS) * n  # negative for gains
            memory[row] = [tracing.graph.enter(("input", "out", first + k)) for k in range(n)]
        given = memory[TARGET:], memory[:TARGET]
        wanted = function.__code__.co_argcount - 2  # a law without target takes the gains alone
        function(tracing.m, tracing.data(MOTION), *given[-wanted:])
        return {"out": memory[EFFORTS]}

    return program(tracing.graph, tracing.trace(run))


def _compiled(m: Model, law: Any) -> machine.Code:
    # the name of the cache has in it a hash of the sources of the laws
    return compiled_row(m, law.__name__, lambda: law_program(m, law), READ, "law", CACHE_DIRECTORY)

# SPDX-License-Identifier: Apache-2.0
"""The robots of a Batch on a GPU: arrays of CuPy, and kernels that CuPy compiles."""

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ModelError, ParameterError, bad_argument
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.arguments import robot_numbers
from rbdyn_ros.rollouts.contact.points import touching
from rbdyn_ros.rollouts.contact_drive import PASSES, ROUNDS
from rbdyn_ros.rollouts.contact_programs import contact_programs, memory_of
from rbdyn_ros.rollouts.job import COMMANDS
from rbdyn_ros.rollouts.outputs import OBSERVED_OUTPUTS
from rbdyn_ros.rollouts.params import check_built_in, open_places, with_springs
from rbdyn_ros.rollouts.programs import observer_program, step_program
from rbdyn_ros.specialization.functions import FORCES
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import (
    BLOCK,
    LONGEST_FUNCTION,
    THREADS,
    CudaKernel,
    advance_kernel,
    contact_kernel,
    gave_up,
    observe_kernel,
    source,
)
from rbdyn_ros.specialization.programs.program import hoist

#: Options of the compiler. Products and sums are not fused, as on the CPU.
OPTIONS = ("--std=c++17", "--fmad=false")

#: Compilers of CuPy, in the order in which they are tried.
COMPILERS = ("nvrtc", "nvcc")


class Cuda:
    """A Device of a Batch, see device.Device: the present GPU and stream of CuPy.

    Raises:
        ParameterError: there is no CuPy or no GPU, or the robots do not fit in its memory.
    """

    why = ""  # a GPU runs only code for the Model

    def __init__(self, m: Model, nsim: int, number: np.dtype[Any]) -> None:
        self._cupy = cupy()
        self.model, self.nsim, self.number = m, nsim, number
        self.nbad = self._new(f"{nsim} robots", (nsim,), np.int64)
        self.diverged = self._new(f"{nsim} robots", (nsim,), np.bool_)
        self._memory: Mapping[str, Any] = {}
        self._kernels: Sequence[tuple[CudaKernel, Any]] = ()

    def zeros(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return new memory (*shape, nsim)."""
        return self._new(f"{name} of {self.nsim} robots", (*shape, self.nsim), self.number)

    def _new(self, what: str, shape: tuple[int, ...], number: Any) -> Any:
        try:
            return self._cupy.zeros(shape, number)
        except self._cupy.cuda.memory.OutOfMemoryError:
            needed = int(np.prod(shape, dtype=int)) * np.dtype(number).itemsize
            free, _ = self._cupy.cuda.Device().mem_info
            text = f"{what} need {needed} bytes, and the GPU has {free} left; use fewer robots"
            raise bad_argument("nsim", text) from None

    def given(self, value: Any) -> Any:
        """Return a value that can be assigned to an array."""
        return self._cupy.asarray(value)

    def on_host(self, values: Any) -> Any:
        """Return an array as an array of NumPy."""
        return self._cupy.asnumpy(values)

    def chosen(self, ids: Any) -> Any:
        """Return the indices of robots, which are given as indices or as a mask."""
        known = ids if isinstance(ids, self._cupy.ndarray) else np.asarray(ids)
        return self._cupy.asarray(robot_numbers(known, ids, self.nsim, _sorted))

    def check_own(self, name: str) -> None:
        """Check that each robot can have its own numbers of a field of the Model."""
        check_built_in(self.model, name, "device='cpu' runs the engine's own code then")

    def prepare(self, memory: Mapping[str, Any], expanded: Collection[str]) -> None:
        """Compile the kernels for the options of the Model."""
        bound = [name for name in memory if name not in expanded]
        own = {name: open_places(self.model, name).tolist() for name in expanded}
        real = DOUBLE if self.number == np.float64 else FLOAT
        for longest in (LONGEST_FUNCTION, BLOCK):
            kernels = kernels_of(self.model, own, bound, self.number, longest)
            compiled = self._compiled(source(kernels, real))
            launches = [compiled.get_function(kernel.name) for kernel in kernels]
            if not any(gave_up(each.num_regs, each.local_size_bytes) for each in launches):
                break
        self._kernels = list(zip(kernels, launches, strict=True))
        self._memory = memory

    def _compiled(self, text: str) -> Any:
        """Return the compiled kernels; CuPy keeps them on disk."""
        reasons, refused = [], self._cupy.cuda.compiler.CompileException
        for compiler in COMPILERS:
            module = self._cupy.RawModule(code=text, options=OPTIONS, backend=compiler)
            try:
                module.compile()
            except (ImportError, OSError, RuntimeError, refused) as error:
                reasons.append(f"{compiler}: {' '.join(str(error).split())[:300]}")
            else:
                return module
        text = f"device='cuda': the code does not compile ({'; '.join(reasons)})"
        raise ParameterError(Finding("not-compiled", text, "error", "device"))

    def run(self, nstep: int, ids: Any) -> None:
        """Advance robots, or all if `ids` is None. The GPU has not finished when this returns."""
        count = self.nsim if ids is None else int(ids.size)
        if count == 0:
            return
        grid = min(-(-count // THREADS), 2**31 - 1)
        numbers = np.uint64(0) if ids is None else ids
        if self.model.nu > 0 and COMMANDS in self._memory:
            rows, robots = self.model.actuator_dofid, slice(None) if ids is None else ids
            commands = self._memory[COMMANDS][:, robots]
            for row, command in zip(rows.tolist(), commands, strict=True):
                self._memory["qfrc_applied"][row, robots] = command
        for kernel, launch in self._kernels:
            arrays = [self._memory[name] for name in kernel.arrays]
            launch(
                (grid,), (THREADS,),
                (np.int64(count), numbers, np.int64(self.nsim), np.int64(nstep), self.nbad,
                 self.diverged, *arrays),
            )  # fmt: skip

    def clear(self, rows: Any) -> None:
        """Reset the counts of some robots."""
        self.nbad[rows] = 0

    def remember(self, d: Data, k: int) -> None:
        """Do nothing: a tree without contact has no memory besides its state."""

    def counted(self, name: str) -> Any:  # noqa: ARG002 - there is no contact to count
        """Return zeros."""
        return self._cupy.zeros(self.nsim, np.int64)

    def __str__(self) -> str:
        gpu = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        return f"code for this Model on {gpu['name'].decode()}, {self.number.name}"


def kernels_of(
    m: Model, own: Mapping[str, Collection[int]], bound: Collection[str], number: np.dtype[Any],
    longest: int = LONGEST_FUNCTION,
) -> list[CudaKernel]:  # fmt: skip
    """Return the kernels of a Batch, in the order of their calls.

    Args:
        m: the Model.
        own: indices in flat arrays at which robots differ, by field of the Model, or "gravity".
        bound: fields of Data that have arrays.
        number: float64 or float32.
        longest: most operations of a program that is one function.

    Raises:
        ModelError: the Model cannot be specialised.
    """
    real = DOUBLE if number == np.float64 else FLOAT
    model = with_springs(m, {name: tuple(places) for name, places in own.items()})
    given = [name for name in FORCES if name in bound]
    try:
        step = step_program(model, own, None, given)
    except ModelError as error:
        if error.code != "not-traceable":
            raise
        raise _on_the_cpu(m, str(error)) from None
    once, repeated = hoist(step, tuple(own))
    state = {"time": 1, "qpos": m.nq, "qvel": m.nv} | ({"act": m.na} if m.na else {})
    kernels = [advance_kernel(once, repeated, state, real, longest)]
    seen = [name for name in OBSERVED_OUTPUTS if name in bound]
    outputs = observer_program(model, tuple(own.items()), seen)
    return [*kernels, observe_kernel(outputs, real, longest)] if outputs.outputs else kernels


def contact_kernel_of(
    m: Model, own: Mapping[str, Collection[int]], number: np.dtype[Any],
    longest: int = LONGEST_FUNCTION,
) -> CudaKernel:  # fmt: skip
    """Return the kernel of steps with contact on planes. Arguments are as for kernels_of.

    No Batch uses it yet, because it has not run on a GPU.

    Raises:
        ModelError: lanes have no code for the contacts, or a loop lists them robot by robot.
    """
    real = DOUBLE if number == np.float64 else FLOAT
    found = touching(m)
    if found.loops:
        reason = f"'{m.name}' cannot be specialised: contact other than with planes"
        raise _on_the_cpu(m, reason)
    programs, stops = contact_programs(m, own, None, ("qfrc_applied",), found)
    memory = memory_of(found) + len(stops) + 1  # the last entry marks the engine's memory
    state = {"time": 1, "qpos": m.nq, "qvel": m.nv, "grip": memory}
    return contact_kernel(programs, state, (ROUNDS, PASSES), real, longest)


def _on_the_cpu(m: Model, reason: str) -> ModelError:
    text = f"{reason}; a GPU has no code for it, device='cpu' runs it in the engine's own code"
    return ModelError(Finding("not-traceable", text, "error", m.name))


def cupy() -> ModuleType:
    """Return CuPy.

    Raises:
        ParameterError: CuPy is not installed, or finds no GPU.
    """
    try:
        import cupy as found

        runtime = found.cuda.runtime  # a folder of that name can also be imported
    except (ImportError, AttributeError) as error:
        text = (
            f"device='cuda' needs CuPy, which cannot be imported ({error}); "
            "pip install 'rbdyn_ros[cuda]' installs it for CUDA 13, cupy-cuda12x is for CUDA 12"
        )
        raise ParameterError(Finding("no-gpu", text, "error", "device")) from None
    try:
        runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        text = f"device='cuda' finds no GPU ({error}); device='cpu' needs none"
        raise ParameterError(Finding("no-gpu", text, "error", "device")) from None
    module: ModuleType = found
    return module


def _sorted(numbers: Any) -> Any:
    ordered = numbers.copy()
    ordered.sort()
    return ordered

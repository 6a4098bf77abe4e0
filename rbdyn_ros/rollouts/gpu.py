# SPDX-License-Identifier: Apache-2.0
"""The GPU of a Batch: arrays of CuPy, and kernels that CuPy compiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, bad_argument
from rbdyn_ros.specialization.languages.cuda_code import THREADS

#: Options of the compiler. Products and sums are not fused, as on the CPU.
OPTIONS = ("--std=c++17", "--fmad=false")

#: Compilers of CuPy, in the order in which they are tried.
COMPILERS = ("nvrtc", "nvcc")


@dataclass(frozen=True)
class Launch:
    """A compiled kernel.

    Attributes:
        run: function of a number of robots and the kernel's arguments after `count`, with None for
            a null pointer. It returns before the GPU has finished.
        registers: number of registers of a thread.
        local_memory: local memory of a thread [bytes].
    """

    run: Callable[..., None]
    registers: int
    local_memory: int


class Gpu:
    """The current GPU and stream of CuPy.

    Attributes:
        arrays: CuPy's module, which has NumPy's function names.

    Raises:
        ParameterError: there is no CuPy or no GPU.
    """

    def __init__(self) -> None:
        self.arrays = cupy()

    def zeros(self, what: str, shape: tuple[int, ...], number: Any) -> Any:
        """Return a new array of zeros in the memory of the GPU.

        Raises:
            ParameterError: `what` does not fit in the memory.
        """
        try:
            return self.arrays.zeros(shape, number)
        except self.arrays.cuda.memory.OutOfMemoryError:
            needed = int(np.prod(shape, dtype=int)) * np.dtype(number).itemsize
            free, _ = self.arrays.cuda.Device().mem_info
            text = f"{what} need {needed} bytes, and the GPU has {free} left; use fewer robots"
            raise bad_argument("nsim", text) from None

    def on_host(self, values: Any) -> Any:
        """Return an array as a NumPy array."""
        return self.arrays.asnumpy(values)

    def compiled(self, text: str, names: Sequence[str]) -> list[Launch]:
        """Compile the source text of kernels and return the kernels. CuPy caches them on disk.

        Raises:
            ParameterError: the text does not compile.
        """
        reasons, refused = [], self.arrays.cuda.compiler.CompileException
        for compiler in COMPILERS:
            module = self.arrays.RawModule(code=text, options=OPTIONS, backend=compiler)
            try:
                module.compile()
            except (ImportError, OSError, RuntimeError, refused) as error:
                reasons.append(f"{compiler}: {' '.join(str(error).split())[:300]}")
            else:
                return [_launch(module.get_function(name)) for name in names]
        text = f"device='cuda': the code does not compile ({'; '.join(reasons)})"
        raise ParameterError(Finding("not-compiled", text, "error", "device"))

    def __str__(self) -> str:
        cuda = self.arrays.cuda
        name: str = cuda.runtime.getDeviceProperties(cuda.Device().id)["name"].decode()
        return name


def _launch(function: Any) -> Launch:
    def run(count: int, *given: Any) -> None:
        grid = min(-(-count // THREADS), 2**31 - 1)
        known = (np.uint64(0) if each is None else each for each in given)
        function((grid,), (THREADS,), (np.int64(count), *known))

    return Launch(run, function.num_regs, function.local_size_bytes)


def cupy() -> ModuleType:
    """Return CuPy.

    Raises:
        ParameterError: CuPy is not installed, or finds no GPU.
    """
    try:
        import cupy as found

        runtime = found.cuda.runtime  # raises an error if a folder named cupy was imported instead
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

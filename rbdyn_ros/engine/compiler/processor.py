# SPDX-License-Identifier: Apache-2.0
"""The processor for which Numba and the LLVM code of this package generate machine code.

It is the processor of this machine, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from numba.core.registry import cpu_target


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor in LLVM's terms.

    Attributes:
        name: name of the processor, such as "znver4".
        features: comma-separated features, each after + (on) or - (off): "+avx2,-avx512f".
    """

    name: str
    features: str

    @property
    def vector_width(self) -> int:
        """Number of float64 numbers in a vector register."""
        present = self.features.split(",")
        if "+avx512f" in present:
            return 8
        return 4 if "+avx" in present else 2


@functools.cache
def processor() -> Processor:
    """Return the processor that Numba compiles for."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return Processor(name, features)

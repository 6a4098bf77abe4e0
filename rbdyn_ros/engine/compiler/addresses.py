# SPDX-License-Identifier: Apache-2.0
"""Generate calls of machine code by its address, for use in intrinsics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

INT64 = ir.IntType(64)
VOID = ir.VoidType()


def call_address(
    builder: ir.IRBuilder, address: Any, arguments: Sequence[Any], result: ir.Type = VOID
) -> Any:
    """Generate a call of the function at an address; arguments and result determine its type."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)

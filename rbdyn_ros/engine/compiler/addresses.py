# SPDX-License-Identifier: Apache-2.0
"""Calls of machine code by its address, in the code that intrinsics generate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

INT64 = ir.IntType(64)
VOID = ir.VoidType()


def call_address(
    builder: ir.IRBuilder, address: Any, arguments: Sequence[Any], result: ir.Type = VOID
) -> Any:
    """Call the function at an address, with the type given by the arguments and the result."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)

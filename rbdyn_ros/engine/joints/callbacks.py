"""Calls from kernels to functions of the user, by the address a Model holds.

The functions take four pointers to doubles; user.py makes them. An indirect call costs some
nanoseconds, and the engine need not be compiled again for a new joint type.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from rbdyn_ros.model import callbacks

DOUBLES = ir.DoubleType().as_pointer()
SIGNATURE = types.void(*[types.CPointer(types.float64)] * 4)


def call(address, a, b, c, d):
    """Call the function at `address` with the starts of four arrays."""
    callbacks.by_address(address).plain(a, b, c, d)


@intrinsic
def _call_pointer(context, address, a, b, c, d):
    def generate(context, builder, signature, values):
        kind = ir.FunctionType(ir.VoidType(), [DOUBLES] * 4)
        function = builder.inttoptr(values[0], kind.as_pointer())
        arrays = zip(signature.args[1:], values[1:], strict=True)
        builder.call(function, [make_array(t)(context, builder, v).data for t, v in arrays])
        return context.get_dummy_value()

    return types.void(types.int64, a, b, c, d), generate


@overload(call)
def _call_compiled(address, a, b, c, d):
    def compiled(address, a, b, c, d):
        _call_pointer(address, a, b, c, d)

    return compiled

# SPDX-License-Identifier: Apache-2.0
"""Calls from kernels to user functions, whose addresses are in the Model.

The functions take four pointers to doubles; user.py compiles them. An indirect call costs some
nanoseconds, but the engine need not be compiled again for a new joint type.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from rbdyn_ros.engine.compiler.addresses import call_address
from rbdyn_ros.model.declared import callbacks

SIGNATURE = types.void(*[types.CPointer(types.float64)] * 4)


def call(address, a, b, c, d):
    """Call the function at `address` with pointers to the first entries of four arrays."""
    callbacks.by_address(address).plain(a, b, c, d)


@intrinsic
def _call_pointer(context, address, a, b, c, d):
    def generate(context, builder, signature, values):
        arrays = zip(signature.args[1:], values[1:], strict=True)
        starts = [make_array(kind)(context, builder, value).data for kind, value in arrays]
        call_address(builder, values[0], starts)
        return context.get_dummy_value()

    return types.void(types.int64, a, b, c, d), generate


@overload(call)
def _call_compiled(address, a, b, c, d):
    def compiled(address, a, b, c, d):
        _call_pointer(address, a, b, c, d)

    return compiled

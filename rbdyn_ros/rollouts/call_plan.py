"""The engine's compiled step, for callers that know a Data's address alone.

A header before the Data leads to all else: the table of its Model, and a plan of what is to be
called. These functions choose; what they call is the machine code that rb.step runs. The memory of
a robot is one block, in which slots are counted from the Data on:

    | header | Data | what of the Model the robot has of its own | law | table of the Model |
             ^ row: its address, at a cache line
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.engine import jit
from rbdyn_ros.engine.optional import data_at, model_at
from rbdyn_ros.engine.views import DATA, MODEL
from rbdyn_ros.rollouts.driver import CACHE_DIRECTORY, call_memory

#: A header: whole numbers, as many as fill a cache line, and which of them are the addresses of a
#: plan and of the table.
HEADER = 8
PLAN_AT, TABLE_AT = HEADER - 2, HEADER - 1

#: A plan: the number of slots; that of the counter, of the masses of bodies and of subtrees (-1:
#: they are the Model's); the address of advance; the address of a law (0: there is none), its
#: memory, where forces are in it; where it looks for time, qpos and qvel, each with the number of
#: entries that it looks at; how many addresses of observers follow.
(
    SIZE, COUNTER, MASS, SUBTREE, STEP, LAW, LAW_MEMORY, LAW_FORCES, LAW_TIME, LAW_TIME_COUNT,
    LAW_QPOS, LAW_QPOS_COUNT, LAW_QVEL, LAW_QVEL_COUNT, OBSERVERS,
) = range(15)  # fmt: skip

#: Where a law looks, in the order of STATE.
LAW_SEES = (
    (LAW_TIME, LAW_TIME_COUNT), (LAW_QPOS, LAW_QPOS_COUNT), (LAW_QVEL, LAW_QVEL_COUNT),
)  # fmt: skip


def begin(row):
    """Sum the masses of subtrees, where masses are the robot's own.

    Args:
        row: address of the Data.
    """
    header = _ints(row - 8 * HEADER, HEADER)
    plan = _ints(header[PLAN_AT], OBSERVERS + 1)
    if plan[MASS] >= 0:
        m, memory = model_at(header[TABLE_AT]), _floats(row, plan[SIZE])
        own, total = plan[MASS], plan[SUBTREE]
        for i in range(m.nbody):
            memory[total + i] = memory[own + i]
        for i in range(m.nbody - 1, 0, -1):
            memory[total + m.body_parentid[i]] += memory[total + i]


def advance(row):
    """Advance by one step, after the law has said what acts, if there is one.

    Args:
        row: address of the Data.
    """
    header = _ints(row - 8 * HEADER, HEADER)
    plan = _ints(header[PLAN_AT], OBSERVERS + 1)
    memory = _floats(row, plan[SIZE])
    m, d = model_at(header[TABLE_AT]), data_at(header[TABLE_AT], row)
    if plan[LAW] != 0:
        if plan[LAW_TIME_COUNT] > 0:
            memory[plan[LAW_TIME]] = d.time
        for k in range(plan[LAW_QPOS_COUNT]):
            memory[plan[LAW_QPOS] + k] = d.qpos[k]
        for k in range(plan[LAW_QVEL_COUNT]):
            memory[plan[LAW_QVEL] + k] = d.qvel[k]
        call_memory(plan[LAW], row + 8 * plan[LAW_MEMORY])
        for k in range(m.nv):
            d.qfrc_applied[k] = memory[plan[LAW_FORCES] + k]
    _call_advance(plan[STEP], m, d, 1)
    memory[plan[COUNTER]] = d.nbad


def observe(row):
    """Compute what outputs follow from the new state.

    Args:
        row: address of the Data.
    """
    header = _ints(row - 8 * HEADER, HEADER)
    count = _ints(header[PLAN_AT], OBSERVERS + 1)[OBSERVERS]
    plan = _ints(header[PLAN_AT], OBSERVERS + 1 + count)
    m, d = model_at(header[TABLE_AT]), data_at(header[TABLE_AT], row)
    for k in range(count):
        _call_stage(plan[OBSERVERS + 1 + k], m, d)


def _array_at(kind):
    """Return the function of an address and a length that makes an array over what is there."""

    @intrinsic
    def array_at(context, address, count):
        def generate(context, builder, signature, values):
            array = make_array(signature.return_type)(context, builder)
            element = context.get_data_type(kind).as_pointer()
            populate_array(
                array,
                data=builder.inttoptr(values[0], element),
                shape=cgutils.pack_array(builder, [values[1]]),
                strides=cgutils.pack_array(builder, [values[1].type(8)]),
                itemsize=values[1].type(8),
                meminfo=None,
            )
            return array._getvalue()

        return types.Array(kind, 1, "C")(types.int64, types.int64), generate

    return array_at


_ints, _floats = _array_at(types.int64), _array_at(types.float64)


def _call(context, builder, signature, values):
    """Call what Numba made of a kernel for callers from outside: it takes views as they are."""
    kinds = [context.get_value_type(kind) for kind in signature.args]
    function = ir.FunctionType(context.get_value_type(types.none), kinds[1:])
    builder.call(builder.inttoptr(values[0], function.as_pointer()), values[1:])
    return context.get_dummy_value()


@intrinsic
def _call_stage(context, address, m, d):
    return types.void(types.int64, m, d), _call


@intrinsic
def _call_advance(context, address, m, d, nstep):
    return types.void(types.int64, m, d, types.int64), _call


def code_address(code: Callable[[int], None]) -> int:
    """Return the address of begin, advance or observe."""
    return int(_compiled(code).address)


@functools.cache
def _compiled(code):
    """Return what Numba made of one of them; kept, so that its address stays good."""
    with jit.caching_in(CACHE_DIRECTORY):
        return numba.cfunc(types.void(types.int64), cache=True, **jit.OPTIONS)(code)


@functools.cache
def kernel_address(kernel, *more):
    """Return the address of a kernel of (m, d, ...): of the very code that its Entry calls."""
    signature = (MODEL, DATA, *more)
    if signature not in kernel.overloads:
        kernel.compile(signature)
    made = kernel.overloads[signature]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))

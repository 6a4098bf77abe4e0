# SPDX-License-Identifier: Apache-2.0
"""Call the engine's compiled step, given only the address of a Data.

A header before the Data holds the addresses of the Model's table and of a plan. The plan lists the
functions to call, which are the machine code that rb.step runs. The memory of a robot is one
block. Slots are counted from the Data, which starts at a cache line:

    | header | Data | the robot's own arrays of the Model | law | table of the Model |
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.addresses import call_address
from rbdyn_ros.engine.compiler.optional import data_at, model_at
from rbdyn_ros.engine.compiler.views import DATA, MODEL
from rbdyn_ros.rollouts.driver import (
    CACHE_DIRECTORY,
    array_at,
    call_memory,
    floats_at,
    ints_at,
)

#: Length of the header (a cache line), and the indices of its two addresses; model/data.py defines
#: the places of the stages' addresses.
HEADER = 8
PLAN_AT, TABLE_AT = HEADER - 2, HEADER - 1

#: Fields of a plan, all whole numbers. The addresses of the observers come after the plan.
PLAN_FIELDS = {
    "slots": "number of slots of a robot's memory",
    "counter": "slot of the counter nbad",
    "mass": "first slot of the masses of bodies; -1: the robot has the Model's",
    "subtree": "first slot of the masses of subtrees",
    "step": "address of substep",
    "law": "address of the law; 0: no law",
    "law_memory": "first slot of the law's memory",
    "law_forces": "first slot of the forces of the law",
    "law_time": "slot of the time in the law's memory",
    "law_time_count": "1 if the law reads the time, else 0",
    "law_qpos": "first slot of qpos in the law's memory",
    "law_qpos_count": "number of entries of qpos that the law reads",
    "law_qvel": "first slot of qvel in the law's memory",
    "law_qvel_count": "number of entries of qvel that the law reads",
    "observers": "number of observers",
}
PLAN = np.dtype([(name, np.int64) for name in PLAN_FIELDS])
PLAN_SIZE = PLAN.itemsize

_plans = array_at(numba.from_dtype(PLAN), PLAN_SIZE)


def begin(row):
    """Sum the masses of subtrees if the robot has its own masses."""
    header = ints_at(row - 8 * HEADER, HEADER)
    plan = _plans(header[PLAN_AT], 1)[0]
    if plan.mass >= 0:
        m, memory = model_at(header[TABLE_AT]), floats_at(row, plan.slots)
        own, total = plan.mass, plan.subtree
        for i in range(m.nbody):
            memory[total + i] = memory[own + i]
        for i in range(m.nbody - 1, 0, -1):
            memory[total + m.body_parentid[i]] += memory[total + i]


def advance(row):
    """Compute the law, if the plan has a law, and advance by one step."""
    header = ints_at(row - 8 * HEADER, HEADER)
    plan = _plans(header[PLAN_AT], 1)[0]
    memory = floats_at(row, plan.slots)
    m, d = model_at(header[TABLE_AT]), data_at(header[TABLE_AT], row)
    if plan.law != 0:
        if plan.law_time_count > 0:
            memory[plan.law_time] = d.time
        for k in range(plan.law_qpos_count):
            memory[plan.law_qpos + k] = d.qpos[k]
        for k in range(plan.law_qvel_count):
            memory[plan.law_qvel + k] = d.qvel[k]
        call_memory(plan.law, row + 8 * plan.law_memory)
        for k in range(m.nv):
            d.qfrc_applied[k] = memory[plan.law_forces + k]
    _call_stage(plan.step, m, d)
    memory[plan.counter] += d.nbad
    d.nbad = 0


def observe(row):
    """Compute the outputs that depend on the new state."""
    header = ints_at(row - 8 * HEADER, HEADER)
    count = _plans(header[PLAN_AT], 1)[0].observers
    addresses = ints_at(header[PLAN_AT] + PLAN_SIZE, count)
    m, d = model_at(header[TABLE_AT]), data_at(header[TABLE_AT], row)
    for k in range(count):
        _call_stage(addresses[k], m, d)


@intrinsic
def _call_stage(context, address, m, d):
    """Call a kernel through its entry point for callers outside Numba; m and d are views."""

    def generate(context, builder, signature, values):
        call_address(builder, values[0], values[1:], context.get_value_type(types.none))
        return context.get_dummy_value()

    return types.void(types.int64, m, d), generate


def code_address(code: Callable[[int], None]) -> int:
    """Compile a function of an address, such as advance; return the address of its code."""
    return int(_compiled(code).address)


@functools.cache
def _compiled(code):
    """Return the compiled function; cached, so that its address stays valid."""
    return jit.callback(code, types.void(types.int64), CACHE_DIRECTORY)


@functools.cache
def kernel_address(kernel):
    """Return the address of a kernel of (m, d): the code that its Entry calls."""
    signature = (MODEL, DATA)
    if signature not in kernel.overloads:
        kernel.compile(signature)
    made = kernel.overloads[signature]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))

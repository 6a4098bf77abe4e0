# SPDX-License-Identifier: Apache-2.0
"""Optional stages, which plain trees do not need; they are compiled when a Data needs them.

All kernels that a tick can call are compiled with it, once for each entry point, so rare stages
would delay the first tick of every robot. An optional stage is compiled once, when the first Data
needs it. The tick of a plain tree only compares an address with zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.addresses import INT64, call_address
from rbdyn_ros.engine.compiler.views import DATA, MODEL, view_at
from rbdyn_ros.model.declared.callbacks import STAGE_MAKERS
from rbdyn_ros.model.declared.model_fields import DATA_STAGES, STAGES
from rbdyn_ros.model.declared.options import OPTION_STAGES

SIGNATURE = types.void(types.int64, types.int64)

Stage = Callable[[Any, Any], None]

#: The stages by number and, for callers of uncompiled kernels, by name.
_plain: dict[int | str, Stage] = {}
_numbers = itertools.count(1)  # numbers that replace addresses if nothing is compiled


def optional_stage(name: str) -> Callable[[Stage], Stage]:
    """Return a decorator that registers a function as the stage `name`.

    The function must be at module level, because the cache identifies it by name. Its arguments
    are the addresses of a Model's table and of a Data's row. It calls a kernel with the results of
    model_at and data_at.
    """
    assert name in (*STAGES, *DATA_STAGES, *OPTION_STAGES)

    def enter(stage: Stage) -> Stage:
        made: list[Any] = []

        def address() -> int:
            if not made:
                made.append(_number(stage) if jit.DISABLED else _compiled(stage))
            return made[0] if jit.DISABLED else int(made[0].address)

        STAGE_MAKERS[name] = address
        _plain[name] = stage
        return stage

    return enter


def _number(stage: Stage) -> int:
    number = next(_numbers)
    _plain[number] = stage
    return number


def _compiled(stage: Stage) -> Any:
    return jit.callback(stage, SIGNATURE, jit.CACHE_DIRECTORY)


def call_stage(address: int, m: Any, d: Any) -> None:
    """Call the stage at `address` with a Model and a Data."""
    plain_stage(address)(m, d)


def plain_stage(address: int | str) -> Stage:
    """Return the Python function of a stage, by its number or name."""
    return _plain[address]


def model_at(table):
    """Return the Model at the address of its table; in uncompiled code `table` is the Model."""
    return table


def data_at(table, row):
    """Return the Data at the addresses of table and row; in uncompiled code `row` is the Data."""
    return row


@intrinsic
def _model_at(context, table):
    def generate(context, builder, signature, values):
        return view_at(context, builder, MODEL, values[0])

    return MODEL(types.int64), generate


@intrinsic
def _data_at(context, table, row):
    def generate(context, builder, signature, values):
        return view_at(context, builder, DATA, values[0], values[1])

    return DATA(types.int64, types.int64), generate


@intrinsic
def _call_pointer(context, address, d):
    def generate(context, builder, signature, values):
        members = cgutils.create_struct_proxy(DATA)(context, builder, value=values[1])
        both = [builder.ptrtoint(place, INT64) for place in (members.table, members.row)]
        call_address(builder, values[0], both)
        return context.get_dummy_value()

    return types.void(types.int64, d), generate


@overload(call_stage)
def _call_stage_compiled(address, m, d):
    def compiled(address, m, d):
        _call_pointer(address, d)

    return compiled


@overload(model_at)
def _model_at_compiled(table):
    def compiled(table):
        return _model_at(table)

    return compiled


@overload(data_at)
def _data_at_compiled(table, row):
    def compiled(table, row):
        return _data_at(table, row)

    return compiled

# SPDX-License-Identifier: Apache-2.0
"""Python versions of compiled kernels, for tracing."""

import builtins
import threading
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from rbdyn_ros.engine.compiler import optional
from rbdyn_ros.engine.compiler.jit import COMPILED, select
from rbdyn_ros.engine.joints.callbacks import call as compiled_call
from rbdyn_ros.model.declared import callbacks

Function = Callable[..., Any]


def _larger(a: Any, *others: Any) -> Any:
    for b in others:
        a = select(b > a, b, a)  # type: ignore[no-untyped-call]
    return a


def _smaller(a: Any, *others: Any) -> Any:
    for b in others:
        a = select(b < a, b, a)  # type: ignore[no-untyped-call]
    return a


#: Python's max and min would branch on symbols.
BUILTINS = {**vars(builtins), "max": _larger, "min": _smaller}

#: Libraries whose functions never call compiled kernels.
LIBRARIES = ("numpy", "math", "builtins")

_made: dict[Function, Function] = {}
_lock = threading.RLock()


def uncompiled(kernel: Any) -> Function:
    """Return a kernel as a Python function, which calls Python functions in turn."""
    with _lock:  # other threads must not see a function whose calls are not replaced yet
        return _uncompiled(kernel)


def _uncompiled(kernel: Any) -> Function:
    function = kernel.py_func if isinstance(kernel, COMPILED) else kernel
    if not isinstance(function, FunctionType):
        return function
    if function not in _made:
        names: dict[str, Any] = {"__builtins__": BUILTINS}
        closure = tuple(CellType() for _ in function.__closure__ or ())
        copied = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, closure
        )
        copied.__kwdefaults__ = function.__kwdefaults__
        copied.__module__ = function.__module__
        # store this function before the functions that it calls, because they may call it
        _made[function] = _made[copied] = copied
        for new, cell in zip(closure, function.__closure__ or (), strict=True):
            new.cell_contents = _uncompiled_value(cell.cell_contents)
        for name, value in _globals_used(function):
            names[name] = _uncompiled_value(value)
    return _made[function]


def call_stage(name: Any, m: Any, d: Any) -> None:
    """Call an optional stage by its name; a symbolic Model has names in place of addresses."""
    uncompiled(optional.plain_stage(name))(m, d)


def call(address: int, *arrays: Any) -> None:
    """Call the Python function of a user function by its address."""
    uncompiled(callbacks.by_address(address).plain)(*arrays)


#: Functions that call machine code by its address, each with a function that calls Python instead.
_CALLS: dict[Any, Function] = {optional.call_stage: call_stage, compiled_call: call}


def _uncompiled_value(value: Any) -> Any:
    if isinstance(value, COMPILED):
        return uncompiled(value)
    if isinstance(value, FunctionType):
        if value in _CALLS:
            return _CALLS[value]
        if value.__module__.split(".")[0] not in LIBRARIES:
            return uncompiled(value)
    return value


def _globals_used(function: FunctionType) -> Iterator[tuple[str, Any]]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]

"""Compiled kernels as plain Python functions, in a process in which they are compiled."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

from rbdyn_ros.engine import optional
from rbdyn_ros.engine.jit import select

Function = Callable[..., Any]


def _larger(a: Any, *others: Any) -> Any:
    for b in others:
        a = select(b > a, b, a)
    return a


def _smaller(a: Any, *others: Any) -> Any:
    for b in others:
        a = select(b < a, b, a)
    return a


#: Python's own max and min would branch on symbols.
BUILTINS = {**vars(builtins), "max": _larger, "min": _smaller}

_made: dict[Function, Function] = {}


def plain(kernel: Any) -> Function:
    """Return a kernel as Python function; the kernels that it calls are Python as well."""
    function = kernel.py_func if isinstance(kernel, Dispatcher) else kernel
    if not isinstance(function, FunctionType):
        return function  # type: ignore[no-any-return]
    if function not in _made:
        names: dict[str, Any] = {"__builtins__": BUILTINS}
        copied = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__,
            function.__closure__,
        )  # fmt: skip
        copied.__kwdefaults__ = function.__kwdefaults__
        _made[function] = copied  # before those it calls: they may call it
        for name, value in _globals_used(function):
            names[name] = _plain_value(value)
    return _made[function]


def call_stage(name: Any, m: Any, d: Any) -> None:
    """Call an optional stage: a symbolic Model has names for addresses."""
    plain(optional.plain_stage(name))(m, d)


def _plain_value(value: Any) -> Any:
    if value is optional.call_stage:
        return call_stage
    if isinstance(value, Dispatcher):
        return plain(value)
    if isinstance(value, FunctionType) and any(
        isinstance(used, Dispatcher | ModuleType) for _, used in _globals_used(value)
    ):
        return plain(value)
    return value


def _globals_used(function: FunctionType) -> Iterator[tuple[str, Any]]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]

"""From Python into compiled code: the checks of the boundary, and the shortest way across it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from numba import types

from rbdyn_ros.engine.jit import DISABLED
from rbdyn_ros.engine.views import DATA, MODEL
from rbdyn_ros.errors import Finding, ModelError

P = ParamSpec("P")

_TYPES = {
    "Model": MODEL,
    "Data": DATA,
    "int": types.int64,
    "float": types.float64,
    "Vector": types.float64[::1],
    "Matrix": types.float64[:, ::1],
}


def compiled(kernel: Any) -> Callable[..., None]:
    """Compile a kernel of (m, d, ...), or take it from the cache; return its bare entry point.

    The entry point takes the addresses of m and d and skips Numba's look at the types of its
    arguments, which would take as long as a small stage.
    """
    annotations = kernel.py_func.__annotations__
    signature = tuple(_TYPES[kind] for name, kind in annotations.items() if name != "return")
    kernel.compile(signature)
    entry: Callable[..., None] = kernel.overloads[signature].entry_point
    return entry


def stage(kernel: Callable[P, None]) -> Callable[P, None]:
    """Return the public function of a kernel of (m, d, ...); it is compiled at the first call.

    The function raises ModelError if d was not made for m.
    """
    if DISABLED:
        return kernel

    def compile_first(*args: Any) -> None:
        nonlocal entry
        entry = compiled(kernel)
        entry(*args)

    entry: Callable[..., None] = compile_first

    def run(m: Any, d: Any, *args: Any) -> None:
        check_pair(m, d)
        entry(m.address, d.address, *args)

    def run_pair(m: Any, d: Any) -> None:
        try:
            if d.model is not m:
                raise _not_a_pair(m, d)
        except AttributeError:
            raise _not_a_pair(m, d) from None
        entry(m.address, d.address)

    function = kernel.py_func  # type: ignore[attr-defined]
    takes_more = function.__code__.co_argcount > 2
    return functools.update_wrapper(run if takes_more else run_pair, function)


def check_pair(m: Any, d: Any) -> None:
    """Raise ModelError if d was not made for m."""
    if getattr(d, "model", None) is not m:
        raise _not_a_pair(m, d)


def _not_a_pair(m: object, d: object) -> ModelError:
    text = f"{d!r} was not made for {m!r}; use d = rb.make_data(m) with the same m."
    return ModelError(Finding("data-of-other-model", text))

"""Calls of compiled code from Python: the checks of arguments, and the fastest way to call."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from rbdyn_ros.engine.jit import DISABLED
from rbdyn_ros.engine.views import DATA, MODEL
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.inertia_pattern import MAX_M_ENTRIES
from rbdyn_ros.model.model import Model

_TYPES = {
    "Model": MODEL,
    "Data": DATA,
    "int": types.int64,
    "float": types.float64,
    "Vector": types.float64[::1],
    "Matrix": types.float64[:, ::1],
    "Cube": types.float64[:, :, ::1],
}


MAX_STEPS = 2**62  # well within a 64-bit counter

#: Stands for the model of anything that is not a Data.
NOBODY = object()


class Entry:
    """The compiled entry point of a kernel of (m, d, ...); compiled at the first call.

    Attributes:
        call: takes the addresses of m and d, then the kernel's other arguments. It skips Numba's
            type dispatch, which would take as long as a small stage, and it checks nothing: m
            and d must belong together.
    """

    __slots__ = ("call", "kernel")

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.call: Callable[..., Any] = self._compile_and_call

    def _compile_and_call(self, *args: Any) -> Any:
        annotations = self.kernel.py_func.__annotations__
        signature = tuple(_TYPES[kind] for name, kind in annotations.items() if name != "return")
        self.kernel.compile(signature)
        self.call = self.kernel.overloads[signature].entry_point
        return self.call(*args)


def public(kernel: Any, name: str = "") -> Callable[..., Any]:
    """Return the public function of a kernel of (m, d, ...); it returns what the kernel does.

    The function raises ModelError if d was not made for m; the error calls it `name`, or as the
    kernel.
    """
    name = name or getattr(kernel, "py_func", kernel).__name__
    if DISABLED:
        return _checked(kernel, name)
    entry = Entry(kernel)

    # one function for each number of arguments, because *args cost time at every call; d holds the
    # address of m too, where Python finds it faster
    def run(m: Model, d: Any) -> Any:
        if getattr(d, "model", NOBODY) is not m:
            raise not_a_pair(m, d, name)
        return entry.call(d.model_address, d.address)

    def run_with(m: Model, d: Any, x: Any) -> Any:
        if getattr(d, "model", NOBODY) is not m:
            raise not_a_pair(m, d, name)
        return entry.call(d.model_address, d.address, x)

    def run_with_two(m: Model, d: Any, x: Any, y: Any) -> Any:
        if getattr(d, "model", NOBODY) is not m:
            raise not_a_pair(m, d, name)
        return entry.call(d.model_address, d.address, x, y)

    def run_with_three(m: Model, d: Any, x: Any, y: Any, z: Any) -> Any:
        if getattr(d, "model", NOBODY) is not m:
            raise not_a_pair(m, d, name)
        return entry.call(d.model_address, d.address, x, y, z)

    function = kernel.py_func
    chosen = (run, run_with, run_with_two, run_with_three)[function.__code__.co_argcount - 2]
    return functools.update_wrapper(chosen, function)


def _checked(kernel: Any, name: str) -> Callable[..., Any]:
    @functools.wraps(kernel)
    def run(m: Model, d: Any, *more: Any) -> Any:
        if getattr(d, "model", NOBODY) is not m:
            raise not_a_pair(m, d, name)
        return kernel(m, d, *more)

    return run


def check_pair(m: object, d: object, function: str = "") -> None:
    """Raise ModelError if d was not made for m."""
    if getattr(d, "model", NOBODY) is not m:
        raise not_a_pair(m, d, function)


def not_a_pair(m: object, d: object, function: str = "") -> ModelError:
    """Return the error for a Data that is used with another Model than its own.

    A specialised Model in the place of m gets the call that is right for it.
    """
    if isinstance(m, Model) or not hasattr(m, "step_derivatives"):
        text = f"{d!r} was not made for {m!r}; use d = rb.make_data(m) with the same m."
        return ModelError(Finding("data-of-other-model", text))
    if hasattr(m, function):
        text = f"rb.{function} takes a Model, got {m!r}; call s.{function}(d) instead"
    else:
        text = f"{function or 'this function'} is not specialised; call it with {m!r}.model"
    return ModelError(Finding("not-specialised", text, "error", function))


def check_mass_matrix(m: Model, d: object, function: str) -> None:
    """Raise ModelError if d was not made for m, or if M of the Model is too large."""
    check_pair(m, d, function)
    if m.nM == 0 and m.nv > 0:
        raise no_mass_matrix(m, function)


def no_mass_matrix(m: Model, function: str) -> ModelError:
    """Return the error for a function that needs M of a Model whose M is too large."""
    text = (
        f"{function}: the mass matrix of '{m.name}' has more than {MAX_M_ENTRIES} entries; "
        "use forward_dynamics and inverse, which do not need it."
    )
    return ModelError(Finding("no-mass-matrix", text, "error", function))


def step_count(nstep: object) -> int:
    """Return a number of steps; raises ParameterError unless it is a whole number up to 2^62."""
    try:
        count = operator.index(nstep)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if not 0 <= count < MAX_STEPS:
        text = f"nstep is {nstep!r}; allowed is a whole number from 0 to 2^62."
        raise ParameterError(Finding("nstep", text, "error", "nstep", None, repr(nstep)))
    return count


def is_vector(vector: object, n: int, written: bool) -> bool:
    """Return whether an object is an array of n numbers that a kernel may read, or write."""
    if not isinstance(vector, np.ndarray) or vector.shape != (n,) or vector.dtype != np.float64:
        return False
    flags = vector.flags
    return bool(flags.c_contiguous and flags.aligned and (flags.writeable or not written))

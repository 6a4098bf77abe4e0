# SPDX-License-Identifier: Apache-2.0
"""Call compiled code from Python as fast as possible, with checks of the arguments."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from rbdyn_ros.checks.numbers import count
from rbdyn_ros.dynamics import compiling  # noqa: F401 - it registers its notice
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.compiler.views import DATA, MODEL
from rbdyn_ros.errors import Finding, ModelError, shown
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.inertia_pattern import MAX_M_ENTRIES

#: The Numba type of each annotation of an Entry's arguments.
TYPES = {
    "Model": MODEL,
    "Data": DATA,
    "bool": types.boolean,
    "int": types.int64,
    "float": types.float64,
    "Vector": types.float64[::1],
    "Matrix": types.float64[:, ::1],
    "Cube": types.float64[:, :, ::1],
    "Ints": types.int64[::1],
}

#: Largest number of steps of one call, well within a 64-bit counter.
MAX_STEPS = 2**62 - 1

#: Many timesteps are divided into calls of about this duration [s].
PERIOD = 0.02

#: Stands for the Model of an object that is not a Data.
NOBODY = object()


class Substitute:
    """Base of objects that users may pass in place of a Model by mistake.

    Their methods take only a Data.
    """

    model: Model


class Entry:
    """The entry point of a kernel, which is compiled at the first call.

    The annotations of the kernel's arguments must be names in TYPES, as text, so the kernel's
    module needs `from __future__ import annotations`.

    Attributes:
        call: the compiled function, which takes addresses for m and d, see `handles`. It skips
            Numba's type dispatch, which would take as long as a small stage. It checks nothing: d
            must have been made for m, and arrays must have exactly the annotated types.
    """

    __slots__ = ("_signature", "call", "kernel")

    def __init__(self, kernel: Any) -> None:
        kinds = dict(getattr(kernel, "py_func", kernel).__annotations__)
        kinds.pop("return", None)
        self.kernel, self._signature = kernel, tuple(TYPES[kind] for kind in kinds.values())
        self.call: Callable[..., Any] = kernel if DISABLED else self._compile_and_call

    def _compile_and_call(self, *args: Any) -> Any:
        self.kernel.compile(self._signature)
        self.call = self.kernel.overloads[self._signature].entry_point
        return self.call(*args)


def handles(m: Model, d: Data) -> tuple[Any, Any]:
    """Return the arguments of an Entry for m and d, which are valid as long as m and d exist."""
    return (m, d) if DISABLED else (d.model_address, d.address)


def public(kernel: Any, name: str = "") -> Callable[..., Any]:
    """Return the public function of (m, d, ...) that calls a kernel and returns its results.

    The function raises ModelError if d was not made for m. `name` is the function's name in the
    message, by default the name of the kernel.
    """
    name = name or getattr(kernel, "py_func", kernel).__name__
    if DISABLED:
        return _checked(kernel, name)
    entry = Entry(kernel)

    # There is a function for each number of arguments, because *args would slow every call. The
    # address of m is read from d, which is faster. entry.call(...) would first search for a
    # method.
    def run(m: Model, d: Any) -> Any:
        try:
            owner = d.model
        except AttributeError:
            owner = NOBODY
        if owner is not m:
            raise not_a_pair(m, d, name)
        call = entry.call
        return call(d.model_address, d.address)

    def run_with(m: Model, d: Any, x: Any) -> Any:
        try:
            owner = d.model
        except AttributeError:
            owner = NOBODY
        if owner is not m:
            raise not_a_pair(m, d, name)
        call = entry.call
        return call(d.model_address, d.address, x)

    def run_with_two(m: Model, d: Any, x: Any, y: Any) -> Any:
        try:
            owner = d.model
        except AttributeError:
            owner = NOBODY
        if owner is not m:
            raise not_a_pair(m, d, name)
        call = entry.call
        return call(d.model_address, d.address, x, y)

    def run_with_three(m: Model, d: Any, x: Any, y: Any, z: Any) -> Any:
        try:
            owner = d.model
        except AttributeError:
            owner = NOBODY
        if owner is not m:
            raise not_a_pair(m, d, name)
        call = entry.call
        return call(d.model_address, d.address, x, y, z)

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
    """Return the error for a Data of another Model.

    If m is a Substitute, the message shows the correct call.
    """
    if not isinstance(m, Substitute):
        text = f"{d!r} was not made for {m!r}; use d = rb.make_data(m) with the same m."
        return ModelError(Finding("data-of-other-model", text))
    if hasattr(m, function):
        text = f"rb.{function} takes a Model, got {m!r}; call s.{function}(d) instead"
    else:
        text = f"{function or 'this function'} is not specialised; call it with {m!r}.model"
    return ModelError(Finding("not-specialised", text, "error", function))


def whole_steps(nstep: object) -> int:
    """Return nstep as an int.

    Raises:
        ParameterError: nstep is not a whole number from 0 to less than 2^62.
    """
    if type(nstep) is int and 0 <= nstep <= MAX_STEPS:
        return nstep
    return count("nstep", nstep, 0, MAX_STEPS, code="nstep")


def in_pieces(advance: Callable[[int], object], nstep: int, first: int) -> None:
    """Call `advance` in pieces that add up to nstep timesteps; Ctrl-C is handled in between.

    Args:
        advance: function that advances a number of timesteps.
        nstep: the total number of timesteps.
        first: timesteps of the first call; each later call should take PERIOD.
    """
    piece = min(first, nstep)
    begin = time.perf_counter()
    advance(piece)
    while piece < nstep:
        nstep -= piece
        end = time.perf_counter()
        faster = PERIOD / max(end - begin, 1e-9)
        piece = min(nstep, max(1, int(piece * min(faster, 10.0))))
        begin = end
        advance(piece)


def check_mass_matrix(m: Model, d: object, function: str) -> None:
    """Raise ModelError if d was not made for m, or if the Model is too large to have M."""
    check_pair(m, d, function)
    if m.nM == 0 and m.nv > 0:
        raise no_mass_matrix(m, function)


def no_mass_matrix(m: Model, function: str) -> ModelError:
    """Return the error of a function that needs M, for a Model that is too large to have M."""
    text = (
        f"{function}: the mass matrix of '{m.name}' has more than {MAX_M_ENTRIES} entries; "
        "use forward_dynamics and inverse, which do not need it"
    )
    return ModelError(Finding("no-mass-matrix", text, "error", function))


def is_vector(vector: object, n: int, written: bool) -> bool:
    """Return whether an object is an array of n floats that a kernel can read (or write)."""
    if not isinstance(vector, np.ndarray) or vector.shape != (n,) or vector.dtype != np.float64:
        return False
    flags = vector.flags
    return bool(flags.c_contiguous and flags.aligned and (flags.writeable or not written))


def kind_of(value: object) -> str:
    """Return a value as text for a message; of an array its type, shape and order in memory."""
    if not isinstance(value, np.ndarray):
        return shown(value)
    flags = value.flags
    parts = [f"an array of {value.dtype} with the shape {value.shape}"]
    parts += ["not contiguous"] * (not flags.c_contiguous) + ["read-only"] * (not flags.writeable)
    return ", ".join(parts)


def check_vector(vector: object, n: int, written: bool = False, name: str = "") -> None:
    """Raise ModelError unless a kernel can read `vector` as n floats, or write it if `written`."""
    if not is_vector(vector, n, written):
        kind = "writable, contiguous" if written else "contiguous"
        start = f"{name}: " if name else ""
        found = kind_of(vector)
        text = f"{start}expected a {kind} float64 array of shape ({n},), got {found}"
        raise ModelError(Finding("vector-shape", text, "error", name))

# SPDX-License-Identifier: Apache-2.0
"""Decorators for toolbox functions that call a kernel, which fills a new array."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import Entry, check_pair, public
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.quantities.jacobian import LOCAL, LOCAL_WORLD_ALIGNED, WORLD
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.model import Model

#: Numbers of the references (point and axes) of a frame's motion, see frames.py.
REFERENCES = {"world": WORLD, "local": LOCAL, "local_world_aligned": LOCAL_WORLD_ALIGNED}

#: Errors on the fast path: d is not a Data, or a shape, a name or the compiled code is missing.
MISSING = (AttributeError, KeyError, TypeError)

Shape = Callable[[Model], "int | tuple[int, ...]"]
F = TypeVar("F", bound=Callable[..., Any])


def returns(kernel: Any) -> Callable[[F], F]:
    """Make a function of (m, d) return the number that a kernel of (m, d) computes.

    The decorated function has only a signature and a docstring.
    """

    def decorate(stub: F) -> F:
        return cast("F", functools.update_wrapper(public(kernel), stub))

    return decorate


class fills:  # noqa: N801  a decorator
    """Make a function of (m, d, ...) return a new array that a kernel of (m, d, ..., array) fills.

    The decorated function has only a signature and a docstring. For a small robot most of the time
    of a call is spent in Python. So each call first tries a path with as few instructions as
    possible. If this path raises an error, a second path does the same work, or raises an error
    with the reason.

    Args:
        kernel: a kernel of (m, d, *numbers, array).
        shape: function of a Model that returns the shape of the array, or raises ModelError.
    """

    def __init__(self, kernel: Any, shape: Shape) -> None:
        self.entry, self.shape, self.call = Entry(kernel), shape, _not_compiled

    def __call__(self, stub: F) -> F:
        call, shape, empty = self.call, self.shape, np.empty

        def run(m: Model, d: Any) -> Any:
            nonlocal call
            try:
                if d.model is m:
                    out = empty(d.shapes[shape])
                    call(d.model_address, d.address, out)
                    return out
            except MISSING:
                pass
            check_pair(m, d, stub.__name__)
            out = self._filled(m, d)
            call = self.call
            return out

        return cast("F", functools.update_wrapper(run, stub))

    def of_body(self, stub: F) -> F:
        """Make a function of (m, d, body=0) return a new array, as `fills` does."""
        call, shape, empty = self.call, self.shape, np.empty

        def run(m: Model, d: Any, body: str | int = 0) -> Any:
            nonlocal call
            try:
                # without the test of types, the look-up would also accept True and 1.0
                if d.model is m and (type(body) is int or type(body) is str):
                    out = empty(d.shapes[shape])
                    call(d.model_address, d.address, m.body_numbers[body], out)
                    return out
            except MISSING:
                pass
            check_pair(m, d, stub.__name__)
            out = self._filled(m, d, m.body_id(body))
            call = self.call
            return out

        return cast("F", functools.update_wrapper(run, stub))

    def of_frame(self, stub: F) -> F:
        """Make a function of (m, d, frame, reference) return a new array, as `fills` does."""
        call, shape, empty = self.call, self.shape, np.empty

        def run(m: Model, d: Any, frame: str | int, reference: str = "local_world_aligned") -> Any:
            nonlocal call
            try:
                if d.model is m and (type(frame) is str or type(frame) is int):
                    out = empty(d.shapes[shape])
                    number = m.frame_numbers[frame]
                    call(d.model_address, d.address, number, REFERENCES[reference], out)
                    return out
            except MISSING:
                pass
            check_pair(m, d, stub.__name__)
            number = m.frame_id(frame)
            if not isinstance(reference, str) or reference not in REFERENCES:
                raise unknown_reference(reference)
            out = self._filled(m, d, number, REFERENCES[reference])
            call = self.call
            return out

        return cast("F", functools.update_wrapper(run, stub))

    def _filled(self, m: Model, d: Any, *numbers: int) -> Array:
        """Return the filled array; store its shape and the compiled code for the fast path."""
        out = np.empty(d.shapes.setdefault(self.shape, self.shape(m)))
        if DISABLED:
            self.entry.kernel(m, d, *numbers, out)
        else:
            self.entry.call(d.model_address, d.address, *numbers, out)
            self.call = self.entry.call
        return out


def _not_compiled(*_: object) -> None:
    raise KeyError


def square(m: Model) -> tuple[int, int]:
    """Return the shape (nv, nv)."""
    return m.nv, m.nv


def unknown_reference(reference: object) -> ParameterError:
    """Return the error for an unknown reference."""
    allowed = ", ".join(f"'{name}'" for name in REFERENCES)
    hint = did_you_mean(reference, REFERENCES) if isinstance(reference, str) else ""
    text = f"reference is {reference!r}{hint}; allowed are {allowed}"
    return ParameterError(
        Finding("unknown-reference", text, "error", "reference", None, repr(reference), allowed)
    )

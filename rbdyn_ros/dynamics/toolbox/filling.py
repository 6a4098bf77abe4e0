"""How toolbox functions call their kernels: a kernel fills a new array of a given shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from rbdyn_ros.dynamics.entry import NOBODY, Entry, not_a_pair
from rbdyn_ros.engine.jit import DISABLED
from rbdyn_ros.engine.quantities.jacobian import LOCAL, LOCAL_WORLD_ALIGNED, WORLD
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.model import Model

#: Reference point and axes of the motion of a frame, see frames.py.
REFERENCES = {"world": WORLD, "local": LOCAL, "local_world_aligned": LOCAL_WORLD_ALIGNED}

#: Types that need no closer check before a look-up.
PLAIN = (str, int)

Shape = Callable[[Model], "int | tuple[int, ...]"]
F = TypeVar("F", bound=Callable[..., Any])


class fills:  # noqa: N801  a decorator
    """Make a function of (m, d, ...) return a new array that a kernel of (m, d, ..., array) fills.

    The decorated function has only a signature and a docstring. A single function is a third
    faster than one that calls another, which matters for small robots.

    Args:
        kernel: a kernel of (m, d, *numbers, array).
        shape: returns the shape of the array for a Model.
    """

    def __init__(self, kernel: Any, shape: Shape) -> None:
        self.entry, self.kernel, self.shape = Entry(kernel), kernel, shape

    def __call__(self, stub: F) -> F:
        entry, kernel, shape, empty = self.entry, self.kernel, self.shape, np.empty

        def run(m: Model, d: Any) -> Any:
            if getattr(d, "model", NOBODY) is not m:
                raise not_a_pair(m, d, stub.__name__)
            out = empty(shape(m))
            if DISABLED:
                kernel(m, d, out)
            else:
                entry.call(d.model_address, d.address, out)
            return out

        return cast("F", functools.update_wrapper(run, stub))

    def of_body(self, stub: F) -> F:
        """Do the same for a function of (m, d, body); `body` is 0 by default."""
        entry, kernel, shape, empty = self.entry, self.kernel, self.shape, np.empty

        def run(m: Model, d: Any, body: str | int = 0) -> Any:
            if getattr(d, "model", NOBODY) is not m:
                raise not_a_pair(m, d, stub.__name__)
            number = m.body_numbers[body] if type(body) in PLAIN else m.body_id(body)
            out = empty(shape(m))
            if DISABLED:
                kernel(m, d, number, out)
            else:
                entry.call(d.model_address, d.address, number, out)
            return out

        return cast("F", functools.update_wrapper(run, stub))

    def of_frame(self, stub: F) -> F:
        """Do the same for a function of (m, d, frame, reference)."""
        entry, kernel, shape, empty = self.entry, self.kernel, self.shape, np.empty

        def run(m: Model, d: Any, frame: str | int, reference: str = "local_world_aligned") -> Any:
            if getattr(d, "model", NOBODY) is not m:
                raise not_a_pair(m, d, stub.__name__)
            number = m.frame_numbers[frame] if type(frame) in PLAIN else m.frame_id(frame)
            try:
                where = REFERENCES[reference]
            except (KeyError, TypeError):
                raise unknown_reference(reference) from None
            out = empty(shape(m))
            if DISABLED:
                kernel(m, d, number, where, out)
            else:
                entry.call(d.model_address, d.address, number, where, out)
            return out

        return cast("F", functools.update_wrapper(run, stub))


def unknown_reference(reference: object) -> ParameterError:
    """Return the error for an unknown reference."""
    allowed = ", ".join(f"'{name}'" for name in REFERENCES)
    hint = did_you_mean(reference, REFERENCES) if isinstance(reference, str) else ""
    text = f"reference is {reference!r}{hint}; allowed are {allowed}"
    return ParameterError(
        Finding("unknown-reference", text, "error", "reference", None, repr(reference), allowed)
    )

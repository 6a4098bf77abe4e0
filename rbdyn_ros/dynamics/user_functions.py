# SPDX-License-Identifier: Apache-2.0
"""Check user functions: errors, finite numbers, and derivatives, by finite differences."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError

STEP = 1e-5
#: Relative tolerance of a derivative. Extrapolated differences over h and h/2 are far more exact.
TOLERANCE = 1e-6
#: Rounding error of a difference quotient over STEP of numbers near one, with a wide margin.
ROUNDING = 1e-8
STATES = 9


class UserFunction:
    """A user function; error messages contain its name and its argument.

    Args:
        function: the Python function.
        name: name of the function in messages.
        element: the element that findings name.
        argument: name of the argument in messages.
    """

    def __init__(
        self, function: Callable[..., object], name: str, element: str, argument: str
    ) -> None:
        self.function, self.name = function, name
        self.element, self.argument = element, argument

    def run(self, x: object, *arguments: object) -> None:
        """Call the function; raise ModelError if it raises any exception."""
        try:
            self.function(*arguments)
        except Exception as error:  # the function may raise any exception
            raise self.wrong(x, f"raises {type(error).__name__}: {error}") from error

    def wrong(self, x: object, reason: str) -> ModelError:
        """Return the error for a wrong result of the function at x."""
        at = x.tolist() if isinstance(x, np.ndarray) else x
        text = f"{self.name} {reason} (at {self.argument} = {at})"
        return ModelError(Finding("user-function", text, "error", self.element))

    def check_finite(self, x: object, values: Iterable[Array]) -> None:
        """Raise ModelError unless all values at x are finite."""
        if not all(np.isfinite(value).all() for value in values):
            raise self.wrong(x, "returns numbers that are not finite")

    def check_slope(
        self, x: object, name: str, given: Array, of: str, value: Callable[[float], Array]
    ) -> None:
        """Raise ModelError unless `given` is the derivative of `value` at zero.

        The message calls the derivative `name` and the function `of`.
        """
        if (found := wrong_entry(given, value)) is not None:
            at, slope = found
            entry = self.entry(name, at, float(given[at]))
            raise self.wrong(x, f"has {entry}, but the derivative of {of} is {slope:.6g} there")

    def entry(self, name: str, at: tuple[int, ...], number: float) -> str:
        """Return the text for an entry of a derivative in messages."""
        return f"{name}[{', '.join(map(str, at))}] = {number:.6g}"


def wrong_entry(
    given: Array, value: Callable[[float], Array]
) -> tuple[tuple[int, ...], float] | None:
    """Compare a given derivative with the derivative of `value` at zero.

    Entries at which `value` is not finite are not compared.

    Returns:
        None if they agree; otherwise the index of the worst entry and its correct value.
    """
    slope, allowed = _slope_at_zero(value)
    excess = np.where(np.isfinite(slope), np.abs(given - slope) - allowed, -1.0)
    if not excess.max() > 0.0:
        return None
    at = np.unravel_index(np.argmax(excess), excess.shape)
    return tuple(map(int, at)), float(slope[at])


def _slope_at_zero(value: Callable[[float], Array]) -> tuple[Array, Array]:
    """Return the derivative of `value` at zero, and the largest allowed difference from it."""
    wide, narrow = ((value(h) - value(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
    slope = (4.0 * narrow - wide) / 3.0
    size = max(1.0, float(np.abs(value(0.0)).max()), float(np.abs(slope).max()) * STEP)
    return slope, TOLERANCE * np.abs(slope) + 4.0 * np.abs(wide - narrow) + ROUNDING * size


def states(ranges: Array) -> Iterator[tuple[Array, Array]]:
    """Yield STATES random positions in ranges (n, 2), each with rates between -1 and 1.

    Each of STATES equal parts of the range of a coordinate contains one position.
    """
    rng = np.random.default_rng(1)
    low, high = ranges.T
    parts = np.column_stack([rng.permutation(STATES) for _ in low])
    for share in (parts + rng.uniform(size=parts.shape)) / STATES:
        yield low * (1.0 - share) + high * share, rng.uniform(-1.0, 1.0, len(low))

# SPDX-License-Identifier: Apache-2.0
"""Check numbers from outside: their type, shape and range."""

import math
import operator
import sys
from numbers import Real
from typing import Any, NoReturn, overload

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, exactly, shown

#: Lengths of the axes of an array; None: the axis may have any length.
Shape = tuple[int | None, ...]
#: A message shows a vector of the wrong length if it has at most this number of entries.
FEW = 12


@overload
def finite(  # type: ignore[overload-overlap]
    name: str,
    value: object,
    shape: tuple[()] = (),
    low: float | None = None,
    high: float | None = None,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    above: float | None = None,
    allowed: str = "",
    element: str | None = None,
) -> float: ...


@overload
def finite(
    name: str,
    value: object,
    shape: Shape | None,
    low: float | None = None,
    high: float | None = None,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    above: float | None = None,
    allowed: str = "",
    element: str | None = None,
    fill: bool = False,
) -> Array: ...


def finite(
    name: str,
    value: object,
    shape: Shape | None = (),
    low: float | None = None,
    high: float | None = None,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    above: float | None = None,
    allowed: str = "",
    element: str | None = None,
    fill: bool = False,
) -> float | Array:
    """Return a finite number as a float, or an array of finite numbers as a read-only copy.

    Strings, booleans and masked numbers are refused.

    Args:
        name: name of the value in messages.
        value: a number, or anything that NumPy converts to an array of numbers.
        shape: shape of the array; (): one number; None: an array of any shape.
        low: smallest allowed number; None: no bound.
        high: largest allowed number; None: no bound.
        error: class of the error.
        code: code of the finding.
        above: every number must be greater than this; None: no bound.
        allowed: text of the message about what is allowed; empty: made from shape and range.
        element: element of the finding; None: the name.
        fill: whether one number may stand for all entries of the array.

    Raises:
        RbdynError: the value is anything else; the error has the class `error`.
    """

    def refuse(said: str, found: object, sizes: str = "") -> NoReturn:
        where = name if element is None else element
        wanted = allowed or _allowed(shape, low, high, above, fill)
        verb = "is" if sizes or wanted.startswith(("a ", "one ")) else "are"
        message = f"{said}; allowed {verb} {sizes or wanted}"
        raise error(Finding(code, message, "error", where, None, shown(found), wanted))

    if shape == ():
        number = as_number(value)
        if not (math.isfinite(number) and _inside(number, low, high, above)):
            refuse(f"{name} is {shown(value)}", value)
        return number
    values = _as_array(value)
    if values is None:
        refuse(f"{name} is {shown(value)}", value)
    if not _fits(values.shape, shape) and not (fill and values.shape == ()):
        few = values.ndim < 2 and values.size <= FEW and len(shape or ()) == 1
        if few and shape != (None,):
            refuse(f"{name} is {shown(value)}", value)
        sizes = _written(shape or ()) + (" or one number" if fill else "")
        refuse(f"{name} has the shape {values.shape}", value, sizes)
    fine = np.isfinite(values) & _inside(values, low, high, above)
    if not fine.all():
        place = np.argwhere(~fine)[0].tolist()
        at = f"entry [{', '.join(map(str, place))}] of " if place else ""
        bad = values[tuple(place)].item()
        refuse(f"{at}{name} is {bad}", bad)
    if fill and values.shape == () and shape:
        values = np.full(tuple(n or 1 for n in shape), values)
    values.flags.writeable = False
    return values


def count(
    name: str,
    value: object,
    low: int = 0,
    high: int | None = None,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    element: str | None = None,
) -> int:
    """Return the value as an int if it is a whole number from low to high (None: no bound).

    Raises:
        RbdynError: the value is anything else, such as a boolean; the error has the class `error`.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if isinstance(value, bool | np.bool_) or number < low or (high is not None and number > high):
        allowed = (
            f"a whole number from {low} to {high}"
            if high is not None
            else _least("a whole number", low)
        )
        message = f"{name} is {shown(value)}; allowed is {allowed}"
        where = name if element is None else element
        raise error(Finding(code, message, "error", where, None, shown(value), allowed))
    return number


def flag(
    name: str,
    value: object,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    element: str | None = None,
) -> bool:
    """Return the value as a bool if it is True or False.

    Raises:
        RbdynError: the value is anything else, such as 0 or 1; the error has the class `error`.
    """
    if not isinstance(value, bool | np.bool_):
        message = f"{name} is {shown(value)}; allowed is True or False"
        where = name if element is None else element
        raise error(Finding(code, message, "error", where, None, shown(value), "True or False"))
    return bool(value)


def as_number(value: object) -> float:
    """Return a number as a float; for everything else, such as booleans and strings: NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest float
        return math.inf


def _as_array(value: object) -> Array | None:
    """Return a contiguous array of floats as a copy, or None if an entry is not a number."""
    if type(value) is np.ndarray and value.dtype == np.float64:  # checked often in loops
        return np.array(value, np.float64, order="C")
    try:
        found = np.asarray(value)
        parts = np.asarray(value, object) if isinstance(value, list | tuple) else found
    except (TypeError, ValueError, OverflowError):
        return None
    if _is_masked(value) or found.dtype.kind not in "iufO":
        return None
    if parts.dtype.kind == "O" and any(isinstance(part, bool | np.bool_) for part in parts.flat):
        return None
    if found.dtype.kind == "O":  # objects, such as integers beyond 64 bits
        if not all(isinstance(part, Real) for part in found.flat):
            return None
        return np.array([as_number(part) for part in found.flat]).reshape(found.shape)
    return np.array(found, np.float64, order="C")


def _is_masked(value: object) -> bool:
    """Return whether a masked array hides some of its numbers."""
    ma: Any = sys.modules.get("numpy.ma")  # if this slow module is not loaded, no array is masked
    return ma is not None and bool(ma.is_masked(value))


def _fits(found: tuple[int, ...], shape: Shape | None) -> bool:
    if shape is None:
        return True
    return len(found) == len(shape) and all(
        n is None or n == k for k, n in zip(found, shape, strict=True)
    )


def _inside(x: Any, low: float | None, high: float | None, above: float | None) -> Any:
    inside: Any = True
    if low is not None:
        inside = x >= low
    if high is not None:
        inside = inside & (x <= high)
    return inside & (x > above) if above is not None else inside


def _allowed(
    shape: Shape | None, low: float | None, high: float | None, above: float | None, fill: bool
) -> str:
    each = ""
    if shape in {(), (1,)}:
        numbers = "a finite number"
    elif shape is None or len(shape) != 1 or shape[0] is None:
        numbers = "finite numbers"
    elif fill:
        numbers, each = f"one finite number or a list of {shape[0]}", ", each"
    else:
        numbers = f"{shape[0]} finite numbers"
    if above is not None:
        most = "" if high is None else f" and at most {exactly(high)}"
        return f"{numbers}{each} above {exactly(above)}{most}"
    if low is not None:
        if high is None:
            return f"{numbers}{each} {exactly(low)} or more" if each else _least(numbers, low)
        return f"{numbers}{each} from {exactly(low)} to {exactly(high)}"
    return f"{numbers}{each} up to {exactly(high)}" if high is not None else numbers


def _least(numbers: str, low: float) -> str:
    return f"{numbers}, {exactly(low)} or more"


def _written(shape: Shape) -> str:
    sizes = ", ".join("n" if n is None else str(n) for n in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"

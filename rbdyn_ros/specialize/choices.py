"""NumPy's functions on numbers that are not known yet, alone and in arrays.

Where NumPy compares objects it asks them for true or false: a branch for every entry of an array.
Here what is asked is written down, and what follows from it is chosen by select.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.engine.jit import is_known, select

#: Functions of one number, by their names in NumPy; a symbol has methods of these names.
UNARY = ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "floor", "fabs")


class SymbolArray(np.ndarray[Any, Any]):
    """An array of objects, symbols and numbers, whose comparisons are no branches."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where and len(args) == 3:
            return np.frompyfunc(_chosen, 3, 1)(*args)
        return super().__array_function__(function, types, args, options)

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, SymbolArray) and at.shape == self.shape:  # a mask
            if np.ndim(value) > 0:
                raise TypeError("where a mask holds only one number can be put; use np.where")
            at, value = ..., np.where(at, value, self)
        super().__setitem__(at, value)


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Apply a function of NumPy to what symbols are among.

    Args:
        ufunc: the function.
        method: how, such as "__call__" or "reduce".
        inputs: what it is applied to.
        options: by name; all as NumPy hands them to `__array_ufunc__`.
    """
    given = [_as_array(x) for x in inputs]
    out = options.get("out", ())
    if out:
        options = {**options, "out": tuple(map(_as_array, out))}
    found = getattr(CHOICES.get(ufunc.__name__, ufunc), method)(*given, **options)
    if out:
        return out[0]
    many = any(isinstance(x, SymbolArray) for x in inputs) and isinstance(found, np.ndarray)
    return found.view(SymbolArray) if many else found


def _as_array(x: Any) -> Any:
    """Return an array of objects that leaves everything to NumPy."""
    if isinstance(x, SymbolArray):
        return x.view(np.ndarray)
    if is_known(x):  # type: ignore[no-untyped-call]
        return x
    alone = np.empty((), object)
    alone[()] = x
    return alone


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    return select(condition, yes, no)  # type: ignore[no-untyped-call]


def _known(x: Any) -> bool:
    return bool(is_known(x))  # type: ignore[no-untyped-call]


def _least(a: Any, b: Any) -> Any:
    return _nearer(b < a, a <= b, a, b)


def _most(a: Any, b: Any) -> Any:
    return _nearer(a < b, b <= a, a, b)


def _nearer(second: Any, first: Any, a: Any, b: Any) -> Any:
    """Return b or a, whose condition holds; where none does one of them is NaN, and so a + b."""
    if _known(b) and not np.isnan(b):
        return _chosen(second, b, a)
    return _chosen(second, b, _chosen(first, a, a + b))


def _within(x: Any, least: Any, most: Any) -> Any:
    return _least(_most(x, least), most)


def _sign(x: Any) -> Any:
    return _chosen(x < 0.0, -1.0, _chosen(x > 0.0, 1.0, x))


def _truth(x: Any) -> Any:
    return _chosen(x, 1.0, 0.0)


def _angle(y: Any, x: Any) -> Any:
    if _known(y) and _known(x):
        return float(np.arctan2(float(y), float(x)))
    return x.angle_from(y) if _known(y) else y.arctan2(x)


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(np, name)
    return lambda x: float(function(float(x))) if _known(x) else getattr(x, name)()


#: What is applied, entry by entry, for NumPy's functions of these names.
CHOICES: dict[str, Any] = {
    "less": np.frompyfunc(operator.lt, 2, 1),
    "less_equal": np.frompyfunc(operator.le, 2, 1),
    "greater": np.frompyfunc(operator.gt, 2, 1),
    "greater_equal": np.frompyfunc(operator.ge, 2, 1),
    "equal": np.frompyfunc(operator.eq, 2, 1),
    "not_equal": np.frompyfunc(operator.ne, 2, 1),
    "logical_and": np.frompyfunc(lambda a, b: _truth(a) + _truth(b) > 1.0, 2, 1),
    "logical_or": np.frompyfunc(lambda a, b: _truth(a) + _truth(b) > 0.0, 2, 1),
    "logical_not": np.frompyfunc(lambda a: _truth(a) < 1.0, 1, 1),
    "minimum": np.frompyfunc(_least, 2, 1),
    "maximum": np.frompyfunc(_most, 2, 1),
    "clip": np.frompyfunc(_within, 3, 1),
    "sign": np.frompyfunc(_sign, 1, 1),
    "arctan2": np.frompyfunc(_angle, 2, 1),
} | {name: np.frompyfunc(_unary(name), 1, 1) for name in UNARY}

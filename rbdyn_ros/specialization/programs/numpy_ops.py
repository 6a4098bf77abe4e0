# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on symbols and on arrays of symbols.

NumPy converts comparisons of objects to True or False, which would need a branch for every entry
of an array. Here comparisons are recorded, and `select` uses them to choose between values.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.engine.compiler.jit import is_known, select

#: NumPy names of functions of one number; symbols have methods of these names.
UNARY = ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "floor", "fabs")

#: Array functions of NumPy that only move entries or apply functions that symbols support. Other
#: functions might silently ignore symbols.
FUNCTIONS = (
    "zeros_like", "ones_like", "full_like", "empty_like", "copy", "copyto", "concatenate", "stack",
    "hstack", "vstack", "append", "reshape", "ravel", "transpose", "squeeze", "expand_dims",
    "broadcast_to", "flip", "roll", "tile", "repeat", "split", "take", "ndim", "shape", "size",
    "diag", "trace", "sum", "prod", "mean", "cumsum", "diff", "dot", "inner", "outer", "cross",
    "vdot", "einsum", "tensordot", "norm", "max", "min", "amax", "amin", "any", "all", "clip",
)  # fmt: skip


class SymbolArray(np.ndarray[Any, Any]):
    """An array of symbols and numbers whose comparisons do not branch."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.where and len(args) == 3:
            found = _WHERE(*map(_as_array, args))
        elif function.__name__ in FUNCTIONS:
            found = super().__array_function__(function, types, args, options)
        else:
            raise TypeError(f"NumPy's {function.__name__} does not take unknown numbers")
        objects = isinstance(found, np.ndarray) and found.dtype == object
        return found.view(SymbolArray) if objects else found

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, SymbolArray) and at.shape == self.shape and all(map(_is_truth, at.flat)):
            if np.ndim(value) > 0:
                raise TypeError(
                    "only one number can be assigned by a mask of unknown conditions; use np.where"
                )
            at, value = ..., np.where(at, value, self)
        super().__setitem__(at, value)


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Apply a function of NumPy to inputs that contain symbols.

    Args:
        ufunc: the function.
        method: method of the function, such as "__call__" or "reduce".
        inputs: inputs of the function.
        options: keyword arguments. NumPy passes all four arguments to `__array_ufunc__`.

    Raises:
        TypeError: the option `where` has unknown conditions.
    """
    given = [_as_array(x) for x in inputs]
    if np.asarray(options.get("where", True)).dtype == object:
        raise TypeError("where= does not take unknown conditions; use np.where")
    out = options.get("out", ())
    if out:
        options = {**options, "out": tuple(map(_as_array, out))}
    if method == "reduce":
        given, options = _reduced(ufunc.__name__, given, dict(options))
    found = getattr(CHOICES.get(ufunc.__name__, ufunc), method)(*given, **options)
    if out:
        return out[0]
    many = any(isinstance(x, SymbolArray) for x in inputs) and isinstance(found, np.ndarray)
    return found.view(SymbolArray) if many else found


def _as_array(x: Any) -> Any:
    """Return a value that NumPy supports: a number unchanged, symbols in an object array."""
    if isinstance(x, SymbolArray):
        return x.view(np.ndarray)
    if is_known(x):  # type: ignore[no-untyped-call]
        return x
    alone = np.empty((), object)
    alone[()] = x
    return alone


def _reduced(
    name: str, given: list[Any], options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return inputs and options of a reduction on one axis; `any` and `all` get conditions."""
    if name in ("logical_and", "logical_or"):
        given = [np.frompyfunc(lambda x: x != 0.0, 1, 1)(given[0])]
    if options.get("axis", 0) is None and not options.get("keepdims"):
        given, options["axis"] = [np.ravel(given[0])], 0
    return given, options


def _is_truth(x: Any) -> bool:
    """Return whether a value is a condition, True or False."""
    return hasattr(x, "as_number") or isinstance(x, bool | np.bool_)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    return select(condition, yes, no)  # type: ignore[no-untyped-call]


_WHERE = np.frompyfunc(_chosen, 3, 1)


def _known(x: Any) -> bool:
    return bool(is_known(x))  # type: ignore[no-untyped-call]


def _least(a: Any, b: Any) -> Any:
    return _nearer(b < a, a <= b, a, b)


def _most(a: Any, b: Any) -> Any:
    return _nearer(a < b, b <= a, a, b)


def _nearer(second: Any, first: Any, a: Any, b: Any) -> Any:
    """Return b if `second` holds, a if `first` holds, or else a + b, which is then NaN."""
    if _known(b) and not np.isnan(b):
        return _chosen(second, b, a)
    return _chosen(second, b, _chosen(first, a, a + b))


def _but_nan(first: Any, a: Any, b: Any) -> Any:
    """Return a if `first` holds, else b; NaN only if both are NaN."""
    return _chosen(first, a, _chosen(b != b, a, b))  # noqa: PLR0124


def _truth(x: Any) -> Any:
    return _chosen(x, 1.0, 0.0)


def _angle(y: Any, x: Any) -> Any:
    if _known(y) and _known(x):
        return float(np.arctan2(float(y), float(x)))
    return x.angle_from(y) if _known(y) else y.arctan2(x)


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(np, name)
    return lambda x: float(function(float(x))) if _known(x) else getattr(x, name)()


#: Replacements for functions of NumPy, applied to every entry.
CHOICES: dict[str, Any] = {
    "less": np.frompyfunc(operator.lt, 2, 1),
    "less_equal": np.frompyfunc(operator.le, 2, 1),
    "greater": np.frompyfunc(operator.gt, 2, 1),
    "greater_equal": np.frompyfunc(operator.ge, 2, 1),
    "equal": np.frompyfunc(operator.eq, 2, 1),
    "not_equal": np.frompyfunc(operator.ne, 2, 1),
    "invert": np.frompyfunc(lambda x: not x if isinstance(x, bool | np.bool_) else ~x, 1, 1),
    "logical_and": np.frompyfunc(lambda a, b: _truth(a) + _truth(b) > 1.0, 2, 1),
    "logical_or": np.frompyfunc(lambda a, b: _truth(a) + _truth(b) > 0.0, 2, 1),
    "logical_not": np.frompyfunc(lambda a: _truth(a) < 1.0, 1, 1),
    "minimum": np.frompyfunc(_least, 2, 1),
    "maximum": np.frompyfunc(_most, 2, 1),
    "fmin": np.frompyfunc(lambda a, b: _but_nan(a <= b, a, b), 2, 1),
    "fmax": np.frompyfunc(lambda a, b: _but_nan(a >= b, a, b), 2, 1),
    "clip": np.frompyfunc(lambda x, least, most: _least(_most(x, least), most), 3, 1),
    "sign": np.frompyfunc(lambda x: _chosen(x < 0.0, -1.0, _chosen(x > 0.0, 1.0, x)), 1, 1),
    "arctan2": np.frompyfunc(_angle, 2, 1),
} | {name: np.frompyfunc(_unary(name), 1, 1) for name in UNARY}

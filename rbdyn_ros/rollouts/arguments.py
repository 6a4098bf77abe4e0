# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of rollout before anything is compiled or computed."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.errors import bad_argument, not_allowed
from rbdyn_ros.machine import cores

#: Largest number of steps that a float represents exactly.
MAX_STEPS = 2**53
MAX_THREADS = 1024


def state(name: str, given: ArrayLike, n: int) -> Array:
    """Return the initial values as rows, (nbatch, n) or (1, n), or raise ParameterError."""
    values = finite(name, given, None)
    if values.shape == (n,):
        return values.reshape(1, n)
    if values.ndim != 2 or values.shape[1] != n or len(values) == 0:
        text = f"{name} has the shape {values.shape}; allowed are ({n},) and (nbatch, {n})"
        raise bad_argument(name, text)
    return values


def control(given: ArrayLike | None, nstep: int, width: int | None) -> Array:
    """Return ctrl as (nbatch or 1, nstep, n), broadcast without a copy.

    Args:
        given: ctrl of shape (n,), (nstep, n), (nbatch, nstep, n) or (nbatch, 1, n), or None.
        nstep: number of steps.
        width: n; None: any length.

    Raises:
        ParameterError: ctrl has another shape or numbers that are not finite.
    """
    if given is None:
        return np.broadcast_to(np.zeros((1, 1, 0)), (1, nstep, 0))
    values = _numbers("ctrl", given)
    rows = (
        values.reshape((1,) * (3 - values.ndim) + values.shape)
        if values.ndim in (1, 2)
        else values
    )
    n = "n" if width is None else width
    fits = rows.ndim == 3 and rows.shape[1] in (1, nstep) and width in (None, rows.shape[2])
    if not fits or len(rows) == 0 or (values.ndim == 2 and len(values) != nstep):
        allowed = f"({n},), ({nstep}, {n}), (nbatch, {nstep}, {n}) and (nbatch, 1, {n})"
        text = f"ctrl has the shape {values.shape}; for {nstep} steps allowed are {allowed}"
        raise bad_argument("ctrl", text)
    if not all(np.isfinite(robot).all() for robot in rows):
        raise bad_argument(
            "ctrl", "ctrl holds numbers that are not finite; allowed are finite numbers"
        )
    return np.broadcast_to(rows, (len(rows), nstep, rows.shape[2]))


def _numbers(name: str, given: ArrayLike) -> Array:
    """Return an array of floats: float64 arrays as they are, unchecked.

    Return any other object as a copy, which must be finite.
    """
    masked = isinstance(given, np.ma.MaskedArray)
    if isinstance(given, np.ndarray) and given.dtype == np.float64 and not masked:
        return given
    return finite(name, given, None)


def batch_size(counts: dict[str, int]) -> int:
    """Return the number of robots.

    Args:
        counts: number of robots for each argument, by name; 1 if all robots share the argument.

    Raises:
        ParameterError: two arguments have different numbers of robots.
    """
    name = max(counts, key=lambda key: counts[key])
    for other, number in counts.items():
        if number not in (1, counts[name]):
            text = f"{name} is for {counts[name]} robots and {other} for {number}"
            raise bad_argument("nbatch", f"{text}; allowed is the same number, or one for all")
    return counts[name]


def steps(nstep: object, every: object) -> tuple[int, int]:
    """Return the number of steps, in total and per row of outputs, or raise ParameterError."""
    total = count("nstep", nstep, 1, MAX_STEPS, element="")
    per_row = count("every", every, 1, total, element="")
    if total % per_row:
        text = f"nstep is {total} and every is {per_row}; nstep must be a multiple of every"
        raise bad_argument("every", text)
    return total, per_row


def thread_count(threads: object, name: str = "threads") -> int:
    """Return the number of threads; None: the number of cores of this process."""
    if threads is not None:
        return count(name, threads, 1, MAX_THREADS, element="")
    return cores()


def float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the type of the numbers of robots.

    Raises:
        ParameterError: the type is neither float64 nor float32.
    """
    with contextlib.suppress(TypeError):
        found = np.dtype(dtype)
        if found in (np.float64, np.float32):
            return found
    raise not_allowed("dtype", dtype, "numpy.float64 or numpy.float32", "dtype")


def robot_numbers(given: Any, ids: object, nsim: int, ordered: Callable[[Any], Any]) -> Any:
    """Return numbers of robots, given numbers or a mask.

    Args:
        given: `ids` as an array of NumPy or CuPy.
        ids: the argument of the caller, for the message.
        nsim: number of robots.
        ordered: function that sorts numbers.

    Raises:
        ParameterError: a number is out of range or occurs twice, or ids is not a list of numbers.
    """
    given = given.reshape(1) if given.ndim == 0 else given
    if given.dtype == np.bool_ and given.shape == (nsim,):
        return given.nonzero()[0]
    allowed = f"a list of numbers from 0 to {nsim - 1}, each once, or a mask ({nsim},)"
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise not_allowed("ids", ids, allowed)
    wrong = (given < 0) | (given >= nsim)
    if wrong.any():
        raise bad_argument("ids", f"ids has {given[wrong][0]}; allowed is {allowed}")
    chosen = given.astype(np.int64)
    in_order = ordered(chosen)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if twice.size:
        raise bad_argument("ids", f"ids has {twice[0]} twice; allowed is {allowed}")
    return chosen

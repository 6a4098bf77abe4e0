"""Check the arguments of rollout before anything is compiled or computed."""

from __future__ import annotations

import operator
import os

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import Finding, ModelError, bad_argument, not_allowed
from rbdyn_ros.model.model import Model

#: A float counts exactly up to this many steps.
MAX_STEPS = 2**53
MAX_THREADS = 1024


def state(name: str, given: ArrayLike, n: int) -> Array:
    """Return the initial values as rows, (nbatch, n) or (1, n)."""
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
        given: (n,), (nstep, n), (nbatch, nstep, n) or (nbatch, 1, n); None: no ctrl.
        nstep: number of steps.
        width: n; None: any.
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
            "ctrl", "ctrl holds numbers that are not finite; allowed are finite ones"
        )
    return np.broadcast_to(rows, (len(rows), nstep, rows.shape[2]))


def _numbers(name: str, given: ArrayLike) -> Array:
    """Return a float array as it is, without a copy, as it may be large."""
    masked = isinstance(given, np.ma.MaskedArray)
    if isinstance(given, np.ndarray) and given.dtype == np.float64 and not masked:
        return given
    return finite(name, given, None)


def batch_size(counts: dict[str, int]) -> int:
    """Return the number of robots, from the number of robots of each argument; 1 fits all.

    Raises:
        ParameterError: two arguments have different numbers of robots.
    """
    name = max(counts, key=lambda key: counts[key])
    for other, count in counts.items():
        if count not in (1, counts[name]):
            text = f"{name} is for {counts[name]} robots and {other} for {count}"
            raise bad_argument("nbatch", f"{text}; allowed is the same number, or one for all")
    return counts[name]


def steps(nstep: object, every: object) -> tuple[int, int]:
    """Return the number of steps, and the number of steps per row of outputs."""
    count = _whole("nstep", nstep, MAX_STEPS)
    apart = _whole("every", every, count)
    if count % apart:
        text = f"nstep is {count} and every is {apart}; allowed is an nstep that every divides"
        raise bad_argument("every", text)
    return count, apart


def thread_count(threads: object) -> int:
    """Return the number of threads, by default the number of cores of this process."""
    if threads is not None:
        return _whole("threads", threads, MAX_THREADS)
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def demand_model(m: object) -> Model:
    """Return the Model; raise ModelError for anything else."""
    if not isinstance(m, Model):
        raise ModelError(Finding("not-a-model", f"rollout needs a Model, got {m!r:.80}"))
    return m


def _whole(name: str, value: object, most: int) -> int:
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if isinstance(value, bool) or not 1 <= count <= most:
        raise not_allowed(name, value, f"a whole number from 1 to {most}")
    return count

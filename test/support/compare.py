# SPDX-License-Identifier: Apache-2.0
"""Compare arrays relative to their largest entry, and store the worst error of each kind."""

import dataclasses

import numpy as np

EPS = np.finfo(float).eps

#: The worst (error / tolerance, error, field, where) by kind, shown at the end of a run.
WORST = {}


def relative_error(ours, theirs, least=0.0):
    """Return the largest difference over the largest entry of `theirs`; inf for NaN and infinity.

    The difference is divided by `least` if the largest entry is smaller, because it may be zero.
    """
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, f"shape {ours.shape} instead of {theirs.shape}"
    if ours.size == 0:
        return 0.0
    difference = np.abs(ours - theirs).max()
    scale = max(np.abs(theirs).max(), least)
    if not (np.isfinite(difference) and np.isfinite(scale)):
        return np.inf
    return difference / scale if scale > 0.0 else difference


class Comparison:
    """Collect the fields of a case that differ, and report them at the end of the `with` block."""

    def __init__(self, kind, where):
        self.kind, self.where, self.failures = kind, where, []

    def __enter__(self):
        return self

    def close(self, field, ours, theirs, tolerance, least=0.0):
        error = relative_error(ours, theirs, least)
        worst = WORST.get((self.kind, field))
        if worst is None or error / tolerance > worst[0]:
            WORST[self.kind, field] = (error / tolerance, error, self.where)
        if not error <= tolerance:
            self.failures.append(f"{field}: {error:.2e} > {tolerance:.1e}{_place(ours, theirs)}")

    def equal(self, field, ours, theirs):
        if not np.array_equal(np.asarray(ours), np.asarray(theirs)):
            self.failures.append(f"{field}: {ours} instead of {theirs}")

    def __exit__(self, kind, error, trace):
        if error is None:
            assert not self.failures, f"{self.where}: " + "; ".join(self.failures)


def _place(ours, theirs):
    difference = np.atleast_1d(np.abs(np.asarray(ours, float) - np.asarray(theirs, float)))
    where = np.unravel_index(np.argmax(np.nan_to_num(difference, nan=np.inf)), difference.shape)
    return f" at {tuple(int(k) for k in where)}"


def with_inverse(least, M, factor):
    """Return the tolerance of results of M^-1: 64 factor cond(M) eps, and at least `least`."""
    return max(least, 64.0 * factor * np.linalg.cond(M) * EPS) if M.size else least


def arrays_in(result):
    """Return all arrays in a result: an array, or nested tuples, lists, dicts and dataclasses."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, dict):
        result = tuple(result.values())
    elif dataclasses.is_dataclass(result):
        result = tuple(getattr(result, field.name) for field in dataclasses.fields(result))
    parts = result if isinstance(result, tuple | list) else ()
    return [array for part in parts for array in arrays_in(part)]


def assert_apart(results, *others):
    """Check that no array in `results` shares memory with another array of either argument."""
    found = [array for result in results for array in arrays_in(result) if array.size]
    for k, array in enumerate(found):
        for other in (*found[:k], *others):
            assert not np.shares_memory(array, other)

# SPDX-License-Identifier: Apache-2.0
"""Targets of inverse kinematics: convert poses to arrays for kernels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.checks.rotations import NEARLY
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.quantities.ik.targets import straighten
from rbdyn_ros.errors import Finding, ParameterError

_straighten = Entry(straighten)

#: Used in place of a position or a rotation that is not given.
NOWHERE, UNTURNED = np.zeros((1, 3)), np.eye(3).reshape(1, 9)


def targets_of(position: ArrayLike | None, rotation: ArrayLike | None) -> tuple[Array, bool]:
    """Return targets (n, 12), positions with rotation matrices, and True for a single target."""
    if position is None and rotation is None:
        text = "there is no target; give a position, a rotation, or both"
        raise ParameterError(Finding("no-target", text, "error", "position"))
    places = NOWHERE if position is None else _positions(position)
    turns = UNTURNED if rotation is None else _matrices(rotation)
    n = max(len(places), len(turns)) if len(places) and len(turns) else 0
    if not (len(places) in (1, n) and len(turns) in (1, n)):
        text = (
            f"there are {len(places)} positions and {len(turns)} rotations; give as many "
            "rotations as positions, or a single one of either"
        )
        raise ParameterError(Finding("target", text, "error", "rotation"))
    targets = np.empty((n, 12))
    targets[:, :3], targets[:, 3:] = places, turns
    wrong = _straighten.call(targets, NEARLY)
    if wrong >= 0:
        raise _wrong_target(position, rotation, wrong)
    single = np.ndim(position) < 2 and (rotation is None or np.shape(rotation) in ((4,), (3, 3)))  # type: ignore[arg-type]
    return targets, single


def _positions(position: ArrayLike) -> Array:
    """Return positions (n, 3), or raise ParameterError for another shape."""
    places = _numbers("position", position)
    if places.ndim not in (1, 2) or places.shape[-1] != 3:
        raise _wrong_shape("position", places, "(3,) or (n, 3)")
    return places.reshape(-1, 3)


def _matrices(rotation: ArrayLike) -> Array:
    """Return rotation matrices (n, 9), row by row, or raise ParameterError for another shape."""
    turns = _numbers("rotation", rotation)
    if turns.ndim in (2, 3) and turns.shape[-2:] == (3, 3):
        return turns.reshape(-1, 9)
    if turns.ndim not in (1, 2) or turns.shape[-1] != 4:
        allowed = "a matrix (3, 3) or (n, 3, 3), or a quaternion wxyz (4,) or (n, 4)"
        raise _wrong_shape("rotation", turns, allowed)
    w, x, y, z = turns.reshape(-1, 4).T
    # the entries of the rotation matrix of a quaternion q, times q.q
    rows = [
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    ]  # fmt: skip
    with np.errstate(all="ignore"):  # the kernel reports numbers that are not finite
        square = w * w + x * x + y * y + z * z
        near = np.abs(np.sqrt(square) - 1.0) <= NEARLY
    return np.stack(rows, axis=1) / np.where(near, square, 1.0)[:, None]


def _numbers(name: str, value: ArrayLike) -> Array:
    """Return an array of numbers; the kernel reports NaN and infinity."""
    if type(value) is np.ndarray and value.dtype == np.float64:  # the usual case, on a fast path
        return value
    return finite(name, value, None, code="target")


def _wrong_shape(name: str, found: Array, allowed: str) -> ParameterError:
    text = f"{name} has the shape {found.shape}; allowed is {allowed}"
    return ParameterError(Finding("target", text, "error", name, None, "", allowed))


def _wrong_target(position: Any, rotation: Any, wrong: int) -> ParameterError:
    """Return the error for a target that is not finite, or whose matrix is not a rotation."""
    if position is not None:
        finite("position", position, None, code="target")
    finite("rotation", rotation, None, code="target")
    text = (
        f"rotation {wrong} is not a rotation; allowed are right-handed orthonormal matrices and "
        f"unit quaternions wxyz, within {NEARLY:g}"
    )
    return ParameterError(Finding("not-a-rotation", text, "error", "rotation"))

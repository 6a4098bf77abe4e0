# SPDX-License-Identifier: Apache-2.0
"""Warnings of rollouts: joints beyond soft limits, parts too stiff or fast for the timestep."""

import warnings

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.assembly import coordinate_limits
from rbdyn_ros.dynamics.too_much import text_if_fast, texts_before
from rbdyn_ros.engine.step.passive import NO_TIME
from rbdyn_ros.model.model import Model

#: A joint is far beyond its limit if it exceeds the limit by more than FAR times its range and
#: more than LEAST [rad or m]. If a joint has only one limit, its range counts as 1.
FAR, LEAST = 0.1, 0.01


def warn_of_timestep(m: Model, qvel: Array | None, stacklevel: int) -> None:
    """Warn about parts too stiff for the timestep, and bodies too fast for it at qvel (n, nv)."""
    fast = None if qvel is None else text_if_fast(m, qvel)
    for text in (*texts_before(m), *([fast] if fast else [])):
        warnings.warn(f"'{m.name}': {text}", RuntimeWarning, stacklevel=stacklevel + 1)


def warn_of_limits(
    m: Model, qpos: Array, instead: str, stacklevel: int, start: Array | None = None
) -> bool:
    """Warn and return True if a joint is far beyond a limit that the user has not made soft.

    Args:
        m: the Model.
        qpos: (n, nq) positions of n robots.
        instead: text of the call that has exact limits.
        stacklevel: stack level of the warning, counted from this function.
        start: (n, nq) or (1, nq), initial positions; a joint that began farther beyond its
            limit is left out; None: no joint is left out.
    """
    places, ranges, joints = coordinate_limits(m)
    hard = m.jnt_solref[joints, 0] <= NO_TIME
    places, joints, (low, high) = places[hard], joints[hard], ranges[hard].T
    q = qpos[:, places]
    began = q if start is None else start[:, places]
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    beyond = np.maximum(low - q, q - high)
    # leave out robots that have diverged
    far = (beyond > np.maximum(FAR * width, LEAST)) & np.isfinite(q)
    far &= beyond >= np.maximum(low - began, began - high)
    if not far.any():
        return False
    robot, k = np.unravel_index(int(np.argmax(np.where(far, beyond / width, 0.0))), far.shape)
    others = int(far.any(axis=1).sum()) - 1
    more = f", and joints of {others} more robots" if others else ""
    text = (
        f"'{m.name}': joint '{m.jnt_names[joints[k]]}' of robot {robot} is "
        f"{beyond[robot, k]:.3g} beyond its limit{more}: limits are soft in code for one Model "
        f"(m.opt.exact_stops does not act there); {instead} has exact ones"
    )
    warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
    return True

# SPDX-License-Identifier: Apache-2.0
"""Bounds of a motion: positions, velocities, accelerations and efforts of its joints."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.configuration import motion_limits
from rbdyn_ros.dynamics.stages import inverse, make_data
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

#: Assumed velocity limit of a joint without a velocity limit [rad/s or m/s].
DEFAULT_SPEED = 1.0
#: Distance of joints from their position limits [rad or m], and its largest fraction of the range.
INSET, INSET_SHARE = 0.05, 0.05
#: Least reach [rad or m], and least acceleration limit [rad/s^2 or m/s^2].
LEAST = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of the moving joints, in the order of `dofs`.

    Attributes:
        dofs: (n,) degrees of freedom of the joints.
        centre: (nv,) position where all joints start and end [rad or m].
        lower, upper: (n,) largest excursions from the centre, lower < 0 < upper [rad or m].
        velocity, acceleration: (n,) limits [rad or m; per s, per s^2]; infinite without a limit.
        effort: (nv,) effort limits of all joints [N m or N]; infinite without a limit.
    """

    dofs: Ints
    centre: Array
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    def scale(self, rows: Array) -> Array:
        """Return the largest factors (n,) by which motions (3, t, n) about the centre may grow.

        Each joint then reaches one of its bounds. The factor of a joint that rests is 0.
        """
        with np.errstate(divide="ignore"):
            factors = np.stack(
                [
                    self.upper / rows[0].max(axis=0).clip(0.0),
                    self.lower / rows[0].min(axis=0).clip(None, -0.0),
                    self.velocity / np.abs(rows[1]).max(axis=0),
                    self.acceleration / np.abs(rows[2]).max(axis=0),
                ]
            )
        least: Array = np.abs(factors).min(axis=0)
        return np.where(np.isfinite(least), least, 0.0)


def bounds_of(
    m: Model,
    dofs: Ints,
    centre: ArrayLike | None,
    position_inset: ArrayLike | None,
    reach: ArrayLike,
    velocity_share: float,
    acceleration_limits: ArrayLike | None,
    effort_share: float,
) -> Bounds:
    """Return the bounds of the joints with these dofs; the arguments are as for excite.

    Raises:
        ParameterError: an argument is not allowed, or leaves a joint no room.
    """
    share = finite("velocity_share", velocity_share, above=0.0, high=1.0, element="")
    part = finite("effort_share", effort_share, above=0.0, high=1.0, element="")
    n = len(dofs)
    lower, upper, effort = _limits(m)
    speed, hard = motion_limits(m)[:2, dofs]
    inset = np.minimum(INSET, INSET_SHARE * (upper - lower)[dofs])
    if position_inset is not None:
        inset = _positive("position_inset", position_inset, n, zero=True)
    farthest = _positive("reach", reach, n)
    middle = _centre(m, centre, lower, upper)
    low = np.maximum(lower[dofs] + inset, middle[dofs] - farthest) - middle[dofs]
    high = np.minimum(upper[dofs] - inset, middle[dofs] + farthest) - middle[dofs]
    for i, dof in enumerate(dofs):
        if not low[i] < 0.0 < high[i]:
            text = (
                f"joint '{m.jnt_names[m.dof_jntid[dof]]}' has no room around its centre "
                f"{middle[dof]:.4g}: its range is {lower[dof]:.4g} to {upper[dof]:.4g}, with an "
                f"inset of {inset[i]:.4g}"
            )
            raise ParameterError(Finding("no-room", text, "error", "centre"))
    fast = np.where((speed > 0.0) & np.isfinite(speed), speed, DEFAULT_SPEED)
    hard = np.where(hard > 0.0, hard, np.inf)  # many files write 0 for a missing limit
    if acceleration_limits is not None:
        hard = _positive("acceleration_limits", acceleration_limits, n)
    return Bounds(dofs, middle, low, high, share * fast, hard, part * effort)


def effort_ratio(m: Model, d: Data, bounds: Bounds, rows: Array) -> Array:
    """Return the largest effort of each joint as a fraction of its bound, (nv,).

    Args:
        m: the Model without passive forces.
        d: its Data.
        bounds: bounds of the joints.
        rows: (3, t, nv) motion of all joints.
    """
    largest = np.zeros(m.nv)
    for d.qpos[:], d.qvel[:], d.qacc[:] in zip(*rows, strict=True):
        inverse(m, d)
        np.maximum(largest, np.abs(d.qfrc_inverse), out=largest)
    return largest / bounds.effort


def check_held(m: Model, bounds: Bounds) -> None:
    """Raise ParameterError if the arm cannot be held at the centre within its effort limits."""
    d = make_data(m)
    rest = np.zeros((3, 1, m.nv))
    rest[0, 0] = bounds.centre
    ratio = effort_ratio(m, d, bounds, rest)
    if (ratio >= 1.0).any():
        worst = int(np.argmax(ratio))
        text = (
            f"joint '{m.jnt_names[m.dof_jntid[worst]]}' needs {ratio[worst]:.2f} times its "
            "allowed effort to hold the arm at the centre; choose another centre or a larger "
            "effort_share"
        )
        raise ParameterError(Finding("no-effort", text, "error", "effort_share"))


def _limits(m: Model) -> tuple[Array, Array, Array]:
    """Return lower, upper and effort limits (nv,); mimic joints tighten the position limits."""
    lower, upper = np.full(m.nv, -np.inf), np.full(m.nv, np.inf)
    for j in range(m.njnt):
        dof, ratio, offset = m.jnt_dofadr[j], m.jnt_mimic_ratio[j], m.jnt_mimic_offset[j]
        if ratio == 0.0:
            continue
        if m.jnt_limited[j] or m.jnt_mimic[j] >= 0:  # jnt_limited does not mark mimic joints
            ends = np.sort((m.jnt_range[j] - offset) / ratio)
            lower[dof], upper[dof] = max(lower[dof], ends[0]), min(upper[dof], ends[1])
    effort = m.jnt_effort[m.dof_jntid].copy()
    effort[effort == 0.0] = np.inf
    return lower, upper, effort


def _centre(m: Model, centre: ArrayLike | None, lower: Array, upper: Array) -> Array:
    if centre is not None:
        return finite("centre", centre, (m.nv,), element="")
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (lower + upper)
    return np.where(np.isfinite(middle), middle, m.qpos0)


def _positive(what: str, value: ArrayLike, count: int, zero: bool = False) -> Array:
    least = 0.0 if zero else LEAST
    allowed = f"a number of {least:g} or more, or {count} of them"
    values = finite(what, value, (count,), fill=True)
    finite(what, value, None, least, allowed=allowed, element="")
    return values

# SPDX-License-Identifier: Apache-2.0
"""Sweeps at constant speeds with reversals, which show friction, backlash and torque constants.

Each joint moves up and back, then down and back, at every speed of a geometric series, fast speeds
first. A slow sweep is short, so each speed takes the same time.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.data.csv_files import write_motion
from rbdyn_ros.identification.data.motion import check_identifiable, dof_names
from rbdyn_ros.identification.excitation.bounds import Bounds, bounds_of, check_held, effort_ratio
from rbdyn_ros.identification.excitation.excite import LONGEST, SHORTEST, dofs_of_joints, link_box
from rbdyn_ros.identification.excitation.search import of_robot
from rbdyn_ros.model.model import Model

#: Part of a lobe (up and back) in which the speed changes, at each of its ends.
RAMP = 0.1
#: Height of a lobe with a peak speed of 1 and a period of 1.
HEIGHT = 0.5 - (1.5 - 2.0 / np.pi) * RAMP
#: Part of a lobe by which a rounding error may shift a time.
ROUNDING = 1e-9
#: Largest number of speeds.
MOST_SPEEDS = 50
#: Number of points of a motion at which efforts and link positions are computed.
CHECKED = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Sweeps:
    """A motion that starts and ends at rest at the centre.

    Attributes:
        names: names of the moving joints (n).
        time: (p,) times of the points [s].
        qpos, qvel, qacc: (p, n) motion of these joints [rad or m; per s; per s^2].
        held: positions of the joints that do not move, by name.
        speeds: (k, n) speeds of the sweeps [rad/s or m/s].
        effort_share: largest effort of each joint as a fraction of its limit, by the model and
            without friction.
        box: (2, 3) least and largest coordinates of the origins of links [m]. Collisions are not
            checked.
    """

    names: tuple[str, ...]
    time: Array
    qpos: Array
    qvel: Array
    qacc: Array
    held: dict[str, float]
    speeds: Array
    effort_share: dict[str, float]
    box: Array

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.time[-1])

    @property
    def peaks(self) -> Array:
        """Least and largest position, largest speed and acceleration of each joint, (4, n)."""
        largest = [np.abs(rows).max(axis=0) for rows in (self.qvel, self.qacc)]
        return np.stack([self.qpos.min(axis=0), self.qpos.max(axis=0), *largest])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file: time, then position, velocity and acceleration of each joint.

        Raises:
            ParameterError: the file cannot be written; an existing file is kept.
        """
        rows = self.qpos, self.qvel, self.qacc
        write_motion(path, self.names, self.held, self.time, rows)


def sweeps(
    m: Model,
    joints: Sequence[str] | None = None,
    *,
    speeds: int = 10,
    slowest: float = 0.01,
    duration: float = 100.0,
    rate: float = 50.0,
    velocity_share: float = 0.5,
    acceleration_limits: ArrayLike | None = None,
    position_inset: ArrayLike | None = None,
    centre: ArrayLike | None = None,
    reach: ArrayLike = 1.5,
    effort_share: float = 0.7,
) -> Sweeps:
    """Return sweeps of all joints at once.

    Collisions are not checked. Watch the motion in the simulator first.

    Args:
        m: the robot; gravity is m.opt.gravity.
        joints: names of the moving joints; None: all.
        speeds: number of speeds, 2 to 50.
        slowest: slowest speed, as a part of the fastest speed.
        duration: duration of the motion [s].
        rate: points per second.
        velocity_share: speed of the fastest sweep, as a fraction of the velocity limits.
        acceleration_limits: see excite.
        position_inset: see excite.
        centre: see excite.
        reach: see excite.
        effort_share: see excite.

    Raises:
        ModelError: a joint has several coordinates, or the robot has loops or springs.
        ParameterError: an argument is not allowed, a joint has no room around its centre, or the
            efforts of the motion exceed their limits.
    """
    check_identifiable(m)
    dofs = dofs_of_joints(m, joints)
    number = count("speeds", speeds, 2, MOST_SPEEDS, element="")
    least = finite("slowest", slowest, (), above=0.0, high=1.0, element="")
    allowed = f"a time from {SHORTEST:g} to {LONGEST:g} s"
    whole = finite("duration", duration, (), SHORTEST, LONGEST, allowed=allowed, element="")
    steps = int(finite("rate", rate, (), 1.0, 1000.0, element="") * whole / number)
    bounds = bounds_of(
        m, dofs, centre, position_inset, reach, velocity_share, acceleration_limits, effort_share
    )
    rigid = m.replaced(qpos0=bounds.centre)
    rigid.opt.passive = False
    check_held(rigid, bounds)
    shares = np.geomspace(1.0, least, number)
    parts = [_at_speed(bounds, share, whole / number, max(steps, 20)) for share in shares]
    rows = np.concatenate([part[0][:, :-1] for part in parts] + [parts[-1][0][:, -1:]], axis=1)
    time = np.linspace(0.0, whole, rows.shape[1])
    names = dof_names(m)
    moved = tuple(names[k] for k in dofs)
    some = np.linspace(0, len(time) - 1, min(CHECKED, len(time))).astype(np.int64)
    checked = of_robot(bounds, rows[:, some])
    ratio = effort_share * _effort_ratio(rigid, bounds, checked)
    rows[0] += bounds.centre[dofs]
    held = {names[k]: float(bounds.centre[k]) for k in range(m.nv) if names[k] not in moved}
    return Sweeps(
        moved,
        time,
        rows[0],
        rows[1],
        rows[2],
        held,
        np.array([part[1] for part in parts]),
        dict(zip(names, ratio.tolist(), strict=True)),
        link_box(rigid, checked[0]),
    )


def _at_speed(bounds: Bounds, share: float, seconds: float, steps: int) -> tuple[Array, Array]:
    """Return sweeps about 0 (3, steps + 1, n) that last a time [s], and their speeds (n,).

    The speeds are the fraction `share` of the velocity limits, or less.
    """
    time = np.linspace(0.0, seconds, steps + 1)
    room = np.minimum(bounds.upper, -bounds.lower)
    speed = share * bounds.velocity
    # use enough pairs of lobes to stay within the position bounds
    pairs = np.ceil(speed * seconds * HEIGHT / (2.0 * room)).clip(1.0)
    periods = seconds / (2.0 * pairs)
    speed = np.minimum(speed, bounds.acceleration * RAMP * periods * 2.0 / np.pi)
    columns = [v * _lobes(time, period) for v, period in zip(speed, periods, strict=True)]
    return np.stack(columns, axis=2), speed


def _lobes(time: Array, period: float) -> Array:
    """Return the position, velocity and acceleration (3, p) of lobes with the peak speed 1.

    The speed is constant between ramps, which are halves of a cosine.
    """
    lobe = np.minimum(np.floor(time / period + ROUNDING), np.round(time[-1] / period) - 1)
    side = np.where(lobe % 2 == 0, 1.0, -1.0)
    corners = period * np.array([0.0, RAMP, 0.5 - RAMP, 0.5 + RAMP, 1.0 - RAMP, 1.0])
    speeds, spans = np.array([0.0, 1.0, 1.0, -1.0, -1.0, 0.0]), np.diff(corners)
    gains, means = np.diff(speeds), 0.5 * (speeds[1:] + speeds[:-1])
    places = np.concatenate([[0.0], np.cumsum(spans * means)])
    phase = np.clip(time - lobe * period, 0.0, period)
    part = np.clip(np.searchsorted(corners, phase, side="right") - 1, 0, len(spans) - 1)
    since, gain, w = phase - corners[part], gains[part], np.pi / spans[part]
    position = places[part] + speeds[part] * since
    position += 0.5 * gain * (since - np.sin(w * since) / w)
    velocity = speeds[part] + 0.5 * gain * (1.0 - np.cos(w * since))
    found: Array = side * np.stack([position, velocity, 0.5 * gain * w * np.sin(w * since)])
    return found


def _effort_ratio(m: Model, bounds: Bounds, rows: Array) -> Array:
    """Return the largest efforts relative to their bounds (nv,).

    Raises:
        ParameterError: an effort exceeds its bound.
    """
    ratio = effort_ratio(m, make_data(m), bounds, rows)
    if (ratio > 1.0).any():
        worst = int(np.argmax(ratio))
        text = (
            f"joint '{dof_names(m)[worst]}' needs {ratio[worst]:.2f} times its allowed effort; "
            "reduce velocity_share or reach, choose another centre or a larger effort_share"
        )
        raise ParameterError(Finding("no-effort", text, "error", "effort_share"))
    return ratio

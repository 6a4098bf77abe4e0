# SPDX-License-Identifier: Apache-2.0
"""Excitation motions: well conditioned for identification, within limits, at rest at both ends.

Each joint follows a finite Fourier series around its centre. The coefficients minimise the
condition number of the base regressor, subject to the limits of each joint.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.errors import (
    Finding,
    ParameterError,
    apart,
    did_you_mean,
    exactly,
    not_allowed,
    quote,
)
from rbdyn_ros.identification.data.csv_files import write_motion
from rbdyn_ros.identification.data.motion import Motion, check_identifiable, dof_names
from rbdyn_ros.identification.data.samples import MOST_SAMPLES
from rbdyn_ros.identification.equations.iterations import Progress, silent
from rbdyn_ros.identification.equations.warnings import TOO_POOR
from rbdyn_ros.identification.excitation.bounds import Bounds, bounds_of, check_held, effort_ratio
from rbdyn_ros.identification.excitation.search import (
    FEWEST_HARMONICS,
    MOST_HARMONICS,
    Check,
    Search,
    fine_count,
    of_robot,
    tables,
)
from rbdyn_ros.model.model import Model

#: Durations of a motion [s].
SHORTEST, LONGEST = 0.1, 3600.0
#: Points of the path that is checked for collisions: per second, and at least per period of the
#: highest harmonic.
CHECKED_RATE, CHECKED_POINTS = 20.0, 10.0
#: Least number of points in a period of the highest harmonic.
FEWEST_POINTS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Excitation:
    """A motion that starts and ends at rest at the centre.

    Attributes:
        names: names of the moving joints (n).
        duration: duration of the motion [s].
        centre: (n,) position of the moving joints at the start and the end [rad or m].
        coefficients: (2 h, n), see search.py.
        held: positions of the joints that do not move, by name.
        condition: condition number of the base regressor, with columns of unit length; together
            with the earlier motion, if one was given.
        effort_share: largest effort of each joint as a fraction of its limit, by the model and
            without friction.
        box: (2, 3) least and largest coordinates of the origins of links [m].
    """

    names: tuple[str, ...]
    duration: float
    centre: Array
    coefficients: Array
    held: dict[str, float]
    condition: float
    effort_share: dict[str, float]
    box: Array

    def sample(self, t: ArrayLike) -> Array:
        """Return the position, velocity and acceleration at times (p,) [s], (3, p, n)."""
        time = np.clip(np.atleast_1d(np.asarray(t, np.float64)), 0.0, self.duration)
        rows: Array = tables(len(self.coefficients) // 2, self.duration, time) @ self.coefficients
        rows[0] += self.centre
        return rows

    def points(self, rate: float = 50.0) -> tuple[Array, Array, Array, Array]:
        """Return times (p,), positions, velocities and accelerations (p, n) at a rate [Hz]."""
        check_rate(rate, self.duration, len(self.coefficients) // 2)
        samples = int(np.ceil(self.duration * rate)) + 1
        time = np.linspace(0.0, self.duration, samples)
        qpos, qvel, qacc = self.sample(time)
        qvel[[0, -1]] = qacc[[0, -1]] = 0.0  # remove rounding errors
        return time, qpos, qvel, qacc

    def path(self, rate: float = 50.0) -> Path:
        """Return the points as a path of quintic polynomials."""
        return Path(*self.points(rate))

    @property
    def peaks(self) -> Array:
        """Least and largest position, largest speed and acceleration of each joint, (4, n).

        Units: rad or m, per s, per s^2.
        """
        rows = self.sample(
            np.linspace(0.0, self.duration, fine_count(len(self.coefficients) // 2))
        )
        largest = np.abs(rows[1:]).max(axis=1)
        return np.stack([rows[0].min(axis=0), rows[0].max(axis=0), *largest])

    def write(self, path: str | os.PathLike[str], rate: float = 50.0) -> None:
        """Write a CSV file: time, then position, velocity and acceleration of each joint.

        The file contains all joints of the robot, also the joints at rest.

        Raises:
            ParameterError: the file cannot be written; an existing file is kept.
        """
        time, *rows = self.points(rate)
        write_motion(path, self.names, self.held, time, rows)


def excite(
    m: Model,
    joints: Sequence[str] | None = None,
    *,
    duration: float = 20.0,
    harmonics: int = 10,
    velocity_share: float = 0.5,
    acceleration_limits: ArrayLike | None = None,
    position_inset: ArrayLike | None = None,
    seed: int = 0,
    centre: ArrayLike | None = None,
    reach: ArrayLike = 1.5,
    effort_share: float = 0.7,
    after: Motion | None = None,
    check: Check | None = None,
    progress: Progress | None = None,
) -> Excitation:
    """Return a motion for identification; equal arguments give equal motions.

    Collisions are not checked without `check`, and collisions with people never. Watch the motion
    in the simulator first, and reduce `reach` or move `centre` as needed.

    Args:
        m: the robot as far as it is known; gravity is m.opt.gravity.
        joints: names of the moving joints; None: all.
        duration: duration of the motion, one period [s].
        harmonics: number of harmonics, 2 to 20; the highest frequency is harmonics / duration.
        velocity_share: fraction of the velocity limits to use; a joint without a limit gets
            1 rad/s or 1 m/s.
        acceleration_limits: one number or (n,) [rad/s^2 or m/s^2]; None: the smaller of the
            acceleration and deceleration limits of the robot, if it has any.
        position_inset: distance from the position limits, one number or (n,) [rad or m]; None:
            0.05, or a twentieth of the range if that is less.
        seed: seed of the random series from which the search starts.
        centre: (nv,) positions of all joints at the start and the end; None: the middle of their
            limits, or qpos0.
        reach: largest distance from the centre, one number or (n,) [rad or m].
        effort_share: fraction of the effort limits that the inverse dynamics of m may use.
        after: an earlier motion of some of these joints; the new motion complements it, so that
            both together are well conditioned; None: the new motion alone counts.
        check: function of a path of the moving joints and the centre, which raises RbdynError if
            the path is not allowed, for example because it collides; the motion is made smaller
            until the path is allowed. None: every path is allowed.
        progress: called with a message after every iteration; None: no messages.

    Raises:
        ModelError: a joint has several coordinates, or the robot has loops or springs.
        ParameterError: an argument is not allowed, a joint has no room around its centre, or the
            arm cannot be held there.
    """
    check_identifiable(m)
    dofs = dofs_of_joints(m, joints)
    period = _period(duration)
    count("harmonics", harmonics, FEWEST_HARMONICS, MOST_HARMONICS, element="")
    count("seed", seed, 0, 2**63, element="")
    bounds = bounds_of(
        m, dofs, centre, position_inset, reach, velocity_share, acceleration_limits, effort_share
    )
    rigid = m.replaced(qpos0=bounds.centre)
    rigid.opt.passive = False
    check_held(rigid, bounds)
    search = Search(rigid, bounds, harmonics, period, after)
    coefficients = search.best(np.random.default_rng(seed), progress or silent)
    if check is not None:
        coefficients = search.clear_of(
            coefficients, check, max(CHECKED_RATE, CHECKED_POINTS * harmonics / period)
        )
    number = search.condition(coefficients)
    return _excitation(rigid, bounds, period, coefficients, number, effort_share)


def check_rate(rate: float, duration: float, harmonics: int) -> None:
    """Raise ParameterError if a rate [Hz] gives too few or too many points of a motion."""
    period = _period(duration)
    least, most = FEWEST_POINTS * harmonics / period, MOST_SAMPLES / period
    allowed = f"a rate from {exactly(least)} to {exactly(most)} Hz for this motion"
    finite("rate", rate, (), least, most, allowed=allowed, element="")


def _period(duration: float) -> float:
    allowed = f"a time from {exactly(SHORTEST)} to {exactly(LONGEST)} s"
    return finite("duration", duration, (), SHORTEST, LONGEST, allowed=allowed, element="")


def check_informative(motion: Excitation) -> None:
    """Raise ParameterError if a motion is too poorly conditioned for identification."""
    if not motion.condition <= TOO_POOR:
        found, most = apart(motion.condition, TOO_POOR, digits=4)
        text = (
            f"the best motion is too poor for identification: its condition number is "
            f"{found}; allowed is {most}. Increase reach, speed or duration"
        )
        raise ParameterError(Finding("poor-motion", text, "error", "reach"))


def _excitation(
    m: Model, bounds: Bounds, period: float, coefficients: Array, number: float, share: float
) -> Excitation:
    d, names = make_data(m), dof_names(m)
    fine = np.linspace(0.0, period, fine_count(len(coefficients) // 2))
    rows = of_robot(bounds, tables(len(coefficients) // 2, period, fine) @ coefficients)
    ratio = share * effort_ratio(m, d, bounds, rows)
    moved = tuple(names[k] for k in bounds.dofs)
    held = {names[k]: float(bounds.centre[k]) for k in range(m.nv) if names[k] not in moved}
    return Excitation(
        moved,
        period,
        bounds.centre[bounds.dofs],
        coefficients,
        held,
        number,
        dict(zip(names, ratio.tolist(), strict=True)),
        link_box(m, rows[0]),
    )


def link_box(m: Model, qpos: Array) -> Array:
    """Return the least and largest coordinates of the origins of all frames (2, 3) [m].

    Args:
        m: the robot.
        qpos: (p, nv) its positions.
    """
    d = make_data(m)
    box = np.array([np.full(3, np.inf), np.full(3, -np.inf)])
    for d.qpos[:] in qpos:
        kinematics(m, d)
        for frame in range(len(m.frame_names)):
            place = frame_pose(m, d, frame)[0]
            np.minimum(box[0], place, out=box[0])
            np.maximum(box[1], place, out=box[1])
    return box


def dofs_of_joints(m: Model, joints: Sequence[str] | None) -> Ints:
    """Return the dofs of joints by name, in their order in the robot; None means all.

    Raises:
        ParameterError: the argument is not a list of names; or a name is unknown, belongs to a
            mimic joint, or is repeated.
    """
    names = dof_names(m)
    if joints is None:
        return np.arange(m.nv)
    if isinstance(joints, str) or not isinstance(joints, Sequence) or not joints:
        raise not_allowed("joints", joints, "a list of names")
    for name in joints:
        if name not in names:
            given = name if isinstance(name, str) else repr(name)
            text = (
                f"{quote(given)} is not an independent joint{did_you_mean(given, names)}; "
                f"allowed are {', '.join(names[:20])}"
            )
            raise ParameterError(Finding("unknown-joint", text, "error", "joints"))
    if len(set(joints)) != len(joints):
        raise not_allowed("joints", list(joints), "each joint once")
    return np.array(sorted(names.index(name) for name in joints), np.int64)
